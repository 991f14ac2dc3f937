// SPDX-License-Identifier: MIT
// In the browser there is one thread: every queue of the CPU does its work inside the call, and an event has happened once it is recorded.
#include "backends/cpu/later.h"

#include "core/alloc.h"
#include "core/error.h"
#include "platform/platform.h"

tsr_status tsri_cpu_later_create(cpu_device *device, tsri_queue **out_queue) {
  *out_queue = (tsri_queue *)device;
  return TSR_OK;
}

void tsri_cpu_later_destroy(cpu_device *queue) { (void)queue; }
void tsri_cpu_later_idle(cpu_device *queue) { (void)queue; }

tsr_status tsri_cpu_later_wait(cpu_device *queue, uint64_t timeout_ns) {
  (void)queue;
  (void)timeout_ns;
  return TSR_OK;
}

tsr_status tsri_cpu_later_launch(cpu_device *queue, tsri_program *program, const tsri_launch *launch,
                                 uint32_t params_bytes) {
  (void)params_bytes;
  return tsri_cpu_launch_now(queue, program, launch);
}

tsr_status tsri_cpu_later_op(cpu_device *queue, const tsri_native_op *op) { return tsri_cpu_run_op_now(queue, op); }

tsr_status tsri_cpu_later_copy(cpu_device *queue, char *to, const char *from, size_t bytes) {
  tsri_cpu_copy_now(queue, to, from, bytes);
  return TSR_OK;
}

tsr_status tsri_cpu_later_fill(cpu_device *queue, char *to, size_t bytes, const void *pattern, size_t pattern_bytes) {
  tsri_cpu_fill_now(queue, to, bytes, pattern, pattern_bytes);
  return TSR_OK;
}

tsr_status tsri_cpu_event_create(tsri_device *device, tsri_event **out_event) {
  (void)device;
  uint64_t *at_ns = tsri_calloc(1, sizeof *at_ns);
  if (!at_ns) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cpu: no host memory for an event's record");
  *out_event = (tsri_event *)at_ns;
  return TSR_OK;
}

void tsri_cpu_event_destroy(tsri_device *device, tsri_event *event) {
  (void)device;
  tsri_free(event);
}

tsr_status tsri_cpu_event_record(tsri_queue *queue, tsri_event *event) {
  (void)queue;
  *(uint64_t *)event = tsri_clock_ns();
  return TSR_OK;
}

tsr_status tsri_cpu_event_await(tsri_queue *queue, tsri_event *event) {
  (void)queue;
  (void)event;
  return TSR_OK;
}

tsr_status tsri_cpu_event_is_done(tsri_device *device, tsri_event *event, bool *out_done) {
  (void)device;
  (void)event;
  *out_done = true;
  return TSR_OK;
}

tsr_status tsri_cpu_event_elapsed(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns) {
  (void)device;
  *out_ns = *(uint64_t *)to - *(uint64_t *)from;
  return TSR_OK;
}
