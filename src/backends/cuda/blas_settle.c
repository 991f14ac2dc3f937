// SPDX-License-Identifier: MIT
// Finds the fastest of cuBLASLt's proposals for a product: timed once with the product's own operands, then stored on
// disk.
//
// cuBLASLt orders its proposals by a model of the GPU. On an H200 its first proposal is 3 to 5 % slower than another
// of the first eight, for 16-bit products from 2048^3 on.
#include <stdio.h>

#include "backends/common/disk_cache.h"
#include "backends/cuda/blas_plan.h"
#include "core/alloc.h"
#include "core/log.h"

enum {
  MOST_ROUNDS = 3
};                                      // rounds of measurements; each runs every proposal once. One unmeasured round
                                        // before them loads the kernels
static const float least_gain = 0.98F;  // another proposal must need less than this part of the first one's time:
                                        // smaller gains are noise

cuda_timing tsri_cuda_timing = {.least_work = (int64_t)1 << 27, .longest_ns = 50000000};

// --- What an earlier run found ----------------------------------------------------------------------------------------------

// The proposals are part of the cache key, because another version of cuBLASLt proposes different algorithms.
static char *path_for(const cuda_device *device, const blas_plan *plan) {
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, device->name);
  tsri_cache_key_add(&key, &plan->product, sizeof plan->product);
  tsri_cache_key_add(&key, &device->allows_tf32, sizeof device->allows_tf32);
  for (int i = 0; i < plan->proposal_count; i++) {
    tsri_cache_key_add(&key, &plan->proposals[i].algorithm, sizeof plan->proposals[i].algorithm);
  }
  return tsri_cache_path("cublaslt", &key);
}

static bool recall(const char *path, blas_plan *plan) {
  size_t bytes = 0;
  unsigned char *stored = path ? tsri_cache_load(path, &bytes) : NULL;
  bool is_good = stored && bytes == 1 && stored[0] < plan->proposal_count;
  if (is_good) plan->chosen = stored[0];
  tsri_free(stored);
  return is_good;
}

static void remember(const char *path, const blas_plan *plan) {
  unsigned char chosen = (unsigned char)plan->chosen;
  if (path) (void)tsri_cache_store(path, &chosen, 1);
}

// --- Timing -----------------------------------------------------------------------------------------------------------------

typedef struct stopwatch {
  cu_event begin, end;
} stopwatch;

// Returns the time of one run in milliseconds, or a negative number if the proposal does not run or cannot be timed.
static float time_one(cuda_queue *queue, const cuda_blas *blas, const blas_plan *plan,
                      const cuda_product_memory *memory, const lt_choice *choice, const stopwatch *watch) {
  float ms = -1;
  if (choice->state != LT_SUCCESS || tsri_cu.EventRecord(watch->begin, queue->stream) != CU_SUCCESS) return -1;
  if (tsri_cuda_blas_launch(queue, blas, plan, memory, choice) != LT_SUCCESS) return -1;
  if (tsri_cu.EventRecord(watch->end, queue->stream) != CU_SUCCESS) return -1;
  if (tsri_cuda_stream_wait(queue, queue->device->timeout_ns) != TSR_OK) return -1;
  return tsri_cu.EventElapsedTime(&ms, watch->begin, watch->end) == CU_SUCCESS ? ms : -1;
}

// Stores the best time of each proposal in `best`; negative: the proposal failed. The proposals take turns, so that
// changes of the GPU's clock affect all of them alike.
static void time_all(cuda_queue *queue, const cuda_blas *blas, const blas_plan *plan, const cuda_product_memory *memory,
                     const stopwatch *watch, float *best) {
  uint64_t start = tsri_clock_ns();
  for (int i = 0; i < plan->proposal_count; i++) {
    best[i] = time_one(queue, blas, plan, memory, &plan->proposals[i], watch);
  }
  for (int round = 0; round < MOST_ROUNDS && (round == 0 || tsri_clock_ns() - start < tsri_cuda_timing.longest_ns);
       round++) {
    for (int i = 0; i < plan->proposal_count; i++) {
      float ms = best[i] < 0 ? -1 : time_one(queue, blas, plan, memory, &plan->proposals[i], watch);
      if (ms < 0 || round == 0 || ms < best[i]) best[i] = ms;
    }
  }
}

static int fastest_of(const float *best, int count) {
  int found = 0;
  for (int i = 1; i < count; i++) {
    if (best[i] >= 0 && (best[found] < 0 || best[i] < best[found])) found = i;
  }
  return best[0] >= 0 && best[found] > best[0] * least_gain ? 0 : found;
}

static void choose_by_time(cuda_queue *queue, const cuda_blas *blas, blas_plan *plan,
                           const cuda_product_memory *memory) {
  stopwatch watch = {NULL, NULL};
  float best[BLAS_PROPOSALS];
  if (tsri_cu.EventCreate(&watch.begin, 0) == CU_SUCCESS && tsri_cu.EventCreate(&watch.end, 0) == CU_SUCCESS) {
    time_all(queue, blas, plan, memory, &watch, best);
    plan->chosen = fastest_of(best, plan->proposal_count);
    tsri_log(TSR_LOG_DEBUG, "cuda: %s product of %lld x %lld x %lld: proposal %d of %d, %.1f us, the first %.1f us",
             tsr_dtype_name(plan->product.dtype), (long long)plan->product.d.cols, (long long)plan->product.d.rows,
             (long long)(plan->product.a.is_transposed ? plan->product.a.rows : plan->product.a.cols), plan->chosen + 1,
             plan->proposal_count, (double)best[plan->chosen] * 1e3, (double)best[0] * 1e3);
  }
  if (watch.begin) (void)tsri_cu.EventDestroy(watch.begin);
  if (watch.end) (void)tsri_cu.EventDestroy(watch.end);
}

static bool is_worth_it(const blas_plan *plan) {
  const cuda_product *p = &plan->product;
  double inner = (double)(p->a.is_transposed ? p->a.rows : p->a.cols);
  double work = (double)p->batch * (double)p->d.rows * (double)p->d.cols * inner;
  return plan->proposal_count > 1 && work >= (double)tsri_cuda_timing.least_work;
}

void tsri_cuda_blas_settle(cuda_queue *queue, const cuda_blas *blas, blas_plan *plan,
                           const cuda_product_memory *memory) {
  if (!is_worth_it(plan)) {
    plan->is_settled = true;
    return;
  }
  char *path = path_for(queue->device, plan);
  plan->is_settled = recall(path, plan);
  bool adds_to_itself = plan->product.has_c && memory->c == memory->d;
  if (!plan->is_settled && !queue->is_recording && !adds_to_itself) {
    choose_by_time(queue, blas, plan, memory);
    remember(path, plan);
    plan->is_settled = true;
  }
  tsri_free(path);
}
