// SPDX-License-Identifier: MIT
// Native operators of the CPU: "copy", from one strided layout to another.
#include <string.h>

#include "backends/cpu/cpu.h"
#include "core/strided.h"

bool tsri_cpu_has_op(tsri_device *device, const tsri_native_op *op) {
  (void)device;
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

static char *memory_of(const tsri_operand *operand) {
  return (char *)tsri_cpu_buffer_host(NULL, operand->buffer) + operand->offset;
}

tsr_status tsri_cpu_run_op(tsri_queue *queue, const tsri_native_op *op) {
  (void)queue;
  const tsri_operand *from = &op->inputs[0], *to = &op->output;
  tsri_layout from_layout = layout_of(from), to_layout = layout_of(to);
  tsri_strided_copy(memory_of(to), &to_layout, memory_of(from), &from_layout, tsr_dtype_bytes(to->dtype));
  return TSR_OK;
}
