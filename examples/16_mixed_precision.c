// SPDX-License-Identifier: MIT
// Mixed precision: the same network learns in f32, in bf16, and in f16 with a loss scale. Prints the losses side by side, and how the scale went.
//
//   16_mixed_precision [STEPS]
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

enum { BATCH = 64, INPUTS = 32, WIDTH = 64, CLASSES = 4, LINES = 5 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

typedef struct task {
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *x, *labels;
} task;

// Labels are where a fixed linear map is largest, so that there is something to learn.
static tsr_status make_task(tsr_device *device, const tsr_optim_desc *desc, task *out) {
  const tsr_param_desc tensors[] = {
      {.name = "in.weight", .shape = TSR_SHAPE(WIDTH, INPUTS), .init = TSR_INIT_HE_NORMAL},
      {.name = "in.bias", .shape = TSR_SHAPE(WIDTH)},
      {.name = "norm.weight", .shape = TSR_SHAPE(WIDTH), .init = TSR_INIT_ONES},
      {.name = "out.weight", .shape = TSR_SHAPE(CLASSES, WIDTH), .init = TSR_INIT_XAVIER_NORMAL},
  };
  out->x = tsr_randn(device, TSR_F32, TSR_SHAPE(BATCH, INPUTS), 1);
  tsr_tensor *map = tsr_randn(device, TSR_F32, TSR_SHAPE(INPUTS, CLASSES), 2);
  out->labels = tsr_argmax(tsr_matmul(out->x, map), TSR_AXES(1), false);
  tsr_status status = tsr_evaluate(out->labels);
  if (status == TSR_OK) status = tsr_params_create(device, TSR_F32, tensors, 4, /*seed=*/3, &out->params);
  return status == TSR_OK ? tsr_optim_create(out->params, desc, &out->optim) : status;
}

// Products are computed in `dtype`, the norm and the loss in f32. The parameters and their gradients are f32.
static tsr_tensor *loss_of(const task *t, tsr_dtype dtype) {
  if (tsr_autocast_begin(dtype) != TSR_OK) return NULL;
  tsr_tensor *h =
      tsr_linear(t->x, tsr_params_find(t->params, "in.weight"), tsr_params_find(t->params, "in.bias"), NULL);
  h = tsr_rms_norm(tsr_relu(h), tsr_params_find(t->params, "norm.weight"), 1e-6);
  tsr_tensor *logits = tsr_linear(h, tsr_params_find(t->params, "out.weight"), NULL, NULL);
  tsr_tensor *loss = tsr_cross_entropy(logits, t->labels, 1, NULL);
  tsr_autocast_end();
  return loss;
}

// The loss's cotangent is the scale: 1 for an optimiser that does not scale. The scope releases what the forward pass recorded before the parameters change;
// the caller releases the loss.
static tsr_status record_step(const task *t, tsr_dtype dtype, tsr_tensor **out_loss) {
  tsr_status status = tsr_grad_begin();
  if (status != TSR_OK) return status;
  tsr_scope *scope = tsr_scope_begin(tsr_params_device(t->params));
  status = tsr_params_watch(t->params);
  *out_loss = tsr_keep(loss_of(t, dtype));
  tsr_grad_desc desc = {.cotangent = tsr_optim_scale(t->optim)};
  if (status == TSR_OK) status = tsr_params_grad(t->params, *out_loss, &desc);
  tsr_scope_end(scope);
  tsr_grad_end();
  return status == TSR_OK ? tsr_optim_step(t->optim) : status;
}

static tsr_status train(const task *t, tsr_device *device, tsr_dtype dtype, int steps, double *losses,
                        double *out_scale) {
  tsr_tensor *loss = NULL;
  tsr_capture *step = NULL;
  tsr_status status = tsr_capture_begin(device);
  if (status != TSR_OK) return status;
  status = record_step(t, dtype, &loss);
  tsr_status ended = tsr_capture_end(&loss, status == TSR_OK ? 1 : 0, &step);
  if (status == TSR_OK) status = ended;
  for (int i = 0; i < LINES && status == TSR_OK; i++) {
    for (int j = 0; j < steps / LINES && status == TSR_OK; j++) status = tsr_capture_run(step);
    if (status == TSR_OK) status = tsr_item(loss, &losses[i]);
  }
  if (status == TSR_OK) status = tsr_item(tsr_optim_scale(t->optim), out_scale);
  tsr_release(loss);
  tsr_capture_release(step);
  return status;
}

int main(int argc, char **argv) {
  const tsr_dtype dtypes[3] = {TSR_F32, TSR_BF16, TSR_F16};
  double losses[3][LINES], scales[3];
  int steps = argc > 1 ? atoi(argv[1]) : 250;
  tsr_device *device = NULL;
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  tsr_scope *scope = tsr_scope_begin(device);
  for (int i = 0; i < 3; i++) {
    tsr_optim_desc desc = {.kind = TSR_ADAMW, .rate = 3e-3};
    if (dtypes[i] == TSR_F16) desc.loss_scale = (tsr_loss_scale){.first = 16777216, .interval = 100};
    task t = {0};
    tsr_status status = make_task(device, &desc, &t);
    if (status == TSR_OK) status = train(&t, device, dtypes[i], steps, losses[i], &scales[i]);
    if (status != TSR_OK) return fail();
    tsr_optim_release(t.optim);
    tsr_params_release(t.params);
  }
  printf("  step      f32     bf16      f16\n");
  for (int i = 0; i < LINES; i++) {
    printf("%6d  %7.4f  %7.4f  %7.4f\n", (i + 1) * (steps / LINES), losses[0][i], losses[1][i], losses[2][i]);
  }
  printf("the loss scale of f16 was 16777216 at first and is %.0f now\n", scales[2]);
  tsr_scope_end(scope);
  tsr_device_release(device);
  return 0;
}
