// SPDX-License-Identifier: MIT
// Attention of whole heads: which of them the kernels take, what runs on the fake library, and whether results are right (on a Hopper GPU).
#include "backends/cuda/heads.h"

#include <math.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "backends/cuda/fixture.h"

// --- Describing -----------------------------------------------------------------------------------------------------------

typedef struct setting {
  int64_t batch, heads, kv_heads, queries, keys, size, value_size;
  bool is_causal;
} setting;

static const setting usual = {2, 3, 3, 128, 128, 32, 32, true};

static void set_strides(int64_t strides[4], int64_t heads, int64_t rows, int64_t size) {
  strides[0] = rows * heads * size, strides[1] = size, strides[2] = heads * size, strides[3] = 1;
}

// Tensors are [batch, row, head, element], in the order [batch, head, row, element].
static tsri_native_op op_of(const setting *s, tsri_native_kind kind) {
  tsri_native_op op = {.kind = kind, .dtype = TSR_F32, .result = TSR_F32};
  tsri_attention_op *a = &op.is.attention;
  *a = (tsri_attention_op){.batch = s->batch,
                           .heads = s->heads,
                           .kv_heads = s->kv_heads,
                           .queries = s->queries,
                           .keys = s->keys,
                           .size = s->size,
                           .value_size = s->value_size,
                           .scale = 1 / sqrt((double)s->size),
                           .is_causal = s->is_causal,
                           .has_lse = true};
  set_strides(a->q_strides, s->heads, s->queries, s->size);
  set_strides(a->k_strides, s->kv_heads, s->keys, s->size);
  set_strides(a->v_strides, s->kv_heads, s->keys, s->value_size);
  set_strides(a->g_strides, s->heads, s->queries, s->value_size);
  for (int i = 0; i < 3; i++) {
    a->y_strides[i] = a->g_strides[i];
    a->dq_strides[i] = a->q_strides[i];
    a->dk_strides[i] = a->k_strides[i];
    a->dv_strides[i] = a->v_strides[i];
  }
  return op;
}

static bool takes(const fixture *f, const tsri_native_op *op) { return f->backend->has_op(f->device, op); }

TEST(heads_that_fit_into_a_work_group_are_taken) {
  fixture f = fixture_open();
  for (int i = 0; i < 2; i++) {
    tsri_native_kind kind = i ? TSRI_NATIVE_ATTENTION_GRADIENT : TSRI_NATIVE_ATTENTION;
    const tsri_native_op good = op_of(&usual, kind);
    CHECK(takes(&f, &good));
    tsri_native_op op = good;
    op.is.attention.queries = 129;
    CHECK(!takes(&f, &op));
    op = good;
    op.is.attention.keys = 32;
    CHECK(!takes(&f, &op));
    op = good;
    op.is.attention.size = 68;
    CHECK(!takes(&f, &op));
    op = good;
    op.is.attention.k_strides[2] += 1;  // rows begin at odd places
    CHECK(!takes(&f, &op));
    op = good;
    op.is.attention.v.offset = 8;
    CHECK(!takes(&f, &op));
    op = good;
    op.is.attention.window = 16;
    CHECK(!takes(&f, &op));
    op = good;
    op.is.attention.kv_heads = 1;  // gradients of keys would be sums over heads
    CHECK(takes(&f, &op) == (i == 0));
  }
  fixture_close(&f);
}

TEST(the_setting_native_keeps_the_kernels_out) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "-wgmma", .timeout_ns = UINT64_MAX});
  const tsri_native_op op = op_of(&usual, TSRI_NATIVE_ATTENTION);
  CHECK(!takes(&f, &op));
  fixture_close(&f);
}

// --- Running ----------------------------------------------------------------------------------------------------------------

enum { Q, K, V, Y, LSE, G, DQ, DK, DV, TENSORS };

// An attention with its tensors on the host and on the device.
typedef struct attention {
  setting s;
  int64_t counts[TENSORS];
  float *host[TENSORS];
  tsri_buffer *buffers[TENSORS];
} attention;

static attention attention_begin(const fixture *f, const setting *s) {
  int64_t q = s->batch * s->heads * s->queries, k = s->batch * s->kv_heads * s->keys;
  attention a = {.s = *s,
                 .counts = {q * s->size, k * s->size, k * s->value_size, q * s->value_size, q, q * s->value_size,
                            q * s->size, k * s->size, k * s->value_size}};
  for (int i = 0; i < TENSORS; i++) {
    size_t bytes = (size_t)a.counts[i] * sizeof(float);
    a.host[i] = malloc(bytes);
    for (int64_t j = 0; j < a.counts[i]; j++) a.host[i][j] = (float)(rand() % 20001 - 10000) / 7919;
    a.buffers[i] = fixture_buffer(f, bytes, NULL);
    fixture_write(f, a.buffers[i], 0, a.host[i], bytes);
  }
  return a;
}

static void attention_end(const fixture *f, attention *a) {
  for (int i = 0; i < TENSORS; i++) {
    f->backend->buffer_destroy(f->device, a->buffers[i]);
    free(a->host[i]);
  }
}

static void attention_run(const fixture *f, attention *a, tsri_native_kind kind) {
  tsri_native_op op = op_of(&a->s, kind);
  tsri_attention_op *o = &op.is.attention;
  tsri_place *places[TENSORS] = {&o->q, &o->k, &o->v, &o->y, &o->lse, &o->g, &o->dq, &o->dk, &o->dv};
  for (int i = 0; i < TENSORS; i++) places[i]->buffer = a->buffers[i];
  CHECK_OK(f->backend->run_op(f->queue, &op));
  fixture_wait(f);
}

TEST(an_attention_is_one_launch_and_so_is_its_gradient) {
  fixture f = fixture_open();
  attention a = attention_begin(&f, &usual);
  attention_run(&f, &a, TSRI_NATIVE_ATTENTION);
  attention_run(&f, &a, TSRI_NATIVE_ATTENTION_GRADIENT);
  attention_run(&f, &a, TSRI_NATIVE_ATTENTION);
  CHECK_EQ_INT(fixture_fake->launches, 3);
  attention_end(&f, &a);
  fixture_close(&f);
}

// --- On a GPU -----------------------------------------------------------------------------------------------------------------

// Weights of one query of a head, and their sum's logarithm; those of a query that sees nothing are 0.
static double weigh(const attention *a, int64_t batch, int64_t head, int64_t query, double *weights) {
  const setting *s = &a->s;
  int64_t kv_head = head * s->kv_heads / s->heads;
  double most = -INFINITY, sum = 0;
  for (int64_t key = 0; key < s->keys; key++) {
    const float *q = a->host[Q] + ((batch * s->queries + query) * s->heads + head) * s->size;
    const float *k = a->host[K] + ((batch * s->keys + key) * s->kv_heads + kv_head) * s->size;
    double score = 0;
    for (int64_t i = 0; i < s->size; i++) score += (double)q[i] * (double)k[i];
    bool is_seen = !s->is_causal || key <= query + s->keys - s->queries;
    weights[key] = is_seen ? score / sqrt((double)s->size) : -INFINITY;
    most = fmax(most, weights[key]);
  }
  if (most == -INFINITY) most = 0;
  for (int64_t key = 0; key < s->keys; key++) sum += weights[key] = exp(weights[key] - most);
  for (int64_t key = 0; key < s->keys; key++) weights[key] /= sum > 0 ? sum : 1;
  return sum > 0 ? most + log(sum) : INFINITY;
}

// y, lse and, where heads share no keys, gradients in f64: wanted[i] has as many elements as tensor i.
static void compute(const attention *a, double *const *wanted) {
  const setting *s = &a->s;
  double *weights = malloc((size_t)s->keys * sizeof *weights);
  for (int64_t i = 0; i < s->batch * s->heads * s->queries; i++) {
    int64_t query = i % s->queries, head = i / s->queries % s->heads, batch = i / s->queries / s->heads;
    int64_t kv_head = head * s->kv_heads / s->heads, row = (batch * s->queries + query) * s->heads + head;
    const float *q = a->host[Q] + row * s->size, *g = a->host[G] + row * s->value_size;
    double along = 0, *y = wanted[Y] + row * s->value_size;
    wanted[LSE][i] = weigh(a, batch, head, query, weights);
    for (int64_t key = 0; key < s->keys; key++) {
      const float *v = a->host[V] + ((batch * s->keys + key) * s->kv_heads + kv_head) * s->value_size;
      for (int64_t e = 0; e < s->value_size; e++) y[e] += weights[key] * (double)v[e];
    }
    for (int64_t e = 0; e < s->value_size; e++) along += y[e] * (double)g[e];
    for (int64_t key = 0; key < s->keys; key++) {
      int64_t line = (batch * s->keys + key) * s->kv_heads + kv_head;
      const float *k = a->host[K] + line * s->size, *v = a->host[V] + line * s->value_size;
      double slope = -along;
      for (int64_t e = 0; e < s->value_size; e++) {
        slope += (double)g[e] * (double)v[e];
        wanted[DV][line * s->value_size + e] += weights[key] * (double)g[e];
      }
      slope *= weights[key] / sqrt((double)s->size);
      for (int64_t e = 0; e < s->size; e++) {
        wanted[DQ][row * s->size + e] += slope * (double)k[e];
        wanted[DK][line * s->size + e] += slope * (double)q[e];
      }
    }
  }
  free(weights);
}

static void check_tensor(const fixture *f, const attention *a, int which, const double *wanted) {
  float *got = malloc((size_t)a->counts[which] * sizeof *got);
  fixture_read(f, a->buffers[which], 0, got, (size_t)a->counts[which] * sizeof *got);
  for (int64_t i = 0; i < a->counts[which]; i++) {
    if (isinf(wanted[i])) CHECK(isinf(got[i]));
    else CHECK_NEAR((double)got[i], wanted[i], 4e-6);
  }
  free(got);
}

TEST(attention_of_heads_on_a_gpu_and_its_gradient_are_those_of_f64) {
  static const setting settings[] = {{2, 3, 3, 128, 128, 32, 32, true},  {1, 2, 2, 100, 100, 64, 60, true},
                                     {2, 4, 2, 128, 77, 28, 32, false},  {1, 2, 2, 50, 128, 16, 24, true},
                                     {1, 2, 2, 128, 50, 32, 32, true},   {3, 1, 1, 33, 127, 8, 4, false},
                                     {40, 8, 8, 128, 128, 32, 32, false}};
  fixture f = fixture_open_real(&(tsri_open_options){.native = "all", .timeout_ns = UINT64_MAX});
  const tsri_native_op op = op_of(&usual, TSRI_NATIVE_ATTENTION);
  if (!takes(&f, &op)) SKIP("this GPU is no Hopper");
  for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
    attention a = attention_begin(&f, &settings[i]);
    double *wanted[TENSORS];
    for (int j = 0; j < TENSORS; j++) wanted[j] = calloc((size_t)a.counts[j], sizeof *wanted[j]);
    compute(&a, wanted);
    attention_run(&f, &a, TSRI_NATIVE_ATTENTION);
    check_tensor(&f, &a, Y, wanted[Y]);
    check_tensor(&f, &a, LSE, wanted[LSE]);
    if (settings[i].heads == settings[i].kv_heads) {
      attention_run(&f, &a, TSRI_NATIVE_ATTENTION_GRADIENT);
      for (int j = DQ; j <= DV; j++) check_tensor(&f, &a, j, wanted[j]);
    }
    for (int j = 0; j < TENSORS; j++) free(wanted[j]);
    attention_end(&f, &a);
  }
  fixture_close(&f);
}
