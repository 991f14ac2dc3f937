// SPDX-License-Identifier: MIT
// Attention over several blocks of queries and keys, and its gradients: f32, which is native on the CPU, beside f64, which is not.
#include "ops/ops_testing.h"

typedef struct attention_case {
  int64_t batch, heads, kv_heads, queries, keys, size, value_size;
  tsr_attention_desc desc;
  bool has_lengths, has_slopes, is_view;
  tsr_dtype mask;  // TSR_BOOL, TSR_F64 (a mask that is added), or TSR_DTYPE_COUNT: none
} attention_case;

enum { RESULTS = 4 };  // y, dq, dk, dv

// Random numbers as they come from one product for all three: heads are next to each other in a row.
static tsr_tensor *random_heads(const attention_case *c, tsr_dtype dtype, int64_t heads, int64_t rows, int64_t size,
                                uint64_t seed) {
  tsr_shape shape = c->is_view ? TSR_SHAPE(c->batch, rows, heads, size + 3) : TSR_SHAPE(c->batch, heads, rows, size);
  tsr_tensor *x = tsr_cast(tsr_randn(dev, TSR_F32, shape, seed), dtype);
  return c->is_view ? tsr_transpose(tsr_slice(x, 3, 1, 1 + size, 1), 1, 2) : x;
}

static void compute(const attention_case *c, tsr_dtype dtype, tsr_tensor **results) {
  tsr_attention_desc desc = c->desc;
  tsr_tensor *xs[3] = {random_heads(c, dtype, c->heads, c->queries, c->size, 1),
                       random_heads(c, dtype, c->kv_heads, c->keys, c->size, 2),
                       random_heads(c, dtype, c->kv_heads, c->keys, c->value_size, 3)};
  tsr_tensor *mask = NULL;
  if (c->mask == TSR_BOOL) mask = tsr_gt_scalar(tsr_randn(dev, TSR_F32, TSR_SHAPE(c->queries, c->keys), 4), -0.3);
  if (c->mask == TSR_F64) mask = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(c->heads, 1, c->keys), 4), dtype);
  if (c->has_slopes) desc.slopes = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(c->heads), 5), dtype);
  if (c->has_lengths) desc.lengths = tsr_randint(dev, TSR_I32, TSR_SHAPE(c->batch), 0, c->keys + 1, 6);
  tsr_tensor *g = random_heads(c, dtype, c->heads, c->queries, c->value_size, 7);
  CHECK_OK(tsr_grad_begin());
  for (int i = 0; i < 3; i++) CHECK_OK(tsr_grad_watch(xs[i]));
  results[0] = tsr_attention(xs[0], xs[1], xs[2], mask, &desc);
  CHECK_OK(tsr_grad(results[0], &(tsr_grad_desc){.cotangent = g}, xs, 3, results + 1));
  tsr_grad_end();
}

static double largest(tsr_tensor *x) {
  double value = 0;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(x), NULL, 0, false), &value));
  return value;
}

static void check_case(const attention_case *c, const char *name) {
  tsr_tensor *narrow[RESULTS], *wide[RESULTS];
  compute(c, TSR_F32, narrow);
  compute(c, TSR_F64, wide);
  for (int i = 0; i < RESULTS; i++) {
    double error = largest(tsr_sub(tsr_cast(narrow[i], TSR_F64), wide[i])), size = largest(wide[i]);
    if (!(error <= 1e-5 * size))
      test_fail(__FILE__, __LINE__, "%s: result %d is off by %g of %g", name, i, error, size);
    if (i > 0) tsr_release(narrow[i]), tsr_release(wide[i]);
  }
}

TEST(attention_in_blocks_is_that_of_f64_with_all_its_gradients) {
  static const struct {
    const char *name;
    attention_case is;
  } cases[] = {
      {"one block", {2, 3, 3, 40, 60, 32, 32, {.scale = 0}, false, false, false, TSR_DTYPE_COUNT}},
      {"causal", {1, 2, 2, 150, 150, 40, 40, {.causal = true}, false, false, true, TSR_DTYPE_COUNT}},
      {"more keys than queries", {1, 2, 1, 33, 300, 17, 9, {.causal = true}, false, false, true, TSR_DTYPE_COUNT}},
      {"more queries than keys", {1, 1, 1, 200, 150, 8, 24, {.causal = true}, false, false, false, TSR_DTYPE_COUNT}},
      {"shared heads", {2, 6, 2, 130, 140, 16, 16, {.scale = 0.5}, false, false, true, TSR_DTYPE_COUNT}},
      {"window", {1, 2, 2, 290, 290, 16, 16, {.causal = true, .window = 37}, false, false, false, TSR_DTYPE_COUNT}},
      {"window of one block",
       {1, 2, 2, 20, 100, 16, 32, {.causal = true, .window = 30}, false, false, true, TSR_DTYPE_COUNT}},
      {"queries of one block that see nothing",
       {2, 1, 1, 60, 37, 16, 16, {.causal = true}, false, false, false, TSR_DTYPE_COUNT}},
      {"many keys", {1, 2, 1, 70, 2100, 16, 16, {.causal = true}, false, false, false, TSR_DTYPE_COUNT}},
      {"soft cap", {1, 2, 2, 129, 257, 16, 16, {.softcap = 1.5}, false, false, false, TSR_DTYPE_COUNT}},
      {"soft cap of one block", {1, 2, 2, 20, 30, 16, 16, {.softcap = 1.5}, false, false, false, TSR_DTYPE_COUNT}},
      {"slopes", {1, 3, 1, 140, 140, 16, 16, {.causal = true}, false, true, false, TSR_DTYPE_COUNT}},
      {"lengths", {5, 2, 2, 20, 280, 16, 16, {.causal = true}, true, false, false, TSR_DTYPE_COUNT}},
      {"what a mask hides", {2, 2, 2, 135, 135, 16, 16, {.scale = -0.4}, false, false, false, TSR_BOOL}},
      {"an added mask", {2, 2, 2, 135, 135, 16, 16, {.causal = true}, false, true, true, TSR_F64}},
  };
  begin();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_scope *scope = tsr_scope_begin(dev);
    check_case(&cases[i].is, cases[i].name);
    tsr_scope_end(scope);
  }
  finish();
}

// NaN in a value reaches the queries that see it, and no others.
TEST(a_value_that_is_not_seen_is_not_multiplied) {
  begin();
  tsr_tensor *q = tsr_zeros(dev, TSR_F32, TSR_SHAPE(1, 1, 4, 2)),
             *v = list(TSR_F32, TSR_SHAPE(1, 1, 4, 1), 1, 3, NAN, 2);
  CHECK_VALUES(tsr_attention(q, q, v, NULL, &(tsr_attention_desc){.causal = true}), TSR_F32, TSR_SHAPE(1, 1, 4, 1),
               1e-6, 1, 2, NAN, NAN);
  finish();
}

// A second derivative goes through the native operator of the first.
TEST(gradients_of_gradients_of_attention_are_those_of_f64) {
  double found[2] = {0};
  begin();
  for (int i = 0; i < 2; i++) {
    tsr_dtype dtype = i == 0 ? TSR_F32 : TSR_F64;
    tsr_tensor *x = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(1, 2, 5, 4), 1), dtype), *first = NULL, *second = NULL;
    CHECK_OK(tsr_grad_begin());
    CHECK_OK(tsr_grad_watch(x));
    tsr_tensor *y = tsr_sum(tsr_square(tsr_attention(x, x, x, NULL, NULL)), NULL, 0, false);
    CHECK_OK(tsr_grad(y, &(tsr_grad_desc){.keep = true}, &x, 1, &first));
    CHECK_OK(tsr_grad(tsr_sum(tsr_square(first), NULL, 0, false), NULL, &x, 1, &second));
    tsr_grad_end();
    CHECK_OK(tsr_item(tsr_sum(tsr_square(second), NULL, 0, false), &found[i]));
    tsr_release(first);
    tsr_release(second);
  }
  CHECK(found[1] > 0.1 && fabs(found[0] - found[1]) < 1e-4 * found[1]);
  finish();
}

// The gradient of [batch, rows, parts * heads * size], of which three parts are q, k and v in some order.
static tsr_tensor *gradient_by_parts(tsr_dtype dtype, int64_t parts, const int64_t *order) {
  enum { BATCH = 2, ROWS = 37, HEADS = 3, SIZE = 8 };
  const int64_t width = HEADS * SIZE;
  tsr_tensor *x = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(BATCH, ROWS, parts * width), 1), dtype), *qkv[3], *found;
  tsr_tensor *g = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(BATCH, HEADS, ROWS, SIZE), 2), dtype);
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_grad_watch(x));
  tsr_tensor *read = tsr_mul_scalar(x, 2);
  for (int i = 0; i < 3; i++) {
    tsr_tensor *part = tsr_slice(read, 2, order[i] * width, (order[i] + 1) * width, 1);
    qkv[i] = tsr_transpose(tsr_reshape(part, TSR_SHAPE(BATCH, ROWS, HEADS, SIZE)), 1, 2);
  }
  tsr_tensor *y = tsr_attention(qkv[0], qkv[1], qkv[2], NULL, &(tsr_attention_desc){.causal = true});
  CHECK_OK(tsr_grad(y, &(tsr_grad_desc){.cotangent = g}, &x, 1, &found));
  tsr_grad_end();
  return found;
}

TEST(gradients_of_parts_of_one_tensor_come_to_their_places) {
  static const struct {
    int64_t parts, order[3];
  } cases[] = {{3, {0, 1, 2}}, {3, {2, 0, 1}}, {4, {0, 3, 1}}, {2, {0, 1, 1}}, {1, {0, 0, 0}}};
  begin();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_tensor *narrow = gradient_by_parts(TSR_F32, cases[i].parts, cases[i].order);
    tsr_tensor *wide = gradient_by_parts(TSR_F64, cases[i].parts, cases[i].order);
    double error = largest(tsr_sub(tsr_cast(narrow, TSR_F64), wide)), size = largest(wide);
    CHECK(size > 0.1 && error <= 1e-5 * size);
    tsr_release(narrow);
    tsr_release(wide);
  }
  finish();
}
