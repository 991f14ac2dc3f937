// SPDX-License-Identifier: MIT
// The gradient of attention: a job computes dk and dv of one head of keys, and dq of all queries that read it. Weights are computed again.
//
// With P = softmax(S) and y = P v:  dv = P^T g,  dP = g v^T,  dS = P (dP - sum of P dP along keys) scale, times the derivative of the soft cap,
// dq = dS k,  dk = dS^T q.
//
// A block of queries is computed with all keys that it sees, so that sums over keys are known before weights are needed; the more keys there are, the fewer queries
// a block has.
#include <math.h>
#include <string.h>

#include "backends/cpu/attention/attention.h"

int64_t tsri_attention_backward_jobs(const tsri_attending *w) { return w->op->batch * w->op->kv_heads; }

// Queries in a block. Scores and their gradients should fit into the second-level cache. But since dk and dv are read and written once per block, a block has
// at least FEW queries, unless its scores would take more than MOST_FLOATS.
int64_t tsri_attention_backward_queries(const tsri_attending *w) {
  enum { CACHE_FLOATS = 1 << 16, MOST_FLOATS = 1 << 22, FEW = 32 };
  int64_t fit = CACHE_FLOATS / w->key_step, allowed = MOST_FLOATS / w->key_step;
  if (fit > TSRI_ATTENTION_QUERIES) return TSRI_ATTENTION_QUERIES;
  if (fit >= FEW) return fit;
  return allowed > FEW ? FEW : allowed > 1 ? allowed : 1;
}

enum { AHEAD = 7 };  // sets of rows to prefetch: this job's results, and what the next job reads

typedef struct backward_job {
  int64_t batch, shared;  // shared: the head of keys
  tsri_attention_rows q, g;
  tsri_query_block block;
  tsri_key_block keys;
  tsri_rows_ahead ahead[AHEAD];
  tsri_float_rows queries, cotangents, key_rows;
  float *query_copy, *cotangent_copy, *copy;  // copies as f32; `copy`: of all keys, or of all values
  float *key_panels, *value_panels;           // panels of all keys, and of all values
  float *weights, *gradients, *bends;         // of scores: rows of key_step floats
  float *dq_copy, *dk_copy, *dv_copy;         // for gradients that are not computed in place
  tsri_sum_rows dq, dk, dv;
} backward_job;

static int64_t most_size(const tsri_attending *w) { return w->size > w->value_size ? w->size : w->value_size; }

static backward_job *take_job(const tsri_attending *w, char *scratch) {
  const size_t each = sizeof(float);
  int64_t queries = w->queries, keys = w->key_step;
  backward_job *job = tsri_attention_take(&scratch, sizeof *job);
  job->query_copy = tsri_attention_take(&scratch, (size_t)(queries * w->size) * each);
  job->cotangent_copy = tsri_attention_take(&scratch, (size_t)(queries * w->value_size) * each);
  job->copy = tsri_attention_take(&scratch, (size_t)(keys * most_size(w)) * each);
  job->key_panels = tsri_attention_take(&scratch, (size_t)(keys * w->size) * each);
  job->value_panels = tsri_attention_take(&scratch, (size_t)(keys * w->value_size) * each);
  job->weights = tsri_attention_take(&scratch, (size_t)(queries * keys) * each);
  job->gradients = tsri_attention_take(&scratch, (size_t)(queries * keys) * each);
  job->bends = tsri_attention_take(&scratch, (size_t)keys * each);
  job->dq_copy = tsri_attention_take(&scratch, (size_t)(queries * w->size) * each);
  job->dk_copy = tsri_attention_take(&scratch, (size_t)(keys * w->size) * each);
  job->dv_copy = tsri_attention_take(&scratch, (size_t)(keys * w->value_size) * each);
  return job;
}

size_t tsri_attention_backward_bytes(const tsri_attending *w) {
  enum { PIECES = 12 };
  int64_t rows = w->size + w->value_size, floats = w->queries * (rows + w->size) + w->key_step * (2 * rows + 1);
  floats += w->key_step * most_size(w) + 2 * w->queries * w->key_step;
  return sizeof(backward_job) + (size_t)floats * sizeof(float) + (size_t)PIECES * 64;
}

// --- One block of queries and the keys that it sees ---------------------------------------------------------------------

// Computes the raw scores, and the gradients of the weights, for the job's block of queries.
static void multiply_block(const tsri_attending *w, backward_job *job) {
  const tsri_attention_op *op = w->op;
  int64_t first = job->keys.first;
  tsri_attention_scores(w, &job->block, &job->keys, job->queries, op->size, job->key_panels + first * op->size,
                        job->weights);
  tsri_attention_scores(w, &job->block, &job->keys, job->cotangents, op->value_size,
                        job->value_panels + first * op->value_size, job->gradients);
}

// Replaces the scores of query `i` by weights, and the gradients of the weights by the gradients of the products q k. Both are 0 for keys that the query does
// not attend to.
static void finish_row(const tsri_attending *w, backward_job *job, int64_t i, float *bends) {
  tsri_score_row row = tsri_attention_row(w, &job->keys, i, job->weights);
  float *gradients = job->gradients + i * w->key_step, dot = 0;
  float most = tsri_attention_finish_scores(w, &job->block, &job->keys, i, &row, -INFINITY, bends);
  if (most == -INFINITY) {  // attends to no key
    memset(row.x, 0, (size_t)row.n * sizeof *row.x);
    memset(gradients, 0, (size_t)row.n * sizeof *gradients);
    return;
  }
  float share = 1 / w->lines->raise(&row, most, w->factor, gradients, &dot, w->math);
  w->lines->gradient(&row, gradients, share, dot * share, (float)w->op->scale);
  for (int64_t j = row.from; bends && j < row.to; j++) gradients[j] *= bends[j];
}

static void add_block(const tsri_attending *w, backward_job *job) {
  int64_t first = job->keys.first;
  tsri_float_rows keys = {job->key_rows.at + first * job->key_rows.step, job->key_rows.step};
  tsri_sum_rows dk = job->dk, dv = job->dv;
  dk.at += first * dk.step;
  dv.at += first * dv.step;
  tsri_attention_sum_queries(w, &job->block, &job->keys, job->weights, job->cotangents, w->value_size, dv);
  tsri_attention_sum_queries(w, &job->block, &job->keys, job->gradients, job->queries, w->size, dk);
  tsri_attention_sum_keys(w, &job->block, &job->keys, job->gradients, keys, w->size, job->dq);
}

// --- Gradients ----------------------------------------------------------------------------------------------------------

// Rows of a head of a gradient, from row `first` on, and the strides of the gradient.
typedef struct gradient_rows {
  tsri_place place;
  const int64_t *strides;
  int64_t batch, head, first, count, size, padded;
} gradient_rows;

static char *address_of(const tsri_attending *w, const gradient_rows *g) {
  const int64_t *strides = g->strides;
  int64_t at = g->batch * strides[0] + g->head * strides[1] + g->first * strides[2];
  return tsri_cpu_place(g->place) + at * (int64_t)w->element;
}

// Where sums are stored that are computed in one step: in the gradient itself if it is f32 and products fill its rows exactly, else in `scratch`, from which
// store_rows copies them.
static tsri_sum_rows sums_of(const tsri_attending *w, const gradient_rows *g, float *scratch) {
  if (w->is_narrow || g->size != g->padded) return (tsri_sum_rows){scratch, g->padded, .adds = false};
  return (tsri_sum_rows){(float *)(void *)address_of(w, g), g->strides[2], .adds = false};
}

static void store_rows(const tsri_attending *w, const gradient_rows *g, tsri_sum_rows sums) {
  char *to = address_of(w, g);
  if (to == (char *)sums.at) return;
  for (int64_t i = 0; i < g->count; i++, to += g->strides[2] * (int64_t)w->element) {
    w->storage->store(to, sums.at + i * sums.step, 1, (uint32_t)g->size);
  }
}

// --- A block of queries -------------------------------------------------------------------------------------------------

// Sets dk and dv of the keys that no query of the block attends to.
static void clear_unseen_keys(const tsri_attending *w, const backward_job *job, int64_t from, int64_t to) {
  int64_t after = w->op->keys - to;
  tsri_attention_clear(job->dk, 0, from, w->size);
  tsri_attention_clear(job->dv, 0, from, w->value_size);
  tsri_attention_clear(job->dk, to, after, w->size);
  tsri_attention_clear(job->dv, to, after, w->value_size);
}

static void run_queries(const tsri_attending *w, backward_job *job, int64_t head, int64_t first_query) {
  const tsri_attention_op *op = w->op;
  int64_t from = 0, to = 0, panel = 0;
  float *bends = op->softcap > 0 ? job->bends : NULL;
  job->block = tsri_attention_block(w, job->batch, head, first_query);
  const gradient_rows dq = {op->dq, op->dq_strides, job->batch, head, first_query, job->block.count, op->size, w->size};
  job->queries = tsri_attention_floats(w, &job->q, first_query, job->block.count, op->size, w->size, job->query_copy);
  job->cotangents = tsri_attention_floats(w, &job->g, first_query, job->block.count, op->value_size, w->value_size,
                                          job->cotangent_copy);
  job->dq = sums_of(w, &dq, job->dq_copy);
  tsri_attention_seen(w, &job->block, &from, &to);
  if (to > from)
    panel = from / w->kernels->tile_columns * w->kernels->tile_columns;  // must be the beginning of a panel
  else to = 0;
  clear_unseen_keys(w, job, panel, to);
  tsri_attention_look(w, &job->block, panel, to - panel, &job->keys);
  multiply_block(w, job);
  for (int64_t i = 0; i < job->block.count; i++) {
    if (first_query == 0) tsri_attention_fetch(w, job->ahead, AHEAD, i);
    finish_row(w, job, i, bends);
  }
  add_block(w, job);
  store_rows(w, &dq, job->dq);
}

// --- A head of keys -----------------------------------------------------------------------------------------------------

// Lists the rows to prefetch during job `number`: its results, and what the next job reads.
static void look_ahead(const tsri_attending *w, int64_t number, backward_job *job) {
  const tsri_attention_op *op = w->op;
  int64_t sharing = op->heads / op->kv_heads, head = job->shared * sharing;
  tsri_attention_rows dq = tsri_attention_rows_at(w, op->dq, op->dq_strides, job->batch, head);
  tsri_attention_rows dk = tsri_attention_rows_at(w, op->dk, op->dk_strides, job->batch, job->shared);
  tsri_attention_rows dv = tsri_attention_rows_at(w, op->dv, op->dv_strides, job->batch, job->shared);
  memset(job->ahead, 0, sizeof job->ahead);
  job->ahead[0] = tsri_attention_ahead(w, &dq, 0, op->queries, op->size);
  job->ahead[1] = tsri_attention_ahead(w, &dk, 0, op->keys, op->size);
  job->ahead[2] = tsri_attention_ahead(w, &dv, 0, op->keys, op->value_size);
  if (number + 1 >= w->jobs) return;
  int64_t batch = (number + 1) / op->kv_heads, shared = (number + 1) % op->kv_heads;
  tsri_attention_rows q = tsri_attention_rows_at(w, op->q, op->q_strides, batch, shared * sharing);
  tsri_attention_rows g = tsri_attention_rows_at(w, op->g, op->g_strides, batch, shared * sharing);
  tsri_attention_rows k = tsri_attention_rows_at(w, op->k, op->k_strides, batch, shared);
  tsri_attention_rows v = tsri_attention_rows_at(w, op->v, op->v_strides, batch, shared);
  job->ahead[3] = tsri_attention_ahead(w, &q, 0, op->queries, op->size);
  job->ahead[4] = tsri_attention_ahead(w, &g, 0, op->queries, op->value_size);
  job->ahead[5] = tsri_attention_ahead(w, &k, 0, op->keys, op->size);
  job->ahead[6] = tsri_attention_ahead(w, &v, 0, op->keys, op->value_size);
}

// Packs the panels, and converts the rows, of all keys and values.
static void begin_keys(const tsri_attending *w, backward_job *job) {
  const tsri_attention_op *op = w->op;
  tsri_attention_rows k = tsri_attention_rows_at(w, op->k, op->k_strides, job->batch, job->shared);
  tsri_attention_rows v = tsri_attention_rows_at(w, op->v, op->v_strides, job->batch, job->shared);
  tsri_attention_panels(w, &v, 0, op->keys, op->value_size, job->copy, job->value_panels);
  tsri_attention_panels(w, &k, 0, op->keys, op->size, job->copy, job->key_panels);
  job->key_rows = tsri_attention_floats(w, &k, 0, op->keys, op->size, w->size, job->copy);
}

// Where dk or dv are summed. Several blocks of queries add to them, so they are set to 0 first.
static tsri_sum_rows sums_of_keys(const tsri_attending *w, const gradient_rows *g, float *scratch) {
  tsri_sum_rows sums = sums_of(w, g, scratch);
  bool has_one_block = w->op->heads == w->op->kv_heads && w->op->queries > 0 && w->op->queries <= w->queries;
  if (has_one_block) return sums;
  tsri_attention_clear(sums, 0, g->count, g->padded);
  sums.adds = true;
  return sums;
}

void tsri_attention_backward(const tsri_attending *w, int64_t number, char *scratch) {
  const tsri_attention_op *op = w->op;
  backward_job *job = take_job(w, scratch);
  int64_t sharing = op->heads / op->kv_heads;
  job->batch = number / op->kv_heads;
  job->shared = number % op->kv_heads;
  const gradient_rows dk = {op->dk, op->dk_strides, job->batch, job->shared, /*first=*/0, op->keys, op->size, w->size};
  const gradient_rows dv = {op->dv,      op->dv_strides, job->batch,     job->shared,
                            /*first=*/0, op->keys,       op->value_size, w->value_size};
  begin_keys(w, job);
  look_ahead(w, number, job);
  job->dk = sums_of_keys(w, &dk, job->dk_copy);
  job->dv = sums_of_keys(w, &dv, job->dv_copy);
  for (int64_t head = job->shared * sharing; head < (job->shared + 1) * sharing; head++) {
    job->q = tsri_attention_rows_at(w, op->q, op->q_strides, job->batch, head);
    job->g = tsri_attention_rows_at(w, op->g, op->g_strides, job->batch, head);
    for (int64_t first = 0; first < op->queries; first += w->queries) run_queries(w, job, head, first);
  }
  store_rows(w, &dk, job->dk);
  store_rows(w, &dv, job->dv);
}
