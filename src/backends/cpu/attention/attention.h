// SPDX-License-Identifier: MIT
// Native attention and its gradient. Not part of the browser module, which has attention_wasm.c instead.
//
// Scores of a block of queries are products of tiles (product/product.h): with a block of keys in the forward pass, with all keys in the gradient. They stay in
// the second-level cache, unless there are many thousands of keys; memory does not grow with queries times keys. f16 and bf16 are computed in f32.
#ifndef TSRI_CPU_ATTENTION_H
#define TSRI_CPU_ATTENTION_H

#include "backends/cpu/attention/score_lines.h"
#include "backends/cpu/product/product.h"

// The most queries in a block, and the keys of a block in the forward pass.
enum { TSRI_ATTENTION_QUERIES = 128, TSRI_ATTENTION_KEYS = 128 };

// Whether tsri_cpu_attention can compute an operator. Errors of tsri_cpu_attention: TSR_ERR_OUT_OF_MEMORY.
bool tsri_cpu_has_attention(const tsri_native_op *op);
tsr_status tsri_cpu_attention(cpu_device *device, const tsri_native_op *op);

// What all jobs of an operator share. Row sizes are rounded up to whole vectors.
typedef struct tsri_attending {
  const tsri_attention_op *op;
  const tsri_product_kernels *kernels;
  const tsri_score_lines *lines;
  const tsri_lane_math *math;
  const tsri_lane_storage *storage;  // of the operator's elements
  size_t element;                    // bytes of an element
  bool is_narrow;                    // f16 or bf16
  int64_t size, value_size;          // floats of a row of q or k, and of v, in scratch memory
  int64_t queries;                   // queries in a block
  int64_t key_step;                  // floats from one row of scores to the next
  float factor;                      // tsri_attention_factor
  int64_t jobs;
  int parts;
  char *scratch;
  size_t scratch_bytes;  // of each thread
} tsri_attending;

// Takes `bytes` from the beginning of a thread's remaining scratch memory.
static inline void *tsri_attention_take(char **scratch, size_t bytes) {
  void *taken = *scratch;
  *scratch += (bytes + 63) / 64 * 64;
  return taken;
}

// Rows of contiguous floats, which are `step` floats apart.
typedef struct tsri_float_rows {
  const float *at;
  int64_t step;
} tsri_float_rows;

// The first element of a tensor of rows, and its strides in elements.
typedef struct tsri_attention_rows {
  const char *at;
  int64_t row, column;
} tsri_attention_rows;

tsri_attention_rows tsri_attention_rows_at(const tsri_attending *w, tsri_place place, const int64_t *strides,
                                           int64_t batch, int64_t head);

// Gives the rows `first` to `first` + `count` - 1 as floats. If they are f32 and have `padded` elements, these are the rows themselves; otherwise they are
// converted into `copy`, and padded with zeros to `padded` elements.
tsri_float_rows tsri_attention_floats(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first,
                                      int64_t count, int64_t size, int64_t padded, float *copy);

// Rows that will be read or written soon. A job prefetches them one by one while it computes its own rows: most heads are read from memory, in rows too far
// apart for the processor's own prefetching.
typedef struct tsri_rows_ahead {
  const char *at;
  int64_t count, bytes, step;
} tsri_rows_ahead;

tsri_rows_ahead tsri_attention_ahead(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first,
                                     int64_t count, int64_t size);

// Prefetches row `i` of each of the `sets` sets of rows, if the set has that many.
void tsri_attention_fetch(const tsri_attending *w, const tsri_rows_ahead *ahead, int sets, int64_t i);

// Packs `count` rows into panels for tsri_attention_scores. `copy` has room for converted rows if they are not f32.
void tsri_attention_panels(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first, int64_t count,
                           int64_t size, float *copy, float *panels);

// A block of queries of one head, and which keys they attend to.
typedef struct tsri_query_block {
  int64_t batch, head, first, count;  // queries
  int64_t keys;                       // number of keys of this sequence
  float slope;
  const char *mask;  // mask of the first query; NULL: none
} tsri_query_block;

tsri_query_block tsri_attention_block(const tsri_attending *w, int64_t batch, int64_t head, int64_t first);

// The range of keys that any query of the block attends to: *out_from to *out_to - 1; empty if *out_to <= *out_from.
void tsri_attention_seen(const tsri_attending *w, const tsri_query_block *b, int64_t *out_from, int64_t *out_to);

// A block of keys, and the keys in it that each query attends to: from[i] to to[i] - 1. Both never decrease with i.
typedef struct tsri_key_block {
  int64_t first, count;
  int32_t from[TSRI_ATTENTION_QUERIES], to[TSRI_ATTENTION_QUERIES];
} tsri_key_block;

void tsri_attention_look(const tsri_attending *w, const tsri_query_block *b, int64_t first, int64_t count,
                         tsri_key_block *out_keys);

// scores = rows * panels^T for each query and each key it attends to; other elements are undefined. Rows have `size` elements.
void tsri_attention_scores(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                           tsri_float_rows rows, int64_t size, const float *panels, float *scores);

// Describes the scores of query `i`, for the functions of score_lines.h. Rows of scores are key_step floats apart.
tsri_score_row tsri_attention_row(const tsri_attending *w, const tsri_key_block *keys, int64_t i, float *scores);

// The positive factor by which finished scores must still be multiplied: the scale, if nothing else is applied to scores, else 1.
float tsri_attention_factor(const tsri_attention_op *op);

// Finishes the scores of query `i`, in place, for the keys that it attends to: applies soft cap, slopes and mask, and the scale except for tsri_attention_factor. Returns the largest of these
// scores and `most`. `bends` gets the derivative of the soft cap for each score; NULL: not needed.
float tsri_attention_finish_scores(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                                   int64_t i, const tsri_score_row *row, float most, float *bends);

// A product c = a b, or c += a b, of `rows` x `columns` results (columns: whole vectors), with `depth` products for each. Steps are in floats.
typedef struct tsri_float_product {
  int64_t rows, columns, depth;
  const float *a;
  int64_t a_row, a_column;
  const float *b;
  int64_t b_row;
  float *c;
  int64_t c_row;
  bool adds;
} tsri_float_product;
void tsri_attention_multiply(const tsri_attending *w, const tsri_float_product *p);

// Rows of sums, `step` floats apart. adds: products are added to their contents; otherwise they replace them.
typedef struct tsri_sum_rows {
  float *at;
  int64_t step;
  bool adds;
} tsri_sum_rows;

// c = weights * rows for each query, over the keys that any query of the block attends to; `weights` are 0 for other keys. c has `columns` floats for each
// query.
void tsri_attention_sum_keys(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                             const float *weights, tsri_float_rows rows, int64_t columns, tsri_sum_rows c);

// c = weights^T * rows for each key of the block, over the queries that attend to it. c has `columns` floats for each key.
void tsri_attention_sum_queries(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                                const float *weights, tsri_float_rows rows, int64_t columns, tsri_sum_rows c);

// Sets `count` rows of `columns` floats to 0, from row `first` on, unless c.adds.
void tsri_attention_clear(tsri_sum_rows c, int64_t first, int64_t count, int64_t columns);

// Number of jobs, and bytes of scratch memory that each thread needs.
int64_t tsri_attention_forward_jobs(const tsri_attending *w);
size_t tsri_attention_forward_bytes(const tsri_attending *w);
void tsri_attention_forward(const tsri_attending *w, int64_t number, char *scratch);

int64_t tsri_attention_backward_queries(const tsri_attending *w);
int64_t tsri_attention_backward_jobs(const tsri_attending *w);
size_t tsri_attention_backward_bytes(const tsri_attending *w);
void tsri_attention_backward(const tsri_attending *w, int64_t number, char *scratch);

#endif
