// SPDX-License-Identifier: MIT
// Building blocks for sorting in AVX-512 registers. Included by files with such code, where HAS_EXCHANGE is 1.
#ifndef TSRI_CPU_EXCHANGE_AVX512_H
#define TSRI_CPU_EXCHANGE_AVX512_H

#if defined(__x86_64__) && defined(__GNUC__) && !defined(_WIN32)
#define HAS_EXCHANGE 1
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx2,bmi,bmi2,popcnt")))
#define INLINE static inline __attribute__((always_inline)) TARGET

// UPPER_n: the lanes whose index has the bit n. SWAP_n_OF_64: exchanges each 64-bit lane with the lane whose index differs in that bit.
enum { UPPER_1 = 0xAAAA, UPPER_2 = 0xCCCC, UPPER_4 = 0xF0F0, UPPER_8 = 0xFF00 };
#define SWAP_1_OF_64(x) _mm512_shuffle_epi32(x, 0x4E)
#define SWAP_2_OF_64(x) _mm512_shuffle_i64x2(x, x, 0xB1)
#define SWAP_4_OF_64(x) _mm512_shuffle_i64x2(x, x, 0x4E)
#else
#define HAS_EXCHANGE 0
#endif

#endif
