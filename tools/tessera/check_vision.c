// SPDX-License-Identifier: MIT
// Images: im2col and col2im, resize, grid_sample, affine_grid, roi_align, pixel_shuffle. References and cases.
#include <float.h>
#include <math.h>

#include "check_move.h"
#include "check_reference.h"

enum { SPATIAL = TSR_MAX_SPATIAL };

static double real_at(tsr_dtype dtype, const check_tensor *t, int64_t at) {
  return check_convert(dtype, t->dtype, t->values[at]).real;
}

static int64_t or_one(int64_t value) { return value ? value : 1; }

// --- im2col and col2im -------------------------------------------------------------------------------------------------

typedef struct column_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape x, kernel;
  tsr_conv_desc desc;
} column_case;

static const column_case columns[] = {
    {"plain", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 3, 5, 7}}, {2, {3, 2}}, {.groups = 0}},
    {"padded", CHECK_ALWAYS, CHECK_PLAIN, {4, {1, 2, 6, 5}}, {2, {3, 3}}, {.before = {1, 2}, .after = {1, 0}}},
    {"strided", CHECK_ALWAYS, CHECK_TRANSPOSED, {4, {2, 2, 9, 8}}, {2, {2, 3}}, {.stride = {2, 3}, .dilation = {3, 1}}},
    {"line", CHECK_OFTEN, CHECK_SLICED, {3, {2, 3, 11}}, {1, {4}}, {.stride = {2}, .before = {3}}},
    {"solid", CHECK_OFTEN, CHECK_PERMUTED, {5, {1, 2, 3, 4, 5}}, {3, {2, 2, 3}}, {.before = {0, 1, 1}}},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {4, {2, 2, 4, 4}}, {2, {4, 1}}, {.groups = 0}},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {4, {0, 2, 4, 4}}, {2, {2, 2}}, {.groups = 0}},
    {"large", CHECK_HEAVY, CHECK_PLAIN, {4, {2, 8, 31, 29}}, {2, {3, 3}}, {.before = {1, 1}, .after = {1, 1}}},
    // So large that an item of a GPU copies all elements of a window.
    {"windows",
     CHECK_HEAVY,
     CHECK_SLICED,
     {4, {2, 5, 59, 123}},
     {2, {3, 2}},
     {.stride = {1, 2}, .dilation = {2, 3}, .before = {2, 1}, .after = {2, 3}}},
    {"windows-solid",
     CHECK_HEAVY,
     CHECK_PLAIN,
     {5, {3, 3, 12, 19, 20}},
     {3, {2, 1, 3}},
     {.before = {1, 0, 1}, .after = {0, 0, 1}}},
};

enum { COLUMN_COUNT = sizeof columns / sizeof columns[0] };

// How many windows there are along spatial axis i.
static int64_t windows_of(const column_case *c, int i) {
  int64_t extent = (c->kernel.dims[i] - 1) * or_one(c->desc.dilation[i]) + 1;
  return (c->x.dims[2 + i] + c->desc.before[i] + c->desc.after[i] - extent) / or_one(c->desc.stride[i]) + 1;
}

// The shape [image, channel, k …, o …] with kernel size k and window count o per axis. The result of im2col merges channel and k into its axis 1, and o into
// its axis 2.
static tsr_shape parted_shape(const column_case *c) {
  int spatial = c->kernel.rank;
  tsr_shape shape = {.rank = 2 + 2 * spatial, .dims = {c->x.dims[0], c->x.dims[1]}};
  for (int i = 0; i < spatial; i++) {
    shape.dims[2 + i] = c->kernel.dims[i];
    shape.dims[2 + spatial + i] = windows_of(c, i);
  }
  return shape;
}

static tsr_shape column_shape(const column_case *c) {
  int64_t rows = c->x.dims[1], count = 1;
  for (int i = 0; i < c->kernel.rank; i++) {
    rows *= c->kernel.dims[i];
    count *= windows_of(c, i);
  }
  return TSR_SHAPE(c->x.dims[0], rows, count);
}

// The position in x of element `at` of the columns; -1 if it is in the padding.
static int64_t source_of(const column_case *c, tsr_shape parted, int64_t at) {
  int64_t index[TSR_MAX_RANK], place[TSR_MAX_RANK];
  int spatial = c->kernel.rank;
  check_unravel(parted, at, index);
  place[0] = index[0];
  place[1] = index[1];
  for (int i = 0; i < spatial; i++) {
    place[2 + i] = index[2 + spatial + i] * or_one(c->desc.stride[i]) + index[2 + i] * or_one(c->desc.dilation[i]) -
                   c->desc.before[i];
    if (place[2 + i] < 0 || place[2 + i] >= c->x.dims[2 + i]) return -1;
  }
  return check_ravel(c->x, place);
}

void check_im2col(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < COLUMN_COUNT; i++) {
    const column_case *c = &columns[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, c->x, c->view, CHECK_ANY);
    check_expected *wanted = check_expect(run, dtype, column_shape(c));
    tsr_shape parted = parted_shape(c);
    for (int64_t at = 0; at < wanted->count; at++) {
      int64_t from = source_of(c, parted, at);
      if (from >= 0) wanted->values[at] = x->values[from];
    }
    check_result(run, tsr_im2col(x->tensor, c->kernel, &c->desc), wanted);
  }
}

void check_col2im(check_run *run, const check_op *op, tsr_dtype dtype) {
  bool is_taken = op->dtypes & CHECK_BIT(dtype);
  for (int i = 0; i < COLUMN_COUNT; i++) {
    const column_case *c = &columns[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    tsr_shape size = {.rank = c->kernel.rank}, parted = parted_shape(c);
    for (int k = 0; k < size.rank; k++) size.dims[k] = c->x.dims[2 + k];
    check_tensor *x = check_input(run, dtype, column_shape(c), c->view, check_is_float(dtype) ? CHECK_TAME : CHECK_ANY);
    tsr_tensor *result = tsr_col2im(x->tensor, size, c->kernel, &c->desc);
    if (!is_taken) {
      check_refused(run, result, TSR_ERR_DTYPE);
      continue;
    }
    check_expected *wanted = check_expect(run, dtype, c->x);
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    wanted->terms = check_count(c->kernel);
    for (int64_t at = 0; at < x->count; at++) {
      int64_t to = source_of(c, parted, at);
      if (to < 0) continue;
      if (check_is_float(dtype)) {
        wanted->values[to].real += x->values[at].real;
        wanted->magnitudes[to] += fabs(x->values[at].real);
      } else {
        wanted->values[to].whole = check_wrap(dtype, plus(wanted->values[to].whole, x->values[at].whole));
      }
    }
    check_result(run, result, wanted);
  }
}

// --- pixel_shuffle -----------------------------------------------------------------------------------------------------

typedef struct shuffle {
  const check_tensor *x;
  int64_t factor;
} shuffle;

static check_value shuffled_element(const void *context, const int64_t *index) {
  const shuffle *s = context;
  int64_t place[TSR_MAX_RANK], r = s->factor;
  int c = s->x->shape.rank - 3;
  for (int i = 0; i < c; i++) place[i] = index[i];
  place[c] = (index[c] * r + index[c + 1] % r) * r + index[c + 2] % r;
  place[c + 1] = index[c + 1] / r;
  place[c + 2] = index[c + 2] / r;
  return s->x->values[check_ravel(s->x->shape, place)];
}

static check_value unshuffled_element(const void *context, const int64_t *index) {
  const shuffle *s = context;
  int64_t place[TSR_MAX_RANK], r = s->factor;
  int c = s->x->shape.rank - 3;
  for (int i = 0; i < c; i++) place[i] = index[i];
  place[c] = index[c] / (r * r);
  place[c + 1] = index[c + 1] * r + index[c] / r % r;
  place[c + 2] = index[c + 2] * r + index[c] % r;
  return s->x->values[check_ravel(s->x->shape, place)];
}

static void run_shuffles(check_run *run, tsr_dtype dtype, bool is_back) {
  static const struct {
    const char *name;
    check_view view;
    tsr_shape small;  // the shape with many channels
    int64_t factor;
  } list[] = {{"2", CHECK_PLAIN, {4, {2, 8, 3, 5}}, 2},     {"3", CHECK_TRANSPOSED, {3, {9, 2, 3}}, 3},
              {"1", CHECK_SLICED, {4, {1, 2, 3, 4}}, 1},    {"batches", CHECK_PERMUTED, {5, {2, 1, 4, 3, 2}}, 2},
              {"empty", CHECK_PLAIN, {4, {0, 4, 3, 3}}, 2}, {"large", CHECK_REVERSED, {4, {2, 16, 33, 17}}, 4}};
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    if (!check_begin(run, i < 2 ? CHECK_ALWAYS : CHECK_OFTEN, "%s", list[i].name)) continue;
    tsr_shape small = list[i].small, large = small;
    int64_t r = list[i].factor;
    large.dims[large.rank - 3] /= r * r;
    large.dims[large.rank - 2] *= r;
    large.dims[large.rank - 1] *= r;
    shuffle s = {.x = check_input(run, dtype, is_back ? large : small, list[i].view, CHECK_ANY), .factor = r};
    check_result(
        run, is_back ? tsr_pixel_unshuffle(s.x->tensor, r) : tsr_pixel_shuffle(s.x->tensor, r),
        check_expect_each(run, dtype, is_back ? small : large, is_back ? unshuffled_element : shuffled_element, &s));
  }
}

void check_pixel_shuffle(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_shuffles(run, dtype, false);
}

void check_pixel_unshuffle(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_shuffles(run, dtype, true);
}

// --- resize ------------------------------------------------------------------------------------------------------------

typedef struct resize_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape x, size;
  tsr_resize_desc desc;
} resize_case;

#define LINEAR  .mode = TSR_RESIZE_LINEAR
#define CUBIC   .mode = TSR_RESIZE_CUBIC
#define CORNERS .coordinates = TSR_RESIZE_ALIGN_CORNERS
static const resize_case resizes[] = {
    {"nearest", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 3, 4, 5}}, {2, {7, 11}}, {.rounding = TSR_RESIZE_FLOOR}},
    {"nearest-down", CHECK_OFTEN, CHECK_TRANSPOSED, {3, {2, 9, 8}}, {2, {4, 3}}, {.cubic = 0}},
    {"nearest-asymmetric",
     CHECK_OFTEN,
     CHECK_PLAIN,
     {3, {2, 4, 6}},
     {2, {9, 4}},
     {.coordinates = TSR_RESIZE_ASYMMETRIC}},
    {"nearest-ceil", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 6}}, {1, {13}}, {CORNERS, .rounding = TSR_RESIZE_CEIL}},
    {"nearest-up", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 4}}, {1, {8}}, {.rounding = TSR_RESIZE_ROUND_PREFER_CEIL}},
    {"linear", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 3, 4, 5}}, {2, {7, 11}}, {LINEAR}},
    {"linear-down", CHECK_ALWAYS, CHECK_SLICED, {3, {2, 9, 8}}, {2, {4, 3}}, {LINEAR}},
    {"linear-corners", CHECK_OFTEN, CHECK_PERMUTED, {3, {2, 5, 4}}, {2, {9, 1}}, {LINEAR, CORNERS}},
    {"linear-line", CHECK_OFTEN, CHECK_REVERSED, {2, {3, 7}}, {1, {12}}, {LINEAR, .scale = {1.75}}},
    {"linear-solid", CHECK_OFTEN, CHECK_PLAIN, {4, {2, 3, 4, 5}}, {3, {5, 2, 6}}, {LINEAR}},
    {"linear-pytorch",
     CHECK_OFTEN,
     CHECK_PLAIN,
     {3, {2, 5, 6}},
     {2, {1, 3}},
     {LINEAR, .coordinates = TSR_RESIZE_PYTORCH_HALF_PIXEL}},
    {"linear-symmetric",
     CHECK_OFTEN,
     CHECK_PLAIN,
     {2, {2, 5}},
     {1, {6}},
     {LINEAR, .coordinates = TSR_RESIZE_HALF_PIXEL_SYMMETRIC, .scale = {1.3}}},
    {"cubic", CHECK_ALWAYS, CHECK_PLAIN, {3, {2, 5, 6}}, {2, {8, 13}}, {CUBIC}},
    {"cubic-half", CHECK_OFTEN, CHECK_PLAIN, {3, {2, 9, 6}}, {2, {4, 6}}, {CUBIC, .cubic = -0.5}},
    {"cubic-inside", CHECK_OFTEN, CHECK_PLAIN, {3, {2, 5, 4}}, {2, {9, 7}}, {CUBIC, .excludes_outside = true}},
    {"crop",
     CHECK_OFTEN,
     CHECK_PLAIN,
     {3, {2, 6, 7}},
     {2, {5, 4}},
     {LINEAR, .coordinates = TSR_RESIZE_CROP, .start = {0.2, -0.5}, .stop = {0.9, 1.25}, .outside = 3}},
    {"nearest-crop",
     CHECK_OFTEN,
     CHECK_PLAIN,
     {3, {2, 6, 7}},
     {2, {5, 4}},
     {.coordinates = TSR_RESIZE_CROP, .start = {0.21, -0.5}, .stop = {0.92, 1.25}, .outside = 1}},
    {"same", CHECK_OFTEN, CHECK_PLAIN, {3, {2, 5, 4}}, {2, {5, 4}}, {CUBIC}},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {3, {0, 5, 4}}, {2, {7, 2}}, {LINEAR}},
    {"to-nothing", CHECK_OFTEN, CHECK_PLAIN, {3, {2, 5, 4}}, {2, {0, 2}}, {LINEAR}},
    {"large", CHECK_HEAVY, CHECK_PLAIN, {4, {2, 3, 33, 31}}, {2, {65, 17}}, {CUBIC}},
};
#undef LINEAR
#undef CUBIC
#undef CORNERS

// The position in an axis of n elements of element `at` of m: the formulas of ONNX.
static double resized_position(const tsr_resize_desc *d, int i, int64_t n, int64_t m, double at) {
  double scale = d->scale[i] != 0 ? d->scale[i] : (double)m / (double)n, last = (double)n - 1;
  if (d->coordinates == TSR_RESIZE_ASYMMETRIC) return at / scale;
  if (d->coordinates == TSR_RESIZE_ALIGN_CORNERS) return m == 1 ? 0 : at * last / (double)(m - 1);
  if (d->coordinates == TSR_RESIZE_CROP) {
    return m == 1 ? 0.5 * (d->start[i] + d->stop[i]) * last
                  : d->start[i] * last + at * (d->stop[i] - d->start[i]) * last / (double)(m - 1);
  }
  if (d->coordinates == TSR_RESIZE_PYTORCH_HALF_PIXEL && m == 1) return 0;
  double plain = (at + 0.5) / scale - 0.5, adjustment = (double)m / (scale * (double)n);
  return d->coordinates == TSR_RESIZE_HALF_PIXEL_SYMMETRIC ? (double)n / 2 * (1 - adjustment) + plain : plain;
}

static double rounded_position(tsr_resize_rounding rounding, double x) {
  if (rounding == TSR_RESIZE_FLOOR) return floor(x);
  if (rounding == TSR_RESIZE_CEIL) return ceil(x);
  if (x - floor(x) == 0.5) return rounding == TSR_RESIZE_ROUND_PREFER_FLOOR ? floor(x) : ceil(x);
  return floor(x + 0.5);
}

static double kernel_weight(const tsr_resize_desc *d, double distance) {
  double a = d->cubic != 0 ? d->cubic : -0.75, x = fabs(distance);
  if (d->mode == TSR_RESIZE_LINEAR) return x < 1 ? 1 - x : 0;
  if (x <= 1) return (a + 2) * x * x * x - (a + 3) * x * x + 1;
  return x < 2 ? a * x * x * x - 5 * a * x * x + 8 * a * x - 4 * a : 0;
}

// The input elements along one axis that a result reads, with their weights.
typedef struct taps {
  int count;
  int64_t at[4];
  double weight[4];
} taps;

static bool taps_of(const resize_case *c, int i, int64_t at, taps *out) {
  const tsr_resize_desc *d = &c->desc;
  int64_t n = c->x.dims[c->x.rank - c->size.rank + i];
  double x = resized_position(d, i, n, c->size.dims[i], (double)at), last = (double)n - 1, sum = 0;
  if (d->coordinates == TSR_RESIZE_CROP && (x < 0 || x > last)) return false;
  out->count = 0;
  if (d->mode == TSR_RESIZE_NEAREST) {
    *out = (taps){1, {(int64_t)fmin(fmax(rounded_position(d->rounding, x), 0), last)}, {1}};
    return true;
  }
  for (int t = -1; t < 3; t++) {
    double from = floor(x) + t, weight = kernel_weight(d, x - from);
    if (weight == 0 || (d->excludes_outside && (from < 0 || from > last))) continue;
    out->at[out->count] = (int64_t)fmin(fmax(from, 0), last);
    out->weight[out->count++] = weight;
    sum += weight;
  }
  for (int t = 0; t < out->count && d->excludes_outside; t++) out->weight[t] /= sum;
  return true;
}

// Adds up the elements at all combinations of the taps of axes i and later. sums: weighted sum, sum of the terms' magnitudes, largest magnitude of an element.
static void add_taps(const resize_case *c, const check_tensor *x, const taps *all, int i, int64_t *place, double weight,
                     double *sums) {
  if (i >= c->size.rank || i >= SPATIAL) {
    double value = real_at(check_float(x->dtype), x, check_ravel(c->x, place));
    sums[0] += weight * value;
    sums[1] += fabs(weight * value);
    sums[2] = fmax(sums[2], fabs(value));
    return;
  }
  for (int t = 0; t < all[i].count; t++) {
    place[c->x.rank - c->size.rank + i] = all[i].at[t];
    add_taps(c, x, all, i + 1, place, weight * all[i].weight[t], sums);
  }
}

static void resized_element(const resize_case *c, const check_tensor *x, int64_t at, check_expected *wanted) {
  int64_t index[TSR_MAX_RANK];
  taps all[SPATIAL];
  double sums[3] = {0}, positions = 0;
  bool is_inside = true;
  check_unravel(wanted->shape, at, index);
  for (int i = 0; i < c->size.rank; i++) {
    is_inside = taps_of(c, i, index[c->x.rank - c->size.rank + i], &all[i]) && is_inside;
    positions += (double)c->x.dims[c->x.rank - c->size.rank + i];
  }
  if (c->desc.mode == TSR_RESIZE_NEAREST) {
    for (int i = 0; i < c->size.rank && is_inside; i++) index[c->x.rank - c->size.rank + i] = all[i].at[0];
    check_value outside = check_is_float(x->dtype) ? (check_value){.real = c->desc.outside}
                                                   : (check_value){.whole = (int64_t)c->desc.outside};
    wanted->values[at] = is_inside ? x->values[check_ravel(c->x, index)] : outside;
    return;
  }
  if (is_inside) add_taps(c, x, all, 0, index, 1, sums);
  wanted->values[at].real = is_inside ? sums[0] : c->desc.outside;
  // Each weight has an error of about one rounding of 1, whatever its size. Positions are computed in f64 here and in the kernels, so for f64 their rounding
  // errors count as well.
  wanted->magnitudes[at] = is_inside ? sums[1] + sums[2] + FLT_MIN : fabs(c->desc.outside);
  if (wanted->dtype == TSR_F64 && is_inside) wanted->magnitudes[at] += positions * sums[2];
}

void check_resize(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (size_t i = 0; i < sizeof resizes / sizeof resizes[0]; i++) {
    const resize_case *c = &resizes[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    bool is_nearest = c->desc.mode == TSR_RESIZE_NEAREST;
    check_tensor *x = check_input(run, dtype, c->x, c->view, is_nearest ? CHECK_ANY : CHECK_TAME);
    tsr_shape shape = c->x;
    for (int k = 0; k < c->size.rank; k++) shape.dims[shape.rank - c->size.rank + k] = c->size.dims[k];
    check_expected *wanted = check_expect(run, is_nearest ? dtype : check_float(dtype), shape);
    if (!is_nearest) wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    for (int64_t at = 0; at < wanted->count; at++) resized_element(c, x, at, wanted);
    check_result(run, tsr_resize(x->tensor, c->size, &c->desc), wanted);
  }
}

// --- grid_sample -------------------------------------------------------------------------------------------------------

typedef struct grid_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape x, grid;
  tsr_grid_desc desc;
} grid_case;

static const grid_case grids[] = {
    {"linear", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 3, 4, 5}}, {4, {2, 3, 7, 2}}, {.align_corners = false}},
    {"corners", CHECK_ALWAYS, CHECK_TRANSPOSED, {4, {2, 3, 4, 5}}, {4, {2, 3, 7, 2}}, {.align_corners = true}},
    {"border", CHECK_OFTEN, CHECK_SLICED, {4, {1, 2, 4, 5}}, {4, {1, 5, 5, 2}}, {.padding = TSR_GRID_BORDER}},
    {"reflection", CHECK_OFTEN, CHECK_PLAIN, {4, {1, 2, 4, 5}}, {4, {1, 5, 5, 2}}, {.padding = TSR_GRID_REFLECTION}},
    {"reflection-corners",
     CHECK_OFTEN,
     CHECK_REVERSED,
     {4, {1, 2, 4, 5}},
     {4, {1, 5, 5, 2}},
     {.padding = TSR_GRID_REFLECTION, .align_corners = true}},
    {"nearest", CHECK_OFTEN, CHECK_PLAIN, {4, {2, 2, 5, 4}}, {4, {2, 4, 5, 2}}, {.mode = TSR_GRID_NEAREST}},
    {"nearest-border",
     CHECK_OFTEN,
     CHECK_PLAIN,
     {4, {2, 2, 5, 4}},
     {4, {2, 4, 5, 2}},
     {.mode = TSR_GRID_NEAREST, .padding = TSR_GRID_BORDER}},
    {"cubic", CHECK_ALWAYS, CHECK_PLAIN, {4, {1, 2, 5, 6}}, {4, {1, 4, 5, 2}}, {.mode = TSR_GRID_CUBIC}},
    {"cubic-border",
     CHECK_OFTEN,
     CHECK_PERMUTED,
     {4, {1, 2, 5, 6}},
     {4, {1, 4, 5, 2}},
     {.mode = TSR_GRID_CUBIC, .padding = TSR_GRID_BORDER, .align_corners = true}},
    {"solid", CHECK_OFTEN, CHECK_PLAIN, {5, {2, 2, 3, 4, 5}}, {5, {2, 2, 3, 4, 3}}, {.padding = TSR_GRID_BORDER}},
    {"one", CHECK_OFTEN, CHECK_PLAIN, {4, {1, 1, 1, 1}}, {4, {1, 3, 3, 2}}, {.padding = TSR_GRID_REFLECTION}},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {4, {2, 2, 3, 3}}, {4, {2, 0, 3, 2}}, {.align_corners = false}},
    {"large", CHECK_HEAVY, CHECK_PLAIN, {4, {2, 3, 17, 19}}, {4, {2, 23, 21, 2}}, {.align_corners = false}},
};

static double bounded(double at, double size, const tsr_grid_desc *d) {
  double low = d->align_corners ? 0 : -0.5, span = d->align_corners ? size - 1 : size;
  if (d->padding == TSR_GRID_REFLECTION) {
    if (span == 0) return 0;
    double off = fmod(fabs(at - low), 2 * span);
    at = low + (off > span ? 2 * span - off : off);
  }
  return d->padding == TSR_GRID_ZEROS ? at : fmin(fmax(at, 0), size - 1);
}

// The elements and weights for the grid coordinate `g` along one axis. out->at is -1 for an element outside of the image.
static void grid_taps(const tsr_grid_desc *d, double g, int64_t size, taps *out) {
  double at = d->align_corners ? (g + 1) / 2 * (double)(size - 1) : ((g + 1) * (double)size - 1) / 2;
  bool is_cubic = d->mode == TSR_GRID_CUBIC;
  if (!is_cubic) at = bounded(at, (double)size, d);
  tsr_resize_desc weights = {.mode = is_cubic ? TSR_RESIZE_CUBIC : TSR_RESIZE_LINEAR};
  *out = (taps){.count = is_cubic ? 4 : d->mode == TSR_GRID_LINEAR ? 2 : 1};
  double first = is_cubic ? floor(at) - 1 : out->count == 2 ? floor(at) : rint(at);
  for (int t = 0; t < out->count; t++) {
    double from = first + t;
    out->weight[t] = out->count == 1 ? 1 : kernel_weight(&weights, at - from);
    if (is_cubic) from = bounded(from, (double)size, d);
    out->at[t] = from >= 0 && from < (double)size ? (int64_t)from : -1;
  }
}

// The interpolated element. k enumerates all combinations of taps: its digits are the taps along the axes.
static void sampled_element(const grid_case *c, const check_tensor *x, const check_tensor *grid, int64_t at,
                            check_expected *wanted) {
  int spatial = c->x.rank - 2;
  int64_t index[TSR_MAX_RANK], point[TSR_MAX_RANK] = {0}, combinations = 1;
  taps all[SPATIAL];
  check_unravel(wanted->shape, at, index);
  point[0] = index[0];
  for (int i = 0; i < spatial; i++) point[1 + i] = index[2 + i];
  for (int i = 0; i < spatial; i++) {
    point[1 + spatial] = spatial - 1 - i;  // the last axis comes first in a grid
    grid_taps(&c->desc, real_at(wanted->dtype, grid, check_ravel(c->grid, point)), c->x.dims[2 + i], &all[i]);
    combinations *= all[i].count;
  }
  double sum = 0, size = FLT_MIN, largest = 0;  // of the elements that are read
  for (int64_t k = 0; k < combinations; k++) {
    double weight = 1;
    bool is_there = true;
    int64_t rest = k, place[TSR_MAX_RANK] = {index[0], index[1]};
    for (int i = 0; i < spatial; i++) {
      int64_t t = rest % all[i].count;
      rest /= all[i].count;
      place[2 + i] = all[i].at[t];
      is_there = is_there && place[2 + i] >= 0;
      weight *= all[i].weight[t];
    }
    if (!is_there) continue;
    double value = real_at(wanted->dtype, x, check_ravel(c->x, place));
    sum += weight * value;
    size += fabs(weight * value);
    largest = fmax(largest, fabs(value));
  }
  // The position is off by a few roundings of the axis' size, and so are the weights: hence 128 * largest.
  wanted->values[at].real = sum;
  wanted->magnitudes[at] = size + (c->desc.mode == TSR_GRID_NEAREST ? 0 : 128 * largest);
}

// Random positions inside and outside of the image, each a quarter of an element from the centre of an element, so that rounding does not change which element
// is nearest.
static check_tensor *make_grid(check_run *run, const grid_case *c, tsr_dtype dtype) {
  int spatial = c->x.rank - 2;
  int64_t count = check_count(c->grid);
  check_value *values = check_alloc(run, (size_t)count + 1, sizeof *values);
  for (int64_t at = 0; at < count; at++) {
    double size = (double)c->x.dims[c->x.rank - 1 - at % spatial];
    double place = (double)check_random(run, (uint64_t)size + 3) - 2 + (check_random(run, 2) ? 0.25 : -0.25);
    double g = c->desc.align_corners && size > 1 ? place / (size - 1) * 2 - 1 : (2 * place + 1) / size - 1;
    values[at].real = check_round(dtype, g);
  }
  return check_input_of(run, dtype, c->grid, CHECK_PLAIN, values);
}

void check_grid_sample(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  tsr_dtype computed = check_float(dtype);
  for (size_t i = 0; i < sizeof grids / sizeof grids[0]; i++) {
    const grid_case *c = &grids[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_tensor *x = check_input(run, dtype, c->x, c->view, CHECK_TAME), *grid = make_grid(run, c, computed);
    tsr_shape shape = c->x;
    for (int k = 2; k < shape.rank; k++) shape.dims[k] = c->grid.dims[k - 1];
    check_expected *wanted = check_expect(run, computed, shape);
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    for (int64_t at = 0; at < wanted->count; at++) sampled_element(c, x, grid, at, wanted);
    check_result(run, tsr_grid_sample(x->tensor, grid->tensor, &c->desc), wanted);
  }
}

// --- affine_grid -------------------------------------------------------------------------------------------------------

void check_affine_grid(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const tsr_shape sizes[] = {{4, {2, 3, 4, 5}}, {5, {2, 1, 3, 4, 2}}, {4, {3, 1, 1, 7}}, {4, {0, 1, 2, 2}}};
  for (int i = 0; i < 8; i++) {
    tsr_shape size = sizes[i / 2], shape = {.rank = size.rank, .dims = {size.dims[0]}};
    int axes = size.rank - 2;
    if (!check_begin(run, i < 4 ? CHECK_ALWAYS : CHECK_OFTEN, "%d%s", i / 2, i % 2 ? "-corners" : "")) continue;
    check_tensor *theta = check_input(run, dtype, TSR_SHAPE(size.dims[0], axes, axes + 1),
                                      i % 2 ? CHECK_TRANSPOSED : CHECK_PLAIN, CHECK_TAME);
    for (int k = 0; k < axes; k++) shape.dims[1 + k] = size.dims[2 + k];
    shape.dims[1 + axes] = axes;
    check_expected *wanted = check_expect(run, check_float(dtype), shape);
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    for (int64_t at = 0; at < wanted->count; at++) {
      int64_t index[TSR_MAX_RANK], row = 0;
      check_unravel(shape, at, index);
      row = (index[0] * axes + index[1 + axes]) * (axes + 1);
      double sum = real_at(wanted->dtype, theta, row + axes), largest = fabs(sum);
      for (int k = 0; k < axes; k++) {
        double n = (double)size.dims[size.rank - 1 - k], here = (double)index[axes - k];
        double along = n == 1 ? 0 : i % 2 ? 2 * here / (n - 1) - 1 : (2 * here + 1) / n - 1;
        double part = real_at(wanted->dtype, theta, row + k) * along;
        sum += part;
        largest += fabs(part) + fabs(real_at(wanted->dtype, theta, row + k));
      }
      wanted->values[at].real = sum;
      wanted->magnitudes[at] = largest;
    }
    check_result(run, tsr_affine_grid(theta->tensor, size, i % 2), wanted);
  }
}

// --- roi_align ---------------------------------------------------------------------------------------------------------

typedef struct roi_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_roi_desc desc;
} roi_case;

static const roi_case rois[] = {
    {"plain", CHECK_ALWAYS, CHECK_PLAIN, {.rows = 2, .columns = 3, .points = 2}},
    {"not-aligned", CHECK_ALWAYS, CHECK_PLAIN, {.rows = 3, .columns = 2, .points = 1, .not_aligned = true}},
    {"counted", CHECK_OFTEN, CHECK_TRANSPOSED, {.rows = 2, .columns = 2}},
    {"largest", CHECK_OFTEN, CHECK_SLICED, {.rows = 2, .columns = 2, .points = 3, .takes_max = true}},
    {"scaled", CHECK_OFTEN, CHECK_REVERSED, {.rows = 1, .columns = 4, .points = 2, .scale = 0.5}},
};

// Images of 6x7. Points lie away from where another element begins, and from where the image ends.
static const double regions[5][4] = {
    {0.9, 1.1, 4.7, 4.3}, {-1.3, -0.9, 2.2, 3.3}, {2.1, 0.7, 9.1, 8.3}, {3.3, 2.7, 3.4, 2.9}, {5, 4, 4.1, 3}};

static double point_value(const check_tensor *x, tsr_dtype dtype, int64_t plane, double row, double column) {
  double height = (double)x->shape.dims[2], width = (double)x->shape.dims[3];
  if (row < -1 || row > height || column < -1 || column > width) return 0;
  row = fmin(fmax(row, 0), height - 1);
  column = fmin(fmax(column, 0), width - 1);
  double sum = 0;
  for (int k = 0; k < 4; k++) {
    int below = k / 2, right = k % 2;
    double r = fmin(floor(row) + below, height - 1), c = fmin(floor(column) + right, width - 1);
    double down = row - floor(row), across = column - floor(column);
    double weight = (below ? down : 1 - down) * (right ? across : 1 - across);
    sum += weight * real_at(dtype, x, plane * (int64_t)(height * width) + (int64_t)r * (int64_t)width + (int64_t)c);
  }
  return sum;
}

static double largest_of(const check_tensor *x) {
  double largest = FLT_MIN;
  for (int64_t i = 0; i < x->count; i++) largest = fmax(largest, fabs(real_at(check_float(x->dtype), x, i)));
  return largest;
}

static void roi_element(const roi_case *c, const check_tensor *x, const check_tensor *boxes, int64_t image,
                        const int64_t *index, double *out_value) {
  tsr_dtype dtype = check_float(x->dtype);
  double scale = c->desc.scale != 0 ? c->desc.scale : 1, shift = c->desc.not_aligned ? 0 : 0.5, edge[4];
  for (int k = 0; k < 4; k++) edge[k] = real_at(dtype, boxes, index[0] * 4 + k) * scale - shift;
  double least = c->desc.not_aligned ? 1 : 0;
  double across = fmax(edge[2] - edge[0], least) / (double)c->desc.columns;
  double down = fmax(edge[3] - edge[1], least) / (double)c->desc.rows;
  int rows = down <= 0 ? 0 : c->desc.points ? (int)c->desc.points : (int)ceil(down);
  int columns_of = across <= 0 ? 0 : c->desc.points ? (int)c->desc.points : (int)ceil(across);
  double sum = 0, most = rows && columns_of ? -INFINITY : 0;
  for (int a = 0; a < rows; a++) {
    for (int b = 0; b < columns_of; b++) {
      double row = edge[1] + ((double)index[2] + (a + 0.5) / rows) * down;
      double column = edge[0] + ((double)index[3] + (b + 0.5) / columns_of) * across;
      double value = point_value(x, dtype, image * x->shape.dims[1] + index[1], row, column);
      sum += value;
      most = fmax(most, value);
    }
  }
  *out_value = c->desc.takes_max ? most : sum / fmax(rows * columns_of, 1);
}

void check_roi_align(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  tsr_dtype computed = check_float(dtype);
  for (size_t i = 0; i < sizeof rois / sizeof rois[0]; i++) {
    const roi_case *c = &rois[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    check_value boxes[20], images[5] = {{.whole = 1}, {.whole = 0}, {.whole = 1}, {.whole = 0}, {.whole = 7}};
    for (int k = 0; k < 20; k++) boxes[k].real = check_round(computed, regions[k / 4][k % 4]);
    check_tensor *x = check_input(run, dtype, TSR_SHAPE(2, 3, 6, 7), c->view, CHECK_TAME);
    check_tensor *r = check_input_of(run, computed, TSR_SHAPE(5, 4), CHECK_TRANSPOSED, boxes);
    check_tensor *m = check_input_of(run, TSR_I32, TSR_SHAPE(5), CHECK_PLAIN, images);
    check_expected *wanted = check_expect(run, computed, TSR_SHAPE(5, 3, c->desc.rows, c->desc.columns));
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    for (int64_t at = 0; at < wanted->count; at++) {
      int64_t index[TSR_MAX_RANK];
      check_unravel(wanted->shape, at, index);
      if (images[index[0]].whole < 2) roi_element(c, x, r, images[index[0]].whole, index, &wanted->values[at].real);
      wanted->magnitudes[at] = 16 * largest_of(x);  // positions of up to 8 have errors, by which the weights change
    }
    check_result(run, tsr_roi_align(x->tensor, r->tensor, m->tensor, &c->desc), wanted);
  }
}
