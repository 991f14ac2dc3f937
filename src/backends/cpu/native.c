// SPDX-License-Identifier: MIT
// Native operators of the CPU: "copy", from one strided layout to another, and "sum" (sum.c).
#include <string.h>

#include "backends/cpu/cpu.h"
#include "core/strided.h"

bool tsri_cpu_has_op(tsri_device *device, const tsri_native_op *op) {
  (void)device;
  if (strcmp(op->name, "sum") == 0) return tsri_cpu_has_sum(op);
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

static void copy_strided(const tsri_queue *queue, const tsri_native_op *op) {
  enum { WORTH_A_THREAD = 1 << 18 };  // bytes; below, starting threads takes longer than the copy
  const tsri_operand *from = &op->inputs[0], *to = &op->output;
  tsri_layout from_layout = layout_of(from), to_layout = layout_of(to);
  char *to_memory = tsri_cpu_operand_host(to), *from_memory = tsri_cpu_operand_host(from);
  size_t element = tsr_dtype_bytes(to->dtype);
  if (to_layout.count == 0) return;
  int axis = longest_axis(to->shape);
  int64_t size = to->shape.rank ? to->shape.dims[axis] : 1, parts = ((const cpu_device *)queue)->threads;
  if (to_layout.count * (int64_t)element < WORTH_A_THREAD) parts = 1;
  if (parts > size) parts = size;
  if (parts == 1) {  // without OpenMP, which takes longer to start one thread than a small copy takes
    tsri_strided_copy(to_memory, &to_layout, from_memory, &from_layout, element);
    return;
  }
#if defined(_OPENMP)
#pragma omp parallel for num_threads((int)parts) schedule(static)
#endif
  for (int64_t part = 0; part < parts; part++) {
    int64_t first = size * part / parts, last = size * (part + 1) / parts;
    tsri_layout to_part = part_of(to_layout, axis, first, last), from_part = part_of(from_layout, axis, first, last);
    tsri_strided_copy(to_memory, &to_part, from_memory, &from_part, element);
  }
}

tsr_status tsri_cpu_run_op(tsri_queue *queue, const tsri_native_op *op) {
  if (strcmp(op->name, "sum") == 0) tsri_cpu_sum((const cpu_device *)queue, op);
  else copy_strided(queue, op);
  return TSR_OK;
}
