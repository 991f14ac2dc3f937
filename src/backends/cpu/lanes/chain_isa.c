// SPDX-License-Identifier: MIT
// Executes a run of f32 instructions, a few vectors at a time, at one SIMD level.
//
// ops_isa.c has a function per instruction, which is called for each strip. This has a switch per instruction for each 64 lanes, which the processor's
// speculation can look beyond: so chains of element-wise operators run as fast as memory is read. Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/lanes/vec_isa.h"

enum { CHUNK = TSRI_LANE_CHAIN };

// X(k), Y(k), Z(k): the vectors of the operands at lane k of the 64 lanes.
#define X(k) load(x + (k))
#define Y(k) load(y + (k))
#define Z(k) load(z + (k))
#define EACH(expression)                                                  \
  for (uint32_t k = 0; k < CHUNK; k += WIDTH) store(dst + k, expression); \
  break
#define EACH_STREAMED(expression)                                              \
  for (uint32_t k = 0; k < CHUNK; k += WIDTH) stream_vec(dst + k, expression); \
  break

#define IS(name) case TSRI_LANE_##name - TSRI_LANE_FIRST_MATH

void ISA_NAME(tsri_lanes_chain_)(const tsri_lane_link *links, uint32_t count, uint32_t first, uint32_t last) {
  for (size_t at = first; at < last; at += CHUNK) {
    for (uint32_t i = 0; i < count; i++) {
      const tsri_lane_link *link = &links[i];
      float *dst = link->dst + (at & link->dst_mask);
      const float *x = link->a + (at & link->a_mask), *y = link->b + (at & link->b_mask);
      const float *z = link->c + (at & link->c_mask);
      if (link->is_streamed) {
        switch (link->op) {
          IS(ADD_F32) : EACH_STREAMED(plus(X(k), Y(k)));
          IS(SUB_F32) : EACH_STREAMED(minus(X(k), Y(k)));
          IS(MUL_F32) : EACH_STREAMED(times(X(k), Y(k)));
          IS(MAX_F32) : EACH_STREAMED(greater(X(k), Y(k)));
          IS(MIN_F32) : EACH_STREAMED(smaller(X(k), Y(k)));
          IS(MULADD_F32) : EACH_STREAMED(plus(times(X(k), Y(k)), Z(k)));
          IS(FMA_F32) : EACH_STREAMED(fused(X(k), Y(k), Z(k)));
          default:
            EACH_STREAMED(X(k));
        }
      } else {
        switch (link->op) {
          IS(ADD_F32) : EACH(plus(X(k), Y(k)));
          IS(SUB_F32) : EACH(minus(X(k), Y(k)));
          IS(MUL_F32) : EACH(times(X(k), Y(k)));
          IS(MAX_F32) : EACH(greater(X(k), Y(k)));
          IS(MIN_F32) : EACH(smaller(X(k), Y(k)));
          IS(MULADD_F32) : EACH(plus(times(X(k), Y(k)), Z(k)));
          IS(FMA_F32) : EACH(fused(X(k), Y(k), Z(k)));
          default:
            EACH(X(k));
        }
      }
    }
  }
}
