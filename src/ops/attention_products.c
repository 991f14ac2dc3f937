// SPDX-License-Identifier: MIT
// Attention and its gradient by matrix products (kernels/op_attention_products.tk has what is computed between them). The heads that share a head of k are one
// group, whose queries follow each other as the rows of one matrix. Chunks of groups take turns, so that their scores need a bounded amount of memory.
//
// With P the weights, g the gradient of y and sums those of y * g along rows:
//   y = P v,  D = P (g v^T - sums),  dq = scale D k,  dk = scale D^T q,  dv = P^T g.
#include "ops/attention_products.h"

#include "core/error.h"
#include "graph/node.h"
#include "ops/attention_native.h"
#include "ops/attention_tiles.h"
#include "ops/call.h"
#include "ops/product.h"

// BLOCK: queries of a causal attention that are computed together, with the keys that the last of them sees. ALIGNMENT: of lines, in bytes; products of others are
// slow, so they are copied.
enum { BLOCK = 256, ALIGNMENT = 16 };

// Bytes of the scores that are stored at a time, as far as a single group needs no more; and the most that are used for a single group.
static const int64_t CHUNK_BYTES = (int64_t)1 << 29, MOST_BYTES = (int64_t)1 << 30;

static int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// A matrix for each group: element (i, j) of group n is at offset + n * group + i * step + j.
typedef struct head_lines {
  tsr_buffer *buffer;
  int64_t offset, group, step;
} head_lines;

// BUFFERS of a job: copies of inputs, and memory for one chunk.
enum { COPY_Q, COPY_K, COPY_V, COPY_G, SCORES, SLOPES_IN, WEIGHTS, SLOPES, RESULT, LSE, BUFFERS };

typedef struct products_job {
  const tsri_kernel_run *run;
  const tsr_device *device;
  const tsri_attention_attributes *given;
  tsr_dtype dtype;
  bool is_gradient;
  int64_t batch, heads, kv_heads, shared_by, queries, keys, depth, size;
  int64_t groups, rows;  // groups of heads, and rows of a group's matrix of scores
  int64_t block, pitch;  // queries of a block; elements from row to row of the stored weights
  int64_t chunk;         // groups of a chunk
  tsr_buffer *stats;     // of the gradient
  head_lines q, k, v, g;
  tsr_buffer *buffers[BUFFERS];
} products_job;

// Queries first .. first + count - 1 of each head, and the keys 0 .. keys - 1, which are all that these see.
typedef struct query_block {
  int64_t first, count, keys;
} query_block;

// Groups first .. first + count - 1.
typedef struct group_chunk {
  int64_t first, count;
} group_chunk;

// --- Operands -----------------------------------------------------------------------------------------------------------

static bool is_aligned(int64_t elements, tsr_dtype dtype) {
  return elements * (int64_t)tsr_dtype_bytes(dtype) % ALIGNMENT == 0;
}

// Whether the tensor can be read as a matrix for each group in place. `shared_by` of its heads are in a group.
static bool is_in_place(const tsri_layout *x, tsr_dtype dtype, int64_t shared_by) {
  const int64_t *dims = x->shape.dims, *strides = x->strides;
  bool has_heads = dims[1] > shared_by;
  return strides[3] == 1 && strides[2] >= dims[3] && is_aligned(strides[2], dtype) && is_aligned(strides[1], dtype) &&
         is_aligned(strides[0], dtype) && is_aligned(x->offset, dtype) &&
         (shared_by == 1 || strides[1] == dims[2] * strides[2]) &&
         (dims[0] == 1 || !has_heads || strides[0] == dims[1] * strides[1]);
}

// A copy of `lines` lines of `length` elements of each of `count` heads from `first_head` on, counted over a batch of `heads` each. Strides are of batch, head, line and
// element; those of the copy's elements are neighbours.
typedef struct line_copy {
  tsr_buffer *from, *to;
  int64_t first_head, count, heads, lines, length;
  int64_t x_at, x[4], y_at, y[3];
} line_copy;

// Whether all lines of a copy begin at multiples of `unit` elements on both sides, and have a multiple of them.
static bool is_by(const line_copy *c, int64_t unit) {
  bool fits = c->x[3] == 1 && c->length % unit == 0 && c->x_at % unit == 0 && c->y_at % unit == 0;
  for (int i = 0; i < 3; i++) fits = fits && c->x[i] % unit == 0 && c->y[i] % unit == 0;
  return fits;
}

// Copies ALIGNMENT bytes at a time where lines allow it: four words of u32.
static tsr_status run_copy(const products_job *j, line_copy c) {
  int64_t bytes = (int64_t)tsr_dtype_bytes(j->dtype), unit = ALIGNMENT / bytes, word = 4 / bytes;
  bool is_wide = is_by(&c, unit);
  tsr_dtype carrier = is_wide ? TSR_U32 : tsri_call_carrier(j->run->device, j->dtype);
  if (is_wide) {
    c.length /= word, c.x_at /= word, c.y_at /= word;
    for (int i = 0; i < 3; i++) c.x[i] /= word, c.y[i] /= word;
  }
  int64_t total = c.count * c.lines * c.length / (is_wide ? 4 : 1);
  tsri_call call;
  tsri_call_init(&call, j->run->device, "op_attention_products", "attention_lines",
                 TSRI_WITH(TSRI_TYPE("T", carrier), TSRI_CONSTANT("WIDE", is_wide)));
  tsri_call_buffer(&call, "x", c.from, carrier);
  tsri_call_buffer(&call, "y", c.to, carrier);
  tsri_call_word(&call, "total", total);
  tsri_call_word(&call, "first_head", c.first_head);
  tsri_call_word(&call, "heads", c.heads);
  tsri_call_word(&call, "lines", c.lines);
  tsri_call_word(&call, "length", c.length);
  tsri_call_word(&call, "x_at", c.x_at);
  tsri_call_words(&call, "x", 0, c.x, 4);
  tsri_call_word(&call, "y_at", c.y_at);
  tsri_call_words(&call, "y", 0, c.y, 3);
  return tsri_call_items(&call, total);
}

// Describes a tensor as a matrix for each group; copies it to buffers[copy] first if it cannot be read in place.
static tsr_status take(products_job *j, tsr_buffer *buffer, const tsri_layout *x, int64_t shared_by, int copy,
                       head_lines *out) {
  const int64_t *dims = x->shape.dims, *strides = x->strides;
  if (is_in_place(x, j->dtype, shared_by)) {
    *out = (head_lines){buffer, x->offset, dims[1] > shared_by ? shared_by * strides[1] : strides[0], strides[2]};
    return TSR_OK;
  }
  int64_t step = round_up(dims[3], ALIGNMENT / (int64_t)tsr_dtype_bytes(j->dtype)), head = dims[2] * step;
  tsr_status status = tsri_call_scratch(j->run->device, dims[0] * dims[1] * head, j->dtype, &j->buffers[copy]);
  if (status != TSR_OK) return status;
  *out = (head_lines){j->buffers[copy], 0, shared_by * head, step};
  return run_copy(j, (line_copy){.from = buffer,
                                 .to = j->buffers[copy],
                                 .count = dims[0] * dims[1],
                                 .heads = dims[1],
                                 .lines = dims[2],
                                 .length = dims[3],
                                 .x_at = x->offset,
                                 .x = {strides[0], strides[1], strides[2], strides[3]},
                                 .y = {dims[1] * head, head, step}});
}

// Copies what a product stored in buffers[RESULT], `count` lines of each head of the chunk, to lines first .. of `to`. `shared_by` heads are in a group.
static tsr_status put(const products_job *j, const group_chunk *c, int64_t shared_by, int64_t first, int64_t count,
                      int64_t length, tsr_buffer *to, const tsri_gradient_place *place) {
  int64_t heads = j->kv_heads * shared_by, head = count * length, first_head = c->first * shared_by;
  const int64_t *strides = place->strides;
  return run_copy(j, (line_copy){.from = j->buffers[RESULT],
                                 .to = to,
                                 .first_head = first_head,
                                 .count = c->count * shared_by,
                                 .heads = heads,
                                 .lines = count,
                                 .length = length,
                                 .x_at = -first_head * head,  // wraps: the first head that is copied is at 0
                                 .x = {heads * head, head, length, 1},
                                 .y_at = place->offset + first * strides[2],
                                 .y = {strides[0], strides[1], strides[2]}});
}

// --- Products -----------------------------------------------------------------------------------------------------------

// A factor: lines of a matrix, or its columns.
typedef struct factor {
  const head_lines *lines;
  int64_t first_group, first_line, first_element;
  bool is_turned;
} factor;

static tsri_matrix matrix_of(const factor *f, tsr_dtype dtype) {
  const head_lines *l = f->lines;
  int64_t first = l->offset + f->first_group * l->group + f->first_line * l->step + f->first_element;
  return (tsri_matrix){.at.offset = (size_t)first * tsr_dtype_bytes(dtype),
                       .row = f->is_turned ? 1 : l->step,
                       .column = f->is_turned ? l->step : 1,
                       .batch = {l->group}};
}

// y = alpha a b for `count` groups.
static tsr_status multiply(const products_job *j, int64_t count, int64_t m, int64_t n, int64_t k, double alpha,
                           factor a, factor b, tsr_dtype result, tsr_buffer *y) {
  tsri_native_op op = {
      .kind = TSRI_NATIVE_PRODUCT, .dtype = j->dtype, .result = result, .parts = alpha != 1 ? TSRI_PRODUCT_SCALED : 0};
  op.is.product = (tsri_product_op){.m = m,
                                    .n = n,
                                    .k = k,
                                    .batch_rank = count > 1,
                                    .batch_dims = {count},
                                    .a = matrix_of(&a, j->dtype),
                                    .b = matrix_of(&b, j->dtype),
                                    .alpha = alpha};
  return tsri_multiply_matrices(j->run->device, &op, a.lines->buffer, b.lines->buffer, y);
}

// --- Scores -------------------------------------------------------------------------------------------------------------

// Launches attention_softmax or attention_slopes over the scores of a block, with what both take.
static tsr_status launch_rows(tsri_call *call, const products_job *j, const group_chunk *c, const query_block *b) {
  int extra = tsri_attention_extra(j->given) ? 3 : 0;
  const tsri_layout *layout = &j->run->layouts[extra];
  int64_t strides[4] = {0}, rows = j->shared_by * b->count;
  for (int i = 0; i < layout->shape.rank && i < 4; i++) strides[i] = layout->strides[i];
  tsri_call_buffer(call, "scores", j->buffers[SCORES], TSR_F32);
  tsri_call_buffer(call, "extra", j->run->inputs[extra], j->run->input_dtypes[extra]);
  tsri_call_buffer(call, "weights", j->buffers[WEIGHTS], j->dtype);
  tsri_call_word(call, "total", c->count * rows);
  tsri_call_word(call, "rows", rows);
  tsri_call_word(call, "columns", b->keys);
  tsri_call_word(call, "pitch", j->pitch);
  tsri_call_word(call, "first_row", j->shared_by * b->first);  // there are several blocks only if no heads share
  tsri_call_word(call, "all_rows", j->rows);
  tsri_call_word(call, "first_group", c->first);
  tsri_call_word(call, "kv_heads", j->kv_heads);
  tsri_call_word(call, "shared_by", j->shared_by);
  tsri_call_word(call, "queries", j->queries);
  tsri_call_word(call, "queries_here", b->count);
  tsri_call_word(call, "first_query", b->first);
  tsri_call_word(call, "keys", j->keys);
  tsri_call_word(call, "e_at", layout->offset);
  tsri_call_words(call, "e", 0, strides, 4);
  tsri_call_word(call, "is_causal", j->given->is_causal);
  tsri_call_word(call, "window", j->given->window);
  tsri_call_real(call, "scale", j->given->scale);
  tsri_call_real(call, "cap", j->given->softcap);
  return tsri_call_many_groups(call, c->count * rows);
}

#define ROW_PARAMETERS(j, b)                                                                                      \
  TSRI_TYPE("T", (j)->dtype), TSRI_TYPE("E", (j)->run->input_dtypes[tsri_attention_extra((j)->given) ? 3 : 0]),   \
      TSRI_CONSTANT("EXTRA", tsri_attention_extra((j)->given)), TSRI_CONSTANT("CAPPED", (j)->given->softcap > 0), \
      TSRI_CONSTANT("WIDE", (b)->keys % 4 == 0)

static tsr_status compute_weights(const products_job *j, const group_chunk *c, const query_block *b) {
  tsri_call call;
  tsri_call_init(&call, j->run->device, "op_attention_products", "attention_softmax", TSRI_WITH(ROW_PARAMETERS(j, b)));
  tsri_call_buffer(&call, "lse", j->run->output_count > 1 ? j->run->outputs[1] : j->buffers[LSE], TSR_F32);
  return launch_rows(&call, j, c, b);
}

static tsr_status compute_slopes(const products_job *j, const group_chunk *c, const query_block *b) {
  tsri_call call;
  tsri_call_init(&call, j->run->device, "op_attention_products", "attention_slopes", TSRI_WITH(ROW_PARAMETERS(j, b)));
  tsri_call_buffer(&call, "products", j->buffers[SLOPES_IN], TSR_F32);
  tsri_call_buffer(&call, "stats", j->stats, TSR_F32);
  tsri_call_buffer(&call, "slopes", j->buffers[SLOPES], j->dtype);
  tsri_call_word(&call, "stat_count", j->batch * j->heads * j->queries);
  return launch_rows(&call, j, c, b);
}

// The block that begins with query `first`.
static query_block block_at(const products_job *j, int64_t first) {
  enum { UNIT = 64 };  // key counts are rounded up, so that lines of scores are aligned
  int64_t count = smaller(j->block, j->queries - first), keys = j->keys;
  if (j->block < j->queries) keys = larger(round_up(keys - j->queries + first + count, UNIT), UNIT);
  return (query_block){first, count, smaller(keys, j->keys)};
}

// A factor with the lines of a block's queries.
static factor rows_of(const head_lines *x, const group_chunk *c, const query_block *b, bool is_chunk) {
  return (factor){.lines = x, .first_group = is_chunk ? 0 : c->first, .first_line = b->first};
}

static factor keys_of(const head_lines *x, const group_chunk *c, int64_t first, bool is_turned) {
  return (factor){.lines = x, .first_group = c->first, .first_line = first, .is_turned = is_turned};
}

static head_lines stored(const products_job *j, int which) {
  return (head_lines){j->buffers[which], 0, j->rows * j->pitch, j->pitch};
}

// --- Attention ----------------------------------------------------------------------------------------------------------

static tsr_status attend(const products_job *j, const group_chunk *c) {
  const tsri_gradient_place y = {.strides = {j->queries * j->heads * j->size, j->size, j->heads * j->size}};
  head_lines weights = stored(j, WEIGHTS);
  tsr_status status = TSR_OK;
  for (int64_t first = 0; first < j->queries && status == TSR_OK; first += j->block) {
    query_block b = block_at(j, first);
    int64_t rows = j->shared_by * b.count;
    status = multiply(j, c->count, rows, b.keys, j->depth, 1, rows_of(&j->q, c, &b, false), keys_of(&j->k, c, 0, true),
                      TSR_F32, j->buffers[SCORES]);
    if (status == TSR_OK) status = compute_weights(j, c, &b);
    if (status == TSR_OK)
      status = multiply(j, c->count, rows, j->size, b.keys, 1, rows_of(&weights, c, &b, true),
                        keys_of(&j->v, c, 0, false), j->dtype, j->buffers[RESULT]);
    if (status == TSR_OK) status = put(j, c, j->shared_by, first, b.count, j->size, j->run->output, &y);
  }
  return status;
}

// --- Gradient -----------------------------------------------------------------------------------------------------------

// The gradient of q for a block of queries; stores weights and gradients of scores.
static tsr_status go_back_by_queries(const products_job *j, const group_chunk *c, const query_block *b) {
  int64_t rows = j->shared_by * b->count;
  head_lines slopes = stored(j, SLOPES);
  tsri_gradient_place place = tsri_attention_gradient_place(j->run, 0);
  tsr_status status = multiply(j, c->count, rows, b->keys, j->depth, 1, rows_of(&j->q, c, b, false),
                               keys_of(&j->k, c, 0, true), TSR_F32, j->buffers[SCORES]);
  if (status == TSR_OK)
    status = multiply(j, c->count, rows, b->keys, j->size, 1, rows_of(&j->g, c, b, false), keys_of(&j->v, c, 0, true),
                      TSR_F32, j->buffers[SLOPES_IN]);
  if (status == TSR_OK) status = compute_slopes(j, c, b);
  if (status == TSR_OK)
    status = multiply(j, c->count, rows, j->depth, b->keys, j->given->scale, rows_of(&slopes, c, b, true),
                      keys_of(&j->k, c, 0, false), j->dtype, j->buffers[RESULT]);
  if (status != TSR_OK) return status;
  return put(j, c, j->shared_by, b->first, b->count, j->depth, j->run->outputs[place.output], &place);
}

// The gradient of k or v for the keys first .. last - 1, which no query before query `from` sees: the stored matrix x, turned, times the rows of y.
static tsr_status go_back_by_keys(const products_job *j, const group_chunk *c, int64_t first, int64_t last,
                                  int64_t from, bool is_k) {
  head_lines x = stored(j, is_k ? SLOPES : WEIGHTS);
  tsri_gradient_place place = tsri_attention_gradient_place(j->run, is_k ? 1 : 2);
  int64_t length = is_k ? j->depth : j->size;
  factor left = {.lines = &x, .first_line = from, .first_element = first, .is_turned = true};
  tsr_status status = multiply(j, c->count, last - first, length, j->rows - from, is_k ? j->given->scale : 1, left,
                               keys_of(is_k ? &j->q : &j->g, c, from, false), j->dtype, j->buffers[RESULT]);
  if (status != TSR_OK) return status;
  return put(j, c, 1, first, last - first, length, j->run->outputs[place.output], &place);
}

static tsr_status go_back(const products_job *j, const group_chunk *c) {
  tsr_status status = TSR_OK;
  for (int64_t first = 0; first < j->queries && status == TSR_OK; first += j->block) {
    query_block b = block_at(j, first);
    status = go_back_by_queries(j, c, &b);
  }
  int64_t key = 0;
  for (int64_t first = 0; first < j->queries && status == TSR_OK; first += j->block) {
    query_block b = block_at(j, first);
    if (b.keys == key) continue;
    status = go_back_by_keys(j, c, key, b.keys, first, true);
    if (status == TSR_OK) status = go_back_by_keys(j, c, key, b.keys, first, false);
    key = b.keys;
  }
  return status;
}

// --- Jobs ---------------------------------------------------------------------------------------------------------------

static void release(products_job *j) {
  for (int i = 0; i < BUFFERS; i++) tsr_buffer_release(j->buffers[i]);
}

// Whether products are faster than tiles. On an H200, gradients in tiles take 1.5 times as long without matrix units, and with them if heads have more than 64 elements, because
// their sums fill the registers. Attention of f32 is faster by products from heads of 128 elements on, unless it is causal: then tiles leave out more. That of 16 bits is
// not: its weights would be rounded to 16 bits.
static bool is_wanted(const products_job *j, bool has_units) {
  enum { LEAST_ROWS = 64, LEAST_KEYS = 64, MEDIUM_HEADS = 128, LARGE_HEADS = 256 };
  int least = TSRI_TUNED(tsri_tuning_of(j->device), attention_products);
  double work = (double)j->groups * (double)j->rows * (double)j->keys * (double)j->depth;
  int64_t sizes = j->depth + j->size;
  if (least <= 1) return least == 1;
  if (j->rows < LEAST_ROWS || j->keys < LEAST_KEYS || work < (double)least * (1 << 20)) return false;
  if (j->is_gradient) return !has_units || sizes > MEDIUM_HEADS;
  return j->dtype == TSR_F32 && (sizes > LARGE_HEADS || (sizes == LARGE_HEADS && !(has_units && j->given->is_causal)));
}

// Describes the job for heads of the shapes of q and v. False: tiles are faster, or a group's scores need too much memory.
static bool describe(const tsr_device *device, tsr_dtype dtype, const tsri_attention_attributes *given, tsr_shape q,
                     tsr_shape v, bool is_gradient, bool has_units, products_job *j) {
  *j = (products_job){.device = device,
                      .given = given,
                      .dtype = dtype,
                      .is_gradient = is_gradient,
                      .batch = q.dims[0],
                      .heads = q.dims[1],
                      .kv_heads = v.dims[1],
                      .queries = q.dims[2],
                      .keys = given->keys,
                      .depth = q.dims[3],
                      .size = v.dims[3]};
  if (j->batch == 0 || j->heads == 0 || j->kv_heads == 0) return false;
  j->shared_by = j->heads / j->kv_heads;
  j->groups = j->batch * j->kv_heads;
  j->rows = j->shared_by * j->queries;
  j->block = given->is_causal && j->shared_by == 1 && j->queries > BLOCK ? BLOCK : j->queries;
  j->pitch = round_up(j->keys, ALIGNMENT / (int64_t)tsr_dtype_bytes(dtype));
  int64_t element = (int64_t)tsr_dtype_bytes(dtype), block_rows = j->shared_by * j->block;
  int64_t of_group = (block_rows * j->keys * 4 + j->rows * j->pitch * element) * (is_gradient ? 2 : 1);
  int64_t chunks = (j->groups * of_group + CHUNK_BYTES - 1) / CHUNK_BYTES;
  j->chunk = (j->groups + chunks - 1) / chunks;
  return of_group <= MOST_BYTES && is_wanted(j, has_units);
}

static bool init(const tsri_kernel_run *run, bool is_gradient, bool has_units, products_job *j) {
  bool is_good = describe(run->device, run->input_dtypes[0], TSRI_GIVEN(run->node, attention), run->layouts[0].shape,
                          run->layouts[2].shape, is_gradient, has_units, j);
  j->run = run;
  return is_good;
}

bool tsri_attention_gradient_by_products(const tsr_device *device, tsr_dtype dtype,
                                         const tsri_attention_attributes *given, tsr_shape q, tsr_shape v) {
  products_job j;
  return describe(device, dtype, given, q, v, true, false, &j);
}

static tsr_status allocate(products_job *j) {
  int64_t scores = j->chunk * j->shared_by * j->block * j->keys, weights = j->chunk * j->rows * j->pitch;
  int64_t result = j->chunk * larger(j->shared_by * j->block, j->is_gradient ? j->keys : 0) * larger(j->depth, j->size);
  tsr_device *device = j->run->device;
  tsr_status status = tsri_call_scratch(device, scores, TSR_F32, &j->buffers[SCORES]);
  if (status == TSR_OK) status = tsri_call_scratch(device, weights, j->dtype, &j->buffers[WEIGHTS]);
  if (status == TSR_OK) status = tsri_call_scratch(device, result, j->dtype, &j->buffers[RESULT]);
  if (status == TSR_OK && j->is_gradient) {
    status = tsri_call_scratch(device, scores, TSR_F32, &j->buffers[SLOPES_IN]);
    if (status == TSR_OK) status = tsri_call_scratch(device, weights, j->dtype, &j->buffers[SLOPES]);
  } else if (status == TSR_OK && j->run->output_count < 2) {
    status = tsri_call_scratch(device, j->batch * j->heads * j->queries, TSR_F32, &j->buffers[LSE]);
  }
  return status == TSR_ERR_OUT_OF_MEMORY ? TSR_ERR_UNSUPPORTED : status;  // tiles need less
}

static tsr_status compute(products_job *j, int g) {
  const tsri_kernel_run *run = j->run;
  tsr_status status = allocate(j);
  if (status == TSR_OK) status = take(j, run->inputs[0], &run->layouts[0], j->shared_by, COPY_Q, &j->q);
  if (status == TSR_OK) status = take(j, run->inputs[1], &run->layouts[1], 1, COPY_K, &j->k);
  if (status == TSR_OK) status = take(j, run->inputs[2], &run->layouts[2], 1, COPY_V, &j->v);
  if (status == TSR_OK && j->is_gradient) {
    tsri_layout turned;
    tsri_layout_permute(&run->layouts[g], (const int[]){0, 2, 1, 3}, 4, &turned);
    status = take(j, run->inputs[g], &turned, j->shared_by, COPY_G, &j->g);
  }
  for (int64_t first = 0; first < j->groups && status == TSR_OK; first += j->chunk) {
    group_chunk c = {first, smaller(j->chunk, j->groups - first)};
    status = j->is_gradient ? go_back(j, &c) : attend(j, &c);
  }
  return status;
}

tsr_status tsri_attention_run_products(const tsri_kernel_run *run, bool has_units) {
  products_job j;
  if (!init(run, false, has_units, &j)) return TSR_ERR_UNSUPPORTED;
  tsr_status status = compute(&j, 0);
  release(&j);
  return status;
}

tsr_status tsri_attention_run_products_gradient(const tsri_kernel_run *run, bool has_units, tsr_buffer *stats, int g) {
  products_job j;
  if (!init(run, true, has_units, &j)) return TSR_ERR_UNSUPPORTED;
  j.stats = stats;
  tsr_status status = compute(&j, g);
  release(&j);
  return status;
}
