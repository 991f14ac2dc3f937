// SPDX-License-Identifier: MIT
// Copies, fills, events, waits and threads of the Vulkan backend.
#include "backends/common/workers_testing.h"
#include "backends/vulkan/fixture.h"

#if TSRI_HAS_VULKAN

static unsigned char *random_bytes(size_t bytes, uint32_t seed) {
  unsigned char *data = malloc(bytes);
  CHECK(data != NULL);
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
  return data;
}

// Work that is not done yet, so that what follows goes the way of queued commands.
static void keep_busy(const fixture *f, tsri_buffer *scratch, size_t bytes) {
  CHECK_OK(f->vk->fill(f->queue, scratch, 0, bytes, "\1", 1));
}

TEST(bytes_come_back_as_they_went_in) {
  fixture f = fixture_open();
  enum { BYTES = 40 * 1024 * 1024 + 13 };
  unsigned char *in = random_bytes(BYTES, 1), *out = calloc(1, BYTES);
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL), *scratch = fixture_buffer(&f, 4096, NULL);
  for (int is_busy = 0; is_busy < 2; is_busy++) {
    memset(out, 0, BYTES);
    if (is_busy) keep_busy(&f, scratch, 4096);
    CHECK_OK(f.vk->copy_in(f.queue, buffer, 0, in, BYTES));
    if (is_busy) keep_busy(&f, scratch, 4096);
    CHECK_OK(f.vk->copy_out(f.queue, out, buffer, 0, BYTES));
    CHECK_OK(f.vk->queue_wait(f.queue, UINT64_MAX));
    CHECK_BYTES(out, in, BYTES);
  }
  f.vk->buffer_destroy(f.device, buffer);
  f.vk->buffer_destroy(f.device, scratch);
  free(in);
  free(out);
  fixture_close(&f);
}

TEST(copies_at_odd_places_keep_their_order) {
  fixture f = fixture_open();
  enum { BYTES = 1000 };
  unsigned char *model = random_bytes(BYTES, 2), out[BYTES];
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, model);
  uint32_t seed = 7;
  for (int i = 0; i < 300; i++) {  // more than a batch holds
    seed = seed * 1664525u + 1013904223u;
    size_t bytes = 1 + (seed >> 8) % 200, from = (seed >> 16) % (BYTES - bytes), to = (seed >> 4) % (BYTES - bytes);
    memmove(model + to, model + from, bytes);
    CHECK_OK(f.vk->copy(f.queue, buffer, to, buffer, from, bytes));
  }
  fixture_read(&f, buffer, out, BYTES);
  CHECK_BYTES(out, model, BYTES);
  f.vk->buffer_destroy(f.device, buffer);
  free(model);
  fixture_close(&f);
}

TEST(fills_of_every_pattern_at_every_offset) {
  fixture f = fixture_open();
  enum { BYTES = 256 };
  static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8}, same[8] = {9, 8, 7, 6, 9, 8, 7, 6};
  unsigned char model[BYTES] = {0}, out[BYTES];
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, model);
  for (size_t size = 1; size <= 8; size *= 2) {
    for (size_t offset = 0; offset < 9; offset++) {
      for (size_t count = 1; count < 6; count++) {
        const unsigned char *p = count & 1 ? pattern : same;
        for (size_t i = 0; i < size * count; i++) model[offset * 20 + i + offset] = p[i % size];
        CHECK_OK(f.vk->fill(f.queue, buffer, offset * 20 + offset, size * count, p, size));
      }
    }
  }
  fixture_read(&f, buffer, out, BYTES);
  CHECK_BYTES(out, model, BYTES);
  f.vk->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(large_fills_with_eight_byte_patterns) {
  fixture f = fixture_open();
  enum { COUNT = 100003 };
  uint64_t pattern = UINT64_C(0x0123456789ABCDEF), *out = calloc(COUNT, 8);
  tsri_buffer *buffer = fixture_buffer(&f, COUNT * 8, NULL);
  CHECK_OK(f.vk->fill(f.queue, buffer, 0, COUNT * 8, &pattern, 8));
  fixture_read(&f, buffer, out, COUNT * 8);
  for (int i = 0; i < COUNT; i++) CHECK_EQ_UINT(out[i], pattern);
  free(out);
  f.vk->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(events_happen_in_order_and_tell_the_time) {
  fixture f = fixture_open_with(&(tsri_open_options){.profiling = true, .timeout_ns = UINT64_MAX});
  tsri_event *first = NULL, *last = NULL;
  tsri_buffer *buffer = fixture_buffer(&f, 8 << 20, NULL);
  CHECK_OK(f.vk->event_create(f.device, &first));
  CHECK_OK(f.vk->event_create(f.device, &last));
  bool done = false;
  CHECK_OK(f.vk->event_is_done(f.device, first, &done));
  CHECK(done);
  CHECK_OK(f.vk->event_record(f.queue, first));
  CHECK_OK(f.vk->fill(f.queue, buffer, 0, 8 << 20, "\3", 1));
  CHECK_OK(f.vk->event_record(f.queue, last));
  CHECK_OK(f.vk->event_await(f.queue, last));
  for (done = false; !done;) CHECK_OK(f.vk->event_is_done(f.device, last, &done));
  CHECK_OK(f.vk->event_is_done(f.device, first, &done));
  CHECK(done);
  uint64_t ns = 0;
  tsr_status status = f.vk->event_elapsed(f.device, first, last, &ns);
  if (status != TSR_ERR_UNSUPPORTED) {
    CHECK_OK(status);
    CHECK(ns > 0 && ns < UINT64_C(60000000000));
  }
  f.vk->event_destroy(f.device, first);
  f.vk->event_destroy(f.device, last);
  f.vk->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(times_need_profiling) {
  fixture f = fixture_open();
  tsri_event *event = NULL;
  uint64_t ns = 0;
  CHECK_OK(f.vk->event_create(f.device, &event));
  CHECK_OK(f.vk->event_record(f.queue, event));
  CHECK_STATUS(f.vk->event_elapsed(f.device, event, event, &ns), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("profiling");
  f.vk->event_destroy(f.device, event);
  fixture_close(&f);
}

TEST(a_wait_that_takes_too_long_is_a_status_and_the_work_goes_on) {
  fixture f = fixture_open();
  const char *text =
      "kernel spin(inout u32 x[], u32 rounds) {\n"
      "  u32 v = x[global.x];\n  for (u32 i = 0; i < rounds; i++) v = v * 1664525 + 1013904223;\n  x[global.x] = "
      "v;\n}\n";
  fixture_kernel k = fixture_compile(&f, text, NULL, "", false);
  // lavapipe ends loops after 65,535 rounds.
  enum { GROUPS = 1024, ITEMS = 64 * GROUPS };
  static uint32_t zeros[ITEMS], out[ITEMS];
  uint32_t rounds = 60000;
  tsri_buffer *buffer = fixture_buffer(&f, sizeof zeros, zeros);
  fixture_launch(&f, &k, GROUPS, 1, &(fixture_bound){buffer, sizeof zeros}, &rounds);
  tsr_status status = f.vk->queue_wait(f.queue, 1000);
  if (status != TSR_OK) {  // a device may be that quick
    CHECK_STATUS(status, TSR_ERR_TIMEOUT);
    CHECK_LAST_ERROR_HAS("did not finish");
  }
  CHECK_OK(f.vk->queue_wait(f.queue, UINT64_MAX));
  fixture_read(&f, buffer, out, sizeof out);
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < rounds; i++) wanted = wanted * 1664525u + 1013904223u;
  for (int i = 0; i < ITEMS; i++) CHECK_EQ_UINT(out[i], wanted);
  f.vk->buffer_destroy(f.device, buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

// --- Threads --------------------------------------------------------------------------------------------------------

TEST(two_threads_on_two_queues) {
  fixture f = fixture_open();
  check_two_workers(f.vk, f.device);
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
    for (uint32_t i = 0; i < first; i++) CHECK_OK(f.vk->fill(f.queue, buffer, 0, 64, &(uint32_t){i}, 4));
    CHECK(device->last_value > before);
    CHECK_OK(f.vk->queue_wait(f.queue, UINT64_MAX));
  }
  CHECK(device->batch_limit > first);
  f.vk->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

#endif
