// SPDX-License-Identifier: MIT
// Helper functions of emitted WGSL: the exact meanings of ir_ops.h where WGSL's own operators differ or may be refused.
// Only those that a kernel uses are written, each after those it uses itself.
#include <stdio.h>
#include <string.h>

#include "lang/emit/wgsl/wgsl.h"

#define FN2(name, type, body) \
  { "tsr_" name "_" type, "fn tsr_" name "_" type "(a: " type ", b: " type ") -> " type " { " body " }\n" }
static const tsri_wgsl_helper helpers[] = {
    // Makes a float from its bits at run time: the compiler would refuse NaN, infinity and -0 as constants.
    {"tsr_float", "fn tsr_float(bits: u32) -> f32 { return bitcast<f32>(bits ^ tsr_p[1].x); }\n"},

    // Integer / and % mean the same in WGSL as in our language, but WGSL refuses a constant divisor 0.
    FN2("div", "i32", "return a / b;"),
    FN2("div", "u32", "return a / b;"),
    FN2("rem", "i32", "return a % b;"),
    FN2("rem", "u32", "return a % b;"),

    // The high word of a * c, if the sum of c's halves is below 2^16 - 1: then the sum of the two middle products fits into a word.
    {"tsr_mulhi_small",
     "fn tsr_mulhi_small(a: u32, c: u32) -> u32 {\n"
     "  let l = a & 0xffffu; let h = a >> 16u; let x = c & 0xffffu; let y = c >> 16u;\n"
     "  return h * y + ((l * y + (h * x + ((l * x) >> 16u))) >> 16u);\n}\n"},
    // The high word of a * (2^32 - c): a minus the high word of a * c, rounded up.
    {"tsr_mulhi_rest",
     "fn tsr_mulhi_rest(a: u32, c: u32) -> u32 {\n"
     "  let l = a & 0xffffu; let h = a >> 16u; let x = c & 0xffffu; let y = c >> 16u;\n"
     "  return (a - h * y) - ((l * y + (h * x + 0xffffu + ((l * x + 0xffffu) >> 16u))) >> 16u);\n}\n"},

    {NULL, NULL},
};

// --- Writing them ---------------------------------------------------------------------------------------------------

bool tsri_wgsl_want(tsri_wgsl *w, const char *name) {
  return tsri_helper_names_add(&w->names, name, &w->is_out_of_memory);
}

// --- Values that the compiler is not to know ------------------------------------------------------------------------

// tsr_keep keeps a rounded result as it is: the compiler can neither fuse it with the operation that uses it nor cancel
// it against its inverse. WGSL allows both, and (a + b) - a would not survive.
// tsr_apart hides that a value equals another one. WGSL lets compilers assume that nothing is NaN or infinite, and so
// NVIDIA's replaces x - x by 0 and x / x by 1. It uses another word than tsr_keep, because keep(keep(x)) is x again.
// Both have forms for vectors of 2 and 4 lanes, with that number at the end of the name.
static bool define_hiding(tsri_wgsl *w, const char *name) {
  bool is_keep = strncmp(name, "tsr_keep", 8) == 0, is_apart = strncmp(name, "tsr_apart", 9) == 0;
  if (!is_keep && !is_apart) return false;
  if (!tsri_wgsl_want(w, name)) return true;
  const char *lanes = name + (is_keep ? 8 : 9);
  uint8_t count = lanes[0] ? (uint8_t)(lanes[0] - '0') : 1;
  const char *floats = tsri_wgsl_type((tsri_ir_type){TSR_F32, count});
  const char *words = tsri_wgsl_type((tsri_ir_type){TSR_U32, count});
  tsri_builder_add(&w->helpers, "fn %s(a: %s) -> %s { return bitcast<%s>(bitcast<%s>(a) ^ %s(tsr_p[1].%c)); }\n", name,
                   floats, floats, floats, words, words, is_keep ? 'x' : 'y');
  return true;
}

// "tsr_add4": a sum, difference or product as one fma with a number that the compiler does not know. It rounds in the same way as the operation, keeps the sign
// of 0 (hence -0 as the addend of a product), and is one instruction where the operation and tsr_keep are two.
static bool define_rounded(tsri_wgsl *w, const char *name) {
  static const struct {
    const char *name, *before, *after;  // the text before and after the number
    uint32_t word;
  } all[] = {{"tsr_add", "fma(a, ", ", b)", TSRI_WGSL_ONE},
             {"tsr_sub", "fma(b, ", ", a)", TSRI_WGSL_MINUS_ONE},
             {"tsr_mul", "fma(a, b, ", ")", TSRI_WGSL_MINUS_ZERO}};
  for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
    size_t bytes = strlen(all[i].name);
    if (strncmp(name, all[i].name, bytes) != 0) continue;
    const char *lanes = name + bytes;
    if (lanes[0] != '\0' && lanes[1] != '\0') continue;  // "tsr_mulhi_u32"
    if (!tsri_wgsl_want(w, name)) return true;
    const char *type = tsri_wgsl_type((tsri_ir_type){TSR_F32, lanes[0] ? (uint8_t)(lanes[0] - '0') : 1});
    tsri_builder_add(&w->helpers, "fn %s(a: %s, b: %s) -> %s { return %s%s(bitcast<f32>(tsr_p[%u].%c))%s; }\n", name,
                     type, type, type, all[i].before, type, all[i].word / 4, "xyzw"[all[i].word % 4], all[i].after);
    return true;
  }
  return false;
}

static const char *find_text(const tsri_wgsl_helper *list, const char *name) {
  for (; list->name; list++) {
    if (strcmp(list->name, name) == 0) return list->text;
  }
  return NULL;
}

static void define(tsri_wgsl *w, const char *name) {
  const char *text = find_text(helpers, name);
  if (!text) {
    if (!define_hiding(w, name) && !define_rounded(w, name)) (void)tsri_wgsl_define_expansion(w, name);
  } else if (tsri_wgsl_want(w, name)) {
    tsri_wgsl_use(w, text);
    tsri_builder_string(&w->helpers, text);
  }
}

static size_t name_length(const char *text) {
  return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
}

// Writes the helpers that the text names. Other names, such as variables of the module and the helper being defined, are not in the list or have been requested
// already.
void tsri_wgsl_use(tsri_wgsl *w, const char *text) {
  for (const char *p = strstr(text, "tsr_"); p; p = strstr(p, "tsr_")) {
    char name[TSRI_HELPER_NAME_BYTES];
    size_t length = name_length(p);
    snprintf(name, sizeof name, "%.*s", (int)length, p);
    define(w, name);
    p += length;
  }
}
