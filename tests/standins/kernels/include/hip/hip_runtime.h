// SPDX-License-Identifier: MIT
// In place of HIP's header: emitted HIP text as C++. It contains what the emitter uses, and nothing else. -*- c++ -*-
#ifndef TESSERA_HIP_RUNTIME_H
#define TESSERA_HIP_RUNTIME_H

#include "standin_item.h"

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(n)
#define __shared__   STANDIN_SHARED
#define __align__(n) __attribute__((aligned(n)))
#define __restrict__ __restrict

#define warpSize ((int)standin_now->wave)

// threadIdx.x, blockIdx.x and others.
struct standin_index {
  unsigned x, y, z;
};
#define threadIdx (*(const standin_index *)standin_now->local)
#define blockIdx  (*(const standin_index *)standin_now->group)
#define blockDim  (*(const standin_index *)standin_now->size)
#define gridDim   (*(const standin_index *)standin_now->groups)

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef long long longlong;

// The native vectors, as far as they are loaded and stored as a whole.
#define STANDIN_VECTOR(type)                                  \
  struct __attribute__((aligned(2 * sizeof(type)))) type##2 { \
    type x, y;                                                \
  };                                                          \
  struct __attribute__((aligned(4 * sizeof(type)))) type##4 { \
    type x, y, z, w;                                          \
  };
STANDIN_VECTOR(char)
STANDIN_VECTOR(uchar)
STANDIN_VECTOR(short)
STANDIN_VECTOR(ushort)
STANDIN_VECTOR(int)
STANDIN_VECTOR(uint)
STANDIN_VECTOR(longlong)
STANDIN_VECTOR(float)
STANDIN_VECTOR(double)
#undef STANDIN_VECTOR

STANDIN_INLINE unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
STANDIN_INLINE float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
STANDIN_INLINE long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
STANDIN_INLINE double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }
STANDIN_INLINE int __popc(unsigned x) { return __builtin_popcount(x); }
STANDIN_INLINE int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }

// --- Functions of numbers ---

#define STANDIN_MATH(name)                                                 \
  STANDIN_INLINE float name##f(float x) { return __builtin_##name##f(x); } \
  STANDIN_INLINE double name(double x) { return __builtin_##name(x); }
STANDIN_MATH(fabs)
STANDIN_MATH(floor)
STANDIN_MATH(ceil)
STANDIN_MATH(trunc)
STANDIN_MATH(rint)
STANDIN_MATH(sqrt)
STANDIN_MATH(exp)
STANDIN_MATH(exp2)
STANDIN_MATH(expm1)
STANDIN_MATH(log)
STANDIN_MATH(log2)
STANDIN_MATH(log10)
STANDIN_MATH(log1p)
STANDIN_MATH(sin)
STANDIN_MATH(cos)
STANDIN_MATH(tan)
STANDIN_MATH(asin)
STANDIN_MATH(acos)
STANDIN_MATH(atan)
STANDIN_MATH(sinh)
STANDIN_MATH(cosh)
STANDIN_MATH(tanh)
STANDIN_MATH(erf)
#undef STANDIN_MATH
STANDIN_INLINE float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
STANDIN_INLINE double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
STANDIN_INLINE float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
STANDIN_INLINE double fmax(double x, double y) { return __builtin_fmax(x, y); }
STANDIN_INLINE float powf(float x, float y) { return __builtin_powf(x, y); }
STANDIN_INLINE double pow(double x, double y) { return __builtin_pow(x, y); }
STANDIN_INLINE float atan2f(float y, float x) { return __builtin_atan2f(y, x); }
STANDIN_INLINE double atan2(double y, double x) { return __builtin_atan2(y, x); }
STANDIN_INLINE float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
STANDIN_INLINE double copysign(double x, double y) { return __builtin_copysign(x, y); }
STANDIN_INLINE float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
STANDIN_INLINE double fma(double x, double y, double z) { return __builtin_fma(x, y, z); }

// --- Atomics: items change only at barriers ---

#define STANDIN_ATOMIC(name, result)          \
  template <class T>                          \
  STANDIN_INLINE T name(T *object, T value) { \
    T old = *object;                          \
    *object = (T)(result);                    \
    return old;                               \
  }
STANDIN_ATOMIC(atomicAdd, (unsigned)old + (unsigned)value)
STANDIN_ATOMIC(atomicSub, (unsigned)old - (unsigned)value)
STANDIN_ATOMIC(atomicMin, old < value ? old : value)
STANDIN_ATOMIC(atomicMax, old > value ? old : value)
STANDIN_ATOMIC(atomicAnd, old &value)
STANDIN_ATOMIC(atomicOr, old | value)
STANDIN_ATOMIC(atomicXor, old ^ value)
STANDIN_ATOMIC(atomicExch, value)
#undef STANDIN_ATOMIC
template <class T>
STANDIN_INLINE T atomicCAS(T *object, T compare, T value) {
  T old = *object;
  if (old == compare) *object = value;
  return old;
}

// --- Barriers and waves ---

#define __syncthreads()         standin_now->barrier(__LINE__)
#define __ballot(value)         standin_ballot(__LINE__, value)
#define __shfl(value, lane)     standin_lane(__LINE__, value, (unsigned)(lane))
#define __shfl_xor(value, mask) standin_lane_xor(__LINE__, value, (unsigned)(mask))

// --- Matrix units: as the compiler's functions of the same names, for the layouts see src/lang/emit/c/fragment_hip.c ---

#define __lane_id() (standin_now->number % standin_now->wave)

STANDIN_INLINE float standin_wide(_Float16 x) { return (float)x; }
STANDIN_INLINE float standin_wide(short x) { return __uint_as_float((unsigned)(unsigned short)x << 16); }

// Sum i of an item is that of row `row_of(lane, i)` and column lane % 16. An item shows its elements of both factors, of which
// `parts` items hold one line.
template <class E, unsigned N, unsigned S>
struct standin_product {
  typedef E factor __attribute__((ext_vector_type(N)));
  typedef float sum __attribute__((ext_vector_type(S)));
  struct shown {
    factor a, b;
  };
  template <class R>
  static sum of(unsigned line, factor a, factor b, sum c, R row_of) {
    shown mine = {a, b};
    const unsigned char *slots = standin_now->exchange(line, &mine, sizeof mine);
    const unsigned lane = __lane_id();
    for (unsigned i = 0; i < S; i++) {
      const unsigned row = row_of(lane, i);
      for (unsigned k = 0; k < 16; k++) {
        shown left, right;
        __builtin_memcpy(&left, slots + (row + k / N * 16) * STANDIN_SLOT_BYTES, sizeof left);
        __builtin_memcpy(&right, slots + (lane % 16 + k / N * 16) * STANDIN_SLOT_BYTES, sizeof right);
        c[i] += standin_wide(left.a[k % N]) * standin_wide(right.b[k % N]);
      }
    }
    return c;
  }
};

#define STANDIN_UNIT(element, n, sums, row, a, b, c) \
  standin_product<element, n, sums>::of(__LINE__, a, b, c, [](unsigned lane, unsigned i) { return row; })
#define __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, x, y, z) \
  STANDIN_UNIT(_Float16, 4, 4, 4 * (lane / 16) + i, a, b, c)
#define __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, x, y, z) \
  STANDIN_UNIT(short, 4, 4, 4 * (lane / 16) + i, a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)  STANDIN_UNIT(_Float16, 16, 8, 2 * i + lane / 16, a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c) STANDIN_UNIT(short, 16, 8, 2 * i + lane / 16, a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c) \
  STANDIN_UNIT(_Float16, 8, 8, 8 * (lane / 16) + i, a, b, c)
#define __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c) \
  STANDIN_UNIT(short, 8, 8, 8 * (lane / 16) + i, a, b, c)

// --- Calling a kernel: arguments[i] is the address of a value ---

template <class... A, unsigned... I>
STANDIN_INLINE void standin_start(void (*kernel)(A...), void *const *a, standin_numbers<unsigned, I...>) {
  kernel(*(typename standin_bare<A>::type *)a[I]...);
}
template <class... A>
constexpr unsigned standin_arguments(void (*)(A...)) {
  return sizeof...(A);
}
template <class... A>
STANDIN_INLINE void standin_enter(void (*kernel)(A...), void *const *a, const standin_item *) {
  standin_start(kernel, a, __make_integer_seq<standin_numbers, unsigned, sizeof...(A)>{});
}

#endif
