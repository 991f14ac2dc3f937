// SPDX-License-Identifier: MIT
// The kernel cache: kernels in use stay, and a program that keeps making new expressions does not fill memory.
#include "graph/kernels.h"

#include <math.h>
#include <pthread.h>
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "graph/node.h"
#include "support/devices.h"
#include "support/test.h"

enum { LINKS = 12, KEPT_BUILDS = 1024, MANY = 3000 };

static uint64_t builds;
static void count_build(const tsri_kernel *kernel) {
  (void)kernel;
  builds++;
}

// Runs a chain of operators that is different for each `number`, and so needs its own kernel. Checks the result if it
// succeeded. `fail_at`: which allocation of the run fails; 0: none. `*out_made` is the number of allocations.
static tsr_status try_chain(tsr_device *device, uint32_t number, uint64_t fail_at, uint64_t *out_made) {
  tsr_scope *scope = tsr_scope_begin(device);
  float is[2], wanted[2] = {1.5f, -2};
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2), wanted, sizeof wanted);
  for (uint32_t i = 0; i < LINKS; i++) {
    bool is_floor = number >> i & 1;
    x = is_floor ? tsr_floor(x) : tsr_neg(x);
    for (int k = 0; k < 2; k++) wanted[k] = is_floor ? floorf(wanted[k]) : -wanted[k];
  }
  tsri_alloc_fail_at(fail_at, false);
  tsr_status status = tsr_read(x, is, sizeof is);
  *out_made = tsri_alloc_fail_at(0, false);
  if (status == TSR_OK) CHECK(is[0] == wanted[0] && is[1] == wanted[1]);
  CHECK_OK(tsr_scope_end(scope));
  return status;
}

static void run_chain(tsr_device *device, uint32_t number) {
  uint64_t made = 0;
  CHECK_OK(try_chain(device, number, 0, &made));
}

TEST(kernels_that_are_not_used_for_long_are_dropped) {
  tsr_device *device = test_open("cpu");
  tsri_built_watch = count_build;
  builds = 0;
  for (uint32_t i = 0; i < MANY; i++) run_chain(device, i);
  CHECK_EQ_UINT(builds, MANY);
  CHECK(tsri_kernel_cache_generated(tsri_graph_of(device)->kernels) <= 2 * KEPT_BUILDS);
  for (uint32_t i = MANY - KEPT_BUILDS; i < MANY; i++) run_chain(device, i);  // these are still cached
  CHECK_EQ_UINT(builds, MANY);
  run_chain(device, 0);  // this one was dropped
  CHECK_EQ_UINT(builds, MANY + 1);
  tsri_built_watch = NULL;
  tsr_device_release(device);
}

// Pretends that the driver keeps a megabyte for each program.
TEST(kernels_are_dropped_by_the_memory_they_take) {
  enum { KEPT_BYTES = 128 << 20, COUNT = 700, KEPT = 100 };
  tsr_device *device = test_open("cpu");
  device->limits.program_bytes = 1 << 20;
  tsri_built_watch = count_build;
  builds = 0;
  for (uint32_t i = 0; i < COUNT; i++) {
    run_chain(device, i);
    CHECK(tsri_kernel_cache_bytes(tsri_graph_of(device)->kernels) <= (size_t)2 * KEPT_BYTES + (2 << 20));
  }
  CHECK(tsri_kernel_cache_generated(tsri_graph_of(device)->kernels) <= 2 * (KEPT_BYTES >> 20) + 2);
  CHECK_EQ_UINT(builds, COUNT);
  for (uint32_t i = COUNT - KEPT; i < COUNT; i++) run_chain(device, i);  // these are still cached
  CHECK_EQ_UINT(builds, COUNT);
  run_chain(device, 0);  // this one was dropped
  CHECK_EQ_UINT(builds, COUNT + 1);
  tsri_built_watch = NULL;
  tsr_device_release(device);
}

TEST(a_few_kernels_stay_however_large_they_are) {
  enum { FEW = 16 };
  tsr_device *device = test_open("cpu");
  device->limits.program_bytes = 100 << 20;
  tsri_built_watch = count_build;
  builds = 0;
  for (uint32_t i = 0; i < 5 * FEW; i++) run_chain(device, i % FEW);
  CHECK_EQ_UINT(builds, FEW);
  tsri_built_watch = NULL;
  tsr_device_release(device);
}

TEST(a_kernel_in_use_stays_however_many_others_come) {
  tsr_device *device = test_open("cpu");
  tsri_built_watch = count_build;
  builds = 0;
  for (uint32_t i = 0; i < MANY; i++) {
    run_chain(device, i);
    if (i % 500 == 0) run_chain(device, 7);
  }
  CHECK_EQ_UINT(builds, MANY);
  tsri_built_watch = NULL;
  tsr_device_release(device);
}

// A kernel in the launch cache (repeat.h) is launched without a lookup in the kernel cache.
TEST(a_form_that_is_launched_again_and_again_keeps_its_kernel) {
  tsr_device *device = test_open("cpu");
  const float values[2] = {3, 4};
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2), values, sizeof values);
  for (uint32_t i = 0; i < MANY; i++) {
    run_chain(device, i);
    if (i % 100 != 0) continue;
    float is[2];
    tsr_tensor *sum = tsr_add(x, x);
    CHECK_OK(tsr_read(sum, is, sizeof is));
    CHECK(is[0] == 6 && is[1] == 8);
    tsr_release(sum);
  }
  tsr_release(x);
  tsr_device_release(device);
}

TEST(a_capture_keeps_its_kernels) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  const float values[2] = {3, -4};
  float is[2];
  tsr_tensor *x = tsr_from_data(device, TSR_F32, TSR_SHAPE(2), values, sizeof values);
  CHECK_OK(tsr_evaluate(tsr_sub(x, x)));  // now in the launch cache, from which the capture launches it
  tsr_capture *step = NULL;
  CHECK_OK(tsr_capture_begin(device));
  tsr_tensor *y = tsr_sqrt(tsr_abs(tsr_mul(x, x))), *zero = tsr_sub(x, x);
  tsr_tensor *both[] = {y, zero};
  CHECK_OK(tsr_capture_end(both, 2, &step));
  tsri_repeats *repeats = &tsri_graph_of(device)->repeats;
  memset(repeats, 0, sizeof *repeats);  // as if other launches had replaced these entries
  for (uint32_t i = 0; i < MANY; i++) run_chain(device, i);
  CHECK_OK(tsr_write(x, (const float[]){-5, 6}, sizeof values));
  CHECK_OK(tsr_capture_run(step));
  CHECK_OK(tsr_read(y, is, sizeof is));
  CHECK(is[0] == 5 && is[1] == 6);
  CHECK_OK(tsr_read(zero, is, sizeof is));
  CHECK(is[0] == 0 && is[1] == 0);
  tsr_capture_release(step);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(no_memory_to_drop_kernels_means_that_they_stay) {
  tsr_device *device = test_open("cpu");
  for (uint32_t i = 0; i < 2 * KEPT_BUILDS; i++) run_chain(device, i);
  tsri_kernel_cache *cache = tsri_graph_of(device)->kernels;
  uint64_t made = 0;
  for (uint64_t n = 1; made >= n - 1; n++) {
    size_t before = tsri_kernel_cache_generated(cache);
    tsr_status status = try_chain(device, 3000, n, &made);
    CHECK(status == TSR_OK || status == TSR_ERR_OUT_OF_MEMORY);
    CHECK(tsri_kernel_cache_generated(cache) <= before + 1);
  }
  CHECK_EQ_UINT(tsri_kernel_cache_generated(cache), 2 * KEPT_BUILDS + 1);
  run_chain(device, 3001);
  CHECK(tsri_kernel_cache_generated(cache) < 2 * KEPT_BUILDS);
  tsr_device_release(device);
}

enum { THREADS = 3 };
typedef struct worker {
  pthread_t thread;
  tsr_device *device;
  uint32_t first;
} worker;

static void *run_every_third(void *argument) {
  const worker *task = argument;
  for (uint32_t i = task->first; i < MANY; i += THREADS) run_chain(task->device, i);
  return NULL;
}

TEST(threads_launch_kernels_while_others_are_dropped) {
  tsr_device *device = test_open("cpu");
  worker workers[THREADS];
  for (uint32_t i = 0; i < THREADS; i++) {
    workers[i] = (worker){.device = device, .first = i};
    CHECK_EQ_INT(pthread_create(&workers[i].thread, NULL, run_every_third, &workers[i]), 0);
  }
  for (uint32_t i = 0; i < THREADS; i++) CHECK_EQ_INT(pthread_join(workers[i].thread, NULL), 0);
  CHECK(tsri_kernel_cache_generated(tsri_graph_of(device)->kernels) <= 2 * KEPT_BUILDS);
  tsr_device_release(device);
}
