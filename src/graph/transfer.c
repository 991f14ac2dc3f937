// SPDX-License-Identifier: MIT
// Copies elements: on the device, to and from the host, and between devices.
#include "graph/transfer.h"

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "core/strided.h"
#include "graph/strided.h"
#include "runtime/native_op.h"
#include "runtime/profile.h"
#include "runtime/stage.h"
#include "runtime/tape.h"

tsri_layout tsri_packed_layout(const tsri_layout *layout) {
  tsri_layout packed = {0};
  // Cannot fail: a tensor with this shape exists.
  (void)tsri_layout_init("copy", layout->shape, TSR_U8, &packed, NULL);
  return packed;
}

tsri_view tsri_view_of(const tsr_tensor *tensor) {
  return (tsri_view){.buffer = tsri_tensor_buffer(tensor), .dtype = tensor->dtype, .layout = tensor->layout};
}

static size_t elements_bytes(const tsri_view *view) {
  return (size_t)view->layout.count * tsr_dtype_bytes(view->dtype);
}

// The bytes between a view's lowest and highest element, on the host: in place if the host can address them, else
// downloaded into `memory`.
typedef struct span {
  int64_t low;    // index of the lowest element in the buffer
  size_t offset;  // its offset in bytes
  size_t bytes;
  char *host;    // the bytes from `low` on
  void *memory;  // to be freed; NULL if `host` is in place
} span;

static tsr_status span_open(const tsri_view *view, span *out) {
  int64_t high = 0;
  size_t element = tsr_dtype_bytes(view->dtype);
  *out = (span){0};
  tsri_layout_span(&view->layout, &out->low, &high);
  out->offset = (size_t)out->low * element;
  out->bytes = (size_t)(high - out->low + 1) * element;
  void *host = NULL;
  tsr_status status = tsri_buffer_map(view->buffer, &host);
  if (status != TSR_OK) return status;
  if (host) {
    out->host = (char *)host + out->offset;
    return TSR_OK;
  }
  out->memory = tsri_stage_create(out->bytes);
  if (!out->memory) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for a stage of %zu bytes", out->bytes);
  out->host = out->memory;
  status = tsr_buffer_download(view->buffer, out->offset, out->memory, out->bytes);
  if (status != TSR_OK) tsri_stage_release(view->buffer->device, out->memory, status);
  return status;
}

static tsr_status gather(const tsri_view *view, void *out_data) {
  span from;
  tsr_status status = span_open(view, &from);
  if (status != TSR_OK) return status;
  tsri_layout packed = tsri_packed_layout(&view->layout), rebased = view->layout;
  rebased.offset -= from.low;
  tsri_strided_copy(out_data, &packed, from.host, &rebased, tsr_dtype_bytes(view->dtype));
  tsri_stage_release(view->buffer->device, from.memory, TSR_OK);
  return TSR_OK;
}

static tsr_status scatter(const tsri_view *view, const void *data) {
  span to;
  tsr_status status = span_open(view, &to);
  if (status != TSR_OK) return status;
  tsri_layout packed = tsri_packed_layout(&view->layout), rebased = view->layout;
  rebased.offset -= to.low;
  tsri_strided_copy(to.host, &rebased, data, &packed, tsr_dtype_bytes(view->dtype));
  if (to.memory) status = tsr_buffer_upload(view->buffer, to.offset, to.memory, to.bytes);
  tsri_stage_release(view->buffer->device, to.memory, status);
  return status;
}

// --- Copies on the device -----------------------------------------------------------------------------------------

static tsri_place place_of(const tsr_buffer *buffer, tsr_dtype dtype, const tsri_layout *layout) {
  tsri_place place = {.offset = (size_t)layout->offset * tsr_dtype_bytes(dtype)};
  tsri_place_bind(&place, buffer);
  return place;
}

// Copies by the device's native operator; TSR_ERR_UNSUPPORTED if it has none.
static tsr_status copy_native(const tsri_view *view, tsr_buffer *to, const tsri_layout *layout) {
  tsri_native_op op = {.kind = TSRI_NATIVE_COPY, .dtype = view->dtype, .result = view->dtype};
  op.is.copy.shape = layout->shape;
  op.is.copy.from = place_of(view->buffer, view->dtype, &view->layout);
  op.is.copy.to = place_of(to, view->dtype, layout);
  memcpy(op.is.copy.from_strides, view->layout.strides, sizeof op.is.copy.from_strides);
  memcpy(op.is.copy.to_strides, layout->strides, sizeof op.is.copy.to_strides);
  return tsri_device_run_op(to->device, &op, (tsr_buffer *const[]){to, view->buffer}, 2);
}

tsr_status tsri_copy_strided(const tsri_view *view, tsr_buffer *to, const tsri_layout *layout) {
  tsr_status status = copy_native(view, to, layout);
  return status == TSR_ERR_UNSUPPORTED ? tsri_strided_kernels(view, to, layout) : status;
}

static tsr_status copy_through_host(const tsri_view *from, const tsri_view *to) {
  tsr_device *device = to->buffer->device;
  tsr_status status = tsri_device_fall_back(device, "copying a view");
  if (status != TSR_OK) return status;
  size_t bytes = elements_bytes(from);
  void *stage = tsri_stage_create(bytes);
  if (!stage) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for a stage of %zu bytes", bytes);
  status = tsri_read_elements(from, stage);
  if (status == TSR_OK) status = tsri_write_elements(to, stage);
  tsri_stage_release(device, stage, status);
  return status;
}

tsr_status tsri_copy_view(const tsri_view *from, const tsri_view *to) {
  size_t bytes = elements_bytes(from), element = tsr_dtype_bytes(from->dtype);
  if (bytes == 0) return TSR_OK;
  if (tsri_layout_is_contiguous(&from->layout) && tsri_layout_is_contiguous(&to->layout)) {
    return tsri_buffer_copy(to->buffer, (size_t)to->layout.offset * element, from->buffer,
                            (size_t)from->layout.offset * element, bytes);
  }
  tsr_status status = tsri_copy_strided(from, to->buffer, &to->layout);
  return status == TSR_ERR_UNSUPPORTED ? copy_through_host(from, to) : status;
}

tsr_status tsri_copy_packed(const tsri_view *view, tsr_buffer *to) {
  tsri_view packed = {.buffer = to, .dtype = view->dtype, .layout = tsri_packed_layout(&view->layout)};
  return tsri_copy_view(view, &packed);
}

tsr_status tsri_copy_contiguous(const tsri_view *view, tsr_buffer **out_buffer) {
  tsr_buffer *to = NULL;
  tsr_status status = tsri_buffer_create_temporary(view->buffer->device, elements_bytes(view), &to);
  if (status == TSR_OK) status = tsri_copy_packed(view, to);
  if (status != TSR_OK) {
    tsr_buffer_release(to);
    return status;
  }
  *out_buffer = to;
  return TSR_OK;
}

// --- Between a view and the host --------------------------------------------------------------------------------------

// Whether to pack or unpack a strided view by a kernel on the device, so that one contiguous piece is transferred: if the host cannot address the elements, and
// there are enough of them that the kernel takes less time than it saves.
static bool packs_on_device(const tsri_view *view) {
  enum { FEW_BYTES = 4096 };
  void *host = NULL;
  const tsri_backend *backend = view->buffer->device->backend;
  return elements_bytes(view) > FEW_BYTES && backend->dialect && tsri_buffer_map(view->buffer, &host) == TSR_OK &&
         !host;
}

typedef tsr_status (*download_fn)(tsr_buffer *buffer, size_t offset, void *out_data, size_t bytes);
typedef tsr_status (*upload_fn)(tsr_buffer *buffer, size_t offset, const void *data, size_t bytes);

// Reading and writing are not part of a capture, so the kernels that pack and unpack are queued without a tape.
static tsr_status read_packed(const tsri_view *view, void *out_data, download_fn download) {
  tsr_buffer *packed = NULL;
  tsri_taping before = tsri_tape_enter(0);
  tsr_status status = tsri_copy_contiguous(view, &packed);
  if (status == TSR_OK) status = download(packed, 0, out_data, elements_bytes(view));
  tsr_buffer_release(packed);
  tsri_tape_leave(before);
  return status;
}

static tsr_status write_packed(const tsri_view *view, const void *data, upload_fn upload) {
  tsri_view packed = {.dtype = view->dtype, .layout = tsri_packed_layout(&view->layout)};
  tsri_taping before = tsri_tape_enter(0);
  tsr_status status = tsr_buffer_create(view->buffer->device, elements_bytes(view), 0, &packed.buffer);
  if (status == TSR_OK) status = upload(packed.buffer, 0, data, elements_bytes(view));
  if (status == TSR_OK) status = tsri_copy_strided(&packed, view->buffer, &view->layout);
  tsr_buffer_release(packed.buffer);
  tsri_tape_leave(before);
  return status;
}

static tsr_status read_elements(const tsri_view *view, void *out_data, download_fn download) {
  if (view->layout.count == 0) return TSR_OK;
  if (!tsri_layout_is_contiguous(&view->layout)) {
    return packs_on_device(view) ? read_packed(view, out_data, download) : gather(view, out_data);
  }
  size_t offset = (size_t)view->layout.offset * tsr_dtype_bytes(view->dtype);
  return download(view->buffer, offset, out_data, elements_bytes(view));
}

static tsr_status write_elements(const tsri_view *view, const void *data, upload_fn upload) {
  if (view->layout.count == 0) return TSR_OK;
  if (!tsri_layout_is_contiguous(&view->layout)) {
    return packs_on_device(view) ? write_packed(view, data, upload) : scatter(view, data);
  }
  size_t offset = (size_t)view->layout.offset * tsr_dtype_bytes(view->dtype);
  return upload(view->buffer, offset, data, elements_bytes(view));
}

tsr_status tsri_read_elements(const tsri_view *view, void *out_data) {
  return read_elements(view, out_data, tsr_buffer_download);
}

tsr_status tsri_write_elements(const tsri_view *view, const void *data) {
  return write_elements(view, data, tsr_buffer_upload);
}

tsr_status tsri_read_elements_queued(const tsri_view *view, void *out_data) {
  return read_elements(view, out_data, tsri_buffer_queue_download);
}

tsr_status tsri_write_elements_queued(const tsri_view *view, const void *data) {
  return write_elements(view, data, tsri_buffer_queue_upload);
}

// --- Between devices ------------------------------------------------------------------------------------------------

// A strided view is first packed on its own device: fewer bytes are transferred, in one piece.
tsr_status tsri_copy_to_device(const tsri_view *view, tsr_device *device, tsr_buffer **out_buffer) {
  tsr_buffer *packed = NULL, *to = NULL;
  size_t bytes = elements_bytes(view), offset = 0;
  tsr_status status = TSR_OK;
  if (tsri_layout_is_contiguous(&view->layout)) {
    packed = tsr_buffer_retain(view->buffer);
    offset = (size_t)view->layout.offset * tsr_dtype_bytes(view->dtype);
  } else {
    status = tsri_copy_contiguous(view, &packed);
  }
  if (status == TSR_OK) status = tsr_buffer_create(device, bytes, 0, &to);
  if (status == TSR_OK && bytes > 0) status = tsri_buffer_copy(to, 0, packed, offset, bytes);
  tsr_buffer_release(packed);
  if (status != TSR_OK) {
    tsr_buffer_release(to);
    return status;
  }
  *out_buffer = to;
  return TSR_OK;
}

tsr_status tsri_common_device(const char *caller, tsr_device *const *devices, int count, tsr_device **out_device) {
  tsr_device *chosen = devices[0];
  for (int i = 1; i < count; i++) {
    tsr_device *device = devices[i];
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

void tsri_note_implicit_move(const char *caller, tsr_dtype dtype, const tsri_layout *layout, const tsr_device *from,
                             tsr_device *to) {
  tsri_count(&to->counters.implicit_moves);
  if (tsri_profiling()) {
    uint64_t bytes = (uint64_t)layout->count * tsr_dtype_bytes(dtype);
    tsri_profile_context context = {.operators = tsri_profile_intern(caller), .label = tsri_profile_label()};
    tsri_profile_host(
        to, 0,
        &(tsri_profile_work){.kind = TSR_PROFILE_MOVE, .name = from->info.name, .bytes = bytes, .context = &context});
  }
  char text[TSR_SHAPE_TEXT_BYTES];
  tsri_log(TSR_LOG_INFO, "%s: moving a %s of %s from %s to %s", caller,
           tsr_shape_format(layout->shape, text, sizeof text), tsr_dtype_name(dtype), from->backend->name,
           to->backend->name);
}

tsr_status tsri_move_implicitly(const char *caller, const tsri_view *view, tsr_device *device, tsri_view *out_view) {
  *out_view = *view;
  if (view->buffer->device == device) {
    tsr_buffer_retain(view->buffer);
    return TSR_OK;
  }
  tsri_note_implicit_move(caller, view->dtype, &view->layout, view->buffer->device, device);
  out_view->layout = tsri_packed_layout(&view->layout);
  return tsri_copy_to_device(view, device, &out_view->buffer);
}
