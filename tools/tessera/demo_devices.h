// SPDX-License-Identifier: MIT
// The last part of `tessera demo`: both networks on every device, compared with the CPU.
#ifndef TESSERA_TOOL_DEMO_DEVICES_H
#define TESSERA_TOOL_DEMO_DEVICES_H

#include <tessera/tessera.h>

enum { DEMO_PROGRAM_COUNT = 2, DEMO_MESSAGE_BYTES = 512 };

typedef struct demo_program {
  const char *name;  // "digits"
  const char *what;  // "digits network, 32 images"
  const char *why;   // the reason for the bound
  double bound;      // largest permitted difference from the CPU, as a part of the largest result
} demo_program;

extern const demo_program demo_programs[DEMO_PROGRAM_COUNT];

// The outcome of one program on one device.
typedef struct demo_outcome {
  tsr_status status;
  char message[DEMO_MESSAGE_BYTES];
  double first_ns, again_ns;  // the first run, which builds kernels; then the best of a few
  uint64_t kernels;           // launched by one run
  double difference;          // the largest from the CPU, as a part of the largest result; infinite if a result is NaN
} demo_outcome;

typedef struct demo_visit {
  char backend[TSR_NAME_BYTES];
  int index;
  char device_name[TSR_NAME_BYTES];
  bool is_software;
  bool is_skipped;    // the time was over before
  tsr_status status;  // of opening the device
  char message[DEMO_MESSAGE_BYTES];
  demo_outcome outcomes[DEMO_PROGRAM_COUNT];
} demo_visit;

// What the networks read, and what the CPU makes of it.
typedef struct demo_reference {
  tsr_device *cpu;
  tsr_params *params[DEMO_PROGRAM_COUNT];  // on the CPU
  float *inputs[DEMO_PROGRAM_COUNT], *results[DEMO_PROGRAM_COUNT];
} demo_reference;

// Copies the trained network to the CPU and runs both there. `images` has at least 32 digits. Returns an error of the library; call
// demo_reference_deinit in any case.
tsr_status demo_reference_init(demo_reference *reference, const tsr_params *trained, const float *images);
void demo_reference_deinit(demo_reference *reference);

// Runs both on the device that `visit` names, and fills in the rest. A device that fails has the message.
void demo_visit_run(const demo_reference *reference, demo_visit *visit);

bool demo_visit_has_passed(const demo_visit *visit, int program);

#endif
