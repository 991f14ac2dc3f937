// SPDX-License-Identifier: MIT
// The last part of `tessera demo`: both networks on every device, compared with the CPU.
#include "demo_devices.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_time.h"
#include "demo_networks.h"
#include "device_choice.h"
#include "digits.h"

enum { WARM_RUNS = 3, IMAGES = 32, CLASSES = 10, SEQUENCES = 2, TOKENS = 64 };

const demo_program demo_programs[DEMO_PROGRAM_COUNT] = {
    {"digits", "digits network, 32 images", "sums of up to 1568 products, added in another order", 1e-4},
    {"transformer", "transformer block, 2x64x128", "sums of up to 512 products, added in another order", 1e-4},
};

// What to run for each program, numbered as in demo_programs.
typedef struct network {
  tsr_tensor *(*run)(const tsr_params *params, tsr_tensor *x);
  tsr_shape shape;  // shape of the input
  size_t input_count, result_count;
} network;

static network network_of(int program) {
  size_t numbers = (size_t)SEQUENCES * TOKENS * DEMO_BLOCK_WIDTH;
  if (program == 0) {
    tsr_shape shape = TSR_SHAPE(IMAGES, 1, DIGITS_SIDE, DIGITS_SIDE);
    return (network){demo_reader, shape, IMAGES * DIGITS_PIXELS, IMAGES * CLASSES};
  }
  return (network){demo_block, TSR_SHAPE(SEQUENCES, TOKENS, DEMO_BLOCK_WIDTH), numbers, numbers};
}

static size_t input_bytes(int program) { return network_of(program).input_count * sizeof(float); }
static size_t result_bytes(int program) { return network_of(program).result_count * sizeof(float); }

// --- Running --------------------------------------------------------------------------------------------------------------

// Records the network, runs it and reads the result. The parameters are already on the device.
static tsr_status run_once(tsr_device *device, int program, const tsr_params *params, const float *input,
                           float *result) {
  network n = network_of(program);
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, n.shape, input, input_bytes(program));
  tsr_status status = tsr_read(n.run(params, x), result, result_bytes(program));
  tsr_scope_end(scope);
  return status;
}

static tsr_status run_timed(tsr_device *device, int program, const tsr_params *params, const float *input,
                            float *result, demo_outcome *out) {
  tsr_device_counters before = {0}, after = {0};
  tsr_status status = TSR_OK;
  for (int i = 0; i <= WARM_RUNS && status == TSR_OK; i++) {
    tsr_device_get_counters(device, &before);
    double start = bench_now_ns();
    status = run_once(device, program, params, input, result);
    double ns = bench_now_ns() - start;
    tsr_device_get_counters(device, &after);
    if (i == 0) out->first_ns = ns;
    else if (i == 1 || ns < out->again_ns) out->again_ns = ns;
  }
  out->kernels = after.launches - before.launches;
  return status;
}

// The largest absolute difference, divided by the largest expected magnitude.
static double largest_difference(const float *result, const float *expected, size_t count) {
  double largest = 0, scale = 0;
  for (size_t i = 0; i < count; i++) {
    double difference = fabs((double)result[i] - (double)expected[i]);
    if (!(difference <= largest)) largest = difference;  // also true for NaN
    if (isnan(largest)) return INFINITY;
    scale = fmax(scale, fabs((double)expected[i]));
  }
  return largest / (scale > 0 ? scale : 1);
}

static void run_program(const demo_reference *reference, tsr_device *device, int program, demo_outcome *out) {
  tsr_params *params = NULL;
  float *result = malloc(result_bytes(program));
  out->status = result ? tsr_params_to(reference->params[program], device, &params) : TSR_ERR_OUT_OF_MEMORY;
  if (out->status == TSR_OK) {
    out->status = run_timed(device, program, params, reference->inputs[program], result, out);
  }
  if (out->status == TSR_OK) {
    out->difference = largest_difference(result, reference->results[program], network_of(program).result_count);
  } else {
    snprintf(out->message, sizeof out->message, "%s", result ? tsr_last_error() : "no host memory for the result");
  }
  tsr_params_release(params);
  free(result);
}

void demo_visit_run(const demo_reference *reference, demo_visit *visit) {
  tsr_device *device = NULL;
  visit->status = device_open_exactly(visit->backend, visit->index, &device);
  if (visit->status != TSR_OK) snprintf(visit->message, sizeof visit->message, "%s", tsr_last_error());
  for (int i = 0; i < DEMO_PROGRAM_COUNT && visit->status == TSR_OK; i++) {
    run_program(reference, device, i, &visit->outcomes[i]);
  }
  tsr_device_release(device);
}

bool demo_visit_has_passed(const demo_visit *visit, int program) {
  const demo_outcome *o = &visit->outcomes[program];
  return !visit->is_skipped && visit->status == TSR_OK && o->status == TSR_OK &&
         o->difference <= demo_programs[program].bound;
}

// --- The reference ----------------------------------------------------------------------------------------------------------

// Numbers from -1 to 1, the same in each run.
static void fill_evenly(float *numbers, size_t count) {
  uint64_t state = 1;
  for (size_t i = 0; i < count; i++) {
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    numbers[i] = (float)(state >> 40) / (float)(1 << 23) - 1;  // 24 bits: exact
  }
}

tsr_status demo_reference_init(demo_reference *reference, const tsr_params *trained, const float *images) {
  *reference = (demo_reference){0};
  tsr_status status = device_open_exactly("cpu", 0, &reference->cpu);
  if (status == TSR_OK) status = tsr_params_to(trained, reference->cpu, &reference->params[0]);
  if (status == TSR_OK) status = demo_block_create(reference->cpu, 1, &reference->params[1]);
  for (int i = 0; i < DEMO_PROGRAM_COUNT && status == TSR_OK; i++) {
    float *input = reference->inputs[i] = malloc(input_bytes(i));
    float *result = reference->results[i] = malloc(result_bytes(i));
    if (!input || !result) return TSR_ERR_OUT_OF_MEMORY;
    if (i == 0) memcpy(input, images, input_bytes(i));
    else fill_evenly(input, network_of(i).input_count);
    status = run_once(reference->cpu, i, reference->params[i], input, result);
  }
  return status;
}

void demo_reference_deinit(demo_reference *reference) {
  for (int i = 0; i < DEMO_PROGRAM_COUNT; i++) {
    tsr_params_release(reference->params[i]);
    free(reference->inputs[i]);
    free(reference->results[i]);
  }
  tsr_device_release(reference->cpu);
}
