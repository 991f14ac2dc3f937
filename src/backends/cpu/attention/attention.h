// SPDX-License-Identifier: MIT
// Native attention and its gradient. attention_wasm.c stands in for this folder in web pages, whose module has to stay small.
//
// Scores of a block of queries are products of tiles (product/product.h): by a block of keys in the forward pass, by all keys in the gradient. They stay in the second-level
// cache, unless there are many thousands of keys, and memory does not grow with queries times keys. f16 and bf16 are computed in f32.
#ifndef TSRI_CPU_ATTENTION_H
#define TSRI_CPU_ATTENTION_H

#include "backends/cpu/attention/score_lines.h"
#include "backends/cpu/product/product.h"

// Queries of a block at most, and keys of a block of the forward pass.
enum { TSRI_ATTENTION_QUERIES = 128, TSRI_ATTENTION_KEYS = 128 };

// Whether tsri_cpu_attention does an operator. Errors: TSR_ERR_OUT_OF_MEMORY.
bool tsri_cpu_has_attention(const tsri_native_op *op);
tsr_status tsri_cpu_attention(cpu_device *device, const tsri_native_op *op);

// What all jobs of an operator share. Sizes of rows are rounded up to whole vectors.
typedef struct tsri_attending {
  const tsri_attention_op *op;
  const tsri_product_kernels *kernels;
  const tsri_score_lines *lines;
  const tsri_lane_math *math;
  const tsri_lane_storage *storage;  // of the elements
  size_t element;                    // bytes
  bool is_narrow;                    // f16 or bf16
  int64_t size, value_size;          // floats of a row of q and k, and of v, in scratch memory
  int64_t queries;                   // of a block
  int64_t key_step;                  // floats of a row of scores
  float factor;                      // tsri_attention_factor
  int64_t jobs;
  int parts;
  char *scratch;
  size_t scratch_bytes;  // of each thread
} tsri_attending;

// Scratch memory of one thread is handed out from its beginning on.
static inline void *tsri_attention_take(char **scratch, size_t bytes) {
  void *taken = *scratch;
  *scratch += (bytes + 63) / 64 * 64;
  return taken;
}

// Rows of floats with neighbouring elements, `step` floats apart.
typedef struct tsri_float_rows {
  const float *at;
  int64_t step;
} tsri_float_rows;

// Where a tensor of rows begins, its steps in elements.
typedef struct tsri_attention_rows {
  const char *at;
  int64_t row, column;
} tsri_attention_rows;

tsri_attention_rows tsri_attention_rows_at(const tsri_attending *w, tsri_place place, const int64_t *strides,
                                           int64_t batch, int64_t head);

// Rows `first` to `first` + `count` - 1 as floats. Returns the rows themselves if they are f32 and have `padded` elements; otherwise converts them into `copy`, each
// padded with zeros to `padded` elements.
tsri_float_rows tsri_attention_floats(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first,
                                      int64_t count, int64_t size, int64_t padded, float *copy);

// Rows that will be read or written soon. A job fetches them into the cache one by one, while it computes its own rows: most heads are read from memory, in rows too far apart for the processor to fetch ahead.
typedef struct tsri_rows_ahead {
  const char *at;
  int64_t count, bytes, step;
} tsri_rows_ahead;

tsri_rows_ahead tsri_attention_ahead(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first,
                                     int64_t count, int64_t size);

// Begins to read row `i` of each of `sets` sets that has one.
void tsri_attention_fetch(const tsri_attending *w, const tsri_rows_ahead *ahead, int sets, int64_t i);

// Panels of `count` rows, for tsri_attention_scores. `copy` has room for rows that are not f32.
void tsri_attention_panels(const tsri_attending *w, const tsri_attention_rows *rows, int64_t first, int64_t count,
                           int64_t size, float *copy, float *panels);

// A block of queries of one head, and what each of them sees.
typedef struct tsri_query_block {
  int64_t batch, head, first, count;  // queries
  int64_t keys;                       // of this sequence
  float slope;
  const char *mask;  // of the first query; NULL: none
} tsri_query_block;

tsri_query_block tsri_attention_block(const tsri_attending *w, int64_t batch, int64_t head, int64_t first);

// The range of keys that any query of the block attends to: *out_from to *out_to - 1; empty if *out_to <= *out_from.
void tsri_attention_seen(const tsri_attending *w, const tsri_query_block *b, int64_t *out_from, int64_t *out_to);

// The keys of a block that each of its queries sees: from `from[i]` to before `to[i]`. Both grow with i, or stay.
typedef struct tsri_key_block {
  int64_t first, count;
  int32_t from[TSRI_ATTENTION_QUERIES], to[TSRI_ATTENTION_QUERIES];
} tsri_key_block;

void tsri_attention_look(const tsri_attending *w, const tsri_query_block *b, int64_t first, int64_t count,
                         tsri_key_block *out_keys);

// scores = rows * panels^T for each query and each key that it sees; other elements are undefined. `size` elements of a row count.
void tsri_attention_scores(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                           tsri_float_rows rows, int64_t size, const float *panels, float *scores);

// The scores of query `i`. Rows of scores are key_step floats apart.
tsri_score_row tsri_attention_row(const tsri_attending *w, const tsri_key_block *keys, int64_t i, float *scores);

// What finished scores are still to be multiplied by, above 0: the scale, where nothing else is done to scores, else 1.
float tsri_attention_factor(const tsri_attention_op *op);

// Finishes the scores of query `i`, in place, for the keys that it attends to: applies soft cap, slopes and mask, and the scale except for tsri_attention_factor. Returns the largest of these
// scores and `most`. `bends` gets the derivative of the soft cap for each score; NULL: not needed.
float tsri_attention_finish_scores(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                                   int64_t i, const tsri_score_row *row, float most, float *bends);

// c = a b, or c += a b, of `rows` x `columns` (whole vectors) with `depth` products for each. Steps are in floats.
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

// Rows of sums, `step` floats apart. `adds`: products are added to what is there; otherwise what is there is replaced.
typedef struct tsri_sum_rows {
  float *at;
  int64_t step;
  bool adds;
} tsri_sum_rows;

// c = weights * rows for each query, over the keys that it sees: `weights` are 0 elsewhere. c has `columns` floats for each query.
void tsri_attention_sum_keys(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                             const float *weights, tsri_float_rows rows, int64_t columns, tsri_sum_rows c);

// c = weights^T * rows for each key of the block, over the queries that see it. c has `columns` floats for each key.
void tsri_attention_sum_queries(const tsri_attending *w, const tsri_query_block *b, const tsri_key_block *keys,
                                const float *weights, tsri_float_rows rows, int64_t columns, tsri_sum_rows c);

// Sets `count` rows of `columns` floats from row `first` on to 0, unless products are added to them.
void tsri_attention_clear(tsri_sum_rows c, int64_t first, int64_t count, int64_t columns);

// Jobs, and the bytes of scratch memory that each thread needs.
int64_t tsri_attention_forward_jobs(const tsri_attending *w);
size_t tsri_attention_forward_bytes(const tsri_attending *w);
void tsri_attention_forward(const tsri_attending *w, int64_t number, char *scratch);

int64_t tsri_attention_backward_queries(const tsri_attending *w);
int64_t tsri_attention_backward_jobs(const tsri_attending *w);
size_t tsri_attention_backward_bytes(const tsri_attending *w);
void tsri_attention_backward(const tsri_attending *w, int64_t number, char *scratch);

#endif
