// SPDX-License-Identifier: MIT
// The training of `tessera demo`. A step is recorded once, captured, and run again for each batch: only the batch's numbers are written.
#include "demo_train.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_time.h"
#include "demo_networks.h"
#include "digits.h"
#include "interrupt.h"
#include "step.h"

enum { TRIED_AT_ONCE = 200 };  // unseen digits

// --- Digits ------------------------------------------------------------------------------------------------------------------

bool demo_digits_init(demo_digits *digits, uint64_t seed, int steps) {
  int count = DEMO_BATCH * (steps < DEMO_BATCHES ? steps : DEMO_BATCHES);
  size_t train = (size_t)count, test = DEMO_TEST_COUNT;
  *digits = (demo_digits){
      .count = count,
      .images = malloc(train * DIGITS_PIXELS * sizeof(float)),
      .test_images = malloc(test * DIGITS_PIXELS * sizeof(float)),
      .labels = malloc(train * sizeof(int32_t)),
      .test_labels = malloc(test * sizeof(int32_t)),
  };
  if (!digits->images || !digits->test_images || !digits->labels || !digits->test_labels) return false;
  digits_draw_many(2 * seed, 0, count, 1, digits->images, digits->labels);
  digits_draw_many(2 * seed + 1, 0, DEMO_TEST_COUNT, 1, digits->test_images, digits->test_labels);
  return true;
}

void demo_digits_deinit(demo_digits *digits) {
  free(digits->images);
  free(digits->test_images);
  free(digits->labels);
  free(digits->test_labels);
}

// --- A step --------------------------------------------------------------------------------------------------------------------

typedef struct trainer {
  const demo_training_desc *desc;
  demo_training *out;
  double began_ns;
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *images, *labels;  // all of them, on the device
  tsr_tensor *chosen;           // the numbers of the batch's digits, [DEMO_BATCH]
  tsr_tensor *loss;
  tsr_capture *step;
  int32_t order[DEMO_TRAIN_COUNT];  // the order of the digits in an epoch
  uint64_t random;
} trainer;

static tsr_tensor *images_on(tsr_device *device, const float *pixels, int count) {
  tsr_shape shape = TSR_SHAPE(count, 1, DIGITS_SIDE, DIGITS_SIDE);
  return tsr_from_data(device, TSR_F32, shape, pixels, (size_t)count * DIGITS_PIXELS * sizeof *pixels);
}

static tsr_status set_up(trainer *t) {
  const demo_digits *digits = t->desc->digits;
  tsr_device *device = t->desc->device;
  t->images = images_on(device, digits->images, digits->count);
  t->labels = tsr_from_data(device, TSR_I32, TSR_SHAPE(digits->count), digits->labels,
                            (size_t)digits->count * sizeof *digits->labels);
  t->chosen = tsr_from_data(device, TSR_I32, TSR_SHAPE(DEMO_BATCH), t->order, DEMO_BATCH * sizeof *t->order);
  tsr_status status = demo_reader_create(device, t->desc->seed, &t->params);
  if (status != TSR_OK) return status;
  t->out->parameter_count = tsr_params_element_count(t->params);
  const tsr_optim_desc desc = {
      .kind = TSR_ADAMW,
      .rate = 2e-3,
      .schedule = {.kind = TSR_SCHEDULE_COSINE, .warmup = 20, .period = t->desc->steps, .least = 0.02}};
  return tsr_optim_create(t->params, &desc, &t->optim);
}

static tsr_tensor *loss_of_chosen(void *context) {
  const trainer *t = context;
  tsr_tensor *x = tsr_index_select(t->images, 0, t->chosen), *labels = tsr_index_select(t->labels, 0, t->chosen);
  return tsr_cross_entropy(demo_reader(t->params, x), labels, 1, NULL);
}

// The first step: it runs while it is captured.
static tsr_status capture_step(trainer *t) {
  const step_desc desc = {t->params, t->optim, loss_of_chosen, t};
  tsr_device_counters before = {0}, after = {0};
  tsr_device_get_counters(t->desc->device, &before);
  tsr_status status = step_capture(&desc, &t->loss, &t->step);
  tsr_device_get_counters(t->desc->device, &after);
  t->out->kernels = (int)(after.launches - before.launches);
  return status == TSR_OK ? tsr_grad_get_memory(t->desc->device, &t->out->memory) : status;
}

static tsr_status run_step(trainer *t, int batch) {
  const int32_t *chosen = t->order + (size_t)batch * DEMO_BATCH;
  double loss = 0;
  tsr_status status = tsr_write(t->chosen, chosen, DEMO_BATCH * sizeof *chosen);
  if (status == TSR_OK) status = t->step ? tsr_capture_run(t->step) : capture_step(t);
  if (status == TSR_OK) status = tsr_item(t->loss, &loss);
  if (status == TSR_OK) t->out->losses[t->out->step_count++] = (float)loss;
  return status;
}

// --- Epochs ---------------------------------------------------------------------------------------------------------------------

// Shuffles the digits for the next epoch (Fisher-Yates).
static void shuffle(trainer *t) {
  for (uint32_t left = (uint32_t)t->desc->digits->count; left > 1; left--) {
    t->random = t->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    uint32_t other = (uint32_t)((t->random >> 33) % left);
    int32_t kept = t->order[left - 1];
    t->order[left - 1] = t->order[other];
    t->order[other] = kept;
  }
}

static bool is_over(const trainer *t) { return demo_budget_is_over(t->desc->budget, t->desc->budget_part); }

// After each epoch the network reads unseen digits: all of them, unless that would take more than this part of the training time.
static const double trial_part = 0.1;

static tsr_status try_unseen(trainer *t, demo_epoch *epoch) {
  const demo_digits *digits = t->desc->digits;
  tsr_status status = TSR_OK;
  int right = 0;
  for (epoch->tried = 0; epoch->tried < DEMO_TEST_COUNT && status == TSR_OK;) {
    int32_t *predicted = t->out->predicted + epoch->tried;
    tsr_scope *scope = tsr_scope_begin(t->desc->device);
    tsr_tensor *x =
        images_on(t->desc->device, digits->test_images + (size_t)epoch->tried * DIGITS_PIXELS, TRIED_AT_ONCE);
    tsr_tensor *best = tsr_argmax(demo_reader(t->params, x), TSR_AXES(1), false);
    status = tsr_read(best, predicted, TRIED_AT_ONCE * sizeof *predicted);
    tsr_scope_end(scope);
    for (int i = 0; i < TRIED_AT_ONCE; i++) right += predicted[i] == digits->test_labels[epoch->tried + i];
    epoch->tried += TRIED_AT_ONCE;
    if (demo_budget_is_over(t->desc->budget, t->desc->budget_part + trial_part)) break;
  }
  epoch->accuracy = (double)right / epoch->tried;
  return status;
}

// True if it went to its end.
static bool run_epoch(trainer *t) {
  demo_training *out = t->out;
  demo_epoch *epoch = &out->epochs[out->epoch_count];
  double sum = 0;
  int batch = 0, left = t->desc->steps - out->step_count, batches = left < DEMO_BATCHES ? left : DEMO_BATCHES;
  shuffle(t);
  for (; batch < batches && (batch == 0 || !is_over(t)); batch++) {
    out->status = run_step(t, batch);
    if (out->status != TSR_OK) return false;
    sum += out->losses[out->step_count - 1];
    if (t->desc->on_step) t->desc->on_step(out, t->desc->steps);
  }
  out->status = try_unseen(t, epoch);
  if (out->status != TSR_OK) return false;
  epoch->loss = sum / batch;
  epoch->seconds = (bench_now_ns() - t->began_ns) / 1e9;
  out->epoch_count++;
  if (t->desc->on_epoch) t->desc->on_epoch(out, t->desc->steps);
  return batch == batches && epoch->tried == DEMO_TEST_COUNT;
}

static demo_end run_epochs(trainer *t) {
  bool is_whole = true;
  while (is_whole && t->out->step_count < t->desc->steps && (t->out->epoch_count == 0 || !is_over(t))) {
    is_whole = run_epoch(t);
  }
  if (t->out->status != TSR_OK) return DEMO_FAILED;
  if (is_whole && t->out->step_count == t->desc->steps) return DEMO_DONE;
  return interrupt_is_noted() ? DEMO_INTERRUPTED : DEMO_TIME_OVER;
}

void demo_train(const demo_training_desc *desc, demo_training *out, tsr_params **out_params) {
  memset(out, 0, sizeof *out);
  *out_params = NULL;
  trainer *t = calloc(1, sizeof *t);
  if (!t) {
    *out = (demo_training){.end = DEMO_FAILED, .status = TSR_ERR_OUT_OF_MEMORY, .message = "no host memory to train"};
    return;
  }
  *t = (trainer){.desc = desc, .out = out, .began_ns = bench_now_ns(), .random = desc->seed};
  for (int i = 0; i < DEMO_TRAIN_COUNT; i++) t->order[i] = i;
  tsr_scope *scope = tsr_scope_begin(desc->device);
  out->status = set_up(t);
  out->end = out->status == TSR_OK ? run_epochs(t) : DEMO_FAILED;
  if (out->end == DEMO_FAILED) snprintf(out->message, sizeof out->message, "%s", tsr_last_error());
  else *out_params = tsr_params_retain(t->params);
  out->seconds = (bench_now_ns() - t->began_ns) / 1e9;
  tsr_capture_release(t->step);
  tsr_optim_release(t->optim);
  tsr_params_release(t->params);
  tsr_scope_end(scope);
  free(t);
}

int demo_tried_count(const demo_training *training) {
  return training->epoch_count > 0 ? training->epochs[training->epoch_count - 1].tried : 0;
}

int demo_right_count(const demo_training *training, const demo_digits *digits) {
  int right = 0, tried = demo_tried_count(training);
  for (int i = 0; i < tried; i++) right += training->predicted[i] == digits->test_labels[i];
  return right;
}
