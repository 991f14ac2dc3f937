// SPDX-License-Identifier: MIT
// In the browser, matrices are factored and solved block by block, so that the module has fewer kernels.
#include "ops/matrix.h"

tsr_status tsri_solve_whole(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit) {
  (void)x, (void)l, (void)is_upper, (void)is_unit;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_lu_whole(const tsri_matrices *a, const tsri_lu_results *results, int64_t from, int64_t to) {
  (void)a, (void)results, (void)from, (void)to;
  return TSR_ERR_UNSUPPORTED;
}
