// SPDX-License-Identifier: MIT
// rnn, lstm and gru: a reference that computes step by step, and cases. nms: a reference that compares every box with all better ones, and cases.
#include <math.h>

#include "check.h"
#include "check_reference.h"

static double real_at(tsr_dtype dtype, const check_tensor *t, int64_t at) {
  return check_convert(dtype, t->dtype, t->values[at]).real;
}

// --- Recurrent layers -------------------------------------------------------------------------------------------------

typedef struct layer_case {
  const char *name;
  check_weight weight;
  check_view view;
  int64_t steps, batch, inputs, hidden;
  bool has_bias, has_state, is_reverse;
} layer_case;

static const layer_case layers[] = {
    {"plain", CHECK_ALWAYS, CHECK_PLAIN, 3, 2, 5, 4, false, false, false},
    {"bias", CHECK_ALWAYS, CHECK_PLAIN, 4, 3, 2, 3, true, true, false},
    {"reverse", CHECK_OFTEN, CHECK_TRANSPOSED, 3, 2, 4, 2, true, true, true},
    {"sliced", CHECK_OFTEN, CHECK_SLICED, 2, 1, 3, 6, false, true, false},
    {"one", CHECK_OFTEN, CHECK_PLAIN, 1, 1, 1, 1, true, false, false},
    {"no-steps", CHECK_OFTEN, CHECK_PLAIN, 0, 2, 3, 2, false, true, false},
    {"long", CHECK_HEAVY, CHECK_PLAIN, 17, 5, 7, 9, true, true, false},
    // On GPUs, rows: several rows for each work-group, and more weights than it keeps in registers. units, quads: a launch for each step.
    {"rows", CHECK_OFTEN, CHECK_PLAIN, 3, 9, 2, 130, true, true, true},
    {"units", CHECK_HEAVY, CHECK_PLAIN, 3, 3, 2, 370, true, true, false},
    {"quads", CHECK_HEAVY, CHECK_PLAIN, 2, 2, 2, 384, false, true, true},
};

typedef struct layer {
  const layer_case *c;
  int gates;
  tsr_dtype dtype;
  check_tensor *x, *weight_input, *weight_hidden, *bias_input, *bias_hidden, *hidden, *cell;
} layer;

// Row `g` of the weights times a vector, plus its bias.
static double gate_part(const layer *l, const check_tensor *weight, const check_tensor *bias, int64_t g,
                        const double *vector, int64_t n) {
  double sum = bias ? real_at(l->dtype, bias, g) : 0;
  for (int64_t i = 0; i < n; i++) sum += real_at(l->dtype, weight, g * n + i) * vector[i];
  return sum;
}

// The next state of one row, in place.
static void step(const layer *l, const double *input, double *state, double *cell, double *work) {
  int64_t h = l->c->hidden;
  for (int64_t i = 0; i < h; i++) {
    double a[4], b[4];
    for (int g = 0; g < l->gates; g++) {
      a[g] = gate_part(l, l->weight_input, l->bias_input, g * h + i, input, l->c->inputs);
      b[g] = gate_part(l, l->weight_hidden, l->bias_hidden, g * h + i, state, h);
    }
    if (l->gates == 1) work[i] = tanh(a[0] + b[0]);
    if (l->gates == 3) {
      double update = ref_sigmoid(a[1] + b[1]), offered = tanh(a[2] + ref_sigmoid(a[0] + b[0]) * b[2]);
      work[i] = (1 - update) * offered + update * state[i];
    }
    if (l->gates == 4) {
      cell[i] = ref_sigmoid(a[1] + b[1]) * cell[i] + ref_sigmoid(a[0] + b[0]) * tanh(a[2] + b[2]);
      work[i] = ref_sigmoid(a[3] + b[3]) * tanh(cell[i]);
    }
  }
  for (int64_t i = 0; i < h; i++) state[i] = work[i];
}

static check_expected *expect_states(check_run *run, const layer *l, tsr_shape shape) {
  check_expected *wanted = check_expect(run, l->dtype, shape);
  wanted->magnitudes = check_alloc(run, (size_t)wanted->count, sizeof(double));
  wanted->terms = l->c->inputs + l->c->hidden;
  // Sums of products of numbers up to 2, and errors of earlier steps.
  double size = 4 * (double)(wanted->terms + 2) * (double)(l->c->steps + 1);
  for (int64_t i = 0; i < wanted->count; i++) wanted->magnitudes[i] = size;
  return wanted;
}

static void expect_layer(check_run *run, const layer *l, check_expected **out_wanted) {
  const layer_case *c = l->c;
  double *input = check_alloc(run, (size_t)c->inputs, sizeof(double)),
         *state = check_alloc(run, (size_t)c->hidden * 3, sizeof(double));
  double *cell = state + c->hidden, *work = cell + c->hidden;
  tsr_shape last = TSR_SHAPE(c->batch, c->hidden);
  out_wanted[0] = expect_states(run, l, TSR_SHAPE(c->steps, c->batch, c->hidden));
  out_wanted[1] = expect_states(run, l, last);
  out_wanted[2] = expect_states(run, l, last);
  for (int64_t row = 0; row < c->batch; row++) {
    for (int64_t i = 0; i < c->hidden; i++) {
      state[i] = l->hidden ? real_at(l->dtype, l->hidden, row * c->hidden + i) : 0;
      cell[i] = l->cell ? real_at(l->dtype, l->cell, row * c->hidden + i) : 0;
    }
    for (int64_t t = 0; t < c->steps; t++) {
      int64_t at = (c->is_reverse ? c->steps - 1 - t : t) * c->batch + row;
      for (int64_t i = 0; i < c->inputs; i++) input[i] = real_at(l->dtype, l->x, at * c->inputs + i);
      step(l, input, state, cell, work);
      for (int64_t i = 0; i < c->hidden; i++) out_wanted[0]->values[at * c->hidden + i].real = state[i];
    }
    for (int64_t i = 0; i < c->hidden; i++) {
      out_wanted[1]->values[row * c->hidden + i].real = state[i];
      out_wanted[2]->values[row * c->hidden + i].real = cell[i];
    }
  }
}

static layer make_layer(check_run *run, tsr_dtype dtype, const layer_case *c, int gates) {
  int64_t rows = gates * c->hidden;
  layer l = {.c = c, .gates = gates, .dtype = check_float(dtype)};
  l.x = check_input(run, dtype, TSR_SHAPE(c->steps, c->batch, c->inputs), c->view, CHECK_TAME);
  l.weight_input = check_input(run, l.dtype, TSR_SHAPE(rows, c->inputs), c->view, CHECK_TAME);
  l.weight_hidden = check_input(run, l.dtype, TSR_SHAPE(rows, c->hidden), CHECK_PLAIN, CHECK_TAME);
  if (c->has_bias) {
    l.bias_input = check_input(run, l.dtype, TSR_SHAPE(rows), CHECK_PLAIN, CHECK_TAME);
    l.bias_hidden = check_input(run, l.dtype, TSR_SHAPE(rows), CHECK_SLICED, CHECK_TAME);
  }
  if (c->has_state) l.hidden = check_input(run, l.dtype, TSR_SHAPE(c->batch, c->hidden), CHECK_PLAIN, CHECK_TAME);
  if (c->has_state && gates == 4) {
    l.cell = check_input(run, l.dtype, TSR_SHAPE(c->batch, c->hidden), CHECK_TRANSPOSED, CHECK_TAME);
  }
  return l;
}

static tsr_tensor *tensor_of(const check_tensor *t) { return t ? t->tensor : NULL; }

static tsr_status call_layer(const layer *l, tsr_tensor **results) {
  tsr_recurrent_desc desc = {.bias_input = tensor_of(l->bias_input),
                             .bias_hidden = tensor_of(l->bias_hidden),
                             .hidden = tensor_of(l->hidden),
                             .cell = tensor_of(l->cell),
                             .reverse = l->c->is_reverse};
  tsr_tensor *x = l->x->tensor, *wi = l->weight_input->tensor, *wh = l->weight_hidden->tensor;
  if (l->gates == 1) return tsr_rnn(x, wi, wh, &desc, &results[0], &results[1]);
  if (l->gates == 3) return tsr_gru(x, wi, wh, &desc, &results[0], &results[1]);
  return tsr_lstm(x, wi, wh, &desc, &results[0], &results[1], &results[2]);
}

static void run_layers(check_run *run, tsr_dtype dtype, int gates) {
  for (size_t i = 0; i < sizeof layers / sizeof layers[0]; i++) {
    const layer_case *c = &layers[i];
    if (!check_begin(run, c->weight, "%s", c->name)) continue;
    layer l = make_layer(run, dtype, c, gates);
    tsr_tensor *results[3] = {NULL, NULL, NULL};
    check_expected *wanted[3];
    if (call_layer(&l, results) != TSR_OK) {
      check_fail(run, "%s", tsr_last_error());
      continue;
    }
    expect_layer(run, &l, wanted);
    check_part_result(run, results[0], wanted[0]);
    if (gates == 4) check_part_result(run, results[2], wanted[2]);
    check_result(run, results[1], wanted[1]);
  }
}

void check_rnn(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_layers(run, dtype, 1);
}

void check_lstm(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_layers(run, dtype, 4);
}

void check_gru(check_run *run, const check_op *op, tsr_dtype dtype) {
  (void)op;
  run_layers(run, dtype, 3);
}

// --- nms --------------------------------------------------------------------------------------------------------------

// The corners of a box, in order.
static void corners_of(const check_tensor *boxes, int64_t at, bool is_centre, double *out) {
  for (int k = 0; k < 2; k++) {
    double a = boxes->values[at * 4 + k].real, b = boxes->values[at * 4 + 2 + k].real;
    out[k] = is_centre ? a - b / 2 : fmin(a, b);
    out[2 + k] = is_centre ? a + b / 2 : fmax(a, b);
  }
}

static double overlap_of(const check_tensor *boxes, int64_t a, int64_t b, bool is_centre) {
  double x[4], y[4], both = 1, first = 1, second = 1;
  corners_of(boxes, a, is_centre, x);
  corners_of(boxes, b, is_centre, y);
  for (int k = 0; k < 2; k++) {
    both *= fmax(fmin(x[2 + k], y[2 + k]) - fmax(x[k], y[k]), 0);
    first *= x[2 + k] - x[k];
    second *= y[2 + k] - y[k];
  }
  return both > 0 ? both / (first + second - both) : 0;
}

typedef struct nms_case {
  const char *name;
  int64_t images, classes, n;
  tsr_nms_desc desc;
} nms_case;

// The box with the best score that is_done does not exclude (done: taken, or suppressed by a taken box); -1: none is left.
static int64_t next_box(const nms_case *c, const check_value *scores, const bool *is_done) {
  int64_t best = -1;
  for (int64_t i = 0; i < c->n; i++) {
    if (is_done[i] || (c->desc.drops_low && scores[i].real <= c->desc.least)) continue;
    if (best < 0 || scores[i].real > scores[best].real) best = i;
  }
  return best;
}

static int64_t expect_list(check_run *run, const nms_case *c, const check_tensor *boxes, const check_tensor *scores,
                           int64_t list, check_value *rows) {
  bool *is_done = check_alloc(run, (size_t)c->n + 1, sizeof *is_done);
  const check_value *list_scores = scores->values + list * c->n;
  int64_t found = 0, image = list / c->classes, most = c->desc.most ? c->desc.most : c->n;
  double limit = c->desc.overlap != 0 ? c->desc.overlap : 0.5;
  for (int64_t best = 0; found < most && (best = next_box(c, list_scores, is_done)) >= 0; found++) {
    rows[found * 3].whole = image;
    rows[found * 3 + 1].whole = list % c->classes;
    rows[found * 3 + 2].whole = best;
    is_done[best] = true;
    for (int64_t i = 0; i < c->n; i++) {
      if (overlap_of(boxes, image * c->n + best, image * c->n + i, c->desc.is_centre) > limit) is_done[i] = true;
    }
  }
  return found;
}

// Boxes with integer corners in a small area, so that many overlap. No overlap is near a limit of 0.5 or 0.3 without being equal to it, so rounding decides nothing.
void check_nms(check_run *run, const check_op *op, tsr_dtype dtype) {
  static const nms_case list[] = {{"plain", 1, 1, 30, {.most = 0}},
                                  {"classes", 2, 3, 40, {.overlap = 0.3}},
                                  {"most", 2, 2, 25, {.most = 3}},
                                  {"low", 1, 2, 50, {.drops_low = true, .least = 0.5}},
                                  {"centre", 1, 1, 30, {.is_centre = true, .overlap = 0.3}},
                                  {"one", 1, 1, 1, {.most = 0}},
                                  {"none", 1, 2, 0, {.most = 0}},
                                  {"many", 1, 1, 300, {.overlap = 0.3}}};
  if (dtype != TSR_F32) return;
  (void)op;
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    const nms_case *c = &list[i];
    if (!check_begin(run, i < 3 ? CHECK_ALWAYS : CHECK_OFTEN, "%s", c->name)) continue;
    int64_t boxes = c->images * c->n, all = c->images * c->classes * c->n;
    check_value *places = check_alloc(run, (size_t)boxes * 4 + 1, sizeof *places);
    check_value *points = check_alloc(run, (size_t)all + 1, sizeof *points);
    for (int64_t k = 0; k < boxes * 4; k++) places[k].real = (double)check_random(run, 16) + (k % 4 > 1 ? 4 : 0);
    for (int64_t k = 0; k < all; k++) points[k].real = (double)check_random(run, 1 << 20) / (1 << 20);
    check_tensor *x = check_input_of(run, TSR_F32, TSR_SHAPE(c->images, c->n, 4), CHECK_TRANSPOSED, places);
    check_tensor *s = check_input_of(run, TSR_F32, TSR_SHAPE(c->images, c->classes, c->n), CHECK_PLAIN, points);
    check_value *rows = check_alloc(run, (size_t)all * 3 + 1, sizeof *rows);
    int64_t found = 0;
    for (int64_t k = 0; k < c->images * c->classes; k++) found += expect_list(run, c, x, s, k, rows + found * 3);
    check_expected *wanted = check_expect(run, TSR_I32, TSR_SHAPE(found, 3));
    for (int64_t k = 0; k < found * 3; k++) wanted->values[k] = rows[k];
    check_waits(run);
    check_result(run, tsr_nms(x->tensor, s->tensor, &c->desc), wanted);
  }
}
