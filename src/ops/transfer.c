// SPDX-License-Identifier: MIT
// Reading, writing and moving tensors: what is pending runs first.
#include "graph/transfer.h"
#include "core/error.h"
#include "graph/graph.h"
#include "runtime/sharing.h"

static tsr_status check_transfer(const char *caller, const tsr_tensor *tensor, const void *data, size_t bytes) {
  tsr_status status = tsri_tensor_check(caller, tensor);
  if (status != TSR_OK) return status;
  size_t wanted = (size_t)tensor->layout.count * tsr_dtype_bytes(tensor->dtype);
  if (bytes != wanted) {
    char text[TSR_SHAPE_TEXT_BYTES];
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %zu bytes given, %s of %s are %zu", caller, bytes,
                     tsr_shape_format(tensor->layout.shape, text, sizeof text), tsr_dtype_name(tensor->dtype), wanted);
  }
  if (!data && bytes > 0) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: data is NULL", caller);
  return TSR_OK;
}

tsr_status tsr_read(tsr_tensor *tensor, void *out_data, size_t bytes) {
  tsr_status status = check_transfer("read", tensor, out_data, bytes);
  if (status == TSR_OK) status = tsri_graph_run(tensor);
  if (status != TSR_OK) return status;
  tsri_view view = tsri_view_of(tensor);
  return tsri_read_elements(&view, out_data);
}

tsr_status tsr_evaluate(tsr_tensor *tensor) {
  tsr_status status = tsri_tensor_check("evaluate", tensor);
  return status == TSR_OK ? tsri_graph_run(tensor) : status;
}

tsr_status tsr_write(tsr_tensor *tensor, const void *data, size_t bytes) {
  tsr_status status = check_transfer("write", tensor, data, bytes);
  if (status == TSR_OK) status = tsri_graph_before_write(tensor);
  if (status != TSR_OK || bytes == 0) return status;
  tsri_view view = tsri_view_of(tensor);
  if (view.buffer->is_read_only) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "write: the memory was imported as read-only; copy the tensor first");
  }
  if (tsri_layout_may_overlap(&view.layout)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "write: the view repeats elements (expand); copy it with tsr_contiguous first");
  }
  return tsri_write_elements(&view, data);
}

tsr_tensor *tsr_to(tsr_tensor *tensor, tsr_device *device) {
  tsr_status status = tsri_tensor_check("to", tensor);
  if (status == TSR_OK) status = tsri_device_check("to", device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tensor->value->device == device) return tsri_tensor_view(tensor, &tensor->layout);
  tsri_count(&device->counters.explicit_moves);
  return tsri_record_move(tensor, device);
}

tsr_tensor *tsr_contiguous(tsr_tensor *tensor) {
  tsr_status status = tsri_tensor_check("contiguous", tensor);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tsri_layout_is_contiguous(&tensor->layout)) return tsri_tensor_view(tensor, &tensor->layout);
  tsri_layout packed = tsri_packed_layout(&tensor->layout);
  return tsri_record_copy(tensor, &packed);
}

bool tsr_tensor_shares_memory(const tsr_tensor *a, const tsr_tensor *b) {
  if (!tsri_tensor_is_usable(a) || !tsri_tensor_is_usable(b)) return false;
  if (a->value == b->value) return true;
  const tsr_buffer *first = tsri_tensor_buffer(a), *second = tsri_tensor_buffer(b);
  return first && second && tsri_buffers_overlap(first, second);
}
