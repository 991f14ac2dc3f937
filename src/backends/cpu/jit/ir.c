// SPDX-License-Identifier: MIT
// The list of operations.
#include "backends/cpu/jit/ir.h"

#include "core/alloc.h"

void tsri_jit_ir_deinit(jit_ir *ir) {
  tsri_free(ir->ops);
  *ir = (jit_ir){0};
}

jit_value tsri_jit_add(jit_ir *ir, jit_op op) {
  if (ir->count == ir->room && !ir->failed) {
    uint32_t room = ir->room == 0 ? 128 : ir->room * 2;
    ir->is_too_large = room > JIT_MOST_OPS;
    jit_op *ops = ir->is_too_large ? NULL : tsri_realloc(ir->ops, room * sizeof *ops);
    if (ops) {
      ir->ops = ops;
      ir->room = room;
    } else {
      ir->failed = true;
    }
  }
  if (ir->failed) return 0;
  ir->ops[ir->count] = op;
  return (jit_value)ir->count++;
}

jit_value tsri_jit_in_memory(jit_ir *ir, jit_kind kind, uint32_t number) {
  for (uint32_t i = 0; i < ir->count; i++) {
    if (ir->ops[i].kind == kind && ir->ops[i].number == number) return (jit_value)i;
  }
  return tsri_jit_add(ir, (jit_op){.kind = (uint8_t)kind, .number = number});
}
