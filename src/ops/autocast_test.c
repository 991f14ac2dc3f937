// SPDX-License-Identifier: MIT
// Ranges of autocast: what each operator computes in.
#include <stdlib.h>
#include <string.h>

#include "ops/operators.h"
#include "ops/ops_testing.h"

// --- A call of every operator that AUTOCAST names -------------------------------------------------------------------------

enum { N = 8, BATCH = 2, CHANNELS = 4, ROWS = BATCH * CHANNELS * N };

// x is [BATCH, CHANNELS, N, N], m the same as a matrix of ROWS x N, c a number for each channel.
#define CALLS(X)                                                                                  \
  X(matmul, tsr_matmul(m, tsr_transpose(m, 0, 1)))                                                \
  X(gemm, tsr_gemm(2, m, tsr_transpose(m, 0, 1), 0, NULL))                                        \
  X(linear, tsr_linear(m, m, NULL, NULL))                                                         \
  X(gemv, tsr_gemv(m, tsr_reshape(tsr_slice(m, 0, 0, 1, 1), TSR_SHAPE(N))))                       \
  X(tensordot, tsr_tensordot(m, m, (const int[]){1}, (const int[]){1}, 1))                        \
  X(einsum, tsr_einsum("ij,kj->ik", (tsr_tensor *[]){m, m}, 2))                                   \
  X(conv, tsr_conv(x, x, NULL, NULL))                                                             \
  X(conv_transpose, tsr_conv_transpose(x, tsr_transpose(x, 0, 1), NULL, NULL))                    \
  X(attention, tsr_attention(x, x, x, NULL, NULL))                                                \
  X(attention_scores, tsr_attention_scores(x, x, NULL, NULL))                                     \
  X(weighted_sum_rows, tsr_weighted_sum_rows(x, x))                                               \
  X(sum, tsr_sum(x, NULL, 0, false))                                                              \
  X(prod, tsr_prod(m, TSR_AXES(1), false))                                                        \
  X(mean, tsr_mean(x, NULL, 0, false))                                                            \
  X(var, tsr_var(x, NULL, 0, false, 1))                                                           \
  X(std, tsr_std(x, NULL, 0, false, 1))                                                           \
  X(norm, tsr_norm(x, 2, NULL, 0, false))                                                         \
  X(logsumexp, tsr_logsumexp(m, TSR_AXES(1), false))                                              \
  X(cumsum, tsr_cumsum(m, 1))                                                                     \
  X(cumprod, tsr_cumprod(m, 1))                                                                   \
  X(logcumsumexp, tsr_logcumsumexp(m, 1))                                                         \
  X(trace, tsr_trace(m, 0, 0, 1))                                                                 \
  X(softmax, tsr_softmax(m, 1))                                                                   \
  X(log_softmax, tsr_log_softmax(m, 1))                                                           \
  X(layer_norm, tsr_layer_norm(m, NULL, NULL, 1e-5))                                              \
  X(rms_norm, tsr_rms_norm(m, NULL, 1e-5))                                                        \
  X(add_layer_norm, second(tsr_add_layer_norm(m, m, NULL, NULL, 1e-5, &outs[0], &outs[1]), outs)) \
  X(add_rms_norm, second(tsr_add_rms_norm(m, m, NULL, 1e-5, &outs[0], &outs[1]), outs))           \
  X(batch_norm, tsr_batch_norm(x, c, tsr_square(c), NULL, NULL, 1e-5))                            \
  X(group_norm, tsr_group_norm(x, 2, c, NULL, 1e-5))                                              \
  X(instance_norm, tsr_instance_norm(x, NULL, NULL, 1e-5))                                        \
  X(local_response_norm, tsr_local_response_norm(x, 3, 1e-4, 0.75, 1))                            \
  X(mse_loss, tsr_mse_loss(m, tsr_square(m), NULL))                                               \
  X(l1_loss, tsr_l1_loss(m, tsr_square(m), NULL))                                                 \
  X(huber_loss, tsr_huber_loss(m, tsr_square(m), NULL))                                           \
  X(bce_with_logits_loss, tsr_bce_with_logits_loss(m, tsr_square(m), NULL))                       \
  X(kl_div_loss, tsr_kl_div_loss(m, tsr_square(m), NULL))                                         \
  X(nll_loss, tsr_nll_loss(m, tsr_zeros(dev, TSR_I32, TSR_SHAPE(ROWS)), 1, NULL))                 \
  X(cross_entropy, tsr_cross_entropy(m, tsr_zeros(dev, TSR_I32, TSR_SHAPE(ROWS)), 1, NULL))

static tsr_tensor *second(tsr_status status, tsr_tensor **outs) {
  CHECK_OK(status);
  return outs[1];
}

#define TSRI_X(name, expression)                                                                              \
  static tsr_tensor *call_##name(tsr_tensor *x) {                                                             \
    tsr_tensor *m = tsr_reshape(x, TSR_SHAPE(-1, N)), *outs[2] = {NULL, NULL};                                \
    tsr_tensor *c = tsr_reshape(tsr_slice(tsr_slice(m, 0, 0, 1, 1), 1, 0, CHANNELS, 1), TSR_SHAPE(CHANNELS)); \
    (void)c, (void)outs;                                                                                      \
    return expression;                                                                                        \
  }
CALLS(TSRI_X)
#undef TSRI_X

typedef tsr_tensor *(*operator_call)(tsr_tensor *x);

static const operator_call calls[TSRI_OPERATOR_COUNT] = {
#define TSRI_X(name, expression) [TSRI_OPERATOR_##name] = call_##name,
    CALLS(TSRI_X)
#undef TSRI_X
};

static tsri_autocast_kind kind_of(int op) { return tsri_operators[op].bodies[TSRI_BODY_ONLY].autocast; }

// --- Tests ----------------------------------------------------------------------------------------------------------------

static tsr_tensor *input(tsr_dtype dtype) {
  static float values[ROWS * N];
  for (int i = 0; i < ROWS * N; i++) values[i] = 0.25f + 0.125f * (float)(i * 7 % 11);
  return tsr_cast(tsr_from_data(dev, TSR_F32, TSR_SHAPE(BATCH, CHANNELS, N, N), values, sizeof values), dtype);
}

// Calls the operator with inputs of `given` under autocast to `dtype`. The result must have the same dtype as a call with inputs of `as` without autocast, and
// nearly the same values.
static void check_call(int op, tsr_dtype dtype, tsr_dtype given, tsr_dtype as) {
  tsr_scope *scope = tsr_scope_begin(dev);
  tsr_tensor *x = input(given);
  CHECK_OK(tsr_autocast_begin(dtype));
  tsr_tensor *found = calls[op](x);
  CHECK_OK(tsr_autocast_end());
  tsr_tensor *wanted = calls[op](tsr_cast(x, as));
  CHECK_STR(tsr_dtype_name(tsr_tensor_dtype(found)), tsr_dtype_name(tsr_tensor_dtype(wanted)));
  CHECK(tsr_tensor_dtype(found) == as);
  double off = NAN;
  tsr_tensor *a = tsr_cast(found, TSR_F64), *b = tsr_cast(wanted, TSR_F64);
  tsr_tensor *relative = tsr_div(tsr_abs(tsr_sub(a, b)), tsr_add_scalar(tsr_abs(b), 1e-6));
  CHECK_OK(tsr_item(tsr_max(relative, NULL, 0, false), &off));
  if (!(off < (as == TSR_F32 ? 1e-5 : 0.01))) printf("%s: off by %g\n", tsri_operators[op].name, off);
  CHECK(off < (as == TSR_F32 ? 1e-5 : 0.01));
  tsr_scope_end(scope);
}

TEST(every_operator_of_the_list_computes_in_what_it_says) {
  begin();
  for (int i = 0; i < TSRI_OPERATOR_COUNT; i++) {
    CHECK((kind_of(i) != TSRI_AUTOCAST_NONE) == (calls[i] != NULL));
    if (kind_of(i) == TSRI_AUTOCAST_NARROW) {
      check_call(i, TSR_BF16, TSR_F32, TSR_BF16);
      check_call(i, TSR_F16, TSR_F32, TSR_F16);
      check_call(i, TSR_F16, TSR_F64, TSR_F64);
    } else if (kind_of(i) == TSRI_AUTOCAST_WIDE) {
      check_call(i, TSR_BF16, TSR_BF16, TSR_F32);
      check_call(i, TSR_F16, TSR_F16, TSR_F32);
    }
  }
  finish();
}

static tsr_dtype product_dtype(void) {
  tsr_tensor *m = tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 2));
  return tsr_tensor_dtype(tsr_matmul(m, m));
}

TEST(ranges_nest_and_f32_switches_them_off) {
  begin();
  CHECK_STATUS(tsr_autocast_end(), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_autocast_begin(TSR_F64), TSR_ERR_DTYPE);
  CHECK_OK(tsr_autocast_begin(TSR_F16));
  CHECK_OK(tsr_autocast_begin(TSR_F32));
  CHECK(product_dtype() == TSR_F32);
  CHECK_OK(tsr_autocast_begin(TSR_BF16));
  CHECK(product_dtype() == TSR_BF16);
  CHECK_OK(tsr_autocast_end());
  CHECK(product_dtype() == TSR_F32);
  CHECK_OK(tsr_autocast_end());
  CHECK(product_dtype() == TSR_F16);
  CHECK_OK(tsr_autocast_end());
  CHECK(product_dtype() == TSR_F32);
  finish();
}

TEST(more_ranges_than_fit_are_refused) {
  begin();
  for (int i = 0; i < 16; i++) CHECK_OK(tsr_autocast_begin(TSR_F16));
  CHECK_STATUS(tsr_autocast_begin(TSR_F16), TSR_ERR_INVALID_ARGUMENT);
  for (int i = 0; i < 16; i++) CHECK_OK(tsr_autocast_end());
  CHECK(product_dtype() == TSR_F32);
  finish();
}

TEST(linear_keeps_the_precision_of_a_residual) {
  begin();
  tsr_tensor *x = tsr_ones(dev, TSR_F32, TSR_SHAPE(2, 2)),
             *residual = tsr_full(dev, TSR_F32, TSR_SHAPE(2, 2), 4096.125);
  CHECK_OK(tsr_autocast_begin(TSR_BF16));
  tsr_tensor *y = tsr_linear(x, x, NULL, &(tsr_linear_desc){.residual = residual});
  CHECK_OK(tsr_autocast_end());
  CHECK_VALUES(y, TSR_F32, TSR_SHAPE(2, 2), 0, 4098.125, 4098.125, 4098.125, 4098.125);
  finish();
}

TEST(operators_made_of_exact_products_are_not_converted) {
  begin();
  tsr_tensor *a = list(TSR_F32, TSR_SHAPE(2, 2), 1.0001, 0.5, 0.25, 2.0003);
  CHECK_OK(tsr_autocast_begin(TSR_BF16));
  tsr_tensor *square = tsr_matrix_power(a, 2);
  CHECK_OK(tsr_autocast_end());
  bool is_equal = false;
  CHECK_OK(tsr_equal(square, tsr_matmul(a, a), &is_equal));
  CHECK(is_equal);
  finish();
}

TEST(gradients_of_f32_parameters_are_f32) {
  begin();
  tsr_tensor *w = tsr_randn(dev, TSR_F32, TSR_SHAPE(3, 4), 1), *x = tsr_randn(dev, TSR_F32, TSR_SHAPE(5, 4), 2);
  tsr_tensor *gradient = NULL, *exact = NULL;
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(w));
  CHECK_OK(tsr_autocast_begin(TSR_BF16));
  tsr_tensor *loss = tsr_mean(tsr_square(tsr_linear(x, w, NULL, NULL)), NULL, 0, false);
  CHECK_OK(tsr_grad(loss, NULL, &w, 1, &gradient));
  CHECK(product_dtype() == TSR_BF16);  // the range is still open
  CHECK_OK(tsr_autocast_end());
  loss = tsr_mean(tsr_square(tsr_linear(x, w, NULL, NULL)), NULL, 0, false);
  CHECK_OK(tsr_grad(loss, NULL, &w, 1, &exact));
  CHECK_OK(tsr_grad_end());
  CHECK(tsr_tensor_dtype(gradient) == TSR_F32);
  double off = NAN;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(tsr_sub(gradient, exact)), NULL, 0, false), &off));
  CHECK(off < 0.05 && off > 0);
  finish();
}

static void append_names(char *line, size_t bytes, tsri_autocast_kind kind) {
  for (int i = 0; i < TSRI_OPERATOR_COUNT; i++) {
    size_t used = strlen(line);
    if (kind_of(i) == kind) snprintf(line + used, bytes - used, " `%s`", tsri_operators[i].name);
  }
  strncat(line, " |\n", bytes - strlen(line) - 1);
}

TEST(the_documented_lists_are_those_of_the_records) {
  const char *source = getenv("TSR_TEST_SOURCE_DIR");
  if (!source) SKIP("TSR_TEST_SOURCE_DIR is not set, so the documentation is not found");
  char path[1024], line[2048], wanted[2][2048] = {"| f16 or bf16, added up in f32 |", "| f32 |"};
  append_names(wanted[0], sizeof wanted[0], TSRI_AUTOCAST_NARROW);
  append_names(wanted[1], sizeof wanted[1], TSRI_AUTOCAST_WIDE);
  snprintf(path, sizeof path, "%s/docs/training.md", source);
  FILE *file = fopen(path, "r");
  CHECK(file != NULL);
  int found = 0;
  while (fgets(line, sizeof line, file)) {
    for (int i = 0; i < 2; i++) found += strcmp(line, wanted[i]) == 0;
  }
  fclose(file);
  if (found != 2) printf("docs/training.md should have\n%s%s", wanted[0], wanted[1]);
  CHECK_EQ_INT(found, 2);
}

// Its numbers of channels are f32 in a range, as parameters are; those outside of one decide as for every operator.
TEST(batch_norm_train_gives_what_it_is_given_in_a_range) {
  begin();
  const tsr_dtype dtypes[] = {TSR_BF16, TSR_F16, TSR_F32};
  for (int i = 0; i < 3; i++) {
    tsr_tensor *x = input(dtypes[i]), *weight = tsr_ones(dev, TSR_F32, TSR_SHAPE(CHANNELS)), *inside = NULL,
               *outside = NULL;
    CHECK_OK(tsr_autocast_begin(TSR_BF16));
    CHECK_OK(tsr_batch_norm_train(x, NULL, NULL, weight, NULL, 0.1, 1e-5, &inside));
    CHECK_OK(tsr_autocast_end());
    CHECK_OK(tsr_batch_norm_train(x, NULL, NULL, weight, NULL, 0.1, 1e-5, &outside));
    CHECK(tsr_tensor_dtype(inside) == dtypes[i]);
    CHECK(tsr_tensor_dtype(outside) == TSR_F32);
    double off = NAN;
    tsr_tensor *distance = tsr_sub(tsr_cast(inside, TSR_F32), outside);
    CHECK_OK(tsr_item(tsr_norm(distance, INFINITY, NULL, 0, false), &off));
    CHECK(off < 0.02);
  }
  finish();
}
