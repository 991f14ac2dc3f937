// SPDX-License-Identifier: MIT
// Fault sweeps over queues: two of them, pinned memory, copies that do not wait, events and a callback, with the 1st, 2nd, … n-th
// allocation, copy, build, launch, wait or use of an event failing. Each time: a status, no leak, and a callback that was promised is called once.
#include <stdatomic.h>
#include <string.h>

#include "core/alloc.h"
#include "platform/platform.h"
#include "support/devices.h"
#include "support/test.h"

enum { COUNT = 256, MOST_STEPS = 2000 };

typedef struct program {
  tsr_queue *copies, *work;
  tsr_event *written, *done, *marked;
  float *in, *out;  // pinned where the device can
  atomic_int calls;
  bool is_promised;  // the callback will be called
} program;

static void called(tsr_status status, void *user) {
  (void)status;
  atomic_fetch_add(&((program *)user)->calls, 1);
}

static tsr_status begin(tsr_device *device, program *p) {
  size_t bytes = COUNT * sizeof(float);
  tsr_status status = tsr_queue_create(device, &p->copies);
  if (status == TSR_OK) status = tsr_queue_create(device, &p->work);
  if (status == TSR_OK) status = tsr_host_alloc(device, bytes, (void **)&p->in);
  if (status == TSR_OK) status = tsr_host_alloc(device, bytes, (void **)&p->out);
  for (int i = 0; i < COUNT && status == TSR_OK; i++) p->in[i] = (float)i, p->out[i] = -1;
  return status;
}

static tsr_status compute(tsr_device *device, program *p) {
  size_t bytes = COUNT * sizeof(float);
  tsr_scope *scope = tsr_scope_begin_on(p->work);
  if (!scope) return tsr_last_error_status();
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(COUNT));
  tsr_status status = tsr_write_async(p->copies, x, p->in, bytes, &p->written);
  if (status == TSR_OK) status = tsr_queue_await(p->work, p->written);
  tsr_tensor *y = tsr_add_scalar(tsr_cumsum(x, 0), 1);
  if (status == TSR_OK) status = tsr_evaluate(y);
  if (status == TSR_OK) status = tsr_read_async(p->copies, y, p->out, bytes, &p->done);
  if (status == TSR_OK) {
    status = tsr_event_then(p->done, called, p);
    p->is_promised = status == TSR_OK;
  }
  if (status == TSR_OK) status = tsr_queue_record(p->work, &p->marked);
  if (status == TSR_OK) status = tsr_event_wait(p->marked);
  if (status == TSR_OK) status = tsr_event_wait(p->done);
  if (status == TSR_OK) CHECK_NEAR(p->out[COUNT - 1], COUNT * (COUNT - 1) / 2 + 1, 0);
  if (status == TSR_OK) status = tsr_queue_wait(p->copies);
  CHECK_OK(tsr_scope_end(scope));
  return status;
}

static void end(tsr_device *device, program *p) {
  tsr_event_release(p->written);
  tsr_event_release(p->done);
  tsr_event_release(p->marked);
  tsr_queue_release(p->copies);
  tsr_queue_release(p->work);
  (void)tsr_device_synchronize(device);
  CHECK_OK(tsr_host_free(p->in));
  CHECK_OK(tsr_host_free(p->out));
}

// A callback comes in any case, from a thread of the library.
static int calls_of(program *p) {
  const uint64_t most_ms = 5000;
  for (uint64_t i = 0; i < most_ms && p->is_promised && atomic_load(&p->calls) == 0; i++) tsri_sleep_ns(1000000);
  return atomic_load(&p->calls);
}

static tsr_status scenario(tsr_device *device) {
  program p = {0};
  tsr_status status = begin(device, &p);
  if (status == TSR_OK) status = compute(device, &p);
  CHECK_EQ_INT(calls_of(&p), p.is_promised);
  end(device, &p);
  return status;
}

// Fails the n-th call of `kind` for n = 1, 2, … up to `most`, and checks that the scenario then gets through. Returns how often it failed: the library
// copes with some faults itself.
static int sweep(const char *backend, const char *kind, tsr_status wanted, int most) {
  int failures = 0;
  for (int n = 1; n <= most + 1; n++) {
    char faults[64];
    snprintf(faults, sizeof faults, "%s:%d", kind, n);
    tsr_device *device = test_open_with_faults(backend, faults);
    (void)tsr_memory_trim(
        device,
        NULL);  // what the self-test left would serve without a new allocation; its wait may be the one that fails
    tsr_status status = scenario(device);
    if (status != TSR_OK) CHECK_STATUS(status, wanted);
    if (status != TSR_OK) CHECK_LAST_ERROR_HAS("on purpose");
    failures += status != TSR_OK;
    tsr_memory_stats stats;
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
    tsr_device_release(device);
    // How often an event is asked depends on time, so these are not used up.
    bool is_endless = strcmp(kind, "event") == 0 || strcmp(kind, "lost") == 0;
    if (n > most && !is_endless) CHECK_OK(status);
  }
  return failures;
}

// Each kind is used less often than this in the scenario.
enum { MOST_USES = 24 };

static void sweep_backend(const char *backend) {
  CHECK(sweep(backend, "copy", TSR_ERR_INTERNAL, MOST_USES) >= 2);
  CHECK(sweep(backend, "launch", TSR_ERR_LAUNCH, MOST_USES) >= 1);
  CHECK(sweep(backend, "event", TSR_ERR_INTERNAL, 2 * MOST_USES) >= 1);
  CHECK(sweep(backend, "lost", TSR_ERR_DEVICE_LOST, 2 * MOST_USES) >= 4);
  (void)sweep(backend, "wait", TSR_ERR_TIMEOUT, MOST_USES);
  (void)sweep(backend, "alloc", TSR_ERR_OUT_OF_MEMORY, MOST_USES);
  (void)sweep(backend, "build", TSR_ERR_BUILD, MOST_USES);
}

TEST(every_call_of_a_program_with_two_queues_may_fail_on_the_cpu) { sweep_backend("cpu"); }

TEST(every_host_allocation_of_a_program_with_two_queues_may_fail) {
  int failures = 0;
  tsr_device *device = test_open("cpu");
  CHECK_OK(scenario(device));  // kernels are built before allocations fail
  for (uint64_t n = 1; n < MOST_STEPS; n++) {
    tsri_alloc_fail_at(n, false);
    tsr_status status = scenario(device);
    uint64_t made = tsri_alloc_fail_at(0, false);
    if (status != TSR_OK) CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    failures += status != TSR_OK;
    if (made >= n) continue;
    CHECK(failures >= 10);
    tsr_device_release(device);
    return;
  }
  FAIL("the scenario never got through");
}
