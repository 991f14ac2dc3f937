// SPDX-License-Identifier: MIT
// Tests through the public API that need a real GPU; skipped if there is none. Define GPU_BACKEND, the backend's name, before
// including this file in a gpu_test.c. Each test runs in its own process.
#ifndef TSRI_COMMON_GPU_TESTING_H
#define TSRI_COMMON_GPU_TESTING_H

#include <pthread.h>

#include <tessera/tessera.h>

#include "support/test.h"

static tsr_device *open_gpu_with(uint32_t timeout_ms) {
  tsr_device *device = NULL;
  tsr_status status = tsr_device_open(&(tsr_device_desc){.backend = GPU_BACKEND, .timeout_ms = timeout_ms}, &device);
  if (status == TSR_ERR_UNAVAILABLE || status == TSR_ERR_NOT_FOUND) SKIP("there is no GPU of " GPU_BACKEND " here");
  CHECK_OK(status);
  return device;
}

static tsr_device *open_gpu(void) { return open_gpu_with(0); }

static void check_that_it_works(tsr_device *device) {
  float values[3] = {1, 2, 3}, out[3] = {0};
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(3), values, sizeof values), *y = tsr_mul(x, x);
  CHECK_OK(tsr_read(y, out, sizeof out));
  for (int i = 0; i < 3; i++) CHECK_NEAR(out[i], values[i] * values[i], 0);
  tsr_release(x);
  tsr_release(y);
}

TEST(asking_for_more_than_there_is_gives_a_status_and_work_goes_on) {
  tsr_device *device = open_gpu();
  tsr_buffer *buffer = NULL;
  CHECK_STATUS(tsr_buffer_create(device, (size_t)300 << 30, 0, &buffer), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("300.0 GiB");
  check_that_it_works(device);
  tsr_tensor *huge = tsr_full(device, TSR_F32, TSR_SHAPE(INT64_C(300) << 28), 1.0), *sum = tsr_add(huge, huge);
  CHECK_STATUS(tsr_evaluate(sum), TSR_ERR_OUT_OF_MEMORY);
  tsr_release(huge);
  tsr_release(sum);
  check_that_it_works(device);
  tsr_device_release(device);
}

// Allocates large buffers until memory runs out, frees them, and goes on working.
TEST(memory_that_runs_out_piece_by_piece_comes_back) {
  tsr_device *device = open_gpu();
  enum { MOST = 512 };
  tsr_buffer *pieces[MOST];
  int count = 0;
  tsr_status status = TSR_OK;
  while (count < MOST && status == TSR_OK) {
    status = tsr_buffer_create(device, (size_t)2 << 30, 0, &pieces[count]);
    if (status == TSR_OK) count++;
  }
  CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
  CHECK(count > 0);
  while (count > 0) tsr_buffer_release(pieces[--count]);
  check_that_it_works(device);
  tsr_device_release(device);
}

static const char stray[] = "kernel stray<WG = 64>(out f32 y[], u32 at) { y[at + global.x * 65536u] = 1.0; }\n";

TEST(an_index_out_of_range_is_an_error_in_checked_mode_and_the_device_stays) {
  tsr_device *device = open_gpu();
  tsr_kernel *kernel = NULL;
  tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(64));
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = stray, .is_checked = true}, &kernel));
  tsr_arg args[] = {tsr_arg_tensor(y), tsr_arg_int(INT64_C(4000000000))};
  tsr_status status = tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, args, 2);
  if (status == TSR_OK) status = tsr_device_synchronize(device);
  CHECK_STATUS(status, TSR_ERR_LAUNCH);
  check_that_it_works(device);
  tsr_kernel_release(kernel);
  tsr_release(y);
  tsr_device_release(device);
}

static void *work(void *device) {
  for (int i = 0; i < 50; i++) {
    tsr_tensor *x = tsr_full(device, TSR_F32, TSR_SHAPE(1000 + i), 2.0), *y = tsr_mul(x, x),
               *sum = tsr_sum(y, NULL, 0, false);
    float value = 0;
    bool is_right = tsr_read(sum, &value, sizeof value) == TSR_OK && value == 4.0f * (float)(1000 + i);
    tsr_release(x);
    tsr_release(y);
    tsr_release(sum);
    if (!is_right) return "wrong";
  }
  return NULL;
}

TEST(four_threads_use_one_gpu_at_once) {
  tsr_device *device = open_gpu();
  pthread_t threads[4];
  void *result = NULL;
  for (int i = 0; i < 4; i++) CHECK_EQ_INT(pthread_create(&threads[i], NULL, work, device), 0);
  for (int i = 0; i < 4; i++) {
    CHECK_EQ_INT(pthread_join(threads[i], &result), 0);
    CHECK(result == NULL);
  }
  tsr_device_release(device);
}

TEST(a_wait_times_out_while_a_gpu_works) {
  tsr_device *device = open_gpu_with(20);
  tsr_status status = TSR_OK;
  static const char slow[] =
      "kernel slow<WG = 64>(inout f32 y[], u32 n) {\n"
      "  f32 v = y[local.x];\n"
      "  for (u32 i = 0; i < n; i++) v = sin(v) + 1.0;\n"
      "  y[local.x] = v;\n"
      "}\n";
  tsr_kernel *kernel = NULL;
  float values[64];
  tsr_tensor *y = tsr_zeros(device, TSR_F32, TSR_SHAPE(64));
  CHECK_OK(tsr_read(y, values, sizeof values));
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = slow}, &kernel));
  tsr_arg args[] = {tsr_arg_tensor(y), tsr_arg_int(10000000)};
  CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, args, 2));
  CHECK_STATUS(tsr_device_synchronize(device), TSR_ERR_TIMEOUT);
  for (int i = 0; i < 2000 && status != TSR_ERR_DEVICE_LOST; i++) {
    status = tsr_device_synchronize(device);
    if (status == TSR_OK) break;
  }
  CHECK_OK(status);
  tsr_kernel_release(kernel);
  tsr_release(y);
  tsr_device_release(device);
}

static void *close_device(void *device) {
  tsr_device_release(device);
  return NULL;
}

TEST(a_device_closed_on_another_thread_can_be_opened_and_used_again) {
  for (int i = 0; i < 3; i++) {
    pthread_t other;
    tsr_device *device = open_gpu();
    check_that_it_works(device);
    CHECK_EQ_INT(pthread_create(&other, NULL, close_device, device), 0);
    CHECK_EQ_INT(pthread_join(other, NULL), 0);
  }
}

#endif
