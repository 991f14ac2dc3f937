// SPDX-License-Identifier: MIT
// Tests of copies, fills, events, waits and threads of the WebGPU backend, also at offsets inside words.
#include "backends/webgpu/fixture.h"

#define SEAM_COPY_BYTES     70 * 1024 * 1024 + 13  // larger than one piece
#define SEAM_SLOW_GROUPS    256
#define SEAM_SLOW_ROUNDS    100000
#define SEAM_MAY_LACK_TIMES false
#include "backends/common/seam_tests.inc"

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

// Dawn has time stamps on every device, so that nothing waits for the device to know the time.
TEST(events_have_stamps_of_the_device_and_do_not_wait) {
  fixture f = fixture_open_with(&(tsri_open_options){.profiling = true, .timeout_ns = UINT64_MAX});
  enum { EVENTS = 6, BYTES = 1 << 20 };
  tsri_event *events[EVENTS];
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL);
  uint64_t ns = 0, all = 0, sum = 0;
  CHECK(webgpu_device_of(f.device)->stamps != NULL);
  for (int i = 0; i < EVENTS; i++) {
    CHECK_OK(f.backend->event_create(f.device, &events[i]));
    CHECK_OK(f.backend->fill(f.queue, buffer, 0, BYTES, "ab", 2));
    CHECK_OK(f.backend->event_record(f.queue, events[i]));
  }
  CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  for (int i = 1; i < EVENTS; i++) {
    CHECK_OK(f.backend->event_elapsed(f.device, events[i - 1], events[i], &ns));
    sum += ns;
  }
  CHECK_OK(f.backend->event_elapsed(f.device, events[0], events[EVENTS - 1], &all));
  CHECK(all > 0 && sum == all);
  for (int i = 0; i < EVENTS; i++) f.backend->event_destroy(f.device, events[i]);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}
