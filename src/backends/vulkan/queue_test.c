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
  uint32_t first = device->streams[0].batch_limit;
  CHECK(first < VULKAN_BATCH_COMMANDS / 4);
  for (uint32_t round = 0; round < 8; round++) {
    uint64_t before = device->streams[0].last_value;
    for (uint32_t i = 0; i < first; i++) CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, &(uint32_t){i}, 4));
    CHECK(device->streams[0].last_value > before);
    CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  }
  CHECK(device->streams[0].batch_limit > first);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

// Records fills until a batch is submitted. Returns how many that took. The device is idle before.
static int fills_of_a_batch(const fixture *f, tsri_buffer *buffer) {
  const vulkan_device *device = vulkan_device_of(f->device);
  const vulkan_stream *stream = &device->streams[0];
  uint64_t before = stream->submitted;
  int count = 0;
  CHECK_EQ_INT(device->vk.DeviceWaitIdle(device->handle), VK_SUCCESS);
  for (; stream->submitted == before; count++) CHECK_OK(f->backend->fill(f->queue, buffer, 0, 64, &(uint32_t){1}, 4));
  return count;
}

TEST(an_idle_device_gets_larger_batches_until_there_is_a_wait) {
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, 4096, NULL);
  for (int round = 0; round < 2; round++) {
    static const int counts[] = {8, 16, 32, 32};
    CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
    vulkan_device_of(f.device)->streams[0].batch_limit = VULKAN_BATCH_COMMANDS;
    for (int i = 0; i < 4; i++) CHECK_EQ_INT(fills_of_a_batch(&f, buffer), counts[i]);
  }
  CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

// A quick command waits for more of them; a slow one begins at once, and the next ones are submitted before it has ended.
TEST(slow_commands_are_submitted_at_once) {
  fixture f = fixture_open();
  vulkan_stream *stream = &vulkan_device_of(f.device)->streams[0];
  tsri_buffer *buffer = fixture_buffer(&f, 4096, NULL);
  for (int has_slow = 0; has_slow < 2; has_slow++) {
    CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
    stream->batch_limit = VULKAN_BATCH_COMMANDS;
    stream->has_slow = has_slow != 0;
    CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, &(uint32_t){1}, 4));
    CHECK_EQ_UINT(stream->open ? 1 : 0, has_slow ? 0 : 1);
  }
  CHECK_OK(f.backend->queue_wait(f.queue, UINT64_MAX));
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

// --- Several streams --------------------------------------------------------------------------------------------------

// A device whose streams share a queue of the driver: software drivers have only one.
static fixture open_with_streams(bool has_times) {
  setenv("TSRI_VULKAN_STREAMS", "1", 1);
  fixture f = fixture_open_with(&(tsri_open_options){.profiling = has_times, .timeout_ns = UINT64_MAX});
  unsetenv("TSRI_VULKAN_STREAMS");
  if (vulkan_device_of(f.device)->plan.copy_count == 0) {
    fixture_close(&f);
    SKIP("the driver has no timeline semaphores");
  }
  return f;
}

TEST(a_device_with_one_queue_has_one_stream) {
  fixture f = open_with_streams(false);
  const vulkan_device *device = vulkan_device_of(f.device);
  unsigned char bytes[256] = {1};
  tsri_buffer *buffer = fixture_buffer(&f, sizeof bytes, NULL);
  pass_through_host(&f, buffer, 0, bytes, sizeof bytes);
  CHECK(!device->streams[0].ended);
  for (int i = 1; i < VULKAN_STREAMS; i++) CHECK(!device->streams[i].is_open);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(copies_of_further_queues_have_streams_of_their_own_and_keep_their_order) {
  enum { COUNT = 50000, BYTES = COUNT * 4, ROUNDS = 20 };
  fixture f = open_with_streams(false);
  const vulkan_device *device = vulkan_device_of(f.device);
  const tsri_backend *backend = f.backend;
  tsri_queue *queue = NULL;
  tsri_buffer *buffers[2] = {fixture_buffer(&f, BYTES, NULL), fixture_buffer(&f, BYTES, NULL)};
  void *in = NULL, *out = NULL;
  CHECK_OK(backend->queue_create(f.device, &queue));
  CHECK_OK(backend->host_alloc(f.device, BYTES, &in));
  CHECK_OK(backend->host_alloc(f.device, BYTES, &out));
  for (uint32_t round = 1; round <= ROUNDS; round++) {
    for (int i = 0; i < COUNT; i++) ((uint32_t *)in)[i] = round * 1000003u + (uint32_t)i;
    CHECK_OK(backend->fill(queue, buffers[0], 0, BYTES, &round, 4));  // a copy to a device that is idle needs no stream
    CHECK_OK(backend->copy_in(queue, buffers[0], 0, in, BYTES));
    CHECK_OK(backend->copy(queue, buffers[1], 0, buffers[0], 0, BYTES));
    CHECK_OK(backend->copy_out(queue, out, buffers[1], 0, BYTES));
    CHECK_OK(backend->fill(queue, buffers[1], 0, BYTES, &round, 4));
    CHECK_OK(backend->queue_wait(queue, UINT64_MAX));
    CHECK_BYTES(out, in, BYTES);
  }
  CHECK(device->streams[VULKAN_COMPUTE_STREAMS].last_value >= ROUNDS);
  CHECK(device->streams[VULKAN_COMPUTE_STREAMS + 1].last_value >= ROUNDS);
  CHECK_EQ_UINT(device->streams[VULKAN_COMPUTE_STREAMS].completed, device->streams[VULKAN_COMPUTE_STREAMS].last_value);
  backend->host_free(f.device, in);
  backend->host_free(f.device, out);
  backend->queue_destroy(queue);
  for (int i = 0; i < 2; i++) backend->buffer_destroy(f.device, buffers[i]);
  fixture_close(&f);
}

TEST(events_order_streams) {
  for (int has_times = 0; has_times < 2; has_times++) {
    fixture f = open_with_streams(has_times);
    check_events_order_queues(&f);
    check_awaited_events_may_be_recorded_again(&f);
    check_host_memory(&f);
    fixture_close(&f);
  }
}

TEST(events_after_copies_tell_the_time) {
  enum { BYTES = 4 << 20 };
  fixture f = open_with_streams(true);
  const tsri_backend *backend = f.backend;
  tsri_queue *queue = NULL;
  tsri_event *first = NULL, *last = NULL;
  tsri_buffer *buffer = fixture_buffer(&f, BYTES, NULL);
  void *memory = NULL;
  uint64_t ns = 0;
  if (!vulkan_device_of(f.device)->has_times) SKIP("the device has no time stamps");
  CHECK_OK(backend->queue_create(f.device, &queue));
  CHECK_OK(backend->host_alloc(f.device, BYTES, &memory));
  CHECK_OK(backend->event_create(f.device, &first));
  CHECK_OK(backend->event_create(f.device, &last));
  for (int round = 0; round < 3; round++) {
    CHECK_OK(backend->event_record(queue, first));
    CHECK_OK(backend->copy_out(queue, memory, buffer, 0, BYTES));
    CHECK_OK(backend->event_record(queue, last));
    CHECK_OK(backend->queue_wait(queue, UINT64_MAX));
    CHECK_OK(backend->event_elapsed(f.device, first, last, &ns));
    CHECK(ns > 0 && ns < UINT64_C(60000000000));
  }
  backend->event_destroy(f.device, first);
  backend->event_destroy(f.device, last);
  backend->host_free(f.device, memory);
  backend->queue_destroy(queue);
  backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

#endif
