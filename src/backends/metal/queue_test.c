// SPDX-License-Identifier: MIT
// Tests of copies, fills, events, waits and threads of the Metal backend.
#include <stdlib.h>

#include "backends/metal/fixture.h"

#define SEAM_COPY_BYTES     METAL_STAGED_BYTES + 13
#define SEAM_SLOW_GROUPS    16
#define SEAM_SLOW_ROUNDS    20000
#define SEAM_MAY_LACK_TIMES false
#include "backends/common/seam_tests.inc"

TEST(bytes_come_back_from_private_memory) {
  standin_metal *switches = fixture_switches();
  if (!switches) SKIP("which memory a real GPU has is not a test's choice");
  switches->discrete = 1;
  fixture f = fixture_open();
  check_bytes_come_back(&f, METAL_STAGED_BYTES + 13);
  tsri_buffer *large = fixture_buffer(&f, 1 << 20, NULL), *small = fixture_buffer(&f, 256, NULL);
  CHECK(!f.backend->buffer_host(f.device, large));
  CHECK(f.backend->buffer_host(f.device, small) != NULL);
  CHECK_EQ_UINT(f.limits.subgroup_size, 0);
  CHECK_EQ_UINT(f.limits.fragment_count, 0);
  f.backend->buffer_destroy(f.device, large);
  f.backend->buffer_destroy(f.device, small);
  fixture_close(&f);
  switches->discrete = 0;
}

// The stand-in runs the newest queue first unless an event says otherwise.
TEST(an_event_orders_two_queues) {
  fixture f = fixture_open();
  tsri_queue *second = NULL;
  tsri_event *event = NULL;
  tsri_buffer *buffer = fixture_buffer(&f, 4096, NULL);
  CHECK_OK(f.backend->queue_create(f.device, &second));
  CHECK_OK(f.backend->event_create(f.device, &event));
  for (unsigned char round = 0; round < 20; round++) {
    unsigned char out[4096], one = 1;
    CHECK_OK(f.backend->fill(f.queue, buffer, 0, 4096, &round, 1));
    CHECK_OK(f.backend->event_record(f.queue, event));
    CHECK_OK(f.backend->event_await(second, event));
    CHECK_OK(f.backend->fill(second, buffer, 1, 1, &one, 1));
    CHECK_OK(f.backend->copy_out(second, out, buffer, 0, 4096));
    CHECK_OK(f.backend->queue_wait(second, UINT64_MAX));
    CHECK_EQ_UINT(out[0], round);
    CHECK_EQ_UINT(out[1], 1);
    CHECK_EQ_UINT(out[4095], round);
    CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  }
  f.backend->event_destroy(f.device, event);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->queue_destroy(second);
  fixture_close(&f);
}

TEST(command_buffers_are_batches) {
  standin_metal *switches = fixture_switches();
  if (!switches) SKIP("a real GPU does not count command buffers");
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, 4096, NULL);
  switches->slow = 20000;  // so that the GPU is busy
  int before = switches->command_buffers;
  for (uint32_t i = 0; i < 64; i++) CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, &i, 4));
  fixture_wait(&f);
  CHECK(switches->command_buffers - before <= 64 / 8 + 1);
  switches->slow = 0;
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(host_memory_of_whole_pages_is_used_in_place) {
  fixture f = fixture_open();
  enum { PAGE = 16384 };
  unsigned char *memory = aligned_alloc(PAGE, PAGE);
  tsri_buffer *buffer = NULL;
  CHECK(memory != NULL);
  CHECK_STATUS(f.backend->buffer_import(f.device, memory, PAGE - 4, &buffer), TSR_ERR_UNSUPPORTED);
  CHECK_OK(f.backend->buffer_import(f.device, memory, PAGE, &buffer));
  CHECK(f.backend->buffer_host(f.device, buffer) == memory);
  CHECK_OK(f.backend->fill(f.queue, buffer, 3, 5, "\7", 1));
  fixture_wait(&f);
  CHECK_EQ_UINT(memory[3], 7);
  CHECK_EQ_UINT(memory[7], 7);
  f.backend->buffer_destroy(f.device, buffer);
  free(memory);
  fixture_close(&f);
}

// --- Failures -------------------------------------------------------------------------------------------------------------

static standin_metal *switches_or_skip(void) {
  standin_metal *switches = fixture_switches();
  if (!switches) SKIP("a real GPU does not fail on purpose");
  return switches;
}

TEST(memory_that_metal_does_not_give_is_a_status) {
  standin_metal *switches = switches_or_skip();
  fixture f = fixture_open();
  tsri_buffer *buffer = NULL;
  switches->oom = 1;
  CHECK_STATUS(f.backend->buffer_create(f.device, 4096, &buffer), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("4096 bytes");
  CHECK_STATUS(f.backend->buffer_create(f.device, switches->memory, &buffer), TSR_ERR_OUT_OF_MEMORY);
  CHECK_OK(f.backend->buffer_create(f.device, 4096, &buffer));
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, "\1", 1));
  switches->oom = 1;  // the staging buffer of a copy behind work
  CHECK_STATUS(f.backend->copy_in(f.queue, buffer, 0, "1234", 4), TSR_ERR_OUT_OF_MEMORY);
  fixture_wait(&f);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(work_that_fails_is_reported_by_the_next_wait_and_the_device_goes_on) {
  standin_metal *switches = switches_or_skip();
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, 64, NULL);
  switches->fails = 1;
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, "\1", 1));
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("told to fail");
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, "\1", 1));
  fixture_wait(&f);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(a_lost_gpu_is_a_status_from_then_on) {
  standin_metal *switches = switches_or_skip();
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, 64, NULL), *other = NULL;
  tsri_event *event = NULL;
  bool done = false;
  CHECK_OK(f.backend->event_create(f.device, &event));
  switches->lost = 2;
  for (int i = 0; i < 2; i++) CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, "\1", 1));
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  CHECK_LAST_ERROR_HAS("the GPU is gone");
  CHECK_STATUS(f.backend->fill(f.queue, buffer, 0, 64, "\1", 1), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->copy_in(f.queue, buffer, 0, "1234", 4), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->copy_out(f.queue, &done, buffer, 0, 1), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->buffer_create(f.device, 64, &other), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->event_record(f.queue, event), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->event_is_done(f.device, event, &done), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(f.backend->queue_wait(f.queue, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  f.backend->event_destroy(f.device, event);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}
