// SPDX-License-Identifier: MIT
// One network, two devices: each computes a step on its half of the batch, both at once, then the parameters are averaged. With plain
// gradient descent that is the step on the whole batch. The devices are the two best ones of the machine; if there is only one, it is opened
// twice.
//
//   14_two_devices [STEPS]
#include <stdio.h>
#include <stdlib.h>

#include <tessera/tessera.h>

#include "step.h"

enum { DEVICES = 2, HALF = 256, INPUTS = 16, HIDDEN = 64 };

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

// --- Devices -----------------------------------------------------------------------------------------------------------------

// Opens the best device, and the next one that is not emulated on the CPU.
static tsr_status open_devices(tsr_device **devices) {
  tsr_discovery *found = NULL;
  tsr_status status = tsr_discover(&found);
  if (status == TSR_OK) status = tsr_device_open(NULL, &devices[0]);
  for (int b = 0; status == TSR_OK && b < found->backend_count && !devices[1]; b++) {
    const tsr_backend_report *backend = &found->backends[b];
    for (int d = 0; d < backend->device_count && !devices[1]; d++) {
      if (backend->devices[d].is_software || (b == found->best_backend && d == found->best_device)) continue;
      tsr_device_open(&(tsr_device_desc){.backend = backend->name, .index = backend->devices[d].index}, &devices[1]);
    }
  }
  if (status == TSR_OK && !devices[1]) status = tsr_device_open(NULL, &devices[1]);
  tsr_discovery_release(found);
  return status;
}

// --- What is learned -----------------------------------------------------------------------------------------------------------

static tsr_status make_network(tsr_device *device, tsr_params **out_params) {
  const tsr_param_desc tensors[] = {
      {.name = "in", .shape = TSR_SHAPE(HIDDEN, INPUTS), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "in.bias", .shape = TSR_SHAPE(HIDDEN)},
      {.name = "out", .shape = TSR_SHAPE(1, HIDDEN), .init = TSR_INIT_XAVIER_NORMAL},
      {.name = "out.bias", .shape = TSR_SHAPE(1)},
  };
  return tsr_params_create(device, TSR_F32, tensors, sizeof tensors / sizeof tensors[0], 1, out_params);
}

static tsr_tensor *network(tsr_tensor *x, const tsr_params *p) {
  x = tsr_tanh(tsr_linear(x, tsr_params_find(p, "in"), tsr_params_find(p, "in.bias"), NULL));
  return tsr_linear(x, tsr_params_find(p, "out"), tsr_params_find(p, "out.bias"), NULL);
}

// The length of a random vector.
static tsr_tensor *target_of(tsr_tensor *x) { return tsr_sqrt(tsr_sum(tsr_mul(x, x), TSR_AXES(1), true)); }

// --- A half ----------------------------------------------------------------------------------------------------------------------

typedef struct half {
  tsr_device *device;
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *x, *y, *loss;
  tsr_capture *step;
} half;

static tsr_tensor *loss_of_half(void *context) {
  const half *h = context;
  return tsr_mse_loss(network(h->x, h->params), h->y, NULL);
}

static tsr_status run_step(half *h) {
  const step_desc desc = {h->params, h->optim, loss_of_half, h};
  return h->step ? tsr_capture_run(h->step) : step_capture(&desc, &h->loss, &h->step);
}

// Each half has numbers of its own, drawn on its device, and begins with the same parameters.
static tsr_status set_up(half *h, const half *first, uint64_t seed) {
  h->x = tsr_randn(h->device, TSR_F32, TSR_SHAPE(HALF, INPUTS), seed);
  h->y = target_of(h->x);
  tsr_status status = tsr_evaluate(h->y);
  if (status == TSR_OK) {
    status = h == first ? make_network(h->device, &h->params) : tsr_params_to(first->params, h->device, &h->params);
  }
  if (status == TSR_OK) {
    status = tsr_optim_create(h->params, &(tsr_optim_desc){.kind = TSR_SGD, .rate = 0.05}, &h->optim);
  }
  return status;
}

static void release(half *h) {
  tsr_capture_release(h->step);
  tsr_optim_release(h->optim);
  tsr_params_release(h->params);
}

// --- Both ------------------------------------------------------------------------------------------------------------------------

// The mean of both sets, computed on the first device and copied to the second.
static tsr_status average(half *halves) {
  tsr_scope *scope = tsr_scope_begin(NULL);
  tsr_status status = TSR_OK;
  for (int i = 0; i < tsr_params_count(halves[0].params) && status == TSR_OK; i++) {
    tsr_tensor *here = tsr_params_tensor(halves[0].params, i);
    tsr_tensor *there = tsr_to(tsr_params_tensor(halves[1].params, i), halves[0].device);
    status = tsr_assign(here, tsr_mul_scalar(tsr_add(here, there), 0.5));
  }
  if (status == TSR_OK) status = tsr_params_copy(halves[1].params, halves[0].params);
  tsr_scope_end(scope);
  return status;
}

static tsr_status train(half *halves, int steps) {
  tsr_status status = TSR_OK;
  for (int step = 1; step <= steps && status == TSR_OK; step++) {
    for (int i = 0; i < DEVICES && status == TSR_OK; i++) {  // queued on both: neither waits for the other
      status = run_step(&halves[i]);
    }
    if (status == TSR_OK) status = average(halves);
    if (status != TSR_OK || step % (steps / 5 > 0 ? steps / 5 : 1) != 0) continue;
    double losses[DEVICES] = {0};
    for (int i = 0; i < DEVICES && status == TSR_OK; i++) status = tsr_item(halves[i].loss, &losses[i]);
    printf("step %4d  loss %.5f and %.5f\n", step, losses[0], losses[1]);
  }
  return status;
}

int main(int argc, char **argv) {
  tsr_device *devices[DEVICES] = {NULL, NULL};
  half halves[DEVICES] = {0};
  int steps = argc > 1 ? atoi(argv[1]) : 500;
  tsr_status status = open_devices(devices);
  if (status != TSR_OK) return fail();
  printf("training on %s and %s\n", tsr_device_backend(devices[0]), tsr_device_backend(devices[1]));
  tsr_scope *scope = tsr_scope_begin(NULL);
  for (int i = 0; i < DEVICES && status == TSR_OK; i++) {
    halves[i].device = devices[i];
    status = set_up(&halves[i], &halves[0], (uint64_t)i + 2);
  }
  if (status == TSR_OK) status = train(halves, steps);
  for (int i = 0; i < DEVICES; i++) release(&halves[i]);
  tsr_scope_end(scope);
  for (int i = 0; i < DEVICES; i++) tsr_device_release(devices[i]);
  return status == TSR_OK ? 0 : fail();
}
