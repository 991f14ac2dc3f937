// SPDX-License-Identifier: MIT
// Tensor products composed of matmul and element-wise operators: tensordot, kron, cross.
#include "core/alloc.h"
#include "core/error.h"
#include "ops/axes.h"
#include "ops/compose.h"
#include "ops/elementwise.h"
#include "ops/promote.h"

static tsr_status check_numbers(const char *caller, const tsr_tensor *a, const tsr_tensor *b) {
  tsr_status status = tsri_tensor_check(caller, a);
  if (status == TSR_OK) status = tsri_tensor_check(caller, b);
  if (status != TSR_OK || tsri_promote(a->dtype, b->dtype) != TSR_BOOL) return status;
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: takes numbers, not bool", caller);
}

// --- tensordot -------------------------------------------------------------------------------------------------------

// The axes of one of the two tensors of a tensordot.
typedef struct operand {
  int axes[TSR_MAX_RANK];  // the summed axes, in the caller's order, then the other axes in their own order
  int summed_count;
  int64_t summed, kept;  // products of the sizes of the summed and of the other axes
} operand;

static tsr_status sort_axes(const tsr_tensor *x, const int *axes, int axis_count, operand *out) {
  const tsr_shape shape = x->layout.shape;
  uint32_t taken = 0;
  *out = (operand){.summed_count = axis_count, .summed = 1, .kept = 1};
  for (int i = 0; i < axis_count; i++) {
    int axis = 0;
    tsr_status status = tsri_axis("tensordot", axes[i], shape.rank, &axis);
    if (status != TSR_OK) return status;
    if (taken >> axis & 1u) return TSRI_FAIL(TSR_ERR_SHAPE, "tensordot: axis %d is named twice", axis);
    taken |= 1u << axis;
    out->axes[i] = axis;
    out->summed *= shape.dims[axis];
  }
  for (int i = 0, to = axis_count; i < shape.rank; i++) {
    if (taken >> i & 1u) continue;
    out->axes[to++] = i;
    out->kept *= shape.dims[i];
  }
  return TSR_OK;
}

// Checks that the sizes of each pair of axes are equal, and that the result does not have too many axes.
static tsr_status check_pairs(const tsr_tensor *a, const operand *in_a, const tsr_tensor *b, const operand *in_b) {
  for (int i = 0; i < in_a->summed_count; i++) {
    int64_t size_a = a->layout.shape.dims[in_a->axes[i]], size_b = b->layout.shape.dims[in_b->axes[i]];
    if (size_a == size_b) continue;
    return TSRI_FAIL(TSR_ERR_SHAPE, "tensordot: sizes differ, axis %d of a has %lld, axis %d of b has %lld",
                     in_a->axes[i], (long long)size_a, in_b->axes[i], (long long)size_b);
  }
  int rank = a->layout.shape.rank + b->layout.shape.rank - 2 * in_a->summed_count;
  if (rank <= TSR_MAX_RANK) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "tensordot: the result would have %d axes, at most %d are possible", rank,
                   TSR_MAX_RANK);
}

// x as a matrix: [kept, summed] if is_summed_last, else [summed, kept].
static tsr_tensor *as_matrix(tsr_tensor *x, const operand *in, bool is_summed_last) {
  int axes[TSR_MAX_RANK] = {0}, rank = x->layout.shape.rank, kept_count = rank - in->summed_count;
  for (int i = 0; i < rank; i++) {
    bool is_summed = i < in->summed_count;
    int place = !is_summed_last ? i : is_summed ? kept_count + i : i - in->summed_count;
    axes[place] = in->axes[i];
  }
  tsr_tensor *turned = tsr_permute(x, axes, rank);
  tsr_shape shape = is_summed_last ? TSR_SHAPE(in->kept, in->summed) : TSR_SHAPE(in->summed, in->kept);
  return tsri_then(tsr_reshape(turned, shape), turned);
}

static void append_kept(tsr_shape *shape, const tsr_tensor *x, const operand *in) {
  for (int i = in->summed_count; i < x->layout.shape.rank; i++) {
    shape->dims[shape->rank++] = x->layout.shape.dims[in->axes[i]];
  }
}

tsr_tensor *tsr_tensordot(tsr_tensor *a, tsr_tensor *b, const int *axes_a, const int *axes_b, int axis_count) {
  operand in_a, in_b;
  tsr_status status = check_numbers("tensordot", a, b);
  if (status == TSR_OK && (axis_count < 0 || axis_count > TSR_MAX_RANK || (axis_count > 0 && (!axes_a || !axes_b)))) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "tensordot: %d axes, and axes_a or axes_b may be NULL", axis_count);
  }
  if (status == TSR_OK) status = sort_axes(a, axes_a, axis_count, &in_a);
  if (status == TSR_OK) status = sort_axes(b, axes_b, axis_count, &in_b);
  if (status == TSR_OK) status = check_pairs(a, &in_a, b, &in_b);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *left = as_matrix(a, &in_a, true), *right = as_matrix(b, &in_b, false);
  tsr_tensor *product = tsri_then(tsri_then(tsr_matmul(left, right), left), right);
  tsr_shape shape = {.rank = 0};
  append_kept(&shape, a, &in_a);
  append_kept(&shape, b, &in_b);
  return tsri_tensor_named("tensordot", tsri_then(tsr_reshape(product, shape), product));
}

// --- kron ------------------------------------------------------------------------------------------------------------

// Reshapes x to 2 * rank axes: its sizes at every second axis from `first` on, and 1 at the others.
static tsr_tensor *spread(tsr_tensor *x, int rank, int first) {
  tsr_shape shape = {.rank = 2 * rank};
  int missing = rank - x->layout.shape.rank;
  for (int i = 0; i < rank; i++) {
    shape.dims[2 * i] = shape.dims[2 * i + 1] = 1;
    if (i >= missing) shape.dims[2 * i + first] = x->layout.shape.dims[i - missing];
  }
  return tsr_reshape(x, shape);
}

tsr_tensor *tsr_kron(tsr_tensor *a, tsr_tensor *b) {
  tsr_status status = check_numbers("kron", a, b);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int rank = a->layout.shape.rank > b->layout.shape.rank ? a->layout.shape.rank : b->layout.shape.rank;
  if (rank > TSR_MAX_RANK / 2) {
    return tsri_tensor_fail(
        TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kron: takes up to %d axes, not %d", TSR_MAX_RANK / 2, rank));
  }
  tsr_tensor *left = spread(a, rank, 0), *right = spread(b, rank, 1);
  tsr_tensor *product = tsri_then(tsri_then(tsr_mul(left, right), left), right);
  status = tsri_tensor_check("kron", product);
  if (status != TSR_OK) return tsri_tensor_named("kron", product);
  tsr_shape pairs = product->layout.shape, shape = {.rank = rank};
  for (int i = 0; i < rank; i++) {
    if (tsri_mul_i64(pairs.dims[2 * i], pairs.dims[2 * i + 1], &shape.dims[i])) continue;
    tsr_release(product);
    return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_SHAPE, "kron: axis %d would be longer than 2^63", i));
  }
  return tsri_tensor_named("kron", tsri_then(tsr_reshape(product, shape), product));
}

// --- cross -----------------------------------------------------------------------------------------------------------

// Finds the axis of x that is `from_end` axes from the end; it must have 3 elements.
static tsr_status find_axis(const tsr_tensor *x, const char *name, int from_end, int *out_axis) {
  char text[TSR_SHAPE_TEXT_BYTES];
  *out_axis = x->layout.shape.rank - from_end;
  if (*out_axis >= 0 && x->layout.shape.dims[*out_axis] == 3) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "cross: %s is %s; axis %d from the end must have 3 elements", name,
                   tsr_shape_format(x->layout.shape, text, sizeof text), from_end);
}

// a[i] * b[k], where i and k are indices along the axes of size 3, in the dtype that sums are computed in.
static tsr_tensor *times(tsr_tensor *a, int axis_a, int i, tsr_tensor *b, int axis_b, int k) {
  tsr_dtype wide = tsri_accumulator(tsri_promote(a->dtype, b->dtype));
  tsr_tensor *pair[2] = {tsr_slice(a, axis_a, i, i + 1, 1), tsr_slice(b, axis_b, k, k + 1, 1)};
  return tsri_then(tsri_then(tsri_elementwise_to(TSRI_OPERATOR_mul, wide, pair, NULL), pair[0]), pair[1]);
}

// Component c of the cross product: a[i] * b[k] - a[k] * b[i], where i and k are the two components after c (cyclically).
static tsr_tensor *component(tsr_tensor *a, int axis_a, tsr_tensor *b, int axis_b, int c) {
  int i = (c + 1) % 3, k = (c + 2) % 3;
  tsr_tensor *products[2] = {times(a, axis_a, i, b, axis_b, k), times(a, axis_a, k, b, axis_b, i)};
  tsr_tensor *result = tsri_elementwise_to(TSRI_OPERATOR_sub, tsri_promote(a->dtype, b->dtype), products, NULL);
  return tsri_then(tsri_then(result, products[0]), products[1]);
}

tsr_tensor *tsr_cross(tsr_tensor *a, tsr_tensor *b, int axis) {
  int axis_a = 0, axis_b = 0, rank = 0;
  tsr_status status = check_numbers("cross", a, b);
  if (status == TSR_OK) {
    rank = a->layout.shape.rank > b->layout.shape.rank ? a->layout.shape.rank : b->layout.shape.rank;
    status = tsri_axis("cross", axis, rank, &axis);
  }
  if (status == TSR_OK) status = find_axis(a, "a", rank - axis, &axis_a);
  if (status == TSR_OK) status = find_axis(b, "b", rank - axis, &axis_b);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *parts[3];
  for (int i = 0; i < 3; i++) parts[i] = component(a, axis_a, b, axis_b, i);
  tsr_tensor *result = tsr_concat(parts, 3, axis);
  for (int i = 0; i < 3; i++) tsr_release(parts[i]);
  return tsri_tensor_named("cross", result);
}
