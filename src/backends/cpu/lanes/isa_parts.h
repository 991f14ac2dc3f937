// SPDX-License-Identifier: MIT
// What the *_isa.c files of one SIMD level export to table_isa.c. Their symbols have the level's name as suffix.
#ifndef TSRI_CPU_LANES_ISA_PARTS_H
#define TSRI_CPU_LANES_ISA_PARTS_H

#include "backends/cpu/lanes/convert_lane.h"
#include "backends/cpu/lanes/isa.h"

#if !defined(TSRI_ISA)
#define TSRI_ISA baseline  // for tools that compile a single file
#endif
#define ISA_PASTE_(a, b) a##b
#define ISA_PASTE(a, b)  ISA_PASTE_(a, b)
#define ISA_NAME(stem)   ISA_PASTE(stem, TSRI_ISA)

// Bytes of a vector register.
#if defined(__AVX512F__)
enum { ISA_VECTOR = 64 };
#elif defined(__AVX2__)
enum { ISA_VECTOR = 32 };
#else
enum { ISA_VECTOR = 16 };
#endif

// typedef float vec ISA_IN_VECTORS: a vector of floats, or one float if the compiler has no vector types. ISA_UNROLL: unrolls the loop over the vectors of a
// sum.
#if defined(__GNUC__)
#define ISA_IN_VECTORS __attribute__((vector_size(ISA_VECTOR)))
#define ISA_UNROLL     _Pragma("GCC unroll 16")
#else
#define ISA_IN_VECTORS
#define ISA_UNROLL
#endif

// Call in a loop that reads a stream, `step` bytes at a time, and now reads at `at`: prefetches the first line of the next page. Processors stop prefetching at
// the end of a page, and continue if the first line of the next page is being loaded; with small pages this makes reading a stream at least a third faster
// (measured on Zen 4). Prefetching more lines costs more than it saves once two threads run, especially with large pages.
static inline void isa_look_ahead(const void *at, int64_t step) {
#if defined(__GNUC__)
  enum { PAGE = 4096, AHEAD = 4 * PAGE };
  uintptr_t in_page = (uintptr_t)at % PAGE;
  if ((int64_t)in_page < step) __builtin_prefetch((const char *)at - in_page + AHEAD, 0, 2);
#else
  (void)at, (void)step;
#endif
}

// In ops_isa.c.
extern const tsri_lane_fn ISA_NAME(tsri_lanes_ops_)[TSRI_LANE_OPS - TSRI_LANE_FIRST_MATH][TSRI_LANE_FORMS];
// In fold_isa.c.
extern const tsri_lane_fold ISA_NAME(tsri_lanes_folds_)[TSRI_LANE_OPS - TSRI_LANE_FIRST_MATH];
// In storage_isa.c.
extern const tsri_lane_storage ISA_NAME(tsri_lanes_storage_)[TSR_DTYPE_COUNT];
// In chain_isa.c.
void ISA_NAME(tsri_lanes_chain_)(const tsri_lane_link *links, uint32_t count, uint32_t first, uint32_t last);
// In rows_isa.c.
void ISA_NAME(tsri_lanes_muladd_rows_)(float *dst, tsri_lane_rows a, tsri_lane_rows b, const float *c, uint32_t width,
                                       uint32_t n, bool is_fused);
// In table_isa.c.
extern const tsri_lanes_isa ISA_NAME(tsri_lanes_isa_);

#endif
