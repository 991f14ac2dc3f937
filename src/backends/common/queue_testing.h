// SPDX-License-Identifier: MIT
// Copies, fills, events and waits that every driver's queue must get right: tests for the drivers of devices. Each takes an
// open device with one queue and leaves it idle.
#ifndef TSRI_COMMON_QUEUE_TESTING_H
#define TSRI_COMMON_QUEUE_TESTING_H

#include <stdlib.h>

#include "backends/backend.h"
#include "support/test.h"

typedef struct seam {
  const tsri_backend *backend;
  tsri_device *device;
  tsri_queue *queue;
} seam;

static inline unsigned char *random_bytes(size_t bytes, uint32_t seed) {
  unsigned char *data = malloc(bytes);
  CHECK(data != NULL);
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
  return data;
}

static inline tsri_buffer *seam_buffer(const seam *s, size_t bytes, const void *data) {
  tsri_buffer *buffer = NULL;
  CHECK_OK(s->backend->buffer_create(s->device, bytes, &buffer));
  if (data) {
    CHECK_OK(s->backend->copy_in(s->queue, buffer, 0, data, bytes));
    CHECK_OK(s->backend->queue_wait(s->queue, UINT64_MAX));
  }
  return buffer;
}

static inline void seam_check_bytes(const seam *s, tsri_buffer *buffer, const void *wanted, size_t bytes) {
  unsigned char *is = calloc(1, bytes);
  CHECK(is != NULL);
  CHECK_OK(s->backend->copy_out(s->queue, is, buffer, 0, bytes));
  CHECK_OK(s->backend->queue_wait(s->queue, UINT64_MAX));
  CHECK_BYTES(is, wanted, bytes);
  free(is);
}

// --- Copies and fills -----------------------------------------------------------------------------------------------

// On an idle queue, and behind work that is not done yet, so that bytes go the way of queued commands.
static inline void check_bytes_come_back(const seam *s, size_t bytes) {
  unsigned char *in = random_bytes(bytes, 1), *out = malloc(bytes);
  CHECK(out != NULL);
  tsri_buffer *buffer = seam_buffer(s, bytes, NULL), *scratch = seam_buffer(s, 4096, NULL);
  for (int is_busy = 0; is_busy < 2; is_busy++) {
    memset(out, 0, bytes);
    if (is_busy) CHECK_OK(s->backend->fill(s->queue, scratch, 0, 4096, "\1", 1));
    CHECK_OK(s->backend->copy_in(s->queue, buffer, 0, in, bytes));
    if (is_busy) CHECK_OK(s->backend->fill(s->queue, scratch, 0, 4096, "\1", 1));
    CHECK_OK(s->backend->copy_out(s->queue, out, buffer, 0, bytes));
    CHECK_OK(s->backend->queue_wait(s->queue, UINT64_MAX));
    CHECK_BYTES(out, in, bytes);
  }
  s->backend->buffer_destroy(s->device, buffer);
  s->backend->buffer_destroy(s->device, scratch);
  free(in);
  free(out);
}

// There and back by the host, with a wait.
static inline void pass_through_host(const seam *s, tsri_buffer *buffer, size_t to, const void *part, size_t bytes) {
  unsigned char out[256];
  CHECK(bytes <= sizeof out);
  CHECK_OK(s->backend->copy_in(s->queue, buffer, to, part, bytes));
  CHECK_OK(s->backend->copy_out(s->queue, out, buffer, to, bytes));
  CHECK_OK(s->backend->queue_wait(s->queue, UINT64_MAX));
  CHECK_BYTES(out, part, bytes);
}

// Copies within one buffer, between two, from and to the host, in one order; more of them than a batch holds.
static inline void check_copies_keep_their_order(const seam *s) {
  enum { BYTES = 1000 };
  const tsri_backend *backend = s->backend;
  unsigned char *model = random_bytes(BYTES, 2), *other = random_bytes(BYTES, 3);
  tsri_buffer *buffer = seam_buffer(s, BYTES, model), *second = seam_buffer(s, BYTES, other);
  uint32_t seed = 7;
  for (int i = 0; i < 350; i++) {
    seed = seed * 1664525u + 1013904223u;
    size_t bytes = 1 + (seed >> 8) % 200, from = (seed >> 16) % (BYTES - bytes), to = (seed >> 4) % (BYTES - bytes);
    switch (seed >> 28 & 3) {
      case 0:
        if (to < from + bytes && from < to + bytes) continue;  // the core's business
        memcpy(model + to, model + from, bytes);
        CHECK_OK(backend->copy(s->queue, buffer, to, buffer, from, bytes));
        break;
      case 1:
        memcpy(model + to, other + from, bytes);
        CHECK_OK(backend->copy(s->queue, buffer, to, second, from, bytes));
        break;
      case 2:
        memcpy(other + to, model + from, bytes);
        CHECK_OK(backend->copy(s->queue, second, to, buffer, from, bytes));
        break;
      default:
        memcpy(model + to, other + from, bytes);
        pass_through_host(s, buffer, to, other + from, bytes);
    }
  }
  seam_check_bytes(s, buffer, model, BYTES);
  seam_check_bytes(s, second, other, BYTES);
  backend->buffer_destroy(s->device, buffer);
  backend->buffer_destroy(s->device, second);
  free(model);
  free(other);
}

// Patterns of 1 to 8 bytes, among them one of 8 that is twice the same word.
static inline void check_fills(const seam *s) {
  enum { BYTES = 512, APART = 51 };
  static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8}, same[8] = {9, 8, 7, 6, 9, 8, 7, 6};
  unsigned char model[BYTES] = {0};
  tsri_buffer *buffer = seam_buffer(s, BYTES, model);
  for (size_t size = 1; size <= 8; size *= 2) {
    for (size_t offset = 0; offset < 9; offset++) {
      for (size_t count = 1; count < 6; count++) {
        const unsigned char *p = count & 1 ? pattern : same;
        for (size_t i = 0; i < size * count; i++) model[offset * APART + i] = p[i % size];
        CHECK_OK(s->backend->fill(s->queue, buffer, offset * APART, size * count, p, size));
      }
    }
  }
  seam_check_bytes(s, buffer, model, BYTES);
  s->backend->buffer_destroy(s->device, buffer);
}

// --- Events and waits -----------------------------------------------------------------------------------------------

// The device was opened with profiling. TSR_ERR_UNSUPPORTED is an answer where `may_lack_times`.
static inline void check_events(const seam *s, bool may_lack_times) {
  enum { BYTES = 8 << 20 };
  const tsri_backend *backend = s->backend;
  tsri_event *first = NULL, *last = NULL;
  tsri_buffer *buffer = seam_buffer(s, BYTES, NULL);
  CHECK_OK(backend->event_create(s->device, &first));
  CHECK_OK(backend->event_create(s->device, &last));
  bool done = false;
  CHECK_OK(backend->event_is_done(s->device, first, &done));
  CHECK(done);
  CHECK_OK(backend->event_record(s->queue, first));
  CHECK_OK(backend->fill(s->queue, buffer, 0, BYTES, "\3", 1));
  CHECK_OK(backend->event_record(s->queue, last));
  CHECK_OK(backend->event_await(s->queue, last));
  for (done = false; !done;) CHECK_OK(backend->event_is_done(s->device, last, &done));
  CHECK_OK(backend->event_is_done(s->device, first, &done));
  CHECK(done);
  uint64_t ns = 0;
  tsr_status status = backend->event_elapsed(s->device, first, last, &ns);
  if (!may_lack_times || status != TSR_ERR_UNSUPPORTED) {
    CHECK_OK(status);
    CHECK(ns > 0 && ns < UINT64_C(60000000000));
  }
  backend->event_destroy(s->device, first);
  backend->event_destroy(s->device, last);
  backend->buffer_destroy(s->device, buffer);
}

// The device was opened without.
static inline void check_times_need_profiling(const seam *s) {
  const tsri_backend *backend = s->backend;
  tsri_event *event = NULL;
  uint64_t ns = 0;
  bool done = false;
  CHECK_OK(backend->event_create(s->device, &event));
  CHECK_OK(backend->event_record(s->queue, event));
  while (!done) CHECK_OK(backend->event_is_done(s->device, event, &done));
  CHECK_STATUS(backend->event_elapsed(s->device, event, event, &ns), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("profiling");
  backend->event_destroy(s->device, event);
}

static const char slow_kernel[] __attribute__((unused)) =
    "kernel spin(inout u32 x[], u32 rounds) {\n"
    "  u32 v = x[global.x];\n"
    "  for (u32 i = 0; i < rounds; i++) v = v * 1664525 + 1013904223;\n"
    "  x[global.x] = v;\n"
    "}\n";

// slow_kernel was launched on `count` zeros in `buffer`.
static inline void check_slow_work(const seam *s, tsri_buffer *buffer, uint32_t count, uint32_t rounds) {
  uint32_t *out = calloc(count, sizeof *out), wanted = 0;
  CHECK(out != NULL);
  CHECK_OK(s->backend->copy_out(s->queue, out, buffer, 0, count * sizeof *out));
  tsr_status status = s->backend->queue_wait(s->queue, 1000);
  if (status != TSR_OK) {  // a device may be that quick
    CHECK_STATUS(status, TSR_ERR_TIMEOUT);
    CHECK_LAST_ERROR_HAS("did not finish");
  }
  CHECK_OK(s->backend->queue_wait(s->queue, UINT64_MAX));
  for (uint32_t i = 0; i < rounds; i++) wanted = wanted * 1664525u + 1013904223u;
  for (uint32_t i = 0; i < count; i++) CHECK_EQ_UINT(out[i], wanted);
  free(out);
}

#endif
