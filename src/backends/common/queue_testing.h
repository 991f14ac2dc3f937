// SPDX-License-Identifier: MIT
// Tests that every driver's queue must pass: copies, fills, events and waits. Each function takes an open device with
// one queue and leaves the queue idle.
#ifndef TSRI_COMMON_QUEUE_TESTING_H
#define TSRI_COMMON_QUEUE_TESTING_H

#include "backends/common/fixture_testing.h"

static inline unsigned char *random_bytes(size_t bytes, uint32_t seed) {
  unsigned char *data = malloc(bytes);
  CHECK(data != NULL);
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
  return data;
}

static inline void check_bytes(const fixture *f, tsri_buffer *buffer, const void *wanted, size_t bytes) {
  unsigned char *is = calloc(1, bytes);
  CHECK(is != NULL);
  fixture_read(f, buffer, 0, is, bytes);
  CHECK_BYTES(is, wanted, bytes);
  free(is);
}

// --- Copies and fills -----------------------------------------------------------------------------------------------

// Tests the copies on an idle queue and behind unfinished work, since drivers may copy directly when the queue is
// idle.
static inline void check_bytes_come_back(const fixture *f, size_t bytes) {
  unsigned char *in = random_bytes(bytes, 1), *out = malloc(bytes);
  CHECK(out != NULL);
  tsri_buffer *buffer = fixture_buffer(f, bytes, NULL), *scratch = fixture_buffer(f, 4096, NULL);
  for (int is_busy = 0; is_busy < 2; is_busy++) {
    memset(out, 0, bytes);
    if (is_busy) CHECK_OK(f->backend->fill(f->queue, scratch, 0, 4096, "\1", 1));
    CHECK_OK(f->backend->copy_in(f->queue, buffer, 0, in, bytes));
    if (is_busy) CHECK_OK(f->backend->fill(f->queue, scratch, 0, 4096, "\1", 1));
    CHECK_OK(f->backend->copy_out(f->queue, out, buffer, 0, bytes));
    CHECK_OK(f->backend->queue_wait(f->queue, UINT64_MAX));
    CHECK_BYTES(out, in, bytes);
  }
  f->backend->buffer_destroy(f->device, buffer);
  f->backend->buffer_destroy(f->device, scratch);
  free(in);
  free(out);
}

// Copies `part` to the device and back, waits and compares.
static inline void pass_through_host(const fixture *f, tsri_buffer *buffer, size_t to, const void *part, size_t bytes) {
  unsigned char out[256];
  CHECK(bytes <= sizeof out);
  CHECK_OK(f->backend->copy_in(f->queue, buffer, to, part, bytes));
  CHECK_OK(f->backend->copy_out(f->queue, out, buffer, to, bytes));
  CHECK_OK(f->backend->queue_wait(f->queue, UINT64_MAX));
  CHECK_BYTES(out, part, bytes);
}

// Mixes copies within a buffer, between two buffers, and from and to the host: more of them than one batch of commands
// holds. They must take effect in the order in which they were queued.
static inline void check_copies_keep_their_order(const fixture *f) {
  enum { BYTES = 1000 };
  const tsri_backend *backend = f->backend;
  unsigned char *model = random_bytes(BYTES, 2), *other = random_bytes(BYTES, 3);
  tsri_buffer *buffer = fixture_buffer(f, BYTES, model), *second = fixture_buffer(f, BYTES, other);
  uint32_t seed = 7;
  for (int i = 0; i < 350; i++) {
    seed = seed * 1664525u + 1013904223u;
    size_t bytes = 1 + (seed >> 8) % 200, from = (seed >> 16) % (BYTES - bytes), to = (seed >> 4) % (BYTES - bytes);
    switch (seed >> 28 & 3) {
      case 0:
        if (to < from + bytes && from < to + bytes)
          continue;  // backends never get overlapping copies: the core
                     // handles them
        memcpy(model + to, model + from, bytes);
        CHECK_OK(backend->copy(f->queue, buffer, to, buffer, from, bytes));
        break;
      case 1:
        memcpy(model + to, other + from, bytes);
        CHECK_OK(backend->copy(f->queue, buffer, to, second, from, bytes));
        break;
      case 2:
        memcpy(other + to, model + from, bytes);
        CHECK_OK(backend->copy(f->queue, second, to, buffer, from, bytes));
        break;
      default:
        memcpy(model + to, other + from, bytes);
        pass_through_host(f, buffer, to, other + from, bytes);
    }
  }
  check_bytes(f, buffer, model, BYTES);
  check_bytes(f, second, other, BYTES);
  backend->buffer_destroy(f->device, buffer);
  backend->buffer_destroy(f->device, second);
  free(model);
  free(other);
}

// Fills with patterns of 1, 2, 4 and 8 bytes; one pattern of 8 bytes repeats the same 4 bytes.
static inline void check_fills(const fixture *f) {
  enum { BYTES = 512, APART = 51 };
  static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8}, same[8] = {9, 8, 7, 6, 9, 8, 7, 6};
  unsigned char model[BYTES] = {0};
  tsri_buffer *buffer = fixture_buffer(f, BYTES, model);
  for (size_t size = 1; size <= 8; size *= 2) {
    for (size_t offset = 0; offset < 9; offset++) {
      for (size_t count = 1; count < 6; count++) {
        const unsigned char *p = count & 1 ? pattern : same;
        for (size_t i = 0; i < size * count; i++) model[offset * APART + i] = p[i % size];
        CHECK_OK(f->backend->fill(f->queue, buffer, offset * APART, size * count, p, size));
      }
    }
  }
  check_bytes(f, buffer, model, BYTES);
  f->backend->buffer_destroy(f->device, buffer);
}

// --- Events and waits -----------------------------------------------------------------------------------------------

// The device must be open with profiling. may_lack_times: event_elapsed may return TSR_ERR_UNSUPPORTED.
static inline void check_events(const fixture *f, bool may_lack_times) {
  enum { BYTES = 8 << 20 };
  const tsri_backend *backend = f->backend;
  tsri_event *first = NULL, *last = NULL;
  tsri_buffer *buffer = fixture_buffer(f, BYTES, NULL);
  CHECK_OK(backend->event_create(f->device, &first));
  CHECK_OK(backend->event_create(f->device, &last));
  bool done = false;
  CHECK_OK(backend->event_is_done(f->device, first, &done));
  CHECK(done);
  CHECK_OK(backend->event_record(f->queue, first));
  CHECK_OK(backend->fill(f->queue, buffer, 0, BYTES, "\3", 1));
  CHECK_OK(backend->event_record(f->queue, last));
  CHECK_OK(backend->event_await(f->queue, last));
  for (done = false; !done;) CHECK_OK(backend->event_is_done(f->device, last, &done));
  CHECK_OK(backend->event_is_done(f->device, first, &done));
  CHECK(done);
  uint64_t ns = 0;
  tsr_status status = backend->event_elapsed(f->device, first, last, &ns);
  if (!may_lack_times || status != TSR_ERR_UNSUPPORTED) {
    CHECK_OK(status);
    CHECK(ns > 0 && ns < UINT64_C(60000000000));
  }
  backend->event_destroy(f->device, first);
  backend->event_destroy(f->device, last);
  backend->buffer_destroy(f->device, buffer);
}

// The device must be open without profiling.
static inline void check_times_need_profiling(const fixture *f) {
  const tsri_backend *backend = f->backend;
  tsri_event *event = NULL;
  uint64_t ns = 0;
  bool done = false;
  CHECK_OK(backend->event_create(f->device, &event));
  CHECK_OK(backend->event_record(f->queue, event));
  while (!done) CHECK_OK(backend->event_is_done(f->device, event, &done));
  CHECK_STATUS(backend->event_elapsed(f->device, event, event, &ns), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("profiling");
  backend->event_destroy(f->device, event);
}

// --- Several queues -------------------------------------------------------------------------------------------------

enum { SEAM_QUEUES = 3 };

// Work that is passed from queue to queue, each waiting for the one before by an event, runs in order.
static inline void check_events_order_queues(const fixture *f) {
  enum { BYTES = 1 << 20, ROUNDS = 12 };
  const tsri_backend *backend = f->backend;
  tsri_queue *queues[SEAM_QUEUES];
  tsri_event *events[SEAM_QUEUES];
  tsri_buffer *buffers[2] = {fixture_buffer(f, BYTES, NULL), fixture_buffer(f, BYTES, NULL)};
  unsigned char *in = random_bytes(BYTES, 5), *out = calloc(1, BYTES);
  for (int i = 0; i < SEAM_QUEUES; i++) {
    CHECK_OK(backend->queue_create(f->device, &queues[i]));
    CHECK_OK(backend->event_create(f->device, &events[i]));
  }
  CHECK_OK(backend->copy_in(queues[0], buffers[0], 0, in, BYTES));
  for (int i = 0; i < ROUNDS; i++) {
    int now = i % SEAM_QUEUES, next = (i + 1) % SEAM_QUEUES;
    CHECK_OK(backend->copy(queues[now], buffers[(i + 1) % 2], 0, buffers[i % 2], 0, BYTES));
    CHECK_OK(backend->fill(queues[now], buffers[i % 2], 0, BYTES, "\7", 1));
    CHECK_OK(backend->event_record(queues[now], events[now]));
    CHECK_OK(backend->event_await(queues[next], events[now]));
  }
  CHECK_OK(backend->copy_out(queues[ROUNDS % SEAM_QUEUES], out, buffers[ROUNDS % 2], 0, BYTES));
  CHECK_OK(backend->queue_wait(queues[ROUNDS % SEAM_QUEUES], UINT64_MAX));
  CHECK_BYTES(out, in, BYTES);
  for (int i = 0; i < SEAM_QUEUES; i++) {
    bool is_done = false;
    CHECK_OK(backend->queue_wait(queues[i], UINT64_MAX));
    CHECK_OK(backend->event_is_done(f->device, events[i], &is_done));
    CHECK(is_done);
    backend->event_destroy(f->device, events[i]);
    backend->queue_destroy(queues[i]);
  }
  for (int i = 0; i < 2; i++) backend->buffer_destroy(f->device, buffers[i]);
  free(in);
  free(out);
}

// Recording an event again does not change what queues wait for that have awaited it before.
static inline void check_awaited_events_may_be_recorded_again(const fixture *f) {
  enum { BYTES = 1 << 16 };
  const tsri_backend *backend = f->backend;
  tsri_queue *first = NULL, *second = NULL;
  tsri_event *event = NULL;
  unsigned char *in = random_bytes(BYTES, 6), *out = calloc(1, BYTES);
  tsri_buffer *buffer = fixture_buffer(f, BYTES, NULL);
  CHECK_OK(backend->queue_create(f->device, &first));
  CHECK_OK(backend->queue_create(f->device, &second));
  CHECK_OK(backend->event_create(f->device, &event));
  CHECK_OK(backend->copy_in(first, buffer, 0, in, BYTES));
  CHECK_OK(backend->event_record(first, event));
  CHECK_OK(backend->event_await(second, event));
  CHECK_OK(backend->copy_out(second, out, buffer, 0, BYTES));
  CHECK_OK(backend->event_record(second, event));
  CHECK_OK(backend->event_await(first, event));
  CHECK_OK(backend->fill(first, buffer, 0, BYTES, "\0", 1));
  CHECK_OK(backend->event_record(first, event));
  CHECK_OK(backend->queue_wait(second, UINT64_MAX));
  CHECK_BYTES(out, in, BYTES);
  CHECK_OK(backend->queue_wait(first, UINT64_MAX));
  backend->event_destroy(f->device, event);
  backend->queue_destroy(first);
  backend->queue_destroy(second);
  backend->buffer_destroy(f->device, buffer);
  free(in);
  free(out);
}

// An event may be recorded again on another queue, while the first one has not got to it: then it means the other queue's work alone.
static inline void check_events_move_between_queues(const fixture *f) {
  enum { BYTES = 8 << 20, ROUNDS = 8 };
  const tsri_backend *backend = f->backend;
  tsri_queue *queues[SEAM_QUEUES];
  tsri_event *event = NULL;
  unsigned char out[4] = {0};
  tsri_buffer *large = fixture_buffer(f, BYTES, NULL), *small = fixture_buffer(f, sizeof out, NULL);
  for (int i = 0; i < SEAM_QUEUES; i++) CHECK_OK(backend->queue_create(f->device, &queues[i]));
  CHECK_OK(backend->event_create(f->device, &event));
  for (unsigned char round = 1; round <= ROUNDS; round++) {
    CHECK_OK(backend->fill(queues[0], large, 0, BYTES, &round, 1));
    CHECK_OK(backend->event_record(queues[0], event));
    CHECK_OK(backend->fill(queues[1], small, 0, sizeof out, &round, 1));
    CHECK_OK(backend->event_record(queues[1], event));
    CHECK_OK(backend->queue_wait(queues[0], UINT64_MAX));
    CHECK_OK(backend->event_await(queues[2], event));
    CHECK_OK(backend->copy_out(queues[2], out, small, 0, sizeof out));
    CHECK_OK(backend->queue_wait(queues[2], UINT64_C(20000000000)));
    CHECK_EQ_INT(out[3], round);
    CHECK_OK(backend->queue_wait(queues[1], UINT64_MAX));
  }
  backend->event_destroy(f->device, event);
  for (int i = 0; i < SEAM_QUEUES; i++) backend->queue_destroy(queues[i]);
  backend->buffer_destroy(f->device, large);
  backend->buffer_destroy(f->device, small);
}

// With reads_directly, or into pinned memory, a copy to the host has arrived when an event after it has happened.
static inline void check_host_memory(const fixture *f) {
  enum { BYTES = 100 * 1000 };
  const tsri_backend *backend = f->backend;
  unsigned char *in = random_bytes(BYTES, 7);
  void *memory = NULL;
  tsri_event *event = NULL;
  tsri_buffer *buffer = fixture_buffer(f, BYTES, in);
  bool is_pinned = backend->host_alloc != NULL, is_done = false;
  if (is_pinned) CHECK_OK(backend->host_alloc(f->device, BYTES, &memory));
  else memory = malloc(BYTES);
  memset(memory, 1, BYTES);
  CHECK_OK(backend->event_create(f->device, &event));
  for (size_t bytes = 4; bytes <= BYTES; bytes *= 25) {
    CHECK_OK(backend->copy_out(f->queue, memory, buffer, 0, bytes));
    CHECK_OK(backend->event_record(f->queue, event));
    for (is_done = false; !is_done;) CHECK_OK(backend->event_is_done(f->device, event, &is_done));
    if (!is_pinned && !f->limits.reads_directly) CHECK_OK(backend->queue_wait(f->queue, UINT64_MAX));
    CHECK_BYTES(memory, in, bytes);
  }
  memset(memory, 2, BYTES);
  CHECK_OK(backend->copy_in(f->queue, buffer, 0, memory, BYTES));
  CHECK_OK(backend->queue_wait(f->queue, UINT64_MAX));
  check_bytes(f, buffer, memory, BYTES);
  backend->event_destroy(f->device, event);
  backend->buffer_destroy(f->device, buffer);
  if (is_pinned) backend->host_free(f->device, memory);
  else free(memory);
  free(in);
}

// The tests of several queues, for a backend whose fixture.h is included.
#define SEAM_TESTS_OF_QUEUES                            \
  TEST(events_order_queues_on_several_threads) {        \
    fixture f = fixture_open();                         \
    check_events_order_queues(&f);                      \
    fixture_close(&f);                                  \
  }                                                     \
  TEST(awaited_events_may_be_recorded_again) {          \
    fixture f = fixture_open();                         \
    check_awaited_events_may_be_recorded_again(&f);     \
    fixture_close(&f);                                  \
  }                                                     \
  TEST(events_move_between_queues) {                    \
    fixture f = fixture_open();                         \
    check_events_move_between_queues(&f);               \
    fixture_close(&f);                                  \
  }                                                     \
  TEST(copies_to_host_memory_arrive_with_their_event) { \
    fixture f = fixture_open();                         \
    check_host_memory(&f);                              \
    fixture_close(&f);                                  \
  }

static const char slow_kernel[] __attribute__((unused)) =
    "kernel spin(inout u32 x[], u32 rounds) {\n"
    "  u32 v = x[global.x];\n"
    "  for (u32 i = 0; i < rounds; i++) v = v * 1664525 + 1013904223;\n"
    "  x[global.x] = v;\n"
    "}\n";

// Checks the result of slow_kernel, which was launched on `count` zeros in `buffer`.
static inline void check_slow_work(const fixture *f, tsri_buffer *buffer, uint32_t count, uint32_t rounds) {
  uint32_t *out = calloc(count, sizeof *out), wanted = 0;
  CHECK(out != NULL);
  CHECK_OK(f->backend->copy_out(f->queue, out, buffer, 0, count * sizeof *out));
  tsr_status status = f->backend->queue_wait(f->queue, 1000);
  if (status != TSR_OK) {  // a fast device may have finished already
    CHECK_STATUS(status, TSR_ERR_TIMEOUT);
    CHECK_LAST_ERROR_HAS("did not finish");
  }
  CHECK_OK(f->backend->queue_wait(f->queue, UINT64_MAX));
  for (uint32_t i = 0; i < rounds; i++) wanted = wanted * 1664525u + 1013904223u;
  for (uint32_t i = 0; i < count; i++) CHECK_EQ_UINT(out[i], wanted);
  free(out);
}

#endif
