// SPDX-License-Identifier: MIT
// Pooling: references that go through each window, and cases.
#include <float.h>
#include <math.h>

#include "check.h"
#include "check_reference.h"

enum { SPATIAL = TSR_MAX_SPATIAL };

typedef enum pool_kind { POOL_MAX, POOL_ARGMAX, POOL_MEAN, POOL_POWER } pool_kind;

typedef struct pool_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape x;  // [image, channel, spatial …]
  tsr_pool_desc desc;
} pool_case;

#define P CHECK_PLAIN
static const pool_case cases[] = {
    {"1d", CHECK_ALWAYS, P, {3, {2, 3, 13}}, {.size = {3}}},
    {"2d", CHECK_ALWAYS, P, {4, {2, 3, 7, 11}}, {.size = {2, 3}}},
    {"3d", CHECK_ALWAYS, P, {5, {1, 2, 5, 3, 7}}, {.size = {2, 3, 2}, .stride = {1, 1, 2}}},
    {"stride", CHECK_OFTEN, P, {4, {1, 2, 11, 13}}, {.size = {3, 2}, .stride = {2, 5}}},
    {"dilation", CHECK_OFTEN, P, {4, {1, 2, 11, 13}}, {.size = {3, 2}, .stride = {1, 2}, .dilation = {2, 5}}},
    {"padding",
     CHECK_ALWAYS,
     P,
     {4, {1, 2, 5, 7}},
     {.size = {3, 4}, .stride = {2, 1}, .before = {1, 0}, .after = {2, 3}}},
    {"rounds-up", CHECK_ALWAYS, P, {4, {1, 2, 8, 5}}, {.size = {3, 2}, .stride = {2, 2}, .rounds_up = true}},
    {"rounds-up-padding",
     CHECK_OFTEN,
     P,
     {3, {2, 2, 6}},
     {.size = {3}, .stride = {3}, .before = {1}, .after = {1}, .rounds_up = true}},
    {"global", CHECK_ALWAYS, P, {4, {2, 3, 5, 7}}, {.size = {0}}},
    {"adaptive", CHECK_ALWAYS, P, {4, {1, 2, 7, 11}}, {.output = {3, 4}}},
    {"adaptive-one", CHECK_OFTEN, P, {3, {2, 3, 13}}, {.output = {1}}},
    {"adaptive-more", CHECK_OFTEN, P, {3, {2, 3, 3}}, {.output = {7}}},
    {"channels-last", CHECK_ALWAYS, P, {4, {2, 5, 7, 4}}, {.size = {2, 2}, .channels_last = true}},
    {"overlapping",
     CHECK_ALWAYS,
     P,
     {4, {1, 2, 7, 9}},
     {.size = {3, 3}, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}}},
    {"last-overlapping",
     CHECK_ALWAYS,
     P,
     {4, {2, 6, 9, 3}},
     {.size = {3, 3}, .stride = {2, 2}, .before = {1, 1}, .after = {1, 1}, .channels_last = true}},
    {"last-sliced",
     CHECK_OFTEN,
     CHECK_SLICED,
     {3, {2, 4, 11}},
     {.size = {3}, .stride = {2}, .before = {1}, .channels_last = true}},
    {"transposed", CHECK_OFTEN, CHECK_TRANSPOSED, {4, {1, 3, 7, 5}}, {.size = {2, 2}}},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, {4, {2, 3, 7, 5}}, {.size = {3, 2}, .stride = {1, 1}}},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {3, {3, 2, 9}}, {.size = {4}}},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, {4, {2, 3, 5, 4}}, {.size = {2, 3}}},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {3, {3, 2, 7}}, {.size = {2}}},
    {"offset", CHECK_OFTEN, CHECK_OFFSET, {3, {3, 2, 7}}, {.size = {2}}},
    {"one", CHECK_OFTEN, P, {3, {1, 1, 1}}, {.size = {1}}},
    {"empty-batch", CHECK_OFTEN, P, {3, {0, 2, 5}}, {.size = {2}}},
    {"no-channels", CHECK_OFTEN, P, {3, {2, 0, 5}}, {.size = {2}}},
    {"large",
     CHECK_HEAVY,
     P,
     {4, {1, 4, 61, 59}},
     {.size = {5, 5}, .stride = {2, 2}, .before = {2, 2}, .after = {2, 2}}},
};
#undef P

enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

// The windows of a case, along each spatial axis.
typedef struct windows {
  const pool_case *c;
  int spatial;
  bool is_adaptive;
  int64_t size[SPATIAL], stride[SPATIAL], dilation[SPATIAL], count[SPATIAL];
} windows;

static int64_t or_else(int64_t value, int64_t other) { return value ? value : other; }

// Counts the windows one by one. With rounds_up there is one more, partly beyond the end, if elements are left over and it begins before the end of the input.
static int64_t count_windows(const tsr_pool_desc *d, int i, int64_t input, const windows *w) {
  int64_t padded = input + d->before[i] + d->after[i], extent = (w->size[i] - 1) * w->dilation[i] + 1, count = 0;
  while (count * w->stride[i] + extent <= padded) count++;
  bool is_left_over = (count - 1) * w->stride[i] + extent < padded;
  return count + (d->rounds_up && is_left_over && count * w->stride[i] < input + d->before[i]);
}

static windows measure(const pool_case *c) {
  const tsr_pool_desc *d = &c->desc;
  windows w = {.c = c, .spatial = c->x.rank - 2, .is_adaptive = d->output[0] != 0};
  for (int i = 0; i < w.spatial; i++) {
    int64_t input = c->x.dims[2 + i];
    w.size[i] = or_else(d->size[i], input);
    w.stride[i] = or_else(d->stride[i], w.size[i]);
    w.dilation[i] = or_else(d->dilation[i], 1);
    w.count[i] = w.is_adaptive ? d->output[i] : count_windows(d, i, input, &w);
  }
  return w;
}

// What `search` has found in a window.
typedef struct found {
  check_value best;
  int64_t at;  // flat index of the best element over the spatial axes; -1: the window has no element
  ref_sum sum;
  double size;  // sum of magnitudes
  int64_t count, padded_count;
} found;

static void take(found *f, pool_kind kind, tsr_dtype dtype, check_value value, int64_t at, double power) {
  bool is_float = check_is_float(dtype), is_better = f->at < 0;
  if (is_float) is_better = is_better || (!isnan(f->best.real) && (value.real > f->best.real || isnan(value.real)));
  else is_better = is_better || value.whole > f->best.whole;
  if (is_better) {
    f->best = value;
    f->at = at;
  }
  f->count++;
  if (!is_float) return;
  double part = kind == POOL_POWER ? pow(fabs(value.real), power) : value.real;
  ref_sum_add(&f->sum, part);
  f->size += fabs(part);
}

// Finds the position `at` of element `number` of the window at `o`. False if it is outside of the input; *out_is_padding is then true in the padding, and false
// beyond the padding.
static bool locate(const windows *w, const int64_t *o, int64_t number, int64_t *at, bool *out_is_padding) {
  const tsr_pool_desc *d = &w->c->desc;
  bool is_inside = true;
  *out_is_padding = true;
  for (int i = w->spatial - 1; i >= 0; i--) {
    int64_t input = w->c->x.dims[2 + i], first = o[i] * input / or_else(d->output[i], 1);
    int64_t wide = w->is_adaptive ? input : w->size[i], k = number % wide;
    number /= wide;
    at[i] = w->is_adaptive ? first + k : o[i] * w->stride[i] + k * w->dilation[i] - d->before[i];
    int64_t end = w->is_adaptive ? ((o[i] + 1) * input + d->output[i] - 1) / d->output[i] : input;
    is_inside = is_inside && at[i] >= 0 && at[i] < end;
    *out_is_padding = *out_is_padding && at[i] < input + d->after[i];
  }
  return is_inside;
}

static found search(const windows *w, pool_kind kind, const check_tensor *x, tsr_dtype dtype, const int64_t *index) {
  bool is_last = w->c->desc.channels_last;
  int rank = w->c->x.rank;
  found f = {.at = -1};
  int64_t o[SPATIAL] = {0}, at[SPATIAL] = {0}, total = 1, place[TSR_MAX_RANK] = {index[0]};
  place[is_last ? rank - 1 : 1] = index[is_last ? rank - 1 : 1];
  for (int i = 0; i < w->spatial; i++) {
    o[i] = index[(is_last ? 1 : 2) + i];
    total *= w->is_adaptive ? w->c->x.dims[2 + i] : w->size[i];
  }
  for (int64_t number = 0; number < total; number++) {
    bool is_padding = false;
    bool is_inside = locate(w, o, number, at, &is_padding);
    f.padded_count += is_padding;
    if (!is_inside) continue;
    int64_t flat = 0;
    for (int i = 0; i < w->spatial; i++) {
      place[(is_last ? 1 : 2) + i] = at[i];
      flat = flat * w->c->x.dims[2 + i] + at[i];
    }
    check_value value = check_convert(dtype, x->dtype, x->values[check_ravel(x->shape, place)]);
    take(&f, kind, dtype, value, flat, (double)or_else((int64_t)w->c->desc.power, 2));
  }
  return f;
}

static void write_element(pool_kind kind, const windows *w, const found *f, int64_t at, check_expected *wanted) {
  const tsr_pool_desc *d = &w->c->desc;
  if (kind == POOL_MAX) wanted->values[at] = f->best;
  if (kind == POOL_ARGMAX) wanted->values[at].whole = f->at;
  if (kind == POOL_MEAN) {
    double count = (double)(d->counts_padding ? f->padded_count : f->count);
    wanted->values[at].real = ref_sum_value(&f->sum) / count;
    wanted->magnitudes[at] = f->size / count;
  }
  if (kind == POOL_POWER) {
    wanted->values[at].real = pow(ref_sum_value(&f->sum), 1.0 / (double)or_else((int64_t)d->power, 2));
    wanted->magnitudes[at] = wanted->values[at].real + FLT_MIN;
  }
}

static tsr_shape with_channels_last(tsr_shape shape) {
  int64_t channels = shape.dims[1];
  for (int i = 1; i + 1 < shape.rank; i++) shape.dims[i] = shape.dims[i + 1];
  shape.dims[shape.rank - 1] = channels;
  return shape;
}

typedef tsr_tensor *(*pool_call)(tsr_tensor *x, const tsr_pool_desc *desc);

static void run_case(check_run *run, pool_call call, pool_kind kind, tsr_dtype dtype, check_domain domain,
                     const pool_case *c) {
  bool is_last = c->desc.channels_last, is_real = kind == POOL_MEAN || kind == POOL_POWER;
  tsr_dtype computed = is_real ? check_float(dtype) : dtype;
  windows w = measure(c);
  tsr_shape shape = {.rank = c->x.rank, .dims = {c->x.dims[0], c->x.dims[1]}};
  for (int i = 0; i < w.spatial; i++) shape.dims[2 + i] = w.count[i];
  if (is_last) shape = with_channels_last(shape);
  check_tensor *x = check_input(run, dtype, is_last ? with_channels_last(c->x) : c->x, c->view, domain);
  check_expected *wanted = check_expect(run, kind == POOL_ARGMAX ? TSR_I32 : computed, shape);
  if (is_real) wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  for (int64_t at = 0; at < wanted->count; at++) {
    int64_t index[TSR_MAX_RANK] = {0};
    check_unravel(shape, at, index);
    found f = search(&w, kind, x, computed, index);
    if (f.count > wanted->terms) wanted->terms = f.count;
    write_element(kind, &w, &f, at, wanted);
  }
  check_result(run, call(x->tensor, &c->desc), wanted);
}

static void run_cases(check_run *run, const check_op *op, pool_call call, pool_kind kind, tsr_dtype dtype) {
  for (int i = 0; i < CASE_COUNT; i++) {
    if (check_begin(run, cases[i].weight, "%s", cases[i].name)) run_case(run, call, kind, dtype, op->domain, &cases[i]);
  }
}

void check_max_pool(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_cases(run, op, tsr_max_pool, POOL_MAX, dtype);
}

void check_argmax_pool(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_cases(run, op, tsr_argmax_pool, POOL_ARGMAX, dtype);
}

void check_avg_pool(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_cases(run, op, tsr_avg_pool, POOL_MEAN, dtype);
  for (int i = 0; i < CASE_COUNT; i++) {
    pool_case c = cases[i];
    if (c.desc.output[0] != 0 || !check_begin(run, CHECK_OFTEN, "%s-counted", c.name)) continue;
    c.desc.counts_padding = true;
    run_case(run, tsr_avg_pool, POOL_MEAN, dtype, op->domain, &c);
  }
}

void check_lp_pool(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_cases(run, op, tsr_lp_pool, POOL_POWER, dtype);
  for (int power = 1; power <= 3; power += 2) {
    for (int i = 0; i < CASE_COUNT; i++) {
      pool_case c = cases[i];
      if (!check_begin(run, CHECK_HEAVY, "%s-%d", c.name, power)) continue;
      c.desc.power = power;
      run_case(run, tsr_lp_pool, POOL_POWER, dtype, op->domain, &c);
    }
  }
}

// --- max_unpool -------------------------------------------------------------------------------------------------------

typedef struct unpool_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape x, size;
} unpool_case;

void check_max_unpool(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const unpool_case list[] = {
      {"1d", CHECK_ALWAYS, CHECK_PLAIN, {3, {2, 3, 5}}, {1, {13}}},
      {"2d", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 3, 3, 4}}, {2, {7, 9}}},
      {"3d", CHECK_OFTEN, CHECK_REVERSED, {5, {1, 2, 2, 3, 2}}, {3, {4, 5, 4}}},
      {"sliced", CHECK_OFTEN, CHECK_SLICED, {4, {2, 2, 3, 4}}, {2, {5, 7}}},
      {"permuted", CHECK_OFTEN, CHECK_PERMUTED, {3, {3, 2, 7}}, {1, {11}}},
      {"empty", CHECK_OFTEN, CHECK_PLAIN, {3, {2, 3, 0}}, {1, {5}}},
      {"one", CHECK_OFTEN, CHECK_PLAIN, {3, {1, 1, 1}}, {1, {1}}},
  };
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    const unpool_case *c = &list[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    int64_t plane = check_count(c->size), planes = c->x.dims[0] * c->x.dims[1];
    check_tensor *x = check_input(run, dtype, c->x, c->view, CHECK_ANY);
    check_tensor *indices = check_indices(run, TSR_I32, c->x, c->view, -1, plane - 1);
    tsr_shape shape = {.rank = c->x.rank, .dims = {c->x.dims[0], c->x.dims[1]}};
    for (int k = 0; k < c->size.rank; k++) shape.dims[2 + k] = c->size.dims[k];
    check_expected *wanted = check_expect(run, dtype, shape);
    for (int64_t k = 0; k < x->count; k++) {
      int64_t at = indices->values[k].whole;
      if (at >= 0) wanted->values[k / (x->count / planes) * plane + at] = x->values[k];
    }
    check_result(run, tsr_max_unpool(x->tensor, indices->tensor, c->size), wanted);
  }
}
