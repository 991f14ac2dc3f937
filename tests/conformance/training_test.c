// SPDX-License-Identifier: MIT
// The same training gives the same losses on every device.
#include <stdlib.h>
#include <string.h>

#include "support/devices.h"
#include "support/test.h"

enum { BATCH = 24, INPUTS = 10, HIDDEN = 33, STEPS = 12 };

static tsr_tensor *loss_of(const tsr_params *params, tsr_tensor *x, tsr_tensor *target) {
  tsr_tensor *y = tsr_linear(x, tsr_params_find(params, "in.weight"), tsr_params_find(params, "in.bias"), NULL);
  y = tsr_linear(tsr_tanh(y), tsr_params_find(params, "out.weight"), NULL, NULL);
  return tsr_mse_loss(tsr_cast(y, TSR_F32), target, NULL);
}

static tsr_status record_step(tsr_params *params, tsr_optim *optim, tsr_tensor *x, tsr_tensor *target,
                              tsr_tensor **out_loss) {
  tsr_status status = tsr_grad_begin();
  if (status == TSR_OK) status = tsr_params_watch(params);
  *out_loss = loss_of(params, x, target);
  if (status == TSR_OK) status = tsr_params_grad(params, *out_loss, NULL);
  tsr_grad_end();
  return status == TSR_OK ? tsr_optim_step(optim) : status;
}

// Trains in a captured step. Unlike the losses, the first values of the parameters have the same bits everywhere.
static void train(tsr_device *device, tsr_dtype dtype, const tsr_optim_desc *desc, double *losses) {
  const tsr_param_desc tensors[] = {
      {.name = "in.weight", .shape = TSR_SHAPE(HIDDEN, INPUTS), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "in.bias", .shape = TSR_SHAPE(HIDDEN), .init = TSR_INIT_UNIFORM, .value = 0.1},
      {.name = "out.weight", .shape = TSR_SHAPE(2, HIDDEN), .init = TSR_INIT_TRUNCATED_NORMAL, .value = 0.2},
  };
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_params *params = NULL;
  tsr_optim *optim = NULL;
  tsr_capture *step = NULL;
  tsr_tensor *x = tsr_randn(device, dtype, TSR_SHAPE(BATCH, INPUTS), 1), *loss = NULL;
  tsr_tensor *target = tsr_randn(device, TSR_F32, TSR_SHAPE(BATCH, 2), 2);
  CHECK_OK(tsr_evaluate(x));
  CHECK_OK(tsr_evaluate(target));
  CHECK_OK(tsr_params_create(device, dtype, tensors, 3, 3, &params));
  CHECK_OK(tsr_optim_create(params, desc, &optim));
  CHECK_OK(tsr_capture_begin(device));
  CHECK_OK(record_step(params, optim, x, target, &loss));
  CHECK_OK(tsr_capture_end(&loss, 1, &step));
  for (int i = 0; i < STEPS; i++) {
    if (i > 0) CHECK_OK(tsr_capture_run(step));
    CHECK_OK(tsr_item(loss, &losses[i]));
  }
  tsr_capture_release(step);
  tsr_optim_release(optim);
  tsr_params_release(params);
  tsr_scope_end(scope);
}

static const tsr_optim_desc optimisers[] = {
    {.kind = TSR_ADAMW, .rate = 0.01, .clip_norm = 0.5, .schedule = {TSR_SCHEDULE_COSINE, .warmup = 3, .period = 9}},
    {.kind = TSR_SGD, .rate = 0.05, .momentum = 0.9, .nesterov = true, .weight_decay = 0.01},
    {.kind = TSR_RMSPROP, .rate = 0.003, .momentum = 0.5, .clip_value = 0.1},
    {.kind = TSR_LION, .rate = 0.003, .schedule = {TSR_SCHEDULE_STEP, .period = 4}},
};

// Losses may differ by roundings: in f32 sums in another order, in narrow types one more or less rounding to 8 or 11 bits.
static void compare(tsr_device *device, tsr_dtype dtype, const tsr_optim_desc *desc, double bound) {
  double losses[STEPS], wanted[STEPS];
  tsr_device *cpu = test_open("cpu");
  train(cpu, dtype, desc, wanted);
  train(device, dtype, desc, losses);
  for (int i = 0; i < STEPS; i++) CHECK_NEAR(losses[i], wanted[i], bound * wanted[i]);
  CHECK(wanted[STEPS - 1] < 0.97 * wanted[0]);
  tsr_device_release(cpu);
}

static void check_device(tsr_device *device) {
  if (!test_device_computes(device)) return;
  const char *sample = getenv("TSR_TEST_SAMPLE");  // 1: all cases; some drivers take long to build their kernels
  size_t count = sample && strcmp(sample, "1") == 0 ? sizeof optimisers / sizeof *optimisers : 1;
  for (size_t i = 0; i < count; i++) compare(device, TSR_F32, &optimisers[i], 1e-4);
  for (size_t i = 1; i < count; i++) compare(device, i % 2 ? TSR_F16 : TSR_BF16, &optimisers[i], i % 2 ? 0.01 : 0.05);
}

TEST(training_gives_the_same_losses_on_every_device) { test_on_every_device(check_device); }
