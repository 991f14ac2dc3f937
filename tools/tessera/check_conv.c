// SPDX-License-Identifier: MIT
// Convolutions: cases, and which elements each result is a sum of products of.
#include "check_products.h"

enum { SPATIAL = TSR_MAX_SPATIAL };

typedef struct conv_case {
  const char *name;
  check_weight weight;
  check_view x_view, w_view;
  tsr_shape x,
      w;  // [image, channel, spatial …], [out channel, channel of a group, spatial …]; transposed: the weight's first two swapped
  tsr_conv_desc desc;
  bool has_bias;
} conv_case;

// The sizes of a convolution, from which conv_term computes the elements of each product.
typedef struct window {
  const conv_case *c;
  int spatial;
  int64_t stride[SPATIAL], dilation[SPATIAL], before[SPATIAL], after[SPATIAL], groups;
  int64_t out[SPATIAL], out_channels;
  bool is_transposed;
} window;

static int64_t or_one(int64_t value) { return value ? value : 1; }

static window measure(const conv_case *c, bool is_transposed) {
  window m = {.c = c, .spatial = c->x.rank - 2, .groups = or_one(c->desc.groups), .is_transposed = is_transposed};
  m.out_channels = is_transposed ? c->w.dims[1] * m.groups : c->w.dims[0];
  for (int i = 0; i < m.spatial; i++) {
    int64_t size = c->x.dims[2 + i], k = c->w.dims[2 + i];
    m.stride[i] = or_one(c->desc.stride[i]);
    m.dilation[i] = or_one(c->desc.dilation[i]);
    m.before[i] = c->desc.before[i];
    m.after[i] = c->desc.after[i];
    int64_t extent = (k - 1) * m.dilation[i] + 1;
    if (c->desc.padding != TSR_PADDING_GIVEN) {
      int64_t windows = (size + m.stride[i] - 1) / m.stride[i], all = (windows - 1) * m.stride[i] + extent - size;
      if (all < 0) all = 0;
      m.before[i] = c->desc.padding == TSR_PADDING_SAME_BEFORE ? (all + 1) / 2 : all / 2;
      m.after[i] = all - m.before[i];
    }
    m.out[i] = is_transposed ? (size - 1) * m.stride[i] + extent + c->desc.output_padding[i] - m.before[i] - m.after[i]
                             : (size + m.before[i] + m.after[i] - extent) / m.stride[i] + 1;
  }
  return m;
}

// The row-major position of an element in a tensor whose channels are axis 1 or, if is_last, the last axis. `shape` always has the channels as axis 1.
static int64_t place(tsr_shape shape, bool is_last, int64_t image, int64_t channel, const int64_t *at) {
  int64_t index[TSR_MAX_RANK] = {image};
  int spatial = shape.rank - 2;
  tsr_shape as = shape;
  for (int i = 0; i < spatial; i++) {
    index[is_last ? 1 + i : 2 + i] = at[i];
    as.dims[is_last ? 1 + i : 2 + i] = shape.dims[2 + i];
  }
  index[is_last ? shape.rank - 1 : 1] = channel;
  as.dims[is_last ? shape.rank - 1 : 1] = shape.dims[1];
  return check_ravel(as, index);
}

static check_term conv_term(const void *context, const int64_t *index, int64_t number) {
  const window *m = context;
  const conv_case *c = m->c;
  bool is_last = c->desc.channels_last;
  int64_t channel = index[is_last ? c->x.rank - 1 : 1], k[SPATIAL] = {0}, at[SPATIAL] = {0};
  for (int i = m->spatial - 1; i >= 0; i--) {
    k[i] = number % c->w.dims[2 + i];
    number /= c->w.dims[2 + i];
  }
  int64_t group_out = m->out_channels / m->groups, group_in = c->x.dims[1] / m->groups, group = channel / group_out;
  check_term term = {0};
  for (int i = 0; i < m->spatial; i++) {
    int64_t o = index[is_last ? 1 + i : 2 + i];
    int64_t from = m->is_transposed ? o + m->before[i] - k[i] * m->dilation[i]
                                    : o * m->stride[i] + k[i] * m->dilation[i] - m->before[i];
    if (m->is_transposed && (from < 0 || from % m->stride[i] != 0)) term.is_nothing = true;
    at[i] = m->is_transposed ? from / m->stride[i] : from;
    if (from < 0 || at[i] >= c->x.dims[2 + i]) term.is_nothing = true;
  }
  if (term.is_nothing) return term;
  int64_t in = group * group_in + number;
  term.a = place(c->x, is_last, index[0], in, at);
  term.b = m->is_transposed ? place(c->w, false, in, channel - group * group_out, k)
                            : place(c->w, false, channel, number, k);
  return term;
}

// The shape with the channels moved to the end.
static tsr_shape with_channels_last(tsr_shape shape) {
  int64_t channels = shape.dims[1];
  for (int i = 1; i + 1 < shape.rank; i++) shape.dims[i] = shape.dims[i + 1];
  shape.dims[shape.rank - 1] = channels;
  return shape;
}

static void run_case(check_run *run, tsr_dtype dtype, const conv_case *c, bool is_transposed) {
  check_domain domain = check_is_float(dtype) ? CHECK_TAME : CHECK_ANY;
  window m = measure(c, is_transposed);
  check_products p = {.term = conv_term, .context = &m, .terms = c->x.dims[1] / m.groups};
  tsr_shape shape = {.rank = c->x.rank, .dims = {c->x.dims[0], m.out_channels}};
  for (int i = 0; i < m.spatial; i++) {
    p.terms *= c->w.dims[2 + i];
    shape.dims[2 + i] = m.out[i];
  }
  bool is_last = c->desc.channels_last;
  if (is_last) shape = with_channels_last(shape);
  p.a = check_input(run, dtype, is_last ? with_channels_last(c->x) : c->x, c->x_view, domain);
  p.b = check_input(run, dtype, c->w, c->w_view, domain);
  if (c->has_bias) p.bias = check_input(run, dtype, TSR_SHAPE(m.out_channels), c->w_view, domain);
  p.bias_axis = is_last ? shape.rank - 1 : 1;
  tsr_tensor *bias = p.bias ? p.bias->tensor : NULL;
  tsr_tensor *result = is_transposed ? tsr_conv_transpose(p.a->tensor, p.b->tensor, bias, &c->desc)
                                     : tsr_conv(p.a->tensor, p.b->tensor, bias, &c->desc);
  check_result(run, result, check_expect_products(run, shape, &p));
}

static void run_cases(check_run *run, const check_op *op, tsr_dtype dtype, const conv_case *list, size_t count,
                      bool is_transposed) {
  if (!(op->dtypes & CHECK_BIT(dtype))) {
    if (!check_begin(run, CHECK_ALWAYS, "refused")) return;
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(1, 1, 3), CHECK_PLAIN, CHECK_ANY);
    tsr_tensor *result = is_transposed ? tsr_conv_transpose(x->tensor, x->tensor, NULL, NULL)
                                       : tsr_conv(x->tensor, x->tensor, NULL, NULL);
    check_refused(run, result, TSR_ERR_DTYPE);
    return;
  }
  for (size_t i = 0; i < count; i++) {
    if (check_begin(run, list[i].weight, "%s", list[i].name)) run_case(run, dtype, &list[i], is_transposed);
  }
}

#define P CHECK_PLAIN
#define T CHECK_TRANSPOSED
static const conv_case convs[] = {
    {"1d", CHECK_ALWAYS, P, P, {3, {2, 3, 13}}, {3, {5, 3, 3}}, {.stride = {0}}, true},
    {"2d", CHECK_ALWAYS, P, P, {4, {2, 3, 7, 11}}, {4, {5, 3, 3, 2}}, {.stride = {0}}, true},
    {"3d", CHECK_ALWAYS, P, P, {5, {1, 2, 5, 3, 7}}, {5, {3, 2, 2, 3, 2}}, {.stride = {0}}, false},
    {"stride", CHECK_OFTEN, P, P, {4, {1, 2, 11, 13}}, {4, {3, 2, 3, 3}}, {.stride = {2, 3}}, false},
    {"dilation", CHECK_OFTEN, P, P, {4, {1, 2, 11, 13}}, {4, {3, 2, 3, 2}}, {.dilation = {2, 5}}, true},
    {"padding", CHECK_ALWAYS, P, P, {4, {1, 2, 5, 7}}, {4, {3, 2, 3, 4}}, {.before = {1, 0}, .after = {2, 3}}, false},
    {"same",
     CHECK_OFTEN,
     P,
     P,
     {4, {1, 3, 7, 9}},
     {4, {2, 3, 4, 3}},
     {.stride = {2, 1}, .padding = TSR_PADDING_SAME},
     false},
    {"same-before",
     CHECK_OFTEN,
     P,
     P,
     {3, {1, 3, 7}},
     {3, {2, 3, 4}},
     {.stride = {2}, .padding = TSR_PADDING_SAME_BEFORE},
     false},
    {"groups", CHECK_ALWAYS, P, P, {4, {2, 6, 5, 5}}, {4, {4, 3, 3, 3}}, {.groups = 2}, true},
    {"depthwise",
     CHECK_OFTEN,
     P,
     P,
     {4, {1, 5, 7, 5}},
     {4, {10, 1, 3, 3}},
     {.before = {1, 1}, .after = {1, 1}, .groups = 5},
     true},
    {"depthwise-last",
     CHECK_OFTEN,
     P,
     P,
     {4, {3, 5, 7, 9}},
     {4, {10, 1, 3, 2}},
     {.stride = {2, 1}, .dilation = {1, 2}, .after = {1, 1}, .groups = 5, .channels_last = true},
     true},
    {"channels-last", CHECK_ALWAYS, P, P, {4, {2, 3, 5, 7}}, {4, {5, 3, 3, 3}}, {.channels_last = true}, true},
    {"last-1d",
     CHECK_OFTEN,
     CHECK_SLICED,
     P,
     {3, {2, 4, 11}},
     {3, {6, 2, 3}},
     {.before = {1}, .groups = 2, .channels_last = true},
     true},
    {"transposed", CHECK_OFTEN, T, T, {4, {1, 3, 7, 5}}, {4, {2, 3, 3, 3}}, {.stride = {1, 2}}, false},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, CHECK_OFFSET, {4, {2, 3, 7, 5}}, {4, {2, 3, 3, 2}}, {.stride = {0}}, true},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, CHECK_REVERSED, {3, {3, 2, 9}}, {3, {4, 2, 3}}, {.before = {2}}, true},
    {"permuted",
     CHECK_OFTEN,
     CHECK_PERMUTED,
     CHECK_PERMUTED,
     {4, {2, 3, 5, 4}},
     {4, {3, 3, 2, 2}},
     {.stride = {0}},
     false},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, CHECK_EXPANDED, {3, {3, 2, 7}}, {3, {3, 2, 2}}, {.stride = {0}}, false},
    {"one", CHECK_OFTEN, P, P, {3, {1, 1, 1}}, {3, {1, 1, 1}}, {.stride = {0}}, false},
    {"pointwise", CHECK_OFTEN, P, P, {4, {1, 17, 3, 5}}, {4, {13, 17, 1, 1}}, {.stride = {0}}, true},
    {"pointwise-planes", CHECK_OFTEN, P, P, {4, {2, 17, 9, 8}}, {4, {13, 17, 1, 1}}, {.stride = {0}}, false},
    {"pointwise-last", CHECK_OFTEN, P, P, {4, {2, 17, 3, 5}}, {4, {13, 17, 1, 1}}, {.channels_last = true}, true},
    {"empty-batch", CHECK_OFTEN, P, P, {3, {0, 2, 5}}, {3, {3, 2, 2}}, {.stride = {0}}, true},
    {"no-channels", CHECK_OFTEN, P, P, {3, {2, 0, 5}}, {3, {3, 0, 2}}, {.stride = {0}}, true},
    {"no-channels-no-bias", CHECK_OFTEN, P, P, {3, {2, 0, 5}}, {3, {3, 0, 2}}, {.stride = {0}}, false},
    {"padding-alone", CHECK_OFTEN, P, P, {3, {2, 2, 0}}, {3, {3, 2, 2}}, {.before = {1}, .after = {2}}, true},
    // Large enough for tiles on a GPU; the second one for sums in parts.
    {"tiles",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 8, 12, 13}},
     {4, {18, 8, 3, 3}},
     {.stride = {1, 2}, .before = {1, 1}, .after = {1, 1}},
     true},
    {"split", CHECK_HEAVY, T, P, {4, {3, 40, 9, 9}}, {4, {9, 40, 7, 7}}, {.stride = {0}}, true},
    {"tiles-last",
     CHECK_HEAVY,
     P,
     T,
     {4, {2, 16, 12, 13}},
     {4, {36, 8, 3, 3}},
     {.dilation = {2, 1}, .groups = 2, .channels_last = true},
     false},
    {"large", CHECK_HEAVY, P, P, {4, {1, 4, 31, 29}}, {4, {8, 4, 5, 5}}, {.before = {2, 2}, .after = {2, 2}}, true},
    // So large that an item of a GPU computes several results.
    {"depthwise-rows",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 75, 75}},
     {4, {12, 1, 3, 3}},
     {.before = {1, 1}, .after = {1, 1}, .groups = 12},
     true},
    {"depthwise-rows-last",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 16, 133, 69}},
     {4, {32, 1, 3, 2}},
     {.stride = {2, 1}, .dilation = {1, 3}, .groups = 16, .channels_last = true},
     false},
    {"depthwise-rows-1d", CHECK_HEAVY, P, T, {3, {4, 16, 2101}}, {3, {16, 1, 5}}, {.before = {4}, .groups = 16}, true},
    // As well, and lines of x are read in quads; the result is stored in quads, too, except in the second case.
    {"depthwise-quads",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 76, 76}},
     {4, {12, 1, 3, 3}},
     {.dilation = {2, 2}, .before = {2, 2}, .after = {2, 2}, .groups = 12},
     true},
    {"depthwise-quads-inside", CHECK_HEAVY, P, P, {4, {2, 6, 76, 76}}, {4, {12, 1, 3, 3}}, {.groups = 6}, false},
    {"depthwise-quads-stride",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 152, 152}},
     {4, {12, 1, 5, 5}},
     {.stride = {2, 2}, .before = {2, 1}, .after = {2, 3}, .groups = 12},
     false},
    {"depthwise-quads-1d",
     CHECK_HEAVY,
     P,
     P,
     {3, {4, 16, 4304}},
     {3, {16, 1, 5}},
     {.stride = {2}, .dilation = {2}, .before = {4}, .after = {3}, .groups = 16},
     true},
    {"depthwise-apart",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 77, 79}},
     {4, {12, 1, 2, 3}},
     {.stride = {1, 3}, .dilation = {40, 9}, .before = {20, 9}, .after = {20, 9}, .groups = 12},
     false},
    // Few channels in each group.
    {"groups-quads",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 76, 76}},
     {4, {12, 3, 3, 3}},
     {.before = {1, 1}, .after = {1, 1}, .groups = 4},
     true},
    {"groups-last",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 45, 37}},
     {4, {20, 3, 3, 5}},
     {.stride = {1, 2}, .dilation = {2, 1}, .before = {2, 2}, .after = {2, 2}, .groups = 4, .channels_last = true},
     false},
    {"depthwise-3d",
     CHECK_HEAVY,
     P,
     P,
     {5, {2, 6, 24, 25, 20}},
     {5, {6, 1, 3, 3, 3}},
     {.before = {1, 1, 1}, .after = {1, 1, 1}, .groups = 6},
     true},
    {"depthwise-3d-last",
     CHECK_HEAVY,
     P,
     P,
     {5, {2, 6, 24, 25, 20}},
     {5, {6, 1, 2, 3, 3}},
     {.stride = {2, 1, 1},
      .dilation = {3, 2, 1},
      .before = {2, 1, 1},
      .after = {2, 1, 1},
      .groups = 6,
      .channels_last = true},
     false},
};

static const conv_case transposed[] = {
    {"1d", CHECK_ALWAYS, P, P, {3, {2, 3, 5}}, {3, {3, 4, 3}}, {.stride = {2}}, true},
    {"2d", CHECK_ALWAYS, P, P, {4, {1, 3, 4, 5}}, {4, {3, 2, 3, 2}}, {.stride = {2, 3}}, true},
    {"3d", CHECK_OFTEN, P, P, {5, {1, 2, 2, 3, 3}}, {5, {2, 3, 2, 2, 3}}, {.stride = {1, 2, 1}}, false},
    {"padding",
     CHECK_ALWAYS,
     P,
     P,
     {4, {1, 2, 5, 4}},
     {4, {2, 3, 3, 3}},
     {.stride = {2, 2}, .before = {1, 0}, .after = {1, 2}, .output_padding = {1, 0}},
     false},
    {"dilation",
     CHECK_OFTEN,
     P,
     P,
     {3, {1, 2, 7}},
     {3, {2, 3, 3}},
     {.stride = {2}, .dilation = {3}, .output_padding = {2}},
     true},
    {"groups", CHECK_OFTEN, P, P, {4, {2, 6, 3, 4}}, {4, {6, 2, 3, 3}}, {.stride = {2, 1}, .groups = 3}, true},
    {"channels-last",
     CHECK_OFTEN,
     CHECK_SLICED,
     T,
     {4, {2, 3, 4, 5}},
     {4, {3, 5, 2, 2}},
     {.stride = {2, 2}, .channels_last = true},
     true},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, CHECK_REVERSED, {3, {3, 2, 9}}, {3, {2, 4, 3}}, {.stride = {0}}, false},
    {"one", CHECK_OFTEN, P, P, {3, {1, 1, 1}}, {3, {1, 1, 1}}, {.stride = {0}}, false},
    {"pointwise-planes", CHECK_OFTEN, P, P, {4, {2, 17, 9, 8}}, {4, {17, 13, 1, 1}}, {.stride = {0}}, false},
    {"empty-batch", CHECK_OFTEN, P, P, {3, {0, 2, 5}}, {3, {2, 3, 2}}, {.stride = {0}}, true},
    {"tiles", CHECK_HEAVY, P, P, {4, {2, 18, 12, 13}}, {4, {18, 9, 3, 3}}, {.before = {1, 1}, .after = {1, 1}}, true},
    {"tiles-stride", CHECK_HEAVY, P, P, {4, {2, 32, 9, 8}}, {4, {32, 16, 4, 3}}, {.stride = {2, 3}, .groups = 2}, true},
    // Stride and dilation have a common divisor, so that some results are sums of no products.
    {"tiles-phases",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 8, 9, 8}},
     {4, {8, 8, 4, 3}},
     {.stride = {4, 2}, .dilation = {2, 1}, .before = {1, 2}, .after = {0, 1}, .output_padding = {3, 1}},
     true},
    {"large",
     CHECK_HEAVY,
     P,
     P,
     {4, {1, 8, 17, 13}},
     {4, {8, 8, 4, 4}},
     {.stride = {2, 2}, .before = {1, 1}, .after = {1, 1}},
     true},
    {"depthwise-rows",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 73, 75}},
     {4, {12, 1, 5, 3}},
     {.dilation = {1, 2}, .before = {1, 1}, .after = {1, 1}, .groups = 12},
     true},
    {"depthwise-stride",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 38, 38}},
     {4, {12, 1, 3, 3}},
     {.stride = {2, 2}, .before = {1, 1}, .after = {1, 1}, .groups = 12},
     true},
    {"depthwise-stride-dilation",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 6, 38, 25}},
     {4, {6, 2, 3, 5}},
     {.stride = {2, 3}, .dilation = {3, 1}, .before = {3, 2}, .after = {1, 2}, .output_padding = {1, 2}, .groups = 6},
     false},
    {"depthwise-stride-last",
     CHECK_HEAVY,
     P,
     P,
     {4, {2, 12, 38, 76}},
     {4, {12, 1, 4, 3}},
     {.stride = {2, 1}, .before = {1, 1}, .after = {1, 1}, .groups = 12, .channels_last = true},
     false},
    {"depthwise-3d",
     CHECK_HEAVY,
     P,
     P,
     {5, {2, 6, 12, 13, 20}},
     {5, {6, 1, 3, 2, 3}},
     {.stride = {2, 2, 1}, .dilation = {2, 1, 1}, .before = {1, 0, 1}, .after = {1, 0, 1}, .groups = 6},
     true},
    {"groups-3d",
     CHECK_HEAVY,
     P,
     P,
     {5, {2, 6, 7, 9, 20}},
     {5, {6, 2, 3, 2, 3}},
     {.stride = {1, 2, 3}, .dilation = {2, 1, 1}, .before = {1, 0, 1}, .after = {1, 0, 1}, .groups = 2},
     true},
    // One channel for each image, as in the gradient of avg_pool.
    {"single-3d",
     CHECK_HEAVY,
     P,
     P,
     {5, {14, 1, 10, 32, 32}},
     {5, {1, 1, 5, 5, 5}},
     {.before = {2, 2, 2}, .after = {2, 2, 2}},
     false},
};
#undef P
#undef T

void check_conv(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_cases(run, op, dtype, convs, sizeof convs / sizeof convs[0], false);
}

void check_conv_transpose(check_run *run, const check_op *op, tsr_dtype dtype) {
  run_cases(run, op, dtype, transposed, sizeof transposed / sizeof transposed[0], true);
}
