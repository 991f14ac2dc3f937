// SPDX-License-Identifier: MIT
// QR and least squares: cases.
#include <math.h>

#include "check_matrix.h"

static void check_qr_case(check_run *run, tsr_dtype dtype, const check_matrix_case *c, bool complete) {
  check_tensor *x = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_ANY);
  tsr_tensor *q = NULL, *r = NULL;
  if (tsr_qr(x->tensor, complete, &q, &r) != TSR_OK) {
    check_call_failed(run, tsr_last_error_status());
    return;
  }
  int64_t m = c->shape.dims[c->shape.rank - 2], n = c->shape.dims[c->shape.rank - 1];
  tsr_shape square = c->shape, below = c->shape;
  square.dims[square.rank - 1] = square.dims[square.rank - 2] = below.dims[below.rank - 2] = complete || m < n ? m : n;
  check_part_result(run, tsr_tril(check_wide(r), -1), check_expect_zeros(run, dtype, below, 0, 1));
  check_part_result(run, check_product(check_transposed(q), q), check_expect_identity(run, dtype, square, 1, m + n));
  check_result(run, check_product(q, r),
               check_expect_same(run, dtype, x, sqrt((double)m) * check_matrix_size(x), m + n));
}

void check_qr(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_any_cases; c->name; c++) {
    for (int complete = 0; complete < 2; complete++) {
      if (check_matrix_wants(c, dtype) && check_begin(run, c->weight, "%s%s", c->name, complete ? "-complete" : ""))
        check_qr_case(run, dtype, c, complete);
    }
  }
}

// A least-squares solution x has a residual a * x - b that is orthogonal to the columns of a, so a^T * (a * x - b) is 0. If a has at least as many columns as
// rows, the residual itself is 0.
void check_lstsq(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (const check_matrix_case *c = check_any_cases; c->name; c++) {
    if (!check_matrix_wants(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    int64_t m = c->shape.dims[c->shape.rank - 2], n = c->shape.dims[c->shape.rank - 1], least = m < n ? m : n;
    check_tensor *a = check_matrices(run, dtype, c->shape, c->view, CHECK_MATRIX_POSITIVE);
    tsr_shape sides = c->shape, result = c->shape;
    sides.dims[sides.rank - 1] = result.dims[result.rank - 1] = 2;
    result.dims[result.rank - 2] = m < n ? m : n;
    check_tensor *b = check_matrices(run, dtype, sides, c->view, CHECK_MATRIX_ANY);
    tsr_tensor *left = tsr_sub(check_product(a->tensor, tsr_lstsq(a->tensor, b->tensor)), check_wide(b->tensor));
    if (m > n) left = check_product(check_transposed(a->tensor), left);
    check_result(run, left,
                 check_expect_zeros(run, dtype, result, 4 * sqrt((double)m) * check_matrix_size(a), m + least));
  }
  if (!check_begin(run, CHECK_OFTEN, "rows-differ")) return;
  check_tensor *a = check_matrices(run, dtype, TSR_SHAPE(4, 3), CHECK_PLAIN, CHECK_MATRIX_ANY);
  check_refused(run, tsr_lstsq(a->tensor, check_transposed(a->tensor)), TSR_ERR_SHAPE);
}
