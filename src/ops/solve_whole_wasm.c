// SPDX-License-Identifier: MIT
// In the browser, triangular matrices are solved block by block, so that the module has fewer kernels.
#include "ops/matrix.h"

tsr_status tsri_solve_whole(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit) {
  (void)x, (void)l, (void)is_upper, (void)is_unit;
  return TSR_ERR_UNSUPPORTED;
}
