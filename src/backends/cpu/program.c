// SPDX-License-Identifier: MIT
// Programs on the CPU: C functions of the process, their groups spread over the cores.
#include "backends/cpu/cpu.h"
#include "core/alloc.h"
#include "core/error.h"

typedef struct cpu_program {
  tsri_host_kernel run;
  uint32_t buffer_count;
  uint32_t local[3];
} cpu_program;

enum { MAX_BUFFERS = 32 };

tsr_status tsri_cpu_program_create(tsri_device *device, const tsri_code *code, tsri_program **out_program) {
  (void)device;
  if (code->form != TSRI_CODE_HOST) return TSRI_FAIL(TSR_ERR_BUILD, "%s: the CPU runs host functions only", code->name);
  if (code->buffer_count > MAX_BUFFERS) {
    return TSRI_FAIL(TSR_ERR_BUILD, "%s: %u buffers, at most %d are allowed", code->name, code->buffer_count,
                     MAX_BUFFERS);
  }
  cpu_program *program = tsri_calloc(1, sizeof *program);
  if (!program) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for its program", code->name);
  program->run = code->host;
  program->buffer_count = code->buffer_count;
  for (int i = 0; i < 3; i++) program->local[i] = code->local[i];
  *out_program = (tsri_program *)program;
  return TSR_OK;
}

void tsri_cpu_program_destroy(tsri_device *device, tsri_program *program) {
  (void)device;
  tsri_free(program);
}

static void run_groups(const cpu_program *program, const tsri_host_launch *launch, uint64_t group_count, int threads) {
  int64_t parts = group_count < (uint64_t)threads ? (int64_t)group_count : threads;
#if defined(_OPENMP)
#pragma omp parallel for num_threads(threads) schedule(static) if (parts > 1)
#endif
  for (int64_t part = 0; part < parts; part++) {
    uint64_t first = group_count * (uint64_t)part / (uint64_t)parts;
    uint64_t last = group_count * ((uint64_t)part + 1) / (uint64_t)parts;
    program->run(launch, first, last);
  }
}

tsr_status tsri_cpu_launch(tsri_queue *queue, tsri_program *program, const tsri_launch *launch) {
  const cpu_program *own = (const cpu_program *)program;
  void *buffers[MAX_BUFFERS];
  for (uint32_t i = 0; i < own->buffer_count; i++) {
    const tsri_binding *binding = &launch->buffers[i];
    buffers[i] = (char *)tsri_cpu_buffer_host(NULL, binding->buffer) + binding->offset;
  }
  tsri_host_launch host = {.buffers = buffers, .params = launch->params};
  uint64_t group_count = 1;
  for (int i = 0; i < 3; i++) {
    host.groups[i] = launch->groups[i];
    host.local[i] = own->local[i];
    group_count *= launch->groups[i];
  }
  run_groups(own, &host, group_count, ((cpu_device *)queue)->threads);
  return TSR_OK;
}
