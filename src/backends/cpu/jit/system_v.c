// SPDX-License-Identifier: MIT
// The calling convention of System V on x86-64 (Linux, macOS).
//
// Arguments come in rdi, rsi, rdx, rcx and r8. Vector registers belong to the callee; rbx, rbp and r12 to r15 must be left as they were.
#include "backends/cpu/jit/convention.h"

const int tsri_jit_streams_reg = X86_RDI, tsri_jit_scalars_reg = X86_RSI, tsri_jit_lanes_reg = X86_RDX;
const int tsri_jit_rounds_reg = X86_RCX, tsri_jit_steps_reg = X86_R8;
const int tsri_jit_index_reg = X86_R9, tsri_jit_address_reg = X86_RAX;

static const int stream_regs[] = {X86_R10, X86_R11, X86_RBX, X86_R12, X86_R13, X86_R14, X86_R15};
enum { STREAM_REGS = sizeof stream_regs / sizeof stream_regs[0], FIRST_SAVED = 2 };

int tsri_jit_stream_reg(uint32_t stream) { return stream < STREAM_REGS ? stream_regs[stream] : X86_NONE; }

static uint32_t regs_for(uint32_t stream_count) { return stream_count < STREAM_REGS ? stream_count : STREAM_REGS; }

void tsri_jit_enter(x86_code *code, uint32_t stream_count) {
  uint32_t regs = regs_for(stream_count);
  tsri_x86_push(code, X86_RBP);
  tsri_x86_move(code, X86_RBP, X86_RSP);
  for (uint32_t i = FIRST_SAVED; i < regs; i++) tsri_x86_push(code, stream_regs[i]);
  tsri_x86_add(code, X86_RSP, -JIT_FRAME_BYTES);
  tsri_x86_align_down(code, X86_RSP, -64);
  for (uint32_t i = 0; i < regs; i++) tsri_x86_load(code, stream_regs[i], X86_RDI, (int32_t)(8 * i));
}

void tsri_jit_leave(x86_code *code, uint32_t stream_count) {
  uint32_t regs = regs_for(stream_count);
  int32_t pushed = regs > FIRST_SAVED ? (int32_t)(regs - FIRST_SAVED) * 8 : 0;
  tsri_x86_zero_upper(code);
  tsri_x86_address(code, X86_RSP, X86_RBP, -pushed);
  for (uint32_t i = regs; i > FIRST_SAVED; i--) tsri_x86_pop(code, stream_regs[i - 1]);
  tsri_x86_pop(code, X86_RBP);
  tsri_x86_return(code);
}
