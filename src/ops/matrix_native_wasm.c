// SPDX-License-Identifier: MIT
// In place of matrix_native.c: no device in the browser has factorisations as native operators.
#include "ops/matrix_native.h"

tsr_status tsri_native_cholesky(const tsri_view *from, const tsri_matrices *a) {
  (void)from, (void)a;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_native_lu(const tsri_view *from, const tsri_matrices *a, tsr_buffer *rows, tsr_buffer *odd) {
  (void)from, (void)a, (void)rows, (void)odd;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_native_solve(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit) {
  (void)x, (void)l, (void)is_upper, (void)is_unit;
  return TSR_ERR_UNSUPPORTED;
}

bool tsri_has_native_qr(const tsr_tensor *x, int64_t columns) {
  (void)x, (void)columns;
  return false;
}

tsr_status tsri_native_qr(const tsri_view *from, int64_t columns, tsr_buffer *q, tsr_buffer *r) {
  (void)from, (void)columns, (void)q, (void)r;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_native_rotations(const tsri_view *from, bool is_symmetric, tsr_buffer *w, tsr_buffer *v) {
  (void)from, (void)is_symmetric, (void)w, (void)v;
  return TSR_ERR_UNSUPPORTED;
}

tsr_status tsri_native_minus(const tsri_matrices *x, const tsri_matrix_view *l, const tsri_matrix_block *block,
                             int64_t top, int64_t bottom, bool is_square) {
  (void)x, (void)l, (void)block, (void)top, (void)bottom, (void)is_square;
  return TSR_ERR_UNSUPPORTED;
}
