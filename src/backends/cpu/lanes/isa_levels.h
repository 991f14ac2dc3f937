// SPDX-License-Identifier: MIT
// The SIMD levels for which *_isa.c files are compiled; must match the list in cmake/isa.cmake.
#ifndef TSRI_CPU_LANES_ISA_LEVELS_H
#define TSRI_CPU_LANES_ISA_LEVELS_H

#if defined(__x86_64__) && defined(__GNUC__)
#define TSRI_ISA_LEVELS(X) X(baseline) X(avx2) X(avx512)
#else
#define TSRI_ISA_LEVELS(X) X(baseline)
#endif

#endif
