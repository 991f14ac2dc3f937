// SPDX-License-Identifier: MIT
// Helper functions of the emitted text: the exact meanings of ir_ops.h where a dialect's own operators differ, and
// functions it lacks. Only those that a kernel uses are written, each after those it uses itself.
//
// Templates:  $t  value type, "f32"                 $u  unsigned type of its width, "u32"
//             $w  width less one, "31u"             $i  bits of infinity
//             $f  suffix of math functions          $p  their prefix
//             $x  end of a vector's name, "f32x4"   $Z  subgroup size
// and what stands there for each lane (emit/template.h). A name that begins with tsr_ is a helper: tsr_<name>_<type>, or
// tsr_<name>.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/fragment.h"

// --- The list -------------------------------------------------------------------------------------------------------

// For the list only: OpenCL with cl_khr_fp16, and with PTX (tsri_emit_options.ptx).
#define OPENCL_F16 32u
#define OPENCL_PTX 64u

typedef struct helper {
  uint32_t dialects;  // a set of tsri_c_dialect_bit
  const char *name;
  // The types for which it exists: i i32 i64, w i32 only, u u32, f f32 f64, s f32 only, b bool, v vectors; "": it has no type.
  const char *classes;
  const char *text;
} helper;

#define FN2(name, body)      "TSR_FN $t tsr_" name "_$t($t a, $t b) { " body " }\n"
#define FN1(name, body)      "TSR_FN $t tsr_" name "_$t($t a) { " body " }\n"
#define SUBGROUP(name, body) "TSR_FN $t tsr_subgroup_" name "_$t($t v) {" body "}\n"
#define UNLESS_NAN(value)    "\n  return sub_group_any(tsr_isnan_$t(v)) ? tsr_from_$t($i | ($i >> 1)) : " value ";\n"
#define BUTTERFLY(name) \
  "\n  for (u32 m = $Z / 2u; m > 0u; m >>= 1) v = tsr_" name "_$t(v, tsr_swap_$t(v, m));\n  return v;\n"
#define INSERT(lane) "TSR_FN tsr_$x tsr_with_" lane "_$x(tsr_$x v, $t a) {\n  v." lane " = a;\n  return v;\n}\n"

#define CUDA_ROUND(from, to, letter)        \
  "TSR_FN u16 tsr_" from "_to_" to "(" from \
  " x) {\n  u16 h;\n"                       \
  "  asm(\"cvt.rn." to "." from " %0, %1;\" : \"=h\"(h) : \"" letter "\"(x));\n  return h;\n}\n"

// A shuffle of the subgroup by PTX, of 32 bits and of two halves of 64.
#define PTX_SHUFFLE(name, mode, letter)                                                                    \
  "TSR_FN $t tsr_" name                                                                                    \
  "_$t($t v, u32 m) {\n  $t r;\n"                                                                          \
  "  asm volatile(\"shfl.sync." mode ".b32 %0, %1, %2, 31, 0xffffffff;\" : \"=" letter "\"(r) : \"" letter \
  "\"(v), \"r\"(m));\n  return r;\n}\n"
#define PTX_WIDE_SHUFFLE(name, mode, letter)                                                     \
  "TSR_FN $t tsr_" name                                                                          \
  "_$t($t v, u32 m) {\n  $t r;\n"                                                                \
  "  asm volatile(\"{ .reg .b32 a, b; mov.b64 {a, b}, %1; shfl.sync." mode                       \
  ".b32 a, a, %2, 31, 0xffffffff; shfl.sync." mode                                               \
  ".b32 b, b, %2, 31, 0xffffffff; mov.b64 %0, {a, b}; }\"\n    : \"=" letter "\"(r) : \"" letter \
  "\"(v), \"r\"(m));\n  return r;\n}\n"

// For compute capabilities below 8.0.
#define F32_TO_BF16                                                         \
  "TSR_FN u16 tsr_f32_to_bf16(f32 x) {\n  u32 u = tsr_bits_f32(x);\n"       \
  "  if ((u & 0x7fffffffu) > 0x7f800000u) return (u16)(u >> 16 | 0x40u);\n" \
  "  return (u16)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);\n}\n"

// The first entry that matches is taken.
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

    // Integers: overflow must not be undefined.
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

    // Vectors are plain structs in every dialect, since CUDA and C have no operators on theirs and the others disagree
    // about comparisons. Compilers keep them in registers. Only memory sees the dialect's own vectors.
    {TSRI_C_ALL, "", "v", "typedef struct { $t $[, $:$l$]; } tsr_$x;\n"},
    {TSRI_C_ALL, "make", "v",
     "TSR_FN tsr_$x tsr_make_$x($[, $:$t $l$]) {\n  tsr_$x r;\n$[$:  r.$l = $l;\n$]  return r;\n}\n"},
    {TSRI_C_ALL, "splat", "v", "TSR_FN tsr_$x tsr_splat_$x($t a) {\n  tsr_$x r;\n$[$:  r.$l = a;\n$]  return r;\n}\n"},
    {TSRI_C_ALL, "with_x", "v", INSERT("x")},
    {TSRI_C_ALL, "with_y", "v", INSERT("y")},
    {TSRI_C_ALL, "with_z", "v", INSERT("z")},
    {TSRI_C_ALL, "with_w", "v", INSERT("w")},
    {TSRI_C_ALL, "any", "v", "TSR_FN bool tsr_any_$x(tsr_$x a) { return $[ || $:a.$l$]; }\n"},
    {TSRI_C_ALL, "all", "v", "TSR_FN bool tsr_all_$x(tsr_$x a) { return $[ && $:a.$l$]; }\n"},

    // Conversions in hardware; the others are expansions.
    {OPENCL_F16, "f16_to_f32", "",
     "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#define tsr_f16_to_f32(h) convert_float(as_half((ushort)(h)))\n"},
    {OPENCL_F16, "f32_to_f16", "",
     "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n#define tsr_f32_to_f16(x) as_ushort(convert_half_rte(x))\n"},
    {TSRI_C_CUDA | OPENCL_PTX, "f16_to_f32", "",
     "TSR_FN f32 tsr_f16_to_f32(u16 h) {\n  f32 x;\n  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(h));\n"
     "  return x;\n}\n"},
    {TSRI_C_CUDA | OPENCL_PTX, "f32_to_f16", "", CUDA_ROUND("f32", "f16", "f")},
    {TSRI_C_CUDA, "f64_to_f16", "", CUDA_ROUND("f64", "f16", "d")},
    {TSRI_C_HIP, "f16_to_f32", "",
     "TSR_FN f32 tsr_f16_to_f32(u16 h) { return (f32)__builtin_bit_cast(_Float16, h); }\n"},
    {TSRI_C_HIP, "f32_to_f16", "",
     "TSR_FN u16 tsr_f32_to_f16(f32 x) { return __builtin_bit_cast(u16, (_Float16)x); }\n"},
    {TSRI_C_METAL, "f16_to_f32", "", "#define tsr_f16_to_f32(h) (float(as_type<half>((ushort)(h))))\n"},
    {TSRI_C_METAL, "f32_to_f16", "", "#define tsr_f32_to_f16(x) (as_type<ushort>(half(x)))\n"},
    {OPENCL_PTX, "f32_to_bf16", "", CUDA_ROUND("f32", "bf16", "f")},
    {TSRI_C_CUDA, "f32_to_bf16", "",
     "#if __CUDA_ARCH__ >= 800\n" CUDA_ROUND("f32", "bf16", "f") "#else\n" F32_TO_BF16 "#endif\n"},

    // Loads of data that is read once. The built-in function takes the compiler's own vector types, not HIP's.
    {TSRI_C_HIP, "read_once", "",
     "template <class T, int N> struct tsr_once {\n  typedef T lanes __attribute__((ext_vector_type(N)));\n};\n"
     "template <int N, class T> TSR_FN typename tsr_once<T, N>::lanes tsr_read_once(const T *p) {\n"
     "  return __builtin_nontemporal_load((const typename tsr_once<T, N>::lanes *)p);\n}\n"},

    // One step of a butterfly over the subgroup; and the value of a given lane.
    {TSRI_C_CUDA, "swap", "iuf", "#define tsr_swap_$t(v, m) __shfl_xor_sync(0xffffffffu, v, (int)(m))\n"},
    {TSRI_C_HIP, "swap", "iuf", "#define tsr_swap_$t(v, m) __shfl_xor(v, (int)(m))\n"},
    {TSRI_C_METAL, "swap", "ius", "#define tsr_swap_$t(v, m) simd_shuffle_xor(v, (ushort)(m))\n"},
    {OPENCL_PTX, "swap", "wu", PTX_SHUFFLE("swap", "bfly", "r")},
    {OPENCL_PTX, "swap", "s", PTX_SHUFFLE("swap", "bfly", "f")},
    {OPENCL_PTX, "swap", "i", PTX_WIDE_SHUFFLE("swap", "bfly", "l")},
    {OPENCL_PTX, "swap", "f", PTX_WIDE_SHUFFLE("swap", "bfly", "d")},
    {TSRI_C_OPENCL, "swap", "iuf", "#define tsr_swap_$t(v, m) sub_group_shuffle_xor(v, (u32)(m))\n"},
    {TSRI_C_CUDA, "lane", "iuf", "#define tsr_lane_$t(v, l) __shfl_sync(0xffffffffu, v, (int)(l))\n"},
    {TSRI_C_HIP, "lane", "iuf", "#define tsr_lane_$t(v, l) __shfl(v, (int)(l))\n"},
    {TSRI_C_METAL, "lane", "ius", "#define tsr_lane_$t(v, l) simd_shuffle(v, (ushort)(l))\n"},
    {OPENCL_PTX, "lane", "wu", PTX_SHUFFLE("lane", "idx", "r")},
    {OPENCL_PTX, "lane", "s", PTX_SHUFFLE("lane", "idx", "f")},
    {OPENCL_PTX, "lane", "i", PTX_WIDE_SHUFFLE("lane", "idx", "l")},
    {OPENCL_PTX, "lane", "f", PTX_WIDE_SHUFFLE("lane", "idx", "d")},
    {TSRI_C_OPENCL, "lane", "iuf", "#define tsr_lane_$t(v, l) sub_group_shuffle(v, (u32)(l))\n"},

    // Reductions over a subgroup. OpenCL's min and max drop NaN.
    {TSRI_C_METAL, "subgroup_add", "ius", SUBGROUP("add", " return simd_sum(v); ")},
    {OPENCL_PTX, "subgroup_add", "iuf", SUBGROUP("add", BUTTERFLY("add"))},
    {OPENCL_PTX, "subgroup_min", "iuf", SUBGROUP("min", BUTTERFLY("min"))},
    {OPENCL_PTX, "subgroup_max", "iuf", SUBGROUP("max", BUTTERFLY("max"))},
    {TSRI_C_OPENCL, "subgroup_add", "iuf", SUBGROUP("add", " return sub_group_reduce_add(v); ")},
    {TSRI_C_OPENCL, "subgroup_min", "iu", SUBGROUP("min", " return sub_group_reduce_min(v); ")},
    {TSRI_C_OPENCL, "subgroup_max", "iu", SUBGROUP("max", " return sub_group_reduce_max(v); ")},
    {TSRI_C_OPENCL, "subgroup_min", "f", SUBGROUP("min", UNLESS_NAN("sub_group_reduce_min(v)"))},
    {TSRI_C_OPENCL, "subgroup_max", "f", SUBGROUP("max", UNLESS_NAN("sub_group_reduce_max(v)"))},
    {TSRI_C_GPU, "subgroup_add", "iuf", SUBGROUP("add", BUTTERFLY("add"))},
    {TSRI_C_GPU, "subgroup_min", "iuf", SUBGROUP("min", BUTTERFLY("min"))},
    {TSRI_C_GPU, "subgroup_max", "iuf", SUBGROUP("max", BUTTERFLY("max"))},
    {TSRI_C_CUDA, "subgroup_ballot", "u", SUBGROUP("ballot", " return __ballot_sync(0xffffffffu, v != 0u); ")},
    {TSRI_C_HIP, "subgroup_ballot", "u", SUBGROUP("ballot", " return ($t)__ballot(v != 0u); ")},
    {TSRI_C_METAL, "subgroup_ballot", "u", SUBGROUP("ballot", " return ($t)(ulong)simd_ballot(v != 0u); ")},
    {OPENCL_PTX, "subgroup_ballot", "u",
     SUBGROUP("ballot",
              "\n  $t r;\n  asm volatile(\"{ .reg .pred p; setp.ne.u32 p, %1, 0; vote.sync.ballot.b32 %0, p, "
              "0xffffffff; }\" : \"=r\"(r) : \"r\"(v));\n  return r;\n")},
    {TSRI_C_OPENCL, "subgroup_ballot", "u", SUBGROUP("ballot", " return sub_group_ballot((int)v).x; ")},
    {TSRI_C_GPU, "subgroup_shuffle", "iuf",
     "TSR_FN $t tsr_subgroup_shuffle_$t($t v, u32 lane) { return tsr_lane_$t(v, lane & ($Z - 1u)); }\n"},

    // Matrix units. OpenCL's are NVIDIA's.
    {TSRI_C_CUDA | TSRI_C_OPENCL, "fragment_lane", "", tsri_c_cuda_lane},
    {TSRI_C_CUDA | TSRI_C_OPENCL, "fragment_split", "", tsri_c_cuda_split},
    {TSRI_C_HIP, "fragment_lane", "", tsri_c_hip_lane},
};

// --- Writing them ---------------------------------------------------------------------------------------------------

bool tsri_c_want(void *emitter, const char *name) {
  tsri_c_emitter *e = emitter;
  return tsri_helper_names_add(&e->names, name, &e->helpers.has_failed);
}

void tsri_c_define(void *emitter, const char *name, const tsri_builder *text) {
  tsri_c_emitter *e = emitter;
  e->helpers.has_failed |= text->has_failed;
  if (!text->text) return;
  tsri_builder_add(&e->helpers, "#ifndef tsr_has_%s\n#define tsr_has_%s\n", name + 4, name + 4);  // without tsr_
  tsri_builder_put(&e->helpers, text->text, text->bytes);
  tsri_builder_string(&e->helpers, "#endif\n");
}

void tsri_c_define_once(tsri_c_emitter *e, const char *name, const char *pattern, tsri_ir_type type,
                        const tsri_hole *more) {
  tsri_builder text = {0};
  if (!tsri_c_want(e, name)) return;
  tsri_c_expand(e, &text, pattern, type, more);
  tsri_c_define(e, name, &text);
  tsri_builder_deinit(&text);
}

static bool has_class(const char *classes, tsri_ir_type type) {
  static const char letters[TSR_DTYPE_COUNT] = {
      [TSR_BOOL] = 'b', [TSR_I32] = 'i', [TSR_I64] = 'i', [TSR_U32] = 'u', [TSR_F32] = 'f', [TSR_F64] = 'f'};
  if (type.lanes > 1) return classes[0] == 'v';
  char narrow = type.dtype == TSR_F32 ? 's' : type.dtype == TSR_I32 ? 'w' : letters[type.dtype];
  return strchr(classes, letters[type.dtype]) || strchr(classes, narrow);
}

// Removes the type from the end of a helper's name (without tsr_): "add" and i32 from "add_i32", "" from a type alone. If there is no type, the result has 0
// lanes.
static tsri_ir_type take_type(tsri_c_name *name) {
  static const tsr_dtype dtypes[] = {TSR_BOOL, TSR_I32, TSR_U32, TSR_I64, TSR_F32, TSR_F64};
  char *last = strrchr(name->text, '_'), *end = last ? last + 1 : name->text;
  for (size_t i = 0; i < 3 * sizeof dtypes / sizeof *dtypes; i++) {
    tsri_ir_type type = {(uint8_t)dtypes[i / 3], (uint8_t)(1u << i % 3)};
    if (strcmp(end, tsri_ir_type_name(type)) != 0) continue;
    *(last ? last : end) = '\0';
    return type;
  }
  return (tsri_ir_type){TSR_F32, 0};
}

// Returns NULL for helpers that are not in the list: those made on demand, which have already been written, and expansions.
static const helper *find_helper(const tsri_c_emitter *e, const char *name, tsri_ir_type *out_type) {
  uint32_t bits = e->spell->bit;
  if (tsri_c_is(e, TSRI_C_OPENCL)) bits |= (e->options->f16 ? OPENCL_F16 : 0) | (e->options->ptx ? OPENCL_PTX : 0);
  tsri_c_name base = tsri_c_named("%s", name + 4);  // without tsr_
  *out_type = take_type(&base);
  for (const helper *h = helpers; h < helpers + sizeof helpers / sizeof *helpers; h++) {
    bool is_typed = h->classes[0] != '\0';
    if (!(h->dialects & bits) || strcmp(h->name, is_typed ? base.text : name + 4) != 0) continue;
    if (!is_typed || (out_type->lanes > 0 && has_class(h->classes, *out_type))) return h;
  }
  return NULL;
}

tsri_c_name tsri_c_named(const char *format, ...) {
  tsri_c_name name;
  va_list args;
  va_start(args, format);
  vsnprintf(name.text, sizeof name.text, format, args);
  va_end(args);
  return name;
}

// Recursion is bounded by how helpers use each other, which is in the list above.
tsri_c_name tsri_c_need(tsri_c_emitter *e, tsri_c_name name) {
  tsri_ir_type type;
  if (tsri_helper_names_has(&e->names, name.text)) return name;
  const helper *h = find_helper(e, name.text, &type);
  if (h) tsri_c_define_once(e, name.text, h->text, type, NULL);
  else tsri_c_define_expansion(e, name.text);
  return name;
}

static bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void need_all(tsri_c_emitter *e, const char *text) {
  while (*text) {
    size_t bytes = 0;
    while (is_name_char(text[bytes])) bytes++;
    if (bytes > 4 && bytes < TSRI_HELPER_NAME_BYTES && memcmp(text, "tsr_", 4) == 0) {
      (void)tsri_c_need(e, tsri_c_named("%.*s", (int)bytes, text));
    }
    if (bytes == 3 && memcmp(text, "f64", 3) == 0) e->uses_f64 = true;
    text += bytes ? bytes : 1;
  }
}

void tsri_c_expand(tsri_c_emitter *e, tsri_builder *out, const char *pattern, tsri_ir_type type,
                   const tsri_hole *more) {
  enum { MOST_HOLES = 24 };
  bool is_64 = tsr_dtype_bytes((tsr_dtype)type.dtype) == 8, is_long = e->spell->long_suffix[1] != '\0';
  const char *wide_infinity = is_long ? "0x7ff0000000000000ULL" : "0x7ff0000000000000UL";
  const tsri_hole always[] = {{"$t", tsr_dtype_name((tsr_dtype)type.dtype)},
                              {"$u", is_64 ? "u64" : "u32"},
                              {"$w", is_64 ? "63u" : "31u"},
                              {"$i", is_64 ? wide_infinity : "0x7f800000u"},
                              {"$f", type.dtype == TSR_F32 ? e->spell->f32_suffix : ""},
                              {"$p", e->spell->math_prefix},
                              {"$x", tsri_ir_type_name(type)},
                              {"$Z", e->subgroup.text},
                              {NULL, NULL}};
  tsri_hole holes[MOST_HOLES];
  size_t count = 0, start = out->bytes;
  for (; more && more->word; more++) holes[count++] = *more;  // first, because their words are longer
  memcpy(holes + count, always, sizeof always);
  tsri_template_put(out, pattern, holes, type.lanes);
  if (out->bytes > start) need_all(e, out->text + start);
}
