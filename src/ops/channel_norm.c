// SPDX-License-Identifier: MIT
// Norms of channels, which are axis 1: batch_norm, batch_norm_train, group_norm, instance_norm, local_response_norm. Composed of layer_norm, pooling and
// element-wise operators; f16 and bf16 are computed in f32 until the end.
#include "core/alloc.h"
#include "core/error.h"
#include "ops/autocast.h"
#include "ops/channel_sums.h"
#include "ops/compose.h"
#include "ops/elementwise.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/rows.h"

static tsr_status check_input(const char *caller, const tsr_tensor *x) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, x);
  if (status != TSR_OK || x->layout.shape.rank >= 2) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: takes 2 axes or more, not %s", caller,
                   tsr_shape_format(x->layout.shape, text, sizeof text));
}

// Checks a tensor with one number per channel; NULL is allowed if `is_optional`.
static tsr_status check_channels(const char *caller, const char *name, const tsr_tensor *x, const tsr_tensor *channels,
                                 bool is_optional) {
  if (!channels && is_optional) return TSR_OK;
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, channels);
  if (status != TSR_OK) return status;
  int64_t count = x->layout.shape.dims[1];
  if (channels->layout.shape.rank == 1 && channels->layout.shape.dims[0] == count) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %s is %s, there are %lld channels", caller, name,
                   tsr_shape_format(channels->layout.shape, text, sizeof text), (long long)count);
}

static tsr_status check_eps(const char *caller, double eps) {
  if (eps >= 0) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: eps is %g; it must be 0 or more", caller, eps);
}

// The dtype of the result: that of all inputs that are given, integers become f32.
static tsr_dtype result_dtype(const tsri_op *op, const tsr_tensor *x, tsr_tensor *const *others, int count) {
  tsr_dtype dtype = tsri_promote_float(x->dtype);
  for (int i = 0; i < count; i++) {
    if (others[i]) dtype = tsri_promote(dtype, others[i]->dtype);
  }
  return tsri_autocast(op, dtype);
}

// x * weight + bias, cast to `dtype`; weight and bias may be NULL. x has the wide dtype (f32 for f16 and bf16). Releases x.
static tsr_tensor *scaled(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, tsr_dtype dtype) {
  tsr_dtype wide = tsri_accumulator(dtype);
  int rank = tsr_tensor_shape(x).rank;
  if (weight) {
    tsr_tensor *factor = tsri_along_channels(weight, wide, rank);
    x = tsri_then(tsri_then(tsr_mul(x, factor), factor), x);
  }
  if (bias) {
    tsr_tensor *added = tsri_along_channels(bias, wide, rank);
    x = tsri_then(tsri_then(tsr_add(x, added), added), x);
  }
  return tsri_then(tsr_cast(x, dtype), x);
}

// --- batch_norm ------------------------------------------------------------------------------------------------------

tsr_tensor *tsr_batch_norm(tsr_tensor *x, tsr_tensor *mean, tsr_tensor *variance, tsr_tensor *weight, tsr_tensor *bias,
                           double eps) {
  const char *name = "batch_norm";
  tsr_status status = check_input(name, x);
  if (status == TSR_OK) status = check_channels(name, "mean", x, mean, false);
  if (status == TSR_OK) status = check_channels(name, "variance", x, variance, false);
  if (status == TSR_OK) status = check_channels(name, "weight", x, weight, true);
  if (status == TSR_OK) status = check_channels(name, "bias", x, bias, true);
  if (status == TSR_OK) status = check_eps(name, eps);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = result_dtype(TSRI_BODY(batch_norm), x, (tsr_tensor *[]){mean, variance, weight, bias}, 4),
            wide = tsri_accumulator(dtype);
  int rank = x->layout.shape.rank;
  tsr_tensor *middle = tsri_along_channels(mean, wide, rank), *spread = tsri_along_channels(variance, wide, rank);
  spread = tsri_then(tsr_add_scalar(spread, eps), spread);
  tsr_tensor *deviation = tsri_then(tsr_sqrt(spread), spread), *cast = tsr_cast(x, wide);
  tsr_tensor *centred = tsri_then(tsri_then(tsr_sub(cast, middle), middle), cast);
  tsr_tensor *unit = tsri_then(tsri_then(tsr_div(centred, deviation), deviation), centred);
  return tsri_tensor_named(name, scaled(unit, weight, bias, dtype));
}

// --- batch_norm_train ------------------------------------------------------------------------------------------------

// running = (1 - momentum) * running + momentum * factor * now, written in place.
static tsr_status update(tsr_tensor *running, tsr_tensor *now, double momentum, double factor) {
  if (!running) return TSR_OK;
  tsr_dtype wide = tsri_accumulator(tsri_promote_float(running->dtype));
  tsr_tensor *old = tsr_cast(running, wide), *kept = tsr_mul_scalar(old, 1 - momentum);
  tsr_tensor *cast = tsr_cast(now, wide), *added = tsr_mul_scalar(cast, momentum * factor), *sum = tsr_add(kept, added);
  tsr_status status = tsr_assign(running, sum);
  tsr_tensor *const done[] = {old, kept, cast, added, sum};
  tsri_release_all(done, 5);
  return status;
}

// x normalised to mean 0 and variance 1, times weight, plus bias; weight and bias may be NULL. In an autocast range the result has the dtype of x: the
// per-channel numbers are f32 there, but do not make the result f32.
static tsr_tensor *normed_by(tsr_tensor *x, const tsri_channel_numbers *found, tsr_tensor *weight, tsr_tensor *bias) {
  const tsri_op *named = TSRI_BODY(batch_norm_train);
  int rank = x->layout.shape.rank, kind = (weight ? TSRI_NORM_WEIGHT : 0) | (bias ? TSRI_NORM_BIAS : 0), count = 0;
  tsr_tensor *given[2] = {weight, bias}, *const numbers[4] = {found->mean, found->scale, weight, bias}, *spread[4];
  tsr_dtype dtype = tsri_autocast_is_on() ? tsri_promote_float(x->dtype) : result_dtype(named, x, given, 2);
  tsr_dtype wide = tsri_accumulator(dtype);
  tsri_operand_ref refs[5] = {{x, wide}};
  tsr_status status = TSR_OK;
  for (int i = 0; i < 4; i++) {
    if (!numbers[i]) continue;
    spread[count] = tsri_along_channels(numbers[i], wide, rank);
    if (status == TSR_OK) status = tsri_tensor_check(named->name, spread[count]);
    refs[count + 1] = (tsri_operand_ref){spread[count], wide};
    count++;
  }
  tsr_tensor *result = status == TSR_OK
                           ? tsri_record_elementwise(&tsri_op_channel_norm[kind], dtype, refs, count + 1, NULL)
                           : tsri_tensor_fail(status);
  tsri_release_all(spread, count);
  return result;
}

tsr_status tsr_batch_norm_train(tsr_tensor *x, tsr_tensor *running_mean, tsr_tensor *running_variance,
                                tsr_tensor *weight, tsr_tensor *bias, double momentum, double eps,
                                tsr_tensor **out_normed) {
  const char *name = "batch_norm_train";
  if (!out_normed) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: out_normed is NULL", name);
  *out_normed = NULL;
  tsr_status status = check_input(name, x);
  if (status == TSR_OK) status = check_channels(name, "running_mean", x, running_mean, true);
  if (status == TSR_OK) status = check_channels(name, "running_variance", x, running_variance, true);
  if (status == TSR_OK) status = check_channels(name, "weight", x, weight, true);
  if (status == TSR_OK) status = check_channels(name, "bias", x, bias, true);
  if (status == TSR_OK) status = check_eps(name, eps);
  if (status == TSR_OK && !(momentum >= 0 && momentum <= 1)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: momentum is %g; it must lie between 0 and 1", name, momentum);
  }
  if (status == TSR_OK && x->layout.count == 0) {
    char text[TSR_SHAPE_TEXT_BYTES];
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: x is %s; nothing has no mean", name,
                       tsr_shape_format(x->layout.shape, text, sizeof text));
  }
  if (status != TSR_OK) return status;
  int64_t n = x->layout.count / x->layout.shape.dims[1];
  tsri_channel_numbers found = tsri_channel_statistics(x, eps);
  tsr_tensor *result = normed_by(x, &found, weight, bias);
  status = tsri_keep_all(name, &result, 1);
  if (status == TSR_OK) status = update(running_mean, found.mean, momentum, 1);
  if (status == TSR_OK) {
    status = update(running_variance, found.variance, momentum, n > 1 ? (double)n / (double)(n - 1) : 1);
  }
  tsri_release_all((tsr_tensor *const[]){found.mean, found.variance, found.scale}, 3);
  if (status == TSR_OK) *out_normed = result;
  else tsr_release(result);
  return status;
}

// --- group_norm and instance_norm ------------------------------------------------------------------------------------

// Reshapes each group of channels of an image to a row, and normalises the rows by layer_norm. f16 and bf16 become f32 and, after weight and bias, 16 bits again in
// the same kernel where the device has one.
static tsr_tensor *group_norm(const tsri_op *op, tsr_tensor *x, int64_t groups, tsr_tensor *weight, tsr_tensor *bias,
                              double eps) {
  const char *name = op->name;
  tsr_status status = check_channels(name, "weight", x, weight, true);
  if (status == TSR_OK) status = check_channels(name, "bias", x, bias, true);
  if (status == TSR_OK) status = check_eps(name, eps);
  int64_t channels = x->layout.shape.dims[1];
  if (status == TSR_OK && (groups < 1 || channels % groups != 0)) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: %lld groups do not divide %lld channels", name, (long long)groups,
                       (long long)channels);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = result_dtype(op, x, (tsr_tensor *[]){weight, bias}, 2), wide = tsri_accumulator(dtype);
  tsr_shape shape = x->layout.shape;
  if (x->layout.count == 0) return tsri_tensor_named(name, tsr_cast(x, dtype));
  int64_t rows = shape.dims[0] * groups;
  tsr_tensor *cast = tsr_cast(x, tsri_promote_float(x->dtype));
  tsr_tensor *lines = tsri_then(tsr_reshape(cast, TSR_SHAPE(rows, -1)), cast);
  tsr_tensor *unit = tsri_then(tsri_norm_to(TSRI_BODY(layer_norm), lines, NULL, NULL, eps, wide), lines);
  tsr_tensor *back = tsri_then(tsr_reshape(unit, shape), unit);
  return tsri_tensor_named(name, scaled(back, weight, bias, dtype));
}

tsr_tensor *tsr_group_norm(tsr_tensor *x, int64_t groups, tsr_tensor *weight, tsr_tensor *bias, double eps) {
  tsr_status status = check_input("group_norm", x);
  return status == TSR_OK ? group_norm(TSRI_BODY(group_norm), x, groups, weight, bias, eps) : tsri_tensor_fail(status);
}

// Normalises every channel of every image separately.
tsr_tensor *tsr_instance_norm(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps) {
  tsr_status status = check_input("instance_norm", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int64_t channels = x->layout.shape.dims[1];
  return group_norm(TSRI_BODY(instance_norm), x, channels > 0 ? channels : 1, weight, bias, eps);
}

// --- local_response_norm ---------------------------------------------------------------------------------------------

// The mean of squares over `size` neighbouring channels: average pooling along the channels, in which padding counts.
static tsr_tensor *neighbours(tsr_tensor *x, int64_t size) {
  tsr_shape shape = tsr_tensor_shape(x);
  tsr_tensor *squares = tsr_square(x), *planes = tsr_reshape(squares, TSR_SHAPE(shape.dims[0], 1, shape.dims[1], -1));
  tsr_pool_desc desc = {.size = {size, 1},
                        .stride = {1, 1},
                        .before = {(size - 1) / 2},
                        .after = {size - 1 - (size - 1) / 2},
                        .counts_padding = true};
  tsr_tensor *means = tsri_then(tsri_then(tsr_avg_pool(planes, &desc), planes), squares);
  return tsri_then(tsr_reshape(means, shape), means);
}

tsr_tensor *tsr_local_response_norm(tsr_tensor *x, int64_t size, double alpha, double beta, double bias) {
  const char *name = "local_response_norm";
  tsr_status status = check_input(name, x);
  if (status == TSR_OK && (size < 1 || size > INT32_MAX)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: a neighbourhood of %lld channels", name, (long long)size);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(local_response_norm), tsri_promote_float(x->dtype));
  tsr_dtype wide = tsri_accumulator(dtype);
  if (x->layout.count == 0) return tsri_tensor_named(name, tsr_cast(x, dtype));
  tsr_tensor *cast = tsr_cast(x, wide), *mean = neighbours(cast, size);
  mean = tsri_then(tsr_mul_scalar(mean, alpha), mean);
  mean = tsri_then(tsr_add_scalar(mean, bias), mean);
  tsr_tensor *divisor = tsri_then(tsr_pow_scalar(mean, beta), mean);
  tsr_tensor *result = tsri_elementwise_to(TSRI_OPERATOR_div, dtype, (tsr_tensor *[]){cast, divisor}, NULL);
  return tsri_tensor_named(name, tsri_then(tsri_then(result, divisor), cast));
}
