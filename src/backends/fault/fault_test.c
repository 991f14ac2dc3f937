// SPDX-License-Identifier: MIT
// Fault lists: how they are read, what each kind fails, and from when on.
#include "backends/fault/fault.h"

#include "platform/platform.h"
#include "support/test.h"

extern const tsri_backend tsri_cpu_backend;

// A wrapped CPU device with a queue and a buffer, made before the faults are armed.
typedef struct rig {
  const tsri_backend *backend;
  tsri_device *device;
  tsri_queue *queue;
  tsri_buffer *buffer;
} rig;

enum { RIG_BYTES = 64 };

static tsr_status rig_open(rig *bench_rig, const char *faults) {
  tsri_limits limits;
  *bench_rig = (rig){.backend = &tsri_cpu_backend};
  CHECK_OK(bench_rig->backend->device_open(0, &(tsri_open_options){.threads = 1, .native = "all"}, &limits,
                                           &bench_rig->device));
  const tsri_device *inner = bench_rig->device;
  tsr_status status = tsri_fault_wrap(faults, &bench_rig->backend, &bench_rig->device);
  CHECK((status == TSR_OK) == (bench_rig->device != inner));
  if (status != TSR_OK) {
    CHECK(bench_rig->backend == &tsri_cpu_backend);
    bench_rig->backend->device_close(bench_rig->device);
    return status;
  }
  CHECK_OK(bench_rig->backend->queue_create(bench_rig->device, &bench_rig->queue));
  CHECK_OK(bench_rig->backend->buffer_create(bench_rig->device, RIG_BYTES, &bench_rig->buffer));
  return TSR_OK;
}

static void rig_close(rig *bench_rig) {
  bench_rig->backend->buffer_destroy(bench_rig->device, bench_rig->buffer);
  bench_rig->backend->queue_destroy(bench_rig->queue);
  bench_rig->backend->device_close(bench_rig->device);
}

static tsr_status copy_in(rig *bench_rig) {
  char bytes[RIG_BYTES] = {0};
  return bench_rig->backend->copy_in(bench_rig->queue, bench_rig->buffer, 0, bytes, sizeof bytes);
}

static tsr_status allocate(rig *bench_rig) {
  tsri_buffer *extra = NULL;
  tsr_status status = bench_rig->backend->buffer_create(bench_rig->device, 16, &extra);
  CHECK((status == TSR_OK) == (extra != NULL));
  if (extra) bench_rig->backend->buffer_destroy(bench_rig->device, extra);
  return status;
}

static tsr_status wait_for(rig *bench_rig, uint64_t timeout_ns) {
  return bench_rig->backend->queue_wait(bench_rig->queue, timeout_ns);
}

TEST(good_lists_are_read) {
  static const char *const lists[] = {"alloc:3,copy:2,launch:5,lost:7,slow:20ms",
                                      "wait:1+",
                                      "build:1",
                                      "",
                                      "alloc:18446744073709551615",
                                      "slow:1us",
                                      "slow:1s",
                                      "slow:5",
                                      "slow:4294967295s"};
  for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
    rig bench_rig;
    CHECK_OK(rig_open(&bench_rig, lists[i]));
    CHECK_STR(bench_rig.backend->name, "cpu");
    rig_close(&bench_rig);
  }
}

TEST(bad_lists_name_the_part_and_what_is_allowed) {
  static const struct {
    const char *list, *part;
  } cases[] = {
      {"alloc", "'alloc'"},
      {"alloc:", "'alloc:'"},
      {"alloc:0", "'alloc:0'"},
      {"alloc:-1", "'alloc:-1'"},
      {"alloc:+1", "'alloc:+1'"},
      {"alloc: 1", "'alloc: 1'"},
      {"alloc:1x", "'alloc:1x'"},
      {"alloc:1++", "'alloc:1++'"},
      {"alloc:18446744073709551616", "'alloc:18446744073709551616'"},
      {"alloc:99999999999999999999999999", "'alloc:99999999999999999999999999'"},
      {"copy:2,quake:1,alloc:1", "'quake:1'"},
      {"copy:2;alloc:1", "'copy:2;alloc:1'"},
      {",alloc:1", "''"},
      {"alloc:1,,copy:1", "''"},
      {"allocation:1", "'allocation:1'"},
      {"slow:", "'slow:'"},
      {"slow:0ms", "'slow:0ms'"},
      {"slow:5m", "'slow:5m'"},
      {"slow:5h", "'slow:5h'"},
      {"slow:4294967296", "'slow:4294967296'"},
      {"slow:20ms+", "'slow:20ms+'"},
      {"slow:99999999999999999999999s", "'slow:99999999999999999999999s'"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    rig bench_rig;
    CHECK_STATUS(rig_open(&bench_rig, cases[i].list), TSR_ERR_CONFIG);
    CHECK_LAST_ERROR_HAS(cases[i].part);
    CHECK_LAST_ERROR_HAS("alloc:N, copy:N, build:N, launch:N, wait:N, lost:N");
  }
}

TEST(nothing_fails_before_the_faults_are_armed) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, "alloc:1,copy:1,wait:1,lost:1"));
  CHECK_OK(allocate(&bench_rig));
  CHECK_OK(copy_in(&bench_rig));
  CHECK_OK(wait_for(&bench_rig, UINT64_MAX));
  tsri_fault_arm(bench_rig.device);
  CHECK_STATUS(copy_in(&bench_rig), TSR_ERR_DEVICE_LOST);
  rig_close(&bench_rig);
}

TEST(the_nth_call_fails_and_those_around_it_do_not) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, "copy:2,alloc:3,wait:1"));
  tsri_fault_arm(bench_rig.device);
  CHECK_OK(copy_in(&bench_rig));
  CHECK_STATUS(copy_in(&bench_rig), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("copy number 2 failed on purpose (TESSERA_FAULTS)");
  CHECK_OK(copy_in(&bench_rig));
  CHECK_OK(allocate(&bench_rig));
  CHECK_OK(allocate(&bench_rig));
  CHECK_STATUS(allocate(&bench_rig), TSR_ERR_OUT_OF_MEMORY);
  CHECK_OK(allocate(&bench_rig));
  CHECK_STATUS(wait_for(&bench_rig, UINT64_MAX), TSR_ERR_TIMEOUT);
  CHECK_OK(wait_for(&bench_rig, UINT64_MAX));
  rig_close(&bench_rig);
}

TEST(a_plus_fails_all_that_follow) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, "copy:2+"));
  tsri_fault_arm(bench_rig.device);
  CHECK_OK(copy_in(&bench_rig));
  for (int i = 0; i < 5; i++) CHECK_STATUS(copy_in(&bench_rig), TSR_ERR_INTERNAL);
  CHECK_LAST_ERROR_HAS("copy number 6");
  CHECK_OK(allocate(&bench_rig));
  rig_close(&bench_rig);
}

TEST(fills_and_copies_count_together) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, "copy:3"));
  tsri_fault_arm(bench_rig.device);
  char bytes[RIG_BYTES];
  CHECK_OK(bench_rig.backend->fill(bench_rig.queue, bench_rig.buffer, 0, RIG_BYTES, "a", 1));
  CHECK_OK(bench_rig.backend->copy(bench_rig.queue, bench_rig.buffer, 0, bench_rig.buffer, 32, 32));
  CHECK_STATUS(bench_rig.backend->copy_out(bench_rig.queue, bytes, bench_rig.buffer, 0, RIG_BYTES), TSR_ERR_INTERNAL);
  rig_close(&bench_rig);
}

TEST(a_lost_device_stays_lost) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, "lost:3"));
  tsri_fault_arm(bench_rig.device);
  CHECK_OK(copy_in(&bench_rig));
  CHECK_OK(allocate(&bench_rig));
  CHECK_STATUS(wait_for(&bench_rig, UINT64_MAX), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(copy_in(&bench_rig), TSR_ERR_DEVICE_LOST);
  CHECK_STATUS(allocate(&bench_rig), TSR_ERR_DEVICE_LOST);
  rig_close(&bench_rig);
}

static void do_nothing(const tsri_host_launch *launch, uint64_t first, uint64_t last) {
  (void)launch;
  (void)first;
  (void)last;
}

TEST(builds_and_launches_fail_with_their_own_status) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, "build:2,launch:2"));
  tsri_fault_arm(bench_rig.device);
  tsri_code code = {.form = TSRI_CODE_HOST, .name = "nothing", .host = do_nothing, .local = {1, 1, 1}};
  tsri_launch launch = {.groups = {1, 1, 1}};
  tsri_program *program = NULL, *none = NULL;
  CHECK_OK(bench_rig.backend->program_create(bench_rig.device, &code, &program));
  CHECK_STATUS(bench_rig.backend->program_create(bench_rig.device, &code, &none), TSR_ERR_BUILD);
  CHECK(none == NULL);
  CHECK_OK(bench_rig.backend->launch(bench_rig.queue, program, &launch));
  CHECK_STATUS(bench_rig.backend->launch(bench_rig.queue, program, &launch), TSR_ERR_LAUNCH);
  CHECK_OK(bench_rig.backend->launch(bench_rig.queue, program, &launch));
  bench_rig.backend->program_destroy(bench_rig.device, program);
  rig_close(&bench_rig);
}

// How long the wait for one copy on a slow device takes.
static uint64_t time_slow_copy(const char *faults) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, faults));
  tsri_fault_arm(bench_rig.device);
  uint64_t start = tsri_clock_ns();
  CHECK_OK(copy_in(&bench_rig));
  CHECK_OK(wait_for(&bench_rig, UINT64_MAX));
  uint64_t taken = tsri_clock_ns() - start;
  rig_close(&bench_rig);
  return taken;
}

TEST(slow_takes_milliseconds_unless_told_otherwise) {
  CHECK(time_slow_copy("slow:20") >= 20000000);
  CHECK(time_slow_copy("slow:20ms") >= 20000000);
  CHECK(time_slow_copy("slow:300us") >= 300000);
}

TEST(slow_work_adds_up_and_times_out) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, "slow:1s"));
  tsri_fault_arm(bench_rig.device);
  CHECK_OK(wait_for(&bench_rig, 0));  // nothing was queued yet
  CHECK_OK(copy_in(&bench_rig));
  CHECK_OK(copy_in(&bench_rig));
  CHECK_STATUS(wait_for(&bench_rig, 1000000), TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("ms more than the 1 ms allowed");
  rig_close(&bench_rig);
}

TEST(very_slow_work_does_not_wrap_around_to_quick) {
  rig bench_rig;
  CHECK_OK(rig_open(&bench_rig, "slow:4294967295s"));
  tsri_fault_arm(bench_rig.device);
  for (int i = 0; i < 8; i++) CHECK_OK(copy_in(&bench_rig));
  CHECK_STATUS(wait_for(&bench_rig, 1000), TSR_ERR_TIMEOUT);
  rig_close(&bench_rig);
}

TEST(what_the_inner_backend_lacks_the_wrapper_lacks_too) {
  extern const tsri_backend tsri_null_backend;
  const tsri_backend *backend = &tsri_null_backend;
  tsri_device *device = NULL;
  tsri_limits limits = {0};
  CHECK_OK(backend->device_open(0, &(tsri_open_options){0}, &limits, &device));
  CHECK_OK(tsri_fault_wrap("alloc:1", &backend, &device));
  CHECK(!backend->launch && !backend->has_op && !backend->buffer_host && !backend->event_create);
  backend->device_close(device);
}
