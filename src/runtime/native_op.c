// SPDX-License-Identifier: MIT
// Asks a device whether it has a native operator, and queues it.
#include "runtime/native_op.h"

#include "runtime/steps.h"
#include "runtime/tape.h"

static bool is_offered(const tsri_native_offer *offer, const tsri_native_op *op) {
  bool has_result = offer->results ? (offer->results >> op->result & 1u) != 0 : op->result == op->dtype;
  return offer->kind == op->kind && (offer->dtypes >> op->dtype & 1u) && has_result && !(op->parts & ~offer->parts);
}

static _Thread_local bool is_refused, was_taken;

void tsri_native_allow(bool is_allowed) {
  is_refused = !is_allowed;
  was_taken = false;
}

bool tsri_native_was_taken(void) { return was_taken; }

bool tsri_device_takes(const tsr_device *device, const tsri_native_op *op) {
  const tsri_backend *backend = device->backend;
  const tsri_native_offer *offer = backend->native_ops;
  if (!offer || is_refused) return false;
  while (offer->kind != TSRI_NATIVE_NONE && !is_offered(offer, op)) offer++;
  bool is_of_kind = offer->kind != TSRI_NATIVE_NONE;
  bool takes = is_of_kind && (!backend->has_op || backend->has_op(device->handle, op));
  if (is_of_kind && !takes) tsri_steps_decline();
  was_taken |= takes;
  return takes;
}

void tsri_place_bind(tsri_place *place, const tsr_buffer *buffer) {
  place->buffer = buffer->handle;
  place->offset += buffer->offset;
}

void tsri_native_op_finish(tsri_span *span, tsr_device *device, tsri_queue *queue, const tsri_native_op *op,
                           const tsri_profile_context *context, tsr_status status) {
  tsri_native_cost cost = tsri_native_op_cost(op);
  tsri_profile_work work = {.kind = TSR_PROFILE_NATIVE,
                            .name = tsri_native_kind_name(op->kind),
                            .bytes = cost.bytes,
                            .operations = cost.operations,
                            .is_f32 = op->dtype == TSR_F32 && !device->allows_tf32,
                            .context = context};
  tsri_span_finish(span, device, queue, status == TSR_OK ? &work : NULL);
}

// The profiler's key: operators of one kind with equal costs are assumed to take the same time (tsri_span_start).
static uint64_t key_of(const tsri_native_op *op) {
  tsri_native_cost cost = tsri_native_op_cost(op);
  return (cost.operations * 31 + cost.bytes) * 31 + (uint64_t)op->kind;
}

tsr_status tsri_device_run_op(tsr_device *device, const tsri_native_op *op, tsr_buffer *const *buffers,
                              int buffer_count) {
  return tsri_device_run_op_writing(device, op, buffers, 1, buffer_count);
}

tsr_status tsri_device_run_op_writing(tsr_device *device, const tsri_native_op *op, tsr_buffer *const *buffers,
                                      int written_count, int buffer_count) {
  if (!tsri_device_takes(device, op)) return TSR_ERR_UNSUPPORTED;
  tsr_status status = TSR_OK;
  tsri_queue *queue = tsri_device_lock(device);
  for (int i = 0; device->track_count > 1 && i < buffer_count && status == TSR_OK; i++) {
    status = tsri_track_touch(device, buffers[i], i < written_count);
  }
  tsri_span span = tsri_span_begin(device, queue, tsri_profiling() ? key_of(op) : 0);
  if (status == TSR_OK) status = device->backend->run_op(queue, op);
  if (span.is_on) tsri_native_op_finish(&span, device, queue, op, NULL, status);
  if (status == TSR_OK) tsri_count_queued(&device->counters.launches, 1);
  const tsri_command_name name = tsri_command_name_of(tsri_native_kind_name(op->kind));
  tsri_track_count(device, &name);
  tsri_device_unlock(device);
  if (status != TSR_OK) return status;
  tsri_steps_add_op(op);
  tsri_tape_op(device, op, &(tsri_tape_buffers){buffers, written_count, buffer_count}, &span.context);
  return TSR_OK;
}
