// SPDX-License-Identifier: MIT
// Native operators of the CPU: "copy", from one strided layout to another, "sum" (sum.c), "matmul" and "linear" (product/).
#include <string.h>

#include "backends/cpu/cpu.h"
#include "core/strided.h"
#include "platform/parallel.h"

bool tsri_cpu_has_op(tsri_device *device, const tsri_native_op *op) {
  (void)device;
  if (strcmp(op->name, "sum") == 0) return tsri_cpu_has_sum(op);
  if (tsri_cpu_has_product(op)) return true;
  return strcmp(op->name, "copy") == 0 && op->inputs[0].dtype == op->output.dtype;
}

static tsri_layout layout_of(const tsri_operand *operand) {
  tsri_layout layout = {.shape = operand->shape, .count = 1};
  for (int i = 0; i < operand->shape.rank; i++) {
    layout.strides[i] = operand->strides[i];
    layout.count *= operand->shape.dims[i];
  }
  return layout;
}

char *tsri_cpu_operand_host(const tsri_operand *operand) {
  return (char *)tsri_cpu_buffer_host(NULL, operand->buffer) + operand->offset;
}

// The longest axis is cut into parts, one for each thread.
static int longest_axis(tsr_shape shape) {
  int longest = 0;
  for (int i = 1; i < shape.rank; i++) {
    if (shape.dims[i] > shape.dims[longest]) longest = i;
  }
  return longest;
}

static tsri_layout part_of(tsri_layout layout, int axis, int64_t first, int64_t last) {
  if (layout.shape.rank == 0) return layout;
  layout.offset += first * layout.strides[axis];
  layout.count = layout.count / layout.shape.dims[axis] * (last - first);
  layout.shape.dims[axis] = last - first;
  return layout;
}

typedef struct strided_job {
  char *to_memory, *from_memory;
  tsri_layout to, from;
  size_t element;  // bytes
  int axis;        // that is cut into parts
  int64_t parts;
} strided_job;

static void copy_part(void *user, int part) {
  const strided_job *job = user;
  int64_t size = job->to.shape.rank ? job->to.shape.dims[job->axis] : 1;
  int64_t first = size * part / job->parts, last = size * (part + 1) / job->parts;
  tsri_layout to = part_of(job->to, job->axis, first, last), from = part_of(job->from, job->axis, first, last);
  tsri_strided_copy(job->to_memory, &to, job->from_memory, &from, job->element);
}

static void copy_strided(const cpu_device *device, const tsri_native_op *op) {
  enum { WORTH_A_THREAD = 1 << 18 };  // bytes; below, waking threads takes longer than the copy
  const tsri_operand *from = &op->inputs[0], *to = &op->output;
  strided_job job = {.to_memory = tsri_cpu_operand_host(to),
                     .from_memory = tsri_cpu_operand_host(from),
                     .to = layout_of(to),
                     .from = layout_of(from),
                     .element = tsr_dtype_bytes(to->dtype),
                     .axis = longest_axis(to->shape),
                     .parts = device->threads};
  if (job.to.count == 0) return;
  int64_t size = to->shape.rank ? to->shape.dims[job.axis] : 1;
  if (job.to.count * (int64_t)job.element < WORTH_A_THREAD) job.parts = 1;
  if (job.parts > size) job.parts = size;
  tsri_parallel((int)job.parts, (int)job.parts, copy_part, &job);
}

tsr_status tsri_cpu_run_op(tsri_queue *queue, const tsri_native_op *op) {
  cpu_device *device = (cpu_device *)queue;
  if (tsri_cpu_has_product(op)) return tsri_cpu_product(device, op);
  if (strcmp(op->name, "sum") == 0) tsri_cpu_sum(device, op);
  else copy_strided(device, op);
  return TSR_OK;
}
