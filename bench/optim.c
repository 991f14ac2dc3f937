// SPDX-License-Identifier: MIT
// Times steps of optimisers: one tensor of many elements, and many small tensors. A step runs in a capture, as training does.
//
//   build/release/bench/optim [BACKEND [ELEMENTS]]
#include <stdio.h>
#include <stdlib.h>

#include "timing.h"

enum { SMALL_TENSORS = 200, SMALL_ELEMENTS = 4096, TURNS = 5 };

static const double TURN_SECONDS = 0.05;

static double seconds_per_step(tsr_device *device, tsr_params *params, const tsr_optim_desc *desc) {
  tsr_optim *optim = NULL;
  tsr_capture *step = NULL;
  double best = 1e9;
  int steps = 1;
  bench_check(tsr_optim_create(params, desc, &optim), "optim");
  bench_check(tsr_optim_step(optim), "optim");
  bench_check(tsr_capture_begin(device), "optim");
  bench_check(tsr_optim_step(optim), "optim");
  bench_check(tsr_capture_end(NULL, 0, &step), "optim");
  bench_check(tsr_capture_run(step), "optim");
  for (int turn = 0; turn < TURNS; turn++) {
    bench_check(tsr_device_synchronize(device), "optim");
    double start = 1e-9 * bench_now_ns();
    for (int i = 0; i < steps; i++) bench_check(tsr_capture_run(step), "optim");
    bench_check(tsr_device_synchronize(device), "optim");
    double each = (1e-9 * bench_now_ns() - start) / steps;
    if (each < best) best = each;
    steps = 1 + (int)(TURN_SECONDS / each);
  }
  tsr_capture_release(step);
  tsr_optim_release(optim);
  return best;
}

static void measure(tsr_device *device, const char *name, tsr_params *params) {
  static const char *const kinds[] = {"sgd", "adam", "adamw", "rmsprop", "lion"};
  printf("%s, %s:", name, tsr_dtype_name(tsr_params_dtype(params)));
  for (int kind = TSR_SGD; kind <= TSR_LION; kind++) {
    tsr_optim_desc desc = {.kind = (tsr_optim_kind)kind};
    printf("  %s %.1f", kinds[kind], 1e6 * seconds_per_step(device, params, &desc));
  }
  tsr_optim_desc clipped = {
      .kind = TSR_ADAMW, .clip_norm = 1, .schedule = {TSR_SCHEDULE_COSINE, .warmup = 5, .period = 99}};
  printf("  adamw clipped by norm %.1f us\n", 1e6 * seconds_per_step(device, params, &clipped));
}

int main(int argc, char **argv) {
  tsr_device *device = NULL;
  int64_t elements = argc > 2 ? atoll(argv[2]) : 10000000;
  bench_check(tsr_device_open(&(tsr_device_desc){.backend = argc > 1 ? argv[1] : NULL}, &device), "optim");
  static char names[SMALL_TENSORS][16];
  tsr_param_desc large = {.name = "w", .shape = TSR_SHAPE(elements)}, small[SMALL_TENSORS];
  for (int i = 0; i < SMALL_TENSORS; i++) {
    snprintf(names[i], sizeof names[i], "w%d", i);
    small[i] = (tsr_param_desc){.name = names[i], .shape = TSR_SHAPE(SMALL_ELEMENTS)};
  }
  const tsr_dtype dtypes[] = {TSR_F32, TSR_BF16};
  for (int i = 0; i < 2; i++) {
    tsr_params *params = NULL;
    bench_check(tsr_params_create(device, dtypes[i], &large, 1, 1, &params), "optim");
    measure(device, "one tensor", params);
    tsr_params_release(params);
    bench_check(tsr_params_create(device, dtypes[i], small, SMALL_TENSORS, 1, &params), "optim");
    measure(device, "200 tensors of 4096", params);
    tsr_params_release(params);
  }
  tsr_device_release(device);
  return 0;
}
