// SPDX-License-Identifier: MIT
// Attention, its scores and its weighted sum: a reference that computes every score, and cases.
#include <float.h>
#include <math.h>
#include <string.h>

#include "check_products.h"
#include "check_reference.h"
#include "check_run.h"

// A HIDING_MASK is added, too: 0 or -infinity, which hides all keys of every seventh row.
typedef enum mask_kind { NO_MASK, TRUTH_MASK, ADDED_MASK, HIDING_MASK } mask_kind;

typedef struct attention_case {
  const char *name;
  check_weight weight;
  check_view view;
  int64_t batch, heads, kv_heads, queries, keys, depth, size;
  mask_kind mask;
  tsr_shape mask_shape;
  bool has_slopes;
  tsr_attention_desc desc;
  int64_t block;     // positions of a block of a paged cache, which divides the keys; 0: not paged
  bool has_lengths;  // of each sequence
} attention_case;

#define P CHECK_PLAIN
static const attention_case cases[] = {
    {"plain", CHECK_ALWAYS, P, 2, 3, 3, 5, 7, 11, 13, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"causal", CHECK_ALWAYS, P, 1, 2, 2, 7, 7, 8, 8, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"decode", CHECK_ALWAYS, P, 2, 4, 2, 1, 13, 16, 16, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"decode-long", CHECK_OFTEN, P, 1, 6, 2, 1, 301, 32, 24, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"causal-longer", CHECK_OFTEN, P, 1, 2, 1, 9, 5, 4, 3, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"window",
     CHECK_OFTEN,
     P,
     1,
     2,
     2,
     11,
     13,
     8,
     5,
     NO_MASK,
     {0, {0}},
     false,
     {.causal = true, .window = 3},
     0,
     false},
    {"truth", CHECK_ALWAYS, P, 2, 2, 2, 5, 7, 8, 8, TRUTH_MASK, {4, {2, 1, 5, 7}}, false, {.scale = 0}, 0, false},
    {"added", CHECK_ALWAYS, P, 2, 2, 2, 5, 7, 8, 8, ADDED_MASK, {2, {5, 7}}, false, {.scale = 0.5}, 0, false},
    {"slopes", CHECK_OFTEN, P, 1, 4, 2, 5, 9, 8, 8, NO_MASK, {0, {0}}, true, {.causal = true}, 0, false},
    {"softcap", CHECK_OFTEN, P, 1, 2, 2, 5, 9, 8, 8, NO_MASK, {0, {0}}, false, {.softcap = 2.5}, 0, false},
    {"all",
     CHECK_OFTEN,
     P,
     2,
     4,
     2,
     5,
     9,
     7,
     3,
     ADDED_MASK,
     {4, {1, 4, 1, 9}},
     true,
     {.causal = true, .softcap = 4, .window = 5},
     0,
     false},
    {"one", CHECK_OFTEN, P, 1, 1, 1, 1, 1, 1, 1, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"256", CHECK_OFTEN, P, 1, 1, 1, 2, 3, 256, 256, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"transposed",
     CHECK_OFTEN,
     CHECK_TRANSPOSED,
     1,
     2,
     2,
     5,
     7,
     6,
     4,
     NO_MASK,
     {0, {0}},
     false,
     {.scale = 0},
     0,
     false},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, 2, 2, 1, 5, 7, 6, 4, TRUTH_MASK, {2, {5, 7}}, false, {.scale = 0}, 0, false},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, 1, 2, 2, 5, 7, 6, 4, NO_MASK, {0, {0}}, true, {.causal = true}, 0, false},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, 2, 2, 2, 5, 3, 6, 4, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"lengths", CHECK_ALWAYS, P, 3, 2, 2, 2, 9, 8, 4, NO_MASK, {0, {0}}, true, {.causal = true}, 0, true},
    {"lengths-all", CHECK_OFTEN, P, 3, 2, 1, 2, 9, 8, 4, TRUTH_MASK, {2, {2, 9}}, false, {.scale = 1}, 0, true},
    {"paged", CHECK_ALWAYS, P, 2, 4, 2, 3, 12, 8, 8, NO_MASK, {0, {0}}, false, {.causal = true}, 4, false},
    {"paged-lengths", CHECK_ALWAYS, P, 3, 2, 1, 1, 15, 8, 5, NO_MASK, {0, {0}}, true, {.causal = true}, 5, true},
    {"paged-added", CHECK_OFTEN, P, 2, 2, 2, 4, 6, 8, 8, ADDED_MASK, {2, {4, 6}}, false, {.softcap = 3}, 1, false},
    {"no-keys", CHECK_OFTEN, P, 1, 2, 2, 3, 0, 4, 5, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"no-queries", CHECK_OFTEN, P, 1, 2, 2, 0, 3, 4, 5, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"tiles", CHECK_ALWAYS, P, 2, 4, 2, 37, 70, 24, 20, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"tiles-wide", CHECK_OFTEN, P, 1, 2, 2, 65, 65, 64, 64, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"tiles-window",
     CHECK_OFTEN,
     P,
     1,
     2,
     1,
     40,
     70,
     16,
     16,
     NO_MASK,
     {0, {0}},
     false,
     {.causal = true, .window = 9},
     0,
     false},
    {"tiles-truth",
     CHECK_OFTEN,
     P,
     2,
     2,
     2,
     33,
     17,
     8,
     8,
     TRUTH_MASK,
     {4, {2, 1, 33, 17}},
     false,
     {.softcap = 2},
     0,
     false},
    {"tiles-added", CHECK_OFTEN, P, 1, 2, 2, 9, 40, 7, 5, ADDED_MASK, {2, {9, 40}}, false, {.scale = 0.5}, 0, false},
    {"tiles-slopes", CHECK_OFTEN, P, 1, 4, 2, 20, 33, 8, 8, NO_MASK, {0, {0}}, true, {.causal = true}, 0, false},
    {"tiles-lengths", CHECK_OFTEN, P, 3, 2, 2, 12, 36, 8, 4, NO_MASK, {0, {0}}, false, {.causal = true}, 0, true},
    {"tiles-256", CHECK_OFTEN, P, 1, 1, 1, 18, 33, 256, 250, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"tiles-sliced",
     CHECK_OFTEN,
     CHECK_SLICED,
     2,
     2,
     1,
     34,
     20,
     16,
     8,
     NO_MASK,
     {0, {0}},
     false,
     {.causal = true},
     0,
     false},
    {"long", CHECK_HEAVY, P, 1, 1, 1, 3, 2003, 16, 16, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"prefill", CHECK_HUGE, P, 1, 4, 2, 260, 260, 64, 64, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"prefill-decode", CHECK_HUGE, P, 1, 8, 2, 1, 33000, 64, 64, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"prefill-all", CHECK_HUGE, P, 1, 3, 3, 280, 320, 64, 64, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"head-160", CHECK_HUGE, P, 1, 4, 4, 170, 170, 160, 160, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"head-192", CHECK_HUGE, P, 1, 4, 2, 160, 160, 192, 192, NO_MASK, {0, {0}}, false, {.causal = true}, 0, false},
    {"head-256", CHECK_HUGE, P, 1, 3, 3, 160, 150, 256, 256, NO_MASK, {0, {0}}, false, {.scale = 0}, 0, false},
    {"head-256-causal",
     CHECK_HUGE,
     P,
     1,
     3,
     1,
     150,
     150,
     256,
     256,
     NO_MASK,
     {0, {0}},
     false,
     {.causal = true},
     0,
     false},
    {"hidden", CHECK_OFTEN, P, 2, 2, 2, 5, 7, 8, 8, HIDING_MASK, {2, {5, 7}}, false, {.scale = 0.5}, 0, false},
    {"tiles-hidden", CHECK_OFTEN, P, 1, 2, 2, 9, 40, 7, 5, HIDING_MASK, {2, {9, 40}}, false, {.scale = 0.5}, 0, false},
    {"added-keys",
     CHECK_HUGE,
     P,
     2,
     4,
     4,
     192,
     192,
     64,
     64,
     ADDED_MASK,
     {4, {2, 1, 1, 192}},
     false,
     {.scale = 0},
     0,
     false},
    {"added-heads",
     CHECK_HUGE,
     P,
     2,
     4,
     2,
     192,
     192,
     64,
     64,
     ADDED_MASK,
     {4, {1, 4, 192, 1}},
     false,
     {.causal = true},
     0,
     false},
    {"added-each",
     CHECK_HUGE,
     P,
     2,
     4,
     4,
     191,
     193,
     64,
     64,
     ADDED_MASK,
     {4, {2, 4, 191, 193}},
     false,
     {.scale = 0},
     0,
     false},
    {"hidden-each",
     CHECK_HUGE,
     P,
     1,
     4,
     2,
     150,
     264,
     128,
     96,
     HIDING_MASK,
     {4, {1, 4, 150, 264}},
     false,
     {.scale = 0},
     0,
     false},
    {"hidden-causal",
     CHECK_HUGE,
     P,
     2,
     4,
     4,
     192,
     192,
     64,
     64,
     HIDING_MASK,
     {4, {2, 1, 192, 192}},
     false,
     {.causal = true},
     0,
     false},
};
#undef P

// The inputs of a case. Their values are converted to `dtype`, the dtype of the computation, before the reference uses them.
typedef struct inputs {
  const attention_case *c;
  tsr_dtype dtype;
  check_tensor *q, *k, *v, *mask, *slopes,
      *lengths;  // k and v are [batch, kv heads, keys, size], also of a paged cache
} inputs;

static double real_at(const inputs *in, const check_tensor *t, int64_t b, int64_t h, int64_t i, int64_t d) {
  int64_t index[TSR_MAX_RANK] = {b, h, i, d};
  return check_convert(in->dtype, t->dtype, t->values[check_ravel(t->shape, index)]).real;
}

// The score of query i and key j; -infinity if a mask hides the key. Raises *out_magnitude to the magnitude that the score's error is measured by.
static double score_of(const inputs *in, int64_t b, int64_t h, int64_t i, int64_t j, double *out_magnitude) {
  const attention_case *c = in->c;
  int64_t keys = in->lengths ? in->lengths->values[b].whole : c->keys, position = i + keys - c->queries;
  int64_t index[4] = {b, h, i, j};
  if (j >= keys) return -INFINITY;
  if (c->desc.causal && j > position) return -INFINITY;
  if (c->desc.window && j <= position - c->desc.window) return -INFINITY;
  check_value mask = {0};
  if (in->mask) mask = in->mask->values[check_broadcast_at(in->mask->shape, 4, index)];
  if (c->mask == TRUTH_MASK && !mask.whole) return -INFINITY;
  ref_sum sum = {0};
  double scale = c->desc.scale != 0 ? c->desc.scale : 1 / sqrt((double)c->depth), size = 0;
  for (int64_t d = 0; d < c->depth; d++) {
    double x = real_at(in, in->q, b, h, i, d), y = real_at(in, in->k, b, h / (c->heads / c->kv_heads), j, d);
    ref_sum_add_product(&sum, x, y);
    size += fabs(x * y);
  }
  double score = ref_sum_value(&sum) * scale;
  if (c->desc.softcap > 0) score = c->desc.softcap * tanh(score / c->desc.softcap);
  double slope = in->slopes ? check_convert(in->dtype, in->slopes->dtype, in->slopes->values[h]).real : 0;
  bool is_added = c->mask == ADDED_MASK || c->mask == HIDING_MASK;
  double added = is_added ? check_convert(in->dtype, in->mask->dtype, mask).real : 0;
  if (added == -INFINITY) return added;
  *out_magnitude = fmax(*out_magnitude, size * scale + fabs(slope * (double)(j - position)) + fabs(added));
  return score + slope * (double)(j - position) + added;
}

// Whether the device may round the weights to the dtype before it multiplies them by v. cuDNN does, because matrix units take 16-bit factors; the CUDA backend uses it
// from 2^24 multiplications on (tsri_cuda_least_attention). Everywhere else weights stay f32.
static bool rounds_weights(const check_run *run, const inputs *in) {
  const attention_case *c = in->c;
  int64_t products = c->batch * c->heads * c->queries * c->keys * c->depth;
  return check_is_narrow(in->dtype) && strcmp(run->backend, "cuda") == 0 && products >= 1 << 24;
}

// The largest rounding error of a weight in the dtype: half a unit in its last place, or half the least subnormal number.
static double lost_weight(tsr_dtype dtype, double weight) {
  return fmax(weight * check_roundoff(dtype), check_min_normal(dtype) * check_roundoff(dtype));
}

// One row of the result. The error of a score is proportional to its magnitude.
static void expect_row(check_run *run, const inputs *in, int64_t b, int64_t h, int64_t i, check_expected *wanted) {
  const attention_case *c = in->c;
  double *scores = check_alloc(run, (size_t)c->keys, sizeof *scores), top = -INFINITY, size = 1;
  double *shares = check_alloc(run, (size_t)c->keys, sizeof *shares);
  for (int64_t j = 0; j < c->keys; j++) top = fmax(top, scores[j] = score_of(in, b, h, i, j, &size));
  ref_sum all = {0};
  for (int64_t j = 0; j < c->keys; j++) {
    shares[j] = scores[j] == -INFINITY ? 0 : exp(scores[j] - top);
    ref_sum_add(&all, shares[j]);
  }
  bool is_rounded = rounds_weights(run, in);
  double allowed = check_allowed(CHECK_ROWS, in->dtype, run->backend, wanted->terms) * check_roundoff(TSR_F32);
  for (int64_t d = 0; d < c->size; d++) {
    ref_sum sum = {0};
    double magnitude = 0, lost = 0;
    for (int64_t j = 0; j < c->keys; j++) {
      if (scores[j] == -INFINITY) continue;
      double value = real_at(in, in->v, b, h / (c->heads / c->kv_heads), j, d);
      ref_sum_add(&sum, shares[j] * value);
      magnitude += fabs(value) * (shares[j] + ref_lost_exp(top - scores[j]));
      if (is_rounded) lost += fabs(value) * lost_weight(in->dtype, shares[j]);
    }
    double total = ref_sum_value(&all);
    int64_t at = ((b * c->heads + h) * c->queries + i) * c->size + d;
    wanted->values[at].real = total > 0 ? ref_sum_value(&sum) / total : 0;
    wanted->magnitudes[at] = total > 0 ? (magnitude * (1 + size) + lost / allowed) / total + FLT_MIN : 0;
  }
}

static check_expected *expect(check_run *run, const inputs *in) {
  const attention_case *c = in->c;
  check_expected *wanted = check_expect(run, in->dtype, TSR_SHAPE(c->batch, c->heads, c->queries, c->size));
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = c->keys + c->depth;
  for (int64_t row = 0; row < c->batch * c->heads * c->queries; row++) {
    expect_row(run, in, row / c->queries / c->heads, row / c->queries % c->heads, row % c->queries, wanted);
  }
  return wanted;
}

// Integers stay small: scores of large ones differ by so much that rounding decides which key wins.
static check_tensor *make_input(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view) {
  bool is_whole = CHECK_WHOLE_TYPES & CHECK_BIT(dtype);
  return is_whole ? check_indices(run, dtype, shape, view, 0, 3) : check_input(run, dtype, shape, view, CHECK_TAME);
}

// Copies k or v into a paged cache [blocks, kv heads, c->block, depth or size]. `table` lists the blocks of each sequence. No sequence uses block 0.
static check_tensor *paged(check_run *run, const attention_case *c, const check_tensor *plain,
                           const check_value *table) {
  int64_t size = plain->shape.dims[3], blocks = c->keys / c->block;
  tsr_shape shape = TSR_SHAPE(1 + c->batch * blocks, c->kv_heads, c->block, size);
  check_value *values = check_alloc(run, (size_t)check_count(shape), sizeof *values);
  for (int64_t at = 0; at < plain->count; at++) {
    int64_t index[TSR_MAX_RANK];
    check_unravel(plain->shape, at, index);
    int64_t block = table[index[0] * blocks + index[2] / c->block].whole;
    values[((block * c->kv_heads + index[1]) * c->block + index[2] % c->block) * size + index[3]] = plain->values[at];
  }
  return check_input_of(run, plain->dtype, shape, CHECK_PLAIN, values);
}

static check_tensor *make_hiding_mask(check_run *run, tsr_dtype dtype, tsr_shape shape) {
  enum { PERIOD = 7 };
  check_tensor *is_seen = check_input(run, TSR_BOOL, shape, CHECK_PLAIN, CHECK_SPARSE);
  check_value *values = check_alloc(run, (size_t)is_seen->count, sizeof *values);
  for (int64_t i = 0; i < is_seen->count; i++) {
    bool is_hidden = !is_seen->values[i].whole || i / shape.dims[shape.rank - 1] % PERIOD == 0;
    values[i].real = is_hidden ? -INFINITY : 0;
  }
  return check_input_of(run, dtype, shape, CHECK_PLAIN, values);
}

static check_tensor *make_mask(check_run *run, tsr_dtype dtype, const attention_case *c) {
  if (c->mask == HIDING_MASK) return make_hiding_mask(run, dtype, c->mask_shape);
  bool is_truth = c->mask == TRUTH_MASK;
  return check_input(run, is_truth ? TSR_BOOL : dtype, c->mask_shape, CHECK_PLAIN,
                     is_truth ? CHECK_SPARSE : CHECK_TAME);
}

static inputs make_inputs(check_run *run, tsr_dtype dtype, const attention_case *c) {
  inputs in = {.c = c, .dtype = check_float(dtype)};
  in.q = make_input(run, dtype, TSR_SHAPE(c->batch, c->heads, c->queries, c->depth), c->view);
  in.k = make_input(run, dtype, TSR_SHAPE(c->batch, c->kv_heads, c->keys, c->depth), c->view);
  in.v = make_input(run, dtype, TSR_SHAPE(c->batch, c->kv_heads, c->keys, c->size), c->view);
  if (c->mask != NO_MASK) in.mask = make_mask(run, in.dtype, c);
  if (c->has_slopes) in.slopes = check_input(run, in.dtype, TSR_SHAPE(c->heads), CHECK_PLAIN, CHECK_TAME);
  if (c->has_lengths) in.lengths = check_indices(run, TSR_I32, TSR_SHAPE(c->batch), CHECK_SLICED, 0, c->keys);
  return in;
}

static tsr_attention_desc desc_of(const inputs *in) {
  tsr_attention_desc desc = in->c->desc;
  if (in->slopes) desc.slopes = in->slopes->tensor;
  if (in->lengths) desc.lengths = in->lengths->tensor;
  return desc;
}

static tsr_tensor *mask_of(const inputs *in) { return in->mask ? in->mask->tensor : NULL; }

static tsr_tensor *call_paged(check_run *run, const inputs *in, tsr_attention_desc desc) {
  const attention_case *c = in->c;
  int64_t blocks = c->keys / c->block, count = c->batch * blocks;
  check_value *table = check_alloc(run, (size_t)count, sizeof *table);
  for (int64_t i = 0; i < count; i++) table[i].whole = count - i;
  check_tensor *k = paged(run, c, in->k, table), *v = paged(run, c, in->v, table);
  desc.blocks = check_input_of(run, TSR_I32, TSR_SHAPE(c->batch, blocks), CHECK_TRANSPOSED, table)->tensor;
  return tsr_attention(in->q->tensor, k->tensor, v->tensor, mask_of(in), &desc);
}

// A mask of f8_e4m3 cannot hide keys: it has no infinity.
static bool has_mask_for(const attention_case *c, tsr_dtype dtype) {
  return c->mask != HIDING_MASK || dtype != TSR_F8_E4M3;
}

void check_attention(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    if (!has_mask_for(&cases[i], dtype) || !check_begin(run, cases[i].weight, "%s", cases[i].name)) continue;
    inputs in = make_inputs(run, dtype, &cases[i]);
    tsr_attention_desc desc = desc_of(&in);
    tsr_tensor *result = cases[i].block ? call_paged(run, &in, desc)
                                        : tsr_attention(in.q->tensor, in.k->tensor, in.v->tensor, mask_of(&in), &desc);
    check_result(run, result, expect(run, &in));
  }
}

// --- attention_scores and weighted_sum_rows ---------------------------------------------------------------------------

// The error of storing a score in a narrow float, in units of f32 roundings, to be added to the score's magnitude. 0 for other dtypes.
static double stored_product(tsr_dtype dtype, double size) {
  bool is_half = check_is_narrow(dtype);
  return is_half ? size * check_roundoff(dtype) / check_roundoff(TSR_F32) / 8 : 0;
}

void check_attention_scores(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const attention_case *c = &cases[i];
    if (c->block || !has_mask_for(c, dtype) || !check_begin(run, c->weight, "%s", c->name)) continue;
    inputs in = make_inputs(run, dtype, c);
    tsr_attention_desc desc = desc_of(&in);
    check_expected *wanted = check_expect(run, in.dtype, TSR_SHAPE(c->batch, c->heads, c->queries, c->keys));
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    wanted->terms = c->depth;
    for (int64_t at = 0; at < wanted->count; at++) {
      int64_t index[TSR_MAX_RANK];
      double size = 1;
      check_unravel(wanted->shape, at, index);
      wanted->values[at].real = score_of(&in, index[0], index[1], index[2], index[3], &size);
      wanted->magnitudes[at] = size + stored_product(in.dtype, size);
    }
    check_result(run, tsr_attention_scores(in.q->tensor, in.k->tensor, mask_of(&in), &desc), wanted);
  }
}

static check_term weighted_term(const void *context, const int64_t *index, int64_t number) {
  const attention_case *c = context;
  int64_t row = (index[0] * c->heads + index[1]) * c->queries + index[2];
  int64_t head = index[0] * c->kv_heads + index[1] / (c->heads / c->kv_heads);
  return (check_term){.a = row * c->keys + number, .b = (head * c->keys + number) * c->size + index[3]};
}

void check_weighted_sum_rows(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const attention_case *c = &cases[i];
    if (c->block || c->has_lengths || c->mask != NO_MASK || !check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *w =
        check_input(run, check_float(dtype), TSR_SHAPE(c->batch, c->heads, c->queries, c->keys), c->view, CHECK_TAME);
    check_tensor *v = make_input(run, dtype, TSR_SHAPE(c->batch, c->kv_heads, c->keys, c->size), c->view);
    check_products products = {.a = w, .b = v, .terms = c->keys, .term = weighted_term, .context = c};
    tsr_shape shape = TSR_SHAPE(c->batch, c->heads, c->queries, c->size);
    check_result(run, tsr_weighted_sum_rows(w->tensor, v->tensor), check_expect_products(run, shape, &products));
  }
}
