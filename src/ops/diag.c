// SPDX-License-Identifier: MIT
// diag: a list on a diagonal of zeros, or the diagonal of a matrix.
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"

#include <tessera/ops.h>

// The list on the diagonal `offset` of a square matrix with `size` rows. Its elements are size + 1 apart in the matrix, so they are a column of a matrix with
// size + 1 columns, whose first size * size elements are the result.
static tsr_tensor *on_diagonal(tsr_tensor *list, int64_t offset, int64_t size) {
  int64_t n = list->layout.count, row = offset < 0 ? -offset - 1 : 0, col = offset < 0 ? size + 1 + offset : offset;
  tsr_tensor *column = tsr_unsqueeze(list, 1);
  tsr_tensor *wide = tsr_pad(column, (int64_t[]){row, col}, (int64_t[]){size - n - row, size - col}, 2, 0);
  tsr_tensor *flat = tsri_then(tsri_then(tsr_reshape(wide, TSR_SHAPE(-1)), wide), column);
  tsr_tensor *square = tsri_then(tsr_slice(flat, 0, 0, size * size, 1), flat);
  return tsri_then(tsr_reshape(square, TSR_SHAPE(size, size)), square);
}

static tsr_tensor *matrix_of(tsr_tensor *list, int64_t offset) {
  int64_t size = 0;
  bool is_too_long = offset < -INT32_MAX || offset > INT32_MAX || list->layout.count > INT32_MAX;
  if (!is_too_long) size = list->layout.count + (offset < 0 ? -offset : offset);
  if (is_too_long || size > INT32_MAX) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_UNSUPPORTED, "diag: %lld elements at offset %lld make too large a matrix",
                                      (long long)list->layout.count, (long long)offset));
  }
  if (size == 0) return tsr_reshape(list, TSR_SHAPE(0, 0));
  return on_diagonal(list, offset, size);
}

tsr_tensor *tsr_diag(tsr_tensor *x, int64_t offset) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("diag", x);
  int rank = status == TSR_OK ? x->layout.shape.rank : 0;
  if (status == TSR_OK && rank != 1 && rank != 2) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "diag: takes a list or a matrix, not %s",
                       tsr_shape_format(x->layout.shape, text, sizeof text));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_tensor_named("diag", rank == 1 ? matrix_of(x, offset) : tsr_diagonal(x, offset, 0, 1));
}
