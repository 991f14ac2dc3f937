// SPDX-License-Identifier: MIT
// Attention by cuDNN's graphs: which operators are accepted, whether results and gradients are right, and what happens where cuDNN fails. Runs with the fake library, and on a GPU.
#include <math.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "backends/cuda/dnn_attention.h"
#include "backends/cuda/fixture.h"
#include "runtime/native_op.h"

enum { BATCH = 2, HEADS = 4, ROWS = 72, SIZE = 32, SCRATCH = 1 << 22 };
enum { Q, K, V, Y, LSE, G, DQ, DK, DV, OPERANDS };

typedef struct trial {
  fixture f;
  tsri_native_op op;
  int64_t kv_heads;
  size_t counts[OPERANDS];
  double *values[OPERANDS];
  double mask[BATCH * HEADS * ROWS * ROWS];
} trial;

static bool takes(const trial *t) {
  tsr_device device = {.backend = t->f.backend, .handle = t->f.device};
  return tsri_device_takes(&device, &t->op);
}

static tsri_place *place_of(trial *t, int operand) {
  tsri_attention_op *a = &t->op.is.attention;
  return (tsri_place *[]){&a->q, &a->k, &a->v, &a->y, &a->lse, &a->g, &a->dq, &a->dk, &a->dv}[operand];
}

static tsr_dtype dtype_of(const trial *t, int operand) { return operand == LSE ? TSR_F32 : t->op.dtype; }

// [batch, row, head, element] in memory.
static void set_strides(int64_t *strides, int64_t heads) {
  const int64_t inside[4] = {ROWS * heads * SIZE, SIZE, heads * SIZE, 1};
  memcpy(strides, inside, 4 * sizeof *strides);
}

static void write_operand(trial *t, int operand) {
  size_t bytes = t->counts[operand] * tsr_dtype_bytes(dtype_of(t, operand));
  void *stored = malloc(bytes);
  CHECK_OK(tsr_convert(dtype_of(t, operand), stored, TSR_F64, t->values[operand], t->counts[operand]));
  fixture_write(&t->f, place_of(t, operand)->buffer, 0, stored, bytes);
  free(stored);
}

static void read_operand(trial *t, int operand) {
  size_t bytes = t->counts[operand] * tsr_dtype_bytes(dtype_of(t, operand));
  void *stored = malloc(bytes);
  fixture_read(&t->f, place_of(t, operand)->buffer, 0, stored, bytes);
  CHECK_OK(tsr_convert(TSR_F64, t->values[operand], dtype_of(t, operand), stored, t->counts[operand]));
  free(stored);
}

static trial begin(fixture f, tsr_dtype dtype, int64_t kv_heads, bool is_causal) {
  trial t = {.f = f, .op = {.kind = TSRI_NATIVE_ATTENTION, .dtype = dtype, .result = dtype}, .kv_heads = kv_heads};
  tsri_attention_op *a = &t.op.is.attention;
  *a = (tsri_attention_op){.batch = BATCH,
                           .heads = HEADS,
                           .kv_heads = kv_heads,
                           .queries = ROWS,
                           .keys = ROWS,
                           .size = SIZE,
                           .value_size = SIZE,
                           .scale = 0.2,
                           .is_causal = is_causal,
                           .has_lse = true,
                           .scratch_bytes = SCRATCH};
  set_strides(a->q_strides, HEADS);
  set_strides(a->k_strides, kv_heads);
  set_strides(a->v_strides, kv_heads);
  set_strides(a->g_strides, HEADS);
  memcpy(a->y_strides, a->q_strides, sizeof a->y_strides);
  memcpy(a->dq_strides, a->q_strides, sizeof a->dq_strides);
  memcpy(a->dk_strides, a->k_strides, sizeof a->dk_strides);
  memcpy(a->dv_strides, a->v_strides, sizeof a->dv_strides);
  tsri_cuda_least_attention = 1;
  for (int i = 0; i < OPERANDS; i++) {
    bool is_of_keys = i == K || i == V || i == DK || i == DV;
    t.counts[i] = (size_t)(BATCH * (is_of_keys ? kv_heads : HEADS) * ROWS * (i == LSE ? 1 : SIZE));
    t.values[i] = malloc(t.counts[i] * sizeof(double));
    for (size_t j = 0; j < t.counts[i]; j++) t.values[i][j] = (double)(rand() % 17 - 8) / 8;
    place_of(&t, i)->buffer = fixture_buffer(&t.f, t.counts[i] * tsr_dtype_bytes(dtype_of(&t, i)), NULL);
    write_operand(&t, i);
  }
  a->scratch.buffer = fixture_buffer(&t.f, SCRATCH, NULL);
  return t;
}

static void end(trial *t) {
  for (int i = 0; i < OPERANDS; i++) {
    t->f.backend->buffer_destroy(t->f.device, place_of(t, i)->buffer);
    free(t->values[i]);
  }
  t->f.backend->buffer_destroy(t->f.device, t->op.is.attention.scratch.buffer);
}

static int64_t at(int64_t heads, int64_t b, int64_t h, int64_t row, int64_t i) {
  return ((b * ROWS + row) * heads + h) * SIZE + i;
}

static double added_at(const trial *t, int64_t b, int64_t h, int64_t row, int64_t key) {
  const int64_t *s = t->op.is.attention.mask_strides;
  bool has_mask = t->op.is.attention.mask_kind != TSRI_ATTENTION_UNMASKED;
  return has_mask ? t->mask[b * s[0] + h * s[1] + row * s[2] + key * s[3]] : 0;
}

// Weights of the keys for a query, and the logarithm of the sum of their exponentials, infinity for a query that sees no key.
static double weigh(const trial *t, int64_t b, int64_t h, int64_t row, double *weights) {
  int64_t shared = h / (HEADS / t->kv_heads);
  double sum = 0;
  for (int64_t j = 0; j < ROWS; j++) {
    double score = 0;
    for (int64_t i = 0; i < SIZE; i++) {
      score += t->values[Q][at(HEADS, b, h, row, i)] * t->values[K][at(t->kv_heads, b, shared, j, i)];
    }
    score = score * t->op.is.attention.scale + added_at(t, b, h, row, j);
    weights[j] = t->op.is.attention.is_causal && j > row ? 0 : exp(score);
    sum += weights[j];
  }
  for (int64_t j = 0; j < ROWS && sum > 0; j++) weights[j] /= sum;
  return sum > 0 ? log(sum) : INFINITY;
}

// Results in place of the values of Y and LSE; gradients in DQ, DK and DV, which are 0 before.
static void expect_row(const trial *t, double *const *wanted, int64_t b, int64_t h, int64_t row) {
  int64_t shared = h / (HEADS / t->kv_heads);
  double weights[ROWS], scale = t->op.is.attention.scale, mean = 0, by_weight[ROWS] = {0};
  wanted[LSE][(b * HEADS + h) * ROWS + row] = weigh(t, b, h, row, weights);
  for (int64_t i = 0; i < SIZE; i++) {
    double y = 0, g = t->values[G][at(HEADS, b, h, row, i)];
    for (int64_t j = 0; j < ROWS; j++) {
      double v = t->values[V][at(t->kv_heads, b, shared, j, i)];
      y += weights[j] * v;
      by_weight[j] += g * v;
      wanted[DV][at(t->kv_heads, b, shared, j, i)] += weights[j] * g;
    }
    wanted[Y][at(HEADS, b, h, row, i)] = y;
    mean += y * g;
  }
  for (int64_t j = 0; j < ROWS; j++) {
    double slope = weights[j] * (by_weight[j] - mean) * scale;
    for (int64_t i = 0; i < SIZE; i++) {
      wanted[DQ][at(HEADS, b, h, row, i)] += slope * t->values[K][at(t->kv_heads, b, shared, j, i)];
      wanted[DK][at(t->kv_heads, b, shared, j, i)] += slope * t->values[Q][at(HEADS, b, h, row, i)];
    }
  }
}

static void run(trial *t, tsri_native_kind kind) {
  t->op.kind = kind;
  CHECK(takes(t));
  CHECK_OK(t->f.backend->run_op(t->f.queue, &t->op));
}

// Computes the attention and, if has_gradient, with its results the gradient, in place of other values, and compares them with what is expected.
static void compare(trial *t, bool has_gradient) {
  static const int results[] = {Y, LSE, DQ, DK, DV};
  size_t result_count = has_gradient ? sizeof results / sizeof *results : 2;
  double *wanted[OPERANDS];
  for (int i = 0; i < OPERANDS; i++) wanted[i] = calloc(t->counts[i], sizeof(double));
  for (int64_t i = 0; i < BATCH * HEADS * ROWS; i++) {
    expect_row(t, wanted, i / ROWS / HEADS, i / ROWS % HEADS, i % ROWS);
  }
  for (size_t r = 0; r < result_count; r++) {
    for (size_t i = 0; i < t->counts[results[r]]; i++) t->values[results[r]][i] = 77;
    write_operand(t, results[r]);
  }
  run(t, TSRI_NATIVE_ATTENTION);
  if (has_gradient) run(t, TSRI_NATIVE_ATTENTION_GRADIENT);
  for (size_t r = 0; r < result_count; r++) {
    int operand = results[r];
    read_operand(t, operand);
    for (size_t i = 0; i < t->counts[operand]; i++) {
      // Weights and their gradients are rounded to bf16, and so is the result.
      double bound = operand == LSE ? 1e-5 : 0.02 * (1 + fabs(wanted[operand][i]));
      bool is_same = t->values[operand][i] == wanted[operand][i];
      if (!is_same && !(fabs(t->values[operand][i] - wanted[operand][i]) <= bound)) {
        test_fail(__FILE__, __LINE__, "operand %d, element %zu: %g, wanted %g", operand, i, t->values[operand][i],
                  wanted[operand][i]);
      }
    }
  }
  for (int i = 0; i < OPERANDS; i++) free(wanted[i]);
}

static void check(fixture f, int64_t kv_heads, bool is_causal) {
  trial t = begin(f, TSR_BF16, kv_heads, is_causal);
  compare(&t, true);
  end(&t);
}

// Masks as they come: added in place; copied, because query and key are exchanged, or because they are truth values. The fake has no kernel that copies.
typedef enum mask_way { IN_PLACE, TURNED, OF_TRUTH, MASK_WAYS } mask_way;

// With a mask whose indices share elements along axes where shape[i] is 1. Some queries see no key if has_unseen.
static void check_mask(fixture f, mask_way way, const int64_t *shape, bool is_causal, bool has_unseen) {
  trial t = begin(f, TSR_BF16, 2, is_causal);
  tsri_attention_op *a = &t.op.is.attention;
  size_t count = 1;
  a->mask_kind = way == OF_TRUTH ? TSRI_ATTENTION_HIDES : TSRI_ATTENTION_ADDS;
  for (int i = 3; i >= 0; i--) {
    int axis = way == TURNED && i >= 2 ? 5 - i : i;
    a->mask_strides[axis] = shape[axis] > 1 ? (int64_t)count : 0;
    count *= (size_t)shape[axis];
  }
  uint16_t added[sizeof t.mask / sizeof *t.mask];
  uint8_t truth[sizeof t.mask / sizeof *t.mask];
  for (size_t i = 0; i < count; i++) {
    truth[i] = has_unseen ? i / ROWS % 3 != 0 && rand() % 2 : i % ROWS == 0 || rand() % 2;
    t.mask[i] = !truth[i] ? -INFINITY : way == OF_TRUTH ? 0 : (double)(rand() % 17 - 8) / 4;
  }
  CHECK_OK(tsr_convert(TSR_BF16, added, TSR_F64, t.mask, count));
  a->mask.buffer = fixture_buffer(&t.f, count * sizeof *added, NULL);
  if (way == OF_TRUTH) fixture_write(&t.f, a->mask.buffer, 0, truth, count);
  else fixture_write(&t.f, a->mask.buffer, 0, added, count * sizeof *added);
  compare(&t, false);
  t.f.backend->buffer_destroy(t.f.device, a->mask.buffer);
  end(&t);
}

enum { MASKS = 5 };
static void check_masks(fixture f, mask_way way, bool has_unseen) {
  static const int64_t shapes[MASKS][4] = {{BATCH, 1, 1, ROWS},
                                           {1, HEADS, ROWS, ROWS},
                                           {1, 1, ROWS, ROWS},
                                           {BATCH, 1, ROWS, ROWS},
                                           {BATCH, HEADS, ROWS, ROWS}};
  for (int i = 0; i < MASKS; i++) check_mask(f, way, shapes[i], i % 2 == 1, has_unseen);
}

enum { REPEATED = 40 };

// Runs the same attention REPEATED times, in the course of which it is recorded (dnn_replay.h), and then with other numbers in the same
// memory and with another scale.
static void check_repeated(fixture f) {
  trial t = begin(f, TSR_BF16, 2, true);
  for (int i = 0; i < REPEATED; i++) {
    run(&t, TSRI_NATIVE_ATTENTION);
    run(&t, TSRI_NATIVE_ATTENTION_GRADIENT);
    fixture_wait(&f);
  }
  compare(&t, true);
  for (size_t i = 0; i < t.counts[K]; i++) t.values[K][i] = -t.values[K][i] / 2;
  write_operand(&t, K);
  compare(&t, true);
  t.op.is.attention.scale = 0.35;
  compare(&t, true);
  end(&t);
}

TEST(attention_and_its_gradient_by_cudnn_are_right) {
  fixture f = fixture_open();
  check(f, HEADS, false);
  check(f, HEADS, true);
  check(f, 2, false);
  check(f, 2, true);
  CHECK_EQ_INT(fixture_fake->graphs, 8);
  fixture_close(&f);
}

TEST(masks_by_cudnn_are_right) {
  fixture f = fixture_open();
  check_masks(f, IN_PLACE, false);
  CHECK_EQ_INT(fixture_fake->graphs, MASKS);
  // Of the kernel for queries that see no key, which the fake does not run.
  CHECK_EQ_INT(fixture_fake->launches, MASKS);
  fixture_close(&f);
}

// cuDNN 9.19 gives zeros for queries that see no key; sums for a gradient must be set nevertheless.
TEST(results_of_queries_that_see_no_key_are_set_where_cudnn_does_not) {
  static const struct {
    int version, launches;
    bool has_lse;
  } cases[] = {{918, 1, false}, {919, 0, false}, {919, 1, true}, {1000, 0, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fixture f = fixture_open();
    fixture_fake->dnn_version = cases[i].version;
    trial t = begin(f, TSR_BF16, HEADS, false);
    tsri_attention_op *a = &t.op.is.attention;
    a->heads = a->kv_heads = HEADS / 2, a->size = a->value_size = 2 * SIZE;
    a->q_strides[1] = a->k_strides[1] = a->v_strides[1] = a->y_strides[1] = 2 * SIZE;
    a->mask_kind = TSRI_ATTENTION_ADDS;  // one element for all scores
    a->mask = a->g;
    a->has_lse = cases[i].has_lse;
    int before = fixture_fake->launches;
    run(&t, TSRI_NATIVE_ATTENTION);
    CHECK_EQ_INT(fixture_fake->launches - before, cases[i].launches);
    end(&t);
    fixture_fake->dnn_version = 919;
    fixture_close(&f);
  }
}

// cuDNN is called seven times at first and once for the recording. Then five times each, two runs by cuDNN and two by the graph: a run is timed
// until the next begins. check_repeated computes three times more than REPEATED, the last time with another scale.
enum { CALLED = 7 + 1 + 10, BY_GRAPH = 10 };

TEST(an_attention_that_comes_again_and_again_is_recorded) {
  fixture f = fixture_open();
  fixture_fake->graph_us = 100;
  check_repeated(f);
  CHECK_EQ_INT(fixture_fake->graphs, 2 * (CALLED + 1));
  CHECK_EQ_INT(fixture_fake->live_events, 0);
  fixture_close(&f);
}

TEST(a_recorded_attention_that_takes_longer_than_cudnn_is_given_up) {
  fixture f = fixture_open();
  check_repeated(f);  // what is recorded takes a microsecond in the fake driver, and what is not takes none
  CHECK_EQ_INT(fixture_fake->graphs, 2 * (REPEATED + 3 + 1 - BY_GRAPH));
  CHECK_EQ_INT(fixture_fake->live_events, 0);
  fixture_close(&f);
}

TEST(attention_by_cudnn_leaves_to_kernels_what_its_graphs_have_not) {
  fixture f = fixture_open();
  trial t = begin(f, TSR_BF16, HEADS, true);
  tsri_attention_op *a = &t.op.is.attention, plain = *a;
  CHECK(takes(&t));
  a->window = 3;
  CHECK(!takes(&t));
  *a = plain;
  a->softcap = 2;
  CHECK(!takes(&t));
  *a = plain;
  a->mask_kind = TSRI_ATTENTION_ADDS;
  CHECK(takes(&t));
  t.op.kind = TSRI_NATIVE_ATTENTION_GRADIENT;
  CHECK(!takes(&t));
  t.op.kind = TSRI_NATIVE_ATTENTION;
  for (int i = 0; i < 4; i++) a->mask_strides[i] = 1;  // from here on it is copied
  CHECK(takes(&t));
  a->mask_kind = TSRI_ATTENTION_HIDES;
  CHECK(takes(&t));
  a->batch = 1 << 14;  // for so large a copy there is no room
  CHECK(!takes(&t));
  *a = plain;
  a->keys = ROWS - 1;  // causal: the last query stands at the last key
  CHECK(!takes(&t));
  *a = plain;
  a->q_strides[2] = HEADS * SIZE + 1;
  CHECK(!takes(&t));
  *a = plain;
  a->k.offset = 2;
  CHECK(!takes(&t));
  *a = plain;
  t.op.kind = TSRI_NATIVE_ATTENTION_GRADIENT;
  CHECK(takes(&t));
  a->has_lse = false;
  CHECK(!takes(&t));
  *a = plain;
  t.op.kind = TSRI_NATIVE_ATTENTION;
  tsri_cuda_least_attention = INT64_MAX;
  CHECK(!takes(&t));
  end(&t);
  fixture_close(&f);
}

TEST(an_attention_that_cudnn_cannot_compute_or_fails_to_is_left_to_kernels) {
  fixture f = fixture_open();
  trial half = begin(f, TSR_F16, HEADS, false);
  CHECK(!takes(&half));
  end(&half);
  trial t = begin(f, TSR_BF16, HEADS, false);
  CHECK(takes(&t));
  fixture_fake->failing_graphs = 1;
  CHECK_STATUS(f.backend->run_op(f.queue, &t.op), TSR_ERR_UNSUPPORTED);
  CHECK(!takes(&t));
  end(&t);
  fixture_close(&f);
}

TEST(a_plan_is_made_once_attentions_without_it_have_taken_long) {
  fixture f = fixture_open();
  trial t = begin(f, TSR_BF16, HEADS, false);
  int refused = 0;
  t.op.is.attention.plan_after_ns = 20000;  // an attention of this size would be faster by 3328 ns
  while (!takes(&t)) refused++;
  CHECK_EQ_INT(refused, 6);
  refused = 0;
  t.op.is.attention.size = t.op.is.attention.value_size = 256;  // 8 times as slow by our kernels
  t.op.is.attention.plan_after_ns = 90000;
  while (!takes(&t)) refused++;
  CHECK_EQ_INT(refused, 3);
  t.op.is.attention.size = t.op.is.attention.value_size = SIZE;
  t.op.is.attention.keys = ROWS - 1;  // another shape counts for itself
  CHECK(!takes(&t));
  t.op.is.attention.plan_after_ns = 0;
  CHECK(takes(&t));
  end(&t);
  fixture_close(&f);
}

TEST(a_single_query_sees_all_keys_by_cudnn_causal_or_not) {
  fixture f = fixture_open();
  trial t = begin(f, TSR_BF16, HEADS, true);
  t.op.is.attention.queries = 1;
  CHECK(takes(&t));
  t.op.is.attention.queries = 2;
  CHECK(!takes(&t));
  end(&t);
  fixture_close(&f);
}

TEST(attention_by_cudnn_can_be_forbidden) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-cudnn", .timeout_ns = UINT64_MAX});
  trial t = begin(f, TSR_BF16, HEADS, false);
  CHECK(!takes(&t));
  end(&t);
  fixture_close(&f);
}

TEST(attention_and_its_gradient_on_a_gpu_are_right) {
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  trial t = begin(f, TSR_BF16, HEADS, false);
  bool has_cudnn = takes(&t);
  end(&t);
  if (!has_cudnn) SKIP("there is no cuDNN here that computes attention");
  check(f, HEADS, false);
  check(f, HEADS, true);
  check(f, 2, true);
  for (mask_way way = 0; way < MASK_WAYS; way++) check_masks(f, way, true);
  check_repeated(f);
  fixture_close(&f);
}
