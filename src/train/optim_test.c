// SPDX-License-Identifier: MIT
// Optimisers against their formulas in f64.
#include "train/optim.h"
#include <stdlib.h>
#include <string.h>

#include "ops/ops_testing.h"

enum { ROWS = 9, COLUMNS = 70, BIASES = 30, ELEMENTS = ROWS * COLUMNS + BIASES };

static const tsr_param_desc network[] = {
    {.name = "a.weight", .shape = {2, {ROWS, COLUMNS}}, .init = TSR_INIT_NORMAL},
    {.name = "a.bias", .shape = {1, {BIASES}}, .init = TSR_INIT_NORMAL},
};

static tsr_params *make_params(tsr_dtype dtype) {
  tsr_params *params = NULL;
  CHECK_OK(tsr_params_create(dev, dtype, network, 2, 5, &params));
  return params;
}

static void read_all(const tsr_params *params, double *values) {
  CHECK_OK(tsr_read(tsr_cast(tsr_params_tensor(params, 0), TSR_F64), values, ROWS * COLUMNS * sizeof *values));
  CHECK_OK(tsr_read(tsr_cast(tsr_params_tensor(params, 1), TSR_F64), values + ROWS * COLUMNS, BIASES * sizeof *values));
}

static void write_one(tsr_tensor *tensor, const double *values, size_t count) {
  static unsigned char bytes[ELEMENTS * sizeof(double)];
  tsr_dtype dtype = tsr_tensor_dtype(tensor);
  CHECK_OK(tsr_convert(dtype, bytes, TSR_F64, values, count));
  CHECK_OK(tsr_write(tensor, bytes, count * tsr_dtype_bytes(dtype)));
}

// Gradients of step t, rounded to the dtype of the parameters.
static void write_gradients(tsr_params *params, int t, double *gradients) {
  for (int i = 0; i < ELEMENTS; i++) gradients[i] = sin(0.37 * i + 1.3 * t) * (1 + i % 5) + (i == 3 ? 40 : 0);
  tsr_dtype dtype = tsr_params_dtype(params);
  for (int i = 0; i < ELEMENTS; i++) {
    unsigned char rounded[8];
    CHECK_OK(tsr_convert(dtype, rounded, TSR_F64, &gradients[i], 1));
    CHECK_OK(tsr_convert(TSR_F64, &gradients[i], dtype, rounded, 1));
  }
  write_one(tsr_params_gradient(params, 0), gradients, ROWS * COLUMNS);
  write_one(tsr_params_gradient(params, 1), gradients + ROWS * COLUMNS, BIASES);
}

// --- The formulas ---------------------------------------------------------------------------------------------------------

typedef struct reference {
  tsr_optim_desc desc;  // every number given
  double p[ELEMENTS], m[ELEMENTS], v[ELEMENTS];
  double decay[2], factor[2];  // of the weight and of the bias
} reference;

static double schedule_at(const tsr_schedule *s, int t) {
  if (t < s->warmup) return (t + 1.0) / (double)s->warmup;
  double since = (double)(t - s->warmup), share = fmin(since / (double)s->period, 1);
  switch (s->kind) {
    case TSR_SCHEDULE_STEP:
      return pow(s->gamma, floor(since / (double)s->period));
    case TSR_SCHEDULE_COSINE:
      return s->least + (1 - s->least) * 0.5 * (1 + cos(3.14159265358979323846 * share));
    case TSR_SCHEDULE_LINEAR:
      return s->least + (1 - s->least) * (1 - share);
    default:
      return 1;
  }
}

static void clip(const tsr_optim_desc *d, double *g) {
  double squares = 0;
  for (int i = 0; i < ELEMENTS; i++) {
    if (d->clip_value > 0) g[i] = fmin(fmax(g[i], -d->clip_value), d->clip_value);
    squares += g[i] * g[i];
  }
  double norm = sqrt(squares);
  for (int i = 0; d->clip_norm > 0 && norm > d->clip_norm && i < ELEMENTS; i++) g[i] *= d->clip_norm / norm;
}

// Step t from 0 of one parameter, as the papers and PyTorch's documentation write it.
static void step_one(reference *r, int i, double g, int t) {
  const tsr_optim_desc *d = &r->desc;
  int group = i < ROWS * COLUMNS ? 0 : 1;
  double rate = d->rate * schedule_at(&d->schedule, t) * r->factor[group], w = r->decay[group];
  double *p = &r->p[i], *m = &r->m[i], *v = &r->v[i];
  switch (d->kind) {
    case TSR_SGD:
      g += w * *p;
      *m = d->momentum * *m + g;
      *p -= rate * (d->nesterov ? g + d->momentum * *m : *m);
      return;
    case TSR_ADAM:
    case TSR_ADAMW:
      if (d->kind == TSR_ADAM) g += w * *p;
      else *p -= rate * w * *p;
      *m = d->beta1 * *m + (1 - d->beta1) * g;
      *v = d->beta2 * *v + (1 - d->beta2) * g * g;
      *p -= rate * (*m / (1 - pow(d->beta1, t + 1))) / (sqrt(*v / (1 - pow(d->beta2, t + 1))) + d->eps);
      return;
    case TSR_RMSPROP:
      g += w * *p;
      *v = d->beta2 * *v + (1 - d->beta2) * g * g;
      *m = d->momentum * *m + g / (sqrt(*v) + d->eps);
      *p -= rate * *m;
      return;
    case TSR_LION: {
      *p -= rate * w * *p;
      double c = d->beta1 * *m + (1 - d->beta1) * g;
      *p -= rate * (double)((c > 0) - (c < 0));
      *m = d->beta2 * *m + (1 - d->beta2) * g;
      return;
    }
  }
}

// --- Comparing ------------------------------------------------------------------------------------------------------------

typedef struct trial {
  const char *name;
  tsr_optim_desc desc, filled;  // as it is given, and with the usual values for zeros
  double bias_decay, bias_factor;
} trial;

static const tsr_optim_group bias_group = {.pattern = "*.bias", .weight_decay = 0.3, .rate_factor = 0.5};

static const trial trials[] = {
    {"sgd", {.rate = 0.1}, {.rate = 0.1}, 0, 1},
    {"sgd, usual rate", {.kind = TSR_SGD}, {.rate = 0.01}, 0, 1},
    {"momentum",
     {.rate = 0.1, .momentum = 0.9, .weight_decay = 0.1},
     {.rate = 0.1, .momentum = 0.9, .weight_decay = 0.1},
     0,
     1},
    {"nesterov",
     {.rate = 0.1, .momentum = 0.8, .nesterov = true, .weight_decay = 0.1, .decays_vectors = true},
     {.rate = 0.1, .momentum = 0.8, .nesterov = true, .weight_decay = 0.1},
     0.1,
     1},
    {"adam", {.kind = TSR_ADAM}, {.kind = TSR_ADAM, .rate = 1e-3, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8}, 0, 1},
    {"adam with decay",
     {.kind = TSR_ADAM,
      .rate = 0.05,
      .beta1 = 0.8,
      .beta2 = 0.95,
      .eps = 0.1,
      .weight_decay = 0.2,
      .decays_vectors = true},
     {.kind = TSR_ADAM, .rate = 0.05, .beta1 = 0.8, .beta2 = 0.95, .eps = 0.1, .weight_decay = 0.2},
     0.2,
     1},
    {"adamw",
     {.kind = TSR_ADAMW, .rate = 0.01},
     {.kind = TSR_ADAMW, .rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.01},
     0,
     1},
    {"adamw in groups",
     {.kind = TSR_ADAMW, .rate = 0.01, .weight_decay = 0.5, .groups = &bias_group, .group_count = 1},
     {.kind = TSR_ADAMW, .rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .eps = 1e-8, .weight_decay = 0.5},
     0.3,
     0.5},
    {"rmsprop", {.kind = TSR_RMSPROP}, {.kind = TSR_RMSPROP, .rate = 0.01, .beta2 = 0.99, .eps = 1e-8}, 0, 1},
    {"rmsprop with momentum",
     {.kind = TSR_RMSPROP, .rate = 0.01, .beta2 = 0.9, .momentum = 0.9, .eps = 0.01, .weight_decay = 0.1},
     {.kind = TSR_RMSPROP, .rate = 0.01, .beta2 = 0.9, .momentum = 0.9, .eps = 0.01, .weight_decay = 0.1},
     0,
     1},
    {"lion", {.kind = TSR_LION}, {.kind = TSR_LION, .rate = 1e-4, .beta1 = 0.9, .beta2 = 0.99}, 0, 1},
    {"lion with decay",
     {.kind = TSR_LION, .rate = 0.01, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1},
     {.kind = TSR_LION, .rate = 0.01, .beta1 = 0.8, .beta2 = 0.9, .weight_decay = 0.1},
     0,
     1},
    {"clipped by value", {.rate = 0.1, .clip_value = 2}, {.rate = 0.1, .clip_value = 2}, 0, 1},
    {"clipped by norm", {.rate = 0.1, .clip_norm = 3}, {.rate = 0.1, .clip_norm = 3}, 0, 1},
    {"clipped by both",
     {.rate = 0.1, .clip_value = 2, .clip_norm = 3},
     {.rate = 0.1, .clip_value = 2, .clip_norm = 3},
     0,
     1},
    {"a norm that is small enough", {.rate = 0.1, .clip_norm = 1e6}, {.rate = 0.1}, 0, 1},
    {"steps of the rate",
     {.rate = 0.1, .schedule = {TSR_SCHEDULE_STEP, .warmup = 5, .period = 10, .gamma = 0.5}},
     {.rate = 0.1, .schedule = {TSR_SCHEDULE_STEP, .warmup = 5, .period = 10, .gamma = 0.5}},
     0,
     1},
    {"a cosine",
     {.rate = 0.1, .schedule = {TSR_SCHEDULE_COSINE, .warmup = 10, .period = 20, .least = 0.1}},
     {.rate = 0.1, .schedule = {TSR_SCHEDULE_COSINE, .warmup = 10, .period = 20, .least = 0.1}},
     0,
     1},
    {"a line",
     {.rate = 0.1, .schedule = {TSR_SCHEDULE_LINEAR, .period = 30}},
     {.rate = 0.1, .schedule = {TSR_SCHEDULE_LINEAR, .period = 30}},
     0,
     1},
    {"warm-up alone", {.rate = 0.1, .schedule = {.warmup = 20}}, {.rate = 0.1, .schedule = {.warmup = 20}}, 0, 1},
};

// The allowed error of a step relative to the distance that the parameters have moved: roundings of f32 in state and settings. The settings are f32 for f64, too.
static double bound_of(tsr_dtype dtype) { return dtype == TSR_F64 ? 1e-6 : 4e-6; }

static void run_trial(const trial *c, tsr_dtype dtype, int steps) {
  static reference r;
  static double found[ELEMENTS], gradients[ELEMENTS], first[ELEMENTS];
  tsr_params *params = make_params(dtype);
  tsr_optim *optim = NULL;
  CHECK_OK(tsr_optim_create(params, &c->desc, &optim));
  r = (reference){.desc = c->filled, .decay = {c->filled.weight_decay, c->bias_decay}, .factor = {1, c->bias_factor}};
  read_all(params, r.p);
  read_all(params, first);
  for (int t = 0; t < steps; t++) {
    write_gradients(params, t, gradients);
    CHECK_OK(tsr_optim_step(optim));
    clip(&r.desc, gradients);
    for (int i = 0; i < ELEMENTS; i++) step_one(&r, i, gradients[i], t);
  }
  tsr_params *master = dtype == TSR_F32 || dtype == TSR_F64 ? params : tsr_optim_state(optim, "master");
  read_all(master, found);
  double way = 0, most = 0;
  for (int i = 0; i < ELEMENTS; i++) {
    way = fmax(way, fmax(fabs(r.p[i] - first[i]), fabs(first[i])));
    most = fmax(most, fabs(found[i] - r.p[i]));
  }
  if (!(most <= bound_of(dtype) * way)) printf("%s, %s: off by %g of %g\n", c->name, tsr_dtype_name(dtype), most, way);
  CHECK(most <= bound_of(dtype) * way);
  int64_t step = 0;
  CHECK_OK(tsr_optim_get_step(optim, &step));
  CHECK_EQ_INT(step, steps);
  if (master != params) {  // the parameters are the master's, rounded
    bool is_equal = false;
    CHECK_OK(tsr_equal(tsr_params_tensor(params, 0), tsr_cast(tsr_params_tensor(master, 0), dtype), &is_equal));
    CHECK(is_equal);
  }
  tsr_optim_release(optim);
  tsr_params_release(params);
}

static void run_trials(tsr_dtype dtype, int steps) {
  begin();
  for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
    tsr_scope *scope = tsr_scope_begin(dev);
    run_trial(&trials[i], dtype, steps);
    tsr_scope_end(scope);
  }
  finish();
}

TEST(optimisers_follow_their_formulas_in_f32) { run_trials(TSR_F32, 40); }
TEST(optimisers_follow_their_formulas_in_f64) { run_trials(TSR_F64, 40); }
TEST(optimisers_keep_f16_parameters_in_f32) { run_trials(TSR_F16, 40); }
TEST(optimisers_keep_bf16_parameters_in_f32) { run_trials(TSR_BF16, 40); }

// --- Behaviour ------------------------------------------------------------------------------------------------------------

// A loss of both tensors, with its minimum where all elements are 1.
static tsr_tensor *loss_of(const tsr_params *params) {
  tsr_tensor *loss = NULL;
  for (int i = 0; i < 2; i++) {
    tsr_tensor *off = tsr_add_scalar(tsr_params_tensor(params, i), -1);
    tsr_tensor *part = tsr_sum(tsr_mul(off, tsr_tanh(off)), NULL, 0, false);
    loss = loss ? tsr_add(loss, part) : part;
  }
  return loss;
}

static tsr_status record_step(tsr_params *params, tsr_optim *optim, tsr_tensor **out_loss) {
  tsr_status status = tsr_grad_begin();
  if (status == TSR_OK) status = tsr_params_watch(params);
  *out_loss = loss_of(params);
  if (status == TSR_OK) status = tsr_params_grad(params, *out_loss, NULL);
  tsr_grad_end();
  return status == TSR_OK ? tsr_optim_step(optim) : status;
}

static const tsr_optim_desc scheduled = {
    .kind = TSR_ADAMW, .rate = 0.05, .clip_norm = 5, .schedule = {TSR_SCHEDULE_COSINE, .warmup = 3, .period = 30}};

TEST(a_captured_step_gives_the_bits_of_one_that_is_not) {
  enum { STEPS = 25 };
  begin();
  static double plain[ELEMENTS], replayed[ELEMENTS];
  tsr_params *params[2] = {make_params(TSR_F32), make_params(TSR_F32)};
  tsr_optim *optims[2] = {NULL};
  tsr_tensor *loss = NULL;
  for (int i = 0; i < 2; i++) CHECK_OK(tsr_optim_create(params[i], &scheduled, &optims[i]));
  for (int t = 0; t < STEPS; t++) CHECK_OK(record_step(params[0], optims[0], &loss));
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(dev));
  CHECK_OK(record_step(params[1], optims[1], &loss));
  CHECK_OK(tsr_capture_end(&loss, 1, &step));
  for (int t = 1; t < STEPS; t++) CHECK_OK(tsr_capture_run(step));
  read_all(params[0], plain);
  read_all(params[1], replayed);
  CHECK(memcmp(plain, replayed, sizeof plain) == 0);
  int64_t count = 0;
  CHECK_OK(tsr_optim_get_step(optims[1], &count));
  CHECK_EQ_INT(count, STEPS);
  tsr_capture_release(step);
  for (int i = 0; i < 2; i++) {
    tsr_optim_release(optims[i]);
    tsr_params_release(params[i]);
  }
  finish();
}

TEST(training_goes_on_where_its_state_was_saved) {
  begin();
  static double straight[ELEMENTS], resumed[ELEMENTS];
  tsr_params *params[2] = {make_params(TSR_F32), make_params(TSR_F32)};
  tsr_optim *optims[2] = {NULL};
  tsr_tensor *loss = NULL;
  for (int i = 0; i < 2; i++) CHECK_OK(tsr_optim_create(params[i], &scheduled, &optims[i]));
  for (int t = 0; t < 7; t++) CHECK_OK(record_step(params[0], optims[0], &loss));
  int64_t step = 0;
  CHECK_OK(tsr_optim_get_step(optims[0], &step));
  CHECK_OK(tsr_params_copy(params[1], params[0]));
  CHECK_OK(tsr_params_copy(tsr_optim_state(optims[1], "m"), tsr_optim_state(optims[0], "m")));
  CHECK_OK(tsr_params_copy(tsr_optim_state(optims[1], "v"), tsr_optim_state(optims[0], "v")));
  CHECK_OK(tsr_optim_set_step(optims[1], step));
  CHECK(tsr_optim_state(optims[1], "master") == NULL);
  for (int t = 0; t < 5; t++) {
    CHECK_OK(record_step(params[0], optims[0], &loss));
    CHECK_OK(record_step(params[1], optims[1], &loss));
  }
  read_all(params[0], straight);
  read_all(params[1], resumed);
  CHECK(memcmp(straight, resumed, sizeof straight) == 0);
  for (int i = 0; i < 2; i++) {
    tsr_optim_release(optims[i]);
    tsr_params_release(params[i]);
  }
  finish();
}

TEST(a_captured_step_follows_a_new_rate) {
  begin();
  static double before[ELEMENTS], after[ELEMENTS];
  tsr_params *params = make_params(TSR_F32);
  tsr_optim *optim = NULL;
  tsr_tensor *loss = NULL;
  tsr_capture *step = NULL;
  CHECK_OK(tsr_optim_create(params, NULL, &optim));
  CHECK_OK(tsr_capture_begin(dev));
  CHECK_OK(record_step(params, optim, &loss));
  CHECK_OK(tsr_capture_end(&loss, 1, &step));
  CHECK_OK(tsr_optim_set_rate(optim, 0));
  read_all(params, before);
  CHECK_OK(tsr_capture_run(step));
  read_all(params, after);
  CHECK(memcmp(before, after, sizeof before) == 0);
  CHECK_STATUS(tsr_optim_set_rate(optim, -1), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_optim_set_rate(optim, NAN), TSR_ERR_INVALID_ARGUMENT);
  tsr_capture_release(step);
  tsr_optim_release(optim);
  tsr_params_release(params);
  finish();
}

static tsr_memory_stats memory(void) {
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(dev, &stats));
  return stats;
}

// Fewer under a sanitizer, where each step takes ten times as long.
TEST(ten_thousand_steps_hold_memory_constant) {
  begin();
  const char *sanitizers = getenv("TSR_TEST_SANITIZE");
  int steps = sanitizers && *sanitizers ? 500 : 10000;
  tsr_params *params = make_params(TSR_F32);
  tsr_optim *optim = NULL;
  tsr_tensor *loss = NULL;
  tsr_capture *step = NULL;
  tsr_memory_stats before = {0}, after = {0};
  CHECK_OK(tsr_optim_create(params, &scheduled, &optim));
  for (int i = 0; i < steps; i++) {
    tsr_scope *scope = tsr_scope_begin(dev);
    CHECK_OK(record_step(params, optim, &loss));
    CHECK_OK(tsr_evaluate(loss));
    CHECK_OK(tsr_scope_end(scope));
    if (i == 20) before = memory();
  }
  after = memory();
  CHECK_EQ_UINT(after.in_use_bytes, before.in_use_bytes);
  CHECK_EQ_UINT(after.held_bytes, before.held_bytes);
  CHECK_OK(tsr_capture_begin(dev));
  CHECK_OK(record_step(params, optim, &loss));
  CHECK_OK(tsr_capture_end(&loss, 1, &step));
  CHECK_OK(tsr_capture_run(step));  // runs pending operators that read what it overwrites
  before = memory();
  for (int i = 0; i < steps; i++) CHECK_OK(tsr_capture_run(step));
  after = memory();
  CHECK_EQ_UINT(after.in_use_bytes, before.in_use_bytes);
  CHECK_EQ_UINT(after.held_bytes, before.held_bytes);
  CHECK_EQ_UINT(after.allocations, before.allocations);
  tsr_capture_release(step);
  tsr_optim_release(optim);
  tsr_params_release(params);
  finish();
}

enum { MANY = 40 };

static tsr_params *make_many(void) {
  static char names[MANY][16];
  tsr_param_desc tensors[MANY];
  for (int i = 0; i < MANY; i++) {
    snprintf(names[i], sizeof names[i], "t%d", i);
    tensors[i] = (tsr_param_desc){.name = names[i], .shape = TSR_SHAPE(1 + i, 7), .init = TSR_INIT_NORMAL};
  }
  tsr_params *params = NULL;
  CHECK_OK(tsr_params_create(dev, TSR_F32, tensors, MANY, 1, &params));
  return params;
}

// Scanning the gradients, for their norm or for infinity and NaN, takes one more launch. Nothing is read back to the host, so nothing waits.
TEST(a_step_is_one_launch_for_all_tensors_and_two_with_a_norm_or_a_scale) {
  begin();
  tsr_params *params = make_many();
  for (int i = 0; i < 3 * (TSR_LION + 1); i++) {
    tsr_optim *optim = NULL;
    tsr_device_counters before, after;
    tsr_optim_desc desc = {.kind = (tsr_optim_kind)(i / 3), .momentum = 0.9};
    if (i % 3 == 1) desc.clip_norm = 1;
    if (i % 3 == 2) desc.loss_scale.first = 1024;
    CHECK_OK(tsr_optim_create(params, &desc, &optim));
    CHECK_OK(tsr_evaluate(tsr_params_gradient(params, 0)));
    CHECK_OK(tsr_device_get_counters(dev, &before));
    CHECK_OK(tsr_optim_step(optim));
    CHECK_OK(tsr_device_get_counters(dev, &after));
    CHECK_EQ_INT((int64_t)(after.launches - before.launches), i % 3 == 0 ? 1 : 2);
    CHECK_EQ_UINT(after.downloads + after.uploads, before.downloads + before.uploads);
    tsr_optim_release(optim);
  }
  tsr_params_release(params);
  finish();
}

TEST(a_pending_reader_sees_the_parameters_before_the_step) {
  begin();
  static double before[ELEMENTS], seen[ROWS * COLUMNS], gradients[ELEMENTS];
  tsr_params *params = make_params(TSR_F32);
  tsr_optim *optim = NULL;
  CHECK_OK(tsr_optim_create(params, &(tsr_optim_desc){.rate = 1}, &optim));
  read_all(params, before);
  tsr_tensor *copy = tsr_cast(tsr_params_tensor(params, 0), TSR_F64);  // pending
  write_gradients(params, 0, gradients);
  CHECK_OK(tsr_optim_step(optim));
  CHECK_OK(tsr_read(copy, seen, sizeof seen));
  CHECK(memcmp(before, seen, sizeof seen) == 0);
  tsr_optim_release(optim);
  tsr_params_release(params);
  finish();
}

TEST(using_a_parameter_before_a_step_and_asking_for_gradients_after_is_refused) {
  begin();
  tsr_params *params = make_params(TSR_F32);
  tsr_optim *optim = NULL;
  CHECK_OK(tsr_optim_create(params, NULL, &optim));
  CHECK_OK(tsr_grad_begin());
  CHECK_OK(tsr_params_watch(params));
  tsr_tensor *loss = loss_of(params);
  CHECK_OK(tsr_optim_step(optim));
  CHECK_STATUS(tsr_params_grad(params, loss, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("overwritten");
  CHECK_OK(tsr_grad_end());
  tsr_optim_release(optim);
  tsr_params_release(params);
  finish();
}

// --- Loss scaling ---------------------------------------------------------------------------------------------------------

static double scale_of(const tsr_optim *optim) {
  double scale = NAN;
  CHECK_OK(tsr_item(tsr_optim_scale(optim), &scale));
  return scale;
}

TEST(scaled_gradients_are_divided_by_the_scale) {
  begin();
  static double plain[ELEMENTS], scaled[ELEMENTS];
  tsr_optim_desc desc = {.kind = TSR_ADAMW, .rate = 0.05, .clip_norm = 2, .clip_value = 0.5};
  for (int scales = 0; scales < 2; scales++) {
    tsr_params *params = make_params(TSR_F32);
    tsr_optim *optim = NULL;
    if (scales) desc.loss_scale.first = 1024;
    CHECK_OK(tsr_optim_create(params, &desc, &optim));
    for (int t = 0; t < 10; t++) {
      CHECK_OK(tsr_grad_begin());
      CHECK_OK(tsr_params_watch(params));
      CHECK_OK(tsr_params_grad(params, loss_of(params), &(tsr_grad_desc){.cotangent = tsr_optim_scale(optim)}));
      CHECK_OK(tsr_grad_end());
      CHECK_OK(tsr_optim_step(optim));
    }
    CHECK(scale_of(optim) == (scales ? 1024 : 1));
    read_all(params, scales ? scaled : plain);
    tsr_optim_release(optim);
    tsr_params_release(params);
  }
  CHECK(memcmp(plain, scaled, sizeof plain) == 0);  // the scale is a power of two
  finish();
}

TEST(a_step_with_infinity_or_nan_changes_the_scale_alone) {
  begin();
  static double before[ELEMENTS], after[ELEMENTS], gradients[ELEMENTS];
  const double bad[] = {INFINITY, -INFINITY, NAN};
  tsr_params *params = make_params(TSR_F32);
  tsr_optim *optim = NULL;
  tsr_optim_desc desc = {.kind = TSR_ADAMW, .loss_scale = {.first = 256, .growth = 4, .backoff = 0.25, .interval = 3}};
  CHECK_OK(tsr_optim_create(params, &desc, &optim));
  write_gradients(params, 0, gradients);
  CHECK_OK(tsr_optim_step(optim));
  read_all(params, before);
  for (int i = 0; i < 3; i++) {
    write_gradients(params, 1, gradients);
    gradients[i == 1 ? 0 : ROWS * COLUMNS - 1] = bad[i];
    write_one(tsr_params_gradient(params, 0), gradients, ROWS * COLUMNS);
    CHECK_OK(tsr_optim_step(optim));
  }
  read_all(params, after);
  CHECK(memcmp(before, after, sizeof before) == 0);
  int64_t step = 0;
  CHECK_OK(tsr_optim_get_step(optim, &step));
  CHECK_EQ_INT(step, 1);
  CHECK(scale_of(optim) == 4);
  for (int i = 0; i < 7; i++) {  // grows after 3 and after 6 good steps
    write_gradients(params, i, gradients);
    CHECK_OK(tsr_optim_step(optim));
  }
  CHECK(scale_of(optim) == 64);
  CHECK_OK(tsr_optim_set_scale(optim, 512));
  CHECK(scale_of(optim) == 512);
  CHECK_STATUS(tsr_optim_set_scale(optim, INFINITY), TSR_ERR_INVALID_ARGUMENT);
  tsr_optim_release(optim);
  tsr_params_release(params);
  finish();
}

TEST(the_scale_stays_within_bounds) {
  begin();
  static double gradients[ELEMENTS];
  tsr_params *params = make_params(TSR_F32);
  tsr_optim *optim = NULL;
  tsr_optim_desc desc = {.loss_scale = {.first = 0x1p60, .growth = 32, .backoff = 0x1p-40, .interval = 1}};
  CHECK_OK(tsr_optim_create(params, &desc, &optim));
  for (int i = 0; i < 3; i++) CHECK_OK(tsr_optim_step(optim));
  CHECK(scale_of(optim) == 0x1p64);
  for (int i = 0; i < ELEMENTS; i++) gradients[i] = NAN;
  write_one(tsr_params_gradient(params, 1), gradients, BIASES);
  for (int i = 0; i < 5; i++) CHECK_OK(tsr_optim_step(optim));
  CHECK(scale_of(optim) == 0x1p-64);
  tsr_optim_release(optim);
  tsr_params_release(params);
  finish();
}

TEST(numbers_out_of_range_are_refused) {
  begin();
  const tsr_optim_group nameless = {.weight_decay = 0.1};
  const tsr_optim_desc wrong[] = {
      {.kind = (tsr_optim_kind)9},
      {.rate = NAN},
      {.rate = INFINITY},
      {.momentum = 1},
      {.nesterov = true},
      {.beta1 = 1},
      {.beta2 = 2},
      {.group_count = 1},
      {.group_count = -1},
      {.groups = &nameless, .group_count = 1},
      {.schedule = {.kind = TSR_SCHEDULE_COSINE}},
      {.schedule = {.kind = (tsr_schedule_kind)7}},
      {.schedule = {.warmup = -1}},
      {.schedule = {TSR_SCHEDULE_LINEAR, .period = 3, .least = 2}},
  };
  tsr_params *params = make_params(TSR_F32);
  tsr_optim *optim = NULL;
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    CHECK_STATUS(tsr_optim_create(params, &wrong[i], &optim), TSR_ERR_INVALID_ARGUMENT);
    CHECK(optim == NULL);
  }
  CHECK_STATUS(tsr_optim_create(NULL, NULL, &optim), TSR_ERR_INVALID_ARGUMENT);
  tsr_params_release(params);
  finish();
}
