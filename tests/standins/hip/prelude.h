// SPDX-License-Identifier: MIT
// What stands before HIP text where NVRTC compiles it: HIP's words in CUDA's.
#ifndef TESSERA_STANDIN_HIP_PRELUDE_H
#define TESSERA_STANDIN_HIP_PRELUDE_H

// A wave is a warp of 32. The matrix units of gfx11 (src/lang/emit/c/fragment_hip.c has their layout) are made of exchanges
// between lanes: right, not fast. Where the prelude defines a name tsr_has_..., the emitter's own definition is left out. What is read once is read by the
// instruction that the CUDA dialect has for it (src/lang/emit/c/vectors.c), so that both backends run the same.
static const char standin_prelude[] =
    "#define __HIPCC_RTC__ 1\n"
    "template <class T, class F> static __device__ __forceinline__ T standin_cast(F x) {\n"
    "  static_assert(sizeof(T) == sizeof(F), \"bits\");\n  union { F from; T to; } u = {x};\n  return u.to;\n}\n"
    "#define __builtin_bit_cast(type, x) standin_cast<type>(x)\n"
    "struct standin_half {\n  unsigned short bits;\n"
    "  standin_half() = default;\n"
    "  __device__ __forceinline__ explicit standin_half(float x) {\n"
    "    asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(bits) : \"f\"(x));\n  }\n"
    "  __device__ __forceinline__ operator float() const {\n"
    "    float x;\n    asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(bits));\n    return x;\n  }\n};\n"
    "#define _Float16 standin_half\n"
    "#define __ballot(v) ((unsigned long long)__ballot_sync(0xffffffffu, v))\n"
    "#define __shfl(v, l) __shfl_sync(0xffffffffu, v, l)\n"
    "#define __shfl_xor(v, m) __shfl_xor_sync(0xffffffffu, v, m)\n"
    "static __device__ __forceinline__ unsigned __lane_id() {\n"
    "  unsigned x;\n  asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(x));\n  return x;\n}\n"
    "template <int BYTES> struct standin_words;\n"
    "template <> struct standin_words<8> { typedef uint2 type; };\n"
    "template <> struct standin_words<16> { typedef uint4 type; };\n"
    "template <class T, int N> struct standin_lanes;\n"
    "template <class T> struct standin_lanes<T, 2> { T x, y; };\n"
    "template <class T> struct standin_lanes<T, 4> { T x, y, z, w; };\n"
    "static __device__ __forceinline__ void standin_read_once(const void *p, uint2 &v) {\n"
    "  asm(\"ld.global.nc.L1::no_allocate.v2.b32 {%0, %1}, [%2];\" : \"=r\"(v.x), \"=r\"(v.y) : \"l\"(p));\n}\n"
    "static __device__ __forceinline__ void standin_read_once(const void *p, uint4 &v) {\n"
    "  asm(\"ld.global.nc.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];\" :\n"
    "      \"=r\"(v.x), \"=r\"(v.y), \"=r\"(v.z), \"=r\"(v.w) : \"l\"(p));\n}\n"
    "#define tsr_has_read_once\n"
    "template <int N, class T> static __device__ __forceinline__ standin_lanes<T, N> tsr_read_once(const T *p) {\n"
    "  typename standin_words<N * sizeof(T)>::type words;\n"
    "  standin_read_once(p, words);\n  return standin_cast<standin_lanes<T, N>>(words);\n}\n"
    "static __device__ __forceinline__ float standin_f16(unsigned x) {\n"
    "  standin_half h;\n  h.bits = (unsigned short)x;\n  return (float)h;\n}\n"
    "static __device__ __forceinline__ float standin_bf16(unsigned x) { return __uint_as_float(x << 16); }\n"
    "#define STANDIN_MULTIPLY(name, wide)                                                                    \\\n"
    "  static __device__ void name(float *s, const unsigned *l, const unsigned *r) {                        \\\n"
    "    const unsigned lane = __lane_id();                                                                 \\\n"
    "    for (unsigned i = 0; i < 8u; i++)                                                                  \\\n"
    "      for (unsigned k = 0; k < 8u; k++) {                                                              \\\n"
    "        const unsigned a = __shfl(l[k], (int)(2u * i + lane / 16u)), b = r[k];                         \\\n"
    "        s[i] += wide(a & 0xffffu) * wide(b & 0xffffu);                                                 \\\n"
    "        s[i] += wide(a >> 16) * wide(b >> 16);                                                         \\\n"
    "      }                                                                                                \\\n"
    "  }\n"
    "#define tsr_has_fragment_multiply_add_f16\n"
    "STANDIN_MULTIPLY(tsr_fragment_multiply_add_f16, standin_f16)\n"
    "#define tsr_has_fragment_multiply_add_bf16\n"
    "STANDIN_MULTIPLY(tsr_fragment_multiply_add_bf16, standin_bf16)\n"
    "#line 1\n";

#endif
