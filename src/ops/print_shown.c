// SPDX-License-Identifier: MIT
// Reads the edges of a tensor. Each axis that is cut is sliced at both ends, and each resulting corner is read and copied to its position. Every such axis
// doubles the number of reads, of a few elements each.
#include "ops/print_shown.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "runtime/stage.h"

static size_t shape_elements(const tsr_shape *shape) {
  size_t count = 1;  // small: at most TSRI_SHOWN_WHOLE, or TSRI_SHOWN_ENDS per axis
  for (int i = 0; i < shape->rank; i++) count *= (size_t)shape->dims[i];
  return count;
}

// The position of a corner in tsri_shown.
typedef struct corner {
  tsr_shape shape;
  int64_t start[TSR_MAX_RANK];
} corner;

// Offset in `shown`, in elements, of row `row` of the corner; rows are counted over all axes but the last.
static size_t row_offset(const tsri_shown *shown, const corner *c, size_t row) {
  int last = shown->shape.rank - 1;
  size_t offset = (size_t)c->start[last], stride = (size_t)shown->shape.dims[last];
  for (int axis = last - 1; axis >= 0; axis--) {
    size_t size = (size_t)c->shape.dims[axis];
    offset += ((size_t)c->start[axis] + row % size) * stride;
    stride *= (size_t)shown->shape.dims[axis];
    row /= size;
  }
  return offset;
}

static void place_corner(tsri_shown *shown, const corner *c, const unsigned char *data) {
  size_t element_bytes = tsr_dtype_bytes(shown->dtype);
  size_t row_elements = (size_t)c->shape.dims[c->shape.rank - 1];
  size_t row_count = shape_elements(&c->shape) / row_elements;
  for (size_t row = 0; row < row_count; row++) {
    memcpy(shown->data + row_offset(shown, c, row) * element_bytes, data + row * row_elements * element_bytes,
           row_elements * element_bytes);
  }
}

static tsr_status read_corner(tsri_shown *shown, const corner *c, tsr_tensor *tensor) {
  size_t bytes = shape_elements(&c->shape) * tsr_dtype_bytes(shown->dtype);
  unsigned char *data = tsri_stage_create(bytes);
  if (!data) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "print: no host memory for %zu bytes of elements", bytes);
  tsr_status status = tsr_read(tensor, data, bytes);
  bool is_only = shape_elements(&c->shape) == shown->count;
  if (status == TSR_OK && is_only) memcpy(shown->data, data, bytes);
  if (status == TSR_OK && !is_only) place_corner(shown, c, data);
  tsri_stage_release(tsr_tensor_device(tensor), data, status);
  return status;
}

static tsr_status read_from_axis(tsri_shown *shown, corner c, int axis, tsr_tensor *tensor);

// Reads one end of an axis that is cut: the tensor's elements from `first` on, into `shown` from `start` on.
static tsr_status read_end(tsri_shown *shown, corner c, int axis, tsr_tensor *tensor, int64_t first, int64_t start) {
  tsr_tensor *end = tsr_slice(tensor, axis, first, first + TSRI_SHOWN_EDGE, 1);
  tsr_status status = tsr_error(end);
  c.start[axis] = start;
  c.shape.dims[axis] = TSRI_SHOWN_EDGE;
  if (status == TSR_OK) status = read_from_axis(shown, c, axis + 1, end);
  tsr_release(end);
  return status;
}

// Reads a corner, cutting `axis` and the axes after it. `tensor` has already been sliced along the axes before.
static tsr_status read_from_axis(tsri_shown *shown, corner c, int axis, tsr_tensor *tensor) {
  while (axis < shown->shape.rank && !shown->is_cut[axis]) axis++;
  if (axis == shown->shape.rank) return read_corner(shown, &c, tensor);
  int64_t size = tsr_tensor_shape(tensor).dims[axis];
  tsr_status status = read_end(shown, c, axis, tensor, 0, 0);
  if (status == TSR_OK) status = read_end(shown, c, axis, tensor, size - TSRI_SHOWN_EDGE, TSRI_SHOWN_EDGE);
  return status;
}

static void choose_shape(tsri_shown *shown, int64_t element_count) {
  for (int i = 0; i < shown->shape.rank; i++) {
    shown->is_cut[i] = element_count > TSRI_SHOWN_WHOLE && shown->shape.dims[i] > TSRI_SHOWN_ENDS;
    if (shown->is_cut[i]) shown->shape.dims[i] = TSRI_SHOWN_ENDS;
  }
  shown->count = shape_elements(&shown->shape);
}

tsr_status tsri_shown_init(tsri_shown *shown, tsr_tensor *tensor) {
  *shown = (tsri_shown){.dtype = tsr_tensor_dtype(tensor), .shape = tsr_tensor_shape(tensor)};
  int64_t element_count = tsr_tensor_count(tensor);
  if (element_count == 0) return TSR_OK;
  choose_shape(shown, element_count);
  size_t bytes = shown->count * tsr_dtype_bytes(shown->dtype);
  shown->data = tsri_malloc(bytes);
  if (!shown->data) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "print: no host memory for %zu bytes of elements", bytes);
  corner whole = {.shape = shown->shape};
  return read_from_axis(shown, whole, 0, tensor);
}

void tsri_shown_deinit(tsri_shown *shown) {
  tsri_free(shown->data);
  *shown = (tsri_shown){0};
}
