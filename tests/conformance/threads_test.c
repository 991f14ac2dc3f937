// SPDX-License-Identifier: MIT
// Eight threads at once on shared devices: create, view, move, read, release. Meant to be run under TSan too.
#include <pthread.h>
#include <stdatomic.h>

#include "support/devices.h"
#include "support/test.h"

enum { THREADS = 8, ROUNDS = 200 };

typedef struct shared_state {
  tsr_device *devices[2];
  tsr_tensor *common;  // read by all, retained and released by all
  atomic_int failures;
} shared_state;

typedef struct worker {
  shared_state *shared;
  int number;
} worker;

static bool one_round(shared_state *shared, int number, int round) {
  tsr_device *here = shared->devices[(number + round) % 2], *there = shared->devices[(number + round + 1) % 2];
  tsr_scope *scope = tsr_scope_begin(here);
  tsr_tensor *mine = tsr_full(here, TSR_I32, TSR_SHAPE(3, 5), number * 1000 + round);
  tsr_tensor *moved = tsr_to(tsr_transpose(mine, 0, 1), there);
  tsr_tensor *common = tsr_to(tsr_retain(shared->common), there);
  int32_t values[15], numbers[8];
  bool is_good = tsr_read(moved, values, sizeof values) == TSR_OK && values[14] == number * 1000 + round;
  is_good = is_good && tsr_read(common, numbers, sizeof numbers) == TSR_OK && numbers[7] == 7;
  is_good = is_good && tsr_error(tsr_reshape(mine, TSR_SHAPE(4))) == TSR_ERR_SHAPE;
  if (round % 50 == 0) is_good = is_good && tsr_memory_trim(here, NULL) == TSR_OK;
  tsr_release(shared->common);
  return tsr_scope_end(scope) == TSR_OK && is_good;
}

static void *work(void *user) {
  worker *task = user;
  for (int round = 0; round < ROUNDS; round++) {
    if (!one_round(task->shared, task->number, round)) atomic_fetch_add(&task->shared->failures, 1);
  }
  return NULL;
}

static void hammer(tsr_device *a, tsr_device *b) {
  shared_state shared = {.devices = {a, b}, .common = tsr_arange(a, TSR_I32, 0, 8, 1)};
  pthread_t threads[THREADS];
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){&shared, i};
    CHECK(pthread_create(&threads[i], NULL, work, &workers[i]) == 0);
  }
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_EQ_INT(shared.failures, 0);
  tsr_release(shared.common);
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(a, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
}

TEST(eight_threads_hammer_two_devices) {
  tsr_device *cpu = test_open("cpu"), *null = test_open("null");
  hammer(cpu, null);
  tsr_device_release(cpu);
  tsr_device_release(null);
}

static void *open_and_close(void *user) {
  atomic_int *failures = user;
  for (int i = 0; i < 20; i++) {
    tsr_device *device = NULL;
    tsr_discovery *found = NULL;
    if (tsr_device_open(NULL, &device) != TSR_OK || tsr_discover(&found) != TSR_OK) atomic_fetch_add(failures, 1);
    tsr_discovery_release(found);
    tsr_device_release(device);
  }
  return NULL;
}

TEST(eight_threads_open_and_discover_devices) {
  atomic_int failures = 0;
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, open_and_close, &failures) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_EQ_INT(failures, 0);
}
