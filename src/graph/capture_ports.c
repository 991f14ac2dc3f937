// SPDX-License-Identifier: MIT
// Queries of a capture: the memory of its intermediate results, and the named inputs and outputs of a capture that was loaded from a file.
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/suggest.h"
#include "core/tensor.h"
#include "graph/capture.h"

tsr_status tsr_capture_get_memory(const tsr_capture *capture, tsr_capture_memory *out_memory) {
  tsr_status status = tsri_object_check(capture, TSRI_OBJECT_CAPTURE, "capture_get_memory", "capture");
  if (status == TSR_OK && !out_memory) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "capture_get_memory: out_memory is NULL");
  }
  if (status != TSR_OK) return status;
  tsri_tape_memory memory = tsri_tape_temporaries(capture->tape);
  *out_memory = (tsr_capture_memory){.unshared_bytes = memory.unshared, .bytes = memory.shared};
  return TSR_OK;
}

// --- Named inputs and outputs ------------------------------------------------------------------------------------------

void tsri_capture_ports_deinit(tsri_capture_ports *ports) {
  for (int i = 0; i < ports->count; i++) {
    tsri_free(ports->ports[i].name);
    tsr_release(ports->ports[i].tensor);
  }
  tsri_free(ports->ports);
  *ports = (tsri_capture_ports){0};
}

static const tsri_capture_ports *ports_of(const tsr_capture *capture, const char *caller, bool is_input) {
  if (tsri_object_check(capture, TSRI_OBJECT_CAPTURE, caller, "capture") != TSR_OK) return NULL;
  return is_input ? &capture->inputs : &capture->outputs;
}

static int port_count(const tsri_capture_ports *ports) { return ports ? ports->count : 0; }

static const char *port_name(const tsri_capture_ports *ports, int index) {
  return ports && index >= 0 && index < ports->count ? ports->ports[index].name : "";
}

static tsr_status fail_to_find(const tsri_capture_ports *ports, const char *caller, const char *name) {
  enum { MOST_SUGGESTED = 64 };
  const char *names[MOST_SUGGESTED];
  size_t count = 0;
  for (; count < MOST_SUGGESTED && (int)count < ports->count; count++) names[count] = ports->ports[count].name;
  const char *nearest = tsri_text_nearest(name, names, count);
  return TSRI_FAIL(TSR_ERR_NOT_FOUND, "%s: there is none with the name '%s' among %d%s%s%s", caller, name, ports->count,
                   nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
}

static tsr_tensor *port_tensor(const tsri_capture_ports *ports, const char *caller, const char *name) {
  if (!ports) return tsri_tensor_fail(tsr_last_error_status());
  if (!name) return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: name is NULL", caller));
  for (int i = 0; i < ports->count; i++) {
    tsr_tensor *tensor = ports->ports[i].tensor;
    if (strcmp(ports->ports[i].name, name) == 0) return tsri_tensor_view(tensor, &tensor->layout);
  }
  return tsri_tensor_fail(fail_to_find(ports, caller, name));
}

int tsr_capture_input_count(const tsr_capture *capture) {
  return port_count(ports_of(capture, "capture_input_count", true));
}

int tsr_capture_output_count(const tsr_capture *capture) {
  return port_count(ports_of(capture, "capture_output_count", false));
}

const char *tsr_capture_input_name(const tsr_capture *capture, int index) {
  return port_name(ports_of(capture, "capture_input_name", true), index);
}

const char *tsr_capture_output_name(const tsr_capture *capture, int index) {
  return port_name(ports_of(capture, "capture_output_name", false), index);
}

tsr_tensor *tsr_capture_input(const tsr_capture *capture, const char *name) {
  return port_tensor(ports_of(capture, "capture_input", true), "capture_input", name);
}

tsr_tensor *tsr_capture_output(const tsr_capture *capture, const char *name) {
  return port_tensor(ports_of(capture, "capture_output", false), "capture_output", name);
}
