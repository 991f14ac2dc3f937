// SPDX-License-Identifier: MIT
// How each dialect of the C family spells things. A new dialect needs an entry here and one in emit/c/c.c.
#include "lang/emit/c/c.h"

// Several kernels may be in one program, so every definition that could occur twice is guarded.
#define ONCE(what, text) "#ifndef tsr_has_" what "\n#define tsr_has_" what "\n" text "#endif\n"

#define UCHAR_TYPES                                                                \
  "typedef uchar u8;\ntypedef char i8;\ntypedef ushort u16;\ntypedef short i16;\n" \
  "typedef uint u32;\ntypedef int i32;\ntypedef ulong u64;\ntypedef long i64;\ntypedef float f32;\n"

// Ids of dialects that declare them as constants of the function.
#define GLOBAL "group_$l * $size + local_$l"

const tsri_c_spelling tsri_c_opencl = {
    .bit = TSRI_C_OPENCL,
    .prelude = "#pragma OPENCL FP_CONTRACT OFF\n" ONCE("types", UCHAR_TYPES "#define TSR_FN static\n"),
    .head = "__kernel __attribute__((reqd_work_group_size($0, $1, $2))) void ",
    .params = "$entry_params tsr_p",
    .space = {"__global ", "__local ", ""},
    .shared = "__local __attribute__((aligned(16))) ",
    .no_alias = "restrict ",
    .build_options = "",
    .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)",
    .shared_barrier = "barrier(CLK_LOCAL_MEM_FENCE)",
    .ids = {"(u32)get_group_id($#)", "(u32)get_num_groups($#)", "(u32)get_local_id($#)", GLOBAL},
    .axes = "012",
    .math_prefix = "",
    .f32_suffix = "",
    .long_suffix = "L",
    .native_i64 = "long",
    .max_native_bytes = 16,
    .fragments = &tsri_c_fragments_cuda,
};

#define CUDA_TYPES                                                                                         \
  "typedef unsigned char u8;\ntypedef signed char i8;\ntypedef unsigned short u16;\ntypedef short i16;\n"  \
  "typedef unsigned int u32;\ntypedef int i32;\ntypedef unsigned long long u64;\ntypedef long long i64;\n" \
  "typedef float f32;\ntypedef double f64;\n#define TSR_FN static __device__ __forceinline__\n"

// With the option -DTSR_WAITS, a kernel for compute capability 9.0 or later begins by waiting for the kernels that it depends on, because the driver may start
// it earlier (backends/cuda/start.c). Then no pointer is __restrict__ and no read is "nc" (of constant memory), since compilers may move such reads before the
// wait. Kernels with loops do not wait: without __restrict__, reads would have to stay after the stores of the round before (on an H200, running sums over the
// first axis of 10,000 x 10,000 took 3.9 ms instead of 1.3). TSR_READ_ONCE is the instruction that reads past the first-level cache.
#define CUDA_WAIT                                                            \
  "#if defined(TSR_WAITS) && __CUDA_ARCH__ >= 900\n"                         \
  "#define TSR_WAIT asm volatile(\"griddepcontrol.wait;\" ::: \"memory\")\n" \
  "#define TSR_NO_ALIAS\n"                                                   \
  "#define TSR_READ_ONCE \"ld.global.L1::no_allocate\"\n"                    \
  "#else\n"                                                                  \
  "#define TSR_WAIT\n"                                                       \
  "#define TSR_NO_ALIAS __restrict__\n"                                      \
  "#if __CUDA_ARCH__ >= 700 && __CUDACC_VER_MAJOR__ >= 12\n"                 \
  "#define TSR_READ_ONCE \"ld.global.nc.L1::no_allocate\"\n"                 \
  "#endif\n"                                                                 \
  "#endif\n"

// Shared by CUDA and HIP; `word` is put before an id.
#define CUDA_WORDS(word, resident)                                                                                  \
  .head = "extern \"C\" __global__ void __launch_bounds__($n" resident ") ", .params = "$entry_params tsr_p",       \
  .space = {"", "", ""}, .shared = "__shared__ __align__(16) ", .barrier = "__syncthreads()",                       \
  .shared_barrier = "__syncthreads()", .ids = {word "blockIdx.$#", word "gridDim.$#", word "threadIdx.$#", GLOBAL}, \
  .axes = "xyz", .math_prefix = "", .f32_suffix = "f", .long_suffix = "LL", .native_i64 = "longlong",               \
  .max_native_bytes = 16

const tsri_c_spelling tsri_c_cuda = {
    .bit = TSRI_C_CUDA,
    .prelude = ONCE("types", CUDA_TYPES CUDA_WAIT),
    .begin = "  TSR_WAIT;\n",
    .no_alias = "TSR_NO_ALIAS ",
    .build_options = "-fmad=false",
    .loopless = " -DTSR_WAITS",
    CUDA_WORDS("", "$r"),
    .fragments = &tsri_c_fragments_cuda,
};

const tsri_c_spelling tsri_c_hip = {
    .bit = TSRI_C_HIP,
    .prelude = "#ifndef __HIPCC_RTC__\n#include <hip/hip_runtime.h>\n#endif\n#pragma clang fp contract(off)\n" ONCE(
        "types", CUDA_TYPES),
    .no_alias = "__restrict__ ",
    .build_options = "-ffp-contract=off",
    CUDA_WORDS("(u32)", ""),
    .fragments = &tsri_c_fragments_hip,
};

// Two pragmas, since older compilers know only the second. The driver must also switch fast math off.
const tsri_c_spelling tsri_c_metal = {
    .bit = TSRI_C_METAL,
    .prelude =
        "#include <metal_stdlib>\nusing namespace metal;\n#pragma METAL fp math_mode(safe)\n"
        "#pragma METAL fp contract(off)\n#pragma clang fp contract(off)\n" ONCE(
            "types", UCHAR_TYPES "#define TSR_FN static inline\n"),
    .head = "[[kernel, max_total_threads_per_threadgroup($n)]] void ",
    .params = "constant $entry_params &tsr_p",
    .space = {"device ", "threadgroup ", "thread "},
    .shared = "alignas(16) threadgroup ",
    .no_alias = "",
    .build_options = "-fno-fast-math",
    .barrier = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)",
    .shared_barrier = "threadgroup_barrier(mem_flags::mem_threadgroup)",
    .ids = {"tsr_group.$#", "tsr_groups.$#", "tsr_local.$#", GLOBAL},
    .axes = "xyz",
    .math_prefix = "precise::",
    .f32_suffix = "",
    .long_suffix = "L",
    .native_i64 = "long",
    .max_native_bytes = 16,
};

const tsri_c_spelling tsri_c_plain = {
    .bit = TSRI_C_PLAIN,
    .prelude = ONCE("types",
                    "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <stdlib.h>\n"
                    "typedef uint8_t u8;\ntypedef int8_t i8;\ntypedef uint16_t u16;\ntypedef int16_t i16;\n"
                    "typedef uint32_t u32;\ntypedef int32_t i32;\ntypedef uint64_t u64;\ntypedef int64_t i64;\n"
                    "typedef float f32;\ntypedef double f64;\n#define TSR_FN static inline\n"
                    "typedef struct {\n  void *const *buffers;\n  const void *params;\n  u32 groups[3], local[3];\n} "
                    "tsr_launch;\n"),
    .space = {"", "", ""},
    .shared = "_Alignas(16) ",
    .no_alias = "restrict ",
    .build_options = "-ffp-contract=off",
    .ids = {"tsr_at[$#]", "tsr_run->groups[$#]", "(tsr_lid / $below % $size)",
            "(tsr_at[$#] * $size + (tsr_lid / $below % $size))"},
    .axes = "012",
    .math_prefix = "",
    .f32_suffix = "f",
    .long_suffix = "LL",
    .native_i64 = NULL,
    .max_native_bytes = 0,
};
