// SPDX-License-Identifier: MIT
// The calling convention of aarch64 (AAPCS64: Linux, macOS, Windows).
//
// Arguments come in x0 to x4. The callee may change x0 to x17, v0 to v7 and v16 to v31, and leaves x18 alone, which some systems
// keep for themselves. That is enough: nothing is saved. The code calls nothing, so it needs no frame record either.
#include "backends/cpu/jit/arm64_convention.h"

static const int stream_regs[] = {8, 9, 10, 11, 12, 13, 14, 15, 16, 17};
enum { STREAM_REGS = sizeof stream_regs / sizeof stream_regs[0], STREAMS = 0, POOL = 7 };

static const int vector_regs[ARM64_VECTOR_REGS] = {0,  1,  2,  3,  4,  5,  6,  7,  16, 17, 18, 19,
                                                   20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30};

static void enter(machine_code *code, uint32_t stream_count) {
  tsri_arm64_add_number(code, ARM64_SP, ARM64_SP, -JIT_FRAME_BYTES);
  for (uint32_t i = 0; i < stream_count && i < STREAM_REGS; i++) {
    tsri_arm64_load(code, stream_regs[i], STREAMS, (int)(8 * i));
  }
  tsri_arm64_pool_address(code, POOL);
}

static void leave(machine_code *code) {
  tsri_arm64_add_number(code, ARM64_SP, ARM64_SP, JIT_FRAME_BYTES);
  tsri_arm64_return(code);
}

const arm64_convention tsri_arm64_aapcs64 = {.streams_reg = STREAMS,
                                             .scalars_reg = 1,
                                             .lanes_reg = 2,
                                             .rounds_reg = 3,
                                             .steps_reg = 4,
                                             .index_reg = 5,
                                             .address_reg = 6,
                                             .pool_reg = POOL,
                                             .stream_regs = stream_regs,
                                             .stream_reg_count = STREAM_REGS,
                                             .vector_regs = vector_regs,
                                             .spare_vector_reg = 31,
                                             .enter = enter,
                                             .leave = leave};
