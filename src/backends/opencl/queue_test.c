// SPDX-License-Identifier: MIT
// Tests of copies, fills, waits and events without the core. tests/conformance also tests copies and unaligned fills
// on every device; here are the sizes at which this backend switches from one method to another.
#include "backends/common/queue_testing.h"
#include "backends/opencl/fixture.h"

#if TSRI_HAS_OPENCL

#include <pthread.h>

SEAM_TESTS_OF_QUEUES

TEST(fills_begin_and_end_anywhere) {
  enum { BYTES = 256 };
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL);
  const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (size_t width = 1; width <= 8; width *= 2) {
    for (size_t offset = 0; offset < 18; offset++) {
      size_t bytes = (BYTES - 20 - offset * 7) / width * width;
      unsigned char wanted[BYTES], back[BYTES];
      memset(wanted, 0xEE, BYTES);
      fixture_write(&f, buffer, 0, wanted, BYTES);
      CHECK_OK(f.backend->fill(f.queue, buffer, offset, bytes, pattern, width));
      for (size_t i = 0; i < bytes; i++) wanted[offset + i] = pattern[i % width];
      fixture_read(&f, buffer, 0, back, BYTES);
      CHECK_BYTES(back, wanted, BYTES);
    }
  }
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

static cl_int(CL_API_CALL *real_release)(cl_mem memory);
static opencl_part released[8];
static int release_count;
static opencl_part expected[3];

static cl_int CL_API_CALL note_release(cl_mem memory) {
  for (int i = 0; i < 3; i++) {
    if (expected[i].memory == memory) released[release_count++] = expected[i];
  }
  return real_release(memory);
}

// NVIDIA's driver crashes otherwise (see buffer.c).
TEST(of_parts_that_overlap_the_one_that_begins_last_goes_first) {
  static const size_t offsets[3] = {8192, 24576, 16384};
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, 32768, NULL);
  for (int i = 0; i < 3; i++) {
    expected[i].offset = offsets[i];
    CHECK_OK(tsri_opencl_bind((opencl_device *)f.device, (opencl_buffer *)buffer, offsets[i], &expected[i].memory));
  }
  real_release = tsri_cl.ReleaseMemObject;
  tsri_cl.ReleaseMemObject = note_release;
  release_count = 0;
  f.backend->buffer_destroy(f.device, buffer);
  tsri_cl.ReleaseMemObject = real_release;
  CHECK_EQ_INT(release_count, 3);
  for (int i = 0; i < 3; i++) CHECK_EQ_UINT(released[i].offset, 24576 - (size_t)i * 8192);
  fixture_close(&f);
}

static void check_fill_at(const fixture *f, size_t buffer_bytes, size_t offset) {
  unsigned char wanted[128], back[128];
  const uint32_t pattern = 0x01020304, other = 0xEEEEEEEE;
  tsri_buffer *buffer = fixture_buffer(f, buffer_bytes, NULL);
  memset(wanted, 0xEE, sizeof wanted);
  CHECK_OK(f->backend->fill(f->queue, buffer, offset - 8, sizeof wanted, &other, 4));
  CHECK_OK(f->backend->fill(f->queue, buffer, offset, 100, &pattern, 4));
  for (size_t i = 0; i < 100; i += 4) memcpy(wanted + 8 + i, &pattern, 4);
  fixture_read(f, buffer, offset - 8, back, sizeof back);
  CHECK_BYTES(back, wanted, sizeof back);
  f->backend->buffer_destroy(f->device, buffer);
}

TEST(fills_cross_from_one_gibibyte_to_the_next) {
  fixture f = fixture_open();
  size_t gib = (size_t)1 << 30;
  if (f.limits.max_buffer_bytes < gib + 4096) SKIP("the device has no buffers above 1 GiB");
  check_fill_at(&f, gib + 4096, gib - 51);
  fixture_close(&f);
}

TEST(fills_reach_beyond_four_gibibytes) {
  fixture f = fixture_open();
  size_t gib = (size_t)1 << 30;
  if (f.limits.max_buffer_bytes < 5 * gib) SKIP("the device has no buffers of 5 GiB");
  check_fill_at(&f, 5 * gib, 4 * gib - 51);
  check_fill_at(&f, 5 * gib, 5 * gib - 123);
  const unsigned char byte = 7;
  tsri_buffer *buffer = fixture_buffer(&f, 5 * gib, NULL);
  unsigned char ends[2] = {0, 0};
  CHECK_OK(f.backend->fill(f.queue, buffer, 1, 5 * gib - 2, &byte, 1));
  fixture_read(&f, buffer, 1, &ends[0], 1);
  fixture_read(&f, buffer, 5 * gib - 2, &ends[1], 1);
  CHECK(ends[0] == 7 && ends[1] == 7);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

// --- Waiting --------------------------------------------------------------------------------------------------------

// A kernel that runs long enough to be observed while running: each item changes a number many times.
static const char slow_text[] =
    "typedef struct { uint rounds, start; } params;\n"
    "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void slow(__global uint *out, params p) {\n"
    "  uint x = p.start + (uint)get_global_id(0);\n"
    "  for (uint i = 0; i < p.rounds; i++) x = x * 1664525u + 1013904223u + (x >> 16);\n"
    "  out[get_global_id(0)] = x;\n"
    "}\n";

static uint32_t slow_result(uint32_t rounds, uint32_t start) {
  uint32_t x = start;
  for (uint32_t i = 0; i < rounds; i++) x = x * 1664525u + 1013904223u + (x >> 16);
  return x;
}

static void launch_slow(const fixture *f, tsri_queue *queue, tsri_program *program, tsri_buffer *buffer,
                        uint32_t rounds, uint32_t start) {
  uint32_t params[2] = {rounds, start};
  tsri_binding binding = {.buffer = buffer, .bytes = 256, .is_written = true};
  tsri_launch launch = {.groups = {1, 1, 1}, .buffer_count = 1, .buffers = &binding, .params = params};
  CHECK_OK(f->backend->launch(queue, program, &launch));
}

TEST(a_wait_that_times_out_leaves_the_work_running) {
  enum { ROUNDS = 20 * 1000 * 1000 };
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("slow", slow_text, 1, 8, ""));
  tsri_buffer *buffer = fixture_buffer(&f, 256, NULL);
  launch_slow(&f, f.queue, program, buffer, 1, 0);  // the driver may compile at the first launch
  CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  launch_slow(&f, f.queue, program, buffer, ROUNDS, 5);
  CHECK_STATUS(f.backend->queue_wait(f.queue, 0), TSR_ERR_TIMEOUT);
  CHECK_STATUS(f.backend->queue_wait(f.queue, 1000 * 1000), TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("within 1.000 ms");
  CHECK_OK(f.backend->queue_wait(f.queue, UINT64_C(60) * 1000 * 1000 * 1000));
  uint32_t back[64];
  fixture_read(&f, buffer, 0, back, sizeof back);
  CHECK_EQ_UINT(back[3], slow_result(ROUNDS, 8));
  CHECK_OK(f.backend->queue_wait(f.queue, 0));  // nothing is queued, so even a time-out of 0 suffices
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

// --- Events ---------------------------------------------------------------------------------------------------------

TEST(events_happen_and_order_two_queues) {
  enum { ROUNDS = 3 * 1000 * 1000 };
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("slow", slow_text, 1, 8, ""));
  tsri_buffer *buffer = fixture_buffer(&f, 256, NULL);
  tsri_queue *other = NULL;
  tsri_event *event = NULL;
  bool is_done = false;
  CHECK_OK(f.backend->queue_create(f.device, &other));
  CHECK_OK(f.backend->event_create(f.device, &event));
  CHECK_OK(f.backend->event_is_done(f.device, event, &is_done));
  CHECK(is_done);                                    // an event that was never recorded counts as done
  CHECK_OK(f.backend->event_await(f.queue, event));  // awaiting it does nothing
  for (uint32_t round = 0; round < 3; round++) {
    uint32_t back[64] = {0};
    launch_slow(&f, f.queue, program, buffer, ROUNDS, round);
    CHECK_OK(f.backend->event_record(f.queue, event));
    CHECK_OK(f.backend->event_await(other, event));
    CHECK_OK(f.backend->copy_out(other, back, buffer, 0, sizeof back));
    CHECK_OK(f.backend->queue_wait(other, UINT64_MAX));
    CHECK_EQ_UINT(back[0], slow_result(ROUNDS, round));
    CHECK_OK(f.backend->event_is_done(f.device, event, &is_done));
    CHECK(is_done);
  }
  uint64_t ns = 0;
  CHECK_STATUS(f.backend->event_elapsed(f.device, event, event, &ns), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("profiling");
  CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  f.backend->event_destroy(f.device, event);
  f.backend->queue_destroy(other);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

TEST(events_of_a_profiled_device_carry_times) {
  fixture f = fixture_open_with(&(tsri_open_options){.profiling = true});
  tsri_program *program = fixture_build(&f, fixture_code("slow", slow_text, 1, 8, ""));
  tsri_buffer *buffer = fixture_buffer(&f, 256, NULL);
  tsri_event *events[3];
  uint64_t first = 0, both = 0;
  for (int i = 0; i < 3; i++) CHECK_OK(f.backend->event_create(f.device, &events[i]));
  CHECK_STATUS(f.backend->event_elapsed(f.device, events[0], events[1], &first), TSR_ERR_INVALID_ARGUMENT);
  launch_slow(&f, f.queue, program, buffer, 1, 0);
  for (int i = 0; i < 3; i++) {
    CHECK_OK(f.backend->event_record(f.queue, events[i]));
    launch_slow(&f, f.queue, program, buffer, 2000 * 1000, 0);
  }
  CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  CHECK_OK(f.backend->event_elapsed(f.device, events[0], events[1], &first));
  CHECK_OK(f.backend->event_elapsed(f.device, events[0], events[2], &both));
  CHECK(first > 100 * 1000);  // two million rounds take longer than 0.1 ms
  CHECK(both > first + 100 * 1000);
  for (int i = 0; i < 3; i++) f.backend->event_destroy(f.device, events[i]);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

// --- Threads --------------------------------------------------------------------------------------------------------

enum { THREADS = 4, LAUNCHES = 50 };

typedef struct worker {
  const fixture *f;
  tsri_program *program;  // shared by all threads
  tsri_buffer *buffer;    // shared by all threads; each uses its own part
  uint32_t number;
  bool is_good;
} worker;

static void *work(void *user) {
  worker *task = user;
  const tsri_backend *cl = task->f->backend;
  size_t offset = task->number * task->f->limits.buffer_alignment * 2;
  tsri_queue *queue = NULL;
  task->is_good = cl->queue_create(task->f->device, &queue) == TSR_OK;
  for (uint32_t i = 0; i < LAUNCHES && task->is_good; i++) {
    uint32_t params[2] = {3, task->number * 1000 + i}, back[64];
    tsri_binding binding = {.buffer = task->buffer, .offset = offset, .bytes = 256, .is_written = true};
    tsri_launch launch = {.groups = {1, 1, 1}, .buffer_count = 1, .buffers = &binding, .params = params};
    task->is_good = cl->launch(queue, task->program, &launch) == TSR_OK &&
                    cl->copy_out(queue, back, task->buffer, offset, sizeof back) == TSR_OK &&
                    cl->queue_wait(queue, UINT64_MAX) == TSR_OK && back[63] == slow_result(3, params[1] + 63);
  }
  if (queue) cl->queue_destroy(queue);
  return NULL;
}

TEST(threads_with_queues_of_their_own_share_a_program) {
  fixture f = fixture_open();
  tsri_program *program = fixture_build(&f, fixture_code("slow", slow_text, 1, 8, ""));
  tsri_buffer *buffer = fixture_buffer(&f, THREADS * 2 * f.limits.buffer_alignment + 256, NULL);
  pthread_t threads[THREADS];
  worker workers[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.f = &f, .program = program, .buffer = buffer, .number = i};
    CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(workers[i].is_good);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->program_destroy(f.device, program);
  fixture_close(&f);
}

#endif
