// SPDX-License-Identifier: MIT
// The record of a capture, for files that save and load it (src/saved).
#ifndef TSRI_GRAPH_CAPTURE_H
#define TSRI_GRAPH_CAPTURE_H

#include <tessera/capture.h>

#include "core/object.h"
#include "runtime/tape.h"

// A named input or output of a capture that was loaded.
typedef struct tsri_capture_port {
  char *name;          // owned
  tsr_tensor *tensor;  // one reference
} tsri_capture_port;

typedef struct tsri_capture_ports {
  tsri_capture_port *ports;  // owned
  int count;
} tsri_capture_ports;

struct tsr_capture {
  tsri_object object;
  tsri_tape *tape;
  tsri_capture_ports inputs, outputs;
};

void tsri_capture_ports_deinit(tsri_capture_ports *ports);

#endif
