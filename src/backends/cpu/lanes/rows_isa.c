// SPDX-License-Identifier: MIT
// Products of operands that lie in rows of memory, at one SIMD level: the inside of a matrix product.
//
// Compiled once per level (cmake/isa.cmake).
#include "backends/cpu/lanes/isa_parts.h"

LANE float muladd(float x, float y, float z, bool is_fused) { return is_fused ? __builtin_fmaf(x, y, z) : x * y + z; }

// One row: x is the same for all of it.
LANE void row_of_one(float *dst, float x, const float *y, const float *z, uint32_t width, bool is_fused) {
  LANES for (uint32_t i = 0; i < width; i++) dst[i] = muladd(x, y[i], z[i], is_fused);
}

// All rows, with a width that is known where this is expanded; a repeats along x and b does not.
LANE void rows_of_one(float *dst, const tsri_lane_rows *a, const tsri_lane_rows *b, const float *c, uint32_t width,
                      uint32_t rows, bool is_fused) {
  const float *x = a->memory, *y = b->memory;
  for (uint32_t i = 0; i < rows; i++, x += a->step_y, y += b->step_y, dst += width, c += width) {
    row_of_one(dst, *x, y, c, width, is_fused);
  }
}

LANE void rows_by_width(float *dst, const tsri_lane_rows *a, const tsri_lane_rows *b, const float *c, uint32_t width,
                        uint32_t rows, bool is_fused) {
  switch (width) {
    case 8: rows_of_one(dst, a, b, c, 8, rows, is_fused); break;
    case 16: rows_of_one(dst, a, b, c, 16, rows, is_fused); break;
    case 32: rows_of_one(dst, a, b, c, 32, rows, is_fused); break;
    default: rows_of_one(dst, a, b, c, width, rows, is_fused); break;
  }
}

// Any steps, any width, and a last row that may be short.
LANE void rows_of_any(float *dst, const tsri_lane_rows *a, const tsri_lane_rows *b, const float *c, uint32_t width,
                      uint32_t n, bool is_fused) {
  const float *x = a->memory, *y = b->memory;
  for (uint32_t at = 0; at < n; at += width, x += a->step_y, y += b->step_y) {
    uint32_t count = n - at < width ? n - at : width;
    for (uint32_t i = 0; i < count; i++) {
      dst[at + i] = muladd(x[(int64_t)i * a->step_x], y[(int64_t)i * b->step_x], c[at + i], is_fused);
    }
  }
}

LANE void muladd_any(float *dst, const tsri_lane_rows *a, const tsri_lane_rows *b, const float *c, uint32_t width,
                     uint32_t n, bool is_fused) {
  if (n % width == 0 && a->step_x == 0 && b->step_x == 1) {
    rows_by_width(dst, a, b, c, width, n / width, is_fused);
  } else {
    rows_of_any(dst, a, b, c, width, n, is_fused);
  }
}

void ISA_NAME(tsri_lanes_muladd_rows_)(float *dst, tsri_lane_rows a, tsri_lane_rows b, const float *c, uint32_t width,
                                       uint32_t n, bool is_fused) {
  bool is_turned = b.step_x == 0;  // factors may be exchanged
  const tsri_lane_rows *x = is_turned ? &b : &a, *y = is_turned ? &a : &b;
  if (is_fused) {
    muladd_any(dst, x, y, c, width, n, true);
  } else {
    muladd_any(dst, x, y, c, width, n, false);
  }
}
