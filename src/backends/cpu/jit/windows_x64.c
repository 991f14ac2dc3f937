// SPDX-License-Identifier: MIT
// The Windows calling convention on x86-64.
//
// Arguments are in rcx, rdx, r8 and r9; the fifth is on the stack, above 32 bytes that belong to the callee, which must preserve rbx, rbp, rdi, rsi, r12 to r15
// and the low halves of xmm6 to xmm15. The stack grows page by page: each page must be touched before the next one.
#include "backends/cpu/jit/x86_convention.h"

static const int stream_regs[] = {X86_R10, X86_R11, X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
enum {
  STREAM_REGS = sizeof stream_regs / sizeof stream_regs[0],
  FIRST_SAVED = 2,
  STEPS_ARGUMENT = 16 + 32,  // from rbp: after rbp, the return address and the callee's bytes
  FIRST_VECTOR = 6,
  LAST_VECTOR = 15,
  VECTOR_BYTES = 16,
  VECTORS_BYTES = (LAST_VECTOR - FIRST_VECTOR + 1) * VECTOR_BYTES
};

static uint32_t regs_for(uint32_t stream_count) { return stream_count < STREAM_REGS ? stream_count : STREAM_REGS; }

// Saves or restores the vector registers, above the frame for spilled vectors.
static void move_vectors(machine_code *code, x86_insn insn) {
  for (int i = FIRST_VECTOR; i <= LAST_VECTOR; i++) {
    x86_operand place = x86_memory(X86_RSP, JIT_FRAME_BYTES + (i - FIRST_VECTOR) * VECTOR_BYTES);
    tsri_x86_vector(code, insn, X86_128, i, X86_NONE, place, X86_NONE);
  }
}

static void enter(machine_code *code, uint32_t stream_count) {
  uint32_t regs = regs_for(stream_count);
  tsri_x86_push(code, X86_RBP);
  tsri_x86_move(code, X86_RBP, X86_RSP);
  tsri_x86_push(code, X86_RDI);
  tsri_x86_push(code, X86_RSI);
  for (uint32_t i = FIRST_SAVED; i < regs; i++) tsri_x86_push(code, stream_regs[i]);
  tsri_x86_add(code, X86_RSP, -(VECTORS_BYTES + 64));
  tsri_x86_align_down(code, X86_RSP, -64);
  tsri_x86_add_to_memory(code, X86_RSP, 0, X86_RAX);  // touches the page
  tsri_x86_add(code, X86_RSP, -JIT_FRAME_BYTES);
  move_vectors(code, X86_VMOVUPS_STORE);
  tsri_x86_load(code, X86_RDI, X86_RBP, STEPS_ARGUMENT);
  for (uint32_t i = 0; i < regs; i++) tsri_x86_load(code, stream_regs[i], X86_RCX, (int32_t)(8 * i));
}

static void leave(machine_code *code, uint32_t stream_count) {
  uint32_t regs = regs_for(stream_count);
  int32_t pushed = regs > FIRST_SAVED ? (int32_t)(regs - FIRST_SAVED) * 8 : 0;
  move_vectors(code, X86_VMOVUPS);
  tsri_x86_zero_upper(code);
  tsri_x86_address(code, X86_RSP, X86_RBP, -pushed - 16);
  for (uint32_t i = regs; i > FIRST_SAVED; i--) tsri_x86_pop(code, stream_regs[i - 1]);
  tsri_x86_pop(code, X86_RSI);
  tsri_x86_pop(code, X86_RDI);
  tsri_x86_pop(code, X86_RBP);
  tsri_x86_return(code);
}

const x86_convention tsri_x86_windows = {.streams_reg = X86_RCX,
                                         .scalars_reg = X86_RDX,
                                         .lanes_reg = X86_R8,
                                         .rounds_reg = X86_R9,
                                         .steps_reg = X86_RDI,
                                         .index_reg = X86_RAX,
                                         .address_reg = X86_RSI,
                                         .stream_regs = stream_regs,
                                         .stream_reg_count = STREAM_REGS,
                                         .enter = enter,
                                         .leave = leave};
