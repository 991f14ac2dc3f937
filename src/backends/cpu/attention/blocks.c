// SPDX-License-Identifier: MIT
// Blocks of queries and keys: which keys a query attends to, scores, and products that skip keys that no query attends to.
#include <math.h>
#include <string.h>

#include "backends/cpu/attention/attention.h"

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }
static int64_t at_least(int64_t x, int64_t least) { return x > least ? x : least; }

// --- Rows ---------------------------------------------------------------------------------------------------------------

tsri_attention_rows tsri_attention_rows_at(const tsri_attending *w, tsri_place place, const int64_t *strides,
                                           int64_t batch, int64_t head) {
  const char *at = tsri_cpu_place(place) + (batch * strides[0] + head * strides[1]) * (int64_t)w->element;
  return (tsri_attention_rows){at, strides[2], strides[3]};
}

tsri_float_rows tsri_attention_floats(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first,
                                      int64_t count, int64_t size, int64_t padded, float *copy) {
  const char *at = rows->at + first * rows->row * (int64_t)w->element;
  if (!w->is_narrow && rows->column == 1 && size == padded) {
    return (tsri_float_rows){(const float *)(const void *)at, rows->row};
  }
  for (int64_t i = 0; i < count; i++) {
    float *to = copy + i * padded;
    w->storage->load(to, at + i * rows->row * (int64_t)w->element, rows->column, (uint32_t)size);
    memset(to + size, 0, (size_t)(padded - size) * sizeof *to);
  }
  return (tsri_float_rows){copy, padded};
}

tsri_rows_ahead tsri_attention_ahead(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first,
                                     int64_t count, int64_t size) {
  int64_t step = rows->row * (int64_t)w->element;
  return (tsri_rows_ahead){rows->at + first * step, rows->column == 1 ? count : 0, size * (int64_t)w->element, step};
}

void tsri_attention_fetch(const tsri_attending *w, const tsri_rows_ahead *ahead, int sets, int64_t i) {
  for (int set = 0; set < sets; set++) {
    const tsri_rows_ahead *rows = &ahead[set];
    if (i < rows->count) w->kernels->fetch(rows->at + i * rows->step, 1, rows->bytes, rows->step);
  }
}

void tsri_attention_panels(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first, int64_t count,
                           int64_t size, float *copy, float *panels) {
  const char *at = rows->at + first * rows->row * (int64_t)w->element;
  int64_t row = rows->row, column = rows->column;
  if (w->is_narrow) {
    at = (const char *)tsri_attention_floats(w, rows, first, count, size, size, copy).at;
    row = size;
    column = 1;
  }
  w->kernels->pack(panels, w->kernels->tile_columns, count, size, at, row, column);
}

// --- What is seen -------------------------------------------------------------------------------------------------------

tsri_query_block tsri_attention_block(const tsri_attending *w, int64_t batch, int64_t head, int64_t first) {
  const tsri_attention_op *op = w->op;
  tsri_query_block b = {.batch = batch,
                        .head = head,
                        .first = first,
                        .count = at_most(op->queries - first, w->queries),
                        .keys = op->keys};
  if (op->has_lengths) {
    int32_t length = 0;
    memcpy(&length, tsri_cpu_place(op->lengths) + batch * op->lengths_step * (int64_t)sizeof length, sizeof length);
    b.keys = at_most(at_least(length, 0), op->keys);
  }
  if (op->has_slopes) {
    w->storage->load(&b.slope, tsri_cpu_place(op->slopes) + head * op->slopes_step * (int64_t)w->element, 1, 1);
  }
  if (op->mask_kind != TSRI_ATTENTION_UNMASKED) {
    const int64_t *strides = op->mask_strides;
    size_t element = op->mask_kind == TSRI_ATTENTION_HIDES ? 1 : w->element;
    b.mask =
        tsri_cpu_place(op->mask) + (batch * strides[0] + head * strides[1] + first * strides[2]) * (int64_t)element;
  }
  return b;
}

// The position of query `i` of the block among the keys: the last query has the position of the last key.
static int64_t position_of(const tsri_attending *w, const tsri_query_block *b, int64_t i) {
  return b->first + i + b->keys - w->op->queries;
}

static int64_t first_seen(const tsri_attending *w, const tsri_query_block *b, int64_t i) {
  if (w->op->window == 0) return 0;
  return at_most(at_least(position_of(w, b, i) + 1 - w->op->window, 0), b->keys);
}

static int64_t end_of_seen(const tsri_attending *w, const tsri_query_block *b, int64_t i) {
  return w->op->is_causal ? at_least(position_of(w, b, i) + 1, 0) : b->keys;
}

void tsri_attention_seen(const tsri_attending *w, const tsri_query_block *b, int64_t *out_from, int64_t *out_to) {
  *out_from = first_seen(w, b, 0);
  *out_to = end_of_seen(w, b, b->count - 1);
}

void tsri_attention_look(const tsri_attending *w, const tsri_query_block *b, int64_t first, int64_t count,
                         tsri_key_block *out_keys) {
  out_keys->first = first;
  out_keys->count = count;
  for (int64_t i = 0; i < b->count; i++) {
    int64_t to = at_most(at_least(end_of_seen(w, b, i) - first, 0), out_keys->count);
    out_keys->to[i] = (int32_t)to;
    out_keys->from[i] = (int32_t)at_most(at_least(first_seen(w, b, i) - first, 0), to);
  }
}

// --- Products -----------------------------------------------------------------------------------------------------------

void tsri_attention_multiply(const tsri_attending *w, const tsri_float_product *p) {
  const tsri_product_kernels *kernels = w->kernels;
  int64_t width = kernels->tile_columns;
  for (int64_t column = 0; column < p->columns; column += width) {
    int vectors = p->columns - column <= width / 2 ? 1 : 2;
    for (int64_t row = 0, done = 0; row < p->rows; row += done) {
      done = kernels->direct((int)at_most(p->rows - row, kernels->tile_rows), vectors, p->depth, p->a + row * p->a_row,
                             p->a_row, p->a_column, p->b + column, p->b_row, p->c + row * p->c_row + column, p->c_row,
                             p->adds);
    }
  }
}

// Finds the range of queries that attend to any key of [from, to). The ranges of keys never decrease from query to query.
static void queries_that_see(const tsri_query_block *b, const tsri_key_block *keys, int64_t from, int64_t to,
                             int64_t *out_first, int64_t *out_last) {
  int64_t first = 0, last = b->count;
  while (first < last && keys->to[first] <= from) first++;
  while (last > first && keys->from[last - 1] >= to) last--;
  *out_first = first;
  *out_last = last;
}

// Finds the first query that attends to the key `key` or a later one. The ranges of keys never decrease from query to query.
static int64_t first_that_sees(const tsri_key_block *keys, int64_t key, int64_t first, int64_t last) {
  while (first < last && keys->to[first] <= key) first++;
  return first;
}

// Queries that attend to no key in the second half of a panel are multiplied by half of it only.
void tsri_attention_scores(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                           tsri_float_rows rows, int64_t size, const float *panels, float *scores) {
  int64_t width = w->kernels->tile_columns;
  for (int64_t key = 0; key < keys->count; key += width) {
    int64_t first = 0, last = 0;
    queries_that_see(b, keys, key, key + width, &first, &last);
    int64_t middle = first_that_sees(keys, key + width / 2, first, last);
    tsri_float_product p = {.rows = middle - first,
                            .columns = width / 2,
                            .depth = size,
                            .a = rows.at + first * rows.step,
                            .a_row = rows.step,
                            .a_column = 1,
                            .b = panels + key * size,
                            .b_row = width,
                            .c = scores + first * w->key_step + key,
                            .c_row = w->key_step};
    tsri_attention_multiply(w, &p);
    p.a += p.rows * p.a_row;
    p.c += p.rows * p.c_row;
    p.rows = last - middle;
    p.columns = width;
    tsri_attention_multiply(w, &p);
  }
}

void tsri_attention_clear(tsri_sum_rows c, int64_t first, int64_t count, int64_t columns) {
  for (int64_t i = first; !c.adds && i < first + count; i++) {
    memset(c.at + i * c.step, 0, (size_t)columns * sizeof *c.at);
  }
}

void tsri_attention_sum_keys(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                             const float *weights, tsri_float_rows rows, int64_t columns, tsri_sum_rows c) {
  int64_t together = w->kernels->tile_rows;
  for (int64_t i = 0; i < b->count; i += together) {
    int64_t last = at_most(i + together, b->count) - 1, from = keys->from[i], to = keys->to[last];
    if (to <= from) {
      tsri_attention_clear(c, i, last + 1 - i, columns);
      continue;
    }
    tsri_attention_multiply(w, &(tsri_float_product){.rows = last + 1 - i,
                                                     .columns = columns,
                                                     .depth = to - from,
                                                     .a = weights + i * w->key_step + from,
                                                     .a_row = w->key_step,
                                                     .a_column = 1,
                                                     .b = rows.at + from * rows.step,
                                                     .b_row = rows.step,
                                                     .c = c.at + i * c.step,
                                                     .c_row = c.step,
                                                     .adds = c.adds});
  }
}

void tsri_attention_sum_queries(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                                const float *weights, tsri_float_rows rows, int64_t columns, tsri_sum_rows c) {
  int64_t together = w->kernels->tile_rows;
  for (int64_t key = 0; key < keys->count; key += together) {
    int64_t count = at_most(keys->count - key, together), first = 0, last = 0;
    queries_that_see(b, keys, key, key + count, &first, &last);
    if (last <= first) {
      tsri_attention_clear(c, key, count, columns);
      continue;
    }
    tsri_attention_multiply(w, &(tsri_float_product){.rows = count,
                                                     .columns = columns,
                                                     .depth = last - first,
                                                     .a = weights + first * w->key_step + key,
                                                     .a_row = 1,
                                                     .a_column = w->key_step,
                                                     .b = rows.at + first * rows.step,
                                                     .b_row = rows.step,
                                                     .c = c.at + key * c.step,
                                                     .c_row = c.step,
                                                     .adds = c.adds});
  }
}

// --- Scores -------------------------------------------------------------------------------------------------------------

// scores = cap * tanh(scores * scale / cap) for the keys attended to, and its derivative by scores * scale.
static void cap_scores(const tsri_attending *w, const tsri_score_row *row, float *bends) {
  float cap = (float)w->op->softcap, *scores = row->x + row->from;
  int64_t n = row->to - row->from;
  w->lines->scale(row, (float)w->op->scale / cap, NULL);
  w->math->f32[TSRI_MATH_TANH](scores, scores, NULL, (uint32_t)n);
  for (int64_t i = 0; bends && i < n; i++) bends[row->from + i] = 1 - scores[i] * scores[i];
  w->lines->multiply(scores, n, cap);
}

// scores = scores * factor + mask of query `i` (if it is additive) + slope * distance. `first`: the first key attended to.
static void add_to_scores(const tsri_attending *w, const tsri_query_block *b, int64_t i, int64_t first,
                          const tsri_score_row *row, float factor, const char *mask) {
  const tsri_attention_op *op = w->op;
  float added[TSRI_ATTENTION_KEYS];
  int64_t seen = row->to - row->from, behind = first - position_of(w, b, i);
  for (int64_t done = 0; done < seen; done += TSRI_ATTENTION_KEYS) {
    int64_t n = at_most(seen - done, TSRI_ATTENTION_KEYS), from = row->from + done;
    const char *at = mask ? mask + done * op->mask_strides[3] * (int64_t)w->element : NULL;
    if (op->mask_kind == TSRI_ATTENTION_ADDS) w->storage->load(added, at, op->mask_strides[3], (uint32_t)n);
    else memset(added, 0, (size_t)n * sizeof *added);
    for (int64_t j = 0; op->has_slopes && j < n; j++) added[j] += b->slope * (float)(behind + done + j);
    w->lines->scale(&(tsri_score_row){row->x, row->n, from, from + n}, factor, added);
  }
}

static bool has_added(const tsri_attention_op *op) { return op->has_slopes || op->mask_kind == TSRI_ATTENTION_ADDS; }

float tsri_attention_factor(const tsri_attention_op *op) {
  return op->softcap > 0 || has_added(op) || !(op->scale > 0) ? 1 : (float)op->scale;
}

tsri_score_row tsri_attention_row(const tsri_attending *w, const tsri_key_block *keys, int64_t i, float *scores) {
  int64_t width = w->kernels->tile_columns, n = (keys->count + width - 1) / width * width;
  return (tsri_score_row){scores + i * w->key_step, n, keys->from[i], keys->to[i]};
}

float tsri_attention_finish_scores(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                                   int64_t i, const tsri_score_row *row, float most, float *bends) {
  const tsri_attention_op *op = w->op;
  int64_t first = keys->first + row->from;
  const char *mask = NULL;
  if (row->to <= row->from) return most;
  if (op->mask_kind != TSRI_ATTENTION_UNMASKED) {
    size_t element = op->mask_kind == TSRI_ATTENTION_HIDES ? 1 : w->element;
    mask = b->mask + (i * op->mask_strides[2] + first * op->mask_strides[3]) * (int64_t)element;
  }
  if (op->softcap > 0) cap_scores(w, row, bends);
  float factor = op->softcap > 0 ? 1 : (float)op->scale;
  if (has_added(op)) add_to_scores(w, b, i, first, row, factor, mask);
  else if (factor != w->factor) w->lines->scale(row, factor, NULL);
  for (int64_t j = row->from; op->mask_kind == TSRI_ATTENTION_HIDES && j < row->to; j++) {
    if (!mask[(j - row->from) * op->mask_strides[3]]) row->x[j] = -INFINITY;
  }
  return w->lines->top(row, most);
}
