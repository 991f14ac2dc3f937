// SPDX-License-Identifier: MIT
// Reads, writes and moves tensors. Pending operators that these need run first.
#include "graph/transfer.h"
#include <tessera/ops.h>

#include "core/error.h"
#include "graph/graph.h"
#include "graph/place.h"
#include "ops/compose.h"
#include "ops/packed.h"
#include "ops/transfer.h"
#include "runtime/sharing.h"

tsr_status tsri_transfer_check(const char *caller, const tsr_tensor *tensor, const void *data, size_t bytes) {
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
  if (tsri_transfer_is_packed(tensor)) {
    tsr_tensor *stored = tsri_packed_bytes(tensor);
    tsr_status read = tsr_read(stored, out_data, bytes);
    tsr_release(stored);
    return read;
  }
  tsr_status status = tsri_transfer_check("read", tensor, out_data, bytes);
  tsr_tensor *source = status == TSR_OK && tensor->value->device->placing ? tsri_place_source(tensor) : NULL;
  if (source) {
    status = tsr_read(source, out_data, bytes);
    tsr_release(source);
    return status;
  }
  if (status == TSR_OK) status = tsri_graph_run(tensor);
  if (status != TSR_OK) return status;
  tsri_view view = tsri_view_of(tensor);
  return tsri_read_elements(&view, out_data);
}

tsr_status tsr_evaluate(tsr_tensor *tensor) {
  if (tsri_transfer_is_packed(tensor)) {
    tsr_tensor *stored = tsri_packed_bytes(tensor);
    tsr_status evaluated = tsr_evaluate(stored);
    tsr_release(stored);
    return evaluated;
  }
  tsr_status status = tsri_tensor_check("evaluate", tensor);
  return status == TSR_OK ? tsri_graph_run(tensor) : status;
}

tsr_status tsri_target_check(const char *caller, const tsr_tensor *target) {
  const tsr_buffer *buffer = tsri_tensor_buffer(target);
  if (buffer && buffer->is_read_only) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: the memory was imported as read-only; copy the tensor first",
                     caller);
  }
  if (!tsri_layout_may_overlap(&target->layout)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT,
                   "%s: the view repeats elements (expand); copy it with tsr_contiguous first", caller);
}

tsr_status tsr_write(tsr_tensor *tensor, const void *data, size_t bytes) {
  if (tsri_transfer_is_packed(tensor)) {
    tsr_tensor *stored = tsri_packed_bytes(tensor);
    tsr_status written = tsr_write(stored, data, bytes);
    tsr_release(stored);
    return written;
  }
  tsr_status status = tsri_transfer_check("write", tensor, data, bytes);
  if (status == TSR_OK) status = tsri_graph_before_write(tensor);
  if (status != TSR_OK || bytes == 0) return status;
  tsri_view view = tsri_view_of(tensor);
  status = tsri_target_check("write", tensor);
  if (status != TSR_OK) return status;
  return tsri_write_elements(&view, data);
}

// Moves `source` to the target's device, and takes over its reference. The target decides on the device here, not the rule for mixed devices.
static tsr_tensor *bring_to(tsr_tensor *source, tsr_tensor *target) {
  tsr_device *from = source->value->device, *to = target->value->device, *common = NULL;
  if (from == to) return source;
  tsr_status status = tsri_common_device("assign", (tsr_device *[]){from, to}, 2, &common);
  if (status == TSR_OK) tsri_note_implicit_move("assign", source->dtype, &source->layout, from, to);
  tsr_tensor *moved = status == TSR_OK ? tsri_record_move(source, to) : tsri_tensor_fail(status);
  tsr_release(source);
  return moved;
}

static tsr_status check_assign(const tsr_tensor *target, const tsr_tensor *source, tsri_layout *out_expanded) {
  tsr_status status = tsri_tensor_check("assign", target);
  if (status == TSR_OK) status = tsri_tensor_check("assign", source);
  if (status == TSR_OK) status = tsri_target_check("assign", target);
  if (status != TSR_OK || tsri_layout_expand(&source->layout, target->layout.shape, out_expanded) == TSR_OK)
    return status;
  char from[TSR_SHAPE_TEXT_BYTES], to[TSR_SHAPE_TEXT_BYTES];
  return TSRI_FAIL(TSR_ERR_SHAPE, "assign: a source of %s does not broadcast to the target of %s",
                   tsr_shape_format(source->layout.shape, from, sizeof from),
                   tsr_shape_format(target->layout.shape, to, sizeof to));
}

tsr_status tsr_assign(tsr_tensor *target, tsr_tensor *source) {
  tsri_layout expanded;
  tsr_status status = check_assign(target, source, &expanded);
  if (status != TSR_OK || target->layout.count == 0) return status;
  tsr_tensor *cast = tsr_cast(source, target->dtype);
  tsr_tensor *here = cast->status == TSR_OK ? bring_to(cast, target) : cast;
  status = tsri_tensor_check("assign", here);
  tsr_tensor *wide = status == TSR_OK ? tsr_expand(here, target->layout.shape) : NULL;
  if (status == TSR_OK) status = tsri_tensor_check("assign", wide);
  if (status == TSR_OK) status = tsri_record_assign(target, wide);
  tsr_release(wide);
  tsr_release(here);
  return status;
}

tsr_tensor *tsr_to(tsr_tensor *tensor, tsr_device *device) {
  if (tsri_transfer_is_packed(tensor)) {
    tsr_tensor *stored = tsri_packed_bytes(tensor), *moved = tsri_then(tsr_to(stored, device), stored);
    return tsri_packed_of(moved, tensor->dtype, tensor->packed_last);
  }
  tsr_status status = tsri_tensor_check("to", tensor);
  if (status == TSR_OK) status = tsri_device_check("to", device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tensor->value->device == device) return tsri_tensor_view(tensor, &tensor->layout);
  tsri_count(&device->counters.explicit_moves);
  return tsri_record_move(tensor, device);
}

tsr_tensor *tsr_contiguous(tsr_tensor *tensor) {
  if (tsri_transfer_is_packed(tensor)) {
    tsr_tensor *stored = tsri_packed_bytes(tensor), *whole = tsri_then(tsr_contiguous(stored), stored);
    return tsri_packed_of(whole, tensor->dtype, tensor->packed_last);
  }
  tsr_status status = tsri_tensor_check("contiguous", tensor);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tsri_layout_is_contiguous(&tensor->layout)) return tsri_tensor_view(tensor, &tensor->layout);
  tsri_layout packed = tsri_packed_layout(&tensor->layout);
  return tsri_record_copy(tensor, &packed);
}

tsr_tensor *tsr_copy(tsr_tensor *tensor) {
  if (tsri_transfer_is_packed(tensor)) {
    tsr_tensor *stored = tsri_packed_bytes(tensor), *whole = tsri_then(tsr_copy(stored), stored);
    return tsri_packed_of(whole, tensor->dtype, tensor->packed_last);
  }
  tsr_status status = tsri_tensor_check("copy", tensor);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_layout packed = tsri_packed_layout(&tensor->layout);
  return tsri_record_copy(tensor, &packed);
}

bool tsr_tensor_shares_memory(const tsr_tensor *a, const tsr_tensor *b) {
  if (!tsri_tensor_is_usable(a) || !tsri_tensor_is_usable(b)) return false;
  if (a->value == b->value) return true;
  const tsr_buffer *first = tsri_tensor_buffer(a), *second = tsri_tensor_buffer(b);
  return first && second && tsri_buffers_overlap(first, second);
}
