// SPDX-License-Identifier: MIT
// The four small programs that `tessera demo` runs on every device, and their results in plain C.
#ifndef TESSERA_TOOL_DEMO_PROGRAMS_H
#define TESSERA_TOOL_DEMO_PROGRAMS_H

#include <tessera/tessera.h>

enum { DEMO_PROGRAM_COUNT = 4, DEMO_IMAGE_WIDTH = 720, DEMO_IMAGE_HEIGHT = 480, DEMO_IMAGE_ROUNDS = 256 };

// The same inputs and the same right answers for all devices, on the host.
typedef struct demo_data {
  float *inputs;                         // random numbers from -2 to 2, of which each program takes its first ones
  double *expected[DEMO_PROGRAM_COUNT];  // computed in f64
} demo_data;

typedef struct demo_program {
  const char *name;  // "layer"
  const char *what;  // "gelu(x w + b)"
  const char *why;   // of the bound
  double bound;      // largest absolute difference from the reference that is right
  size_t count;      // elements of the result

  // Records and runs it, and reads the result. Returns the status of what failed.
  tsr_status (*run)(tsr_device *device, const float *inputs, float *out_result);
  void (*expect)(const float *inputs, double *out_result);
} demo_program;

extern const demo_program demo_programs[DEMO_PROGRAM_COUNT];

// The one whose result is the image: rounds per pixel, row after row.
enum { DEMO_IMAGE_PROGRAM = DEMO_PROGRAM_COUNT - 1 };

// False if memory is out; deinit is right in any case.
bool demo_data_init(demo_data *data);
void demo_data_deinit(demo_data *data);

#endif
