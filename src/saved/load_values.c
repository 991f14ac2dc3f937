// SPDX-License-Identifier: MIT
// Reads the values of a file and views of them. All sizes, strides and numbers of the file are checked before they are used.
#include "core/alloc.h"
#include "core/dtype.h"
#include "core/error.h"
#include "graph/compose.h"
#include "saved/load.h"

tsr_status tsri_loading_fail(const char *what) {
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_load: the file is damaged: %s", what);
}

tsr_status tsri_loading_no_memory(void) {
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_load: no host memory for it");
}

tsr_status tsri_loading_take_dtype(tsri_loading *l, tsr_dtype *out_dtype) {
  uint64_t dtype = tsri_saved_take(&l->text, 1);
  *out_dtype = (tsr_dtype)dtype;
  if (l->text.is_short || dtype >= TSR_DTYPE_COUNT || tsri_dtype_is_packed(*out_dtype)) {
    return tsri_loading_fail("a dtype that does not exist");
  }
  return TSR_OK;
}

tsr_status tsri_loading_check_size(const tsri_loading *l, uint64_t bytes) {
  if (l->desc->most_bytes == 0 || bytes <= l->desc->most_bytes) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_load: a tensor of %llu bytes, and %llu are allowed",
                   (unsigned long long)bytes, (unsigned long long)l->desc->most_bytes);
}

static int take_rank(tsri_loading *l) {
  uint64_t rank = tsri_saved_take(&l->text, 1);
  return rank <= TSR_MAX_RANK ? (int)rank : -1;
}

tsr_status tsri_loading_take_shape(tsri_loading *l, tsr_dtype dtype, tsr_shape *out_shape, int64_t *out_count) {
  tsri_layout layout;
  size_t bytes = 0;
  int rank = take_rank(l);
  if (rank < 0) return tsri_loading_fail("a rank that is too large");
  *out_shape = (tsr_shape){.rank = rank};
  for (int i = 0; i < rank; i++) out_shape->dims[i] = tsri_saved_take_i64(&l->text);
  if (l->text.is_short) return tsri_loading_fail("it ends too early");
  tsr_status status = tsri_layout_init("capture_load", *out_shape, dtype, &layout, &bytes);
  *out_count = layout.count;
  return status == TSR_OK ? tsri_loading_check_size(l, bytes) : status;
}

tsr_status tsri_loading_add_value(tsri_loading *l, tsr_tensor *tensor, tsr_dtype dtype, int64_t count) {
  if (l->value_count == l->value_room) {
    uint32_t room = l->value_room ? 2 * l->value_room : 64;
    tsri_loaded_value *values = tsri_realloc(l->values, room * sizeof *values);
    if (!values) return tsri_loading_no_memory();
    l->values = values;
    l->value_room = room;
  }
  l->values[l->value_count++] = (tsri_loaded_value){tensor, dtype, count};
  return TSR_OK;
}

// --- Views -----------------------------------------------------------------------------------------------------------

// Whether every index of the layout is an element of a value with `count`. The lowest and the highest index are summed up without overflow.
static bool is_inside(const tsri_layout *layout, int64_t count) {
  int64_t low = layout->offset, high = layout->offset;
  if (layout->count == 0) return true;
  for (int i = 0; i < layout->shape.rank; i++) {
    int64_t reach = 0, *end = layout->strides[i] < 0 ? &low : &high;
    if (!tsri_mul_i64(layout->shape.dims[i] - 1, layout->strides[i], &reach) || !tsri_add_i64(*end, reach, end)) {
      return false;
    }
  }
  return low >= 0 && high < count;
}

static tsr_status take_layout(tsri_loading *l, tsr_dtype dtype, tsri_layout *out) {
  int rank = take_rank(l);
  (void)tsri_saved_take(&l->text, 1);
  int64_t offset = tsri_saved_take_i64(&l->text), strides[TSR_MAX_RANK] = {0};
  if (rank < 0) return tsri_loading_fail("a rank that is too large");
  tsr_shape shape = {.rank = rank};
  size_t bytes = 0;
  for (int i = 0; i < rank; i++) {
    shape.dims[i] = tsri_saved_take_i64(&l->text);
    strides[i] = tsri_saved_take_i64(&l->text);
  }
  if (l->text.is_short) return tsri_loading_fail("it ends too early");
  tsr_status status = tsri_layout_init("capture_load", shape, dtype, out, &bytes);
  if (status == TSR_OK)
    status = tsri_loading_check_size(l, bytes);  // a view with strides of 0 may be larger than its value
  out->offset = offset;
  for (int i = 0; i < rank; i++) out->strides[i] = strides[i];
  return status;
}

// A file may have any number as the stride of an axis of size 1, or as the offset of a view without elements, since they address nothing. Replaces them by small
// numbers, so that arithmetic with them cannot overflow.
static void tame(tsri_layout *layout, int64_t count) {
  for (int i = 0; i < layout->shape.rank; i++) {
    bool is_unused = layout->shape.dims[i] <= 1 || layout->count == 0;
    if (is_unused && (layout->strides[i] > count || layout->strides[i] < -count)) layout->strides[i] = 0;
  }
  if (layout->count == 0) layout->offset = 0;
}

// Makes a view of `tensor`. `layout` refers to its elements in row-major order; if the tensor has another layout, the two are composed, or the tensor is copied
// first.
static tsr_tensor *view_of(tsr_tensor *tensor, const tsri_layout *layout) {
  tsri_layout view;
  if (tsri_layout_is_row_major(&tensor->layout)) return tsri_tensor_view(tensor, layout);
  if (tsri_compose(layout, &tensor->layout.shape, &tensor->layout, &view)) return tsri_tensor_view(tensor, &view);
  tsr_tensor *packed = tsr_contiguous(tensor);
  return packed->status == TSR_OK ? tsri_tensor_view(packed, layout) : packed;
}

tsr_status tsri_loading_take_view(tsri_loading *l, tsri_loaded_view *out_view) {
  uint32_t number = tsri_saved_take_u32(&l->text);
  tsr_dtype dtype = TSR_F32;
  tsri_layout layout = {0};
  tsr_status status = tsri_loading_take_dtype(l, &dtype);
  if (status == TSR_OK) status = tsri_loading_take_dtype(l, &out_view->as);
  if (status == TSR_OK) status = take_layout(l, dtype, &layout);
  if (status != TSR_OK) return status;
  if (number >= l->value_count) return tsri_loading_fail("a step reads what is computed later");
  const tsri_loaded_value *value = &l->values[number];
  if (!value->tensor) return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "capture_load: a step reads a result for gradients");
  if (value->dtype != dtype) return tsri_loading_fail("a view of another dtype");
  if (!is_inside(&layout, value->count)) return tsri_loading_fail("a view outside of its value");
  tame(&layout, value->count);
  out_view->tensor = view_of(value->tensor, &layout);
  return tsr_error(out_view->tensor);
}
