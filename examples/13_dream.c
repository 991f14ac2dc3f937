// SPDX-License-Identifier: MIT
// A variational autoencoder learns what digits look like, and then draws new ones from random numbers.
//
// The encoder describes an image by a few numbers, with how sure it is of them; the decoder draws the image again from numbers chosen
// accordingly. The loss asks for the same image, and for numbers that are spread like a normal distribution. So numbers from that distribution,
// which no image has given, make digits too. The picture has 10 rows of them; from left to right one digit turns into another.
//
//   13_dream [SECONDS [PICTURE]]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "canvas.h"
#include "clock.h"
#include "digits.h"
#include "png.h"
#include "step.h"

enum { BATCH = 128, HIDDEN = 256, CODE = 12, ROWS = 10, COLUMNS = 16, DRAWN = ROWS * COLUMNS, SCALE = 2, GAP = 4 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// Normally distributed numbers, by the method of Box and Muller.
static void draw_normal(uint64_t *state, float *numbers, int count) {
  for (int i = 0; i < count; i++) {
    double even[2];
    for (int k = 0; k < 2; k++) {
      *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
      even[k] = ((double)(*state >> 33) + 0.5) / (double)(UINT64_C(1) << 31);
    }
    numbers[i] = (float)(sqrt(-2 * log(even[0])) * cos(6.283185307179586 * even[1]));
  }
}

// --- The network -------------------------------------------------------------------------------------------------------------

static tsr_status make_network(tsr_device *device, tsr_params **out_params) {
  const tsr_param_desc tensors[] = {
      {.name = "see", .shape = TSR_SHAPE(HIDDEN, DIGITS_PIXELS), .init = TSR_INIT_HE_NORMAL},
      {.name = "see.bias", .shape = TSR_SHAPE(HIDDEN)},
      {.name = "mean", .shape = TSR_SHAPE(CODE, HIDDEN), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "mean.bias", .shape = TSR_SHAPE(CODE)},
      {.name = "spread", .shape = TSR_SHAPE(CODE, HIDDEN), .init = TSR_INIT_XAVIER_NORMAL, .value = 0.1},
      {.name = "spread.bias", .shape = TSR_SHAPE(CODE)},
      {.name = "imagine", .shape = TSR_SHAPE(HIDDEN, CODE), .init = TSR_INIT_HE_NORMAL},
      {.name = "imagine.bias", .shape = TSR_SHAPE(HIDDEN)},
      {.name = "draw", .shape = TSR_SHAPE(DIGITS_PIXELS, HIDDEN), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "draw.bias", .shape = TSR_SHAPE(DIGITS_PIXELS)},
  };
  return tsr_params_create(device, TSR_F32, tensors, sizeof tensors / sizeof tensors[0], 1, out_params);
}

// x weight + bias, where `index` is that of the weight.
static tsr_tensor *layer(tsr_tensor *x, const tsr_params *p, int index) {
  return tsr_linear(x, tsr_params_tensor(p, index), tsr_params_tensor(p, index + 1), NULL);
}

// Codes [count, CODE] to pixels [count, DIGITS_PIXELS], before the sigmoid.
static tsr_tensor *decode(tsr_tensor *code, const tsr_params *p) { return layer(tsr_relu(layer(code, p, 6)), p, 8); }

// Means over the batch: how wrong the pixels are, and how far the codes are from normally distributed ones.
static tsr_tensor *loss_of(tsr_tensor *x, tsr_tensor *noise, const tsr_params *p) {
  tsr_tensor *seen = tsr_relu(layer(x, p, 0));
  tsr_tensor *mean = layer(seen, p, 2), *log_variance = layer(seen, p, 4);
  tsr_tensor *code = tsr_add(mean, tsr_mul(tsr_exp(tsr_mul_scalar(log_variance, 0.5)), noise));
  tsr_loss_desc desc = {.reduction = TSR_LOSS_BATCH_MEAN};
  tsr_tensor *wrong = tsr_bce_with_logits_loss(decode(code, p), x, &desc);
  // The divergence from the normal distribution: half the sum of exp(v) + mean^2 - 1 - v.
  tsr_tensor *far = tsr_sub(tsr_add(tsr_exp(log_variance), tsr_mul(mean, mean)), tsr_add_scalar(log_variance, 1));
  return tsr_add(wrong, tsr_mul_scalar(tsr_sum(far, TSR_AXES(0, 1), false), 0.5 / BATCH));
}

// --- Learning ------------------------------------------------------------------------------------------------------------------

typedef struct training {
  tsr_device *device;
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *x, *noise, *loss;
  tsr_capture *step;
} training;

static tsr_tensor *loss_of_batch(void *context) {
  const training *t = context;
  return loss_of(t->x, t->noise, t->params);
}

static tsr_status run_step(training *t) {
  const step_desc desc = {t->params, t->optim, loss_of_batch, t};
  return t->step ? tsr_capture_run(t->step) : step_capture(&desc, &t->loss, &t->step);
}

static tsr_status learn(training *t, double seconds) {
  static float pixels[BATCH * DIGITS_PIXELS], noise[BATCH * CODE];
  static int32_t labels[BATCH];
  uint64_t random = 1;
  double began = clock_seconds(), shown = 0;
  tsr_status status = tsr_optim_create(t->params, &(tsr_optim_desc){.kind = TSR_ADAMW, .rate = 2e-3}, &t->optim);
  t->x = tsr_zeros(t->device, TSR_F32, TSR_SHAPE(BATCH, DIGITS_PIXELS));
  t->noise = tsr_zeros(t->device, TSR_F32, TSR_SHAPE(BATCH, CODE));
  for (uint64_t step = 0; status == TSR_OK; step++) {
    double loss = 0, now = clock_seconds() - began;
    digits_draw_many(1, step * BATCH, BATCH, 0.3f, pixels, labels);
    draw_normal(&random, noise, BATCH * CODE);
    status = tsr_write(t->x, pixels, sizeof pixels);
    if (status == TSR_OK) status = tsr_write(t->noise, noise, sizeof noise);
    if (status == TSR_OK) status = run_step(t);
    if (now < seconds && now < shown + seconds / 5) continue;
    shown = now;
    if (status == TSR_OK) status = tsr_item(t->loss, &loss);
    printf("%5.1f s  step %5d  loss %.2f\n", now, (int)step + 1, loss);
    fflush(stdout);
    if (now >= seconds) break;
  }
  return status;
}

// --- Drawing -------------------------------------------------------------------------------------------------------------------

// Each row goes from one random code to another along a circle, where all codes are as probable as those at its ends.
static void choose_codes(float *codes) {
  uint64_t random = 5;
  for (int row = 0; row < ROWS; row++) {
    float from[CODE], to[CODE];
    draw_normal(&random, from, CODE);
    draw_normal(&random, to, CODE);
    for (int column = 0; column < COLUMNS; column++) {
      float angle = 1.5707963f * (float)column / (COLUMNS - 1);
      float *code = codes + (row * COLUMNS + column) * CODE;
      for (int i = 0; i < CODE; i++) code[i] = cosf(angle) * from[i] + sinf(angle) * to[i];
    }
  }
}

static tsr_status dream(const training *t, float *pixels) {
  float codes[DRAWN * CODE];
  choose_codes(codes);
  tsr_tensor *code = tsr_from_data(t->device, TSR_F32, TSR_SHAPE(DRAWN, CODE), codes, sizeof codes);
  return tsr_read(tsr_sigmoid(decode(code, t->params)), pixels, DRAWN * DIGITS_PIXELS * sizeof *pixels);
}

static bool draw(const char *path, const float *pixels) {
  enum { CELL = DIGITS_SIDE * SCALE + GAP };
  canvas c;
  bool is_drawn = canvas_init(&c, COLUMNS * CELL + GAP, ROWS * CELL + GAP, 0xFAF9F6);
  for (int i = 0; i < DRAWN && is_drawn; i++) {
    canvas_image(&c, GAP + i % COLUMNS * CELL, GAP + i / COLUMNS * CELL, SCALE, pixels + i * DIGITS_PIXELS, DIGITS_SIDE,
                 DIGITS_SIDE, 0xFFFFFF, 0x1B1D22);
  }
  is_drawn = is_drawn && png_write(path, c.pixels, (size_t)c.width, (size_t)c.height, 3);
  canvas_deinit(&c);
  return is_drawn;
}

int main(int argc, char **argv) {
  static float pixels[DRAWN * DIGITS_PIXELS];
  training t = {0};
  double seconds = argc > 1 ? atof(argv[1]) : 30;
  const char *path = argc > 2 ? argv[2] : "dream.png";
  if (tsr_device_open(NULL, &t.device) != TSR_OK) return fail();
  tsr_scope *scope = tsr_scope_begin(t.device);
  tsr_status status = make_network(t.device, &t.params);
  if (status == TSR_OK) status = learn(&t, seconds);
  if (status == TSR_OK) status = dream(&t, pixels);
  tsr_capture_release(t.step);
  tsr_optim_release(t.optim);
  tsr_params_release(t.params);
  tsr_scope_end(scope);
  tsr_device_release(t.device);
  if (status != TSR_OK) return fail();
  if (!draw(path, pixels)) return 1;
  printf("digits that nobody has drawn: %s\n", path);
  return 0;
}
