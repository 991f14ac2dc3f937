// SPDX-License-Identifier: MIT
// Copies, fills, events, waits and threads of the WebGPU backend, each at places inside words too.
#include "backends/common/workers_testing.h"
#include "backends/webgpu/fixture.h"

static unsigned char *random_bytes(size_t bytes, uint32_t seed) {
  unsigned char *data = malloc(bytes);
  CHECK(data != NULL);
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)((seed = seed * 1664525u + 1013904223u) >> 24);
  return data;
}

TEST(bytes_come_back_as_they_went_in) {
  fixture f = fixture_open();
  enum { BYTES = 70 * 1024 * 1024 + 13 };  // more than goes at once
  unsigned char *in = random_bytes(BYTES, 1), *out = calloc(1, BYTES);
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL);
  CHECK_OK(f.wg->copy_in(f.queue, buffer, 0, in, BYTES));
  CHECK_OK(f.wg->copy_out(f.queue, out, buffer, 0, BYTES));
  CHECK_OK(f.wg->queue_wait(f.queue, UINT64_MAX));
  CHECK_BYTES(out, in, BYTES);
  f.wg->buffer_destroy(f.device, buffer);
  free(in);
  free(out);
  fixture_close(&f);
}

// Copies within one buffer, between two, from and to the host, in one order.
TEST(copies_at_odd_places_keep_their_order) {
  fixture f = fixture_open();
  enum { BYTES = 1000 };
  unsigned char *model = random_bytes(BYTES, 2), *other = random_bytes(BYTES, 3), out[BYTES], part[BYTES];
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, model), *second = fixture_buffer(&f, BYTES, other);
  uint32_t seed = 7;
  for (int i = 0; i < 300; i++) {  // more than a batch holds
    seed = seed * 1664525u + 1013904223u;
    size_t bytes = 1 + (seed >> 8) % 200, from = (seed >> 16) % (BYTES - bytes), to = (seed >> 4) % (BYTES - bytes);
    switch (seed >> 28 & 3) {
      case 0:
        memmove(model + to, model + from, bytes);
        CHECK_OK(f.wg->copy(f.queue, buffer, to, buffer, from, bytes));
        break;
      case 1:
        memcpy(model + to, other + from, bytes);
        CHECK_OK(f.wg->copy(f.queue, buffer, to, second, from, bytes));
        break;
      case 2:
        memcpy(other + to, model + from, bytes);
        CHECK_OK(f.wg->copy(f.queue, second, to, buffer, from, bytes));
        break;
      default:
        memcpy(part, other + from, bytes);
        memcpy(model + to, part, bytes);
        CHECK_OK(f.wg->copy_in(f.queue, buffer, to, part, bytes));
        CHECK_OK(f.wg->copy_out(f.queue, out, buffer, to, bytes));
        CHECK_OK(f.wg->queue_wait(f.queue, UINT64_MAX));
        CHECK_BYTES(out, part, bytes);
    }
  }
  fixture_read(&f, buffer, out, BYTES);
  CHECK_BYTES(out, model, BYTES);
  fixture_read(&f, second, out, BYTES);
  CHECK_BYTES(out, other, BYTES);
  f.wg->buffer_destroy(f.device, buffer);
  f.wg->buffer_destroy(f.device, second);
  free(model);
  free(other);
  fixture_close(&f);
}

TEST(large_copies_within_the_device_go_by_a_kernel) {
  fixture f = fixture_open();
  enum { BYTES = 3 << 20, MOVED = 2 << 20 };
  unsigned char *model = random_bytes(BYTES, 5), *out = calloc(1, BYTES);
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, model), *other = fixture_buffer(&f, BYTES, NULL);
  CHECK_OK(f.wg->copy(f.queue, other, 0, buffer, 0, BYTES));
  CHECK_OK(f.wg->copy(f.queue, other, 48, buffer, 4096, MOVED));
  CHECK_OK(f.wg->copy(f.queue, other, 256, other, 16, MOVED));  // onto itself
  unsigned char *wanted = malloc(BYTES);
  CHECK(wanted != NULL && out != NULL);
  memcpy(wanted, model, BYTES);
  memcpy(wanted + 48, model + 4096, MOVED);
  memmove(wanted + 256, wanted + 16, MOVED);
  fixture_read(&f, other, out, BYTES);
  CHECK_BYTES(out, wanted, BYTES);
  CHECK(webgpu_device_of(f.device)->wide_program != NULL);
  f.wg->buffer_destroy(f.device, buffer);
  f.wg->buffer_destroy(f.device, other);
  free(model);
  free(wanted);
  free(out);
  fixture_close(&f);
}

TEST(fills_of_every_pattern_at_every_offset) {
  fixture f = fixture_open();
  enum { BYTES = 512 };
  static const unsigned char pattern[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  unsigned char model[BYTES] = {0}, out[BYTES];
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, model);
  for (size_t size = 1; size <= 8; size *= 2) {
    for (size_t offset = 0; offset < 9; offset++) {
      for (size_t count = 1; count < 6; count++) {
        for (size_t i = 0; i < size * count; i++) model[offset * 50 + i + offset] = pattern[i % size];
        CHECK_OK(f.wg->fill(f.queue, buffer, offset * 50 + offset, size * count, pattern, size));
      }
    }
  }
  fixture_read(&f, buffer, out, BYTES);
  CHECK_BYTES(out, model, BYTES);
  f.wg->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(events_happen_in_order_and_tell_the_time) {
  fixture f = fixture_open_with(&(tsri_open_options){.profiling = true, .timeout_ns = UINT64_MAX});
  tsri_event *first = NULL, *last = NULL;
  tsri_buffer *buffer = fixture_buffer(&f, 8 << 20, NULL);
  CHECK_OK(f.wg->event_create(f.device, &first));
  CHECK_OK(f.wg->event_create(f.device, &last));
  bool done = false;
  CHECK_OK(f.wg->event_is_done(f.device, first, &done));
  CHECK(done);
  CHECK_OK(f.wg->event_record(f.queue, first));
  CHECK_OK(f.wg->fill(f.queue, buffer, 0, 8 << 20, "\3", 1));
  CHECK_OK(f.wg->event_record(f.queue, last));
  CHECK_OK(f.wg->event_await(f.queue, last));
  for (done = false; !done;) CHECK_OK(f.wg->event_is_done(f.device, last, &done));
  uint64_t ns = 0;
  CHECK_OK(f.wg->event_elapsed(f.device, first, last, &ns));
  CHECK(ns > 0 && ns < UINT64_C(60000000000));
  f.wg->event_destroy(f.device, first);
  f.wg->event_destroy(f.device, last);
  f.wg->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(times_need_profiling) {
  fixture f = fixture_open();
  tsri_event *event = NULL;
  uint64_t ns = 0;
  bool done = false;
  CHECK_OK(f.wg->event_create(f.device, &event));
  CHECK_OK(f.wg->event_record(f.queue, event));
  while (!done) CHECK_OK(f.wg->event_is_done(f.device, event, &done));
  CHECK_STATUS(f.wg->event_elapsed(f.device, event, event, &ns), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("profiling");
  f.wg->event_destroy(f.device, event);
  fixture_close(&f);
}

TEST(a_wait_that_takes_too_long_is_a_status_and_the_work_goes_on) {
  fixture f = fixture_open();
  const char *text =
      "kernel spin(inout u32 x[], u32 rounds) {\n"
      "  u32 v = x[global.x];\n  for (u32 i = 0; i < rounds; i++) v = v * 1664525 + 1013904223;\n  x[global.x] = "
      "v;\n}\n";
  fixture_kernel k = fixture_compile(&f, text, false);
  enum { GROUPS = 256, ITEMS = 64 * GROUPS };
  static uint32_t zeros[ITEMS], out[ITEMS];
  uint32_t rounds = 100000;
  tsri_buffer *buffer = fixture_buffer(&f, sizeof zeros, zeros);
  fixture_launch(&f, &k, GROUPS, 1, 1, &(fixture_bound){buffer, 0, sizeof zeros}, &rounds);
  CHECK_OK(f.wg->copy_out(f.queue, out, buffer, 0, sizeof out));
  tsr_status status = f.wg->queue_wait(f.queue, 1000);
  if (status != TSR_OK) {  // a device may be that quick
    CHECK_STATUS(status, TSR_ERR_TIMEOUT);
    CHECK_LAST_ERROR_HAS("did not finish");
  }
  CHECK_OK(f.wg->queue_wait(f.queue, UINT64_MAX));
  uint32_t wanted = 0;
  for (uint32_t i = 0; i < rounds; i++) wanted = wanted * 1664525u + 1013904223u;
  for (int i = 0; i < ITEMS; i++) CHECK_EQ_UINT(out[i], wanted);
  f.wg->buffer_destroy(f.device, buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

// --- Threads --------------------------------------------------------------------------------------------------------

TEST(two_threads_on_two_queues) {
  fixture f = fixture_open();
  check_two_workers(f.wg, f.device);
  fixture_close(&f);
}
