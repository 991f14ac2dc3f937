// SPDX-License-Identifier: MIT
// Fragments in CUDA C++, and in OpenCL C for NVIDIA's compiler, which takes PTX, too: mma.m16n8k16, twice for a product of 16 x 16 x 16, with factors out
// of shared memory by ldmatrix. No header is needed, which NVRTC may not find. In OpenCL C pointers have address spaces, and one into shared memory
// is the address that ldmatrix takes.
//
// Registers of an item, as the PTX manual has them, with row = lane / 4, quarter = lane % 4 and pair = quarter * 2:
//   left   register i: row `row + 8 * (i % 2)`, columns `pair + 8 * (i / 2)` and the next one
//   right  register i: column `row + 8 * (i / 2)`, rows `pair + 8 * (i % 2)` and the next one
//   sum    register i: row `row + 8 * (i / 2 % 2)`, column `pair + i % 2 + 8 * (i / 4)`
//
// Factors of f32 are two numbers of TF32 each, which have 11 significant bits: high is x rounded to one, low is x - high, in
// registers i and i + 8. mma.m16n8k8 adds low * high, high * low and high * high; low * low, at most 2^-22 of the product, is left
// out. The units cut off what does not fit when they add, so each product of 16 x 16 x 16 starts at 0 and is added to the sum by
// an instruction that rounds. Where x is infinite or NaN or rounds to infinity, low is no number, and so is the sum.
//   left   register i: row `row + 8 * (i % 2)`, column `quarter + 4 * (i / 2)`
//   right  register i: column `row + 8 * (i / 4)`, row `quarter + 4 * (i % 4)`
#include "lang/emit/c/fragment.h"

#include <string.h>

const char tsri_c_cuda_lane[] =
    "TSR_FN u32 tsr_fragment_lane() {\n  u32 x;\n  asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(x));\n  return x;\n}\n";

// Loads the four 8 x 8 matrices of a factor from shared memory. Each item passes the address of one of their rows.
static const char shared_text[] =
    "TSR_FN void $name(u32 *f, $space const void *base, u32 at, u32 stride) {\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  $space const u16 *line = ($space const u16 *)base + at + $line * stride + $column * 8u;\n"
    "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4$transposed.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"
    "               : \"=r\"(f[0]), \"=r\"(f[1]), \"=r\"(f[2]), \"=r\"(f[3])\n"
    "               : \"r\"((u32)$address(line)) : \"memory\");\n}\n";

// `outer` and `inner`: position of the pair that a register holds; inner is along k. The two elements are in one word, or apart in memory.
static const char buffer_text[] =
    "TSR_FN void $name(u32 *f, $space const void *base, u32 at, u32 stride) {\n"
    "  $space const u16 *p = ($space const u16 *)base + at;\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  for (u32 i = 0; i < 4u; i++) {\n"
    "    const u32 outer = lane / 4u + 8u * ($outer), inner = lane % 4u * 2u + 8u * ($inner);\n"
    "    f[i] = $pair;\n  }\n}\n";

static const char multiply_text[] =
    "TSR_FN void $name(f32 *s, const u32 *l, const u32 *r) {\n"
    "  for (u32 i = 0; i < 2u; i++) {\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.$dtype.$dtype.f32 \"\n"
    "                 \"{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "                 : \"+f\"(s[4u * i]), \"+f\"(s[4u * i + 1u]), \"+f\"(s[4u * i + 2u]), \"+f\"(s[4u * i + 3u])\n"
    "                 : \"r\"(l[0]), \"r\"(l[1]), \"r\"(l[2]), \"r\"(l[3]), \"r\"(r[2u * i]), \"r\"(r[2u * i + 1u]));\n"
    "  }\n}\n";

const char tsri_c_cuda_split[] =
    "TSR_FN void tsr_fragment_split(u32 *f, u32 i, u32 bits) {\n"
    "  asm(\"{ .reg .b32 t; add.u32 t, %2, 4096; and.b32 %0, t, 0xffffe000; sub.rn.f32 %1, %2, %0; }\"\n"
    "      : \"=&r\"(f[i]), \"=r\"(f[i + 8u]) : \"r\"(bits));\n}\n";

// As above for f32: twice four matrices of 8 x 4 elements.
static const char wide_shared_text[] =
    "TSR_FN void $name(u32 *f, $space const void *base, u32 at, u32 stride) {\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  for (u32 i = 0; i < 2u; i++) {\n"
    "    u32 x[4];\n"
    "    $space const u32 *line = ($space const u32 *)base + at + ($line) * stride + $column;\n"
    "    asm volatile(\"ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"
    "                 : \"=r\"(x[0]), \"=r\"(x[1]), \"=r\"(x[2]), \"=r\"(x[3])\n"
    "                 : \"r\"((u32)$address(line)) : \"memory\");\n"
    "    for (u32 j = 0; j < 4u; j++) tsr_fragment_split(f, 4u * i + j, x[j]);\n  }\n}\n";

static const char wide_text[] =
    "TSR_FN void $name(u32 *f, $space const void *base, u32 at, u32 stride) {\n"
    "  $space const u32 *p = ($space const u32 *)base + at;\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  for (u32 i = 0; i < 8u; i++) {\n"
    "    const u32 outer = lane / 4u + 8u * ($outer), inner = lane % 4u + 4u * ($inner);\n"
    "    tsr_fragment_split(f, i, $element);\n  }\n}\n";

// Multiplies factor `l` by factor `r` for k from j * 2 to j * 2 + 7, and adds the product to one half of the columns.
#define WIDE_MMA(l, r)                                                                                               \
  "      asm volatile(\"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 \"\n"                                     \
  "                   \"{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"                         \
  "                   : \"+f\"(t[0]), \"+f\"(t[1]), \"+f\"(t[2]), \"+f\"(t[3])\n"                                    \
  "                   : \"r\"(" l "[j]), \"r\"(" l "[j + 1u]), \"r\"(" l "[j + 2u]), \"r\"(" l "[j + 3u]), \"r\"(" r \
  "[j / 2u]), \"r\"(" r "[j / 2u + 1u]));\n"

static const char wide_multiply_text[] =
    "TSR_FN void $name(f32 *s, const u32 *l, const u32 *r) {\n"
    "  for (u32 i = 0; i < 2u; i++) {\n"
    "    const u32 *high = r + 4u * i, *low = high + 8u;\n"
    "    f32 t[4] = {0, 0, 0, 0};\n"
    "    for (u32 j = 0; j < 8u; j += 4u) {\n" WIDE_MMA("(l + 8u)", "high") WIDE_MMA("l", "low") "    }\n"
    "    for (u32 j = 0; j < 8u; j += 4u) {\n" WIDE_MMA("l", "high") "    }\n"
    "    for (u32 j = 0; j < 4u; j++) s[4u * i + j] += t[j];\n  }\n}\n";

// A left factor by rows and a right factor by columns have k along their lines, as the registers do. From shared memory whole matrices are loaded, those of
// 16-bit elements also transposed; otherwise each item loads its own elements.
static void define_load(tsri_c_emitter *e, const char *name, tsr_dtype dtype, bool is_left, bool by_columns,
                        bool is_shared) {
  bool along_k = is_left != by_columns, is_wide = dtype == TSR_F32, has_spaces = tsri_c_is(e, TSRI_C_OPENCL);
  const char *space = !has_spaces ? "" : is_shared ? "__local " : "__global ";
  const char *line = by_columns ? "(lane % 8u + lane / 16u * 8u)" : "lane % 16u";
  const char *wide_line = is_left ? "lane % 16u" : "lane % 8u + 8u * i";
  const char *wide_column = is_left ? "lane / 16u * 4u + 8u * i" : "lane / 8u * 4u";
  tsri_c_name word = tsri_c_named("*(%sconst u32 *)(p + outer * stride + inner)", space);
  const char *two_halves = "(u32)p[inner * stride + outer] | (u32)p[(inner + 1u) * stride + outer] << 16";
  const tsri_hole holes[] = {{"$name", name},
                             {"$space ", space},
                             {"$address", has_spaces ? "(size_t)" : "__cvta_generic_to_shared"},
                             {"$line", is_wide ? wide_line : line},
                             {"$column", is_wide      ? wide_column
                                         : by_columns ? "(lane / 8u % 2u)"
                                                      : "(lane / 16u)"},
                             {"$transposed", along_k ? "" : ".trans"},
                             {"$outer", is_left   ? "i % 2u"
                                        : is_wide ? "i / 4u"
                                                  : "i / 2u"},
                             {"$inner", is_left   ? "i / 2u"
                                        : is_wide ? "i % 4u"
                                                  : "i % 2u"},
                             {"$element", along_k ? "p[outer * stride + inner]" : "p[inner * stride + outer]"},
                             {"$pair", along_k ? word.text : two_halves},
                             {NULL, NULL}};
  const char *whole = is_wide ? wide_shared_text : shared_text, *single = is_wide ? wide_text : buffer_text;
  bool by_matrix = is_shared && (along_k || !is_wide);
  tsri_c_define_once(e, name, by_matrix ? whole : single, (tsri_ir_type){TSR_F32, 1}, holes);
}

static void define_multiply(tsri_c_emitter *e, const char *name, const char *dtype) {
  const tsri_hole holes[] = {{"$name", name}, {"$dtype", dtype}, {NULL, NULL}};
  const char *pattern = strcmp(dtype, "f32") == 0 ? wide_multiply_text : multiply_text;
  tsri_c_define_once(e, name, pattern, (tsri_ir_type){TSR_F32, 1}, holes);
}

const struct tsri_c_fragments tsri_c_fragments_cuda = {
    .factor_words = "4u",
    .wide_words = "16u",
    .sum_count = "8u",
    .sum_place = "const u32 row = lane / 4u + 8u * (i / 2u % 2u), col = lane % 4u * 2u + i % 2u + 8u * (i / 4u);",
    .define_load = define_load,
    .define_multiply = define_multiply,
};
