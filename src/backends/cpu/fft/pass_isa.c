// SPDX-License-Identifier: MIT
// Passes of Fourier transforms at one SIMD level. Compiled once per level (cmake/isa.cmake).
#include <string.h>

#include "backends/cpu/fft/pass.h"
#include "backends/cpu/lanes/isa_parts.h"

// Shuffles of two vectors of W elements: EVEN and ODD take every second element, LOW and HIGH interleave their first or last halves. REVERSED turns one vector
// round.
#if defined(__clang__) || (defined(__GNUC__) && __GNUC__ >= 12)
#define HAS_SHUFFLES 1
#define EVEN_16      0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30
#define ODD_16       1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31
#define LOW_16       0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define HIGH_16      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define REVERSED_16  15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0
#define EVEN_8       0, 2, 4, 6, 8, 10, 12, 14
#define ODD_8        1, 3, 5, 7, 9, 11, 13, 15
#define LOW_8        0, 8, 1, 9, 2, 10, 3, 11
#define HIGH_8       4, 12, 5, 13, 6, 14, 7, 15
#define REVERSED_8   7, 6, 5, 4, 3, 2, 1, 0
#define EVEN_4       0, 2, 4, 6
#define ODD_4        1, 3, 5, 7
#define LOW_4        0, 4, 1, 5
#define HIGH_4       2, 6, 3, 7
#define REVERSED_4   3, 2, 1, 0
#define EVEN_2       0, 2
#define ODD_2        1, 3
#define LOW_2        0, 2
#define HIGH_2       1, 3
#define REVERSED_2   1, 0
#else
#define HAS_SHUFFLES 0
#endif

#if defined(__AVX512F__)
#define W_F32 16
#define W_F64 8
#elif defined(__AVX2__)
#define W_F32 8
#define W_F64 4
#else
#define W_F32 4
#define W_F64 2
#endif

#define NAME(x)  x##_f32
#define T        float
#define EVEN     ISA_PASTE(EVEN_, W_F32)
#define ODD      ISA_PASTE(ODD_, W_F32)
#define LOW      ISA_PASTE(LOW_, W_F32)
#define HIGH     ISA_PASTE(HIGH_, W_F32)
#define REVERSED ISA_PASTE(REVERSED_, W_F32)
#include "pass.inc"

#define NAME(x)  x##_f64
#define T        double
#define EVEN     ISA_PASTE(EVEN_, W_F64)
#define ODD      ISA_PASTE(ODD_, W_F64)
#define LOW      ISA_PASTE(LOW_, W_F64)
#define HIGH     ISA_PASTE(HIGH_, W_F64)
#define REVERSED ISA_PASTE(REVERSED_, W_F64)
#include "pass.inc"

const tsri_cpu_fft_level ISA_NAME(tsri_cpu_fft_levels_)[2] = {{LANES_f32, run_f32, halves_f32},
                                                              {LANES_f64, run_f64, halves_f64}};
