// SPDX-License-Identifier: MIT
// What programs that time training steps share: their command line, the captured step, and the measurement.
//
//   PROGRAM MODEL [BACKEND] [STEPS] [--batch N]            prints time and launches of a step, and the loss before and after STEPS steps
//   PROGRAM MODEL [BACKEND] --turns [--batch N]            for bench/train_vs_torch.py: a time in ns for each line read
//   PROGRAM MODEL [BACKEND] --step [--batch N]             runs one step without a capture, for TESSERA_LOG=plan
//   PROGRAM MODEL [BACKEND] [STEPS] --anew [--batch N]     prints the time of a step that is recorded each time, as programs without captures do
//   PROGRAM MODEL [BACKEND] [STEPS] --profiled [--batch N] what the profiler costs: a step with and without it, in turns
//
// Without arguments it measures its first model on the best device.
// Each file that includes this is one program.
#ifndef TESSERA_BENCH_TRAIN_H
#define TESSERA_BENCH_TRAIN_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

#include "timing.h"

// A network with its batch. `begin` makes the parameters and the batch, which belong to the caller's scope; `loss` records the loss of that batch.
typedef struct bench_model {
  const char *name;
  int64_t batch;  // images or sequences, if --batch does not say otherwise
  tsr_params *(*begin)(tsr_device *device, int64_t batch);
  tsr_tensor *(*loss)(const tsr_params *params);
} bench_model;

typedef struct bench_options {
  const char *backend;
  int steps;
  int64_t batch;
  bool has_turns, is_single, is_anew, is_profiled;
} bench_options;

typedef struct bench_training {
  tsr_device *device;
  const bench_model *model;
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *loss;  // of the last step
  tsr_capture *step;
} bench_training;

// `count` labels below `classes`, of any shape.
static inline tsr_tensor *bench_labels(tsr_device *device, tsr_shape shape, int64_t count, int32_t classes) {
  int32_t *numbers = malloc((size_t)count * sizeof *numbers);
  if (!numbers) exit(1);
  for (int64_t i = 0; i < count; i++) numbers[i] = (int32_t)((i * 7919) % classes);
  tsr_tensor *labels = tsr_from_data(device, TSR_I32, shape, numbers, (size_t)count * sizeof *numbers);
  bench_check(tsr_evaluate(labels), "making labels");
  free(numbers);
  return labels;
}

// Records the loss, its gradients and the update. Intermediate tensors are released before the parameters change: otherwise they would have to be stored.
// The loss is kept for the caller.
static inline tsr_status bench_record(bench_training *t) {
  tsr_scope *scope = tsr_scope_begin(t->device);
  tsr_status status = tsr_grad_begin();
  if (status == TSR_OK) status = tsr_params_watch(t->params);
  tsr_release(t->loss);
  t->loss = tsr_keep(t->model->loss(t->params));
  if (status == TSR_OK) status = tsr_params_grad(t->params, t->loss, NULL);
  tsr_grad_end();
  tsr_scope_end(scope);
  return status == TSR_OK ? tsr_optim_step(t->optim) : status;
}

static inline void bench_capture(bench_training *t) {
  bench_check(bench_record(t), "a step");
  bench_check(tsr_evaluate(t->loss), "a step");
  bench_check(tsr_capture_begin(t->device), "beginning a capture");
  bench_check(bench_record(t), "a captured step");
  bench_check(tsr_capture_end(&t->loss, 1, &t->step), "ending the capture");
}

static inline double bench_loss(const bench_training *t) {
  double value = 0;
  bench_check(tsr_item(t->loss, &value), "reading the loss");
  return value;
}

// The mean time of `steps` steps.
static inline double bench_sample_ns(const bench_training *t, int steps) {
  double start = bench_now_ns();
  for (int i = 0; i < steps; i++) bench_check(tsr_capture_run(t->step), "a captured step");
  bench_check(tsr_device_synchronize(t->device), "waiting");
  return (bench_now_ns() - start) / steps;
}

static inline int bench_by_value(const void *a, const void *b) {
  double p = *(const double *)a, q = *(const double *)b;
  return (p > q) - (p < q);
}

// In REPEATS parts, so that the median says what a step usually takes.
static inline void bench_measure(const bench_training *t, int steps) {
  enum { REPEATS = 7 };
  double times[REPEATS], before = bench_loss(t);
  int each = steps < REPEATS ? 1 : steps / REPEATS;
  bench_sample_ns(t, 1);
  for (int i = 0; i < REPEATS; i++) times[i] = bench_sample_ns(t, each);
  qsort(times, REPEATS, sizeof times[0], bench_by_value);
  printf("%s: %.1f us a step (best %.1f, worst %.1f), %d launches, loss %.5f before and %.5f after %d steps\n",
         t->model->name, times[REPEATS / 2] / 1e3, times[0] / 1e3, times[REPEATS - 1] / 1e3,
         tsr_capture_step_count(t->step), before, bench_loss(t), 1 + REPEATS * each);
}

// --- With and without the profiler ----------------------------------------------------------------------------------------

typedef enum bench_way { BENCH_REPLAYED, BENCH_RECORDED, BENCH_REPLAYED_FULL } bench_way;

// The mean time of `steps` steps, each replayed or recorded anew.
static inline double bench_way_ns(bench_training *t, bench_way way, int steps) {
  if (way != BENCH_RECORDED) return bench_sample_ns(t, steps);
  double start = bench_now_ns();
  for (int i = 0; i < steps; i++) {
    bench_check(bench_record(t), "a step");
    bench_check(tsr_evaluate(t->loss), "a step");
  }
  bench_check(tsr_device_synchronize(t->device), "waiting");
  return (bench_now_ns() - start) / steps;
}

// The first steps are left out: each kind of work is timed twice at the beginning of a session.
static inline double bench_profiled_ns(bench_training *t, bench_way way, int steps) {
  enum { FIRST = 20 };
  bench_check(tsr_profile_begin(&(tsr_profile_desc){.is_full = way == BENCH_REPLAYED_FULL}), "profiling");
  bench_way_ns(t, way, FIRST);
  double ns = bench_way_ns(t, way, steps);
  bench_check(tsr_profile_end(NULL), "profiling");
  return ns;
}

static inline void bench_compare_profiled(bench_training *t, int steps) {
  enum { ROUNDS = 15 };
  static const char *const names[] = {"replayed", "recorded anew", "replayed step by step (full)"};
  int each = steps < ROUNDS ? 1 : steps / ROUNDS;
  for (int way = BENCH_REPLAYED; way <= BENCH_REPLAYED_FULL; way++) {
    double off[ROUNDS], on[ROUNDS], ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
      off[i] = bench_way_ns(t, (bench_way)way, each);
      on[i] = bench_profiled_ns(t, (bench_way)way, each);
      ratios[i] = on[i] / off[i];
    }
    qsort(off, ROUNDS, sizeof off[0], bench_by_value);
    qsort(on, ROUNDS, sizeof on[0], bench_by_value);
    qsort(ratios, ROUNDS, sizeof ratios[0], bench_by_value);
    printf("%s, %s: %.1f us a step, profiled %.1f us: %+.1f %% (%+.1f to %+.1f)\n", t->model->name, names[way],
           off[ROUNDS / 2] / 1e3, on[ROUNDS / 2] / 1e3, 100 * (ratios[ROUNDS / 2] - 1), 100 * (ratios[ROUNDS / 4] - 1),
           100 * (ratios[3 * ROUNDS / 4] - 1));
    fflush(stdout);
  }
}

static inline void bench_measure_anew(bench_training *t, int steps) {
  bench_way_ns(t, BENCH_RECORDED, steps / 2);
  printf("%s, recorded anew: %.1f us a step, loss %.5f after %d steps\n", t->model->name,
         bench_way_ns(t, BENCH_RECORDED, steps) / 1e3, bench_loss(t), steps / 2 + steps);
}

static inline void bench_take_turns(const bench_training *t) {
  char line[8];
  double once = bench_sample_ns(t, 3);
  int steps = once > 5e7 ? 1 : (int)(5e7 / once);
  printf("ready\n");
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    bench_sample_ns(t, 1);
    printf("%.0f\n", bench_sample_ns(t, steps));
    fflush(stdout);
  }
}

static inline void bench_train(const bench_model *model, const bench_options *options) {
  bench_training t = {.model = model};
  if (options->is_profiled) bench_check(tsr_profile_begin(NULL), "profiling");  // so that the device gives times
  bench_check(tsr_device_open(&(tsr_device_desc){.backend = options->backend}, &t.device), "opening the device");
  if (options->is_profiled) bench_check(tsr_profile_end(NULL), "profiling");
  tsr_scope *scope = tsr_scope_begin(t.device);
  t.params = model->begin(t.device, options->batch ? options->batch : model->batch);
  bench_check(tsr_optim_create(t.params, &(tsr_optim_desc){.kind = TSR_ADAMW}, &t.optim), "making the optimiser");
  if (options->is_single) {
    bench_check(bench_record(&t), "a step");
    printf("%s: loss %.5f\n", model->name, bench_loss(&t));
  } else {
    if (!options->is_anew) bench_capture(&t);
    if (options->is_anew) bench_measure_anew(&t, options->steps);
    else if (options->is_profiled) bench_compare_profiled(&t, options->steps);
    else if (options->has_turns) bench_take_turns(&t);
    else bench_measure(&t, options->steps);
  }
  tsr_release(t.loss);
  tsr_capture_release(t.step);
  tsr_optim_release(t.optim);
  tsr_params_release(t.params);
  tsr_scope_end(scope);
  tsr_device_release(t.device);
}

// main of a program with these models.
static inline int bench_train_main(int count, char **arguments, const bench_model *models, int model_count) {
  bench_options options = {.steps = 70};
  const char *given[3] = {NULL, NULL, NULL};
  int places = 0;
  for (int i = 1; i < count; i++) {
    if (strcmp(arguments[i], "--turns") == 0) options.has_turns = true;
    else if (strcmp(arguments[i], "--step") == 0) options.is_single = true;
    else if (strcmp(arguments[i], "--anew") == 0) options.is_anew = true;
    else if (strcmp(arguments[i], "--profiled") == 0) options.is_profiled = true;
    else if (strcmp(arguments[i], "--batch") == 0 && i + 1 < count) options.batch = atoll(arguments[++i]);
    else if (places < 3) given[places++] = arguments[i];
  }
  options.backend = given[1];
  if (given[2]) options.steps = atoi(given[2]);
  for (int i = 0; i < model_count; i++) {
    if (given[0] && strcmp(given[0], models[i].name) != 0) continue;
    bench_train(&models[i], &options);
    return 0;
  }
  fprintf(stderr, "usage: MODEL [BACKEND] [STEPS] [--turns] [--step] [--anew] [--profiled] [--batch N]; models:");
  for (int i = 0; i < model_count; i++) fprintf(stderr, " %s", models[i].name);
  fprintf(stderr, "\n");
  return 2;
}

#endif
