// SPDX-License-Identifier: MIT
// The table of words from other languages.
#include "lang/front/foreign.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TYPE(word, ours) \
  { word, sizeof(word) - 1, TSRI_FOREIGN_TYPE, ours }
#define NAME(word, ours) \
  { word, sizeof(word) - 1, TSRI_FOREIGN_NAME, ours }
#define SPECIFIER(word, hint) \
  { word, sizeof(word) - 1, TSRI_FOREIGN_SPECIFIER, hint }
#define WORD(word, hint) \
  { word, sizeof(word) - 1, TSRI_FOREIGN_WORD, hint }

static const char leave_out[] = "leave it out: functions are inlined, and every variable is an item's own";
static const char buffer[] = "a buffer is a parameter of the kernel: in f32 x[], out f32 y[]";
static const char shared[] = "the group's memory is declared as: shared f32 tile[16][16];";
static const char kernel[] = "a kernel begins with the word kernel: kernel name(in f32 x[], out f32 y[], u32 n) { … }";
static const char pointers[] = "there are no pointers: name the array and give the index";

static const tsri_foreign words[] = {
    TYPE("int", "i32"),
    TYPE("unsigned", "u32"),
    TYPE("signed", "i32"),
    TYPE("uint", "u32"),
    TYPE("float", "f32"),
    TYPE("double", "f64"),
    TYPE("half", "f16"),
    TYPE("char", "i8"),
    TYPE("uchar", "u8"),
    TYPE("short", "i16"),
    TYPE("ushort", "u32"),
    TYPE("long", "i64"),
    TYPE("ulong", "i64"),
    TYPE("int8_t", "i8"),
    TYPE("uint8_t", "u8"),
    TYPE("int16_t", "i16"),
    TYPE("int32_t", "i32"),
    TYPE("uint32_t", "u32"),
    TYPE("int64_t", "i64"),
    TYPE("uint64_t", "i64"),
    TYPE("size_t", "u32"),
    TYPE("ptrdiff_t", "i32"),
    TYPE("float2", "f32x2"),
    TYPE("float4", "f32x4"),
    TYPE("int2", "i32x2"),
    TYPE("int4", "i32x4"),
    TYPE("uint2", "u32x2"),
    TYPE("uint4", "u32x4"),
    TYPE("float16", "f16"),
    TYPE("float32", "f32"),
    TYPE("float64", "f64"),
    TYPE("bfloat16", "bf16"),
    TYPE("_Bool", "bool"),
    TYPE("u64", "i64"),
    TYPE("u16", "u32"),
    TYPE("auto", "f32"),

    SPECIFIER("static", leave_out),
    SPECIFIER("extern", leave_out),
    SPECIFIER("inline", leave_out),
    SPECIFIER("register", leave_out),
    SPECIFIER("volatile", leave_out),
    SPECIFIER("restrict", leave_out),
    SPECIFIER("constexpr", "write const"),
    SPECIFIER("__device__", leave_out),
    SPECIFIER("__host__", leave_out),
    SPECIFIER("__forceinline__", leave_out),
    SPECIFIER("__private", leave_out),
    SPECIFIER("__global__", kernel),
    SPECIFIER("__kernel", kernel),
    SPECIFIER("__global", buffer),
    SPECIFIER("__constant", buffer),
    SPECIFIER("__constant__", buffer),
    SPECIFIER("__local", shared),
    SPECIFIER("__shared__", shared),
    SPECIFIER("threadgroup", shared),
    SPECIFIER("groupshared", shared),

    WORD("do", "use while (true) { … if (!condition) break; }"),
    WORD("switch", "use if and else if"),
    WORD("case", "use if and else if"),
    WORD("goto", "use loops, break, continue and return"),
    WORD("struct", "use a variable for each member, a vector such as f32x4 for up to four, or one buffer per member"),
    WORD("class", "use a variable for each member, and functions"),
    WORD("union", "bitcast<u32>(x) takes the bits of x as they are"),
    WORD("enum", "write constants: const u32 RED = 0, GREEN = 1;"),
    WORD("typedef", "use the type's own name, or a type parameter: kernel k<T: float>(…)"),
    WORD("using", "use the type's own name, or a type parameter: kernel k<T: float>(…)"),
    WORD("template", "type parameters stand behind the name: T larger<T>(T a, T b) { … }"),
    WORD("sizeof", "f32, i32 and u32 have 4 bytes, f64 and i64 have 8; indices count elements, not bytes"),
    WORD("NULL", pointers),
    WORD("nullptr", pointers),
    WORD("malloc", "local arrays have a size known at compile time: f32 a[16];"),
    WORD("printf", "a kernel cannot print: store the value in an 'out' buffer"),
    WORD("assert", "static_assert(condition, \"text\"); is checked when the kernel is built"),

    NAME("__syncthreads", "barrier()"),
    NAME("threadgroup_barrier", "barrier()"),
    NAME("workgroupBarrier", "barrier()"),
    NAME("get_global_id", "global.x, .y and .z"),
    NAME("get_local_id", "local.x, .y and .z"),
    NAME("get_group_id", "group.x, .y and .z"),
    NAME("get_num_groups", "groups.x, .y and .z"),
    NAME("get_local_size", "WG, WG_Y and WG_Z"),
    NAME("get_global_size", "groups.x * WG"),
    NAME("threadIdx", "local.x, .y and .z"),
    NAME("blockIdx", "group.x, .y and .z"),
    NAME("gridDim", "groups.x, .y and .z"),
    NAME("blockDim", "WG, WG_Y and WG_Z"),
    NAME("atomicAdd", "atomic_add(array, index, value)"),
    NAME("atomicSub", "atomic_sub(array, index, value)"),
    NAME("atomicMin", "atomic_min(array, index, value)"),
    NAME("atomicMax", "atomic_max(array, index, value)"),
    NAME("atomicAnd", "atomic_and(array, index, value)"),
    NAME("atomicOr", "atomic_or(array, index, value)"),
    NAME("atomicXor", "atomic_xor(array, index, value)"),
    NAME("atomicExch", "atomic_exchange(array, index, value)"),
    NAME("atomicCAS", "atomic_compare_exchange(array, index, compare, value)"),
    NAME("fminf", "min"),
    NAME("fmaxf", "max"),
    NAME("fmin", "min"),
    NAME("fmax", "max"),
    NAME("fabs", "abs"),
    NAME("fabsf", "abs"),
    NAME("expf", "exp"),
    NAME("__expf", "exp"),
    NAME("logf", "log"),
    NAME("__logf", "log"),
    NAME("sqrtf", "sqrt"),
    NAME("rsqrtf", "rsqrt"),
    NAME("inversesqrt", "rsqrt"),
    NAME("sinf", "sin"),
    NAME("cosf", "cos"),
    NAME("tanf", "tan"),
    NAME("tanhf", "tanh"),
    NAME("powf", "pow"),
    NAME("floorf", "floor"),
    NAME("ceilf", "ceil"),
    NAME("roundf", "round"),
    NAME("rint", "round"),
    NAME("truncf", "trunc"),
    NAME("fmaf", "fma"),
    NAME("mad", "fma"),
    NAME("fmod", "x - trunc(x / y) * y"),
    NAME("fmodf", "x - trunc(x / y) * y"),
    NAME("saturate", "clamp(x, 0, 1)"),
    NAME("mix", "a + (b - a) * t"),
    NAME("as_uint", "bitcast<u32>(x)"),
    NAME("as_float", "bitcast<f32>(x)"),
    NAME("__float_as_uint", "bitcast<u32>(x)"),
    NAME("__uint_as_float", "bitcast<f32>(x)"),
    NAME("make_float2", "f32x2(a, b)"),
    NAME("make_float4", "f32x4(a, b, c, d)"),
    NAME("__popc", "popcount"),
    NAME("__clz", "clz"),
    NAME("__umulhi", "mulhi"),
    NAME("mul_hi", "mulhi"),
    NAME("__ballot_sync", "subgroup_ballot(x)"),
    NAME("__shfl_sync", "subgroup_shuffle(x, lane)"),
    NAME("__shfl_xor_sync", "subgroup_shuffle_xor(x, mask)"),
};

const tsri_foreign *tsri_foreign_find(const char *text, size_t bytes) {
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (words[i].bytes == bytes && words[i].word[0] == text[0] && memcmp(words[i].word, text, bytes) == 0)
      return &words[i];
  }
  return NULL;
}

const char *tsri_foreign_hint(const tsri_foreign *foreign, char *room) {
  bool is_hint = foreign->kind == TSRI_FOREIGN_SPECIFIER || foreign->kind == TSRI_FOREIGN_WORD;
  if (is_hint) return foreign->ours;
  snprintf(room, TSRI_FOREIGN_HINT_BYTES, "here it is called %s", foreign->ours);
  return room;
}
