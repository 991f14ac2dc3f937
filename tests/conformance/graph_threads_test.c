// SPDX-License-Identifier: MIT
// Eight threads that build and read graphs over shared tensors. Meant to be run under TSan too.
#include <pthread.h>
#include <stdatomic.h>

#include "support/devices.h"
#include "support/test.h"

enum { THREADS = 8, ROUNDS = 100, SIZE = 24 };

typedef struct shared_state {
  tsr_device *device;
  tsr_tensor *weights;  // computed
  tsr_tensor *pending;  // recorded; the first thread that reads it runs it
  atomic_int failures;
} shared_state;

static bool one_round(shared_state *shared, int round) {
  tsr_scope *scope = tsr_scope_begin(shared->device);
  tsr_tensor *mine = tsr_full(shared->device, TSR_F32, TSR_SHAPE(SIZE), round);
  tsr_tensor *sum = tsr_sum(tsr_mul(tsr_add(mine, shared->pending), shared->weights), NULL, 0, false);
  float value = 0;
  bool is_good = tsr_read(sum, &value, sizeof value) == TSR_OK && value == (float)(SIZE * 2 * (round + 6));
  return tsr_scope_end(scope) == TSR_OK && is_good;
}

static void *work(void *user) {
  shared_state *shared = user;
  for (int round = 0; round < ROUNDS; round++) {
    if (!one_round(shared, round)) atomic_fetch_add(&shared->failures, 1);
  }
  return NULL;
}

TEST(eight_threads_build_and_read_graphs_that_share_tensors) {
  shared_state shared = {.device = test_open("cpu")};
  shared.weights = tsr_full(shared.device, TSR_F32, TSR_SHAPE(SIZE), 2);
  tsr_tensor *triple = tsr_mul_scalar(shared.weights, 3);
  shared.pending = tsr_relu(triple);
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, &shared) == 0);
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_EQ_INT(shared.failures, 0);
  tsr_release(triple);
  tsr_release(shared.pending);
  tsr_release(shared.weights);
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(shared.device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
  tsr_device_release(shared.device);
}
