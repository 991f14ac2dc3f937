// SPDX-License-Identifier: MIT
// Times the proposals of a vendor's library for one operator, and stores which is the fastest.
#include "backends/cuda/settle.h"

#include <stdio.h>

#include "backends/common/contest.h"

_Static_assert((int)CUDA_MOST_PROPOSALS <= (int)TSRI_MOST_CONTENDERS, "all proposals can be timed");

cuda_timing tsri_cuda_timing = {.least_work = (int64_t)1 << 27, .longest_ns = 50000000};

// Returns the device's table of choices, opening it at the first call. NULL: timing is not allowed, or host memory is out.
static tsri_choices *choices_of(cuda_device *device) {
  tsri_mutex_lock(&device->library_lock);
  if (!device->choices && device->allows_timing) {
    device->choices = tsri_choices_open(device->vendor->name, &device->info);
  }
  tsri_mutex_unlock(&device->library_lock);
  return device->choices;
}

// --- Timing -----------------------------------------------------------------------------------------------------------------

typedef struct timed {
  cuda_queue *queue;
  const cuda_proposals *proposals;
  cu_event begin, end;
} timed;

// Launches the proposal `count` times in a row. Returns nanoseconds per launch, or a negative number if it does not run.
static double time_launches(const timed *t, int number, int count) {
  cuda_queue *queue = t->queue;
  float ms = -1;
  if (queue->cu->EventRecord(t->begin, queue->stream) != CU_SUCCESS) return -1;
  for (int i = 0; i < count; i++) {
    if (!t->proposals->launch(t->proposals->context, number)) return -1;
  }
  if (queue->cu->EventRecord(t->end, queue->stream) != CU_SUCCESS) return -1;
  if (tsri_cuda_stream_wait(queue, queue->device->timeout_ns) != TSR_OK) return -1;
  return queue->cu->EventElapsedTime(&ms, t->begin, t->end) == CU_SUCCESS ? (double)ms * 1e6 / count : -1;
}

// Returns the time of one launch. A single launch on an idle GPU lasts at least as long as the host takes to queue it, some 10 us. So short work is launched
// several times in a row: then the time per launch is that of the GPU or of the host, whichever is longer, as in a program that queues much work.
static double time_one(void *context, int number) {
  enum { SHORT_NS = 50 * 1000, SHORT_LAUNCHES = 10 };
  double ns = time_launches(context, number, 1);
  return ns >= 0 && ns < SHORT_NS ? time_launches(context, number, SHORT_LAUNCHES) : ns;
}

static void choose_by_time(cuda_queue *queue, const cuda_proposals *proposals, tsri_choice *choice, int *out_chosen) {
  timed t = {.queue = queue, .proposals = proposals};
  double best[TSRI_MOST_CONTENDERS];
  if (queue->cu->EventCreate(&t.begin, 0) == CU_SUCCESS && queue->cu->EventCreate(&t.end, 0) == CU_SUCCESS) {
    tsri_contest contest = {.count = proposals->count,
                            .run = time_one,
                            .context = &t,
                            .rounds = 3,
                            .longest_ns = tsri_cuda_timing.longest_ns,
                            .least_gain = 0.98};
    *out_chosen = tsri_contest_hold(&contest, best);
    tsri_duel duel;
    bool is_found = *out_chosen > 0 && best[0] >= 0;
    if (is_found && !tsri_contest_confirm(&contest, *out_chosen, &duel)) *out_chosen = 0;
    choice->usual_us = best[0] < 0 ? 0 : best[0] * 1e-3;
    choice->chosen_us = best[*out_chosen] < 0 ? 0 : best[*out_chosen] * 1e-3;
  }
  if (t.begin) (void)queue->cu->EventDestroy(t.begin);
  if (t.end) (void)queue->cu->EventDestroy(t.end);
}

// --- Interface --------------------------------------------------------------------------------------------------------------

// Finds the proposal that was stored as the choice for this work. False: none is stored, or the stored one is not among these proposals.
static bool find_stored(tsri_choices *choices, const char *work, int count, int *out_chosen, double *out_us) {
  tsri_choice choice;
  int number = 0;
  if (!tsri_choices_find(choices, work, &choice) || sscanf(choice.choice, "proposal=%d", &number) != 1) return false;
  if (out_us) *out_us = choice.chosen_us;
  if (number < 1 || number > count) return false;
  *out_chosen = number - 1;
  return true;
}

bool tsri_cuda_settle(cuda_queue *queue, const char *operation, const tsri_cache_key *key,
                      const cuda_proposals *proposals, bool may_time, int *out_chosen, double *out_us) {
  tsri_choices *choices = choices_of(queue->device);
  tsri_choice choice = {.choice = ""};
  if (out_us) *out_us = 0;
  if (!choices) return true;
  snprintf(choice.work, sizeof choice.work, "%s, proposals %016llx%016llx", operation,
           (unsigned long long)key->words[0], (unsigned long long)key->words[1]);
  if (find_stored(choices, choice.work, proposals->count, out_chosen, out_us)) return true;
  if (queue->is_recording || !may_time) return false;
  choose_by_time(queue, proposals, &choice, out_chosen);
  if (out_us) *out_us = choice.chosen_us;
  snprintf(choice.choice, sizeof choice.choice, "proposal=%d", *out_chosen + 1);
  tsri_choices_put(choices, &choice);
  return true;
}
