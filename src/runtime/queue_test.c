// SPDX-License-Identifier: MIT
// Tests of queues, events, copies that do not wait, and pinned memory, through the public API: on the CPU, whose further queues have threads of their own, or on
// the backend in TSR_TEST_BACKEND.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

#include "runtime/buffer.h"
#include "runtime/queue.h"
#include "support/test.h"

enum { N = 1 << 16, QUEUES = 4 };

static const char *backend_name(void) {
  const char *backend = getenv("TSR_TEST_BACKEND");
  return backend ? backend : "cpu";
}

static tsr_device *open_device(void) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend_name()}, &device));
  return device;
}

static void open_queues(tsr_device *device, tsr_queue **queues, int count) {
  for (int i = 0; i < count; i++) CHECK_OK(tsr_queue_create(device, &queues[i]));
}

static void close_queues(tsr_queue **queues, int count) {
  for (int i = 0; i < count; i++) tsr_queue_release(queues[i]);
}

static float *numbers(float start) {
  float *data = malloc(N * sizeof *data);
  for (int i = 0; i < N; i++) data[i] = start + (float)(i % 97);
  return data;
}

static void check_all(tsr_tensor *tensor, float start, float factor) {
  float *out = malloc(N * sizeof *out);
  CHECK_OK(tsr_read(tensor, out, N * sizeof *out));
  for (int i = 0; i < N; i++) {
    if (out[i] != (start + (float)(i % 97)) * factor)
      test_fail(__FILE__, __LINE__, "element %d is %g", i, (double)out[i]);
  }
  free(out);
}

TEST(work_of_several_queues_on_the_same_tensor_keeps_the_order_of_the_calls) {
  tsr_device *device = open_device();
  tsr_queue *queues[QUEUES];
  open_queues(device, queues, QUEUES);
  float *data = numbers(1);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(N), data, N * sizeof *data);
  for (int round = 0; round < 40; round++) {
    tsr_scope *scope = tsr_scope_begin_on(queues[round % QUEUES]);
    CHECK(scope != NULL);
    CHECK_OK(tsr_assign(x, tsr_mul(x, tsr_full(device, TSR_F32, TSR_SHAPE(1), round % 2 ? 0.5 : 2))));
    CHECK_OK(tsr_evaluate(x));
    CHECK_OK(tsr_scope_end(scope));
  }
  check_all(x, 1, 1);
  tsr_release(x);
  close_queues(queues, QUEUES);
  free(data);
  tsr_device_release(device);
}

TEST(memory_that_one_queue_still_uses_is_not_overwritten_by_another) {
  tsr_device *device = open_device();
  tsr_queue *queues[2];
  open_queues(device, queues, 2);
  float *data = numbers(3);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(N), data, N * sizeof *data), *results[16];
  for (int i = 0; i < 16; i++) {
    tsr_scope *scope = tsr_scope_begin_on(queues[i % 2]);
    tsr_tensor *y = tsr_mul(x, x);  // its memory goes back to the pool while the queue still works
    CHECK_OK(tsr_evaluate(y));
    results[i] = tsr_keep(tsr_div(y, x));
    CHECK_OK(tsr_evaluate(results[i]));
    tsr_release(y);
    CHECK_OK(tsr_scope_end(scope));
  }
  for (int i = 0; i < 16; i++) {
    check_all(results[i], 3, 1);
    tsr_release(results[i]);
  }
  tsr_release(x);
  close_queues(queues, 2);
  free(data);
  tsr_device_release(device);
}

TEST(writes_and_reads_that_do_not_wait_arrive_with_their_events) {
  tsr_device *device = open_device();
  tsr_queue *queues[2];
  open_queues(device, queues, 2);
  size_t bytes = N * sizeof(float);
  float *in = NULL, *out = NULL;
  CHECK_OK(tsr_host_alloc(device, bytes, (void **)&in));
  CHECK_OK(tsr_host_alloc(device, bytes, (void **)&out));
  CHECK((uintptr_t)in % 64 == 0);
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(N));
  for (int round = 0; round < 5; round++) {
    tsr_event *written = NULL, *read = NULL;
    for (int i = 0; i < N; i++) in[i] = (float)(i % 1000 + round);
    CHECK_OK(tsr_write_async(queues[0], x, in, bytes, &written));
    tsr_tensor *y = tsr_add(x, x);
    CHECK_OK(tsr_read_async(queues[1], y, out, bytes, &read));
    CHECK_OK(tsr_event_wait(read));
    for (int i = 0; i < N; i++) CHECK_NEAR(out[i], 2 * (float)(i % 1000 + round), 0);
    bool is_done = false;
    CHECK_OK(tsr_event_is_done(written, &is_done));
    CHECK(is_done);
    tsr_event_release(written);
    tsr_event_release(read);
    tsr_release(y);
  }
  tsr_release(x);
  CHECK_OK(tsr_host_free(in));
  CHECK_OK(tsr_host_free(out));
  CHECK_STATUS(tsr_host_free(in), TSR_ERR_INVALID_ARGUMENT);
  close_queues(queues, 2);
  tsr_device_release(device);
}

TEST(views_are_written_and_read_without_waiting) {
  tsr_device *device = open_device();
  tsr_queue *queue = NULL;
  CHECK_OK(tsr_queue_create(device, &queue));
  float in[6] = {1, 2, 3, 4, 5, 6}, out[6] = {0};
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(3, 2)), *turned = tsr_transpose(x, 0, 1);
  tsr_event *event = NULL;
  CHECK_OK(tsr_write_async(queue, turned, in, sizeof in, NULL));
  CHECK_OK(tsr_read_async(queue, turned, out, sizeof out, &event));
  CHECK_OK(tsr_event_wait(event));
  CHECK_BYTES(out, in, sizeof in);
  tsr_event_release(event);
  CHECK_OK(tsr_read(x, out, sizeof out));
  CHECK_NEAR(out[1], 4, 0);
  tsr_release(turned);
  tsr_release(x);
  tsr_queue_release(queue);
  tsr_device_release(device);
}

static void note(tsr_status status, void *user) {
  if (status == TSR_OK) atomic_fetch_add((atomic_int *)user, 1);
}

TEST(callbacks_are_called_when_the_event_has_happened) {
  tsr_device *device = open_device();
  tsr_queue *queue = NULL;
  atomic_int calls = 0;
  CHECK_OK(tsr_queue_create(device, &queue));
  float *data = numbers(1), *out = malloc(N * sizeof *out);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(N), data, N * sizeof *data);
  for (int i = 0; i < 8; i++) {
    tsr_event *event = NULL;
    CHECK_OK(tsr_read_async(queue, x, out, N * sizeof *out, &event));
    CHECK_OK(tsr_event_then(event, note, &calls));
    tsr_event_release(event);
  }
  for (int i = 0; i < 1000 && atomic_load(&calls) < 8; i++) tsri_sleep_ns(1000 * 1000);
  CHECK_EQ_INT(atomic_load(&calls), 8);
  CHECK_BYTES(out, data, N * sizeof *out);
  tsr_release(x);
  free(data);
  free(out);
  tsr_queue_release(queue);
  tsr_device_release(device);
}

TEST(a_queue_waits_for_events_of_another_queue_and_of_another_device) {
  tsr_device *device = open_device(), *other = NULL;
  tsr_queue *queues[3];
  tsr_event *event = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &other));
  open_queues(device, queues, 2);
  CHECK_OK(tsr_queue_create(other, &queues[2]));
  float *data = numbers(2);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(N), data, N * sizeof *data);
  tsr_scope *scope = tsr_scope_begin_on(queues[0]);
  tsr_tensor *y = tsr_keep(tsr_mul(x, x));
  CHECK_OK(tsr_evaluate(y));
  CHECK_OK(tsr_scope_end(scope));
  CHECK_OK(tsr_queue_record(queues[0], &event));
  CHECK_OK(tsr_queue_await(queues[1], event));
  CHECK_OK(tsr_queue_await(queues[2], event));
  bool is_done = false;
  CHECK_OK(tsr_event_is_done(event, &is_done));
  CHECK(is_done);
  CHECK_OK(tsr_queue_wait(queues[1]));
  CHECK(tsr_queue_device(queues[2]) == other);
  tsr_event_release(event);
  tsr_release(y);
  tsr_release(x);
  close_queues(queues, 3);
  free(data);
  tsr_device_release(other);
  tsr_device_release(device);
}

TEST(captures_run_on_the_queue_that_is_bound) {
  tsr_device *device = open_device();
  tsr_queue *queues[QUEUES];
  open_queues(device, queues, QUEUES);
  float *data = numbers(1);
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(N), data, N * sizeof *data);
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *sum = tsr_add(x, x), *square = tsr_mul(sum, sum), *y = tsr_sqrt(square);
  CHECK_OK(tsr_capture_end(&y, 1, &step));
  for (int i = 0; i < 12; i++) {
    float *next = numbers((float)i);
    tsr_scope *scope = tsr_scope_begin_on(queues[i % QUEUES]);
    CHECK_OK(tsr_write_async(NULL, x, next, N * sizeof *next, NULL));
    CHECK_OK(tsr_capture_run(step));
    CHECK_OK(tsr_scope_end(scope));
    check_all(y, (float)i, 2);  // on the device's first queue
    free(next);
  }
  tsr_capture_release(step);
  tsr_release(square);
  tsr_release(sum);
  tsr_release(y);
  tsr_release(x);
  close_queues(queues, QUEUES);
  free(data);
  tsr_device_release(device);
}

TEST(more_queues_than_tracks_share_them) {
  tsr_device *device = open_device();
  tsr_queue *queues[20];
  open_queues(device, queues, 20);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(N));
  for (int i = 0; i < 20; i++) {
    tsr_scope *scope = tsr_scope_begin_on(queues[i]);
    CHECK_OK(tsr_assign(x, tsr_add(x, x)));
    CHECK_OK(tsr_evaluate(x));
    CHECK_OK(tsr_scope_end(scope));
  }
  double sum = 0;
  tsr_tensor *total = tsr_mean(x, TSR_AXES(0), false);
  CHECK_OK(tsr_item(total, &sum));
  CHECK(sum == 1048576);
  tsr_release(total);
  tsr_release(x);
  close_queues(queues, 20);
  tsr_device_release(device);
}

TEST(wrong_arguments_are_statuses) {
  tsr_device *device = open_device(), *other = open_device();
  tsr_queue *queue = NULL;
  tsr_event *event = NULL;
  void *memory = NULL;
  float value = 1;
  bool is_done = false;
  tsr_tensor *x = tsr_zeros(other, TSR_F32, TSR_SHAPE(1));
  CHECK_STATUS(tsr_queue_create(NULL, &queue), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_queue_create(device, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_queue_wait(NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_queue_record(NULL, &event), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_event_wait(NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_event_is_done(NULL, &is_done), TSR_ERR_INVALID_ARGUMENT);
  CHECK(tsr_scope_begin_on(NULL) == NULL);
  CHECK(tsr_queue_device(NULL) == NULL);
  CHECK_OK(tsr_queue_create(device, &queue));
  CHECK_STATUS(tsr_write_async(queue, x, &value, 4, &event), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("the queue is on");
  CHECK(event == NULL);
  CHECK_STATUS(tsr_write_async(NULL, x, &value, 8, &event), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_host_alloc(device, 0, &memory), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_host_unregister(&value), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_host_register(device, &value, sizeof value));
  CHECK_STATUS(tsr_host_register(device, &value, sizeof value), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_host_unregister(&value));
  CHECK_OK(tsr_host_free(NULL));
  tsr_release(x);
  tsr_queue_release(queue);
  tsr_queue_release(NULL);
  tsr_event_release(NULL);
  tsr_device_release(other);
  tsr_device_release(device);
}

// The pool passes over memory that another track still uses, as long as there is other memory.
TEST(the_pool_prefers_memory_that_no_other_queue_uses) {
  tsr_device *device = open_device();
  tsr_queue *queue = NULL;
  CHECK_OK(tsr_queue_create(device, &queue));
  if (queue->track == 0) SKIP("this backend has one track");
  tsr_buffer *first = NULL, *second = NULL, *third = NULL;
  CHECK_OK(tsr_buffer_create(device, 4 << 20, 0, &first));
  CHECK_OK(tsr_buffer_create(device, 4 << 20, 0, &second));
  tsri_block *busy = first->block, *idle = second->block;
  busy->usage = (tsri_usage){.writer = 1, .written = UINT64_MAX};  // a command that has not ended
  tsr_buffer_release(first);
  tsr_buffer_release(second);
  CHECK_OK(tsr_buffer_create(device, 4 << 20, 0, &third));
  CHECK(third->block == idle);
  CHECK_OK(tsr_buffer_create(device, 4 << 20, 0, &first));
  CHECK(first->block != busy);  // new memory
  tsr_scope *scope = tsr_scope_begin_on(queue);
  CHECK_OK(tsr_buffer_create(device, 4 << 20, 0, &second));
  CHECK(second->block == busy);  // on its own track the order is enough
  CHECK_OK(tsr_scope_end(scope));
  busy->usage = (tsri_usage){0};
  tsr_buffer_release(first);
  tsr_buffer_release(second);
  tsr_buffer_release(third);
  tsr_queue_release(queue);
  tsr_device_release(device);
}

// --- Time limits and failures -----------------------------------------------------------------------------------------

static tsr_device *open_faulty(const char *faults, uint32_t timeout_ms) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_config_set("faults", faults));
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend_name(), .timeout_ms = timeout_ms}, &device));
  CHECK_OK(tsr_config_set("faults", NULL));
  return device;
}

TEST(a_hung_device_is_marked_and_closing_it_does_not_wait_again) {
  tsr_device *device = open_faulty("slow:60s", 400), *other = NULL;
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(16));
  CHECK(!tsr_device_is_overdue(device));
  CHECK_STATUS(tsr_device_synchronize(device), TSR_ERR_TIMEOUT);
  CHECK(tsr_device_is_overdue(device));
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .threads = 1}, &other));  // others go on
  tsr_tensor *y = tsr_ones(other, TSR_F32, TSR_SHAPE(16));
  CHECK_OK(tsr_device_synchronize(other));
  CHECK(!tsr_device_is_overdue(other));
  tsr_release(y);
  tsr_device_release(other);
  tsr_release(x);
  uint64_t start = tsri_clock_ns();
  tsr_device_release(device);
  // Releasing the device does not wait for the whole time-out (400 ms) a second time.
  CHECK(tsri_clock_ns() - start < UINT64_C(300) * 1000 * 1000);
}

TEST(a_time_limit_holds_for_each_of_several_queues) {
  tsr_device *device = open_faulty("slow:60s", 50);
  tsr_queue *queue = NULL;
  tsr_event *event = NULL;
  CHECK_OK(tsr_queue_create(device, &queue));
  float value[16] = {0};
  tsr_scope *scope = tsr_scope_begin_on(queue);
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(16));
  CHECK_OK(tsr_write_async(queue, x, value, sizeof value, &event));
  CHECK_STATUS(tsr_queue_wait(queue), TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("upload");
  CHECK(tsr_device_is_overdue(device));
  CHECK_OK(tsr_scope_end(scope));
  tsr_event_release(event);
  tsr_queue_release(queue);
  tsr_device_release(device);
}

TEST(a_failure_of_queued_work_names_the_operators_at_the_wait) {
  tsr_device *device = open_faulty("wait:3", 0);
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(64)), *y = tsr_exp(x);
  CHECK_OK(tsr_device_synchronize(device));
  CHECK_OK(tsr_device_synchronize(device));
  CHECK_OK(tsr_evaluate(y));
  tsr_buffer *buffer = NULL;
  CHECK_OK(tsr_buffer_create(device, 64, 0, &buffer));
  CHECK_OK(tsr_buffer_fill(buffer, 0, 64, "\0", 1));
  CHECK_STATUS(tsr_device_synchronize(device), TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("in one of the 2 operators queued since the last wait, the newest first: fill, ");
  tsr_buffer_release(buffer);
  tsr_release(y);
  tsr_release(x);
  tsr_device_release(device);
}

TEST(recorded_operators_run_when_they_take_more_host_memory_than_allowed) {
  CHECK_OK(tsr_config_set("pending_bytes", "64KiB"));
  tsr_device *device = open_device();
  CHECK_OK(tsr_config_set("pending_bytes", NULL));
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(4)), *results[400];
  tsr_device_counters before, after;
  CHECK_OK(tsr_device_get_counters(device, &before));
  for (int i = 0; i < 400; i++) results[i] = tsr_mul(x, x);
  CHECK_OK(tsr_device_get_counters(device, &after));
  CHECK(after.launches > before.launches);
  for (int i = 0; i < 400; i++) tsr_release(results[i]);
  tsr_release(x);
  tsr_device_release(device);
}

// --- Several devices --------------------------------------------------------------------------------------------------

static tsr_tensor *square(tsr_tensor *part, tsr_device *device, int index, void *user) {
  ((int64_t *)user)[index] = tsr_tensor_shape(part).dims[0];
  CHECK(tsr_tensor_device(part) == device);
  return tsr_mul(part, part);
}

TEST(a_batch_is_split_over_devices_and_joined_again) {
  tsr_device *devices[3];
  devices[0] = open_device();
  for (int i = 1; i < 3; i++)
    CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu", .threads = 1}, &devices[i]));
  tsr_tensor *batch = tsr_arange(devices[0], TSR_F32, 0, 40, 1), *rows = tsr_reshape(batch, TSR_SHAPE(20, 2));
  int64_t sizes[3] = {0};
  tsr_tensor *whole = tsr_split_batch(rows, devices, 3, (double[]){1, 0, 3}, square, sizes),
             *wanted = tsr_mul(rows, rows);
  bool is_equal = false;
  CHECK_OK(tsr_error(whole));
  CHECK(sizes[0] == 5 && sizes[1] == 0 && sizes[2] == 15);
  CHECK(tsr_tensor_device(whole) == devices[0]);
  CHECK_OK(tsr_equal(whole, wanted, &is_equal));
  CHECK(is_equal);
  tsr_release(whole);
  whole = tsr_split_batch(rows, devices, 3, NULL, square, sizes);
  CHECK(sizes[0] == 7 && sizes[1] == 6 && sizes[2] == 7);
  CHECK_OK(tsr_equal(whole, wanted, &is_equal));
  CHECK(is_equal);
  tsr_tensor *failed = tsr_split_batch(rows, devices, 3, (double[]){0, 0, 0}, square, sizes);
  CHECK_STATUS(tsr_error(failed), TSR_ERR_INVALID_ARGUMENT);
  tsr_release(failed);
  tsr_tensor *none = tsr_slice(rows, 0, 0, 0, 1), *empty = tsr_split_batch(none, devices, 3, NULL, square, sizes);
  CHECK_OK(tsr_error(empty));
  CHECK(tsr_tensor_shape(empty).rank == 2 && tsr_tensor_shape(empty).dims[0] == 0);
  tsr_release(empty);
  tsr_release(none);
  tsr_release(wanted);
  tsr_release(whole);
  tsr_release(rows);
  tsr_release(batch);
  for (int i = 0; i < 3; i++) tsr_device_release(devices[i]);
}
