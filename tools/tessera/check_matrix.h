// SPDX-License-Identifier: MIT
// Cases of operators on matrices. Results that are not unique, or whose error depends on the matrix, are checked by the equations that they must satisfy: products of
// the results, by tsr_matmul (which has cases of its own), are compared with the inputs.
#ifndef TESSERA_TOOL_CHECK_MATRIX_H
#define TESSERA_TOOL_CHECK_MATRIX_H

#include "check.h"

typedef struct check_matrix_case {
  const char *name;
  check_weight weight;
  tsr_shape shape;
  check_view view;
} check_matrix_case;

// Cases of square matrices, and of matrices of any shape. The last entry of each list has no name.
extern const check_matrix_case check_square_cases[];
extern const check_matrix_case check_any_cases[];

// Whether the case is run for this dtype. Dtypes that are computed in another one differ only in the conversion, so a few cases are enough for them.
bool check_matrix_wants(const check_matrix_case *c, tsr_dtype dtype);

typedef enum check_matrix_kind {
  CHECK_MATRIX_ANY,        // small numbers
  CHECK_MATRIX_SYMMETRIC,  // small numbers
  CHECK_MATRIX_REGULAR,  // far from singular; its large elements are on the anti-diagonal, so that elimination needs row exchanges
  CHECK_MATRIX_POSITIVE,   // symmetric and positive definite
  CHECK_MATRIX_TRIANGLES,  // both triangles are well conditioned, also with ones on the diagonal
} check_matrix_kind;

check_tensor *check_matrices(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view, check_matrix_kind kind);

// The largest magnitude of the elements, at least 1.
double check_matrix_size(const check_tensor *x);

// The expected result: the elements of `x`, the identity, or zeros. The allowed error is counted in roundings of `size`, of which up to `steps` may add up. `of` is the
// dtype of the operator's input; for f16 and bf16 the result has their precision.
check_expected *check_expect_same(check_run *run, tsr_dtype of, const check_tensor *x, double size, int64_t steps);
check_expected *check_expect_identity(check_run *run, tsr_dtype of, tsr_shape shape, double size, int64_t steps);
check_expected *check_expect_zeros(check_run *run, tsr_dtype of, tsr_shape shape, double size, int64_t steps);

// The tensor in the dtype that products of results are computed in: f64 for f64, otherwise f32.
tsr_tensor *check_wide(tsr_tensor *x);

// a * b, and a with its last two axes exchanged.
tsr_tensor *check_product(tsr_tensor *a, tsr_tensor *b);
tsr_tensor *check_transposed(tsr_tensor *a);

double check_number(const check_tensor *x, int64_t at);

#endif
