// SPDX-License-Identifier: MIT
// Scopes and the ownership of results.
#include <tessera/scope.h>

#include <pthread.h>

#include "support/devices.h"
#include "support/test.h"

static uint64_t in_use(tsr_device *device) {
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  return stats.in_use_bytes;
}

TEST(results_go_with_their_scope) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  for (int i = 0; i < 100; i++) CHECK_OK(tsr_error(tsr_zeros(device, TSR_F32, TSR_SHAPE(8))));
  CHECK(in_use(device) > 0);
  CHECK_OK(tsr_scope_end(scope));
  CHECK_EQ_UINT(in_use(device), 0);
  tsr_device_release(device);
}

TEST(what_is_kept_outlives_the_scope) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *first = tsr_full(device, TSR_I32, TSR_SHAPE(1), 1);
  tsr_tensor *kept = tsr_keep(tsr_full(device, TSR_I32, TSR_SHAPE(1), 2));
  tsr_tensor *last = tsr_full(device, TSR_I32, TSR_SHAPE(1), 3);
  CHECK(first != kept && kept != last);
  CHECK(tsr_keep(kept) == kept);
  CHECK_OK(tsr_scope_end(scope));
  int32_t value = 0;
  CHECK_OK(tsr_read(kept, &value, sizeof value));
  CHECK_EQ_INT(value, 2);
  tsr_release(kept);
  CHECK(tsr_keep(NULL) == NULL);
  CHECK_EQ_UINT(in_use(device), 0);
  tsr_device_release(device);
}

TEST(releasing_what_a_scope_owns_takes_it_out) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *a = tsr_ones(device, TSR_F32, TSR_SHAPE(4)), *b = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  tsr_release(a);
  CHECK_OK(tsr_error(b));
  CHECK_OK(tsr_scope_end(scope));
  CHECK_EQ_UINT(in_use(device), 0);
  tsr_device_release(device);
}

TEST(a_retained_tensor_outlives_the_scope) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(NULL);
  tsr_tensor *tensor = tsr_retain(tsr_ones(device, TSR_F32, TSR_SHAPE(4)));
  CHECK_OK(tsr_scope_end(scope));
  CHECK_OK(tsr_error(tensor));
  tsr_release(tensor);
  CHECK_EQ_UINT(in_use(device), 0);
  tsr_device_release(device);
}

TEST(ending_a_scope_ends_those_inside_it) {
  tsr_device *device = test_open("cpu");
  tsr_scope *outer = tsr_scope_begin(device), *inner = tsr_scope_begin(device);
  tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  CHECK_OK(tsr_scope_end(outer));
  CHECK_EQ_UINT(in_use(device), 0);
  CHECK_STATUS(tsr_scope_end(inner), TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_scope_end(NULL));
  tsr_device_release(device);
}

TEST(a_scope_keeps_its_device_open) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_device_release(device);
  CHECK_OK(tsr_error(tsr_ones(device, TSR_F32, TSR_SHAPE(4))));
  CHECK_OK(tsr_scope_end(scope));
}

static void *end_elsewhere(void *scope) { return (void *)(intptr_t)tsr_scope_end(scope); }

TEST(a_scope_belongs_to_its_thread) {
  tsr_scope *scope = tsr_scope_begin(NULL);
  pthread_t thread;
  void *status = NULL;
  CHECK(pthread_create(&thread, NULL, end_elsewhere, scope) == 0);
  CHECK(pthread_join(thread, &status) == 0);
  CHECK_STATUS((tsr_status)(intptr_t)status, TSR_ERR_INVALID_ARGUMENT);
  CHECK_OK(tsr_scope_end(scope));
}
