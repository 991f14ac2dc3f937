// SPDX-License-Identifier: MIT
// Tests of copies, fills, events, waits and threads of the WebGPU backend, also at offsets inside words.
#include "backends/common/queue_testing.h"
#include "backends/common/workers_testing.h"
#include "backends/webgpu/fixture.h"

TEST(bytes_come_back_as_they_went_in) {
  fixture f = fixture_open();
  check_bytes_come_back(&f, 70 * 1024 * 1024 + 13);  // larger than one piece
  fixture_close(&f);
}

TEST(copies_at_odd_places_keep_their_order) {
  fixture f = fixture_open();
  check_copies_keep_their_order(&f);
  fixture_close(&f);
}

TEST(large_copies_within_the_device_go_by_a_kernel) {
  fixture f = fixture_open();
  enum { BYTES = 3 << 20, MOVED = 2 << 20 };
  unsigned char *model = random_bytes(BYTES, 5), *out = calloc(1, BYTES);
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, model), *other = fixture_buffer(&f, BYTES, NULL);
  CHECK_OK(f.backend->copy(f.queue, other, 0, buffer, 0, BYTES));
  CHECK_OK(f.backend->copy(f.queue, other, 48, buffer, 4096, MOVED));
  CHECK_OK(f.backend->copy(f.queue, other, MOVED, other, 16, BYTES - MOVED));  // within one buffer
  unsigned char *wanted = malloc(BYTES);
  CHECK(wanted != NULL && out != NULL);
  memcpy(wanted, model, BYTES);
  memcpy(wanted + 48, model + 4096, MOVED);
  memcpy(wanted + MOVED, wanted + 16, BYTES - MOVED);
  fixture_read(&f, other, 0, out, BYTES);
  CHECK_BYTES(out, wanted, BYTES);
  CHECK(webgpu_device_of(f.device)->wide_program != NULL);
  f.backend->buffer_destroy(f.device, buffer);
  f.backend->buffer_destroy(f.device, other);
  free(model);
  free(wanted);
  free(out);
  fixture_close(&f);
}

TEST(fills_of_every_pattern_at_every_offset) {
  fixture f = fixture_open();
  check_fills(&f);
  fixture_close(&f);
}

TEST(events_happen_in_order_and_tell_the_time) {
  fixture f = fixture_open_with(&(tsri_open_options){.profiling = true, .timeout_ns = UINT64_MAX});
  check_events(&f, false);
  fixture_close(&f);
}

TEST(times_need_profiling) {
  fixture f = fixture_open();
  check_times_need_profiling(&f);
  fixture_close(&f);
}

TEST(a_wait_that_takes_too_long_is_a_status_and_the_work_goes_on) {
  fixture f = fixture_open();
  enum { GROUPS = 256, ITEMS = 64 * GROUPS };
  static const uint32_t zeros[ITEMS], rounds = 100000;
  fixture_kernel k = fixture_compile(&f, slow_kernel, NULL, "", false);
  tsri_buffer *buffer = fixture_buffer(&f, sizeof zeros, zeros);
  fixture_launch(&f, &k, GROUPS, 1, 1, &(fixture_bound){buffer, sizeof zeros, 0}, &rounds);
  check_slow_work(&f, buffer, ITEMS, rounds);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

TEST(two_threads_on_two_queues) {
  fixture f = fixture_open();
  check_two_workers(f.backend, f.device);
  fixture_close(&f);
}
