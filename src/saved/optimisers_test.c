// SPDX-License-Identifier: MIT
// Whole training steps in files: what is loaded goes on learning where the file was saved.
#include <tessera/tessera.h>
#include <unistd.h>

#include "core/alloc.h"
#include "support/devices.h"
#include "support/seeds.h"
#include "support/test.h"

static char path[64];

static const char *make_path(void) {
  if (path[0]) return path;
  snprintf(path, sizeof path, "/tmp/tessera-optim-XXXXXX");
  int file = mkstemp(path);
  CHECK(file >= 0);
  (void)close(file);
  return path;
}

__attribute__((destructor)) static void remove_file(void) {
  if (path[0]) (void)remove(path);
}

// A network of two layers with a training step that was captured.
typedef struct trainee {
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *x, *loss;
  tsr_capture *step;
} trainee;

enum { ROWS = 6, INPUTS = 5, HIDDEN = 7 };

static tsr_tensor *loss_of(const tsr_params *params, tsr_tensor *x) {
  tsr_tensor *hidden = tsr_tanh(tsr_add(tsr_matmul(x, tsr_params_find(params, "in")), tsr_params_find(params, "bias")));
  tsr_tensor *y = tsr_matmul(hidden, tsr_params_find(params, "out"));
  tsr_tensor *error = tsr_sub(y, tsr_sum(x, (int[]){1}, 1, true));
  return tsr_cast(tsr_mean(tsr_mul(error, error), NULL, 0, false), TSR_F32);
}

static tsr_status train(trainee *t) {
  tsr_status status = tsr_grad_begin();
  if (status == TSR_OK) status = tsr_params_watch(t->params);
  t->loss = loss_of(t->params, t->x);
  tsr_tensor *scaled = tsr_mul(t->loss, tsr_optim_scale(t->optim));
  if (status == TSR_OK) status = tsr_params_grad(t->params, scaled, NULL);
  (void)tsr_grad_end();
  return status == TSR_OK ? tsr_optim_step(t->optim) : status;
}

static tsr_status start(trainee *t, tsr_device *device, tsr_dtype dtype, const tsr_optim_desc *desc) {
  const tsr_param_desc tensors[] = {{"in", TSR_SHAPE(INPUTS, HIDDEN), TSR_INIT_NORMAL, 0.5, true},
                                    {"bias", TSR_SHAPE(HIDDEN), TSR_INIT_ZEROS, 0, false},
                                    {"out", TSR_SHAPE(HIDDEN, 1), TSR_INIT_NORMAL, 0.5, true}};
  tsr_status status = tsr_params_create(device, dtype, tensors, 3, 1, &t->params);
  if (status == TSR_OK) status = tsr_optim_create(t->params, desc, &t->optim);
  if (status != TSR_OK) return status;
  t->x = tsr_cast(tsr_randn(device, TSR_F32, TSR_SHAPE(ROWS, INPUTS), 2), dtype);
  status = tsr_evaluate(t->x);
  if (status == TSR_OK) status = tsr_capture_begin(device);
  if (status != TSR_OK) return status;
  status = train(t);
  tsr_status ended = tsr_capture_end(&t->loss, 1, &t->step);
  return status == TSR_OK ? ended : status;
}

static void stop(trainee *t) {
  tsr_capture_release(t->step);
  tsr_optim_release(t->optim);
  tsr_params_release(t->params);
  *t = (trainee){0};
}

static tsr_status save(const trainee *t) {
  const tsr_named_tensor outputs[] = {{"loss", t->loss}, {"in", tsr_params_find(t->params, "in")}};
  return tsr_capture_save(t->step, &(tsr_save_desc){.path = make_path(),
                                                    .inputs = &(tsr_named_tensor){"x", t->x},
                                                    .input_count = 1,
                                                    .outputs = outputs,
                                                    .output_count = 2});
}

static void check_close(tsr_tensor *is, tsr_tensor *wanted, double bound) {
  float a[INPUTS * HIDDEN], b[INPUTS * HIDDEN];
  int count = (int)tsr_tensor_count(wanted);
  CHECK_EQ_INT(tsr_tensor_count(is), count);
  CHECK_OK(tsr_read(tsr_cast(is, TSR_F32), a, (size_t)count * sizeof *a));
  CHECK_OK(tsr_read(tsr_cast(wanted, TSR_F32), b, (size_t)count * sizeof *b));
  for (int i = 0; i < count; i++) CHECK_NEAR(a[i], b[i], bound);
}

// Trains some steps, saves, and goes on with the program's network and the file's side by side.
static void check_optimiser(tsr_device *device, tsr_device *reader, tsr_dtype dtype, const tsr_optim_desc *desc) {
  enum { BEFORE = 3, AFTER = 4 };
  trainee t = {0};
  double bound = dtype == TSR_F16 ? 2e-3 : 2e-5;
  CHECK_OK(start(&t, device, dtype, desc));
  for (int i = 0; i < BEFORE; i++) CHECK_OK(tsr_capture_run(t.step));
  CHECK_OK(save(&t));
  char name[32];
  snprintf(name, sizeof name, "optimiser_%d%s", (int)desc->kind, desc->loss_scale.first > 0 ? "_scaled" : "");
  test_keep_seed(make_path(), name);
  tsr_capture *net = NULL;
  CHECK_OK(tsr_capture_load(reader, &(tsr_load_desc){.path = make_path()}, &net));
  check_close(tsr_capture_output(net, "in"), tsr_params_find(t.params, "in"), 0);  // loading it has changed nothing
  CHECK_OK(tsr_assign(tsr_capture_input(net, "x"), tsr_to(t.x, reader)));
  CHECK_OK(tsr_evaluate(tsr_capture_input(net, "x")));
  for (int i = 0; i < AFTER; i++) {
    CHECK_OK(tsr_capture_run(t.step));
    CHECK_OK(tsr_capture_run(net));
    check_close(tsr_capture_output(net, "loss"), t.loss, bound);
    check_close(tsr_capture_output(net, "in"), tsr_params_find(t.params, "in"), bound);
  }
  tsr_capture_release(net);
  stop(&t);
}

static const tsr_optim_group groups[] = {{.pattern = "out", .weight_decay = 0.2, .rate_factor = 0.5}};
static const tsr_optim_desc kinds[] = {
    {.kind = TSR_ADAMW,
     .rate = 0.05,
     .clip_norm = 0.5,
     .weight_decay = 0.1,
     .schedule = {.kind = TSR_SCHEDULE_COSINE, .warmup = 2, .period = 10},
     .groups = groups,
     .group_count = 1},
    {.kind = TSR_SGD, .rate = 0.05},
    {.kind = TSR_SGD, .rate = 0.05, .momentum = 0.9, .nesterov = true},
    {.kind = TSR_ADAM, .rate = 0.05, .clip_value = 0.1},
    {.kind = TSR_RMSPROP, .rate = 0.02, .momentum = 0.5},
    {.kind = TSR_LION, .rate = 0.01, .loss_scale = {.first = 256, .interval = 2}},
};

static void train_on(tsr_device *device) {
  if (!test_device_computes(device)) return;
  bool is_cpu = strcmp(tsr_device_backend(device), "cpu") == 0;
  int count = is_cpu || test_sample(2) == 1 ? (int)(sizeof kinds / sizeof *kinds) : 1;
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_device *cpu = test_open("cpu");
  for (int i = 0; i < count; i++) check_optimiser(device, device, TSR_F32, &kinds[i]);
  check_optimiser(device, cpu, TSR_F32, &kinds[0]);
  check_optimiser(cpu, device, TSR_F32, &kinds[0]);
  if (is_cpu) check_optimiser(device, device, TSR_F16, &kinds[5]);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

TEST(a_training_step_goes_on_from_its_file_on_every_device) { test_on_every_device(train_on); }

TEST(a_training_step_that_was_loaded_can_be_saved_again) {
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu);
  trainee t = {0};
  CHECK_OK(start(&t, cpu, TSR_F32, &kinds[0]));
  CHECK_OK(save(&t));
  tsr_capture *net = NULL, *again = NULL;
  CHECK_OK(tsr_capture_load(cpu, &(tsr_load_desc){.path = make_path()}, &net));
  CHECK_OK(tsr_assign(tsr_capture_input(net, "x"), t.x));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tsr_capture_run(net));
    CHECK_OK(tsr_capture_run(t.step));
  }
  const tsr_named_tensor output = {"in", tsr_capture_output(net, "in")};
  CHECK_OK(tsr_capture_save(net, &(tsr_save_desc){.path = make_path(), .outputs = &output, .output_count = 1}));
  CHECK_OK(tsr_capture_load(cpu, &(tsr_load_desc){.path = make_path()}, &again));
  for (int i = 0; i < 2; i++) {
    CHECK_OK(tsr_capture_run(again));
    CHECK_OK(tsr_capture_run(t.step));
  }
  check_close(tsr_capture_output(again, "in"), tsr_params_find(t.params, "in"), 1e-6);
  tsr_capture_release(again);
  tsr_capture_release(net);
  stop(&t);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

TEST(two_optimisers_of_one_set_cannot_be_saved) {
  tsr_device *cpu = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(cpu);
  trainee t = {0};
  tsr_optim *second = NULL;
  tsr_capture *both = NULL;
  CHECK_OK(start(&t, cpu, TSR_F32, &kinds[1]));
  CHECK_OK(tsr_optim_create(t.params, &kinds[3], &second));
  CHECK_OK(tsr_capture_begin(cpu));
  CHECK_OK(train(&t));
  CHECK_OK(tsr_optim_step(second));
  CHECK_OK(tsr_capture_end(&t.loss, 1, &both));
  const tsr_named_tensor output = {"loss", t.loss};
  CHECK_STATUS(tsr_capture_save(both, &(tsr_save_desc){.path = make_path(), .outputs = &output, .output_count = 1}),
               TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("two optimisers update the same tensors");
  tsr_capture_release(both);
  tsr_optim_release(second);
  stop(&t);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(cpu);
}

TEST(saving_and_loading_a_training_step_survives_every_failed_allocation) {
  tsr_device *cpu = test_open("cpu");
  trainee t = {0};
  tsr_scope *first = tsr_scope_begin(cpu);
  CHECK_OK(start(&t, cpu, TSR_F32, &kinds[5]));
  CHECK_OK(save(&t));
  bool has_failed = true;
  for (uint64_t n = 1; has_failed && n < 5000; n += n < 200 ? 1 : 7) {
    tsr_scope *scope = tsr_scope_begin(cpu);
    tsr_capture *net = NULL;
    tsri_alloc_fail_at(n, false);
    tsr_status status = save(&t);
    if (status == TSR_OK) status = tsr_capture_load(cpu, &(tsr_load_desc){.path = make_path()}, &net);
    has_failed = tsri_alloc_fail_at(0, false) >= n;
    CHECK((status == TSR_OK) == (net != NULL));
    tsr_capture_release(net);
    CHECK_OK(tsr_scope_end(scope));
  }
  CHECK(!has_failed);
  stop(&t);
  CHECK_OK(tsr_scope_end(first));
  tsr_device_release(cpu);
}
