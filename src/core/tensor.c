// SPDX-License-Identifier: MIT
// Tensors: creation, failure, references, properties.
#include "core/tensor.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"

// Used when not even a failed tensor can be allocated.
static tsr_tensor out_of_memory = {
    .object = {.refs = 1, .type = TSRI_OBJECT_TENSOR},
    .status = TSR_ERR_OUT_OF_MEMORY,
    .message = "tensor: no host memory for its record\0" TSRI_PLACE,
    .dtype = TSR_F32,
    .is_static = true,
};

// Makes the failure stored in a failed tensor this thread's last error, with the place where it first occurred.
static tsr_status repeat_failure(const tsr_tensor *tensor) {
  const char *place = tensor->message + strlen(tensor->message) + 1;
  return tsri_fail(tensor->status, place, "%s", tensor->message);
}

static tsr_tensor *fail_out_of_memory(void) {
  repeat_failure(&out_of_memory);
  return &out_of_memory;
}

// This thread's last error in the form that tsr_tensor.message has; NULL when host memory is out.
static char *copy_last_error(void) {
  const char *message = tsr_last_error(), *place = tsr_last_error_place();
  size_t message_bytes = strlen(message) + 1, place_bytes = strlen(place) + 1;
  char *copy = tsri_malloc(message_bytes + place_bytes);
  if (!copy) return NULL;
  memcpy(copy, message, message_bytes);
  memcpy(copy + message_bytes, place, place_bytes);
  return copy;
}

static void destroy(tsr_tensor *tensor) {
  tsri_value_let_go(tensor->value);
  if (tensor->message) tsri_free(tensor->message);
  tensor->value = NULL;
  tensor->message = NULL;
  tsri_object_destroy(&tensor->object, sizeof *tensor);
}

static tsr_tensor *adopt(tsr_tensor *tensor) {
  if (tsri_scope_adopt(tensor)) return tensor;
  destroy(tensor);
  return fail_out_of_memory();
}

// A tensor without a layout, in no scope yet. Takes over the reference to `value`. NULL when host memory is out.
static tsr_tensor *create(tsri_value *value, tsr_dtype dtype) {
  tsr_tensor *tensor = tsri_record_alloc(sizeof *tensor);
  if (!tensor) {
    tsri_value_let_go(value);
    return NULL;
  }
  // Members are set one by one: clearing the record first would take longer than the rest of this function.
  atomic_init(&tensor->object.refs, 1);
  tensor->object.type = TSRI_OBJECT_TENSOR;
  tensor->status = TSR_OK;
  tensor->message = NULL;
  tensor->dtype = dtype;
  tensor->packed_last = 0;
  tensor->value = value;
  tensor->scope = NULL;
  tensor->scope_index = 0;
  tensor->is_static = false;
  return tensor;
}

tsr_tensor *tsri_tensor_of(tsri_value *value, tsr_dtype dtype, const tsri_layout *layout) {
  tsr_tensor *tensor = create(value, dtype);
  if (!tensor) return fail_out_of_memory();
  tensor->layout = *layout;  // by wide stores, since the tensor's reader copies it by wide loads
  return adopt(tensor);
}

tsr_tensor *tsri_tensor_create(tsr_buffer *buffer, tsr_dtype dtype, const tsri_layout *layout) {
  tsri_value *value = tsri_value_create(buffer);
  return value ? tsri_tensor_of(value, dtype, layout) : fail_out_of_memory();
}

// Copies the sizes and strides of the layout's axes one by one, and sets those of the other axes to 0. A view's layout was just stored one number at a time,
// and wide loads of such memory would stall (store forwarding).
static void copy_layout(tsri_layout *to, const tsri_layout *from) {
  to->shape.rank = from->shape.rank;
  for (int i = 0; i < from->shape.rank; i++) {
    to->shape.dims[i] = from->shape.dims[i];
    to->strides[i] = from->strides[i];
  }
  for (int i = from->shape.rank; i < TSR_MAX_RANK; i++) to->shape.dims[i] = to->strides[i] = 0;
  to->offset = from->offset;
  to->count = from->count;
}

tsr_tensor *tsri_tensor_view(const tsr_tensor *tensor, const tsri_layout *layout) {
  tsr_tensor *view = create(tsri_value_hold(tensor->value), tensor->dtype);
  if (!view) return fail_out_of_memory();
  copy_layout(&view->layout, layout);
  view->packed_last = tensor->packed_last;
  return adopt(view);
}

tsr_tensor *tsri_tensor_fail(tsr_status status) {
  tsr_tensor *tensor = tsri_object_create(TSRI_OBJECT_TENSOR, sizeof *tensor);
  char *message = copy_last_error();
  if (!tensor || !message) {
    tsri_record_free(tensor, sizeof *tensor);
    tsri_free(message);
    return fail_out_of_memory();
  }
  tensor->status = status;
  tensor->message = message;
  tensor->dtype = TSR_F32;
  return adopt(tensor);
}

tsr_tensor *tsri_tensor_named(const char *caller, tsr_tensor *result) {
  tsr_status status = tsri_tensor_check_any(caller, result);
  if (status == TSR_OK) return result;
  tsr_tensor *named = tsri_tensor_fail(tsri_fail_as(caller, status));
  tsr_release(result);
  return named;
}

tsr_status tsri_tensor_check_any(const char *caller, const tsr_tensor *tensor) {
  tsr_status status = tsri_object_check(tensor, TSRI_OBJECT_TENSOR, caller, "tensor");
  if (status != TSR_OK || tensor->status == TSR_OK) return status;
  return repeat_failure(tensor);
}

tsr_status tsri_tensor_explain(const char *caller, const tsr_tensor *tensor) {
  tsr_status status = tsri_tensor_check_any(caller, tensor);
  if (status != TSR_OK || !tsri_dtype_is_packed(tensor->dtype)) return status;
  return TSRI_FAIL(TSR_ERR_DTYPE,
                   "%s: takes no %s, which is packed for storage; cast it to another dtype with tsr_cast", caller,
                   tsr_dtype_name(tensor->dtype));
}

tsr_status tsr_error(const tsr_tensor *tensor) { return tsri_tensor_check_any("error", tensor); }

tsr_tensor *tsr_retain(tsr_tensor *tensor) {
  if (tensor && tsri_object_check(tensor, TSRI_OBJECT_TENSOR, "retain", "tensor") == TSR_OK && !tensor->is_static) {
    tsri_object_retain(&tensor->object);
  }
  return tensor;
}

void tsr_release(tsr_tensor *tensor) {
  if (!tensor) return;
  if (tsri_object_check(tensor, TSRI_OBJECT_TENSOR, "release", "tensor") != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());  // release has no status to return
    return;
  }
  if (tensor->is_static || !tsri_object_release(&tensor->object)) return;
  tsri_scope_disown(tensor);
  destroy(tensor);
}

tsr_dtype tsr_tensor_dtype(const tsr_tensor *tensor) { return tsri_tensor_is_usable(tensor) ? tensor->dtype : TSR_F32; }

tsr_shape tsr_tensor_shape(const tsr_tensor *tensor) {
  if (!tsri_tensor_is_usable(tensor)) return TSR_SCALAR;
  tsr_shape shape = tensor->layout.shape;
  if (tsri_dtype_is_packed(tensor->dtype)) shape.dims[shape.rank - 1] = tensor->packed_last;
  return shape;
}

int tsr_tensor_rank(const tsr_tensor *tensor) { return tsri_tensor_is_usable(tensor) ? tensor->layout.shape.rank : 0; }

int64_t tsr_tensor_stride(const tsr_tensor *tensor, int axis) {
  if (!tsri_tensor_is_usable(tensor)) return 0;
  int rank = tensor->layout.shape.rank, at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at >= rank) return 0;
  bool is_doubled = tsri_dtype_is_packed(tensor->dtype) && at < rank - 1;  // two elements to a byte
  return tensor->layout.strides[at] * (is_doubled ? 2 : 1);
}

int64_t tsr_tensor_count(const tsr_tensor *tensor) {
  if (!tsri_tensor_is_usable(tensor)) return 0;
  const tsri_layout *layout = &tensor->layout;
  if (!tsri_dtype_is_packed(tensor->dtype) || layout->count == 0) return layout->count;
  return layout->count / layout->shape.dims[layout->shape.rank - 1] * tensor->packed_last;
}

tsr_device *tsr_tensor_device(const tsr_tensor *tensor) {
  return tsri_tensor_is_usable(tensor) ? tensor->value->device : NULL;
}

bool tsr_tensor_is_contiguous(const tsr_tensor *tensor) {
  return tsri_tensor_is_usable(tensor) && tsri_layout_is_contiguous(&tensor->layout);
}
