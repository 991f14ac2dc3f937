// SPDX-License-Identifier: MIT
// Operators whose results are several views: unstack, meshgrid.
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"

#include <tessera/ops.h>

tsr_status tsr_unstack(tsr_tensor *x, int axis, int part_count, tsr_tensor **out_parts) {
  tsr_status status = tsri_tensor_check("unstack", x);
  if (status == TSR_OK) status = tsri_axis("unstack", axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK && part_count != x->layout.shape.dims[axis]) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "unstack: %d parts, axis %d has %lld elements", part_count, axis,
                       (long long)x->layout.shape.dims[axis]);
  }
  if (status == TSR_OK && part_count > 0 && !out_parts) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "unstack: out_parts is NULL");
  }
  if (status != TSR_OK) return status;
  for (int i = 0; i < part_count; i++) {
    tsr_tensor *part = tsr_slice(x, axis, i, i + 1, 1);
    out_parts[i] = tsri_then(tsr_squeeze(part, axis), part);
  }
  return tsri_keep_all("unstack", out_parts, part_count);
}

// The axis of the result along which list i varies (with `xy`, the first two are exchanged).
static int grid_axis(int i, int count, bool xy) { return xy && count > 1 && i < 2 ? 1 - i : i; }

static tsr_status check_lists(tsr_tensor *const *lists, int count, tsr_tensor **out_grids, bool xy,
                              tsr_shape *out_shape) {
  if (!lists || !out_grids || count < 1 || count > TSR_MAX_RANK) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "meshgrid: %d lists, 1 to %d are possible, and none may be NULL", count,
                     TSR_MAX_RANK);
  }
  *out_shape = (tsr_shape){.rank = count};
  for (int i = 0; i < count; i++) {
    char text[TSR_SHAPE_TEXT_BYTES];
    tsr_status status = tsri_tensor_check("meshgrid", lists[i]);
    if (status != TSR_OK) return status;
    if (lists[i]->layout.shape.rank > 1) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "meshgrid: tensor %d is %s; a list is wanted", i,
                       tsr_shape_format(lists[i]->layout.shape, text, sizeof text));
    }
    out_shape->dims[grid_axis(i, count, xy)] = lists[i]->layout.count;
  }
  return TSR_OK;
}

tsr_status tsr_meshgrid(tsr_tensor *const *lists, int count, bool xy, tsr_tensor **out_grids) {
  tsr_shape shape;
  tsr_status status = check_lists(lists, count, out_grids, xy, &shape);
  if (status != TSR_OK) return status;
  for (int i = 0; i < count; i++) {
    tsr_shape line = {.rank = count};
    for (int k = 0; k < count; k++) line.dims[k] = 1;
    line.dims[grid_axis(i, count, xy)] = lists[i]->layout.count;
    tsr_tensor *list = tsr_reshape(lists[i], line);
    out_grids[i] = tsri_then(tsr_expand(list, shape), list);
  }
  return tsri_keep_all("meshgrid", out_grids, count);
}
