// SPDX-License-Identifier: MIT
// diag: a list on a diagonal of zeros, or the diagonal of a matrix.
#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"
#include "ops/create.h"

#include <tessera/ops.h>

// The list as a column (for the main diagonal and those above it) or as a row (for those below it), padded with zeros to `size` elements.
static tsr_tensor *line_of(tsr_tensor *list, int64_t size, bool is_column) {
  tsr_tensor *padded = tsr_pad(list, (int64_t[]){0}, (int64_t[]){size - list->layout.count}, 1, 0);
  return tsri_then(tsr_unsqueeze(padded, is_column ? 1 : 0), padded);
}

static tsr_tensor *matrix_of(tsr_tensor *list, int64_t offset) {
  int64_t size = 0;
  bool is_too_long = offset < -INT32_MAX || offset > INT32_MAX || list->layout.count > INT32_MAX;
  if (!is_too_long) size = list->layout.count + (offset < 0 ? -offset : offset);
  if (is_too_long || size > INT32_MAX) {
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_UNSUPPORTED, "diag: %lld elements at offset %lld make too large a matrix",
                                      (long long)list->layout.count, (long long)offset));
  }
  tsr_device *device = list->value->device;
  tsr_tensor *is_on = tsr_eye(device, TSR_BOOL, size, size, offset), *line = line_of(list, size, offset >= 0);
  tsr_tensor *zero = tsri_record_zeros(device, list->dtype, TSR_SCALAR), *result = tsr_where(is_on, line, zero);
  tsri_release_all((tsr_tensor *[]){is_on, line, zero}, 3);
  return result;
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
