// SPDX-License-Identifier: MIT
// A convolutional network learns to read digits: a whole training program with a captured step, digits that are drawn while it learns, and a
// trial on others that it has not seen. `tessera demo` does the same with more to look at.
//
//   11_digits [SECONDS]
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "clock.h"
#include "digits.h"
#include "step.h"

enum { BATCH = 128, BATCHES = 60, UNSEEN = 1000, FLAT = 32 * 7 * 7 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// Layers with their parameters, in the order in which they come.
static tsr_status make_network(tsr_device *device, tsr_params **out_params) {
  const tsr_param_desc tensors[] = {
      {.name = "edges", .shape = TSR_SHAPE(16, 1, 3, 3), .init = TSR_INIT_HE_NORMAL},
      {.name = "edges.bias", .shape = TSR_SHAPE(16)},
      {.name = "shapes", .shape = TSR_SHAPE(32, 16, 3, 3), .init = TSR_INIT_HE_NORMAL},
      {.name = "shapes.bias", .shape = TSR_SHAPE(32)},
      {.name = "hidden", .shape = TSR_SHAPE(128, FLAT), .init = TSR_INIT_HE_NORMAL},
      {.name = "hidden.bias", .shape = TSR_SHAPE(128)},
      {.name = "digit", .shape = TSR_SHAPE(10, 128), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "digit.bias", .shape = TSR_SHAPE(10)},
  };
  return tsr_params_create(device, TSR_F32, tensors, sizeof tensors / sizeof tensors[0], 1, out_params);
}

// [count, 1, 28, 28] to [count, 10].
static tsr_tensor *network(tsr_tensor *x, const tsr_params *p) {
  const tsr_conv_desc same = {.padding = TSR_PADDING_SAME};
  const tsr_pool_desc half = {.size = {2, 2}};
  for (int i = 0; i < 4; i += 2) {
    x = tsr_max_pool(tsr_relu(tsr_conv(x, tsr_params_tensor(p, i), tsr_params_tensor(p, i + 1), &same)), &half);
  }
  x = tsr_reshape(x, TSR_SHAPE(-1, FLAT));
  x = tsr_relu(tsr_linear(x, tsr_params_tensor(p, 4), tsr_params_tensor(p, 5), NULL));
  return tsr_linear(x, tsr_params_tensor(p, 6), tsr_params_tensor(p, 7), NULL);
}

typedef struct training {
  tsr_device *device;
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *images, *labels, *loss;  // of a batch
  tsr_capture *step;
} training;

static tsr_tensor *loss_of_batch(void *context) {
  const training *t = context;
  return tsr_cross_entropy(network(t->images, t->params), t->labels, 1, NULL);
}

static tsr_status run_step(training *t) {
  const step_desc desc = {t->params, t->optim, loss_of_batch, t};
  return t->step ? tsr_capture_run(t->step) : step_capture(&desc, &t->loss, &t->step);
}

// Up to BATCHES steps, as long as there is time.
static tsr_status train_epoch(training *t, int epoch, double end, double *out_loss) {
  static float pixels[BATCH * DIGITS_PIXELS];
  static int32_t labels[BATCH];
  tsr_status status = TSR_OK;
  for (int batch = 0; batch < BATCHES && status == TSR_OK && (batch == 0 || clock_seconds() < end); batch++) {
    uint64_t first = ((uint64_t)epoch * BATCHES + (uint64_t)batch) * BATCH;  // never the same digit twice
    digits_draw_many(1, first, BATCH, 1, pixels, labels);
    status = tsr_write(t->images, pixels, sizeof pixels);
    if (status == TSR_OK) status = tsr_write(t->labels, labels, sizeof labels);
    if (status == TSR_OK) status = run_step(t);
  }
  return status == TSR_OK ? tsr_item(t->loss, out_loss) : status;
}

static tsr_status count_right(const training *t, int *out_right) {
  static float pixels[UNSEEN * DIGITS_PIXELS];
  static int32_t labels[UNSEEN], read[UNSEEN];
  digits_draw_many(2, 0, UNSEEN, 1, pixels, labels);  // another seed
  tsr_scope *scope = tsr_scope_begin(t->device);
  tsr_tensor *x =
      tsr_from_data(t->device, TSR_F32, TSR_SHAPE(UNSEEN, 1, DIGITS_SIDE, DIGITS_SIDE), pixels, sizeof pixels);
  tsr_status status = tsr_read(tsr_argmax(network(x, t->params), TSR_AXES(1), false), read, sizeof read);
  tsr_scope_end(scope);
  *out_right = 0;
  for (int i = 0; i < UNSEEN; i++) *out_right += read[i] == labels[i];
  return status;
}

static tsr_status train(training *t, double seconds) {
  double began = clock_seconds(), now = began;
  tsr_status status = make_network(t->device, &t->params);
  if (status != TSR_OK) return status;
  const tsr_optim_desc desc = {.kind = TSR_ADAMW, .rate = 2e-3, .schedule = {.warmup = 10}};
  status = tsr_optim_create(t->params, &desc, &t->optim);
  t->images = tsr_zeros(t->device, TSR_F32, TSR_SHAPE(BATCH, 1, DIGITS_SIDE, DIGITS_SIDE));
  t->labels = tsr_zeros(t->device, TSR_I32, TSR_SHAPE(BATCH));
  for (int epoch = 0; now < began + seconds && status == TSR_OK; epoch++) {
    double loss = 0;
    int right = 0;
    status = train_epoch(t, epoch, began + seconds, &loss);
    if (status == TSR_OK) status = count_right(t, &right);
    now = clock_seconds();
    if (status == TSR_OK) {
      printf("%5.1f s  loss %.4f  %.1f %% of %d unseen digits\n", now - began, loss, 100.0 * right / UNSEEN, UNSEEN);
    }
  }
  return status;
}

int main(int argc, char **argv) {
  training t = {0};
  double seconds = argc > 1 ? atof(argv[1]) : 20;
  if (tsr_device_open(NULL, &t.device) != TSR_OK) return fail();
  tsr_scope *scope = tsr_scope_begin(t.device);
  tsr_status status = train(&t, seconds);
  tsr_capture_release(t.step);
  tsr_optim_release(t.optim);
  tsr_params_release(t.params);
  tsr_scope_end(scope);
  tsr_device_release(t.device);
  return status == TSR_OK ? 0 : fail();
}
