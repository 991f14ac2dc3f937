// SPDX-License-Identifier: MIT
// A training loop: one captured step, a new batch for each run of it. A network of two layers learns y = sin(3 a) * cos(2 b).
//
//   15_training_loop [STEPS]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { BATCH = 128, WIDTH = 64 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

static void draw_batch(float *x, float *y) {
  for (int i = 0; i < BATCH; i++) {
    float a = (float)rand() / (float)RAND_MAX * 2 - 1, b = (float)rand() / (float)RAND_MAX * 2 - 1;
    x[2 * i] = a;
    x[2 * i + 1] = b;
    y[i] = sinf(3 * a) * cosf(2 * b);
  }
}

static tsr_tensor *network(const tsr_params *params, tsr_tensor *x) {
  tsr_tensor *h = tsr_linear(x, tsr_params_find(params, "in.weight"), tsr_params_find(params, "in.bias"), NULL);
  return tsr_linear(tsr_tanh(h), tsr_params_find(params, "out.weight"), tsr_params_find(params, "out.bias"), NULL);
}

// The loss, its gradients and the update. Recorded and run once here; a capture repeats it. The scope releases what the forward pass recorded before the
// parameters change; the caller releases the loss.
static tsr_status record_step(tsr_params *params, tsr_optim *optim, tsr_tensor *x, tsr_tensor *y,
                              tsr_tensor **out_loss) {
  tsr_status status = tsr_grad_begin();
  if (status != TSR_OK) return status;
  tsr_scope *scope = tsr_scope_begin(tsr_params_device(params));
  status = tsr_params_watch(params);
  *out_loss = tsr_keep(tsr_mse_loss(network(params, x), y, NULL));
  if (status == TSR_OK) status = tsr_params_grad(params, *out_loss, NULL);
  tsr_scope_end(scope);
  tsr_grad_end();
  return status == TSR_OK ? tsr_optim_step(optim) : status;
}

static tsr_status train(tsr_device *device, tsr_params *params, tsr_optim *optim, int steps) {
  static float x_data[2 * BATCH], y_data[BATCH];
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(BATCH, 2)), *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(BATCH, 1)),
             *loss = NULL;
  tsr_capture *step = NULL;
  double value = 0;
  tsr_status status = tsr_capture_begin(device);
  if (status != TSR_OK) return status;
  status = record_step(params, optim, x, y, &loss);
  tsr_status ended = tsr_capture_end(&loss, status == TSR_OK ? 1 : 0, &step);
  if (status == TSR_OK) status = ended;
  for (int i = 1; i <= steps && status == TSR_OK; i++) {
    draw_batch(x_data, y_data);
    status = tsr_write(x, x_data, sizeof x_data);
    if (status == TSR_OK) status = tsr_write(y, y_data, sizeof y_data);
    if (status == TSR_OK) status = tsr_capture_run(step);
    if (status != TSR_OK || i % (steps > 5 ? steps / 5 : 1) != 0) continue;
    status = tsr_item(loss, &value);  // waits for the device; the steps between do not
    if (status == TSR_OK) printf("step %5d  loss %.5f\n", i, value);
  }
  tsr_release(loss);
  tsr_capture_release(step);
  return status;
}

int main(int argc, char **argv) {
  int steps = argc > 1 ? atoi(argv[1]) : 2000;
  tsr_device *device = NULL;
  tsr_params *params = NULL;
  tsr_optim *optim = NULL;
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  tsr_scope *scope = tsr_scope_begin(device);
  const tsr_param_desc tensors[] = {
      {.name = "in.weight", .shape = TSR_SHAPE(WIDTH, 2), .init = TSR_INIT_XAVIER_NORMAL, .value = 3},
      {.name = "in.bias", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_UNIFORM},
      {.name = "out.weight", .shape = TSR_SHAPE(1, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "out.bias", .shape = TSR_SHAPE(1)},
  };
  tsr_status status = tsr_params_create(device, TSR_F32, tensors, 4, /*seed=*/1, &params);
  tsr_optim_desc desc = {
      .kind = TSR_ADAMW,
      .rate = 0.01,
      .weight_decay = -1,  // none
      .clip_norm = 1,
      .schedule = {TSR_SCHEDULE_COSINE, .warmup = steps / 20, .period = steps > 1 ? steps : 1, .least = 0.02}};
  if (status == TSR_OK) status = tsr_optim_create(params, &desc, &optim);
  if (status == TSR_OK) status = train(device, params, optim, steps);
  if (status != TSR_OK) return fail();
  tsr_optim_release(optim);
  tsr_params_release(params);
  tsr_scope_end(scope);
  tsr_device_release(device);
  return 0;
}
