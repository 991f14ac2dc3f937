// SPDX-License-Identifier: MIT
// Copies that run while the device computes: batch after batch goes in on one queue and out on another, while a third computes. Shown beside the same
// work on one queue, which waits for each step.
//
//   18_overlap [BATCHES]
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <tessera/tessera.h>

enum { ROWS = 2048, COLUMNS = 1024, SLOTS = 2, LAYERS = 4 };
static const size_t bytes = sizeof(float) * ROWS * COLUMNS;

typedef struct slot {
  float *in, *out;  // pinned where the device has that
  tsr_tensor *x;
  tsr_event *read;  // NULL: nothing is on its way
} slot;

static int fail(void) {
  fprintf(stderr, "%s\n", tsr_last_error());
  return 1;
}

static double now(void) {
  struct timespec time;
  timespec_get(&time, TIME_UTC);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static tsr_tensor *compute(tsr_tensor *x, tsr_tensor *weight) {
  for (int i = 0; i < LAYERS; i++) x = tsr_tanh(tsr_matmul(x, weight));
  return x;
}

static void fill(float *batch, int number) {
  for (size_t i = 0; i < bytes / sizeof *batch; i++) batch[i] = (float)((i + (size_t)number) % 7) * 0.1f;
}

static tsr_status one_by_one(slot *s, tsr_tensor *weight, int batches, double *out_sum) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < batches && status == TSR_OK; i++) {
    fill(s->in, i);
    status = tsr_write(s->x, s->in, bytes);
    tsr_scope *scope = tsr_scope_begin(NULL);
    if (status == TSR_OK) status = tsr_read(compute(s->x, weight), s->out, bytes);
    tsr_scope_end(scope);
    *out_sum += (double)s->out[i];
  }
  return status;
}

// Takes what a slot has computed, if anything.
static tsr_status collect(slot *s, int batch, double *out_sum) {
  if (!s->read) return TSR_OK;
  tsr_status status = tsr_event_wait(s->read);
  tsr_event_release(s->read);
  s->read = NULL;
  *out_sum += (double)s->out[batch];
  return status;
}

static tsr_status overlapped(slot *slots, tsr_queue *const *queues, tsr_tensor *weight, int batches, double *out_sum) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < batches + SLOTS && status == TSR_OK; i++) {
    slot *s = &slots[i % SLOTS];
    status = collect(s, i - SLOTS, out_sum);
    if (status != TSR_OK || i >= batches) continue;
    fill(s->in, i);  // the device works on the other slot meanwhile
    status = tsr_write_async(queues[0], s->x, s->in, bytes, NULL);
    tsr_scope *scope = tsr_scope_begin_on(queues[1]);
    if (status == TSR_OK) status = tsr_read_async(queues[2], compute(s->x, weight), s->out, bytes, &s->read);
    tsr_scope_end(scope);
  }
  return status;
}

static tsr_status open_slots(tsr_device *device, slot *slots) {
  tsr_status status = TSR_OK;
  for (int i = 0; i < SLOTS && status == TSR_OK; i++) {
    slots[i] = (slot){.x = tsr_zeros(device, TSR_F32, TSR_SHAPE(ROWS, COLUMNS))};
    status = tsr_error(slots[i].x);
    if (status == TSR_OK) status = tsr_host_alloc(device, bytes, (void **)&slots[i].in);
    if (status == TSR_OK) status = tsr_host_alloc(device, bytes, (void **)&slots[i].out);
  }
  return status;
}

static void close_slots(slot *slots) {
  for (int i = 0; i < SLOTS; i++) {
    tsr_release(slots[i].x);
    tsr_host_free(slots[i].in);
    tsr_host_free(slots[i].out);
  }
}

static tsr_status run(tsr_device *device, int batches) {
  slot slots[SLOTS] = {0};
  tsr_queue *queues[3] = {NULL};
  double sums[2] = {0}, start = 0, times[2] = {0};
  tsr_tensor *weight = tsr_full(device, TSR_F32, TSR_SHAPE(COLUMNS, COLUMNS), 0.001);
  tsr_status status = open_slots(device, slots);
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsr_queue_create(device, &queues[i]);
  if (status == TSR_OK) status = one_by_one(slots, weight, 1, &start);  // kernels are built
  start = now();
  if (status == TSR_OK) status = one_by_one(slots, weight, batches, &sums[0]);
  times[0] = now() - start;
  start = now();
  if (status == TSR_OK) status = overlapped(slots, queues, weight, batches, &sums[1]);
  times[1] = now() - start;
  if (status == TSR_OK) {
    printf("%d batches on %s: one by one %.1f ms, overlapped %.1f ms; results are %s\n", batches,
           tsr_device_backend(device), times[0] * 1e3, times[1] * 1e3, sums[0] == sums[1] ? "the same" : "DIFFERENT");
    if (sums[0] != sums[1]) status = TSR_ERR_INTERNAL;
  }
  close_slots(slots);
  for (int i = 0; i < 3; i++) tsr_queue_release(queues[i]);
  tsr_release(weight);
  return status;
}

int main(int argc, char **argv) {
  tsr_device *device = NULL;
  if (tsr_device_open(NULL, &device) != TSR_OK) return fail();
  tsr_status status = run(device, argc > 1 ? atoi(argv[1]) : 4);
  tsr_device_release(device);
  return status == TSR_OK ? 0 : fail();
}
