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

uint32_t tsri_jit_operands(const jit_op *op, jit_value out[3]) {
  switch ((jit_kind)op->kind) {
    case JIT_LOAD:
    case JIT_CONST:
    case JIT_SCALAR:
    case JIT_CONST_64:
    case JIT_SCALAR_64:
      return 0;
    case JIT_STORE:
    case JIT_UNARY:
    case JIT_SHIFT:
    case JIT_ROUND_F16:
    case JIT_WIDEN:
      out[0] = op->a;
      return 1;
    case JIT_BINARY:
    case JIT_COMPARE:
    case JIT_NARROW:
      out[0] = op->a;
      out[1] = op->b;
      return 2;
    case JIT_FMA:
    case JIT_SELECT:
      out[0] = op->a;
      out[1] = op->b;
      out[2] = op->c;
      return 3;
  }
  return 0;
}

void tsri_jit_interleave(const jit_ir *ir, uint32_t parts, jit_ir *out) {
  *out =
      (jit_ir){.target = ir->target, .parts = (uint8_t)parts, .failed = ir->failed, .needs_scratch = ir->needs_scratch};
  jit_value *numbers = tsri_calloc((size_t)ir->count * parts + 1, sizeof *numbers);  // by value and part
  if (!numbers) out->failed = true;
  for (uint32_t i = 0; i < ir->count && !out->failed; i++) {
    bool is_shared = jit_is_in_memory(&ir->ops[i]);
    for (uint32_t part = 0; part < parts; part++) {
      jit_op op = ir->ops[i];
      op.part = (uint8_t)part;
      op.a = numbers[op.a * parts + part];
      op.b = numbers[op.b * parts + part];
      op.c = numbers[op.c * parts + part];
      numbers[i * parts + part] = is_shared && part > 0 ? numbers[i * parts] : tsri_jit_add(out, op);
    }
  }
  tsri_free(numbers);
}

jit_value tsri_jit_in_memory(jit_ir *ir, jit_kind kind, uint32_t number) {
  for (uint32_t i = 0; i < ir->count; i++) {
    if (ir->ops[i].kind == kind && ir->ops[i].number == number) return (jit_value)i;
  }
  return tsri_jit_add(ir, (jit_op){.kind = (uint8_t)kind, .number = number});
}

jit_value tsri_jit_const_64(jit_ir *ir, uint64_t bits) {
  uint32_t low = (uint32_t)bits, high = (uint32_t)(bits >> 32);
  for (uint32_t i = 0; i < ir->count; i++) {
    const jit_op *op = &ir->ops[i];
    if (op->kind == JIT_CONST_64 && op->number == low && op->high == high) return (jit_value)i;
  }
  return tsri_jit_add(ir, (jit_op){.kind = JIT_CONST_64, .number = low, .high = high});
}
