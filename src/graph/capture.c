// SPDX-License-Identifier: MIT
// The public captures (tsr_capture_): a tape of what a thread queued, played again after the pending operators that
// must come first. The tape itself is runtime/tape.c.
#include "graph/capture.h"

#include "core/error.h"
#include "core/log.h"
#include "graph/trace.h"
#include "runtime/bytes_text.h"

tsr_status tsr_capture_begin(tsr_device *device) {
  tsr_status status = tsri_device_check("capture_begin", device);
  if (status != TSR_OK) return status;
  if (tsri_tape_now()) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_begin: this thread is capturing already; end that one first");
  }
  if (tsri_tape_open(device)) {
    tsri_trace_begin();
    return TSR_OK;
  }
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_begin: no host memory for its record");
}

static tsr_status compute(tsr_tensor *const *outputs, int output_count, const tsr_device *device) {
  if (output_count < 0 || (output_count > 0 && !outputs)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_end: %d outputs, and the list of them is %s", output_count,
                     outputs ? "there" : "NULL");
  }
  for (int i = 0; i < output_count; i++) {
    tsr_status status = tsri_tensor_check("capture_end", outputs[i]);
    if (status != TSR_OK) return status;
    if (outputs[i]->value->device != device) {
      return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_end: output %d is not on the device that is captured", i);
    }
    status = tsri_graph_run(outputs[i]);
    if (status != TSR_OK) return status;
  }
  return TSR_OK;
}

static tsr_status wrap(tsri_tape *tape, tsr_capture **out_capture) {
  tsr_capture *capture = tsri_object_create(TSRI_OBJECT_CAPTURE, sizeof *capture);
  if (!capture) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "capture_end: no host memory for its record");
  capture->tape = tape;
  *out_capture = capture;
  tsri_tape_memory memory = tsri_tape_temporaries(tape);
  tsri_log(TSR_LOG_DEBUG, "capture: %d steps; intermediate results take %s, and %s if none shared memory",
           tsri_tape_step_count(tape), tsri_format_bytes(memory.shared).text, tsri_format_bytes(memory.unshared).text);
  return TSR_OK;
}

tsr_status tsr_capture_end(tsr_tensor *const *outputs, int output_count, tsr_capture **out_capture) {
  if (out_capture) *out_capture = NULL;
  if (!tsri_tape_now()) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_end: this thread is not capturing");
  tsr_status status = out_capture ? compute(outputs, output_count, tsri_tape_device(tsri_tape_now())) : TSR_OK;
  tsri_tape *tape = tsri_tape_close();
  if (status == TSR_OK && out_capture) status = tsri_tape_check(tape);
  if (status == TSR_OK && out_capture) status = wrap(tape, out_capture);
  if (!out_capture || status != TSR_OK) tsri_tape_destroy(tape);
  return status;
}

tsr_status tsr_capture_run(tsr_capture *capture) {
  tsr_status status = tsri_object_check(capture, TSRI_OBJECT_CAPTURE, "capture_run", "capture");
  if (status != TSR_OK) return status;
  tsri_tape *tape = capture->tape;
  if (tsri_tape_now() && tsri_tape_device(tsri_tape_now()) == tsri_tape_device(tape)) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_run: this thread is capturing; captures do not nest");
  }
  status = tsri_graph_before_play(tape);
  return status == TSR_OK ? tsri_tape_play(tape) : status;
}

int tsr_capture_step_count(const tsr_capture *capture) {
  bool is_usable = tsri_object_check(capture, TSRI_OBJECT_CAPTURE, "capture_step_count", "capture") == TSR_OK;
  return is_usable ? tsri_tape_step_count(capture->tape) : 0;
}

// --- Reference counting ------------------------------------------------------------------------------------------------

tsr_capture *tsr_capture_retain(tsr_capture *capture) {
  if (capture && tsri_object_check(capture, TSRI_OBJECT_CAPTURE, "capture_retain", "capture") == TSR_OK) {
    tsri_object_retain(&capture->object);
  }
  return capture;
}

void tsr_capture_release(tsr_capture *capture) {
  if (!capture) return;
  if (tsri_object_check(capture, TSRI_OBJECT_CAPTURE, "capture_release", "capture") != TSR_OK) {
    tsri_log(TSR_LOG_ERROR, "%s", tsr_last_error());
    return;
  }
  if (!tsri_object_release(&capture->object)) return;
  tsri_capture_ports_deinit(&capture->inputs);
  tsri_capture_ports_deinit(&capture->outputs);
  tsri_tape_destroy(capture->tape);
  tsri_object_destroy(&capture->object, sizeof *capture);
}
