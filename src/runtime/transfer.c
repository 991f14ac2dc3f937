// SPDX-License-Identifier: MIT
// Reading, writing, packing and moving tensors.
#include "runtime/transfer.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "core/strided.h"

static tsri_layout row_major(const tsri_layout *layout) {
  tsri_layout packed = {0};
  // Cannot fail: the tensor has this shape already.
  (void)tsri_layout_init("copy", layout->shape, TSR_U8, &packed, NULL);
  return packed;
}

static size_t elements_bytes(const tsr_tensor *tensor) {
  return (size_t)tensor->layout.count * tsr_dtype_bytes(tensor->dtype);
}

// The bytes between the tensor's lowest and highest element, on the host: in place where the host can address
// them, else downloaded into `memory`.
typedef struct span {
  int64_t low;    // element offset of the first byte
  size_t offset;  // the same in bytes
  size_t bytes;
  char *host;    // bytes from `low` on
  void *memory;  // to free; NULL if in place
} span;

static tsr_status span_open(const tsr_tensor *tensor, span *out) {
  int64_t high = 0;
  size_t element = tsr_dtype_bytes(tensor->dtype);
  *out = (span){0};
  tsri_layout_span(&tensor->layout, &out->low, &high);
  out->offset = (size_t)out->low * element;
  out->bytes = (size_t)(high - out->low + 1) * element;
  void *host = NULL;
  tsr_status status = tsri_buffer_map(tensor->buffer, &host);
  if (status != TSR_OK) return status;
  if (host) {
    out->host = (char *)host + out->offset;
    return TSR_OK;
  }
  out->memory = tsri_malloc(out->bytes);
  if (!out->memory) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for a stage of %zu bytes", out->bytes);
  out->host = out->memory;
  status = tsr_buffer_download(tensor->buffer, out->offset, out->memory, out->bytes);
  if (status != TSR_OK) tsri_free(out->memory);
  return status;
}

static tsr_status gather(const tsr_tensor *tensor, void *out_data) {
  span from;
  tsr_status status = span_open(tensor, &from);
  if (status != TSR_OK) return status;
  tsri_layout packed = row_major(&tensor->layout), rebased = tensor->layout;
  rebased.offset -= from.low;
  tsri_strided_copy(out_data, &packed, from.host, &rebased, tsr_dtype_bytes(tensor->dtype));
  tsri_free(from.memory);
  return TSR_OK;
}

static tsr_status scatter(tsr_tensor *tensor, const void *data) {
  span to;
  tsr_status status = span_open(tensor, &to);
  if (status != TSR_OK) return status;
  tsri_layout packed = row_major(&tensor->layout), rebased = tensor->layout;
  rebased.offset -= to.low;
  tsri_strided_copy(to.host, &rebased, data, &packed, tsr_dtype_bytes(tensor->dtype));
  if (to.memory) status = tsr_buffer_upload(tensor->buffer, to.offset, to.memory, to.bytes);
  tsri_free(to.memory);
  return status;
}

tsr_status tsri_read_elements(const tsr_tensor *tensor, void *out_data) {
  if (tensor->layout.count == 0) return TSR_OK;
  if (!tsri_layout_is_contiguous(&tensor->layout)) return gather(tensor, out_data);
  size_t offset = (size_t)tensor->layout.offset * tsr_dtype_bytes(tensor->dtype);
  return tsr_buffer_download(tensor->buffer, offset, out_data, elements_bytes(tensor));
}

static tsr_status check_transfer(const char *caller, const tsr_tensor *tensor, const void *data, size_t bytes) {
  tsr_status status = tsri_tensor_check(caller, tensor);
  if (status != TSR_OK) return status;
  size_t wanted = elements_bytes(tensor);
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
  return status != TSR_OK ? status : tsri_read_elements(tensor, out_data);
}

tsr_status tsr_write(tsr_tensor *tensor, const void *data, size_t bytes) {
  tsr_status status = check_transfer("write", tensor, data, bytes);
  if (status != TSR_OK || bytes == 0) return status;
  if (tensor->buffer->is_read_only) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "write: the memory was imported as read-only; copy the tensor first");
  }
  if (tsri_layout_may_overlap(&tensor->layout)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                     "write: the view repeats elements (expand); copy it with tsr_contiguous first");
  }
  if (!tsri_layout_is_contiguous(&tensor->layout)) return scatter(tensor, data);
  size_t offset = (size_t)tensor->layout.offset * tsr_dtype_bytes(tensor->dtype);
  return tsr_buffer_upload(tensor->buffer, offset, data, bytes);
}

// --- Copies on the device -----------------------------------------------------------------------------------------

static tsri_operand operand_of(tsr_buffer *buffer, tsr_dtype dtype, const tsri_layout *layout) {
  tsri_operand operand = {.buffer = buffer->handle, .dtype = dtype, .shape = layout->shape};
  operand.offset = buffer->offset + (size_t)layout->offset * tsr_dtype_bytes(dtype);
  memcpy(operand.strides, layout->strides, sizeof operand.strides);
  return operand;
}

// The device's own strided copy; TSR_ERR_UNSUPPORTED where it has none.
static tsr_status copy_native(const tsr_tensor *tensor, tsr_buffer *to, const tsri_layout *packed) {
  tsr_device *device = to->device;
  const tsri_backend *backend = device->backend;
  tsri_native_op op = {.name = "copy", .input_count = 1};
  op.inputs[0] = operand_of(tensor->buffer, tensor->dtype, &tensor->layout);
  op.output = operand_of(to, tensor->dtype, packed);
  if (!backend->has_op || !backend->has_op(device->handle, &op)) return TSR_ERR_UNSUPPORTED;
  tsri_queue *queue = tsri_device_lock(device);
  tsr_status status = backend->run_op(queue, &op);
  tsri_device_unlock(device);
  tsri_count(&device->counters.launches);
  return status;
}

static tsr_status copy_through_host(const tsr_tensor *tensor, tsr_buffer *to) {
  tsr_status status = tsri_device_fall_back(to->device, "copying a view");
  if (status != TSR_OK) return status;
  size_t bytes = elements_bytes(tensor);
  void *stage = tsri_malloc(bytes);
  if (!stage) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for a stage of %zu bytes", bytes);
  status = gather(tensor, stage);
  if (status == TSR_OK) status = tsr_buffer_upload(to, 0, stage, bytes);
  tsri_free(stage);
  return status;
}

tsr_status tsri_copy_contiguous(const tsr_tensor *tensor, tsr_buffer **out_buffer) {
  tsr_buffer *to = NULL;
  tsri_layout packed = row_major(&tensor->layout);
  size_t bytes = elements_bytes(tensor);
  tsr_status status = tsr_buffer_create(tensor->buffer->device, bytes, 0, &to);
  if (status != TSR_OK) return status;
  if (bytes > 0 && tsri_layout_is_contiguous(&tensor->layout)) {
    size_t offset = (size_t)tensor->layout.offset * tsr_dtype_bytes(tensor->dtype);
    status = tsr_buffer_copy(to, 0, tensor->buffer, offset, bytes);
  } else if (bytes > 0) {
    status = copy_native(tensor, to, &packed);
    if (status == TSR_ERR_UNSUPPORTED) status = copy_through_host(tensor, to);
  }
  if (status != TSR_OK) {
    tsr_buffer_release(to);
    return status;
  }
  *out_buffer = to;
  return TSR_OK;
}

// --- Between devices ------------------------------------------------------------------------------------------------

// A view is packed on its own device first: fewer bytes travel, and the copy is one piece.
tsr_status tsri_copy_to_device(const tsr_tensor *tensor, tsr_device *device, tsr_buffer **out_buffer) {
  tsr_buffer *packed = NULL, *to = NULL;
  size_t bytes = elements_bytes(tensor), offset = 0;
  tsr_status status = TSR_OK;
  if (tsri_layout_is_contiguous(&tensor->layout)) {
    packed = tsr_buffer_retain(tensor->buffer);
    offset = (size_t)tensor->layout.offset * tsr_dtype_bytes(tensor->dtype);
  } else {
    status = tsri_copy_contiguous(tensor, &packed);
  }
  if (status == TSR_OK) status = tsr_buffer_create(device, bytes, 0, &to);
  if (status == TSR_OK) status = tsr_buffer_copy(to, 0, packed, bytes ? offset : 0, bytes);
  tsr_buffer_release(packed);
  if (status != TSR_OK) {
    tsr_buffer_release(to);
    return status;
  }
  *out_buffer = to;
  return TSR_OK;
}

tsr_tensor *tsr_to(tsr_tensor *tensor, tsr_device *device) {
  tsr_status status = tsri_tensor_check("to", tensor);
  if (status == TSR_OK) status = tsri_device_check("to", device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tensor->buffer->device == device) return tsri_tensor_view(tensor, &tensor->layout);
  tsr_buffer *buffer = NULL;
  status = tsri_copy_to_device(tensor, device, &buffer);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_layout packed = row_major(&tensor->layout);
  return tsri_tensor_create(buffer, tensor->dtype, &packed);
}

tsr_tensor *tsr_contiguous(tsr_tensor *tensor) {
  tsr_status status = tsri_tensor_check("contiguous", tensor);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tsri_layout_is_contiguous(&tensor->layout)) return tsri_tensor_view(tensor, &tensor->layout);
  tsr_buffer *buffer = NULL;
  status = tsri_copy_contiguous(tensor, &buffer);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_layout packed = row_major(&tensor->layout);
  return tsri_tensor_create(buffer, tensor->dtype, &packed);
}

tsr_status tsri_common_device(const char *caller, tsr_tensor *const *tensors, int count, tsr_device **out_device) {
  tsr_device *chosen = tensors[0]->buffer->device;
  for (int i = 1; i < count; i++) {
    tsr_device *device = tensors[i]->buffer->device;
    if (device == chosen) continue;
    if (device->mix_is_error || chosen->mix_is_error) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                       "%s: inputs on two devices, %s (%s) and %s (%s); move one with tsr_to, or set TESSERA_MIX=move",
                       caller, chosen->backend->name, chosen->info.name, device->backend->name, device->info.name);
    }
    if (device->priority > chosen->priority) chosen = device;
  }
  *out_device = chosen;
  return TSR_OK;
}

tsr_status tsri_move_implicitly(const char *caller, tsr_tensor *tensor, tsr_device *device, tsr_buffer **out_buffer,
                                tsri_layout *out_layout) {
  *out_layout = tensor->layout;
  if (tensor->buffer->device == device) {
    *out_buffer = tsr_buffer_retain(tensor->buffer);
    return TSR_OK;
  }
  tsri_count(&device->counters.implicit_moves);
  char text[TSR_SHAPE_TEXT_BYTES];
  tsri_log(TSR_LOG_INFO, "%s: moving a %s of %s from %s to %s", caller,
           tsr_shape_format(tensor->layout.shape, text, sizeof text), tsr_dtype_name(tensor->dtype),
           tensor->buffer->device->backend->name, device->backend->name);
  *out_layout = row_major(&tensor->layout);
  return tsri_copy_to_device(tensor, device, out_buffer);
}
