// SPDX-License-Identifier: MIT
// Attention: a job computes a block of queries of one head. It loops over the blocks of keys and keeps, for each query, the largest score so far, the sum of
// exp(score - largest) and the weighted sum of values. When a larger score is found, both sums are rescaled.
#include <math.h>
#include <string.h>

#include "backends/cpu/attention/attention.h"

static int64_t blocks_of(const tsri_attending *w) {
  return (w->op->queries + TSRI_ATTENTION_QUERIES - 1) / TSRI_ATTENTION_QUERIES;
}

int64_t tsri_attention_forward_jobs(const tsri_attending *w) { return w->op->batch * w->op->heads * blocks_of(w); }

// What job number n computes: which block of queries of which head.
typedef struct forward_place {
  int64_t batch, head, shared, first;  // shared: the head of keys; first: the first query
} forward_place;

static forward_place place_of(const tsri_attending *w, int64_t number) {
  const tsri_attention_op *op = w->op;
  int64_t head = number / blocks_of(w) % op->heads;
  return (forward_place){.batch = number / blocks_of(w) / op->heads,
                         .head = head,
                         .shared = head / (op->heads / op->kv_heads),
                         .first = number % blocks_of(w) * TSRI_ATTENTION_QUERIES};
}

enum { AHEAD = 4 };  // sets of rows to prefetch: this job's results, and what the next job reads

// Scratch memory of a job.
typedef struct forward_job {
  tsri_query_block block;
  tsri_key_block keys;
  tsri_rows_ahead ahead[AHEAD];
  float most[TSRI_ATTENTION_QUERIES], sums[TSRI_ATTENTION_QUERIES];
  float *queries, *key_rows, *panels, *value_rows, *scores, *results;
} forward_job;

static forward_job *take_job(const tsri_attending *w, char *scratch) {
  enum { Q = TSRI_ATTENTION_QUERIES, K = TSRI_ATTENTION_KEYS };
  forward_job *job = tsri_attention_take(&scratch, sizeof *job);
  job->queries = tsri_attention_take(&scratch, (size_t)(Q * w->size) * sizeof(float));
  job->key_rows = tsri_attention_take(&scratch, (size_t)(K * w->size) * sizeof(float));
  job->panels = tsri_attention_take(&scratch, (size_t)(w->key_step * w->size) * sizeof(float));
  job->value_rows = tsri_attention_take(&scratch, (size_t)(K * w->value_size) * sizeof(float));
  job->scores = tsri_attention_take(&scratch, (size_t)(Q * w->key_step) * sizeof(float));
  job->results = tsri_attention_take(&scratch, (size_t)(Q * w->value_size) * sizeof(float));
  return job;
}

size_t tsri_attention_forward_bytes(const tsri_attending *w) {
  enum { Q = TSRI_ATTENTION_QUERIES, K = TSRI_ATTENTION_KEYS, PIECES = 7 };
  int64_t floats = (Q + K + w->key_step) * w->size + (K + Q) * w->value_size + Q * w->key_step;
  return sizeof(forward_job) + (size_t)floats * sizeof(float) + (size_t)PIECES * 64;
}

// Replaces the scores of query `i` by weights (0 for keys that it does not attend to), and rescales its sums to the new largest score.
static void weigh_row(const tsri_attending *w, forward_job *job, int64_t i) {
  tsri_score_row row = tsri_attention_row(w, &job->keys, i, job->scores);
  float before = job->most[i];
  float most = tsri_attention_finish_scores(w, &job->block, &job->keys, i, &row, before, NULL);
  if (most == -INFINITY) {  // no key attended to yet
    memset(row.x, 0, (size_t)row.n * sizeof *row.x);
    return;
  }
  float sum = w->lines->raise(&row, most, w->factor, NULL, NULL, w->math);
  if (most != before && before != -INFINITY) {
    float factor = expf((before - most) * w->factor);
    w->lines->multiply(job->results + i * w->value_size, w->value_size, factor);
    job->sums[i] *= factor;
  }
  job->most[i] = most;
  job->sums[i] += sum;
}

// Adds the weighted values row by row, without values that a query does not attend to: if one of them is infinite or NaN, even a weight of 0 would give NaN.
static void add_seen_values(const tsri_attending *w, forward_job *job, tsri_float_rows values) {
  for (int64_t i = 0; i < job->block.count; i++) {
    const float *weights = job->scores + i * w->key_step;
    for (int64_t j = job->keys.from[i]; j < job->keys.to[i]; j++) {
      if (weights[j] == 0) continue;
      w->kernels->add_rows(job->results + i * w->value_size, w->value_size, &weights[j], values.at + j * values.step,
                           values.step, 1);
    }
  }
}

static void add_block(const tsri_attending *w, forward_job *job, tsri_float_rows queries,
                      const tsri_attention_rows *keys, const tsri_attention_rows *values) {
  const tsri_attention_op *op = w->op;
  int64_t first = job->keys.first, count = job->keys.count;
  const tsri_sum_rows results = {job->results, w->value_size, .adds = true};
  tsri_attention_panels(w, keys, first, count, op->size, job->key_rows, job->panels);
  tsri_float_rows rows = tsri_attention_floats(w, values, first, count, op->value_size, w->value_size, job->value_rows);
  tsri_attention_scores(w, &job->block, &job->keys, queries, op->size, job->panels, job->scores);
  for (int64_t i = 0; i < job->block.count; i++) {
    tsri_attention_fetch(w, job->ahead, AHEAD, i);
    weigh_row(w, job, i);
  }
  // A weight of 0 times an infinity or NaN is NaN.
  if (!w->lines->is_finite(rows.at, rows.step, count, op->value_size)) add_seen_values(w, job, rows);
  else tsri_attention_sum_keys(w, &job->block, &job->keys, job->scores, rows, w->value_size, results);
}

static void store_results(const tsri_attending *w, forward_job *job) {
  const tsri_attention_op *op = w->op;
  const tsri_query_block *b = &job->block;
  int64_t at = b->batch * op->y_strides[0] + b->head * op->y_strides[1] + b->first * op->y_strides[2];
  char *to = tsri_cpu_place(op->y) + at * (int64_t)w->element;
  for (int64_t i = 0; i < b->count; i++, to += op->y_strides[2] * (int64_t)w->element) {
    float *row = job->results + i * w->value_size, sum = job->sums[i];
    w->lines->multiply(row, op->value_size, sum == 0 ? 1 : 1 / sum);
    w->storage->store(to, row, 1, (uint32_t)op->value_size);
  }
}

// Lists the rows to prefetch during job `number`: its results, and the queries and first keys and values of the next job.
static void look_ahead(const tsri_attending *w, int64_t number, forward_job *job) {
  const tsri_attention_op *op = w->op;
  const tsri_query_block *b = &job->block;
  tsri_attention_rows y = tsri_attention_rows_at(w, op->y, op->y_strides, b->batch, b->head);
  memset(job->ahead, 0, sizeof job->ahead);
  job->ahead[0] = tsri_attention_ahead(w, &y, b->first, b->count, op->value_size);
  if (number + 1 >= w->jobs) return;
  int64_t from = 0, to = 0;
  forward_place next = place_of(w, number + 1);
  tsri_query_block block = tsri_attention_block(w, next.batch, next.head, next.first);
  tsri_attention_rows q = tsri_attention_rows_at(w, op->q, op->q_strides, next.batch, next.head);
  tsri_attention_rows k = tsri_attention_rows_at(w, op->k, op->k_strides, next.batch, next.shared);
  tsri_attention_rows v = tsri_attention_rows_at(w, op->v, op->v_strides, next.batch, next.shared);
  tsri_attention_seen(w, &block, &from, &to);
  job->ahead[1] = tsri_attention_ahead(w, &q, block.first, block.count, op->size);
  job->ahead[2] = tsri_attention_ahead(w, &k, from, to - from, op->size);
  job->ahead[3] = tsri_attention_ahead(w, &v, from, to - from, op->value_size);
}

void tsri_attention_forward(const tsri_attending *w, int64_t number, char *scratch) {
  const tsri_attention_op *op = w->op;
  forward_job *job = take_job(w, scratch);
  forward_place place = place_of(w, number);
  int64_t from = 0, to = 0;
  job->block = tsri_attention_block(w, place.batch, place.head, place.first);
  look_ahead(w, number, job);
  for (int64_t i = 0; i < job->block.count; i++) {
    job->most[i] = -INFINITY;
    job->sums[i] = 0;
  }
  memset(job->results, 0, (size_t)(job->block.count * w->value_size) * sizeof(float));
  tsri_attention_rows q = tsri_attention_rows_at(w, op->q, op->q_strides, place.batch, place.head);
  tsri_attention_rows k = tsri_attention_rows_at(w, op->k, op->k_strides, place.batch, place.shared);
  tsri_attention_rows v = tsri_attention_rows_at(w, op->v, op->v_strides, place.batch, place.shared);
  tsri_float_rows queries =
      tsri_attention_floats(w, &q, job->block.first, job->block.count, op->size, op->size, job->queries);
  tsri_attention_seen(w, &job->block, &from, &to);
  for (int64_t first = from; first < to; first += TSRI_ATTENTION_KEYS) {
    int64_t count = to - first < TSRI_ATTENTION_KEYS ? to - first : TSRI_ATTENTION_KEYS;
    tsri_attention_look(w, &job->block, first, count, &job->keys);
    add_block(w, job, queries, &k, &v);
  }
  store_results(w, job);
}
