// SPDX-License-Identifier: MIT
// Once its kernel is built, a queued operator makes exactly one driver call: the launch.
#include <tessera/tessera.h>

#include "backends/cuda/fixture.h"

// Replaces every entry of the driver's table by a function that only notes that it was called.
static const char *first_other = "none";
static int other_calls;

static int note(const char *name) {
  if (other_calls++ == 0) first_other = name;
  return CU_UNKNOWN;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define NOTING(name, exported, parameters) \
  static int CUDA_CALL note_##name parameters { return note(exported); }
CUDA_ENTRY_POINTS(NOTING)
#undef NOTING
#pragma GCC diagnostic pop

// From here on only launching and asking for the current context work; every other call is noted.
static tsri_cuda_api allow_launches_only(void) {
  tsri_cuda_api all = tsri_cu;
#define NOTING(name, exported, parameters) tsri_cu.name = note_##name;
  CUDA_ENTRY_POINTS(NOTING)
#undef NOTING
  tsri_cu.LaunchKernel = all.LaunchKernel;
  tsri_cu.CtxGetCurrent = all.CtxGetCurrent;
  first_other = "none";
  other_calls = 0;
  return all;
}

typedef struct pair {
  tsr_device *device;
  tsr_tensor *a, *b;
} pair;

static pair open_pair(int index) {
  static const float values[4] = {1, 2, 3, 4};
  pair p = {0};
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cuda", .index = index}, &p.device));
  p.a = tsr_from_data(p.device, TSR_F32, TSR_SHAPE(4), values, sizeof values);
  p.b = tsr_from_data(p.device, TSR_F32, TSR_SHAPE(4), values, sizeof values);
  CHECK_OK(tsr_error(p.b));
  return p;
}

static void close_pair(pair *p) {
  tsr_release(p->a);
  tsr_release(p->b);
  tsr_device_release(p->device);
}

static void add_times(const pair *p, int times) {
  for (int i = 0; i < times; i++) {
    tsr_tensor *sum = tsr_add(p->a, p->b);
    if (tsr_evaluate(sum) != TSR_OK) {
      test_fail(__FILE__, __LINE__, "%s (calls but launches: %d, the first of %s)", tsr_last_error(), other_calls,
                first_other);
    }
    tsr_release(sum);
  }
}

static void *current_context(void) {
  cu_context context = NULL;
  CHECK_EQ_INT(tsri_cu.CtxGetCurrent(&context), CU_SUCCESS);
  return context;
}

TEST(a_queued_add_is_one_launch_and_no_other_call) {
  enum { TIMES = 3000 };  // more launches than a driver holds in its queue
  fake_cuda *fake = fixture_use_fake();
  pair p = open_pair(0);
  add_times(&p, 1);
  int before = fake->launches;
  tsri_cuda_api all = allow_launches_only();
  add_times(&p, TIMES);
  tsri_cu = all;
  if (other_calls != 0) test_fail(__FILE__, __LINE__, "%d other calls, the first of %s", other_calls, first_other);
  CHECK_EQ_INT(fake->launches - before, TIMES);
  CHECK_OK(tsr_device_synchronize(p.device));
  close_pair(&p);
  CHECK_EQ_INT(fake->live_buffers, 0);
}

TEST(queued_adds_take_no_more_memory_the_more_there_are) {
  (void)fixture_use_fake();
  pair p = open_pair(0);
  tsr_memory_stats few, many;
  add_times(&p, 2);
  CHECK_OK(tsr_memory_get_stats(p.device, &few));
  add_times(&p, 2000);
  CHECK_OK(tsr_memory_get_stats(p.device, &many));
  CHECK_EQ_UINT(many.peak_bytes, few.peak_bytes);
  CHECK_EQ_UINT(many.held_bytes, few.held_bytes);
  close_pair(&p);
}

TEST(the_first_gpus_context_stays_after_a_launch_and_goes_with_the_device) {
  fake_cuda *fake = fixture_use_fake();
  pair p = open_pair(0);
  CHECK(current_context() == NULL);
  add_times(&p, 1);
  CHECK(current_context() != NULL);
  close_pair(&p);
  CHECK(current_context() == NULL);
  CHECK_EQ_INT(fake->current_contexts, 0);
  CHECK_EQ_INT(fake->retained_contexts, 0);
}

TEST(the_context_of_another_gpu_and_that_of_other_code_are_put_back_after_a_launch) {
  fake_cuda *fake = fixture_use_fake();
  fake->device_count = 2;
  pair first = open_pair(0), second = open_pair(1);
  add_times(&second, 2);
  CHECK(current_context() == NULL);
  add_times(&first, 2);
  void *ours = current_context();
  CHECK(ours != NULL);
  add_times(&second, 2);
  CHECK(current_context() == ours);
  cu_context theirs = NULL, popped = NULL;
  CHECK_EQ_INT(tsri_cu.DevicePrimaryCtxRetain(&theirs, 1), CU_SUCCESS);
  CHECK_EQ_INT(tsri_cu.CtxPushCurrent(theirs), CU_SUCCESS);
  add_times(&first, 2);
  CHECK(current_context() == theirs);
  close_pair(&first);  // another context is current on this thread and must stay so
  CHECK(current_context() == theirs);
  CHECK_EQ_INT(tsri_cu.CtxPopCurrent(&popped), CU_SUCCESS);
  CHECK_EQ_INT(tsri_cu.DevicePrimaryCtxRelease(1), CU_SUCCESS);
  close_pair(&second);
}
