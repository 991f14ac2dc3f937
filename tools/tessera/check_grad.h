// SPDX-License-Identifier: MIT
// `tessera check --grad`: compares the gradient of every operator with differences, and other devices with the CPU.
//
// The cases are those of `tessera check`, with its shapes, views and broadcasts. A case runs as usual up to its result. Then, in place of the comparison, the
// gradient of a weighted sum of its results is taken by the memory of each input. The case is run again several times, with other inputs or on another device:
//
//   f64 on the CPU     with the inputs moved a little in both directions along a random direction. The difference of the sums must equal the product of
//                      gradient and direction. The same is done with that product in place of the sum, for second derivatives.
//   any other          on the CPU, with the same numbers in f64. The gradients must be equal within rounding errors.
//
// Inputs are drawn from where the operator is smooth (SMOOTH in operators.def), and no two of a case are closer than some steps, so that moving them
// changes no order.
#ifndef TESSERA_TOOL_CHECK_GRAD_H
#define TESSERA_TOOL_CHECK_GRAD_H

#include "check_run.h"

enum { CHECK_GRAD_INPUTS = 24 };

typedef struct check_grad_input {
  tsr_tensor *tensor;  // the memory behind the input's view
  tsr_dtype dtype;
  int64_t count;
  double *gradient;  // elements of the gradient, once it was taken
} check_grad_input;

typedef struct check_grad {
  double step;             // added to each input, times its direction
  bool is_wide;            // inputs become f64: the reference of a device's gradient
  bool is_refused;         // the case is skipped: differences make no sense for its values or sizes
  bool has_float_results;  // if false, there is nothing to take the gradient of
  int input_count, result_count;
  check_grad_input inputs[CHECK_GRAD_INPUTS];
  int64_t element_count;
  uint64_t drawn;     // numbers drawn so far
  tsr_tensor *loss;   // the weighted sum of the results
  tsr_tensor *size;   // the sum of the magnitudes of the results
  double input_size;  // the sum of the magnitudes of the inputs
  int64_t terms;      // number of terms of each result's sum
} check_grad;

// Whether the operator has gradients to compare: floats come in and go out.
bool check_grad_concerns(const check_op *op, tsr_dtype dtype);

// Called by check_begin, by inputs, by results, and at the end of a case.
void check_grad_begin(check_run *run);
check_value check_grad_number(check_run *run, tsr_dtype dtype, check_domain domain);
check_value check_grad_near(check_run *run, tsr_dtype dtype,
                            check_value value);  // a given number, moved off zeros and ties
tsr_tensor *check_grad_memory(check_run *run, tsr_dtype dtype, tsr_shape shape, const check_value *values);
void check_grad_add(check_run *run, tsr_tensor *result, int64_t terms);
void check_grad_finish(check_run *run);

// Ends the recording of gradients that check_grad_begin began.
void check_grad_end(check_run *run);

#endif
