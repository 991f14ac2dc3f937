// SPDX-License-Identifier: MIT
// Fault sweeps of training: every allocation, copy, build, launch and wait of a few steps fails in turn. Each time there is the right
// status, nothing leaks, and the parameters with all of the optimiser's state are those of some whole number of steps.
#include <string.h>

#include "core/alloc.h"
#include "support/devices.h"
#include "support/test.h"

enum { MOST_FAULTS = 3000, STEPS = 2, INPUTS = 6, OUTPUTS = 3, ELEMENTS = OUTPUTS * INPUTS + OUTPUTS, SETS = 3 };

typedef struct training {
  tsr_params *params;
  tsr_optim *optim;
  tsr_tensor *x;
} training;

// Everything that a step changes.
typedef struct snapshot {
  float values[SETS][ELEMENTS];  // parameters, m and v
  int64_t step;
} snapshot;

static tsr_status start(training *t, tsr_device *device) {
  const tsr_param_desc tensors[] = {{.name = "w", .shape = TSR_SHAPE(OUTPUTS, INPUTS), .init = TSR_INIT_HE_NORMAL},
                                    {.name = "b", .shape = TSR_SHAPE(OUTPUTS), .init = TSR_INIT_UNIFORM}};
  const tsr_optim_desc desc = {.kind = TSR_ADAMW, .rate = 0.1, .clip_norm = 1, .loss_scale = {.first = 16}};
  tsr_status status = tsr_params_create(device, TSR_F32, tensors, 2, 1, &t->params);
  if (status == TSR_OK) status = tsr_optim_create(t->params, &desc, &t->optim);
  t->x = tsr_randn(device, TSR_F32, TSR_SHAPE(4, INPUTS), 2);
  return status == TSR_OK ? tsr_evaluate(t->x) : status;
}

static void finish(training *t) {
  tsr_release(t->x);
  tsr_optim_release(t->optim);
  tsr_params_release(t->params);
}

static tsr_status step(const training *t) {
  tsr_scope *scope = tsr_scope_begin(NULL);
  if (!scope) return TSR_ERR_OUT_OF_MEMORY;
  tsr_status status = tsr_grad_begin();
  if (status == TSR_OK) {
    status = tsr_params_watch(t->params);
    tsr_tensor *y = tsr_linear(t->x, tsr_params_find(t->params, "w"), tsr_params_find(t->params, "b"), NULL);
    tsr_tensor *loss = tsr_mean(tsr_square(tsr_tanh(y)), NULL, 0, false);
    tsr_grad_desc desc = {.cotangent = tsr_optim_scale(t->optim)};
    if (status == TSR_OK) status = tsr_params_grad(t->params, loss, &desc);
    tsr_grad_end();
  }
  if (status == TSR_OK) status = tsr_optim_step(t->optim);
  CHECK_OK(tsr_scope_end(scope));
  return status;
}

static void read_set(const tsr_params *set, float *values) {
  tsr_tensor *w = tsr_params_tensor(set, 0), *b = tsr_params_tensor(set, 1);
  CHECK_OK(tsr_read(w, values, OUTPUTS * INPUTS * sizeof *values));
  CHECK_OK(tsr_read(b, values + OUTPUTS * INPUTS, OUTPUTS * sizeof *values));
  tsr_release(w);
  tsr_release(b);
}

static void take(const training *t, snapshot *out) {
  read_set(t->params, out->values[0]);
  read_set(tsr_optim_state(t->optim, "m"), out->values[1]);
  read_set(tsr_optim_state(t->optim, "v"), out->values[2]);
  CHECK_OK(tsr_optim_get_step(t->optim, &out->step));
}

// wanted[i] is the training after i steps.
static void make_wanted(snapshot *wanted) {
  tsr_device *device = test_open("cpu");
  training t = {0};
  CHECK_OK(start(&t, device));
  take(&t, &wanted[0]);
  for (int i = 1; i <= STEPS; i++) {
    CHECK_OK(step(&t));
    take(&t, &wanted[i]);
  }
  finish(&t);
  tsr_device_release(device);
}

static void check_is_whole(const training *t, const snapshot *wanted, int least) {
  snapshot found = {0};
  take(t, &found);
  bool is_whole = false;
  for (int i = least; i <= STEPS && i <= least + 1; i++)
    is_whole = is_whole || memcmp(&found, &wanted[i], sizeof found) == 0;
  CHECK(is_whole);
}

static void check_nothing_is_in_use(tsr_device *device) {
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
}

// Trains until something fails; `*out_done` steps succeeded.
static tsr_status train(training *t, tsr_device *device, int *out_done) {
  *out_done = 0;
  tsr_status status = start(t, device);
  for (int i = 0; i < STEPS && status == TSR_OK; i++) {
    status = step(t);
    if (status == TSR_OK) ++*out_done;
  }
  return status;
}

// Fails the n-th call of a kind for n = 1, 2, … until all gets through, and returns how many there were. `reads`: the device can still be read
// then; `recovers`: only that one call fails.
static int sweep(const char *kind, tsr_status wanted_status, bool reads, bool recovers) {
  snapshot wanted[STEPS + 1];
  memset(wanted, 0, sizeof wanted);
  make_wanted(wanted);
  for (int n = 1; n < MOST_FAULTS; n++) {
    char faults[64];
    snprintf(faults, sizeof faults, "%s:%d%s", kind, n, reads && !recovers ? "+" : "");
    tsr_device *device = test_open_with_faults("cpu", faults);
    training t = {0};
    int done = 0;
    if (reads) CHECK_OK(tsr_memory_trim(device, NULL));  // what opening left would serve without a new allocation
    tsr_clear_error();
    tsr_status status = train(&t, device, &done);
    if (status != TSR_OK) {
      CHECK_STATUS(status, wanted_status);
      CHECK_LAST_ERROR_HAS("on purpose");
      if (reads && t.optim) check_is_whole(&t, wanted, done);
      if (recovers && t.optim) CHECK_OK(step(&t));
    }
    finish(&t);
    if (reads) check_nothing_is_in_use(device);
    tsr_device_release(device);
    if (status == TSR_OK) return n - 1;
  }
  FAIL("training never got through");
}

// --- Captured steps -------------------------------------------------------------------------------------------------------

// Captures the step, which runs it once, and runs it again; `*out_done` steps succeeded.
static tsr_status train_captured(training *t, tsr_device *device, int *out_done) {
  tsr_capture *captured = NULL;
  *out_done = 0;
  tsr_status status = start(t, device);
  if (status == TSR_OK) status = tsr_capture_begin(device);
  if (status != TSR_OK) return status;
  status = step(t);
  tsr_status ended = tsr_capture_end(NULL, 0, status == TSR_OK ? &captured : NULL);
  if (status == TSR_OK) status = ended;
  for (*out_done = status == TSR_OK; *out_done < STEPS && status == TSR_OK; *out_done += status == TSR_OK) {
    status = tsr_capture_run(captured);
    if (status == TSR_OK) status = tsr_device_synchronize(device);
  }
  tsr_capture_release(captured);
  return status;
}

TEST(every_launch_of_a_captured_training_step_may_fail) {
  snapshot wanted[STEPS + 1];
  memset(wanted, 0, sizeof wanted);
  make_wanted(wanted);
  tsr_status status = TSR_ERR_LAUNCH;
  int n = 0, ran_again = 0;
  while (status != TSR_OK && ++n < MOST_FAULTS) {
    char faults[64];
    snprintf(faults, sizeof faults, "launch:%d", n);
    tsr_device *device = test_open_with_faults("cpu", faults);
    training t = {0};
    int done = 0;
    tsr_clear_error();
    status = train_captured(&t, device, &done);
    if (status != TSR_OK) {
      CHECK_STATUS(status, TSR_ERR_LAUNCH);
      ran_again += done > 0;
      if (t.optim) check_is_whole(&t, wanted, done);
      if (t.optim) CHECK_OK(step(&t));
    }
    finish(&t);
    check_nothing_is_in_use(device);
    tsr_device_release(device);
  }
  CHECK(ran_again >= 4);
}

TEST(every_launch_of_a_training_step_may_fail) { CHECK(sweep("launch", TSR_ERR_LAUNCH, true, true) >= 12); }
TEST(every_copy_of_a_training_step_may_fail) { CHECK(sweep("copy", TSR_ERR_INTERNAL, true, true) >= 8); }
TEST(every_build_of_a_training_step_may_fail) { CHECK(sweep("build", TSR_ERR_BUILD, true, true) >= 8); }
TEST(every_buffer_of_a_training_step_may_fail) { CHECK(sweep("alloc", TSR_ERR_OUT_OF_MEMORY, true, false) >= 1); }
TEST(every_call_of_a_training_step_may_lose_the_device) {
  CHECK(sweep("lost", TSR_ERR_DEVICE_LOST, false, false) >= 30);
}

TEST(every_host_allocation_of_a_training_step_may_fail) {
  snapshot wanted[STEPS + 1];
  memset(wanted, 0, sizeof wanted);
  make_wanted(wanted);
  tsr_device *device = test_open("cpu");
  int failures = 0;
  for (uint64_t n = 1; n < MOST_FAULTS; n++) {
    training t = {0};
    CHECK_OK(start(&t, device));
    tsri_alloc_fail_at(n, false);
    tsr_status status = step(&t);
    uint64_t made = tsri_alloc_fail_at(0, false);
    if (status != TSR_OK) {
      CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
      check_is_whole(&t, wanted, 0);
      failures++;
      CHECK_OK(step(&t));
    }
    check_is_whole(&t, wanted, 1);
    finish(&t);
    check_nothing_is_in_use(device);
    if (made < n) {
      tsr_device_release(device);
      CHECK(failures >= 50);
      return;
    }
  }
  FAIL("the step never got through");
}
