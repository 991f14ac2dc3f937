// SPDX-License-Identifier: MIT
// Which vector instructions this processor has.
#include <string.h>

#if defined(__x86_64__) || defined(__i386__)
#include <cpuid.h>
#endif

#include "backends/cpu/cpu.h"
#include "platform/platform.h"

// Best first; the last one is always available.
static const struct {
  const char *level, *title;
  bool has_slow_fma;  // FMA is emulated by other operations, one lane after the other
} levels[] = {
#if defined(__x86_64__) || defined(__i386__)
    {"avx512", "AVX-512", false},
    {"avx2", "AVX2", false},
    {"baseline", "SSE2", false},
#elif defined(__aarch64__)
    {"neon", "NEON", false},
    {"baseline", "NEON", false},
#elif defined(__wasm_simd128__)
    {"baseline", "SIMD", true},  // a WebAssembly module has SIMD or not, independent of the processor
#else
    {"baseline", "scalar", false},
#endif
};
enum { LEVEL_COUNT = sizeof levels / sizeof levels[0] };

#if defined(__x86_64__) || defined(__i386__)
// By cpuid: clang's __builtin_cpu_supports does not know F16C before version 17.
static bool has_f16c(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) && (c & bit_F16C) != 0;
}
#endif

static bool is_present(const char *level) {
#if defined(__x86_64__) || defined(__i386__)
  if (strcmp(level, "avx512") == 0) {
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  }
  if (strcmp(level, "avx2") == 0) {
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  }
#endif
  (void)level;
  return true;
}

static int level_index(const char *level) {
  for (int i = 0; i < LEVEL_COUNT; i++) {
    if (strcmp(levels[i].level, level) == 0) return i;
  }
  return 0;  // a level of another architecture does not limit this one
}

const char *tsri_cpu_simd_level(const char *wanted) {
  for (int i = wanted ? level_index(wanted) : 0; i < LEVEL_COUNT; i++) {
    if (is_present(levels[i].level)) return levels[i].level;
  }
  return levels[LEVEL_COUNT - 1].level;
}

const char *tsri_cpu_simd_title(const char *level) { return levels[level_index(level)].title; }

bool tsri_cpu_simd_has_slow_fma(const char *level) { return levels[level_index(level)].has_slow_fma; }

#if defined(__x86_64__) && defined(__GNUC__)
static uint32_t units_of_processor(void) {
  enum { LEAF = 7, VNNI = 1 << 11, BF16 = 1 << 5, AMX = 1 << 22 | 1 << 24 | 1 << 25 };  // AMX: bf16, tiles, i8
  unsigned a = 0, b = 0, c = 0, d = 0, units = 0;
  if (!__get_cpuid_count(LEAF, 0, &a, &b, &c, &d)) return 0;
  if (c & VNNI) units |= TSRI_CPU_VNNI;
  if ((d & AMX) == AMX) units |= TSRI_CPU_AMX;
  if (__get_cpuid_count(LEAF, 1, &a, &b, &c, &d) && (a & BF16)) units |= TSRI_CPU_BF16;
  return units;
}

// On Intel's processors vdpbf16ps takes 0.8 ns and a multiply-add of f32 0.2 ns (measured on Sapphire Rapids), so converting to f32 is faster. On AMD's
// (measured on Zen 4) both take the same time.
static bool has_slow_bf16(void) { return __builtin_cpu_is("intel"); }

uint32_t tsri_cpu_units(const char *wanted) {
  static const struct {
    const char *name;
    uint32_t up_to;
  } names[] = {{"avx512_vnni", TSRI_CPU_VNNI},
               {"avx512_bf16", TSRI_CPU_VNNI | TSRI_CPU_BF16},
               {"amx", TSRI_CPU_VNNI | TSRI_CPU_BF16 | TSRI_CPU_AMX}};
  uint32_t allowed = wanted ? 0 : UINT32_MAX;
  for (size_t i = 0; wanted && i < sizeof names / sizeof names[0]; i++) {
    if (strcmp(names[i].name, wanted) == 0) allowed = names[i].up_to;
  }
  if (allowed == 0 || strcmp(tsri_cpu_simd_level(NULL), "avx512") != 0) return 0;
  uint32_t units = units_of_processor() & allowed;
  if (!wanted && has_slow_bf16()) units &= ~(uint32_t)TSRI_CPU_BF16;
  if ((units & TSRI_CPU_AMX) && !tsri_allow_tile_registers()) units &= ~(uint32_t)TSRI_CPU_AMX;
  return units;
}
#else
uint32_t tsri_cpu_units(const char *wanted) {
  (void)wanted;
  return 0;
}
#endif
