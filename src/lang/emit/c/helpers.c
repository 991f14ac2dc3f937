// SPDX-License-Identifier: MIT
// Helper functions of the emitted text: the exact meanings of ir_ops.h where a dialect's own operators differ, and
// functions it lacks. Only those that a kernel uses are written, each after those it uses itself.
//
// Templates:  $t  value type, "f32"                 $u  unsigned type of its width, "u32"
//             $w  width less one, "31u"             $i  bits of infinity
//             $f  suffix of math functions          $p  their prefix
//             $Z  subgroup size
// A name that begins with tsr_ is a helper: tsr_<name>_<type>, or tsr_<name>.
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"

// --- The list -------------------------------------------------------------------------------------------------------

// OpenCL with cl_khr_fp16, for the list only.
#define OPENCL_F16 32u

typedef struct helper {
  uint32_t dialects;  // tsri_c_dialect_bit
  const char *name;
  const char *classes;  // for which types: i i32 i64, u u32, f f32 f64, s f32 only, b bool; "" if there is no type
  const char *text;
} helper;

#define FN2(name, body) "TSR_FN $t tsr_" name "_$t($t a, $t b) { " body " }\n"
#define FN1(name, body) "TSR_FN $t tsr_" name "_$t($t a) { " body " }\n"

// Before compute capability 8.0.
#define F32_TO_BF16                                                         \
  "TSR_FN u16 tsr_f32_to_bf16(f32 x) {\n  u32 u = tsr_bits_f32(x);\n"       \
  "  if ((u & 0x7fffffffu) > 0x7f800000u) return (u16)(u >> 16 | 0x40u);\n" \
  "  return (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);\n}\n"

// The first that fits is taken.
static const helper helpers[] = {
    // Bits of floats.
    {TSRI_C_OPENCL, "bits", "s", "#define tsr_bits_f32(x) as_uint(x)\n"},
    {TSRI_C_OPENCL, "bits", "f", "#define tsr_bits_f64(x) as_ulong(x)\n"},
    {TSRI_C_OPENCL, "from", "s", "#define tsr_from_f32(x) as_float(x)\n"},
    {TSRI_C_OPENCL, "from", "f", "#define tsr_from_f64(x) as_double(x)\n"},
    {TSRI_C_CUDA | TSRI_C_HIP, "bits", "s", "#define tsr_bits_f32(x) __float_as_uint(x)\n"},
    {TSRI_C_CUDA | TSRI_C_HIP, "bits", "f", "#define tsr_bits_f64(x) ((u64)__double_as_longlong(x))\n"},
    {TSRI_C_CUDA | TSRI_C_HIP, "from", "s", "#define tsr_from_f32(x) __uint_as_float(x)\n"},
    {TSRI_C_CUDA | TSRI_C_HIP, "from", "f", "#define tsr_from_f64(x) __longlong_as_double((i64)(x))\n"},
    {TSRI_C_METAL, "bits", "s", "#define tsr_bits_f32(x) as_type<uint>(x)\n"},
    {TSRI_C_METAL, "from", "s", "#define tsr_from_f32(x) as_type<float>(x)\n"},
    {TSRI_C_PLAIN, "bits", "f",
     "TSR_FN $u tsr_bits_$t($t x) {\n  union { $t f; $u u; } v;\n  v.f = x;\n  return v.u;\n}\n"},
    {TSRI_C_PLAIN, "from", "f",
     "TSR_FN $t tsr_from_$t($u x) {\n  union { $t f; $u u; } v;\n  v.u = x;\n  return v.f;\n}\n"},

    // Integers: no overflow is undefined.
    {TSRI_C_ALL, "neg", "i", FN1("neg", "return ($t)(($u)0 - ($u)a);")},
    // ptxas 13.0 for sm_90, sm_100 and sm_103 makes one instruction of min(min(a, -b), -c), likewise of max, and there forgets to negate
    // b. It does not recognise ~x + 1, which NVRTC would turn into 0 - x if it saw the ~, nor x taken from a 0 that only the
    // launch knows: launches have no offset.
    {TSRI_C_CUDA, "negate", "",
     "TSR_FN i32 tsr_negate(i32 a) {\n  u32 r;\n  asm(\"not.b32 %0, %1;\" : \"=r\"(r) : \"r\"(a));\n"
     "  return (i32)(r + 1u);\n}\n"},
    {TSRI_C_OPENCL, "negate", "",
     "#ifdef __NV_CL_C_VERSION\n"
     "TSR_FN i32 tsr_negate(i32 a) { return (i32)((u32)get_global_offset(0) - (u32)a); }\n"
     "#else\n"
     "TSR_FN i32 tsr_negate(i32 a) { return (i32)(0u - (u32)a); }\n"
     "#endif\n"},
    {TSRI_C_ALL, "add", "i", FN2("add", "return ($t)(($u)a + ($u)b);")},
    {TSRI_C_ALL, "sub", "i", FN2("sub", "return ($t)(($u)a - ($u)b);")},
    {TSRI_C_ALL, "mul", "i", FN2("mul", "return ($t)(($u)a * ($u)b);")},
    {TSRI_C_ALL, "add", "uf", FN2("add", "return a + b;")},
    {TSRI_C_ALL, "shl", "i", "TSR_FN $t tsr_shl_$t($t a, u32 b) { return ($t)(($u)a << (b & $w)); }\n"},
    {TSRI_C_OPENCL | TSRI_C_METAL, "popcount32", "", "#define tsr_popcount32(x) ((u32)popcount(x))\n"},
    {TSRI_C_OPENCL | TSRI_C_METAL, "clz32", "", "#define tsr_clz32(x) ((u32)clz(x))\n"},
    {TSRI_C_CUDA | TSRI_C_HIP, "popcount32", "", "#define tsr_popcount32(x) ((u32)__popc(x))\n"},
    {TSRI_C_CUDA | TSRI_C_HIP, "clz32", "", "#define tsr_clz32(x) ((u32)__clz((int)(x)))\n"},
    {TSRI_C_PLAIN, "popcount32", "",
     "TSR_FN u32 tsr_popcount32(u32 x) {\n  x = x - ((x >> 1) & 0x55555555u);\n"
     "  x = (x & 0x33333333u) + ((x >> 2) & 0x33333333u);\n"
     "  return (((x + (x >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;\n}\n"},
    {TSRI_C_PLAIN, "clz32", "",
     "TSR_FN u32 tsr_clz32(u32 x) {\n  x |= x >> 1;\n  x |= x >> 2;\n  x |= x >> 4;\n  x |= x >> 8;\n"
     "  x |= x >> 16;\n  return 32u - tsr_popcount32(x);\n}\n"},

    {TSRI_C_ALL, "select", "iufb", "TSR_FN $t tsr_select_$t(bool c, $t a, $t b) { return c ? a : b; }\n"},

    // Conversions in hardware; the others are expansions.
    {OPENCL_F16, "f16_to_f32", "",
     "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#define tsr_f16_to_f32(h) convert_float(as_half((ushort)(h)))\n"},
    {OPENCL_F16, "f32_to_f16", "",
     "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#define tsr_f32_to_f16(x) as_ushort(convert_half_rte(x))\n"},
    {TSRI_C_CUDA, "f16_to_f32", "",
     "TSR_FN f32 tsr_f16_to_f32(u16 h) {\n  f32 x;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(h));\n"
     "  return x;\n}\n"},
    {TSRI_C_CUDA, "f32_to_f16", "",
     "TSR_FN u16 tsr_f32_to_f16(f32 x) {\n  u16 h;\n  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
     "  return h;\n}\n"},
    {TSRI_C_CUDA, "f64_to_f16", "",
     "TSR_FN u16 tsr_f64_to_f16(f64 x) {\n  u16 h;\n  asm(\"cvt.rn.f16.f64 %0, %1;\" : \"=h\"(h) : \"d\"(x));\n"
     "  return h;\n}\n"},
    {TSRI_C_HIP, "f16_to_f32", "",
     "TSR_FN f32 tsr_f16_to_f32(u16 h) { return (f32)__builtin_bit_cast(_Float16, h); }\n"},
    {TSRI_C_HIP, "f32_to_f16", "",
     "TSR_FN u16 tsr_f32_to_f16(f32 x) { return __builtin_bit_cast(u16, (_Float16)x); }\n"},
    {TSRI_C_METAL, "f16_to_f32", "", "#define tsr_f16_to_f32(h) (float(as_type<half>((ushort)(h))))\n"},
    {TSRI_C_METAL, "f32_to_f16", "", "#define tsr_f32_to_f16(x) (as_type<ushort>(half(x)))\n"},
    {TSRI_C_CUDA, "f32_to_bf16", "",
     "#if __CUDA_ARCH__ >= 800\n"
     "TSR_FN u16 tsr_f32_to_bf16(f32 x) {\n  u16 h;\n  asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
     "  return h;\n}\n#else\n" F32_TO_BF16 "#endif\n"},

    // A step of a butterfly over the subgroup, and the value of any lane.
    {TSRI_C_CUDA, "swap", "iuf", "#define tsr_swap_$t(v, m) __shfl_xor_sync(0xffffffffu, v, (int)(m))\n"},
    {TSRI_C_HIP, "swap", "iuf", "#define tsr_swap_$t(v, m) __shfl_xor(v, (int)(m))\n"},
    {TSRI_C_METAL, "swap", "ius", "#define tsr_swap_$t(v, m) simd_shuffle_xor(v, (ushort)(m))\n"},
    {TSRI_C_OPENCL, "swap", "iuf", "#define tsr_swap_$t(v, m) sub_group_shuffle_xor(v, (u32)(m))\n"},
    {TSRI_C_CUDA, "lane", "iuf", "#define tsr_lane_$t(v, l) __shfl_sync(0xffffffffu, v, (int)(l))\n"},
    {TSRI_C_HIP, "lane", "iuf", "#define tsr_lane_$t(v, l) __shfl(v, (int)(l))\n"},
    {TSRI_C_METAL, "lane", "ius", "#define tsr_lane_$t(v, l) simd_shuffle(v, (ushort)(l))\n"},
    {TSRI_C_OPENCL, "lane", "iuf", "#define tsr_lane_$t(v, l) sub_group_shuffle(v, (u32)(l))\n"},
};

// --- Writing them ---------------------------------------------------------------------------------------------------

bool tsri_c_want(tsri_c_emitter *e, const char *name) {
  return tsri_helper_names_add(&e->names, name, &e->helpers.has_failed);
}

void tsri_c_define(tsri_c_emitter *e, const char *name, const tsri_builder *text) {
  e->helpers.has_failed |= text->has_failed;
  if (!text->text) return;
  tsri_builder_add(&e->helpers, "#ifndef tsr_has_%s\n#define tsr_has_%s\n", name + 4, name + 4);  // without tsr_
  tsri_builder_put(&e->helpers, text->text, text->bytes);
  tsri_builder_string(&e->helpers, "#endif\n");
}

static bool has_class(const char *classes, tsr_dtype dtype) {
  if (dtype == TSR_F32 && strchr(classes, 's')) return true;
  char letter = 'b';
  if (dtype == TSR_I32 || dtype == TSR_I64) letter = 'i';
  if (dtype == TSR_U32) letter = 'u';
  if (dtype == TSR_F32 || dtype == TSR_F64) letter = 'f';
  return strchr(classes, letter) != NULL;
}

// Value type at the end of a helper's name ("add_i32"); false if there is none.
static bool type_suffix(const char *name, size_t bytes, tsr_dtype *out_dtype, size_t *out_base_bytes) {
  static const tsr_dtype types[] = {TSR_BOOL, TSR_I32, TSR_U32, TSR_I64, TSR_F32, TSR_F64};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    const char *type = tsr_dtype_name(types[i]);
    size_t length = strlen(type);
    if (bytes > length + 1 && name[bytes - length - 1] == '_' && memcmp(name + bytes - length, type, length) == 0) {
      *out_dtype = types[i];
      *out_base_bytes = bytes - length - 1;
      return true;
    }
  }
  return false;
}

static bool is_named(const helper *h, const char *name, size_t bytes) {
  return strlen(h->name) == bytes && memcmp(h->name, name, bytes) == 0;
}

// `name` without tsr_. NULL: it is one made on demand, which was written before.
static const helper *find_helper(const tsri_c_emitter *e, const char *name, size_t bytes, tsr_dtype *out_dtype) {
  uint32_t bits = e->spell->bit | (tsri_c_is(e, TSRI_C_OPENCL) && e->options->f16 ? OPENCL_F16 : 0);
  tsr_dtype dtype = TSR_F32;
  size_t base = 0;
  bool has_type = type_suffix(name, bytes, &dtype, &base);
  for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++) {
    const helper *h = &helpers[i];
    if (!(h->dialects & bits)) continue;
    bool fits =
        h->classes[0] ? has_type && is_named(h, name, base) && has_class(h->classes, dtype) : is_named(h, name, bytes);
    if (fits) {
      *out_dtype = dtype;
      return h;
    }
  }
  return NULL;
}

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Recursion is bounded by how helpers use each other, which is in the list above.
static void need_named(tsri_c_emitter *e, const char *name, size_t bytes) {
  tsr_dtype dtype = TSR_F32;
  const helper *h = find_helper(e, name + 4, bytes - 4, &dtype);
  tsri_c_name full;
  if (bytes >= sizeof full.text) return;
  memcpy(full.text, name, bytes);
  full.text[bytes] = '\0';
  if (!h) {
    tsri_c_define_expansion(e, full.text);
    return;
  }
  if (!tsri_c_want(e, full.text)) return;
  tsri_builder text = {0};
  tsri_c_expand(e, &text, h->text, dtype);
  tsri_c_define(e, full.text, &text);
  tsri_free(text.text);
}

static void need_all(tsri_c_emitter *e, const char *text, size_t bytes) {
  for (size_t i = 0; i + 4 < bytes;) {
    size_t end = i;
    while (end < bytes && is_name_char(text[end])) end++;
    if (end - i > 4 && memcmp(text + i, "tsr_", 4) == 0) need_named(e, text + i, end - i);
    if (end - i == 3 && memcmp(text + i, "f64", 3) == 0) e->uses_f64 = true;
    i = end == i ? i + 1 : end;
  }
}

static const char *placeholder(const tsri_c_emitter *e, char letter, tsr_dtype dtype, char *number) {
  bool is_64 = tsr_dtype_bytes(dtype) == 8, is_long = e->spell->long_suffix[1] != '\0';
  switch (letter) {
    case 't':
      return tsr_dtype_name(dtype);
    case 'u':
      return is_64 ? "u64" : "u32";
    case 'w':
      return is_64 ? "63u" : "31u";
    case 'i':
      return !is_64 ? "0x7f800000u" : is_long ? "0x7ff0000000000000ULL" : "0x7ff0000000000000UL";
    case 'f':
      return dtype == TSR_F32 ? e->spell->f32_suffix : "";
    case 'p':
      return e->spell->math_prefix;
    case 'Z':
      snprintf(number, 16, "%uu", (unsigned)e->options->subgroup_size);
      return number;
    default:
      return NULL;  // an operand: stays
  }
}

void tsri_c_expand(tsri_c_emitter *e, tsri_builder *out, const char *pattern, tsr_dtype dtype) {
  size_t start = out->bytes;
  for (const char *p = pattern; *p; p++) {
    char number[16];
    const char *value = *p == '$' ? placeholder(e, p[1], dtype, number) : NULL;
    if (value) {
      tsri_builder_string(out, value);
      p++;
    } else {
      tsri_builder_put(out, p, 1);
    }
  }
  if (out->bytes > start) need_all(e, out->text + start, out->bytes - start);
}
