// SPDX-License-Identifier: MIT
// Fragments in HIP C++, by the matrix units of three families of GPUs, which macros of the compiler distinguish.
//
// Registers of item `lane` in a product of 16 x 16 x 16. A line of a factor is a row of the left one, a column of the right one; each item holds consecutive
// elements along k of line lane % 16. The column of a sum is lane % 16.
//
// elements of a factor     sums   row of sum i
// MFMA (gfx9, wavefronts of 64)    4 from 4 * (lane / 16)   4      4 * (lane / 16) + i
// WMMA of gfx11 (of 32)            all 16                   8      2 * i + lane / 16
// WMMA of gfx12 (of 32)            8 from 8 * (lane / 16)   8      8 * (lane / 16) + i
#include "lang/emit/c/fragment.h"

const char tsri_c_hip_lane[] =
    "#if defined(__GFX11__)\n"
    "#define TSR_FACTOR_WORDS 8u\n#define TSR_SUM_COUNT 8u\n#define TSR_FIRST_K(lane) 0u\n"
    "#define TSR_SUM_ROW(lane, i) (2u * (i) + (lane) / 16u)\n"
    "#define TSR_UNIT_f16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32(a, b, c)\n"
    "#define TSR_UNIT_bf16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32(a, b, c)\n"
    "#elif defined(__GFX12__)\n"
    "#define TSR_FACTOR_WORDS 4u\n#define TSR_SUM_COUNT 8u\n#define TSR_FIRST_K(lane) (8u * ((lane) / 16u))\n"
    "#define TSR_SUM_ROW(lane, i) (8u * ((lane) / 16u) + (i))\n"
    "#define TSR_UNIT_f16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_f16_w32_gfx12(a, b, c)\n"
    "#define TSR_UNIT_bf16(a, b, c) __builtin_amdgcn_wmma_f32_16x16x16_bf16_w32_gfx12(a, b, c)\n"
    "#else\n"
    "#define TSR_FACTOR_WORDS 2u\n#define TSR_SUM_COUNT 4u\n#define TSR_FIRST_K(lane) (4u * ((lane) / 16u))\n"
    "#define TSR_SUM_ROW(lane, i) (4u * ((lane) / 16u) + (i))\n"
    "#define TSR_UNIT_f16(a, b, c) __builtin_amdgcn_mfma_f32_16x16x16f16(a, b, c, 0, 0, 0)\n"
    "#define TSR_UNIT_bf16(a, b, c) __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(a, b, c, 0, 0, 0)\n"
    "#endif\n"
    "#define tsr_fragment_lane() ((u32)__lane_id())\n";

// If lines are along k, an item's elements are one aligned load: offsets and strides are multiples of 16 bytes.
static const char along_text[] =
    "TSR_FN void $name(u32 *f, const void *base, u32 at, u32 stride) {\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  const u16 *p = (const u16 *)base + at + lane % 16u * stride + TSR_FIRST_K(lane);\n"
    "  const u32 *line = (const u32 *)__builtin_assume_aligned(p, TSR_FACTOR_WORDS < 4u ? 8 : 16);\n"
    "  for (u32 i = 0; i < TSR_FACTOR_WORDS; i++) f[i] = line[i];\n}\n";

static const char across_text[] =
    "TSR_FN void $name(u32 *f, const void *base, u32 at, u32 stride) {\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  const u16 *p = (const u16 *)base + at + lane % 16u + TSR_FIRST_K(lane) * stride;\n"
    "  for (u32 i = 0; i < TSR_FACTOR_WORDS; i++) {\n"
    "    f[i] = (u32)p[2u * i * stride] | (u32)p[(2u * i + 1u) * stride] << 16;\n  }\n}\n";

// The compiler's vector of a factor has _Float16 or, for bf16, short as elements.
static const char multiply_text[] =
    "TSR_FN void $name(f32 *s, const u32 *l, const u32 *r) {\n"
    "  typedef $element factor __attribute__((ext_vector_type(2u * TSR_FACTOR_WORDS)));\n"
    "  typedef float sum __attribute__((ext_vector_type(TSR_SUM_COUNT)));\n"
    "  factor a, b;\n  sum c;\n"
    "  __builtin_memcpy(&a, l, sizeof a);\n  __builtin_memcpy(&b, r, sizeof b);\n  __builtin_memcpy(&c, s, sizeof c);\n"
    "  c = TSR_UNIT_$dtype(a, b, c);\n"
    "  __builtin_memcpy(s, &c, sizeof c);\n}\n";

static void define_load(tsri_c_emitter *e, const char *name, tsr_dtype dtype, bool is_left, bool by_columns,
                        bool is_shared) {
  (void)dtype, (void)is_shared;  // both have 16 bits, and addresses are generic
  bool runs_along_k = is_left != by_columns;
  const tsri_hole holes[] = {{"$name", name}, {NULL, NULL}};
  tsri_c_define_once(e, name, runs_along_k ? along_text : across_text, (tsri_ir_type){TSR_F32, 1}, holes);
}

static void define_multiply(tsri_c_emitter *e, const char *name, const char *dtype) {
  const tsri_hole holes[] = {
      {"$name", name}, {"$element", dtype[0] == 'f' ? "_Float16" : "short"}, {"$dtype", dtype}, {NULL, NULL}};
  tsri_c_define_once(e, name, multiply_text, (tsri_ir_type){TSR_F32, 1}, holes);
}

const struct tsri_c_fragments tsri_c_fragments_hip = {
    .factor_words = "TSR_FACTOR_WORDS",
    .sum_count = "TSR_SUM_COUNT",
    .sum_place = "const u32 row = TSR_SUM_ROW(lane, i), col = lane % 16u;",
    .define_load = define_load,
    .define_multiply = define_multiply,
};
