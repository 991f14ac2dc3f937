// SPDX-License-Identifier: MIT
// Tests of copies, fills, events, waits and threads of the Vulkan backend.
#include "backends/vulkan/fixture.h"

#if TSRI_HAS_VULKAN

#define SEAM_COPY_BYTES     40 * 1024 * 1024 + 13
#define SEAM_SLOW_GROUPS    1024
#define SEAM_SLOW_ROUNDS    60000  // lavapipe stops loops after 65,535 iterations
#define SEAM_MAY_LACK_TIMES true
#include "backends/common/seam_tests.inc"

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
