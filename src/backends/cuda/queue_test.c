// SPDX-License-Identifier: MIT
// Tests of copies in both directions and all sizes, fills, waits and events.
#include "backends/common/queue_testing.h"
#include "backends/cuda/fixture.h"

static void round_trip(const fixture *f, size_t bytes, size_t offset) {
  tsri_buffer *buffer = fixture_buffer(f, bytes + offset + 16, NULL);
  unsigned char *in = fixture_pattern(bytes), *out = calloc(1, bytes);
  fixture_write(f, buffer, offset, in, bytes);
  fixture_read(f, buffer, offset, out, bytes);
  CHECK_BYTES(out, in, bytes);
  free(in);
  free(out);
  f->backend->buffer_destroy(f->device, buffer);
}

TEST(bytes_of_every_size_come_back) {
  fixture f = fixture_open();
  static const size_t sizes[] = {
      1, 3, 4096, 64 << 10, (64 << 10) + 1, 1 << 20, (1 << 20) + 5, 3 << 20, (37 << 20) + 11};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    round_trip(&f, sizes[i], 0);
    round_trip(&f, sizes[i], 7);
  }
  CHECK_EQ_INT(fixture_fake->blocking_copies, 0);  // the driver never had to copy pageable memory synchronously
  fixture_close(&f);
}

TEST(many_copies_in_a_row_do_not_disturb_one_another) {
  fixture f = fixture_open();
  enum { COUNT = 12, BYTES = 5 << 20 };
  tsri_buffer *buffers[COUNT];
  unsigned char *in[COUNT], *out = malloc(BYTES);
  for (int i = 0; i < COUNT; i++) {  // chunks are reused while earlier copies may be in transit
    buffers[i] = fixture_buffer(&f, BYTES, NULL);
    in[i] = fixture_pattern(BYTES);
    in[i][i] ^= 0x55;
    CHECK_OK(f.backend->copy_in(f.queue, buffers[i], 0, in[i], BYTES));
  }
  for (int i = 0; i < COUNT; i++) {
    fixture_read(&f, buffers[i], 0, out, BYTES);
    CHECK_BYTES(out, in[i], BYTES);
    f.backend->buffer_destroy(f.device, buffers[i]);
    free(in[i]);
  }
  free(out);
  fixture_close(&f);
}

TEST(small_copies_to_the_host_arrive_together_at_the_wait) {
  fixture f = fixture_open();
  enum { COUNT = 3 * CUDA_READBACKS };  // more than fit into the readback chunk at once
  tsri_buffer *buffer = fixture_buffer(&f, COUNT * 4, NULL);
  uint32_t in[COUNT], out[COUNT] = {0};
  for (uint32_t i = 0; i < COUNT; i++) in[i] = i * 2654435761u;
  fixture_write(&f, buffer, 0, in, sizeof in);
  for (uint32_t i = 0; i < COUNT; i++) CHECK_OK(f.backend->copy_out(f.queue, &out[i], buffer, i * 4, 4));
  CHECK_EQ_UINT(out[COUNT - 1], 0);  // the last copies have not arrived yet
  fixture_wait(&f);
  CHECK_BYTES(out, in, sizeof in);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(a_copy_to_the_host_has_what_was_there_when_it_was_queued) {
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, 256, NULL);
  uint32_t first = 1, second = 2, out = 0;
  fixture_write(&f, buffer, 0, &first, 4);
  CHECK_OK(f.backend->copy_out(f.queue, &out, buffer, 0, 4));
  CHECK_OK(f.backend->copy_in(f.queue, buffer, 0, &second, 4));
  fixture_wait(&f);
  CHECK_EQ_UINT(out, 1);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(pinned_memory_is_copied_in_place) {
  fixture f = fixture_open();
  enum { BYTES = 1 << 20 };
  void *pinned = NULL;
  bool was_pushed = tsri_cuda_enter((cuda_device *)f.device);
  CHECK_EQ_INT(tsri_cu.MemHostAlloc(&pinned, BYTES, 0), 0);
  int before = fixture_fake->live_pinned;
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL);
  unsigned char *in = fixture_pattern(BYTES);
  memcpy(pinned, in, BYTES);
  fixture_write(&f, buffer, 0, pinned, BYTES);
  memset(pinned, 0, BYTES);
  fixture_read(&f, buffer, 0, pinned, BYTES);
  CHECK_BYTES(pinned, in, BYTES);
  CHECK_EQ_INT(fixture_fake->live_pinned, before);  // the copy used the pinned memory directly, no chunk
  CHECK_EQ_INT(tsri_cu.MemFreeHost(pinned), 0);
  tsri_cuda_leave((cuda_device *)f.device, was_pushed);
  free(in);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(fills_of_every_pattern_and_place) {
  fixture f = fixture_open();
  enum { BYTES = 100 * 1024 };
  static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  static const unsigned char twice[8] = {1, 2, 3, 4, 1, 2, 3, 4};
  unsigned char *out = malloc(BYTES);
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL);
  for (size_t width = 1; width <= 8; width *= 2) {
    for (size_t offset = 0; offset < 9; offset++) {
      const unsigned char *used = width == 8 && offset == 8 ? twice : pattern;
      size_t bytes = 80000;
      CHECK_OK(f.backend->fill(f.queue, buffer, 0, BYTES, "\0", 1));
      CHECK_OK(f.backend->fill(f.queue, buffer, offset, bytes, used, width));
      fixture_read(&f, buffer, 0, out, BYTES);
      for (size_t i = 0; i < BYTES; i++) {
        bool is_inside = i >= offset && i < offset + bytes;
        if (out[i] != (is_inside ? used[(i - offset) % width] : 0)) {
          test_fail(__FILE__, __LINE__, "width %zu, offset %zu, byte %zu is %d", width, offset, i, out[i]);
        }
      }
    }
  }
  free(out);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(a_wait_that_takes_too_long_times_out_and_a_copy_to_the_host_too) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "all", .timeout_ns = 5 * 1000 * 1000});
  enum { BYTES = 2 << 20 };
  unsigned char *out = malloc(BYTES);
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL);
  tsri_program *program = fixture_build(&f, fixture_code("tsr_fake_endless", "tsr_fake_endless", 0, 0, "-fmad=false"));
  CHECK_OK(f.backend->launch(f.queue, program, &(tsri_launch){.groups = {1, 1, 1}}));
  CHECK_STATUS(f.backend->queue_wait(f.queue, 3 * 1000 * 1000), TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("3.000 ms");
  CHECK_STATUS(f.backend->copy_out(f.queue, out, buffer, 0, BYTES), TSR_ERR_TIMEOUT);
  f.backend->program_destroy(f.device, program);
  free(out);
  f.backend->queue_destroy(f.queue);
  CHECK_OK(f.backend->queue_create(f.device, &f.queue));
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(events_happen_in_order_and_carry_times_when_asked) {
  fixture f = fixture_open_with(&(tsri_open_options){.native = "all", .profiling = true, .timeout_ns = UINT64_MAX});
  tsri_event *before = NULL, *after = NULL;
  bool is_done = false;
  uint64_t ns = 0;
  tsri_queue *other = NULL;
  tsri_buffer *buffer = fixture_buffer(&f, 4096, NULL);
  CHECK_OK(f.backend->queue_create(f.device, &other));
  CHECK_OK(f.backend->event_create(f.device, &before));
  CHECK_OK(f.backend->event_create(f.device, &after));
  CHECK_OK(f.backend->event_is_done(f.device, before, &is_done));
  CHECK(is_done);  // an event that was never recorded counts as done
  CHECK_STATUS(f.backend->event_elapsed(f.device, before, after, &ns), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(f.backend->event_record(f.queue, before));
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, 4096, "\1", 1));
  CHECK_OK(f.backend->event_record(f.queue, after));
  CHECK_OK(f.backend->event_is_done(f.device, after, &is_done));
  CHECK(!is_done);
  CHECK_OK(f.backend->event_await(other, after));
  CHECK_OK(f.backend->queue_wait(other, UINT64_MAX));
  CHECK_OK(f.backend->event_is_done(f.device, after, &is_done));
  CHECK(is_done);
  CHECK_OK(f.backend->event_elapsed(f.device, before, after, &ns));
  CHECK(ns > 0);
  fixture_wait(&f);
  f.backend->event_destroy(f.device, before);
  f.backend->event_destroy(f.device, after);
  f.backend->queue_destroy(other);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(events_have_no_times_unless_the_device_was_opened_for_them) {
  fixture f = fixture_open();
  tsri_event *event = NULL;
  uint64_t ns = 0;
  CHECK_OK(f.backend->event_create(f.device, &event));
  CHECK_STATUS(f.backend->event_elapsed(f.device, event, event, &ns), TSR_ERR_UNSUPPORTED);
  f.backend->event_destroy(f.device, event);
  fixture_close(&f);
}

SEAM_TESTS_OF_QUEUES
