// SPDX-License-Identifier: MIT
// Tests of copies, fills, events, waits and threads of the Vulkan backend.
#include "backends/common/queue_testing.h"
#include "backends/common/workers_testing.h"
#include "backends/vulkan/fixture.h"

#if TSRI_HAS_VULKAN

TEST(bytes_come_back_as_they_went_in) {
  fixture f = fixture_open();
  check_bytes_come_back(&f, 40 * 1024 * 1024 + 13);
  fixture_close(&f);
}

TEST(copies_at_odd_places_keep_their_order) {
  fixture f = fixture_open();
  check_copies_keep_their_order(&f);
  fixture_close(&f);
}

TEST(fills_of_every_pattern_at_every_offset) {
  fixture f = fixture_open();
  check_fills(&f);
  fixture_close(&f);
}

TEST(large_fills_with_eight_byte_patterns) {
  fixture f = fixture_open();
  enum { COUNT = 100003 };
  uint64_t pattern = UINT64_C(0x0123456789ABCDEF), *out = calloc(COUNT, 8);
  tsri_buffer *buffer = fixture_buffer(&f, COUNT * 8, NULL);
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, COUNT * 8, &pattern, 8));
  fixture_read(&f, buffer, 0, out, COUNT * 8);
  for (int i = 0; i < COUNT; i++) CHECK_EQ_UINT(out[i], pattern);
  free(out);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(events_happen_in_order_and_tell_the_time) {
  fixture f = fixture_open_with(&(tsri_open_options){.profiling = true, .timeout_ns = UINT64_MAX});
  check_events(&f, true);
  fixture_close(&f);
}

TEST(times_need_profiling) {
  fixture f = fixture_open();
  check_times_need_profiling(&f);
  fixture_close(&f);
}

TEST(a_wait_that_takes_too_long_is_a_status_and_the_work_goes_on) {
  fixture f = fixture_open();
  enum { GROUPS = 1024, ITEMS = 64 * GROUPS };
  static const uint32_t zeros[ITEMS], rounds = 60000;  // lavapipe stops loops after 65,535 iterations
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

TEST(batches_begin_small_and_grow_while_they_are_short) {
  fixture f = fixture_open();
  vulkan_device *device = vulkan_device_of(f.device);
  if (device->physical.timestamp_bits == 0) {
    fixture_close(&f);
    SKIP("the device does not tell how long a batch took");
  }
  tsri_buffer *buffer = fixture_buffer(&f, 4096, NULL);
  uint32_t first = device->batch_limit;
  CHECK(first < VULKAN_BATCH_COMMANDS / 4);
  for (uint32_t round = 0; round < 8; round++) {
    uint64_t before = device->last_value;
    for (uint32_t i = 0; i < first; i++) CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, &(uint32_t){i}, 4));
    CHECK(device->last_value > before);
    CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  }
  CHECK(device->batch_limit > first);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

#endif
