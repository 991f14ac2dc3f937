// SPDX-License-Identifier: MIT
// The four small programs that `tessera demo` runs on every device, and their results in plain C.
#ifndef TESSERA_TOOL_DEMO_PROGRAMS_H
#define TESSERA_TOOL_DEMO_PROGRAMS_H

#include <tessera/tessera.h>

enum { DEMO_PROGRAM_COUNT = 4, DEMO_IMAGE_WIDTH = 720, DEMO_IMAGE_HEIGHT = 480, DEMO_IMAGE_ROUNDS = 256 };

// Inputs and expected results on the host, the same for all devices.
typedef struct demo_data {
  float *inputs;                         // random numbers from -2 to 2; each program takes the first ones it needs
  double *expected[DEMO_PROGRAM_COUNT];  // computed in f64
} demo_data;

typedef struct demo_program {
  const char *name;  // "layer"
  const char *what;  // "gelu(x w + b)"
  const char *why;   // the reason for the bound
  double bound;      // largest permitted absolute difference from the reference
  size_t count;      // number of elements in the result

  // Records and runs the program, and reads the result. Returns the status of the first failure.
  tsr_status (*run)(tsr_device *device, const float *inputs, float *out_result);
  void (*expect)(const float *inputs, double *out_result);
} demo_program;

extern const demo_program demo_programs[DEMO_PROGRAM_COUNT];

// The program whose result is the image: iterations per pixel, row by row.
enum { DEMO_IMAGE_PROGRAM = DEMO_PROGRAM_COUNT - 1 };

// False if memory is out. Call demo_data_deinit in any case.
bool demo_data_init(demo_data *data);
void demo_data_deinit(demo_data *data);

#endif
