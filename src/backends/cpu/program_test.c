// SPDX-License-Identifier: MIT
// Programs on the CPU: every group runs once, with the launch's buffers and parameters, on as many threads as asked.
#include <stdatomic.h>

#include "backends/cpu/cpu.h"
#include "support/test.h"

// A CPU device with one queue.
typedef struct rig {
  tsri_device *device;
  tsri_queue *queue;
  tsri_limits limits;
} rig;

static void rig_open(rig *bench_rig, int threads) {
  *bench_rig = (rig){0};
  CHECK_OK(tsri_cpu_device_open(0, &(tsri_open_options){.threads = threads, .native = "all"}, &bench_rig->limits,
                                &bench_rig->device));
  CHECK_OK(tsri_cpu_queue_create(bench_rig->device, &bench_rig->queue));
}

static void rig_close(rig *bench_rig) {
  tsri_cpu_queue_destroy(bench_rig->queue);
  tsri_cpu_device_close(bench_rig->device);
}

static tsr_status build(rig *bench_rig, tsri_host_kernel kernel, uint32_t buffer_count, tsri_program **out_program) {
  tsri_code code = {
      .form = TSRI_CODE_HOST, .name = "claim", .host = kernel, .buffer_count = buffer_count, .local = {4, 2, 1}};
  return tsri_cpu_program_create(bench_rig->device, &code, out_program);
}

static atomic_int wrong_launches;

// params: what to add. out[group] += in[group] + params for each group.
typedef struct add_params {
  int32_t value;
} add_params;

static void add_kernel(const tsri_host_launch *launch, uint64_t first, uint64_t last) {
  const int32_t *in = launch->buffers[0];
  int32_t *out = launch->buffers[1];
  const add_params *params = launch->params;
  bool is_right = launch->local[0] == 4 && launch->local[1] == 2 && launch->local[2] == 1 && first < last;
  if (!is_right) atomic_fetch_add(&wrong_launches, 1);
  for (uint64_t group = first; group < last; group++) out[group] += in[group] + params->value;
}

static void check_groups(rig *bench_rig, tsri_program *program, const uint32_t groups[3]) {
  uint32_t count = groups[0] * groups[1] * groups[2];
  tsri_buffer *in = NULL, *out = NULL;
  CHECK_OK(tsri_cpu_buffer_create(bench_rig->device, 4096, &in));
  CHECK_OK(tsri_cpu_buffer_create(bench_rig->device, 4096, &out));
  int32_t *from = (int32_t *)tsri_cpu_buffer_host(bench_rig->device, in) + 8,
          *to = tsri_cpu_buffer_host(bench_rig->device, out);
  memset(to, 0, 4096);
  for (uint32_t i = 0; i < count; i++) from[i] = (int32_t)i * 3;
  const tsri_binding bindings[] = {{.buffer = in, .offset = 32, .bytes = 1024},
                                   {.buffer = out, .offset = 0, .bytes = 1024, .is_written = true}};
  tsri_launch launch = {.groups = {groups[0], groups[1], groups[2]},
                        .buffer_count = 2,
                        .buffers = bindings,
                        .params = &(add_params){1000}};
  CHECK_OK(tsri_cpu_launch(bench_rig->queue, program, &launch));
  CHECK_OK(tsri_cpu_queue_wait(bench_rig->queue, UINT64_MAX));
  for (uint32_t i = 0; i < count; i++) CHECK_EQ_INT(to[i], (int32_t)i * 3 + 1000);  // once, not twice
  for (uint32_t i = count; i < 1024; i++) CHECK_EQ_INT(to[i], 0);
  tsri_cpu_buffer_destroy(bench_rig->device, in);
  tsri_cpu_buffer_destroy(bench_rig->device, out);
}

TEST(every_group_runs_once_on_any_number_of_threads) {
  static const uint32_t shapes[][3] = {{1, 1, 1}, {2, 1, 1}, {1, 3, 1}, {5, 7, 3}, {105, 1, 1}, {1, 1, 17}};
  for (int threads = 1; threads <= 9; threads++) {
    rig bench_rig;
    rig_open(&bench_rig, threads);
    tsri_program *program = NULL;
    CHECK_OK(build(&bench_rig, add_kernel, 2, &program));
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) check_groups(&bench_rig, program, shapes[i]);
    tsri_cpu_program_destroy(bench_rig.device, program);
    rig_close(&bench_rig);
  }
  CHECK_EQ_INT(wrong_launches, 0);
}

static atomic_int called;
static void needs_nothing(const tsri_host_launch *launch, uint64_t first, uint64_t last) {
  if (!launch->params && last > first) atomic_fetch_add(&called, (int)(last - first));
}

TEST(a_program_may_have_neither_buffers_nor_parameters) {
  rig bench_rig;
  rig_open(&bench_rig, 3);
  tsri_program *program = NULL;
  CHECK_OK(build(&bench_rig, needs_nothing, 0, &program));
  CHECK_OK(tsri_cpu_launch(bench_rig.queue, program, &(tsri_launch){.groups = {4, 5, 1}}));
  CHECK_EQ_INT(called, 20);
  tsri_cpu_program_destroy(bench_rig.device, program);
  rig_close(&bench_rig);
}

static atomic_ullong groups_seen, ranges_seen;
static void count_groups(const tsri_host_launch *launch, uint64_t first, uint64_t last) {
  (void)launch;
  atomic_fetch_add(&groups_seen, last - first);
  atomic_fetch_add(&ranges_seen, 1);
}

TEST(as_many_groups_as_the_limits_allow_are_split_without_overflow) {
  rig bench_rig;
  rig_open(&bench_rig, 7);
  tsri_program *program = NULL;
  CHECK_OK(build(&bench_rig, count_groups, 0, &program));
  tsri_launch launch = {.groups = {bench_rig.limits.max_groups[0], bench_rig.limits.max_groups[1], 1}};
  CHECK_OK(tsri_cpu_launch(bench_rig.queue, program, &launch));
  CHECK_EQ_UINT(groups_seen, (uint64_t)launch.groups[0] * launch.groups[1]);
  CHECK_EQ_UINT(ranges_seen, 7);
  launch = (tsri_launch){.groups = {UINT32_MAX, UINT32_MAX, 3}};
  CHECK_STATUS(tsri_cpu_launch(bench_rig.queue, program, &launch), TSR_ERR_LAUNCH);
  CHECK_LAST_ERROR_HAS("4294967295x4294967295x3 groups");
  tsri_cpu_program_destroy(bench_rig.device, program);
  rig_close(&bench_rig);
}

TEST(what_the_cpu_cannot_run_is_a_build_error) {
  rig bench_rig;
  rig_open(&bench_rig, 1);
  tsri_program *program = NULL;
  tsri_code text = {.form = TSRI_CODE_TEXT, .name = "saxpy", .data = "", .data_bytes = 0};
  CHECK_STATUS(tsri_cpu_program_create(bench_rig.device, &text, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("saxpy");
  CHECK_STATUS(build(&bench_rig, add_kernel, 33, &program), TSR_ERR_BUILD);
  CHECK_LAST_ERROR_HAS("33 buffers, at most 32");
  CHECK(program == NULL);
  rig_close(&bench_rig);
}
