// SPDX-License-Identifier: MIT
// The System V calling convention on x86-64 (Linux, macOS).
//
// Arguments are in rdi, rsi, rdx, rcx and r8. The callee may change all vector registers; it must preserve rbx, rbp and r12 to r15.
#include "backends/cpu/jit/x86_convention.h"

static const int stream_regs[] = {X86_R10, X86_R11, X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
enum { STREAM_REGS = sizeof stream_regs / sizeof stream_regs[0], FIRST_SAVED = 2 };

static uint32_t regs_for(uint32_t stream_count) { return stream_count < STREAM_REGS ? stream_count : STREAM_REGS; }

static void enter(machine_code *code, uint32_t stream_count) {
  uint32_t regs = regs_for(stream_count);
  tsri_x86_push(code, X86_RBP);
  tsri_x86_move(code, X86_RBP, X86_RSP);
  for (uint32_t i = FIRST_SAVED; i < regs; i++) tsri_x86_push(code, stream_regs[i]);
  tsri_x86_add(code, X86_RSP, -JIT_FRAME_BYTES);
  tsri_x86_align_down(code, X86_RSP, -64);
  for (uint32_t i = 0; i < regs; i++) tsri_x86_load(code, stream_regs[i], X86_RDI, (int32_t)(8 * i));
}

static void leave(machine_code *code, uint32_t stream_count) {
  uint32_t regs = regs_for(stream_count);
  int32_t pushed = regs > FIRST_SAVED ? (int32_t)(regs - FIRST_SAVED) * 8 : 0;
  tsri_x86_zero_upper(code);
  tsri_x86_address(code, X86_RSP, X86_RBP, -pushed);
  for (uint32_t i = regs; i > FIRST_SAVED; i--) tsri_x86_pop(code, stream_regs[i - 1]);
  tsri_x86_pop(code, X86_RBP);
  tsri_x86_return(code);
}

const x86_convention tsri_x86_system_v = {.streams_reg = X86_RDI,
                                          .scalars_reg = X86_RSI,
                                          .lanes_reg = X86_RDX,
                                          .rounds_reg = X86_RCX,
                                          .steps_reg = X86_R8,
                                          .index_reg = X86_R9,
                                          .address_reg = X86_RAX,
                                          .stream_regs = stream_regs,
                                          .stream_reg_count = STREAM_REGS,
                                          .enter = enter,
                                          .leave = leave};
