// SPDX-License-Identifier: MIT
// The gradient of attention: scores are computed again, a block of queries at a time, so that memory grows with the length of a sequence and not with its
// square.
//
// With P = softmax(S), S = cap tanh(scale q k^T / cap) + slopes + mask, and y = P v:
//   dv = P^T g,  dP = g v^T,  dS = P (dP - sum of P dP along keys),  dq = scale D k,  dk = scale D^T q  with D = dS (1 - tanh^2).
#include "grad/again.h"
#include "grad/place.h"
#include "grad/range.h"
#include "ops/attention_native.h"
#include "ops/attention_tiles.h"

// Queries of a block: large enough for efficient products, small enough that the scores of 64 heads and 1,024 keys fit into caches.
enum { QUERIES = 256 };

// The inputs of the operator. The heads that share a kv head have an axis of their own: q is [batch, kv heads, sharing, queries, size], k and v are
// [batch, kv heads, 1, keys, size].
typedef struct attention {
  const tsri_attention_attributes *given;
  tsr_device *device;
  tsr_dtype dtype;  // in which the gradient is computed
  tsr_tensor *q, *k, *v, *g;
  tsr_tensor *mask, *slopes, *lengths, *blocks;  // as far as they are given
  int64_t batch, kv_heads, shared_by, queries, keys;
} attention;

// Splits the axis of heads: [batch, heads, …] becomes [batch, kv heads, sharing, …].
static tsr_tensor *with_heads_apart(const attention *a, tsr_tensor *x) {
  tsr_shape shape = tsr_tensor_shape(x);
  tsr_shape apart = {.rank = 5, .dims = {shape.dims[0], a->kv_heads, a->shared_by, shape.dims[2], shape.dims[3]}};
  if (shape.dims[1] == 1 && a->kv_heads * a->shared_by > 1) apart.dims[1] = apart.dims[2] = 1;
  return tsr_reshape(x, apart);
}

// --- Paged caches --------------------------------------------------------------------------------------------------------

// The block numbers of each sequence, with 0 in place of blocks that do not exist.
static tsr_tensor *existing_blocks(const attention *a, tsr_tensor *pages) {
  double count = (double)tsr_tensor_shape(pages).dims[0];
  tsr_tensor *is_none = tsr_logical_or(tsr_lt_scalar(a->blocks, 0), tsr_ge_scalar(a->blocks, count));
  return tsr_masked_fill(a->blocks, is_none, 0);
}

// [blocks, kv heads, positions, size] as [batch, kv heads, keys, size].
static tsr_tensor *gather_pages(const attention *a, tsr_tensor *pages) {
  tsr_shape shape = tsr_tensor_shape(pages), table = tsr_tensor_shape(a->blocks);
  tsr_tensor *list = tsr_reshape(existing_blocks(a, pages), TSR_SHAPE(table.dims[0] * table.dims[1]));
  tsr_tensor *read = tsr_reshape(tsr_index_select(pages, 0, list),
                                 TSR_SHAPE(table.dims[0], table.dims[1], shape.dims[1], shape.dims[2], shape.dims[3]));
  tsr_tensor *ordered = tsr_permute(read, (const int[]){0, 2, 1, 3, 4}, 5);
  return tsr_reshape(ordered, TSR_SHAPE(table.dims[0], shape.dims[1], table.dims[1] * shape.dims[2], shape.dims[3]));
}

// The reverse of gather_pages: adds the gradients of keys to the pages from which they were read.
static tsr_tensor *scatter_pages(const attention *a, tsr_tensor *gradient, tsr_tensor *pages) {
  tsr_shape shape = tsr_tensor_shape(pages), table = tsr_tensor_shape(a->blocks);
  tsr_tensor *apart =
      tsr_reshape(gradient, TSR_SHAPE(table.dims[0], shape.dims[1], table.dims[1], shape.dims[2], shape.dims[3]));
  tsr_tensor *ordered = tsr_permute(apart, (const int[]){0, 2, 1, 3, 4}, 5);
  tsr_tensor *rows =
      tsr_reshape(ordered, TSR_SHAPE(table.dims[0] * table.dims[1], shape.dims[1] * shape.dims[2] * shape.dims[3]));
  tsr_tensor *list = tsr_reshape(existing_blocks(a, pages), TSR_SHAPE(table.dims[0] * table.dims[1], 1));
  tsr_tensor *zeros = tsr_zeros(a->device, a->dtype, TSR_SHAPE(shape.dims[0], tsr_tensor_shape(rows).dims[1]));
  return tsr_reshape(tsr_scatter_add(zeros, 0, tsr_expand(list, tsr_tensor_shape(rows)), rows), shape);
}

// --- Scores --------------------------------------------------------------------------------------------------------------

// A block of queries, and the keys that they may see.
typedef struct block {
  int64_t from, to, keys;
} block;

// Position of the key minus position of the query: [batch or 1, 1, 1, queries, keys].
static tsr_tensor *distances(const attention *a, const block *b) {
  double first = (double)(b->from - a->queries) + (a->lengths ? 0 : (double)a->keys);
  tsr_tensor *rows = tsr_arange(a->device, TSR_I32, first, first + (double)(b->to - b->from), 1);
  rows = tsr_reshape(rows, TSR_SHAPE(b->to - b->from, 1));
  if (a->lengths) rows = tsr_add(rows, tsr_reshape(a->lengths, TSR_SHAPE(a->batch, 1, 1, 1, 1)));
  return tsr_sub(tsr_arange(a->device, TSR_I32, 0, (double)b->keys, 1), rows);
}

// The union of two masks of hidden scores; `hidden` NULL: none so far.
static tsr_tensor *either(tsr_tensor *hidden, tsr_tensor *more) { return hidden ? tsr_logical_or(hidden, more) : more; }

// Keys of blocks that do not exist: [batch, 1, 1, 1, keys].
static tsr_tensor *missing_pages(const attention *a, const grad_view *v) {
  tsr_shape pages = tsr_tensor_shape(v->inputs[1]);
  tsr_tensor *is_none = tsr_logical_or(tsr_lt_scalar(a->blocks, 0), tsr_ge_scalar(a->blocks, (double)pages.dims[0]));
  return tsr_reshape(tsr_repeat(is_none, pages.dims[2], 1), TSR_SHAPE(a->batch, 1, 1, 1, a->keys));
}

// Which scores do not count; NULL: all do.
static tsr_tensor *hidden_scores(const attention *a, const grad_view *v, const block *b, tsr_tensor *distance,
                                 tsr_tensor *mask) {
  tsr_tensor *hidden = NULL;
  if (a->given->is_causal) hidden = tsr_gt_scalar(distance, 0);
  if (a->given->window) hidden = either(hidden, tsr_le_scalar(distance, -(double)a->given->window));
  if (a->lengths) {
    tsr_tensor *numbers = tsr_arange(a->device, TSR_I32, 0, (double)b->keys, 1);
    hidden = either(hidden, tsr_ge(numbers, tsr_reshape(a->lengths, TSR_SHAPE(a->batch, 1, 1, 1, 1))));
  }
  if (a->blocks) hidden = either(hidden, tsr_slice(missing_pages(a, v), 4, 0, b->keys, 1));
  if (mask && a->given->mask == TSRI_MASK_TRUTH) hidden = either(hidden, tsr_eq_scalar(mask, 0));
  return hidden;
}

// The part of the mask that belongs to a block, without axes along which it is repeated.
static tsr_tensor *mask_of(const attention *a, const block *b) {
  tsr_tensor *mask = a->mask;
  if (!mask) return NULL;
  for (int i = 0; i < 4; i++) {
    bool is_repeated = mask->layout.strides[i] == 0;
    if (is_repeated) mask = tsr_slice(mask, i, 0, 1, 1);
    else if (i == 2) mask = tsr_slice(mask, i, b->from, b->to, 1);
    else if (i == 3) mask = tsr_slice(mask, i, 0, b->keys, 1);
  }
  return with_heads_apart(a, mask);
}

// What the rule computes of a block.
typedef struct gradient_parts {
  tsr_tensor *q, *k, *v, *g;
  tsr_tensor *weights;   // P
  tsr_tensor *bend;      // 1 - tanh^2; NULL: 1
  tsr_tensor *distance;  // NULL: not needed
  tsr_tensor *scores;    // gradients of S
} gradient_parts;

static void compute_weights(const attention *a, const grad_view *view, const block *b, gradient_parts *p) {
  const double lowest = -1e30;  // its exponential is 0
  tsr_tensor *scores = tsr_gemm(a->given->scale, p->q, tsr_transpose(p->k, -2, -1), 0, NULL);
  if (a->given->softcap > 0) {
    tsr_tensor *share = tsr_tanh(tsr_div_scalar(scores, a->given->softcap));
    p->bend = tsr_rsub_scalar(tsr_square(share), 1);
    scores = tsr_mul_scalar(share, a->given->softcap);
  }
  if (a->given->is_causal || a->slopes) p->distance = distances(a, b);
  tsr_tensor *mask = mask_of(a, b);
  if (a->slopes) {
    tsr_tensor *slopes = tsr_reshape(a->slopes, TSR_SHAPE(a->kv_heads, a->shared_by, 1, 1));
    scores = tsr_add(scores, tsr_mul(slopes, tsr_cast(p->distance, a->dtype)));
  }
  if (mask && a->given->mask == TSRI_MASK_ADDED) scores = tsr_add(scores, tsr_cast(mask, a->dtype));
  tsr_tensor *hidden = hidden_scores(a, view, b, p->distance, mask);
  if (mask && a->given->mask == TSRI_MASK_ADDED) hidden = either(hidden, tsr_lt_scalar(scores, lowest));
  p->weights = tsr_softmax(hidden ? tsr_masked_fill(scores, hidden, lowest) : scores, -1);
  if (hidden) p->weights = tsr_masked_fill(p->weights, hidden, 0);  // rows in which nothing is seen are 0
}

static gradient_parts compute_block(const attention *a, const grad_view *view, const block *b) {
  gradient_parts p = {.q = tsr_slice(a->q, 3, b->from, b->to, 1),
                      .g = tsr_slice(a->g, 3, b->from, b->to, 1),
                      .k = tsr_slice(a->k, 3, 0, b->keys, 1),
                      .v = tsr_slice(a->v, 3, 0, b->keys, 1)};
  compute_weights(a, view, b, &p);
  tsr_tensor *by_weight = tsr_matmul(p.g, tsr_transpose(p.v, -2, -1));
  tsr_tensor *mean = tsr_sum(tsr_mul(p.weights, by_weight), TSR_AXES(-1), true);
  p.scores = tsr_mul(p.weights, tsr_sub(by_weight, mean));
  return p;
}

// --- Gradients -----------------------------------------------------------------------------------------------------------

// Gradients so far: of k and v for all keys, of q and the mask a block after the other.
typedef struct gradient_sums {
  tsr_tensor *q, *k, *v, *mask, *slopes;
} gradient_sums;

static tsr_tensor *plus(tsr_tensor *sum, tsr_tensor *part) { return sum ? tsr_add(sum, part) : part; }

// Adds `part`, [batch, kv heads, 1, keys of a block, size], to the gradient of all keys.
static tsr_tensor *plus_keys(const attention *a, tsr_tensor *sum, tsr_tensor *part) {
  int64_t before[5] = {0}, after[5] = {0, 0, 0, a->keys - tsr_tensor_shape(part).dims[3], 0};
  return plus(sum, after[3] > 0 ? tsr_pad(part, before, after, 5, 0) : part);
}

// x^T y of each head, added up over heads that share.
static tsr_tensor *product_of_heads(tsr_tensor *x, tsr_tensor *y) {
  return tsr_sum(tsr_matmul(tsr_transpose(x, -2, -1), y), TSR_AXES(2), true);
}

// The gradient of a block of the mask: added up over axes along which it is repeated, with zeros for keys that the block leaves out.
static tsr_tensor *mask_gradient(const attention *a, const block *b, tsr_tensor *scores) {
  tsr_tensor *g = tsr_reshape(scores, TSR_SHAPE(a->batch, a->kv_heads * a->shared_by, b->to - b->from, b->keys));
  int64_t before[4] = {0}, after[4] = {0, 0, 0, a->keys - b->keys};
  if (after[3] > 0) g = tsr_pad(g, before, after, 4, 0);
  for (int i = 0; i < 4; i++) {
    if (a->mask->layout.strides[i] == 0 && tsr_tensor_shape(g).dims[i] > 1) g = tsr_sum(g, &i, 1, true);
  }
  return g;
}

static void add_mask(const attention *a, const block *b, tsr_tensor *scores, gradient_sums *s) {
  tsr_tensor *g = mask_gradient(a, b, scores);
  if (a->mask->layout.strides[2] == 0) s->mask = plus(s->mask, g);
  else s->mask = s->mask ? tsr_concat((tsr_tensor *[]){s->mask, g}, 2, 2) : g;
}

static void add_block(const attention *a, const grad_view *view, const block *b, int mask, int slopes,
                      gradient_sums *s) {
  gradient_parts p = compute_block(a, view, b);
  if (view->wants[2]) s->v = plus_keys(a, s->v, product_of_heads(p.weights, p.g));
  if (mask && view->wants[mask]) add_mask(a, b, p.scores, s);
  if (slopes && view->wants[slopes]) {
    tsr_tensor *each = tsr_mul(p.scores, tsr_cast(p.distance, a->dtype));
    s->slopes = plus(s->slopes, tsr_sum(each, TSR_AXES(0, 3, 4), false));
  }
  tsr_tensor *products = p.bend ? tsr_mul(p.scores, p.bend) : p.scores;
  if (view->wants[1]) s->k = plus_keys(a, s->k, tsr_mul_scalar(product_of_heads(products, p.q), a->given->scale));
  if (!view->wants[0]) return;
  tsr_tensor *dq = tsr_gemm(a->given->scale, products, p.k, 0, NULL);
  s->q = s->q ? tsr_concat((tsr_tensor *[]){s->q, dq}, 2, 3) : dq;
}

// Inputs: q, k, v, then those that are given of mask, slopes, and the table of lengths and blocks.
static attention read_inputs(const grad_view *v, int *out_mask, int *out_slopes) {
  const tsri_attention_attributes *given = TSRI_GIVEN(v, attention);
  attention a = {.given = given, .device = v->inputs[0]->value->device};
  int next = 3;
  *out_mask = given->mask != TSRI_MASK_NONE ? next++ : 0;
  *out_slopes = given->has_slopes ? next++ : 0;
  tsr_tensor *table = given->has_lengths || given->has_blocks ? v->inputs[next] : NULL;
  if (given->has_lengths) a.lengths = tsr_slice(table, 1, 0, 1, 1);
  if (given->has_blocks) a.blocks = given->has_lengths ? tsr_slice(table, 1, 1, INT64_MAX, 1) : table;
  tsr_tensor *q = tsri_grad_wide(v->inputs[0]), *k = tsri_grad_wide(v->inputs[1]),
             *values = tsri_grad_wide(v->inputs[2]);
  a.dtype = tsr_tensor_dtype(q);
  a.batch = tsr_tensor_shape(q).dims[0];
  a.queries = tsr_tensor_shape(q).dims[2];
  a.keys = given->keys;
  a.kv_heads = tsr_tensor_shape(k).dims[1];
  a.shared_by = a.kv_heads > 0 ? tsr_tensor_shape(q).dims[1] / a.kv_heads : 1;
  if (a.blocks) {
    k = gather_pages(&a, k);
    values = gather_pages(&a, values);
  }
  a.q = with_heads_apart(&a, q);
  tsr_tensor *g = tsri_grad_wide(v->cotangents[0]);
  a.g = with_heads_apart(&a, given->is_tiled ? tsr_transpose(g, 1, 2) : g);
  a.k = tsr_unsqueeze(k, 2);
  a.v = tsr_unsqueeze(values, 2);
  a.mask = *out_mask ? v->inputs[*out_mask] : NULL;
  a.slopes = *out_slopes ? tsri_grad_wide(v->inputs[*out_slopes]) : NULL;
  return a;
}

// Keys that some query of a block may see: a causal one sees none behind its own position.
static int64_t keys_of(const attention *a, int64_t to) {
  int64_t seen = a->keys - a->queries + to;
  if (!a->given->is_causal || a->lengths || seen >= a->keys) return a->keys;
  return seen > 1 ? seen : 1;
}

static tsr_tensor *of_pages(const attention *a, tsr_tensor *gradient, tsr_tensor *input) {
  if (!gradient) return NULL;
  tsr_tensor *flat = tsr_squeeze(gradient, 2);
  return a->blocks ? scatter_pages(a, flat, input) : flat;
}

// Whether q, k and v are parts of one tensor that leave nothing of it out: their gradients can then be one tensor, too. Not if gradients of gradients may be needed, which the separate results have.
static bool is_joined(const grad_view *v) {
  const tsri_layout *views[3];
  int64_t count = 0;
  for (int i = 0; i < 3; i++) {
    const tsr_tensor *x = v->inputs[i];
    if (!v->wants[i] || x->value != v->inputs[0]->value || x->layout.strides[3] != 1) return false;
    views[i] = &x->layout;
    count += x->layout.count;
  }
  return !tsri_grad_is_remembered() && tsri_grad_are_parts(views, 3, count);
}

// Computes the gradient by one operator that works in tiles. That operator has no gradient itself and computes none for masks and slopes, so it is not used
// (false) if gradients of the gradients may be needed, or those of masks and slopes.
static bool go_back_in_tiles(const grad_view *v) {
  if (v->output_count < 2 || !v->outputs[1] || !v->cotangents[0] || tsri_grad_is_remembered()) return false;
  for (int i = 3; i < v->input_count; i++) {
    if (v->wants[i]) return false;
  }
  tsr_tensor *results[3];
  tsri_attention_gradient(v->inputs, v->input_count, v->outputs[0], v->outputs[1], v->cotangents[0],
                          TSRI_GIVEN(v, attention), is_joined(v), results);
  for (int i = 0; i < 3; i++) {
    if (v->wants[i]) v->gradients[i] = results[i];
  }
  return true;
}

static void compose(const grad_view *v) {
  int mask = 0, slopes = 0;
  attention a = read_inputs(v, &mask, &slopes);
  gradient_sums s = {NULL, NULL, NULL, NULL, NULL};
  if (tsr_tensor_count(a.q) == 0 || tsr_tensor_count(a.k) == 0 || tsr_tensor_count(a.g) == 0) return;
  for (int64_t from = 0; from < a.queries; from += QUERIES) {
    int64_t to = from + QUERIES < a.queries ? from + QUERIES : a.queries;
    add_block(&a, v, &(block){.from = from, .to = to, .keys = keys_of(&a, to)}, mask, slopes, &s);
  }
  if (s.q) v->gradients[0] = tsr_reshape(s.q, tsr_tensor_shape(v->inputs[0]));
  v->gradients[1] = of_pages(&a, s.k, v->inputs[1]);
  v->gradients[2] = of_pages(&a, s.v, v->inputs[2]);
  if (mask) v->gradients[mask] = s.mask;
  if (slopes && s.slopes) v->gradients[slopes] = tsr_reshape(s.slopes, tsr_tensor_shape(v->inputs[slopes]));
}

// By one operator of the device, which has no gradients of masks and slopes.
static bool is_native(const grad_view *v) {
  for (int i = 3; i < v->input_count; i++) {
    if (v->wants[i]) return false;
  }
  return v->cotangents[0] &&
         tsri_attention_has_gradient(v->inputs, v->input_count, v->cotangents[0], TSRI_GIVEN(v, attention));
}

void tsri_gradient_attention(const grad_view *v) {
  tsri_attention_attributes given = *TSRI_GIVEN(v, attention);
  tsr_tensor *results[3], *g = v->cotangents[0];
  if (!is_native(v)) {
    if (!go_back_in_tiles(v)) compose(v);
    return;
  }
  if (given.is_tiled) g = tsr_transpose(g, 1, 2);
  given.is_tiled = false;  // the operator takes a cotangent of the shape [batch, head, position, element]
  tsri_attention_gradients(v->inputs, v->input_count, g, &given, is_joined(v), results);
  for (int i = 0; i < 3; i++) {
    if (v->wants[i]) v->gradients[i] = results[i];
  }
}

// --- Gradients of gradients ----------------------------------------------------------------------------------------------

// The same results as the native operator gives, [batch, row, head, element], composed of operators that have gradients. The last input is the cotangent.
static tsr_status compose_gradients(const grad_view *v, tsr_tensor *const *inputs, tsr_tensor **outputs) {
  enum { MOST = 8 };
  const bool wants[MOST] = {true, true, true};
  tsr_tensor *gradients[MOST] = {NULL};
  int count = v->input_count - 1;
  compose(&(grad_view){.op = v->op,
                       .attributes = v->attributes,
                       .input_count = count,
                       .output_count = 1,
                       .inputs = inputs,
                       .cotangents = &inputs[count],
                       .wants = wants,
                       .gradients = gradients});
  for (int i = 0; i < 3; i++) outputs[i] = tsr_contiguous(tsr_transpose(gradients[i], 1, 2));
  return TSR_OK;
}

void tsri_gradient_of_attention_gradient(const grad_view *v) { tsri_grad_again(v, compose_gradients); }
