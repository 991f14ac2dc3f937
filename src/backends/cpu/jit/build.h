// SPDX-License-Identifier: MIT
// The state of translating a run (build.c, build_64.c).
#ifndef TSRI_CPU_JIT_BUILD_H
#define TSRI_CPU_JIT_BUILD_H

#include "backends/cpu/jit/jit.h"
#include "backends/cpu/jit/pair.h"

// What a lane register holds at this point of the run. For 64-bit types, `value` is the first half of the lanes and `high` the second half.
typedef struct held {
  jit_value value, high;
  bool is_known, is_mask;
  bool is_bf16;  // an f32 that a bf16 holds exactly: its low 16 bits are 0
} held;

typedef struct builder {
  const tsri_lanes_program *p;
  jit_ir *ir;
  jit_run *run;
  held *regs;           // by register
  uint32_t kept_count;  // number of copied scalars
  bool failed;
} builder;

#define OP(name) (TSRI_LANE_##name - TSRI_LANE_FIRST_MATH)

// tsri_jit_read_number: a 32-bit register's value as a number. The next functions: as a mask of lanes that are not 0; a 64-bit register's value.
jit_value tsri_jit_read_number(builder *b, uint32_t reg);
jit_value tsri_jit_read_mask(builder *b, uint32_t reg);
jit_pair tsri_jit_read_pair(builder *b, uint32_t reg);

void tsri_jit_write(builder *b, uint32_t reg, jit_value value, bool is_mask);
void tsri_jit_write_pair(builder *b, uint32_t reg, jit_pair value);

// Arithmetic with 64-bit values or intermediate results. `op` is relative to TSRI_LANE_FIRST_MATH.
bool tsri_jit_can_build_64(const struct jit_target *target, uint32_t op);
void tsri_jit_build_64(builder *b, const lane_insn *insn);

#endif
