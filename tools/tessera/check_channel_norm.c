// SPDX-License-Identifier: MIT
// Norms of channels, embedding and bags: references and cases.
#include <float.h>
#include <math.h>
#include <string.h>

#include "check_move.h"
#include "check_reference.h"

typedef struct norm_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape shape;  // [image, channel, …]
  int64_t groups;
  bool has_weight, has_bias;
} norm_case;

static const norm_case cases[] = {
    {"2d", CHECK_ALWAYS, CHECK_PLAIN, {4, {2, 6, 5, 3}}, 3, true, true},
    {"plain", CHECK_ALWAYS, CHECK_PLAIN, {3, {3, 4, 7}}, 2, false, false},
    {"weight", CHECK_OFTEN, CHECK_TRANSPOSED, {3, {2, 6, 11}}, 2, true, false},
    {"bias", CHECK_OFTEN, CHECK_SLICED, {3, {2, 5, 7}}, 1, false, true},
    {"rows", CHECK_OFTEN, CHECK_PLAIN, {2, {7, 12}}, 4, true, true},
    {"permuted", CHECK_OFTEN, CHECK_PERMUTED, {4, {3, 4, 2, 5}}, 4, true, true},
    {"reversed", CHECK_OFTEN, CHECK_REVERSED, {3, {2, 3, 9}}, 3, true, true},
    {"expanded", CHECK_OFTEN, CHECK_EXPANDED, {3, {3, 2, 5}}, 1, true, true},
    {"one", CHECK_OFTEN, CHECK_PLAIN, {3, {1, 1, 1}}, 1, true, true},
    {"empty", CHECK_OFTEN, CHECK_PLAIN, {3, {0, 4, 3}}, 2, true, true},
    {"empty-beside", CHECK_OFTEN, CHECK_PLAIN, {3, {2, 4, 0}}, 2, true, true},
    {"large", CHECK_HEAVY, CHECK_PLAIN, {4, {2, 16, 31, 17}}, 4, true, true},
};

enum { CASE_COUNT = sizeof cases / sizeof cases[0] };

static const double epsilon = 1.0 / 1024;

static double real_at(tsr_dtype dtype, const check_tensor *t, int64_t at) {
  return check_convert(dtype, t->dtype, t->values[at]).real;
}

// The inputs of a case. mean, variance, weight and bias have one element per channel; each may be NULL.
typedef struct norm_inputs {
  tsr_dtype dtype;
  check_tensor *x, *mean, *variance, *weight, *bias;
  int64_t channels, plane;  // plane: elements of one channel of one image
} norm_inputs;

static norm_inputs make_inputs(check_run *run, tsr_dtype dtype, const norm_case *c, bool has_statistics) {
  tsr_dtype computed = check_float(dtype);
  tsr_shape list = TSR_SHAPE(c->shape.dims[1]);
  norm_inputs in = {.dtype = computed, .channels = c->shape.dims[1], .plane = 1};
  for (int i = 2; i < c->shape.rank; i++) in.plane *= c->shape.dims[i];
  in.x = check_input(run, dtype, c->shape, c->view, CHECK_TAME);
  if (has_statistics) {
    in.mean = check_input(run, computed, list, CHECK_PLAIN, CHECK_TAME);
    in.variance = check_input(run, computed, list, CHECK_PLAIN, CHECK_NEAR_ONE);
  }
  if (c->has_weight) in.weight = check_input(run, computed, list, CHECK_PLAIN, CHECK_TAME);
  if (c->has_bias) in.bias = check_input(run, computed, list, CHECK_PLAIN, CHECK_TAME);
  return in;
}

static tsr_tensor *tensor_of(const check_tensor *t) { return t ? t->tensor : NULL; }

static check_expected *begin_expected(check_run *run, const norm_inputs *in, int64_t terms) {
  check_expected *wanted = check_expect(run, in->dtype, in->x->shape);
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = terms;
  return wanted;
}

// Writes (x - mean) * scale * weight + bias for one element. `size` is the magnitude of the numbers that the mean was computed from; it widens the allowed
// error.
static void write_element(const norm_inputs *in, int64_t at, double mean, double scale, double size,
                          check_expected *wanted) {
  int64_t channel = at / in->plane % in->channels;
  double x = real_at(in->dtype, in->x, at), w = in->weight ? real_at(in->dtype, in->weight, channel) : 1;
  double b = in->bias ? real_at(in->dtype, in->bias, channel) : 0;
  wanted->values[at].real = (x - mean) * scale * w + b;
  wanted->magnitudes[at] = (fabs(x) + fabs(mean) + size) * scale * fabs(w) + fabs(b);
}

void check_batch_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < CASE_COUNT; i++) {
    const norm_case *c = &cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    norm_inputs in = make_inputs(run, dtype, c, true);
    check_expected *wanted = begin_expected(run, &in, 1);
    for (int64_t at = 0; at < wanted->count; at++) {
      int64_t channel = at / in.plane % in.channels;
      double scale = 1 / sqrt(real_at(in.dtype, in.variance, channel) + epsilon);
      write_element(&in, at, real_at(in.dtype, in.mean, channel), scale, 0, wanted);
    }
    check_result(run,
                 tsr_batch_norm(in.x->tensor, in.mean->tensor, in.variance->tensor, tensor_of(in.weight),
                                tensor_of(in.bias), epsilon),
                 wanted);
  }
}

// Expected running statistics, one per channel: the old value 2 after an update by `now`. `sizes` are the magnitudes that the errors of `now` are measured by.
static check_expected *expect_running(check_run *run, const norm_inputs *in, const double *now, const double *sizes,
                                      double momentum) {
  check_expected *wanted = check_expect(run, in->dtype, TSR_SHAPE(in->channels));
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = in->x->count / in->channels;
  for (int64_t i = 0; i < in->channels; i++) {
    wanted->values[i].real = (1 - momentum) * 2 + momentum * now[i];
    wanted->magnitudes[i] = 2 + sizes[i];
  }
  return wanted;
}

// Computes mean, variance (divided by n, not n - 1) and largest magnitude of each channel.
static void channel_statistics(const norm_inputs *in, double *means, double *variances, double *sizes) {
  int64_t n = in->x->count / in->channels;
  for (int64_t channel = 0; channel < in->channels; channel++) {
    ref_sum sum = {0}, squares = {0};
    for (int pass = 0; pass < 2; pass++) {
      for (int64_t i = 0; i < n; i++) {
        double x = real_at(in->dtype, in->x, (i / in->plane * in->channels + channel) * in->plane + i % in->plane);
        if (pass == 0) ref_sum_add(&sum, x);
        else ref_sum_add_product(&squares, x - means[channel], x - means[channel]);
        sizes[channel] = fmax(sizes[channel], fabs(x));
      }
      if (pass == 0) means[channel] = ref_sum_value(&sum) / (double)n;
    }
    variances[channel] = ref_sum_value(&squares) / (double)n;
  }
}

void check_batch_norm_train(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  const double momentum = 0.25;
  for (int i = 0; i < CASE_COUNT; i++) {
    const norm_case *c = &cases[i];
    if (check_count(c->shape) == 0 || !check_begin(run, c->weight, "%s", c->name)) continue;
    norm_inputs in = make_inputs(run, dtype, c, false);
    size_t channels = (size_t)in.channels;
    double *means = check_alloc(run, channels, sizeof(double)), *variances = check_alloc(run, channels, sizeof(double));
    double *sizes = check_alloc(run, channels, sizeof(double)), n = (double)in.x->count / (double)in.channels;
    check_value *twos = check_alloc(run, channels, sizeof *twos);
    for (size_t k = 0; k < channels; k++) twos[k].real = 2;
    check_tensor *mean = check_input_of(run, in.dtype, TSR_SHAPE(in.channels), CHECK_SLICED, twos);
    check_tensor *variance = check_input_of(run, in.dtype, TSR_SHAPE(in.channels), CHECK_PLAIN, twos);
    tsr_tensor *normed = NULL;
    if (tsr_batch_norm_train(in.x->tensor, mean->tensor, variance->tensor, tensor_of(in.weight), tensor_of(in.bias),
                             momentum, epsilon, &normed) != TSR_OK) {
      check_fail(run, "%s", tsr_last_error());
      continue;
    }
    channel_statistics(&in, means, variances, sizes);
    check_expected *wanted = begin_expected(run, &in, (int64_t)n);
    for (int64_t at = 0; at < wanted->count; at++) {
      int64_t channel = at / in.plane % in.channels;
      write_element(&in, at, means[channel], 1 / sqrt(variances[channel] + epsilon), sizes[channel], wanted);
    }
    check_part_result(run, normed, wanted);
    check_part_result(run, mean->tensor, expect_running(run, &in, means, sizes, momentum));
    for (size_t k = 0; k < channels; k++) {
      variances[k] *= n > 1 ? n / (n - 1) : 1;
      sizes[k] *= 2 * sizes[k];
    }
    check_result(run, variance->tensor, expect_running(run, &in, variances, sizes, momentum));
  }
}

// Normalises each group of channels of an image; the elements of a group are contiguous.
static check_expected *expect_groups(check_run *run, const norm_inputs *in, int64_t groups) {
  int64_t n = groups > 0 ? in->channels / groups * in->plane : 0;
  check_expected *wanted = begin_expected(run, in, n);
  for (int64_t first = 0; first < wanted->count; first += n) {
    ref_sum sum = {0}, squares = {0};
    double size = 0;
    for (int64_t i = 0; i < n; i++) ref_sum_add(&sum, real_at(in->dtype, in->x, first + i));
    double mean = ref_sum_value(&sum) / (double)n;
    for (int64_t i = 0; i < n; i++) {
      double x = real_at(in->dtype, in->x, first + i);
      ref_sum_add_product(&squares, x - mean, x - mean);
      size = fmax(size, fabs(x));
    }
    double scale = 1 / sqrt(ref_sum_value(&squares) / (double)n + epsilon);
    for (int64_t i = 0; i < n; i++) write_element(in, first + i, mean, scale, size, wanted);
  }
  return wanted;
}

void check_group_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < CASE_COUNT; i++) {
    const norm_case *c = &cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    norm_inputs in = make_inputs(run, dtype, c, false);
    check_result(run, tsr_group_norm(in.x->tensor, c->groups, tensor_of(in.weight), tensor_of(in.bias), epsilon),
                 expect_groups(run, &in, c->groups));
  }
}

void check_instance_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < CASE_COUNT; i++) {
    const norm_case *c = &cases[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    norm_inputs in = make_inputs(run, dtype, c, false);
    check_result(run, tsr_instance_norm(in.x->tensor, tensor_of(in.weight), tensor_of(in.bias), epsilon),
                 expect_groups(run, &in, in.channels));
  }
}

// One element of local response normalisation. The allowed error includes that of pow, up to 16 ULP.
static void response_element(const norm_inputs *in, int64_t at, int64_t size, check_expected *wanted) {
  int64_t channel = at / in->plane % in->channels, first = channel - (size - 1) / 2;
  ref_sum squares = {0};
  for (int64_t c = first; c < first + size; c++) {
    if (c < 0 || c >= in->channels) continue;
    double x = real_at(in->dtype, in->x, at + (c - channel) * in->plane);
    ref_sum_add_product(&squares, x, x);
  }
  double mean = ref_sum_value(&squares) / (double)size;
  wanted->values[at].real = real_at(in->dtype, in->x, at) / pow(2 + 0.5 * mean, 0.75);
  wanted->magnitudes[at] = 2 * fabs(wanted->values[at].real) + FLT_MIN;
}

void check_local_response_norm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  for (int i = 0; i < CASE_COUNT; i++) {
    const norm_case *c = &cases[i];
    for (int64_t size = 1; size <= 4; size++) {
      if (!check_begin(run, size == 3 ? c->weight : CHECK_HEAVY, "%s-%d", c->name, (int)size)) continue;
      norm_inputs in = make_inputs(run, dtype, c, false);
      check_expected *wanted = begin_expected(run, &in, size);
      for (int64_t at = 0; at < wanted->count; at++) response_element(&in, at, size, wanted);
      check_result(run, tsr_local_response_norm(in.x->tensor, size, 0.5, 0.75, 2), wanted);
    }
  }
}

// --- embedding --------------------------------------------------------------------------------------------------------

typedef struct lookup {
  const check_tensor *table, *indices;
} lookup;

static check_value embedded_element(const void *context, const int64_t *index) {
  const lookup *l = context;
  int64_t place[TSR_MAX_RANK] = {0}, rows = l->table->shape.dims[0];
  int64_t row = l->indices->values[check_ravel(l->indices->shape, index)].whole;
  if (row < 0) row += rows;
  if (row < 0 || row >= rows) return (check_value){0};
  place[0] = row;
  memcpy(place + 1, index + l->indices->shape.rank, (size_t)(l->table->shape.rank - 1) * sizeof *place);
  return l->table->values[check_ravel(l->table->shape, place)];
}

void check_embedding(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  static const struct {
    const char *name;
    check_weight weight;
    check_view view;
    tsr_shape table, indices;
  } list[] = {
      {"batch", CHECK_ALWAYS, CHECK_PLAIN, {2, {13, 7}}, {2, {3, 5}}},
      {"list", CHECK_OFTEN, CHECK_TRANSPOSED, {2, {11, 5}}, {1, {17}}},
      {"scalar", CHECK_OFTEN, CHECK_SLICED, {2, {5, 3}}, {0, {0}}},
      {"matrices", CHECK_OFTEN, CHECK_PERMUTED, {3, {5, 3, 4}}, {2, {2, 3}}},
      {"numbers", CHECK_OFTEN, CHECK_REVERSED, {1, {7}}, {2, {3, 3}}},
      {"none", CHECK_OFTEN, CHECK_PLAIN, {2, {5, 3}}, {2, {0, 4}}},
      {"no-width", CHECK_OFTEN, CHECK_PLAIN, {2, {5, 0}}, {1, {4}}},
      {"large", CHECK_HEAVY, CHECK_PLAIN, {2, {101, 67}}, {2, {31, 29}}},
  };
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    if (!check_begin(run, list[i].weight, "%s", list[i].name)) continue;
    int64_t rows = list[i].table.dims[0];
    lookup l = {.table = check_input(run, dtype, list[i].table, list[i].view, CHECK_ANY),
                .indices = check_indices(run, TSR_I32, list[i].indices, CHECK_PLAIN, -rows - 1, rows)};
    tsr_shape shape = list[i].indices;
    for (int k = 1; k < list[i].table.rank; k++) shape.dims[shape.rank++] = list[i].table.dims[k];
    check_result(run, tsr_embedding(l.table->tensor, l.indices->tensor),
                 check_expect_each(run, dtype, shape, embedded_element, &l));
  }
}

// --- embedding_bag ----------------------------------------------------------------------------------------------------

typedef struct bag_case {
  const char *name;
  check_weight weight;
  check_view view;
  tsr_shape table, indices;
  int64_t bags;  // with offsets: how many; 0: rows of indices are bags
  bool has_weights;
  tsr_bag_desc desc;
} bag_case;

static const bag_case bags[] = {
    {"sum", CHECK_ALWAYS, CHECK_PLAIN, {2, {13, 7}}, {2, {5, 4}}, 0, false, {.mode = TSR_BAG_SUM}},
    {"mean", CHECK_ALWAYS, CHECK_TRANSPOSED, {2, {13, 7}}, {2, {5, 4}}, 0, false, {.mode = TSR_BAG_MEAN}},
    {"max", CHECK_ALWAYS, CHECK_SLICED, {2, {13, 7}}, {2, {5, 4}}, 0, false, {.mode = TSR_BAG_MAX}},
    {"offsets", CHECK_ALWAYS, CHECK_PLAIN, {2, {11, 5}}, {1, {17}}, 6, false, {.mode = TSR_BAG_MEAN}},
    {"offsets-max", CHECK_OFTEN, CHECK_REVERSED, {2, {11, 5}}, {1, {17}}, 6, false, {.mode = TSR_BAG_MAX}},
    {"weights", CHECK_OFTEN, CHECK_PLAIN, {2, {11, 5}}, {2, {4, 3}}, 0, true, {.mode = TSR_BAG_SUM}},
    {"offsets-weights", CHECK_OFTEN, CHECK_PLAIN, {2, {11, 5}}, {1, {9}}, 3, true, {.mode = TSR_BAG_SUM}},
    {"ignored", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 5}}, {2, {4, 6}}, 0, false, {TSR_BAG_MEAN, true, 2, NULL}},
    {"none", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 5}}, {2, {4, 0}}, 0, false, {.mode = TSR_BAG_MAX}},
    {"no-bags", CHECK_OFTEN, CHECK_PLAIN, {2, {3, 5}}, {2, {0, 2}}, 0, false, {.mode = TSR_BAG_SUM}},
    {"no-rows", CHECK_OFTEN, CHECK_PLAIN, {2, {0, 5}}, {2, {3, 2}}, 0, false, {.mode = TSR_BAG_SUM}},
    {"large", CHECK_HEAVY, CHECK_PLAIN, {2, {101, 67}}, {2, {31, 29}}, 0, false, {.mode = TSR_BAG_SUM}},
};

typedef struct bag_inputs {
  const check_tensor *table, *indices, *offsets, *weights;
} bag_inputs;

static void bag_element(const bag_case *c, const bag_inputs *in, int64_t at, check_expected *wanted) {
  int64_t columns = c->table.dims[1], rows = c->table.dims[0], bag = at / columns, count = 0;
  int64_t each = c->indices.dims[c->indices.rank - 1], first = bag * each, last = first + each;
  if (in->offsets) {
    first = in->offsets->values[bag].whole;
    last = bag + 1 < in->offsets->count ? in->offsets->values[bag + 1].whole : in->indices->count;
  }
  ref_sum sum = {0};
  double most = -INFINITY, size = 0;
  for (int64_t i = first; i < last; i++) {
    int64_t row = in->indices->values[i].whole;
    if (c->desc.ignores && row == c->desc.ignored) continue;
    if (row < 0) row += rows;
    if (row < 0 || row >= rows) continue;
    double value = real_at(wanted->dtype, in->table, row * columns + at % columns);
    if (in->weights) value *= real_at(wanted->dtype, in->weights, i);
    ref_sum_add(&sum, value);
    size += fabs(value);
    most = fmax(most, value);
    count++;
  }
  double result = c->desc.mode == TSR_BAG_MAX ? most : ref_sum_value(&sum);
  double divisor = c->desc.mode == TSR_BAG_MEAN && count > 0 ? (double)count : 1;
  wanted->values[at].real = count > 0 ? result / divisor : 0;
  wanted->magnitudes[at] = size / divisor + FLT_MIN;
}

void check_embedding_bag(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  tsr_dtype computed = check_float(dtype);
  for (size_t i = 0; i < sizeof bags / sizeof bags[0]; i++) {
    const bag_case *c = &bags[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    int64_t rows = c->table.dims[0], total = check_count(c->indices), count = c->bags ? c->bags : c->indices.dims[0];
    tsr_bag_desc desc = c->desc;
    bag_inputs in = {.table = check_input(run, dtype, c->table, c->view, CHECK_TAME),
                     .indices = check_indices(run, TSR_I32, c->indices, CHECK_PLAIN, -rows - 1, rows)};
    if (c->bags) {  // the second bag is empty
      check_value *offsets = check_alloc(run, (size_t)c->bags, sizeof *offsets);
      for (int64_t k = 2; k < c->bags; k++) offsets[k].whole = (k - 1) * total / c->bags;
      in.offsets = check_input_of(run, TSR_I32, TSR_SHAPE(c->bags), CHECK_PLAIN, offsets);
    }
    if (c->has_weights) {
      in.weights = check_input(run, computed, c->indices, CHECK_SLICED, CHECK_TAME);
      desc.weights = in.weights->tensor;
    }
    check_expected *wanted = check_expect(run, computed, TSR_SHAPE(count, c->table.dims[1]));
    wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
    wanted->terms = total;
    for (int64_t at = 0; at < wanted->count; at++) bag_element(c, &in, at, wanted);
    check_result(run, tsr_embedding_bag(in.table->tensor, in.indices->tensor, tensor_of(in.offsets), &desc), wanted);
  }
}
