// SPDX-License-Identifier: MIT
// Loops in plain C that measure the limits of the processor, compiled once per vector width, and the choice between
// them.
#include "bench_cpu.h"

#if (defined(__x86_64__) || defined(_M_X64)) && (defined(__GNUC__) || defined(__clang__))
#define HAS_X86 1
#include <immintrin.h>
#else
#define HAS_X86 0
#endif

// --- The loops --------------------------------------------------------------------------------------------------------

// For any processor: the compiler's own vectors of 16 floats, which fill whatever registers there are.
typedef struct plain_vector {
  float lanes[16];
} plain_vector;

static inline plain_vector plain_load(const float *from) {
  plain_vector v;
  for (int i = 0; i < 16; i++) v.lanes[i] = from[i];
  return v;
}

static inline plain_vector plain_spread(float value) {
  plain_vector v;
  for (int i = 0; i < 16; i++) v.lanes[i] = value;
  return v;
}

static inline void plain_store(float *to, plain_vector v) {
  for (int i = 0; i < 16; i++) to[i] = v.lanes[i];
}

static inline plain_vector plain_add(plain_vector a, plain_vector b) {
  for (int i = 0; i < 16; i++) a.lanes[i] += b.lanes[i];
  return a;
}

// Two instructions unless the compiler fuses them, as in portable code on this processor.
static inline plain_vector plain_fma(plain_vector a, plain_vector b, plain_vector c) {
  for (int i = 0; i < 16; i++) a.lanes[i] = a.lanes[i] * b.lanes[i] + c.lanes[i];
  return a;
}

#define LEVEL plain
#define TARGET
#define VECTOR plain_vector
#define WIDTH  16
#define LOAD   plain_load
#define SPREAD plain_spread
#define STORE  plain_store
#define STREAM plain_store
#define ADD    plain_add
#define FMA    plain_fma
#include "bench_cpu_loops.inc"

#if HAS_X86
#define LEVEL  avx2
#define TARGET __attribute__((target("avx2,fma")))
#define VECTOR __m256
#define WIDTH  8
#define LOAD   _mm256_loadu_ps
#define SPREAD _mm256_set1_ps
#define STORE  _mm256_storeu_ps
#define STREAM _mm256_stream_ps
#define ADD    _mm256_add_ps
#define FMA    _mm256_fmadd_ps
#include "bench_cpu_loops.inc"

#define LEVEL  avx512
#define TARGET __attribute__((target("avx512f")))
#define VECTOR __m512
#define WIDTH  16
#define LOAD   _mm512_loadu_ps
#define SPREAD _mm512_set1_ps
#define STORE  _mm512_storeu_ps
#define STREAM _mm512_stream_ps
#define ADD    _mm512_add_ps
#define FMA    _mm512_fmadd_ps
#include "bench_cpu_loops.inc"
#endif

// --- Which of them ----------------------------------------------------------------------------------------------------

typedef struct level {
  int width;
  bool can_stream;
  float (*read)(const float *in, size_t count);
  void (*write)(int reads, const float *const in[3], float *out, size_t count);
  void (*stream)(int reads, const float *const in[3], float *out, size_t count);
  float (*fma)(uint64_t rounds);
} level;

static const level plain = {16, false, read_plain, write_plain, stream_plain, fma_plain};
#if HAS_X86
static const level avx2 = {8, true, read_avx2, write_avx2, stream_avx2, fma_avx2};
static const level avx512 = {16, true, read_avx512, write_avx512, stream_avx512, fma_avx512};
#endif

static const level *best_level(void) {
#if HAS_X86
  if (__builtin_cpu_supports("avx512f")) return &avx512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &avx2;
#endif
  return &plain;
}

bool bench_cpu_can_stream(void) { return best_level()->can_stream; }

float bench_cpu_pass(bench_traffic traffic, bool is_streamed, const float *const in[3], float *out, size_t count) {
  const level *l = best_level();
  if (!traffic.has_write) return l->read(in[0], count);
  (is_streamed ? l->stream : l->write)(traffic.reads, in, out, count);
#if HAS_X86
  if (is_streamed) _mm_sfence();
#endif
  return 0;
}

static volatile float seen;  // uses the result, so that the compiler cannot drop the work

double bench_cpu_fma(uint64_t rounds) {
  const level *l = best_level();
  seen = l->fma(rounds);
  return 2.0 * 12 * l->width * (double)rounds;
}
