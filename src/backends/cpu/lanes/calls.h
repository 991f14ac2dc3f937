// SPDX-License-Identifier: MIT
// An instruction on lanes as a call of a SIMD level's function with its operands' addresses resolved. strip.c and rounds.c use these.
#ifndef TSRI_CPU_LANES_CALLS_H
#define TSRI_CPU_LANES_CALLS_H

#include "backends/cpu/lanes/program.h"

#if defined(__GNUC__)
#define lane_prefetch(address) __builtin_prefetch(address, 0, 2)
#else
#define lane_prefetch(address) ((void)(address))
#endif

typedef enum lane_call_kind { CALL_ARITHMETIC, CALL_F32, CALL_F64, CALL_LOAD, CALL_STORE, CALL_STREAM } lane_call_kind;

typedef struct lane_call {
  lane_call_kind kind;
  union {
    tsri_lane_fn arithmetic;
    tsri_math_f32 f32;
    tsri_math_f64 f64;
    void (*move)(void *dst, const void *src, int64_t stride, uint32_t n);  // CALL_LOAD, CALL_STORE
  };
  uint32_t op;  // CALL_ARITHMETIC: relative to TSRI_LANE_FIRST_MATH
  char *dst;
  const char *a, *b, *c;
  uint8_t dst_bytes, b_bytes, c_bytes;  // bytes from one lane to the next; 0: the same memory for every strip
  uint8_t scalars;                      // bit i: operand a, b, c is a scalar
  int64_t a_bytes;                      // as above; CALL_LOAD: any distance
  int64_t stride;                       // CALL_LOAD: from a lane to the next, in elements
} lane_call;

// Whether the instruction can become a call that processes each lane independently.
static inline bool lane_call_is_arithmetic(const lane_insn *insn, const tsri_lanes_program *p) {
  switch (insn->op) {
    case EXEC_LANES:
    case EXEC_MERGE:
      return true;
    case TSRI_LANE_MATH_F32:
    case TSRI_LANE_MATH_F64:
      return insn->dst >= p->scalar_count;
    default:
      return false;
  }
}

static inline uint8_t lane_bytes_of(const tsri_lanes_program *p, uint32_t reg) {
  if (reg < p->scalar_count || p->is_internal[reg]) return 0;
  return reg < p->scalar_count + p->reg4_count ? 4 : 8;
}

// Makes the call for an instruction for which lane_call_is_arithmetic is true. No lane may be masked.
static inline void lane_call_make(const lane_exec *x, const lane_insn *insn, lane_call *call) {
  const tsri_lanes_program *p = x->program;
  void **reg = x->work->reg;
  *call = (lane_call){.kind = CALL_ARITHMETIC,
                      .op = insn->e,
                      .dst = reg[insn->dst],
                      .a = reg[insn->a],
                      .b = reg[insn->b],
                      .dst_bytes = lane_bytes_of(p, insn->dst),
                      .a_bytes = lane_bytes_of(p, insn->a),
                      .b_bytes = lane_bytes_of(p, insn->b),
                      .scalars = (uint8_t)((insn->a < p->scalar_count) | (insn->b < p->scalar_count) << 1)};
  if (insn->op == TSRI_LANE_MATH_F32) {
    call->kind = CALL_F32;
    call->f32 = x->math->f32[insn->e];
  } else if (insn->op == TSRI_LANE_MATH_F64) {
    call->kind = CALL_F64;
    call->f64 = x->math->f64[insn->e];
  } else {
    call->arithmetic = x->isa->ops[insn->e][insn->form];
    call->c = reg[insn->c];
    call->c_bytes = lane_bytes_of(p, insn->c);
    if (insn->c < p->scalar_count) call->scalars |= 4;
  }
}

// Executes the call for n lanes from lane `at` on.
static inline void lane_call_do(const lane_exec *x, const lane_call *call, size_t at, uint32_t n) {
  void *dst = call->dst + at * call->dst_bytes;
  const void *a = call->a + (int64_t)at * call->a_bytes;
  switch (call->kind) {
    case CALL_ARITHMETIC:
      call->arithmetic(dst, a, call->b + at * call->b_bytes, call->c + at * call->c_bytes, n);
      break;
    case CALL_F32:
      call->f32(dst, a, (const float *)(const void *)(call->b + at * call->b_bytes), n);
      break;
    case CALL_F64:
      call->f64(dst, a, (const double *)(const void *)(call->b + at * call->b_bytes), n);
      break;
    case CALL_LOAD:
      call->move(dst, a, call->stride, n);
      break;
    case CALL_STORE:
      call->move(dst, a, 1, n);
      break;
    case CALL_STREAM:
      x->isa->stream(dst, a, (size_t)n * call->dst_bytes);
      break;
  }
}

#endif
