// SPDX-License-Identifier: MIT
// The gradient of attention: a job computes dk and dv of one head of keys, and dq of all queries that read it. Weights are computed again.
//
// With P = softmax(S) and y = P v:  dv = P^T g,  dP = g v^T,  dS = P (dP - sum of P dP along keys) scale, times the derivative of the soft cap,
// dq = dS k,  dk = dS^T q.
#include <math.h>
#include <string.h>

#include "backends/cpu/attention/attention.h"

int64_t tsri_attention_backward_jobs(const tsri_attending *w) { return w->op->batch * w->op->kv_heads; }

typedef struct backward_job {
  int64_t batch, shared;  // head of keys
  tsri_attention_rows q, k, v, g;
  tsri_query_block block;
  tsri_key_block keys;
  float most[TSRI_ATTENTION_QUERIES], sums[TSRI_ATTENTION_QUERIES], means[TSRI_ATTENTION_QUERIES];
  tsri_float_rows queries, cotangents, key_rows;
  float *query_copy, *cotangent_copy, *key_copy, *value_copy;
  float *key_panels, *value_panels;
  float *weights, *gradients, *bends;  // of scores: rows of key_step floats
  float *dq, *dk, *dv;
} backward_job;

static backward_job *take_job(const tsri_attending *w, char *scratch) {
  enum { Q = TSRI_ATTENTION_QUERIES, K = TSRI_ATTENTION_KEYS };
  const size_t each = sizeof(float);
  backward_job *job = tsri_attention_take(&scratch, sizeof *job);
  job->query_copy = tsri_attention_take(&scratch, (size_t)(Q * w->size) * each);
  job->cotangent_copy = tsri_attention_take(&scratch, (size_t)(Q * w->value_size) * each);
  job->key_copy = tsri_attention_take(&scratch, (size_t)(K * w->size) * each);
  job->value_copy = tsri_attention_take(&scratch, (size_t)(K * w->value_size) * each);
  job->key_panels = tsri_attention_take(&scratch, (size_t)(w->key_step * w->size) * each);
  job->value_panels = tsri_attention_take(&scratch, (size_t)(w->key_step * w->value_size) * each);
  job->weights = tsri_attention_take(&scratch, (size_t)(Q * w->key_step) * each);
  job->gradients = tsri_attention_take(&scratch, (size_t)(Q * w->key_step) * each);
  job->bends = tsri_attention_take(&scratch, (size_t)w->key_step * each);
  job->dq = tsri_attention_take(&scratch, (size_t)(Q * w->size) * each);
  job->dk = tsri_attention_take(&scratch, (size_t)(w->op->keys * w->size) * each);
  job->dv = tsri_attention_take(&scratch, (size_t)(w->op->keys * w->value_size) * each);
  return job;
}

size_t tsri_attention_backward_bytes(const tsri_attending *w) {
  enum { Q = TSRI_ATTENTION_QUERIES, K = TSRI_ATTENTION_KEYS, PIECES = 13 };
  int64_t rows = w->size + w->value_size, floats = (Q + K + w->key_step + w->op->keys) * rows + Q * w->size;
  floats += 2 * Q * w->key_step + w->key_step;
  return sizeof(backward_job) + (size_t)floats * sizeof(float) + (size_t)PIECES * 64;
}

// --- One block of queries and keys --------------------------------------------------------------------------------------

// Raw scores, and gradients of weights, of the job's blocks.
static void multiply_block(const tsri_attending *w, backward_job *job) {
  const tsri_attention_op *op = w->op;
  int64_t first = job->keys.first, count = job->keys.count;
  tsri_attention_panels(w, &job->k, first, count, op->size, job->key_copy, job->key_panels);
  tsri_attention_panels(w, &job->v, first, count, op->value_size, job->value_copy, job->value_panels);
  tsri_attention_scores(w, &job->block, &job->keys, job->queries, op->size, job->key_panels, job->weights);
  tsri_attention_scores(w, &job->block, &job->keys, job->cotangents, op->value_size, job->value_panels, job->gradients);
}

// Replaces the scores of query `i` by exp(score - largest), and updates the largest score, the sum of these exponentials and the sum of exponentials times gradients.
// `bends` may be NULL.
static void measure_row(const tsri_attending *w, backward_job *job, int64_t i, float *bends) {
  float *scores = job->weights + i * w->key_step, before = job->most[i];
  int64_t from = job->keys.from[i], n = job->keys.to[i] - from;
  float most = tsri_attention_finish_scores(w, &job->block, &job->keys, i, scores, before, bends);
  if (most == -INFINITY) return;
  float factor = before == -INFINITY ? 0 : before == most ? 1 : expf(before - most);
  job->most[i] = most;
  job->sums[i] = job->sums[i] * factor + w->lines->raise(scores + from, n, most, w->math);
  job->means[i] = job->means[i] * factor + w->lines->dot(scores + from, job->gradients + i * w->key_step + from, n);
}

// Replaces the exponentials of query `i` by weights, and the gradients of weights by gradients of the products q k. Both are 0 for keys that it does not attend to.
static void finish_row(const tsri_attending *w, backward_job *job, int64_t i, const float *bends) {
  float *weights = job->weights + i * w->key_step, *gradients = job->gradients + i * w->key_step;
  bool sees_nothing = job->most[i] == -INFINITY;
  int64_t from = sees_nothing ? 0 : job->keys.from[i], to = sees_nothing ? 0 : job->keys.to[i];
  size_t before = (size_t)from * sizeof *weights, after = (size_t)(job->keys.count - to) * sizeof *weights;
  memset(weights, 0, before);
  memset(weights + to, 0, after);
  memset(gradients, 0, before);
  memset(gradients + to, 0, after);
  if (sees_nothing) return;
  w->lines->multiply(weights + from, to - from, 1 / job->sums[i]);
  w->lines->gradient(gradients + from, weights + from, to - from, job->means[i] / job->sums[i], (float)w->op->scale);
  for (int64_t j = from; bends && j < to; j++) gradients[j] *= bends[j];
}

// As measure_row and finish_row together, for a row whose largest score and sums over all keys are known already.
static void raise_row(const tsri_attending *w, backward_job *job, int64_t i, float *bends) {
  float *scores = job->weights + i * w->key_step;
  int64_t from = job->keys.from[i], n = job->keys.to[i] - from;
  if (job->most[i] != -INFINITY) {
    tsri_attention_finish_scores(w, &job->block, &job->keys, i, scores, -INFINITY, bends);
    w->lines->raise(scores + from, n, job->most[i], w->math);
  }
  finish_row(w, job, i, bends);
}

static void add_block(const tsri_attending *w, backward_job *job) {
  const tsri_attention_op *op = w->op;
  int64_t first = job->keys.first;
  tsri_float_rows keys = tsri_attention_floats(w, &job->k, first, job->keys.count, op->size, w->size, job->key_copy);
  tsri_attention_add_queries(w, &job->block, &job->keys, job->weights, job->cotangents, w->value_size,
                             job->dv + first * w->value_size);
  tsri_attention_add_queries(w, &job->block, &job->keys, job->gradients, job->queries, w->size,
                             job->dk + first * w->size);
  tsri_attention_add_keys(w, &job->block, &job->keys, job->gradients, keys, w->size, job->dq);
}

// --- A block of queries -------------------------------------------------------------------------------------------------

// A gradient that rows go to, and its strides of batch, head and row.
typedef struct gradient_rows {
  tsri_place to;
  const int64_t *strides;
  int64_t size;
} gradient_rows;

// Rows `first` and on of a head.
static void store_rows(const tsri_attending *w, const gradient_rows *g, int64_t batch, int64_t head, int64_t first,
                       int64_t count, const float *rows, int64_t padded) {
  size_t step = (size_t)g->strides[2] * w->element;
  char *to = tsri_cpu_place(g->to) + (size_t)(batch * g->strides[0] + head * g->strides[1]) * w->element +
             (size_t)first * step;
  for (int64_t i = 0; i < count; i++, to += step, rows += padded) w->storage->store(to, rows, 1, (uint32_t)g->size);
}

// Keys that fit into one block: scores are computed once.
static void run_one_block(const tsri_attending *w, backward_job *job, float *bends) {
  multiply_block(w, job);
  for (int64_t i = 0; i < job->block.count; i++) {
    measure_row(w, job, i, bends);
    finish_row(w, job, i, bends);
  }
  add_block(w, job);
}

// For several blocks of keys: the sums over all keys must be known before the weights, so scores are computed twice.
static void run_blocks(const tsri_attending *w, backward_job *job, int64_t from, int64_t to, float *bends) {
  for (int64_t first = from; first < to; first += TSRI_ATTENTION_KEYS) {
    tsri_attention_look(w, &job->block, first, to, &job->keys);
    multiply_block(w, job);
    for (int64_t i = 0; i < job->block.count; i++) measure_row(w, job, i, NULL);
  }
  for (int64_t first = from; first < to; first += TSRI_ATTENTION_KEYS) {
    tsri_attention_look(w, &job->block, first, to, &job->keys);
    multiply_block(w, job);
    for (int64_t i = 0; i < job->block.count; i++) raise_row(w, job, i, bends);
    add_block(w, job);
  }
}

static void run_queries(const tsri_attending *w, backward_job *job, int64_t head, int64_t first_query) {
  const tsri_attention_op *op = w->op;
  int64_t from = 0, to = 0;
  float *bends = op->softcap > 0 ? job->bends : NULL;
  job->block = tsri_attention_block(w, job->batch, head, first_query);
  job->queries = tsri_attention_floats(w, &job->q, first_query, job->block.count, op->size, w->size, job->query_copy);
  job->cotangents = tsri_attention_floats(w, &job->g, first_query, job->block.count, op->value_size, w->value_size,
                                          job->cotangent_copy);
  memset(job->dq, 0, (size_t)(job->block.count * w->size) * sizeof(float));
  for (int64_t i = 0; i < job->block.count; i++) {
    job->most[i] = -INFINITY;
    job->sums[i] = job->means[i] = 0;
  }
  tsri_attention_seen(w, &job->block, &from, &to);
  if (to > from && to - from <= TSRI_ATTENTION_KEYS) {
    tsri_attention_look(w, &job->block, from, to, &job->keys);
    run_one_block(w, job, bends);
  } else {
    run_blocks(w, job, from, to, bends);
  }
  const gradient_rows dq = {op->dq, op->dq_strides, op->size};
  store_rows(w, &dq, job->batch, head, first_query, job->block.count, job->dq, w->size);
}

void tsri_attention_backward(const tsri_attending *w, int64_t number, char *scratch) {
  const tsri_attention_op *op = w->op;
  backward_job *job = take_job(w, scratch);
  int64_t sharing = op->heads / op->kv_heads;
  job->batch = number / op->kv_heads;
  job->shared = number % op->kv_heads;
  job->k = tsri_attention_rows_at(w, op->k, op->k_strides, job->batch, job->shared);
  job->v = tsri_attention_rows_at(w, op->v, op->v_strides, job->batch, job->shared);
  memset(job->dk, 0, (size_t)(op->keys * w->size) * sizeof(float));
  memset(job->dv, 0, (size_t)(op->keys * w->value_size) * sizeof(float));
  for (int64_t head = job->shared * sharing; head < (job->shared + 1) * sharing; head++) {
    job->q = tsri_attention_rows_at(w, op->q, op->q_strides, job->batch, head);
    job->g = tsri_attention_rows_at(w, op->g, op->g_strides, job->batch, head);
    for (int64_t first = 0; first < op->queries; first += TSRI_ATTENTION_QUERIES) run_queries(w, job, head, first);
  }
  const gradient_rows dk = {op->dk, op->dk_strides, op->size};
  const gradient_rows dv = {op->dv, op->dv_strides, op->value_size};
  store_rows(w, &dk, job->batch, job->shared, 0, op->keys, job->dk, w->size);
  store_rows(w, &dv, job->batch, job->shared, 0, op->keys, job->dv, w->value_size);
}
