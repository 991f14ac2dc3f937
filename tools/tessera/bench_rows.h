// SPDX-License-Identifier: MIT
// The rows of `tessera bench`, as a list.
#ifndef TESSERA_TOOL_BENCH_ROWS_H
#define TESSERA_TOOL_BENCH_ROWS_H

#include <tessera/tessera.h>

#include "bench_limit.h"

enum { BENCH_MAX_INPUTS = 4, BENCH_MAX_RESULTS = 256 };

// The state of a row: its tensors and sizes. A row uses only some of it.
typedef struct bench_case {
  const struct bench_row *row;
  tsr_device *device;
  tsr_dtype dtype;
  int64_t rows, cols;                    // size of the first input
  tsr_tensor *inputs[BENCH_MAX_INPUTS];  // computed before the clock starts
  int input_count;
  tsr_tensor *results[BENCH_MAX_RESULTS];  // recorded before the clock starts, read while it runs
  int result_count;
  tsr_buffer *buffers[2];
  tsr_kernel *kernel;
  tsr_capture *capture;
  void *host;
  double bytes, flops;  // per step; 0: not counted
} bench_case;

typedef struct bench_row {
  const char *name;  // for --op; rows with the same name differ in size
  const char *what;  // description
  int64_t rows,
      // sizes of the first input unless --size is given; 0: the row has its own size and is f32, whatever was
      // requested
      cols;
  double flops;       // per element of the first input; for a product also per column of the second; 0: not counted
  bench_bound bound;  // the limit that it is compared with
  int most_steps;     // in one sample; 0: no limit
  int same_inputs;    // of an operator: further inputs with the shape of the first
  bool waits;         // samples end with a wait for the device; always true for rows with sizes
  bool is_product;
  bool is_vector;  // the first input has one axis, with rows * cols elements

  // For an operator: creates more inputs (may be NULL), and records it.
  tsr_status (*more_inputs)(bench_case *c);
  tsr_tensor *(*make)(bench_case *c);

  // For anything else: `begin` once (may be NULL); then per sample `before` (not timed, may be NULL), `step` `steps`
  // times, `after` (may be NULL).
  tsr_status (*begin)(bench_case *c);
  tsr_status (*before)(bench_case *c, int steps);
  tsr_status (*step)(bench_case *c, int step);
  void (*after)(bench_case *c);
} bench_row;

extern const bench_row bench_rows[];
extern const int bench_row_count;

// Makes the inputs and computes bytes and flops. Call bench_case_deinit afterwards, also after an error.
tsr_status bench_case_init(bench_case *c, const bench_row *row, tsr_device *device, tsr_dtype dtype, int64_t rows,
                           int64_t cols);
void bench_case_deinit(bench_case *c);

// Times `steps` steps; *out_ns is their total time in nanoseconds.
tsr_status bench_case_sample(bench_case *c, int steps, double *out_ns);

#endif
