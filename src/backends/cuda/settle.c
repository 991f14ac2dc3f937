// SPDX-License-Identifier: MIT
// Times the proposals of a vendor's library for one operator, and stores which is the fastest.
#include "backends/cuda/settle.h"

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

static bool recall(const char *path, int count, int *out_chosen) {
  size_t bytes = 0;
  unsigned char *stored = path ? tsri_cache_load(path, &bytes) : NULL;
  bool is_good = stored && bytes == 1 && stored[0] < count;
  if (is_good) *out_chosen = stored[0];
  tsri_free(stored);
  return is_good;
}

static void remember(const char *path, int chosen) {
  unsigned char byte = (unsigned char)chosen;
  if (path) (void)tsri_cache_store(path, &byte, 1);
}

// --- Timing -----------------------------------------------------------------------------------------------------------------

typedef struct stopwatch {
  cu_event begin, end;
} stopwatch;

// Returns the time of one run in milliseconds, or a negative number if the proposal does not run or cannot be timed.
static float time_one(cuda_queue *queue, const cuda_proposals *proposals, int number, const stopwatch *watch) {
  float ms = -1;
  if (queue->cu->EventRecord(watch->begin, queue->stream) != CU_SUCCESS) return -1;
  if (!proposals->launch(proposals->context, number)) return -1;
  if (queue->cu->EventRecord(watch->end, queue->stream) != CU_SUCCESS) return -1;
  if (tsri_cuda_stream_wait(queue, queue->device->timeout_ns) != TSR_OK) return -1;
  return queue->cu->EventElapsedTime(&ms, watch->begin, watch->end) == CU_SUCCESS ? ms : -1;
}

// Stores the best time of each proposal in `best`; negative: the proposal failed. The proposals take turns, so that
// changes of the GPU's clock affect all of them alike.
static void time_all(cuda_queue *queue, const cuda_proposals *proposals, const stopwatch *watch, float *best) {
  uint64_t start = tsri_clock_ns();
  for (int i = 0; i < proposals->count; i++) best[i] = time_one(queue, proposals, i, watch);
  for (int round = 0; round < MOST_ROUNDS && (round == 0 || tsri_clock_ns() - start < tsri_cuda_timing.longest_ns);
       round++) {
    for (int i = 0; i < proposals->count; i++) {
      float ms = best[i] < 0 ? -1 : time_one(queue, proposals, i, watch);
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

static void choose_by_time(cuda_queue *queue, const char *stem, const cuda_proposals *proposals, int *out_chosen) {
  stopwatch watch = {NULL, NULL};
  float best[CUDA_MOST_PROPOSALS];
  if (queue->cu->EventCreate(&watch.begin, 0) == CU_SUCCESS && queue->cu->EventCreate(&watch.end, 0) == CU_SUCCESS) {
    time_all(queue, proposals, &watch, best);
    *out_chosen = fastest_of(best, proposals->count);
    tsri_log(TSR_LOG_DEBUG, "%s: proposal %d of %d, %.1f us, the first %.1f us", stem, *out_chosen + 1,
             proposals->count, (double)best[*out_chosen] * 1e3, (double)best[0] * 1e3);
  }
  if (watch.begin) (void)queue->cu->EventDestroy(watch.begin);
  if (watch.end) (void)queue->cu->EventDestroy(watch.end);
}

bool tsri_cuda_settle(cuda_queue *queue, const char *stem, const tsri_cache_key *key, const cuda_proposals *proposals,
                      bool may_time, int *out_chosen) {
  char *path = tsri_cache_path(stem, key);
  bool is_settled = recall(path, proposals->count, out_chosen);
  if (!is_settled && !queue->is_recording && may_time) {
    choose_by_time(queue, stem, proposals, out_chosen);
    remember(path, *out_chosen);
    is_settled = true;
  }
  tsri_free(path);
  return is_settled;
}
