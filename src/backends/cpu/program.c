// SPDX-License-Identifier: MIT
// Programs on the CPU: lane bytecode, or C functions of the process. Their groups are divided among the cores.
#include "backends/cpu/cpu.h"
#include "backends/cpu/lanes/lanes.h"
#include "backends/cpu/later.h"
#include "core/alloc.h"
#include "core/error.h"
#include "platform/parallel.h"

typedef struct cpu_program {
  tsri_host_kernel run;       // NULL: bytecode
  tsri_lanes_program *lanes;  // NULL: a C function
  uint32_t buffer_count, params_bytes;
  uint32_t local[3];
} cpu_program;

enum { MAX_BUFFERS = 32 };

static tsr_status create(const tsri_code *code, cpu_program *program) {
  program->buffer_count = code->buffer_count;
  program->params_bytes = code->params_bytes;
  for (int i = 0; i < 3; i++) program->local[i] = code->local[i];
  if (code->form == TSRI_CODE_WORDS) return tsri_lanes_prepare(code->data, code->data_bytes, &program->lanes);
  program->run = code->host;
  return TSR_OK;
}

tsr_status tsri_cpu_program_create(tsri_device *device, const tsri_code *code, tsri_program **out_program) {
  (void)device;
  if (code->form != TSRI_CODE_HOST && code->form != TSRI_CODE_WORDS) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: the CPU runs lane bytecode and host functions, not text", code->name);
  }
  if (code->buffer_count > MAX_BUFFERS) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u buffers, at most %d are allowed", code->name, code->buffer_count,
                     MAX_BUFFERS);
  }
  cpu_program *program = tsri_calloc(1, sizeof *program);
  if (!program) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", code->name);
  tsr_status status = create(code, program);
  if (status != TSR_OK) {
    tsri_free(program);
    return status;
  }
  *out_program = (tsri_program *)program;
  return TSR_OK;
}

void tsri_cpu_program_destroy(tsri_device *device, tsri_program *program) {
  (void)device;
  tsri_lanes_release(((cpu_program *)program)->lanes);
  tsri_free(program);
}

typedef struct host_job {
  tsri_host_kernel run;
  const tsri_host_launch *launch;
  uint64_t each, more;  // groups of a part; the first `more` parts have one more
} host_job;

static void run_part(void *user, int part) {
  const host_job *job = user;
  uint64_t at = (uint64_t)part, first = at * job->each + (at < job->more ? at : job->more);
  job->run(job->launch, first, first + job->each + (at < job->more));
}

static void run_groups(const cpu_program *program, const tsri_host_launch *launch, uint64_t group_count, int threads) {
  if (group_count == 0) return;
  uint64_t parts = group_count < (uint64_t)threads ? group_count : (uint64_t)threads;
  host_job job = {program->run, launch, group_count / parts, group_count % parts};
  tsri_parallel((int)parts, (int)parts, run_part, &job);
}

// Computes the product of the three numbers. False: it overflows.
static bool count_groups(const uint32_t groups[3], uint64_t *out_count) {
  uint64_t plane = (uint64_t)groups[0] * groups[1];
  if (plane != 0 && groups[2] > UINT64_MAX / plane) return false;
  *out_count = plane * groups[2];
  return true;
}

static char *memory_of(const tsri_binding *binding) {
  return (char *)tsri_cpu_buffer_host(NULL, binding->buffer) + binding->offset;
}

static tsr_status launch_host(const cpu_device *device, const cpu_program *program, const tsri_launch *launch,
                              uint64_t group_count) {
  void *buffers[MAX_BUFFERS];
  for (uint32_t i = 0; i < program->buffer_count; i++) buffers[i] = memory_of(&launch->buffers[i]);
  tsri_host_launch host = {.buffers = buffers, .params = launch->params};
  for (int i = 0; i < 3; i++) {
    host.groups[i] = launch->groups[i];
    host.local[i] = program->local[i];
  }
  run_groups(program, &host, group_count, device->threads);
  return TSR_OK;
}

static tsr_status launch_lanes(cpu_device *device, const cpu_program *program, const tsri_launch *launch) {
  tsri_lanes_buffer buffers[MAX_BUFFERS];
  for (uint32_t i = 0; i < program->buffer_count; i++) {
    buffers[i] = (tsri_lanes_buffer){memory_of(&launch->buffers[i]), launch->buffers[i].bytes};
  }
  tsri_lanes_launch lanes = {
      .buffers = buffers,
      .buffer_count = program->buffer_count,
      .params = launch->params,
      .params_bytes = program->params_bytes,
      .groups = {launch->groups[0], launch->groups[1], launch->groups[2]},
      .threads = device->threads,
      .engine = tsri_cpu_engine(device),
      .timeout_ns = device->timeout_ns == UINT64_MAX ? 0 : device->timeout_ns,
  };
  return tsri_lanes_run(program->lanes, &lanes);
}

tsr_status tsri_cpu_launch(tsri_queue *queue, tsri_program *program, const tsri_launch *launch) {
  const cpu_program *lane_program = (const cpu_program *)program;
  cpu_device *device = (cpu_device *)queue;
  if (device->later) return tsri_cpu_later_launch(device, program, launch, lane_program->params_bytes);
  return tsri_cpu_launch_now(device, program, launch);
}

tsr_status tsri_cpu_launch_now(cpu_device *device, const tsri_program *program, const tsri_launch *launch) {
  const cpu_program *lane_program = (const cpu_program *)program;
  uint64_t group_count = 0;
  if (!count_groups(launch->groups, &group_count)) {
    return TSRI_FAIL(TSR_ERR_LAUNCH, "cpu: %ux%ux%u groups are more than can be counted", launch->groups[0],
                     launch->groups[1], launch->groups[2]);
  }
  return lane_program->lanes ? launch_lanes(device, lane_program, launch)
                             : launch_host(device, lane_program, launch, group_count);
}
