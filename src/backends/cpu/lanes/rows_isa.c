// SPDX-License-Identifier: MIT
// Products of operands that are rows in memory, at one SIMD level: the inner loop of a matrix product.
//
// Compiled once per level (cmake/isa.cmake). Written with vector types, because compilers do not recognise that the lanes of a row are independent.
#include "backends/cpu/lanes/vec_isa.h"

LANE float muladd(float x, float y, float z, bool is_fused) { return is_fused ? __builtin_fmaf(x, y, z) : x * y + z; }

// For rows of whole vectors, where a is constant along x and b is contiguous.
LANE void rows_of_vectors(float *dst, const tsri_lane_rows *a, const tsri_lane_rows *b, const float *c, uint32_t width,
                          uint32_t rows, bool is_fused) {
  const float *x = a->memory, *y = b->memory;
  for (uint32_t i = 0; i < rows; i++, x += a->step_y, y += b->step_y, dst += width, c += width) {
    vec factor = repeat(*x);
    for (uint32_t k = 0; k < width; k += WIDTH) store(dst + k, muladd_vec(factor, load(y + k), load(c + k), is_fused));
  }
}

// For any steps and widths; the last row may be short.
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
  bool is_whole = n % width == 0 && width % WIDTH == 0;
  if (!is_whole || a->step_x != 0 || b->step_x != 1) {
    rows_of_any(dst, a, b, c, width, n, is_fused);
  } else if (width == 16) {
    rows_of_vectors(dst, a, b, c, 16, n / 16, is_fused);
  } else {
    rows_of_vectors(dst, a, b, c, width, n / width, is_fused);
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
