// SPDX-License-Identifier: MIT
// mode: the last element of the longest run of equal elements, after sorting. By kernels/op_mode.tk where the device can run it (ops/mode_rows.h).
#include "core/error.h"
#include "graph/watch.h"
#include "ops/compose.h"
#include "ops/mode_rows.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/scan.h"

#include <tessera/ops.h>

// How many equal elements precede each element: its position minus that of the first element of its run.
static tsr_tensor *lengths(tsr_tensor *sorted, int axis) {
  tsr_shape shape = sorted->layout.shape, line = {.rank = shape.rank};
  int64_t before[TSR_MAX_RANK] = {0}, after[TSR_MAX_RANK] = {0}, n = shape.dims[axis];
  before[axis] = 1;
  for (int i = 0; i < shape.rank; i++) line.dims[i] = i == axis ? n : 1;
  tsr_tensor *list = tsr_arange(sorted->value->device, TSRI_INDEX_DTYPE, 0, (double)n, 1);
  tsr_tensor *places = tsri_then(tsr_reshape(list, line), list);
  tsr_tensor *later = tsr_slice(sorted, axis, 1, n, 1), *earlier = tsr_slice(sorted, axis, 0, n - 1, 1);
  tsr_tensor *differs = tsr_ne(later, earlier), *is_first = tsr_pad(differs, before, after, shape.rank, 1);
  tsr_tensor *cast = tsr_cast(is_first, TSRI_INDEX_DTYPE), *firsts = tsr_mul(cast, places);
  tsr_tensor *starts = tsri_scan_along(TSRI_BODY(mode), firsts, axis, TSRI_INDEX_DTYPE, TSRI_SCAN_LARGEST);
  tsr_tensor *result = tsr_sub(places, starts);
  tsri_release_all((tsr_tensor *[]){places, later, earlier, differs, is_first, cast, firsts, starts}, 8);
  return result;
}

static tsr_tensor *composed(tsr_tensor *x, int axis, bool keep_dims) {
  tsr_tensor *sorted = tsr_sort(x, axis, false);
  if (tsri_tensor_check("mode", sorted) != TSR_OK) return sorted;
  tsr_tensor *length = lengths(sorted, axis), *longest = tsr_argmax(length, &axis, 1, true);
  tsr_tensor *result = tsr_gather(sorted, axis, longest);
  tsri_release_all((tsr_tensor *[]){sorted, length, longest}, 3);
  return keep_dims ? result : tsri_then(tsr_squeeze(result, axis), result);
}

tsr_tensor *tsr_mode(tsr_tensor *x, int axis, bool keep_dims) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("mode", x);
  if (status == TSR_OK) status = tsri_axis("mode", axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK && x->layout.shape.dims[axis] == 0) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "mode: axis %d of %s has no elements", axis,
                       tsr_shape_format(x->layout.shape, text, sizeof text));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *result = tsri_watching ? NULL : tsri_mode_by_kernels(x, axis, keep_dims);  // gradients need the gather
  return tsri_tensor_named("mode", result ? result : composed(x, axis, keep_dims));
}
