// SPDX-License-Identifier: MIT
// What `tessera bench` times: one entry of a list each.
#ifndef TESSERA_TOOL_BENCH_ROWS_H
#define TESSERA_TOOL_BENCH_ROWS_H

#include <tessera/tessera.h>

#include "bench_limit.h"

enum { BENCH_MAX_INPUTS = 4, BENCH_MAX_RESULTS = 256 };

// A row in the making: its tensors and sizes. Rows use of it what they need.
typedef struct bench_case {
  const struct bench_row *row;
  tsr_device *device;
  tsr_dtype dtype;
  int64_t rows, cols;                    // of the first input
  tsr_tensor *inputs[BENCH_MAX_INPUTS];  // computed before the clock starts
  int input_count;
  tsr_tensor *results[BENCH_MAX_RESULTS];  // recorded before the clock starts, read while it runs
  int result_count;
  tsr_buffer *buffers[2];
  tsr_kernel *kernel;
  tsr_capture *capture;
  void *host;
  double bytes, flops;  // of one step; 0: not counted
} bench_case;

typedef struct bench_row {
  const char *name;  // for --op; rows of one name differ in size
  const char *what;  // for people
  int64_t rows,
      cols;  // sizes of the first input unless --size says otherwise; 0: it has its own and is f32, whatever is asked for
  double flops;       // per element of the first input; of a product also per column of the second; 0: not counted
  bench_bound bound;  // what limits it
  int most_steps;     // in one sample; 0: as many as it takes
  int same_inputs;    // of an operator: inputs beside the first that have its shape
  bool waits;         // samples end with a wait for the device; those of rows with sizes do anyway
  bool is_product;
  bool is_vector;  // the first input has one axis, of rows * cols elements

  // An operator: more inputs (may be NULL), and what is recorded.
  tsr_status (*more_inputs)(bench_case *c);
  tsr_tensor *(*make)(bench_case *c);

  // Anything else. begin once (may be NULL); then `before` (not timed, may be NULL), `step` for each of `steps`, `after` (may be NULL).
  tsr_status (*begin)(bench_case *c);
  tsr_status (*before)(bench_case *c, int steps);
  tsr_status (*step)(bench_case *c, int step);
  void (*after)(bench_case *c);
} bench_row;

extern const bench_row bench_rows[];
extern const int bench_row_count;

// Makes the inputs, and works out bytes and flops. The case is to be deinitialised in any case.
tsr_status bench_case_init(bench_case *c, const bench_row *row, tsr_device *device, tsr_dtype dtype, int64_t rows,
                           int64_t cols);
void bench_case_deinit(bench_case *c);

// Times `steps` steps, in nanoseconds altogether.
tsr_status bench_case_sample(bench_case *c, int steps, double *out_ns);

#endif
