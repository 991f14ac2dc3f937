// SPDX-License-Identifier: MIT
// Single elements: reading (tsr_item, tsr_peek) and writing (tsr_fill, tsr_assign_at).
//
// If the host can address the memory and nothing is queued, an element is read and written directly: a copy through the device's queue would take far longer.
#include <inttypes.h>
#include <string.h>

#include "core/error.h"
#include "core/strided.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "graph/watch.h"
#include "ops/promote.h"
#include "ops/transfer.h"
#include "runtime/buffer.h"
#include "runtime/sharing.h"
#include "runtime/stage.h"
#include "runtime/tape.h"

// Address of the element at `offset` of the tensor's memory, if the host can read it now. NULL: the host cannot address it, or it must be computed first.
static void *element_at(const tsr_tensor *tensor, int64_t offset) {
  tsr_buffer *buffer = tsri_value_is_assigned(tensor->value) ? NULL : tsri_tensor_buffer(tensor);
  char *host = buffer ? tsri_buffer_host_now(buffer) : NULL;
  return host ? host + (size_t)offset * tsr_dtype_bytes(tensor->dtype) : NULL;
}

static void *first_element(const tsr_tensor *tensor) { return element_at(tensor, tensor->layout.offset); }

// Gives the offset of the element at an index. False: the index is out of range.
static bool find_element(const tsri_layout *layout, const int64_t *index, int axis_count, int64_t *out_offset) {
  if (axis_count != layout->shape.rank || (axis_count > 0 && !index)) return false;
  *out_offset = layout->offset;
  for (int i = 0; i < axis_count; i++) {
    int64_t size = layout->shape.dims[i], at = index[i] < 0 ? index[i] + size : index[i];
    if (at < 0 || at >= size) return false;
    *out_offset += at * layout->strides[i];
  }
  return true;
}

// --- Reading ---------------------------------------------------------------------------------------------------------

// Reads the element through the device's queue.
static tsr_status read_copy(const char *caller, tsr_tensor *tensor, tsr_dtype as, void *out_value) {
  // Not on the stack: after a time-out the driver may still write to it.
  void *element = tsri_stage_create(tsr_dtype_bytes(tensor->dtype));
  if (!element) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for an element", caller);
  tsr_status status = tsr_read(tensor, element, tsr_dtype_bytes(tensor->dtype));
  if (status == TSR_OK) status = tsr_convert(as, out_value, tensor->dtype, element, 1);
  tsri_stage_release(tensor->value->device, element, status);
  return status;
}

static tsr_status read_element(const char *caller, tsr_tensor *tensor, tsr_dtype as, void *out_value) {
  tsr_status status = tsri_graph_run(tensor);
  if (status != TSR_OK) return status;
  const void *element = first_element(tensor);
  if (!element) return read_copy(caller, tensor, as, out_value);
  if (tensor->dtype == TSR_F32 && as == TSR_F64) {  // the most frequent case
    float number = 0;
    memcpy(&number, element, sizeof number);
    *(double *)out_value = (double)number;
    return TSR_OK;
  }
  return tsr_convert(as, out_value, tensor->dtype, element, 1);
}

// Reads the element and converts it to type `as`.
static tsr_status read_one(const char *caller, tsr_tensor *tensor, tsr_dtype as, void *out_value) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, tensor);
  if (status != TSR_OK) return status;
  if (tensor->layout.count != 1) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: takes a tensor of one element, not %s", caller,
                     tsr_shape_format(tensor->layout.shape, text, sizeof text));
  }
  if (as == TSR_I64 && tsri_dtype_is_float(tensor->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: takes integers and bool, not %s; tsr_item reads floats", caller,
                     tsr_dtype_name(tensor->dtype));
  }
  status = read_element(caller, tensor, as, out_value);
  if (status == TSR_OK && as == TSR_I64 && tensor->dtype == TSR_U64 && *(int64_t *)out_value < 0) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "%s: %" PRIu64 " does not fit int64_t; tsr_read reads u64", caller,
                       (uint64_t) * (int64_t *)out_value);
    *(int64_t *)out_value = 0;
  }
  return status;
}

tsr_status tsr_item(tsr_tensor *tensor, double *out_value) {
  if (!out_value) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "item: out_value is NULL");
  *out_value = 0;
  return read_one("item", tensor, TSR_F64, out_value);
}

tsr_status tsr_item_int(tsr_tensor *tensor, int64_t *out_value) {
  if (!out_value) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "item_int: out_value is NULL");
  *out_value = 0;
  return read_one("item_int", tensor, TSR_I64, out_value);
}

bool tsr_peek(const tsr_tensor *tensor, const int64_t *index, int axis_count, void *out_element) {
  int64_t offset = 0;
  bool is_right = tsri_tensor_is_usable(tensor) && out_element && !tsri_dtype_is_packed(tensor->dtype) &&
                  find_element(&tensor->layout, index, axis_count, &offset);
  const void *element = is_right ? element_at(tensor, offset) : NULL;
  if (element) memcpy(out_element, element, tsr_dtype_bytes(tensor->dtype));
  return element != NULL;
}

// Copies a few elements one by one: planning the copy, as tsri_strided_copy does, would take longer.
static void copy_few(char *to, const char *first, const tsri_layout *layout, size_t bytes) {
  int64_t index[TSR_MAX_RANK] = {0}, offset = 0;
  const int last = layout->shape.rank - 1;
  for (int64_t done = 0; done < layout->count; done++, to += bytes) {
    const char *from = first + offset * (int64_t)bytes;
    if (bytes == 4) memcpy(to, from, 4);
    else if (bytes == 8) memcpy(to, from, 8);
    else memcpy(to, from, bytes);
    int axis = last;
    offset += layout->strides[axis];
    while (++index[axis] == layout->shape.dims[axis] && axis > 0) {
      offset -= layout->shape.dims[axis] * layout->strides[axis];
      index[axis--] = 0;
      offset += layout->strides[axis];
    }
  }
}

bool tsr_peek_all(const tsr_tensor *tensor, void *out_elements, size_t bytes) {
  enum { MOST_ONE_BY_ONE = 64 };
  if (!tsri_tensor_is_usable(tensor) || !out_elements || tsri_dtype_is_packed(tensor->dtype)) return false;
  const tsri_layout *layout = &tensor->layout;
  size_t element_bytes = tsr_dtype_bytes(tensor->dtype);
  const void *first = layout->count > 0 && bytes / element_bytes == (size_t)layout->count && bytes % element_bytes == 0
                          ? first_element(tensor)
                          : NULL;
  if (!first) return false;
  if (tsri_layout_is_contiguous(layout)) {
    memcpy(out_elements, first, bytes);
    return true;
  }
  if (layout->count <= MOST_ONE_BY_ONE) {
    copy_few(out_elements, first, layout, element_bytes);
    return true;
  }
  tsri_layout to, from = *layout;
  if (tsri_layout_init("peek_all", layout->shape, tensor->dtype, &to, NULL) != TSR_OK) return false;
  from.offset = 0;
  tsri_strided_copy(out_elements, &to, first, &from, element_bytes);
  return true;
}

// --- Writing ---------------------------------------------------------------------------------------------------------

// Whether the memory can be written directly: only tensors of this value share it, and no open capture or gradient recording needs to know.
static bool is_written_alone(const tsr_tensor *target) {
  const tsr_buffer *buffer = tsri_tensor_buffer(target);
  if (!buffer || buffer->whole || buffer->is_read_only || tsri_buffer_is_shared(buffer)) return false;
  bool is_only = atomic_load_explicit(&((tsr_buffer *)(uintptr_t)buffer)->object.refs, memory_order_acquire) == 1;
  return is_only && tsri_value_has_tensors_only(target->value) && !tsri_watching && !tsri_tape_now();
}

// Up to this many elements, writing on the calling thread takes less time than recording and running an assignment.
enum { MOST_AT_ONCE = 1024 };

static tsr_status fill_in_place(const tsr_tensor *target, void *first, tsr_dtype dtype, const void *value) {
  if (target->layout.count == 1) return tsr_convert(target->dtype, first, dtype, value, 1);
  unsigned char element[8];
  tsr_status status = tsr_convert(target->dtype, element, dtype, value, 1);
  if (status == TSR_OK && target->layout.count > 0) status = tsri_target_check("fill", target);
  if (status != TSR_OK) return status;
  tsri_layout to = target->layout, from = {.shape = target->layout.shape, .count = target->layout.count};
  to.offset = 0;
  tsri_strided_copy(first, &to, element, &from, tsr_dtype_bytes(target->dtype));
  return TSR_OK;
}

static tsr_status fill(tsr_tensor *target, tsr_dtype dtype, const void *value) {
  tsr_status status = tsri_tensor_check("fill", target);
  if (status != TSR_OK) return status;
  void *first = target->layout.count <= MOST_AT_ONCE ? first_element(target) : NULL;
  if (first && is_written_alone(target)) return fill_in_place(target, first, dtype, value);
  tsr_device *device = target->value->device;
  tsr_tensor *number = dtype == TSR_F64 ? tsr_full(device, target->dtype, TSR_SCALAR, *(const double *)value)
                                        : tsr_full_int(device, target->dtype, TSR_SCALAR, *(const int64_t *)value);
  status = tsr_assign(target, number);
  tsr_release(number);
  return status;
}

// Assigns through a view. For an index out of range (to report it), or an element that cannot be written directly.
static tsr_status assign_view(tsr_tensor *target, const int64_t *index, int axis_count, const void *element) {
  if (axis_count != target->layout.shape.rank || (axis_count > 0 && !index)) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "assign_at: an index of %d numbers; the tensor has %d axes", axis_count,
                     (int)target->layout.shape.rank);
  }
  tsr_key items[TSR_MAX_RANK];
  for (int i = 0; i < axis_count; i++) items[i] = TSR_AT(index[i]);
  tsr_tensor *view = tsri_tensor_named("assign_at", tsr_view(target, items, axis_count));
  tsr_tensor *source =
      tsr_from_data(target->value->device, target->dtype, TSR_SCALAR, element, tsr_dtype_bytes(target->dtype));
  tsr_status status = tsr_assign(view, source);
  tsr_release(source);
  tsr_release(view);
  return status;
}

tsr_status tsr_assign_at(tsr_tensor *target, const int64_t *index, int axis_count, const void *element) {
  int64_t offset = 0;
  tsr_status status = tsri_tensor_check("assign_at", target);
  if (status == TSR_OK && !element) status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "assign_at: element is NULL");
  if (status != TSR_OK) return status;
  bool is_there = find_element(&target->layout, index, axis_count, &offset);
  void *place = is_there && is_written_alone(target) ? element_at(target, offset) : NULL;
  if (!place) return assign_view(target, index, axis_count, element);
  memcpy(place, element, tsr_dtype_bytes(target->dtype));
  return TSR_OK;
}

tsr_status tsr_fill(tsr_tensor *target, double value) { return fill(target, TSR_F64, &value); }
tsr_status tsr_fill_int(tsr_tensor *target, int64_t value) { return fill(target, TSR_I64, &value); }
