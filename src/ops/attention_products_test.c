// SPDX-License-Identifier: MIT
// Attention by products, and in tiles whose keys are divided among work-groups, beside attention in whole tiles: on the stand-in for AMD's GPUs, which has matrix units.
#include "graph/node.h"
#include "graph/tuning.h"
#include "ops/ops_testing.h"

typedef struct attention_case {
  int64_t batch, heads, kv_heads, queries, keys, size, value_size;
  tsr_attention_desc desc;
  tsr_dtype mask;  // TSR_BOOL, TSR_F32 (a mask that is added), or TSR_DTYPE_COUNT: none
  bool is_view;    // heads are next to each other in a row, and rows begin at odd elements
} attention_case;

enum { RESULTS = 4 };  // y, dq, dk, dv

static tsr_tensor *random_rows(const attention_case *c, tsr_dtype dtype, int64_t heads, int64_t rows, int64_t size,
                               uint64_t seed) {
  int64_t first = c->is_view ? 3 : 0;
  tsr_tensor *all = tsr_randn(dev, TSR_F32, TSR_SHAPE(c->batch, rows, heads, first + size), seed);
  tsr_tensor *x = tsr_transpose(tsr_slice(tsr_cast(all, dtype), 3, first, first + size, 1), 1, 2);
  return c->is_view ? x : tsr_contiguous(x);
}

static uint64_t launches(void) {
  tsr_device_counters counters;
  CHECK_OK(tsr_device_get_counters(dev, &counters));
  return counters.launches;
}

static void tune(const char *changes) {
  tsri_graph_state *state = NULL;
  CHECK_OK(tsri_graph_state_for(dev, &state));
  CHECK(tsri_tuning_change(&state->tuning, changes));
  forget_launches(dev);
}

// Computes y and, if `results` has room for them, the gradients. Returns how many launches that took.
static uint64_t compute(const attention_case *c, tsr_dtype dtype, tsr_tensor **results, int count) {
  tsr_tensor *xs[3] = {random_rows(c, dtype, c->heads, c->queries, c->size, 1),
                       random_rows(c, dtype, c->kv_heads, c->keys, c->size, 2),
                       random_rows(c, dtype, c->kv_heads, c->keys, c->value_size, 3)};
  tsr_tensor *mask = NULL, *g = random_rows(c, dtype, c->heads, c->queries, c->value_size, 7);
  if (c->mask == TSR_BOOL) mask = tsr_gt_scalar(tsr_randn(dev, TSR_F32, TSR_SHAPE(c->queries, c->keys), 4), -0.3);
  if (c->mask == TSR_F32) mask = tsr_cast(tsr_randn(dev, TSR_F32, TSR_SHAPE(c->heads, 1, c->keys), 4), dtype);
  for (int i = 0; i < 3; i++) CHECK_OK(tsr_evaluate(xs[i]));
  CHECK_OK(tsr_evaluate(g));
  if (mask) CHECK_OK(tsr_evaluate(mask));
  uint64_t before = launches();
  if (count > 1) CHECK_OK(tsr_grad_begin());
  for (int i = 0; i < 3 && count > 1; i++) CHECK_OK(tsr_grad_watch(xs[i]));
  results[0] = tsr_attention(xs[0], xs[1], xs[2], mask, &c->desc);
  if (count > 1) CHECK_OK(tsr_grad(results[0], &(tsr_grad_desc){.cotangent = g}, xs, 3, results + 1));
  if (count > 1) tsr_grad_end();
  for (int i = 0; i < count; i++) CHECK_OK(tsr_evaluate(results[i]));
  return launches() - before;
}

static double largest(tsr_tensor *x) {
  double value = 0;
  CHECK_OK(tsr_item(tsr_max(tsr_abs(tsr_cast(x, TSR_F32)), NULL, 0, false), &value));
  return value;
}

static void check_near(tsr_tensor **are, tsr_tensor **wanted, int count, double bound, const char *name) {
  for (int i = 0; i < count; i++) {
    double error = largest(tsr_sub(tsr_cast(are[i], TSR_F32), tsr_cast(wanted[i], TSR_F32))), size = largest(wanted[i]);
    if (!(error <= bound * size))
      test_fail(__FILE__, __LINE__, "%s: result %d is off by %g of %g", name, i, error, size);
  }
}

static void begin_on_gpu(void) {
  const char *why = test_use_rocm();
  if (why) SKIP(why);
  dev = test_open("rocm");
  test_scope = tsr_scope_begin(dev);
}

TEST(attention_by_products_is_that_in_tiles_with_its_gradients) {
  static const struct {
    const char *name;
    attention_case c;
  } cases[] = {
      {"plain", {2, 2, 2, 33, 70, 40, 24, {.scale = 0}, TSR_DTYPE_COUNT, false}},
      {"causal, two blocks", {1, 2, 2, 300, 290, 16, 16, {.causal = true}, TSR_DTYPE_COUNT, true}},
      {"sharing heads", {2, 4, 2, 17, 67, 16, 8, {.causal = true, .window = 30}, TSR_BOOL, false}},
      {"bent", {1, 4, 2, 20, 64, 8, 8, {.softcap = 3}, TSR_F32, true}},
  };
  begin_on_gpu();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsr_tensor *by_products[RESULTS], *by_tiles[RESULTS];
    tune("attention_products=1");
    uint64_t more = compute(&cases[i].c, TSR_F32, by_products, RESULTS);
    tune("attention_products=0");
    uint64_t fewer = compute(&cases[i].c, TSR_F32, by_tiles, RESULTS);
    CHECK(more > fewer);
    check_near(by_products, by_tiles, RESULTS, 1e-5, cases[i].name);
  }
  finish();
}

// Where shared memory has room for tiles of the attention, but not of its gradient.
TEST(gradients_for_which_no_tile_fits_come_from_products) {
  static const attention_case c = {1, 2, 1, 20, 33, 160, 160, {.causal = true}, TSR_DTYPE_COUNT, false};
  tsr_tensor *by_products[RESULTS], *composed[RESULTS];
  begin_on_gpu();
  dev->limits.shared_bytes = 32 << 10;
  tune("attention_products=1");
  uint64_t fewer = compute(&c, TSR_F32, by_products, RESULTS);
  tune("attention_products=0");
  CHECK(compute(&c, TSR_F32, composed, RESULTS) > fewer);
  check_near(by_products, composed, RESULTS, 1e-5, "no tile");
  finish();
}

// Heads of 160 elements are divided between two subgroups, those of few queries among four.
TEST(heads_that_several_subgroups_share_give_what_f32_gives) {
  static const attention_case many = {1, 1, 1, 40, 70, 160, 136, {.causal = true}, TSR_DTYPE_COUNT, false},
                              few = {1, 1, 1, 9, 70, 256, 64, {.scale = 0}, TSR_DTYPE_COUNT, false};
  begin_on_gpu();
  for (int i = 0; i < 2; i++) {
    tsr_tensor *narrow, *wide;
    compute(i ? &few : &many, TSR_F16, &narrow, 1);
    compute(i ? &few : &many, TSR_F32, &wide, 1);
    check_near(&narrow, &wide, 1, 4e-3, i ? "few" : "many");
  }
  finish();
}

TEST(few_queries_divide_their_keys_among_work_groups) {
  static const attention_case cases[] = {
      {1, 2, 1, 9, 1000, 16, 16, {.causal = true}, TSR_DTYPE_COUNT, false},
      {1,
       2,
       1,
       9,
       1000,
       16,
       12,
       {.causal = true, .window = 40},
       TSR_BOOL,
       false},  // many spans have no key that is seen
  };
  begin_on_gpu();
  for (int i = 0; i < 2; i++) {
    tsr_tensor *divided, *whole;
    tune("attention_groups=384");
    uint64_t more = compute(&cases[i], TSR_F16, &divided, 1);
    tune("attention_groups=1");
    CHECK(compute(&cases[i], TSR_F16, &whole, 1) + 1 == more);  // the parts are joined
    check_near(&divided, &whole, 1, 2e-3, "divided keys");
  }
  finish();
}
