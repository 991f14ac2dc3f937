// SPDX-License-Identifier: MIT
// Gradients against finite differences in f64, and what ranges remember.
#include <math.h>
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "ops/ops_testing.h"

// --- Against finite differences -------------------------------------------------------------------------------------------

// A function of up to three tensors, which are watched.
typedef struct sample {
  const char *name;
  tsr_tensor *(*call)(tsr_tensor *const *x);
  tsr_shape shapes[3];
  int count;
  double from, to;  // range of the inputs
} sample;

enum { MOST_ELEMENTS = 400 };

// Numbers that repeat in every run and keep a distance to each other, so that a small step changes no order.
static void fill(double *values, int64_t count, int salt, double from, double to) {
  for (int64_t i = 0; i < count; i++) {
    double share = (double)((i * 37 + salt * 11) % 101) / 101 + 0.0003 * (double)i;
    values[i] = from + (to - from) * share / 1.13;
  }
}

static tsr_tensor *tensor_of(tsr_shape shape, const double *values) {
  int64_t count = 1;
  for (int i = 0; i < shape.rank; i++) count *= shape.dims[i];
  return tsr_from_data(dev, TSR_F64, shape, values, (size_t)count * sizeof *values);
}

// The sum of all results, each with a weight of its own.
static tsr_tensor *weighted(tsr_tensor *y) {
  tsr_shape shape = tsr_tensor_shape(y);
  double weights[MOST_ELEMENTS];
  fill(weights, tsr_tensor_count(y), 5, 0.5, 2);
  return tsr_sum(tsr_mul(y, tensor_of(shape, weights)), NULL, 0, false);
}

static double value_at(const sample *s, double values[3][MOST_ELEMENTS]) {
  tsr_tensor *xs[3] = {NULL};
  for (int i = 0; i < s->count; i++) xs[i] = tensor_of(s->shapes[i], values[i]);
  double result = NAN;
  CHECK_OK(tsr_item(weighted(s->call(xs)), &result));
  return result;
}

static void check_input(const sample *s, double values[3][MOST_ELEMENTS], int index, const double *found,
                        int64_t count) {
  const double step = 1e-6;
  for (int64_t i = 0; i < count; i++) {
    tsr_scope *scope = tsr_scope_begin(dev);
    double middle = values[index][i];
    values[index][i] = middle + step;
    double above = value_at(s, values);
    values[index][i] = middle - step;
    double below = value_at(s, values);
    values[index][i] = middle;
    double right = (above - below) / (2 * step);
    if (!(fabs(found[i] - right) <= 1e-6 * (1 + fabs(right)))) {
      test_fail(__FILE__, __LINE__, "%s: input %d, element %d: the gradient is %.9g, differences give %.9g", s->name,
                index, (int)i, found[i], right);
    }
    CHECK_OK(tsr_scope_end(scope));
  }
}

static void check_sample(const sample *s) {
  static double values[3][MOST_ELEMENTS], found[3][MOST_ELEMENTS];
  tsr_tensor *xs[3] = {NULL}, *gradients[3] = {NULL};
  CHECK_OK(tsr_grad_begin());
  for (int i = 0; i < s->count; i++) {
    int64_t count = 1;
    for (int j = 0; j < s->shapes[i].rank; j++) count *= s->shapes[i].dims[j];
    fill(values[i], count, i + 1, s->from, s->to);
    xs[i] = tensor_of(s->shapes[i], values[i]);
    CHECK_OK(tsr_grad_watch(xs[i]));
  }
  tsr_tensor *loss = weighted(s->call(xs));
  tsr_status status = tsr_grad(loss, NULL, xs, s->count, gradients);
  if (status != TSR_OK) test_fail(__FILE__, __LINE__, "%s: %s", s->name, tsr_last_error());
  CHECK_OK(tsr_grad_end());
  for (int i = 0; i < s->count; i++) {
    int64_t count = tsr_tensor_count(xs[i]);
    CHECK(tsr_tensor_dtype(gradients[i]) == TSR_F64);
    CHECK_EQ_INT(tsr_tensor_count(gradients[i]), count);
    CHECK_OK(tsr_read(gradients[i], found[i], (size_t)count * sizeof(double)));
  }
  for (int i = 0; i < s->count; i++) check_input(s, values, i, found[i], tsr_tensor_count(xs[i]));
}

#define CALL(name, expression) \
  static tsr_tensor *call_##name(tsr_tensor *const *x) { return expression; }
#define ROW(name, first, last, count, ...) {#name, call_##name, {__VA_ARGS__}, count, first, last},

// One tensor of 2x3, with numbers between `first` and `last`.
// clang-format off
#define UNARY(X) \
  X(neg, -2, 2) X(abs, 0.1, 2) X(square, -2, 2) X(relu, -2, 2) X(floor, -2, 2) X(round, -2, 2) X(sign, -2, 2) \
  X(reciprocal, 0.3, 2) X(sqrt, 0.3, 3) X(rsqrt, 0.3, 3) X(exp, -2, 2) X(exp2, -2, 2) X(expm1, -2, 2) \
  X(log, 0.3, 3) X(log2, 0.3, 3) X(log10, 0.3, 3) X(log1p, -0.5, 3) X(sin, -3, 3) X(cos, -3, 3) X(tan, -1, 1) \
  X(asin, -0.8, 0.8) X(acos, -0.8, 0.8) X(atan, -2, 2) X(sinh, -2, 2) X(cosh, -2, 2) X(tanh, -2, 2) \
  X(asinh, -2, 2) X(acosh, 1.3, 3) X(atanh, -0.8, 0.8) X(cbrt, 0.3, 3) X(erf, -2, 2) X(sigmoid, -3, 3) \
  X(silu, -3, 3) X(gelu, -3, 3) X(gelu_tanh, -3, 3) X(softplus, -3, 3)
// clang-format on
#define DEFINE(name, first, last) CALL(name, tsr_##name(x[0]))
UNARY(DEFINE)

static const sample unary[] = {
#define LIST(name, first, last) ROW(name, first, last, 1, {2, {2, 3}})
    UNARY(LIST)};

TEST(gradients_of_functions_of_one_tensor) {
  begin();
  for (size_t i = 0; i < sizeof unary / sizeof *unary; i++) check_sample(&unary[i]);
  finish();
}

CALL(clamp, tsr_clamp(x[0], -0.5, 0.5))
CALL(leaky_relu, tsr_leaky_relu(x[0], 0.1))
CALL(elu, tsr_elu(x[0], 1.5))
CALL(rsub, tsr_rsub_scalar(x[0], 2))
CALL(rdiv, tsr_rdiv_scalar(x[0], 2))
CALL(pow_scalar, tsr_pow_scalar(x[0], 2.5))
CALL(rpow_scalar, tsr_rpow_scalar(x[0], 3))
CALL(mod_scalar, tsr_mod_scalar(x[0], 0.75))
CALL(maximum_scalar, tsr_maximum_scalar(x[0], 0.2))
CALL(nan_to_num, tsr_nan_to_num(x[0], 0, 1, -1))
CALL(add, tsr_add(x[0], x[1]))
CALL(sub, tsr_sub(x[0], x[1]))
CALL(mul, tsr_mul(x[0], x[1]))
CALL(div, tsr_div(x[0], x[1]))
CALL(pow, tsr_pow(x[0], x[1]))
CALL(atan2, tsr_atan2(x[0], x[1]))
CALL(hypot, tsr_hypot(x[0], x[1]))
CALL(logaddexp, tsr_logaddexp(x[0], x[1]))
CALL(xlogy, tsr_xlogy(x[0], x[1]))
CALL(mod, tsr_mod(x[0], x[1]))
CALL(fmod, tsr_fmod(x[0], x[1]))
CALL(minimum, tsr_minimum(x[0], x[1]))
CALL(maximum, tsr_maximum(x[0], x[1]))
CALL(fmin, tsr_fmin(x[0], x[1]))
CALL(fmax, tsr_fmax(x[0], x[1]))
CALL(copysign, tsr_copysign(x[0], x[1]))
CALL(swiglu, tsr_swiglu(x[0], x[1]))
CALL(geglu, tsr_geglu(x[0], x[1]))
CALL(fma, tsr_fma(x[0], x[1], x[2]))
CALL(lerp, tsr_lerp(x[0], x[1], x[2]))
CALL(clip, tsr_clip(x[0], x[1], x[2]))
CALL(where, tsr_where(tsr_gt(x[0], x[1]), x[0], x[1]))
CALL(same_twice, tsr_mul(x[0], tsr_exp(x[0])))
CALL(mixed_dtypes, tsr_mul(tsr_cast(tsr_mul_scalar(x[0], 2), TSR_F64), tsr_cast(x[1], TSR_F64)))

// clang-format off
static const sample elementwise[] = {
    ROW(clamp, -1, 1, 1, {2, {2, 3}}) ROW(leaky_relu, -2, 2, 1, {1, {6}}) ROW(elu, -2, 2, 1, {1, {6}})
        ROW(rsub, -2, 2, 1, {1, {6}}) ROW(rdiv, 0.4, 2, 1, {1, {6}}) ROW(pow_scalar, 0.3, 2, 1, {1, {6}})
            ROW(rpow_scalar, -2, 2, 1, {1, {6}}) ROW(mod_scalar, 0.1, 3, 1, {1, {6}})
                ROW(maximum_scalar, -1, 1, 1, {1, {6}}) ROW(nan_to_num, -1, 1, 1, {1, {6}})
                    ROW(add, -2, 2, 2, {2, {2, 3}}, {1, {3}}) ROW(sub, -2, 2, 2, {1, {3}}, {2, {2, 3}}) ROW(
                        mul, -2, 2, 2, {2, {2, 1}}, {2, {1, 3}}) ROW(div, 0.4, 2, 2, {2, {2, 3}}, {2, {2, 1}})
                        ROW(pow, 0.4, 2, 2, {2, {2, 3}}, {1, {3}}) ROW(atan2, 0.3, 2, 2, {1, {6}}, {1, {6}}) ROW(
                            hypot, 0.3, 2, 2, {1, {6}}, {1, {6}}) ROW(logaddexp, -2, 2, 2, {1, {6}}, {1, {6}})
                            ROW(xlogy, 0.3, 2, 2, {1, {6}}, {1, {6}}) ROW(mod, 0.4, 3, 2, {1, {6}}, {1, {6}}) ROW(
                                fmod, 0.4, 3, 2, {1, {6}}, {1, {6}}) ROW(minimum, -2, 2, 2, {1, {6}}, {1, {6}})
                                ROW(maximum, -2, 2, 2, {1, {6}}, {1, {6}}) ROW(fmin, -2, 2, 2, {1, {6}}, {1, {6}}) ROW(
                                    fmax, -2, 2, 2, {1, {6}}, {1, {6}}) ROW(copysign, 0.3, 2, 2, {1, {6}}, {1, {6}})
                                    ROW(swiglu, -2, 2, 2, {1, {6}}, {1, {6}}) ROW(geglu, -2, 2, 2, {1, {6}}, {1, {6}})
                                        ROW(fma, -2, 2, 3, {2, {2, 3}}, {1, {3}}, {2, {2, 1}})
                                            ROW(lerp, -2, 2, 3, {2, {2, 3}}, {1, {3}}, {2, {2, 1}})
                                                ROW(clip, -2, 2, 3, {1, {6}}, {1, {6}}, {1, {6}})
                                                    ROW(where, -2, 2, 2, {1, {6}}, {1, {6}})
                                                        ROW(same_twice, -2, 2, 1, {1, {6}})
                                                            ROW(mixed_dtypes, -2, 2, 2, {1, {6}}, {1, {6}})};
// clang-format on

TEST(gradients_of_element_wise_operators_with_broadcasting) {
  begin();
  for (size_t i = 0; i < sizeof elementwise / sizeof *elementwise; i++) check_sample(&elementwise[i]);
  finish();
}

static const int axis_1[] = {1}, axes_0_2[] = {0, 2};
CALL(sum, tsr_sum(x[0], axis_1, 1, false))
CALL(sum_two, tsr_sum(x[0], axes_0_2, 2, true))
CALL(mean, tsr_mean(x[0], NULL, 0, false))
CALL(var, tsr_var(x[0], axis_1, 1, false, 1))
CALL(std, tsr_std(x[0], axis_1, 1, true, 0))
CALL(prod, tsr_prod(x[0], axis_1, 1, false))
CALL(prod_zero, tsr_prod(tsr_mul(x[0], tsr_arange(dev, TSR_F64, 0, 3, 1)), axis_1, 1, false))
CALL(max, tsr_max(x[0], axis_1, 1, false))
CALL(min, tsr_min(x[0], NULL, 0, false))
CALL(norm, tsr_norm(x[0], 2, axis_1, 1, false))
CALL(logsumexp, tsr_logsumexp(x[0], axis_1, 1, false))
CALL(cumsum, tsr_cumsum(x[0], 1))
CALL(softmax, tsr_softmax(x[0], 1))
CALL(log_softmax, tsr_log_softmax(x[0], 0))
CALL(layer_norm, tsr_layer_norm(x[0], x[1], x[2], 1e-5))
CALL(rms_norm, tsr_rms_norm(x[0], x[1], 1e-5))
CALL(matmul, tsr_matmul(x[0], x[1]))
CALL(gemm, tsr_gemm(2, x[0], x[1], 0.5, x[2]))
CALL(dot, tsr_dot(x[0], x[1]))
CALL(outer, tsr_outer(x[0], x[1]))
CALL(mse, tsr_mse_loss(x[0], x[1], NULL))
CALL(huber, tsr_huber_loss(x[0], x[1], NULL))

// clang-format off
static const sample reductions[] = {
    ROW(sum, -2, 2, 1, {3, {2, 3, 2}}) ROW(sum_two, -2, 2, 1, {3, {2, 3, 2}}) ROW(mean, -2, 2, 1, {2, {2, 3}})
        ROW(var, -2, 2, 1, {2, {2, 4}}) ROW(std, -2, 2, 1, {2, {2, 4}}) ROW(prod, 0.4, 2, 1, {2, {2, 3}})
            ROW(prod_zero, 0.4, 2, 1, {2, {2, 3}}) ROW(max, -2, 2, 1, {2, {3, 4}}) ROW(min, -2, 2, 1, {2, {3, 4}}) ROW(
                norm, -2, 2, 1, {2, {2, 4}}) ROW(logsumexp, -2, 2, 1, {2, {2, 4}}) ROW(cumsum, -2, 2, 1, {3, {2, 3, 2}})
                ROW(softmax, -2, 2, 1, {3, {2, 3, 2}}) ROW(log_softmax, -2, 2, 1, {2, {3, 2}})
                    ROW(layer_norm, -2, 2, 3, {3, {2, 2, 4}}, {1, {4}}, {1, {4}}) ROW(
                        rms_norm, -2, 2, 2, {2, {2, 4}}, {1, {4}}) ROW(matmul, -2, 2, 2, {3, {2, 2, 3}}, {2, {3, 4}})
                        ROW(gemm, -2, 2, 3, {2, {2, 3}}, {2, {3, 4}}, {1, {4}}) ROW(dot, -2, 2, 2, {1, {5}}, {1, {5}})
                            ROW(outer, -2, 2, 2, {1, {3}}, {1, {4}}) ROW(mse, -2, 2, 2, {2, {2, 3}}, {2, {2, 3}})
                                ROW(huber, -2, 2, 2, {2, {2, 3}}, {2, {2, 3}})};
// clang-format on

TEST(gradients_of_reductions_rows_and_products) {
  begin();
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++) check_sample(&reductions[i]);
  finish();
}

// Gradients of x + norm(x) by x and the weight, in one row.
static tsr_tensor *gradients_of_residual(tsr_dtype dtype, bool is_centred) {
  enum { ROWS = 21, SIZE = 37 };
  tsr_tensor *xs[2] = {tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(ROWS, SIZE), 1), dtype),
                       tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(SIZE), 2), dtype)};
  tsr_tensor *g = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(ROWS, SIZE), 3), dtype), *found[2];
  CHECK_OK(tsr_grad_begin());
  for (int i = 0; i < 2; i++) CHECK_OK(tsr_grad_watch(xs[i]));
  tsr_tensor *x = tsr_mul_scalar(xs[0], 3);
  tsr_tensor *y = is_centred ? tsr_layer_norm(x, xs[1], NULL, 1e-5) : tsr_rms_norm(x, xs[1], 1e-5);
  CHECK_OK(tsr_grad(tsr_add(x, y), &(tsr_grad_desc){.cotangent = g}, xs, 2, found));
  tsr_grad_end();
  tsr_tensor *rows[2] = {tsr_reshape(found[0], TSR_SHAPE(-1)), found[1]};
  tsr_tensor *joined = tsr_cast(tsr_concat(rows, 2, 0), TSR_F64);
  for (int i = 0; i < 2; i++) tsr_release(found[i]);
  return joined;
}

// In f32 the CPU's operator for the gradient of a norm adds the gradient so far itself; in f64 it is a composition.
TEST(the_gradient_of_a_norm_is_added_to_the_gradient_so_far) {
  begin();
  for (int is_centred = 0; is_centred < 2; is_centred++) {
    tsr_tensor *wide = gradients_of_residual(TSR_F64, is_centred != 0);
    tsr_tensor *error = tsr_abs(tsr_sub(gradients_of_residual(TSR_F32, is_centred != 0), wide));
    double largest = 0, off = 0;
    CHECK_OK(tsr_item(tsr_max(tsr_abs(wide), NULL, 0, false), &largest));
    CHECK_OK(tsr_item(tsr_max(error, NULL, 0, false), &off));
    CHECK(largest > 1 && off <= 1e-6 * largest);
  }
  finish();
}

static tsr_tensor *numbers(tsr_shape shape, const int32_t *values, int count) {
  return tsr_from_data(dev, TSR_I32, shape, values, (size_t)count * sizeof *values);
}

CALL(transpose, tsr_mul(tsr_transpose(x[0], 0, 1), tsr_transpose(x[0], 0, 1)))
CALL(slice, tsr_square(tsr_slice(x[0], 1, 1, 4, 2)))
CALL(backwards, tsr_square(tsr_flip(tsr_slice(x[0], 1, 0, 3, 1), 1)))
CALL(expand, tsr_mul(tsr_expand(x[0], TSR_SHAPE(3, 4)), x[1]))
CALL(reshape, tsr_square(tsr_reshape(tsr_transpose(x[0], 0, 1), TSR_SHAPE(2, 6))))
CALL(diagonal, tsr_square(tsr_diagonal(x[0], 0, 0, 1)))
CALL(concat, tsr_square(tsr_concat((tsr_tensor *[]){x[0], x[1], x[0]}, 3, 1)))
CALL(pad, tsr_square(tsr_pad(x[0], (const int64_t[]){1, 0}, (const int64_t[]){0, 2}, 2, 3)))
CALL(tril, tsr_tril(x[0], 0))
CALL(gather, tsr_gather(x[0], 1, numbers(TSR_SHAPE(2, 3), (const int32_t[]){0, 2, 2, 1, 1, 3}, 6)))
CALL(index_select, tsr_index_select(x[0], 0, numbers(TSR_SHAPE(4), (const int32_t[]){2, 0, 2, 1}, 4)))
CALL(take, tsr_take(x[0], numbers(TSR_SHAPE(2, 2), (const int32_t[]){5, 0, 5, 1}, 4)))
CALL(scatter, tsr_scatter(x[0], 1, numbers(TSR_SHAPE(2, 3), (const int32_t[]){0, 2, 2, 1, 1, 3}, 6), x[1]))
CALL(scatter_add, tsr_scatter_add(x[0], 1, numbers(TSR_SHAPE(2, 3), (const int32_t[]){0, 2, 2, 1, 1, 3}, 6), x[1]))
CALL(sort, tsr_sort(x[0], 0, true))
CALL(masked_fill, tsr_masked_fill(x[0], tsr_gt_scalar(x[0], 0.2), 7))
CALL(cross_entropy, tsr_cross_entropy(x[0], numbers(TSR_SHAPE(3), (const int32_t[]){1, 0, 3}, 3), 1, NULL))
CALL(embedding, tsr_embedding(x[0], numbers(TSR_SHAPE(2, 2), (const int32_t[]){2, 0, 2, 1}, 4)))

// clang-format off
static const sample indexing[] = {
    ROW(transpose, -2, 2, 1, {2, {3, 4}}) ROW(slice, -2, 2, 1, {2, {3, 5}}) ROW(backwards, -2, 2, 1, {2, {2, 5}})
        ROW(expand, -2, 2, 2, {2, {3, 1}}, {1, {4}}) ROW(reshape, -2, 2, 1, {2, {3, 4}})
            ROW(diagonal, -2, 2, 1, {2, {3, 4}}) ROW(concat, -2, 2, 2, {2, {2, 3}}, {2, {2, 1}})
                ROW(pad, -2, 2, 1, {2, {2, 3}}) ROW(tril, -2, 2, 1, {2, {3, 3}}) ROW(gather, -2, 2, 1, {2, {3, 4}})
                    ROW(index_select, -2, 2, 1, {2, {3, 4}}) ROW(take, -2, 2, 1, {2, {3, 2}})
                        ROW(scatter, -2, 2, 2, {2, {3, 4}}, {2, {2, 3}})
                            ROW(scatter_add, -2, 2, 2, {2, {3, 4}}, {2, {2, 3}}) ROW(sort, -2, 2, 1, {2, {4, 3}})
                                ROW(masked_fill, -2, 2, 1, {2, {2, 3}}) ROW(cross_entropy, -2, 2, 1, {2, {3, 4}})
                                    ROW(embedding, -2, 2, 1, {2, {3, 4}})};
// clang-format on

TEST(gradients_through_views_and_indices) {
  begin();
  for (size_t i = 0; i < sizeof indexing / sizeof *indexing; i++) check_sample(&indexing[i]);
  finish();
}

CALL(conv, tsr_conv(x[0], x[1], x[2], &(tsr_conv_desc){.stride = {2, 1}, .before = {1, 0}, .after = {1, 1}}))
CALL(conv_dilated, tsr_conv(x[0], x[1], NULL, &(tsr_conv_desc){.dilation = {2}, .before = {2}, .stride = {3}}))
CALL(conv_groups, tsr_conv(x[0], x[1], x[2], &(tsr_conv_desc){.groups = 2, .padding = TSR_PADDING_SAME}))
CALL(conv_last, tsr_conv(x[0], x[1], NULL, &(tsr_conv_desc){.channels_last = true}))
CALL(conv_transpose, tsr_conv_transpose(x[0], x[1], x[2],
                                        &(tsr_conv_desc){.stride = {2, 2}, .before = {1, 0}, .output_padding = {1, 0}}))
CALL(max_pool, tsr_max_pool(x[0], &(tsr_pool_desc){.size = {3, 2}, .stride = {1, 2}, .before = {1, 0}}))
CALL(avg_pool,
     tsr_avg_pool(x[0], &(tsr_pool_desc){.size = {3, 2}, .stride = {2, 1}, .before = {1, 0}, .after = {1, 0}}))
CALL(avg_pool_padded,
     tsr_avg_pool(x[0], &(tsr_pool_desc){
                            .size = {3}, .stride = {2}, .before = {1}, .rounds_up = true, .counts_padding = true}))
CALL(group_norm, tsr_group_norm(x[0], 2, x[1], x[2], 1e-5))

// clang-format off
static const sample windows[] = {
    ROW(conv, -1, 1, 3, {4, {2, 2, 5, 4}}, {4, {3, 2, 3, 2}}, {1, {3}})
        ROW(conv_dilated, -1, 1, 2, {3, {2, 2, 9}}, {3, {2, 2, 3}})
            ROW(conv_groups, -1, 1, 3, {3, {1, 4, 5}}, {3, {6, 2, 3}}, {1, {6}})
                ROW(conv_last, -1, 1, 2, {4, {1, 4, 4, 2}}, {4, {2, 2, 2, 2}})
                    ROW(conv_transpose, -1, 1, 3, {4, {1, 2, 3, 3}}, {4, {2, 3, 3, 2}}, {1, {3}})
                        ROW(max_pool, -1, 1, 1, {4, {1, 2, 5, 4}}) ROW(avg_pool, -1, 1, 1, {4, {1, 2, 5, 4}})
                            ROW(avg_pool_padded, -1, 1, 1, {3, {1, 2, 6}})
                                ROW(group_norm, -1, 1, 3, {3, {2, 4, 3}}, {1, {4}}, {1, {4}})};
// clang-format on

// Weights of whole numbers, which q8_0 holds as they are: [3, 32].
static tsr_tensor *quantised_weights(void) {
  double w[96];
  for (int i = 0; i < 96; i++) w[i] = i % 32 == 0 ? 127 : i * 37 % 11 - 5;
  return tsr_quantize(from_doubles(TSR_F32, TSR_SHAPE(3, 32), w), TSR_QUANT_Q8_0);
}
CALL(matmul_quantized, tsr_matmul_quantized(x[0], quantised_weights(), TSR_QUANT_Q8_0))

static const sample quantised[] = {ROW(matmul_quantized, -1, 1, 1, {2, {2, 32}})};

TEST(gradients_of_products_with_quantised_weights) {
  begin();
  check_sample(&quantised[0]);
  finish();
}

TEST(gradients_of_convolution_and_pooling) {
  begin();
  for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) check_sample(&windows[i]);
  finish();
}

// --- What a range remembers ---------------------------------------------------------------------------------------------

static tsr_tensor *watched(tsr_tensor *x) {
  CHECK_OK(tsr_grad_watch(x));
  return x;
}

static tsr_tensor *total(tsr_tensor *x) { return tsr_sum(x, NULL, 0, false); }

TEST(gradients_of_gradients) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F64, TSR_SHAPE(2, 2), 1, 2, 3, -1)), *first = NULL, *second = NULL, *third = NULL;
  tsr_tensor *y = total(tsr_pow_scalar(tsr_slice(x, 1, 0, 1, 1), 4));
  CHECK_OK(tsr_grad(y, &(tsr_grad_desc){.keep = true}, &x, 1, &first));
  CHECK_OK(tsr_grad(total(first), &(tsr_grad_desc){.keep = true}, &x, 1, &second));
  CHECK_OK(tsr_grad(total(tsr_slice(second, 1, 0, 1, 1)), NULL, &x, 1, &third));
  CHECK_OK(tsr_grad_end());
  CHECK_VALUES(first, TSR_F64, TSR_SHAPE(2, 2), 1e-12, 4, 0, 108, 0);
  CHECK_VALUES(second, TSR_F64, TSR_SHAPE(2, 2), 1e-12, 12, 0, 108, 0);
  CHECK_VALUES(third, TSR_F64, TSR_SHAPE(2, 2), 1e-12, 24, 0, 72, 0);
  finish();
}

TEST(a_view_that_is_watched_has_a_gradient_of_its_shape) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 3), 1, 2, 3, 4, 5, 6), *turned = watched(tsr_transpose(x, 0, 1)),
             *g = NULL;
  tsr_tensor *weights = list(TSR_F32, TSR_SHAPE(3), 1, 10, 100);
  CHECK_OK(tsr_grad(total(tsr_mul(x, weights)), NULL, &turned, 1, &g));  // x is watched with its view
  CHECK_VALUES(g, TSR_F32, TSR_SHAPE(3, 2), 0, 1, 1, 10, 10, 100, 100);
  CHECK_OK(tsr_grad_end());
  finish();
}

TEST(without_a_scope_only_what_is_returned_is_to_be_released) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(2, 3)), *turned = tsr_transpose(x, 0, 1), *g = NULL;
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *y = tsr_sum(watched(turned), NULL, 0, false);
  CHECK_OK(tsr_grad(y, NULL, &turned, 1, &g));
  CHECK_OK(tsr_grad_end());
  float values[6];
  CHECK_OK(tsr_read(g, values, sizeof values));
  CHECK(values[5] == 1);
  tsr_release(g);
  tsr_release(y);
  tsr_release(turned);
  tsr_release(x);
  tsr_device_release(device);
}

TEST(a_cotangent_takes_the_place_of_one) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F32, TSR_SHAPE(3), 1, 2, 3)), *g = NULL;
  tsr_grad_desc desc = {.cotangent = list(TSR_F32, TSR_SHAPE(3), 1, 0, 2)};
  CHECK_OK(tsr_grad(tsr_square(x), &desc, &x, 1, &g));
  CHECK_VALUES(g, TSR_F32, TSR_SHAPE(3), 0, 2, 0, 12);
  CHECK_OK(tsr_grad_end());
  finish();
}

TEST(gradients_of_intermediate_results_and_of_half_precision) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_BF16, TSR_SHAPE(2), 3, -4)), *inner = tsr_mul_scalar(x, 2);
  tsr_tensor *asked[2] = {x, inner}, *g[2] = {NULL};
  CHECK_OK(tsr_grad(total(tsr_square(inner)), NULL, asked, 2, g));
  CHECK_VALUES(g[0], TSR_BF16, TSR_SHAPE(2), 0, 24, -32);
  CHECK_VALUES(g[1], TSR_BF16, TSR_SHAPE(2), 0, 12, -16);
  CHECK_OK(tsr_grad_end());
  finish();
}

// Windows (-1, 2), (-3, -4), (5, 6) and (NaN, 1). Where relu has only max_pool as its reader, the rule of max_pool takes on the mask of relu.
static tsr_tensor *pooled(tsr_tensor *rectified) {
  tsr_tensor *weights = list(TSR_F32, TSR_SHAPE(4), 1, 10, 100, 1000);
  return total(tsr_mul(tsr_max_pool(rectified, &(tsr_pool_desc){.size = {2}}), weights));
}

TEST(max_pool_of_relu_has_the_gradient_of_both) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F32, TSR_SHAPE(1, 1, 8), -1, 2, -3, -4, 5, 6, NAN, 1)), *g[2] = {NULL};
  tsr_grad_desc keep = {.keep = true};
  tsr_tensor *rectified = tsr_relu(x), *y = pooled(rectified), *asked[2] = {x, rectified};
  CHECK_OK(tsr_grad(y, &keep, asked, 1, g));
  CHECK_VALUES(g[0], TSR_F32, TSR_SHAPE(1, 1, 8), 0, 0, 1, 0, 0, 0, 100, 1000, 0);
  CHECK_OK(tsr_grad(y, &keep, asked, 2, g));  // the gradient of relu's result is not masked
  CHECK_VALUES(g[0], TSR_F32, TSR_SHAPE(1, 1, 8), 0, 0, 1, 0, 0, 0, 100, 1000, 0);
  CHECK_VALUES(g[1], TSR_F32, TSR_SHAPE(1, 1, 8), 0, 0, 1, 10, 0, 0, 100, 1000, 0);
  y = tsr_add(y, total(tsr_mul_scalar(rectified, 2)));  // relu has a second reader, which comes later
  CHECK_OK(tsr_grad(y, &keep, asked, 1, g));
  CHECK_VALUES(g[0], TSR_F32, TSR_SHAPE(1, 1, 8), 0, 0, 3, 0, 0, 2, 102, 1002, 2);
  rectified = tsr_relu(x);
  y = total(tsr_mul_scalar(rectified, 2));  // and one that came before
  CHECK_OK(tsr_grad(tsr_add(y, pooled(rectified)), NULL, asked, 1, g));
  CHECK_VALUES(g[0], TSR_F32, TSR_SHAPE(1, 1, 8), 0, 0, 3, 0, 0, 2, 102, 1002, 2);
  CHECK_OK(tsr_grad_end());
  finish();
}

// Windows over all of the first axis, side by side along the others: the last elements of x are the largest.
TEST(max_pool_of_whole_volumes_has_the_gradient_of_their_largest_elements) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(1, 2, 3, 2, 2)), *g = NULL;
  const tsr_pool_desc descs[] = {{.size = {3, 1, 1}}, {.size = {3, 2, 1}}, {.size = {3, 1, 2}}, {.output = {1, 1, 1}}};
  for (int i = 0; i < 4; i++) {
    CHECK_OK(tsr_grad_begin());
    tsr_tensor *y = tsr_max_pool(watched(x), &descs[i]);
    CHECK_OK(tsr_grad(total(y), NULL, &x, 1, &g));
    tsr_tensor *sums = tsr_sum(g, TSR_AXES(2, 3, 4), false), *places = tsr_argmax_pool(x, &descs[i]);
    tsr_tensor *rows = tsr_reshape(g, TSR_SHAPE(2, 12)), *found = tsr_reshape(places, TSR_SHAPE(2, -1));
    double of_each = (double)tsr_tensor_count(y) / 2;
    CHECK_VALUES(sums, TSR_F32, TSR_SHAPE(1, 2), 0, of_each, of_each);
    CHECK_VALUES(tsr_min(tsr_gather(rows, 1, found), NULL, 0, false), TSR_F32, TSR_SCALAR, 0, 1);
    CHECK_OK(tsr_grad_end());
  }
  finish();
}

TEST(constants_have_no_gradient) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F32, TSR_SHAPE(2), 3, 5)), *g = NULL;
  tsr_grad_pause();
  tsr_tensor *fixed = tsr_square(x);
  tsr_grad_resume();
  tsr_tensor *y = total(tsr_mul(x, tsr_add(fixed, tsr_stop_gradient(x))));
  CHECK_OK(tsr_grad(y, NULL, &x, 1, &g));
  CHECK_VALUES(g, TSR_F32, TSR_SHAPE(2), 0, 12, 30);
  tsr_tensor *other = watched(list(TSR_F32, TSR_SHAPE(1), 1));
  CHECK_STATUS(tsr_grad(total(x), NULL, &other, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("grad: y was not computed from tensor 0 ([1])");
  CHECK(g == NULL);
  CHECK_OK(tsr_grad(total(x), &(tsr_grad_desc){.zeros_if_unused = true}, &other, 1, &g));
  CHECK_VALUES(g, TSR_F32, TSR_SHAPE(1), 0, 0);
  CHECK_OK(tsr_grad_end());
  finish();
}

TEST(what_was_overwritten_is_refused) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F32, TSR_SHAPE(2), 3, 5)), *g = NULL;
  CHECK_OK(tsr_write(x, (const float[]){1, 2}, 8));  // before it is used: no harm
  tsr_tensor *y = total(tsr_square(x));
  CHECK_OK(tsr_assign(x, list(TSR_F32, TSR_SHAPE(2), 7, 7)));
  CHECK_STATUS(tsr_grad(y, &(tsr_grad_desc){.keep = true}, &x, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("grad: the gradient of square needs elements that were overwritten");
  CHECK_OK(tsr_grad_end());
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *data = list(TSR_F32, TSR_SHAPE(2), 3, 5), *z = total(tsr_mul(watched(x), data));
  CHECK_OK(tsr_write(data, (const float[]){1, 2}, 8));  // a constant that the gradient needs
  CHECK_STATUS(tsr_grad(z, NULL, &x, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("grad: the gradient of mul needs elements that were overwritten");
  CHECK_OK(tsr_grad_end());
  finish();
}

TEST(what_is_overwritten_and_not_needed_does_no_harm) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *w = watched(list(TSR_BF16, TSR_SHAPE(2), 3, 5)), *bias = list(TSR_BF16, TSR_SHAPE(2), 1, 1), *g = NULL;
  tsr_tensor *y = total(tsr_mul_scalar(tsr_add(w, bias), 3));
  CHECK_OK(tsr_write(bias, (const uint16_t[]){0, 0}, 4));
  CHECK_OK(tsr_grad(y, NULL, &w, 1, &g));
  CHECK_VALUES(g, TSR_BF16, TSR_SHAPE(2), 0, 3, 3);
  tsr_tensor *z = total(tsr_exp(w));  // the gradient needs the result alone, but w is another one now
  CHECK_OK(tsr_assign(w, bias));
  CHECK_STATUS(tsr_grad(z, &(tsr_grad_desc){.keep = true}, &w, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("grad: y was not computed from tensor 0 ([2]) as it is now: it was overwritten since");
  CHECK_OK(tsr_grad_end());
  finish();
}

// h[0] = x^2, h[1] = h[0] * x, h[2] = h[1] + h[0]: the gradient of h[1] needs h[0], which later assignments leave alone.
TEST(gradients_go_through_assignments) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F64, TSR_SHAPE(2), 3, 5)), *h = tsr_zeros(dev, TSR_F64, TSR_SHAPE(3, 2)), *g = NULL;
  tsr_tensor *rows[3];
  for (int i = 0; i < 3; i++) rows[i] = tsr_squeeze(tsr_slice(h, 0, i, i + 1, 1), 0);
  CHECK_OK(tsr_assign(rows[0], tsr_square(x)));
  CHECK_OK(tsr_assign(rows[1], tsr_mul(rows[0], x)));
  CHECK_OK(tsr_assign(rows[2], tsr_add(rows[1], rows[0])));
  CHECK_OK(tsr_grad(total(tsr_mul(h, list(TSR_F64, TSR_SHAPE(3, 1), 1, 10, 100))), NULL, &x, 1, &g));
  // 101 x^2 + 110 x^3
  CHECK_VALUES(g, TSR_F64, TSR_SHAPE(2), 1e-9, 202.0 * 3 + 330 * 9, 202.0 * 5 + 330 * 25);
  CHECK_OK(tsr_grad_end());
  finish();
}

// h is written to, then read, then released: the gradient of square needs its elements as they were written.
TEST(gradients_read_what_was_written_to_tensors_that_are_gone) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F64, TSR_SHAPE(2), 3, 5)), *g = NULL;
  tsr_scope *inner = tsr_scope_begin(dev);
  tsr_tensor *h = tsr_add_scalar(x, 1), *first = tsr_slice(h, 0, 0, 1, 1);
  CHECK_OK(tsr_assign(first, tsr_mul_scalar(first, 2)));
  tsr_tensor *y = tsr_retain(total(tsr_square(h)));
  CHECK_OK(tsr_scope_end(inner));
  CHECK_OK(tsr_grad(y, NULL, &x, 1, &g));
  CHECK_VALUES(g, TSR_F64, TSR_SHAPE(2), 0, 8 * (3 + 1), 2 * (5 + 1));
  tsr_release(y);
  CHECK_OK(tsr_grad_end());
  finish();
}

// The gradient of h reaches the assignment with its axes swapped in memory.
TEST(overwritten_elements_have_no_gradient_when_the_tensor_is_read_transposed) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F64, TSR_SHAPE(2, 3), 1, 2, 3, 4, 5, 6)), *g = NULL;
  tsr_tensor *h = tsr_add_scalar(x, 1), *weights = list(TSR_F64, TSR_SHAPE(3, 2), 1, 2, 3, 4, 5, 6);
  CHECK_OK(tsr_assign(tsr_slice(h, 1, 0, 2, 1), tsr_zeros(dev, TSR_F64, TSR_SHAPE(2, 2))));
  CHECK_OK(tsr_grad(total(tsr_mul(tsr_transpose(h, 0, 1), weights)), NULL, &x, 1, &g));
  CHECK_VALUES(g, TSR_F64, TSR_SHAPE(2, 3), 0, 0, 0, 5, 0, 0, 6);
  CHECK_OK(tsr_grad_end());
  finish();
}

TEST(a_parameter_that_is_updated_in_place_stays_watched) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *w = watched(list(TSR_F64, TSR_SHAPE(1), 4)), *g = NULL;
  for (int i = 0; i < 3; i++) {
    CHECK_OK(tsr_grad(total(tsr_square(w)), NULL, &w, 1, &g));
    if (i == 1) tsr_grad_pause();
    CHECK_OK(tsr_assign(w, tsr_sub(w, tsr_mul_scalar(g, 0.25))));  // half of it
    if (i == 1) tsr_grad_resume();
  }
  CHECK_OK(tsr_grad(total(tsr_square(w)), NULL, &w, 1, &g));
  CHECK_VALUES(g, TSR_F64, TSR_SHAPE(1), 0, 1);
  CHECK_OK(tsr_grad_end());
  finish();
}

// Gradients of the second backward pass are remembered in lists that grow while the first is gone through.
TEST(second_gradients_of_long_chains) {
  begin();
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(list(TSR_F64, TSR_SHAPE(1), 1)), *y = x, *first = NULL, *second = NULL;
  for (int i = 0; i < 200; i++) y = tsr_mul(tsr_slice(y, 0, 0, 1, 1), x);  // x^201
  CHECK_OK(tsr_grad(total(y), &(tsr_grad_desc){.keep = true}, &x, 1, &first));
  CHECK_OK(tsr_grad(total(first), NULL, &x, 1, &second));
  CHECK_VALUES(first, TSR_F64, TSR_SHAPE(1), 1e-9, 201);
  CHECK_VALUES(second, TSR_F64, TSR_SHAPE(1), 1e-7, 201.0 * 200);
  CHECK_OK(tsr_grad_end());
  finish();
}

TEST(wrong_uses_of_gradients_are_statuses) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2), 3, 5), *whole = list(TSR_I32, TSR_SHAPE(2), 3, 5), *g = NULL;
  CHECK_STATUS(tsr_grad(total(x), NULL, &x, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_grad_watch(x), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_grad_end(), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_grad_begin());
  CHECK_STATUS(tsr_grad_begin(), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_grad_watch(NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_grad_watch(whole), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("grad_watch: x is i32; only floats have gradients");
  CHECK_STATUS(tsr_grad(total(x), NULL, &x, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("grad: tensor 0 ([2]) is not watched, nor computed from one that is");
  watched(x);
  CHECK_STATUS(tsr_grad(tsr_square(x), NULL, &x, 1, &g), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("grad: y has 2 elements ([2]); reduce it to one, or give a cotangent");
  tsr_grad_desc desc = {.cotangent = list(TSR_F32, TSR_SHAPE(3), 1, 1, 1)};
  CHECK_STATUS(tsr_grad(tsr_square(x), &desc, &x, 1, &g), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_grad(tsr_argmax(x, NULL, 0, false), NULL, &x, 1, &g), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("grad: y (scalar) is i32; only floats have gradients");
  CHECK_STATUS(tsr_grad(total(x), NULL, &whole, 1, &g), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("grad: tensor 0 ([2]) is i32; only floats have gradients");
  CHECK_STATUS(tsr_grad(total(tsr_nextafter(x, x)), NULL, &x, 1, &g), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("grad: nextafter has no gradient");
  CHECK_STATUS(tsr_grad(tsr_from_data(dev, TSR_F32, TSR_SCALAR, &(float){1}, 4), NULL, &x, 1, &g),
               TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("grad: y (scalar) was not computed from watched tensors in this range");
  tsr_device *elsewhere = test_open("cpu");
  desc.cotangent = tsr_ones(elsewhere, TSR_F32, TSR_SHAPE(2));
  CHECK_STATUS(tsr_grad(tsr_square(x), &desc, &x, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("grad: the cotangent is on another device than y; move it with tsr_to");
  tsr_device_release(elsewhere);
  CHECK_STATUS(tsr_grad(total(x), NULL, &x, -1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_grad(total(x), NULL, NULL, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  tsr_tensor *late = total(tsr_square(x));
  CHECK_OK(tsr_grad_end());
  CHECK_STATUS(tsr_grad(late, NULL, &x, 1, &g), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("grad: no range is open on this thread");
  CHECK_OK(tsr_grad_begin());
  watched(x);
  CHECK_STATUS(tsr_grad(late, NULL, &x, 1, &g), TSR_ERR_INVALID_ARGUMENT);  // of the range before
  CHECK_LAST_ERROR_HAS("was not computed from watched tensors in this range");
  CHECK_OK(tsr_grad_end());
  finish();
}

// Least squares by gradient descent: the parameter is updated in place, and the step is captured.
TEST(a_captured_step_learns) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(4, 2), 1, 0, 0, 1, 1, 1, 2, -1), *w = list(TSR_F32, TSR_SHAPE(2, 1), 0, 0);
  tsr_tensor *target = list(TSR_F32, TSR_SHAPE(4, 1), 2, -3, -1, 7), *g = NULL;
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(dev));
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *loss = tsr_mse_loss(tsr_matmul(x, watched(w)), target, NULL);
  CHECK_OK(tsr_grad(loss, NULL, &w, 1, &g));
  CHECK_OK(tsr_grad_end());
  CHECK_OK(tsr_assign(w, tsr_sub(w, tsr_mul_scalar(g, 0.3))));
  CHECK_OK(tsr_capture_end((tsr_tensor *[]){loss, w}, 2, &step));
  for (int i = 0; i < 200; i++) CHECK_OK(tsr_capture_run(step));
  CHECK_VALUES(w, TSR_F32, TSR_SHAPE(2, 1), 1e-4, 2, -3);
  double left = 1;
  CHECK_OK(tsr_item(loss, &left));
  CHECK(left < 1e-8);
  tsr_capture_release(step);
  finish();
}

// --- Computing again ----------------------------------------------------------------------------------------------------

typedef struct layer_calls {
  int count;
} layer_calls;

// y = dropout(tanh(x * w)), and its square beside it.
static tsr_status layer(void *context, tsr_tensor *const *in, int in_count, tsr_tensor **out, int out_count) {
  ((layer_calls *)context)->count++;
  CHECK(in_count == 2 && out_count == 2);
  out[0] = tsr_dropout(tsr_tanh(tsr_mul(in[0], in[1])), 0.5, 7);
  out[1] = tsr_square(out[0]);
  return TSR_OK;
}

TEST(a_checkpoint_has_the_gradients_of_what_it_computes_again) {
  begin();
  double values[2][16];
  for (int is_kept = 0; is_kept < 2; is_kept++) {
    layer_calls calls = {0};
    CHECK_OK(tsr_grad_begin());
    tsr_tensor *x = watched(tsr_rand(dev, TSR_F64, TSR_SHAPE(16), 1)),
               *w = watched(tsr_rand(dev, TSR_F64, TSR_SHAPE(16), 2));
    tsr_tensor *in[2] = {x, w}, *out[2], *g[2];
    if (is_kept) CHECK_OK(layer(&calls, in, 2, out, 2));
    else CHECK_OK(tsr_checkpoint(layer, &calls, in, 2, out, 2));
    tsr_tensor *again[2] = {out[1], out[1]}, *last[2];  // the same tensor twice: each use has its own gradient
    CHECK_OK(is_kept ? layer(&calls, again, 2, last, 2) : tsr_checkpoint(layer, &calls, again, 2, last, 2));
    CHECK_OK(tsr_grad(tsr_add(total(out[0]), total(last[0])), NULL, in, 2, g));
    CHECK_EQ_INT(calls.count, is_kept ? 2 : 4);
    CHECK_OK(tsr_read(tsr_add(g[0], tsr_mul_scalar(g[1], 10)), values[is_kept], sizeof values[0]));
    CHECK_OK(tsr_grad_end());
  }
  for (int i = 0; i < 16; i++) CHECK(fabs(values[0][i] - values[1][i]) < 1e-12);
  finish();
}

enum { BLOCKS = 4, LAYERS = 16, WIDTH = 1 << 18 };

static tsr_status block_of_layers(void *context, tsr_tensor *const *in, int in_count, tsr_tensor **out, int out_count) {
  (void)context, (void)in_count, (void)out_count;
  tsr_tensor *h = in[0];
  for (int i = 0; i < LAYERS; i++) {
    // A kernel of its own: each layer's input is an intermediate result that its gradient needs.
    h = tsr_cumsum(tsr_sin(h), 0);
    h = tsr_mul_scalar(h, 1e-3);
  }
  out[0] = h;
  return TSR_OK;
}

// What a forward and a backward pass through four blocks take. `at_once`: nothing is computed before the gradient is.
static tsr_grad_memory memory_of(bool is_checkpoint, bool at_once) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_rand(device, TSR_F32, TSR_SHAPE(WIDTH), 1), *h = x, *g = NULL;
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(x));
  for (int i = 0; i < BLOCKS; i++) {
    tsr_tensor *next = NULL;
    tsr_scope *inner = tsr_scope_begin(device);
    tsr_status status =
        is_checkpoint ? tsr_checkpoint(block_of_layers, NULL, &h, 1, &next, 1) : block_of_layers(NULL, &h, 1, &next, 1);
    CHECK_OK(status);
    if (h != x) tsr_release(h);
    h = tsr_retain(next);
    CHECK_OK(tsr_scope_end(inner));
  }
  tsr_tensor *y = tsr_sum(h, NULL, 0, false);
  tsr_release(h);
  if (!at_once) CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_grad(y, NULL, &x, 1, &g));
  CHECK_OK(tsr_grad_end());
  CHECK_OK(tsr_evaluate(g));
  tsr_grad_memory memory;
  CHECK_OK(tsr_grad_get_memory(device, &memory));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
  return memory;
}

// How many tensors of a layer's size fit into so many bytes.
static int64_t tensors_in(uint64_t bytes) { return (int64_t)(bytes / (WIDTH * sizeof(float))); }

// Counted by hand. Forward: x, the running sum of each layer (the gradient of the next sine needs it), and the sine from which the last sum is computed. Backward:
// these sums, of which each layer frees one, plus two gradients: the one being computed and the one it is computed from.
TEST(peaks_of_both_passes_are_those_of_counting_by_hand) {
  tsr_grad_memory memory = memory_of(false, true);
  CHECK_EQ_INT(tensors_in(memory.start_bytes), 1);
  CHECK_EQ_INT(tensors_in(memory.forward_bytes), 1 + BLOCKS * LAYERS + 1);
  CHECK_EQ_INT(tensors_in(memory.backward_bytes), 1 + BLOCKS * LAYERS + 1);
}

// What is computed before tsr_grad is called stays until then: the inputs of all operators.
TEST(peaks_of_a_forward_pass_that_ran_before) {
  tsr_grad_memory memory = memory_of(false, false);
  CHECK_EQ_INT(tensors_in(memory.forward_bytes), 1 + BLOCKS * 2 * LAYERS);
}

// By hand: x and the result of each block are kept. The backward pass has besides, for one block at a time: the gradient of its result, the running sums of its
// layers but for the last, which no sine reads, and the gradient that is computed with the one that it is computed from.
TEST(checkpoints_take_less_memory) {
  tsr_grad_memory memory = memory_of(true, false);
  CHECK_EQ_INT(tensors_in(memory.forward_bytes), 1 + BLOCKS + 1);
  CHECK_EQ_INT(tensors_in(memory.backward_bytes), 1 + BLOCKS + 1 + (LAYERS - 1) + 2);
}

static tsr_status product_of(void *context, tsr_tensor *const *in, int in_count, tsr_tensor **out, int out_count) {
  (void)in_count, (void)out_count;
  out[0] = tsr_matmul(in[0], in[0]);
  *(tsr_dtype *)context = tsr_tensor_dtype(out[0]);
  return TSR_OK;
}

TEST(a_checkpoint_is_computed_again_in_its_range_of_autocast) {
  begin();
  tsr_dtype seen = TSR_F32;
  CHECK_OK(tsr_grad_begin());
  tsr_tensor *x = watched(tsr_rand(dev, TSR_F32, TSR_SHAPE(4, 4), 1)), *y = NULL, *g = NULL;
  CHECK_OK(tsr_autocast_begin(TSR_BF16));
  CHECK_OK(tsr_checkpoint(product_of, &seen, &x, 1, &y, 1));
  CHECK_OK(tsr_autocast_end());
  CHECK_EQ_INT(seen, TSR_BF16);
  seen = TSR_F32;
  CHECK_OK(tsr_grad(total(y), NULL, &x, 1, &g));
  CHECK_EQ_INT(seen, TSR_BF16);
  CHECK_EQ_INT(tsr_tensor_dtype(tsr_matmul(x, x)), TSR_F32);  // the range is over
  CHECK_OK(tsr_grad_end());
  finish();
}

static tsr_status no_result(void *context, tsr_tensor *const *in, int in_count, tsr_tensor **out, int out_count) {
  (void)context, (void)in, (void)in_count, (void)out, (void)out_count;
  return TSR_OK;
}

TEST(wrong_checkpoints_are_statuses) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(1), 1), *y = x;
  CHECK_STATUS(tsr_checkpoint(NULL, NULL, &x, 1, &y, 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_checkpoint(no_result, NULL, &x, 0, &y, 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_checkpoint(no_result, NULL, &x, 1, &y, 1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("checkpoint: the function did not set result 0");
  CHECK(y == NULL);
  finish();
}

static tsr_status take_gradient(tsr_tensor *x) {
  tsr_tensor *g = NULL;
  tsr_status status = tsr_grad_begin();
  if (status != TSR_OK) return status;
  status = tsr_grad_watch(x);
  if (status == TSR_OK) status = tsr_grad(total(tsr_softmax(tsr_slice(x, 0, 0, 1, 1), 1)), NULL, &x, 1, &g);
  if (status == TSR_OK) status = tsr_evaluate(g);
  CHECK_OK(tsr_grad_end());
  return status;
}

TEST(every_host_allocation_of_a_gradient_may_fail) {
  begin();
  tsr_tensor *x = list(TSR_F32, TSR_SHAPE(2, 2), 1, 2, 3, 4);
  bool is_through = false;
  for (uint64_t n = 1; n < 1000 && !is_through; n++) {
    tsr_scope *scope = tsr_scope_begin(dev);
    tsri_alloc_fail_at(n, false);
    tsr_status status = take_gradient(x);
    is_through = tsri_alloc_fail_at(0, false) < n;
    if (status != TSR_OK) CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    CHECK_OK(tsr_scope_end(scope));
  }
  CHECK(is_through);
  finish();
}

// Parts that lie apart are written to one gradient; where they meet, they are added.
TEST(gradients_of_slices_add_up_where_slices_overlap) {
  begin();
  tsr_tensor *x = count_up(TSR_F32, TSR_SHAPE(2, 6)), *g = NULL;
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(x));
  tsr_tensor *y = tsr_add(total(tsr_slice(x, 1, 0, 2, 1)), tsr_mul_scalar(total(tsr_slice(x, 1, 4, 6, 1)), 3));
  y = tsr_add(y, tsr_mul_scalar(total(tsr_slice(x, 1, 2, 4, 1)), 5));
  CHECK_OK(tsr_grad(y, &(tsr_grad_desc){.keep = true}, &x, 1, &g));
  CHECK_VALUES(g, TSR_F32, TSR_SHAPE(2, 6), 0, 1, 1, 5, 5, 3, 3, 1, 1, 5, 5, 3, 3);
  tsr_release(g);
  y = tsr_add(y, tsr_mul_scalar(total(tsr_slice(x, 1, 1, 3, 1)), 10));
  y = tsr_add(y, tsr_mul_scalar(total(tsr_slice(x, 0, 1, 2, 1)), 100));
  y = tsr_add(y, tsr_mul_scalar(total(tsr_slice(x, 1, 0, 6, 3)), 1000));
  CHECK_OK(tsr_grad(y, NULL, &x, 1, &g));
  CHECK_VALUES(g, TSR_F32, TSR_SHAPE(2, 6), 0, 1001, 11, 15, 1005, 3, 3, 1101, 111, 115, 1105, 103, 103);
  tsr_release(g);
  tsr_grad_end();
  finish();
}
