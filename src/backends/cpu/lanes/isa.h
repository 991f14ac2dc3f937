// SPDX-License-Identifier: MIT
// The functions that the interpreter needs at each SIMD level: one table of loops over lanes per level, implemented in the *_isa.c files.
//
// None of these functions accesses more than `n` lanes, and none needs memory aligned to more than the element's size. An output may be the same array as an
// input; otherwise they must not overlap. Masks are u32 lanes, 0 or 1.
#ifndef TSRI_CPU_LANES_ISA_H
#define TSRI_CPU_LANES_ISA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/dtype.h>

#include "lang/emit/lanes/code.h"

// dst[i] = op(a[i], b[i], c[i]); operands that the op does not have are not read.
typedef void (*tsri_lane_fn)(void *dst, const void *a, const void *b, const void *c, uint32_t n);

// Forms of an arithmetic instruction: which operands are scalars. Unary: 0 lanes, 1 scalar. Binary: below. Ternary:
// bit 0: b is a scalar, bit 1: c is.
enum { TSRI_LANE_FORM_VV, TSRI_LANE_FORM_VS, TSRI_LANE_FORM_SV, TSRI_LANE_FORMS = 4 };

// Loads and stores of the elements of a dtype. Memory holds the dtype, registers its value type.
typedef struct tsri_lane_storage {
  // dst[i] = src[i * stride]
  void (*load)(void *dst, const void *src, int64_t stride, uint32_t n);
  // dst[i] = src[index[i]]; lanes whose `mask` is 0 are not written, and their memory is not read. `mask` may be NULL.
  void (*gather_32)(void *dst, const void *src, const int32_t *index, const uint32_t *mask, uint32_t n);
  void (*gather_64)(void *dst, const void *src, const int64_t *index, const uint32_t *mask, uint32_t n);
  // dst[i * stride] = src[i], in the order of i
  void (*store)(void *dst, const void *src, int64_t stride, uint32_t n);
  void (*scatter_32)(void *dst, const void *src, const int32_t *index, const uint32_t *mask, uint32_t n);
  void (*scatter_64)(void *dst, const void *src, const int64_t *index, const uint32_t *mask, uint32_t n);
} tsri_lane_storage;

// What scan_u32 and the like find out about an index register.
typedef struct tsri_lane_range {
  int64_t least, most;  // over the lanes of the mask
  int64_t step;         // index[1] - index[0] (0 if there is one lane)
  bool is_linear;       // index[i] = index[0] + i * step for all lanes
} tsri_lane_range;

// Lanes in rows: lane x of row y is at memory[y * step_y + x * step_x].
typedef struct tsri_lane_rows {
  const float *memory;
  int64_t step_x, step_y;
} tsri_lane_rows;

// One instruction of a chain: ADD_F32, SUB_F32, MUL_F32, MAX_F32, MIN_F32, MULADD_F32, FMA_F32; any other number copies a. An operand's mask is SIZE_MAX, or 0
// if the operand is the same TSRI_LANE_CHAIN lanes of memory every time.
#define TSRI_LANE_CHAIN 64
typedef struct tsri_lane_link {
  uint16_t op;       // relative to TSRI_LANE_FIRST_MATH
  bool is_streamed;  // non-temporal stores; dst is aligned to 64 bytes
  float *dst;
  const float *a, *b, *c;
  size_t dst_mask, a_mask, b_mask, c_mask;
} tsri_lane_link;

// Repeats `rounds` times: acc[i] = op(acc[i], a[i]) or, for MULADD, acc[i] = a[i] * b[i] + acc[i]; then advances a and b by their steps, in bytes. acc has
// `bytes` bytes, a multiple of TSRI_LANE_FOLD_BYTES, and overlaps neither a nor b.
#define TSRI_LANE_FOLD_BYTES 256
typedef void (*tsri_lane_fold)(void *acc, const void *a, int64_t a_step, const void *b, int64_t b_step, uint32_t rounds,
                               size_t bytes);

// *out = the sum of a row of n elements, in an order that is the same at every level. TSRI_LANE_SUM_BYTES of partial sums are computed side by side; each is
// repeatedly started at 0 and added to its total. Then the totals of every sixteenth are added, and then these by halves.
#define TSRI_LANE_SUM_BYTES 256
typedef void (*tsri_lane_sum_row)(const void *row, size_t n, void *out);
// As tsri_lane_sum, for `count` rows that are `step_bytes` apart.
typedef void (*tsri_lane_sum_rows)(const void *rows, size_t step_bytes, size_t count, size_t n, void *out);

// As tsri_lane_sum, for a row whose elements are `stride` bytes apart.
typedef void (*tsri_lane_sum_strided)(const char *from, int64_t stride, size_t n, void *out);

typedef struct tsri_lanes_isa {
  const char *name;
  const tsri_lane_fn (*ops)[TSRI_LANE_FORMS];  // index: op - TSRI_LANE_FIRST_MATH; NULL: no such form
  const tsri_lane_fold *folds;                 // index: op - TSRI_LANE_FIRST_MATH; NULL: none for that op
  const tsri_lane_storage *storage;            // index: tsr_dtype

  // dst[i] = base + i * step, wrapping
  void (*iota_32)(uint32_t *dst, uint32_t base, uint32_t step, uint32_t n);
  void (*iota_64)(uint64_t *dst, uint64_t base, uint64_t step, uint32_t n);
  // dst[i] = src[i] where the mask is 1
  void (*blend_32)(uint32_t *dst, const uint32_t *src, const uint32_t *mask, uint32_t n);
  void (*blend_64)(uint64_t *dst, const uint64_t *src, const uint32_t *mask, uint32_t n);

  // dst[i] = (a ? a[i] : 1) & (b[i] ^ flip), lowest bits only; returns how many are 1. flip is 0 or 1.
  uint32_t (*mask_and)(uint32_t *dst, const uint32_t *a, const uint32_t *b, uint32_t flip, uint32_t n);
  // How many of b[i] ^ flip are 1.
  uint32_t (*mask_count)(const uint32_t *b, uint32_t flip, uint32_t n);

  // Finds the range of the lanes' indices. `mask` may be NULL; then `is_linear` is set, too. n is not 0.
  void (*scan_u32)(const uint32_t *index, const uint32_t *mask, uint32_t n, tsri_lane_range *out);
  void (*scan_i32)(const int32_t *index, const uint32_t *mask, uint32_t n, tsri_lane_range *out);
  void (*scan_i64)(const int64_t *index, const uint32_t *mask, uint32_t n, tsri_lane_range *out);

  // Splits vectors of `wide` (2 or 4) elements of 4 bytes in memory into a register for each element: part[k][i] = memory[i * wide + k]. The next function does
  // the reverse.
  void (*split)(uint32_t *const *part, const uint32_t *memory, uint32_t wide, uint32_t n);
  void (*join)(uint32_t *memory, uint32_t *const *part, uint32_t wide, uint32_t n);

  // dst[i] = a[i] * b[i] + c[i] for n lanes in rows of `width` lanes; rounded once (fused) or twice.
  void (*muladd_rows)(float *dst, tsri_lane_rows a, tsri_lane_rows b, const float *c, uint32_t width, uint32_t n,
                      bool is_fused);

  // Executes all links for the lanes first to last - 1, a few lanes at a time; their number is a multiple of TSRI_LANE_CHAIN.
  void (*chain)(const tsri_lane_link *links, uint32_t count, uint32_t first, uint32_t last);

  // Sums in an order that is the same on every level: sixteen partial sums over lanes i % 16, then by halves.
  float (*sum_f32)(const float *a, uint32_t n);
  double (*sum_f64)(const double *a, uint32_t n);
  tsri_lane_sum_row sum_row_f32, sum_row_f64;
  tsri_lane_sum_rows sum_rows_f32, sum_rows_f64;           // NULL in the browser module, which must stay small
  tsri_lane_sum_strided sum_strided_f32, sum_strided_f64;  // as sum_rows

  // memcpy with non-temporal stores. The caller ends a series of them with `fence`.
  void (*stream)(void *dst, const void *src, size_t bytes);
  void (*fence)(void);
} tsri_lanes_isa;

// The table for "baseline", "neon", "avx2" or "avx512" (the caller has checked that the processor has it). NULL or a level that this build lacks gives the
// baseline. Lives for ever. Any thread.
const tsri_lanes_isa *tsri_lanes_isa_for(const char *simd_level);

#endif
