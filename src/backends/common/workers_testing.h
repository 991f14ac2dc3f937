// SPDX-License-Identifier: MIT
// A test for drivers: two threads, each with its own queue, fill, copy, write and read on one device at the same time.
#ifndef TSRI_COMMON_WORKERS_TESTING_H
#define TSRI_COMMON_WORKERS_TESTING_H

#include <pthread.h>

#include "backends/backend.h"
#include "support/test.h"

typedef struct worker {
  const tsri_backend *backend;
  tsri_device *device;
  unsigned char seed;
  tsr_status status;
  int wrong;
} worker;

enum { WORKER_BYTES = 30000, WORKER_ROUNDS = 60 };

static tsr_status work_once(worker *w, tsri_queue *queue, tsri_buffer *a, tsri_buffer *b, unsigned char value) {
  const tsri_backend *backend = w->backend;
  unsigned char out[WORKER_BYTES];
  tsr_status status = backend->fill(queue, a, 0, WORKER_BYTES, &value, 1);
  if (status == TSR_OK) status = backend->copy(queue, b, 1, a, 0, WORKER_BYTES - 1);
  if (status == TSR_OK) status = backend->copy_in(queue, b, 0, "x", 1);
  if (status == TSR_OK) status = backend->copy_out(queue, out, b, 0, WORKER_BYTES);
  if (status == TSR_OK) status = backend->queue_wait(queue, UINT64_MAX);
  if (status != TSR_OK) return status;
  w->wrong += out[0] != 'x';
  for (int i = 1; i < WORKER_BYTES; i++) w->wrong += out[i] != value;
  return TSR_OK;
}

static void *work(void *user) {
  worker *w = user;
  const tsri_backend *backend = w->backend;
  tsri_queue *queue = NULL;
  tsri_buffer *a = NULL, *b = NULL;
  w->status = backend->queue_create(w->device, &queue);
  if (w->status == TSR_OK) w->status = backend->buffer_create(w->device, WORKER_BYTES, &a);
  if (w->status == TSR_OK) w->status = backend->buffer_create(w->device, WORKER_BYTES, &b);
  for (int i = 0; i < WORKER_ROUNDS && w->status == TSR_OK; i++) {
    w->status = work_once(w, queue, a, b, (unsigned char)(w->seed + i));
  }
  if (a) backend->buffer_destroy(w->device, a);
  if (b) backend->buffer_destroy(w->device, b);
  if (queue) backend->queue_destroy(queue);
  return NULL;
}

static inline void check_two_workers(const tsri_backend *backend, tsri_device *device) {
  worker workers[2] = {{.backend = backend, .device = device, .seed = 1},
                       {.backend = backend, .device = device, .seed = 100}};
  pthread_t threads[2];
  for (int i = 0; i < 2; i++) CHECK_EQ_INT(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  for (int i = 0; i < 2; i++) CHECK_EQ_INT(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < 2; i++) {
    CHECK_OK(workers[i].status);
    CHECK_EQ_INT(workers[i].wrong, 0);
  }
}

#endif
