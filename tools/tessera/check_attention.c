// SPDX-License-Identifier: MIT
// Attention: a reference that computes every score, and cases.
#include <float.h>
#include <math.h>

#include "check.h"
#include "check_reference.h"

typedef enum mask_kind { NO_MASK, TRUTH_MASK, ADDED_MASK } mask_kind;

typedef struct attention_case {
  const char *name;
  check_weight weight;
  check_view view;
  int64_t batch, heads, kv_heads, queries, keys, depth, size;
  mask_kind mask;
  tsr_shape mask_shape;
  bool has_slopes;
  tsr_attention_desc desc;
} attention_case;

#define P CHECK_PLAIN
static const attention_case cases[] = {
    {"plain", CHECK_ALWAYS, P, 2, 3, 3, 5, 7, 11, 13, NO_MASK, {0, {0}}, false, {.scale = 0}},
    {"causal", CHECK_ALWAYS, P, 1, 2, 2, 7, 7, 8, 8, NO_MASK, {0, {0}}, false, {.causal = true}},
    {"decode", CHECK_ALWAYS, P, 2, 4, 2, 1, 13, 16, 16, NO_MASK, {0, {0}}, false, {.causal = true}},
    {"causal-longer", CHECK_OFTEN, P, 1, 2, 1, 9, 5, 4, 3, NO_MASK, {0, {0}}, false, {.causal = true}},
    {"window", CHECK_OFTEN, P, 1, 2, 2, 11, 13, 8, 5, NO_MASK, {0, {0}}, false, {.causal = true, .window = 3}},
    {"truth", CHECK_ALWAYS, P, 2, 2, 2, 5, 7, 8, 8, TRUTH_MASK, {4, {2, 1, 5, 7}}, false, {.scale = 0}},
    {"added", CHECK_ALWAYS, P, 2, 2, 2, 5, 7, 8, 8, ADDED_MASK, {2, {5, 7}}, false, {.scale = 0.5}},
    {"slopes", CHECK_OFTEN, P, 1, 4, 2, 5, 9, 8, 8, NO_MASK, {0, {0}}, true, {.causal = true}},
    {"softcap", CHECK_OFTEN, P, 1, 2, 2, 5, 9, 8, 8, NO_MASK, {0, {0}}, false, {.softcap = 2.5}},
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
     {.causal = true, .softcap = 4, .window = 5}},
    {"one", CHECK_OFTEN, P, 1, 1, 1, 1, 1, 1, 1, NO_MASK, {0, {0}}, false, {.scale = 0}},
    {"256", CHECK_OFTEN, P, 1, 1, 1, 2, 3, 256, 256, NO_MASK, {0, {0}}, false, {.scale = 0}},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, 1, 2, 2, 5, 7, 6, 4, NO_MASK, {0, {0}}, false, {.scale = 0}},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, 2, 2, 1, 5, 7, 6, 4, TRUTH_MASK, {2, {5, 7}}, false, {.scale = 0}},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, 1, 2, 2, 5, 7, 6, 4, NO_MASK, {0, {0}}, true, {.causal = true}},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, 2, 2, 2, 5, 3, 6, 4, NO_MASK, {0, {0}}, false, {.scale = 0}},
    {"no-keys", CHECK_OFTEN, P, 1, 2, 2, 3, 0, 4, 5, NO_MASK, {0, {0}}, false, {.scale = 0}},
    {"no-queries", CHECK_OFTEN, P, 1, 2, 2, 0, 3, 4, 5, NO_MASK, {0, {0}}, false, {.scale = 0}},
    {"long", CHECK_HEAVY, P, 1, 1, 1, 3, 2003, 16, 16, NO_MASK, {0, {0}}, false, {.causal = true}},
};
#undef P

// What a case is given, as values of what is computed in.
typedef struct inputs {
  const attention_case *c;
  tsr_dtype dtype;
  check_tensor *q, *k, *v, *mask, *slopes;
} inputs;

static double real_at(const inputs *in, const check_tensor *t, int64_t b, int64_t h, int64_t i, int64_t d) {
  int64_t index[TSR_MAX_RANK] = {b, h, i, d};
  return check_convert(in->dtype, t->dtype, t->values[check_ravel(t->shape, index)]).real;
}

// The score of a key, -infinity where it is not seen.
static double score_of(const inputs *in, int64_t b, int64_t h, int64_t i, int64_t j, double *out_magnitude) {
  const attention_case *c = in->c;
  int64_t position = i + c->keys - c->queries, index[4] = {b, h, i, j};
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
  double added = c->mask == ADDED_MASK ? check_convert(in->dtype, in->mask->dtype, mask).real : 0;
  *out_magnitude = fmax(*out_magnitude, size * scale + fabs(slope * (double)(j - position)) + fabs(added));
  return score + slope * (double)(j - position) + added;
}

// One row of the result. Errors of a score count as often as it is large.
static void expect_row(check_run *run, const inputs *in, int64_t b, int64_t h, int64_t i, check_expected *wanted) {
  const attention_case *c = in->c;
  double *scores = check_alloc(run, (size_t)c->keys, sizeof *scores), top = -INFINITY, size = 1;
  for (int64_t j = 0; j < c->keys; j++) top = fmax(top, scores[j] = score_of(in, b, h, i, j, &size));
  ref_sum all = {0};
  for (int64_t j = 0; j < c->keys; j++) ref_sum_add(&all, scores[j] == -INFINITY ? 0 : exp(scores[j] - top));
  for (int64_t d = 0; d < c->size; d++) {
    ref_sum sum = {0};
    double magnitude = 0;
    for (int64_t j = 0; j < c->keys; j++) {
      if (scores[j] == -INFINITY) continue;
      double value = real_at(in, in->v, b, h / (c->heads / c->kv_heads), j, d), share = exp(scores[j] - top);
      ref_sum_add(&sum, share * value);
      magnitude += fabs(value) * (share + ref_lost_exp(top - scores[j]));
    }
    double total = ref_sum_value(&all);
    int64_t at = ((b * c->heads + h) * c->queries + i) * c->size + d;
    wanted->values[at].real = total > 0 ? ref_sum_value(&sum) / total : 0;
    wanted->magnitudes[at] = total > 0 ? magnitude / total * (1 + size) + FLT_MIN : 0;
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

void check_attention(check_run *run, const check_op *op, tsr_dtype dtype) {
  tsr_dtype computed = check_float(dtype);
  (void)op;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    const attention_case *c = &cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    inputs in = {.c = c, .dtype = computed};
    in.q = make_input(run, dtype, TSR_SHAPE(c->batch, c->heads, c->queries, c->depth), c->view);
    in.k = make_input(run, dtype, TSR_SHAPE(c->batch, c->kv_heads, c->keys, c->depth), c->view);
    in.v = make_input(run, dtype, TSR_SHAPE(c->batch, c->kv_heads, c->keys, c->size), c->view);
    if (c->mask != NO_MASK) {
      bool is_truth = c->mask == TRUTH_MASK;
      in.mask = check_input(run, is_truth ? TSR_BOOL : computed, c->mask_shape, CHECK_PLAIN,
                            is_truth ? CHECK_SPARSE : CHECK_TAME);
    }
    if (c->has_slopes) in.slopes = check_input(run, computed, TSR_SHAPE(c->heads), CHECK_PLAIN, CHECK_TAME);
    tsr_attention_desc desc = c->desc;
    if (in.slopes) desc.slopes = in.slopes->tensor;
    tsr_tensor *result =
        tsr_attention(in.q->tensor, in.k->tensor, in.v->tensor, in.mask ? in.mask->tensor : NULL, &desc);
    check_result(run, result, expect(run, &in));
  }
}
