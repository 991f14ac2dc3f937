// SPDX-License-Identifier: MIT
// interp: piecewise linear interpolation.
#include "ops/interp.h"
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"
#include "ops/elementwise.h"
#include "ops/promote.h"

// $0: x; $1, $2: the x of the points on both sides; $3, $4: their y. The result is exact at the points themselves.
const tsri_op tsri_op_line = {.name = "interp",
                              .kind = TSRI_OP_ELEMENTWISE,
                              .helper = "fn_lerp",
                              .expression = "$0 >= $2 ? $4 : $0 <= $1 ? $3 : lerp($3, $4, ($0 - $1) / ($2 - $1))"};

static tsr_status check_points(const tsr_tensor *x, const tsr_tensor *xs, const tsr_tensor *ys) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("interp", x);
  if (status == TSR_OK) status = tsri_tensor_check("interp", xs);
  if (status == TSR_OK) status = tsri_tensor_check("interp", ys);
  if (status != TSR_OK) return status;
  bool is_right =
      xs->layout.shape.rank == 1 && tsri_shape_equal(xs->layout.shape, ys->layout.shape) && xs->layout.count > 0;
  if (is_right) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "interp: xs and ys are lists of one size, 1 or more, not %s and %s",
                   tsr_shape_format(xs->layout.shape, a, sizeof a), tsr_shape_format(ys->layout.shape, b, sizeof b));
}

// For each x, the index of the point before it, at most the last but one.
static tsr_tensor *segments(tsr_tensor *xs, tsr_tensor *x) {
  int64_t last = xs->layout.count > 1 ? xs->layout.count - 2 : 0;
  tsr_tensor *above = tsr_searchsorted(xs, x, true), *before = tsr_sub_scalar(above, 1);
  tsr_tensor *result = tsr_clamp(before, 0, (double)last);
  tsri_release_all((tsr_tensor *[]){above, before}, 2);
  return result;
}

// `all`: x, xs and ys, in the dtype `wide` that is computed in. The result has the dtype `dtype`.
static tsr_tensor *interpolate(tsr_tensor *const *all, tsr_dtype dtype, tsr_dtype wide) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_tensor_check("interp", all[i]);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *before = segments(all[1], all[0]);
  tsr_tensor *after = all[1]->layout.count > 1 ? tsr_add_scalar(before, 1) : tsr_retain(before);
  tsr_tensor *points[5] = {all[0], tsr_take(all[1], before), tsr_take(all[1], after), tsr_take(all[2], before),
                           tsr_take(all[2], after)};
  tsri_operand_ref refs[5];
  for (int i = 0; i < 5; i++) {
    if (status == TSR_OK) status = tsri_tensor_check("interp", points[i]);
    refs[i] = (tsri_operand_ref){points[i], wide};
  }
  tsr_tensor *result =
      status == TSR_OK ? tsri_record_elementwise(&tsri_op_line, dtype, refs, 5, NULL) : tsri_tensor_fail(status);
  tsri_release_all(points + 1, 4);
  tsri_release_all((tsr_tensor *[]){before, after}, 2);
  return result;
}

tsr_tensor *tsr_interp(tsr_tensor *x, tsr_tensor *xs, tsr_tensor *ys) {
  tsr_status status = check_points(x, xs, ys);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(tsri_promote(tsri_promote(x->dtype, xs->dtype), ys->dtype));
  tsr_dtype wide = tsri_accumulator(dtype);
  tsr_tensor *all[3] = {tsr_cast(x, wide), tsr_cast(xs, wide), tsr_cast(ys, wide)};
  tsr_tensor *result = interpolate(all, dtype, wide);
  tsri_release_all(all, 3);
  return tsri_tensor_named("interp", result);
}
