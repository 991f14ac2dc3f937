// SPDX-License-Identifier: MIT
// What the *_isa.c files of one SIMD level give to table_isa.c, and how their symbols are named after the level.
#ifndef TSRI_CPU_LANES_ISA_PARTS_H
#define TSRI_CPU_LANES_ISA_PARTS_H

#include "backends/cpu/lanes/convert_lane.h"
#include "backends/cpu/lanes/isa.h"

#if !defined(TSRI_ISA)
#define TSRI_ISA baseline  // for tools that look at one file
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

// typedef float vec ISA_IN_VECTORS: as many floats as fill a vector, or one where the compiler knows no such type. ISA_UNROLL: the
// loop over those that a sum needs is written out.
#if defined(__GNUC__)
#define ISA_IN_VECTORS __attribute__((vector_size(ISA_VECTOR)))
#define ISA_UNROLL     _Pragma("GCC unroll 16")
#else
#define ISA_IN_VECTORS
#define ISA_UNROLL
#endif

// For what reads a stream, `step` bytes at a time and now those from `at`. Processors stop reading ahead at the end of a page, and go
// on where the next one's first line is on its way: in small pages a stream is then read a third faster, and more (measured on
// Zen 4). Further lines cost more than they save once two threads are at work, in large pages above all.
static inline void isa_look_ahead(const void *at, int64_t step) {
#if defined(__GNUC__)
  enum { PAGE = 4096, AHEAD = 4 * PAGE };
  uintptr_t in_page = (uintptr_t)at % PAGE;
  if ((int64_t)in_page < step) __builtin_prefetch((const char *)at - in_page + AHEAD, 0, 2);
#else
  (void)at, (void)step;
#endif
}

// ops_isa.c
extern const tsri_lane_fn ISA_NAME(tsri_lanes_ops_)[TSRI_LANE_OPS - TSRI_LANE_FIRST_MATH][TSRI_LANE_FORMS];
// fold_isa.c
extern const tsri_lane_fold ISA_NAME(tsri_lanes_folds_)[TSRI_LANE_OPS - TSRI_LANE_FIRST_MATH];
// storage_isa.c
extern const tsri_lane_storage ISA_NAME(tsri_lanes_storage_)[TSR_DTYPE_COUNT];
// chain_isa.c
void ISA_NAME(tsri_lanes_chain_)(const tsri_lane_link *links, uint32_t count, uint32_t first, uint32_t last);
// rows_isa.c
void ISA_NAME(tsri_lanes_muladd_rows_)(float *dst, tsri_lane_rows a, tsri_lane_rows b, const float *c, uint32_t width,
                                       uint32_t n, bool is_fused);
// table_isa.c
extern const tsri_lanes_isa ISA_NAME(tsri_lanes_isa_);

#endif
