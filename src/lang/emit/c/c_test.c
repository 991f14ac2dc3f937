// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/status.h>

#include "core/alloc.h"
#include "lang/emit/emit.h"
#include "lang/lang.h"
#include "support/test.h"

static const char norm[] =
    "kernel rms_norm<T, WG = 256>(in T x[], in T w[], out T y[], u32 cols, f32 eps) {\n"
    "    u32 base = group.x * cols;\n"
    "    f32 ss = 0;\n"
    "    for (u32 i = local.x; i < cols; i += WG) { f32 v = f32(x[base + i]); ss += v * v; }\n"
    "    f32 r = rsqrt(group_sum(ss) / f32(cols) + eps);\n"
    "    for (u32 i = local.x; i < cols; i += WG) y[base + i] = T(f32(x[base + i]) * r * f32(w[i]));\n"
    "}\n";

static tsri_kernel *kernel_of(const char *text, tsr_dtype dtype, bool checked) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  tsri_lang_options options = {.checked = checked};
  tsri_lang_arg arg = {.name = "T", .is_type = true, .dtype = dtype};
  CHECK_OK(tsri_lang_parse("norm.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, &arg, dtype == TSR_DTYPE_COUNT ? 0 : 1, &options, NULL, &kernel));
  tsri_module_release(module);
  return kernel;
}

static bool is_c_family(const tsri_emitter *emitter) { return emitter->form == TSRI_EMIT_TEXT; }

TEST(an_unknown_dialect_is_refused_with_the_list) {
  CHECK(tsri_emitter_find("opencl") == &tsri_emitters[0]);
  CHECK(!tsri_emitter_find("fortran"));
  CHECK_LAST_ERROR_HAS("'fortran'");
  CHECK_LAST_ERROR_HAS("opencl cuda hip metal c");
}

TEST(the_same_kernel_gives_the_same_text) {
  for (const tsri_emitter *emitter = tsri_emitters; emitter->name; emitter++) {
    if (!is_c_family(emitter)) continue;
    tsri_kernel *first = kernel_of(norm, TSR_F16, false), *second = kernel_of(norm, TSR_F16, false);
    tsri_emitted a, b;
    CHECK_OK(tsri_emit_kernel(emitter, first, NULL, &a));
    CHECK_OK(tsri_emit_kernel(emitter, second, NULL, &b));
    CHECK_STR(a.data, b.data);
    CHECK_EQ_UINT(a.data_bytes, strlen(a.data));
    tsri_emitted_deinit(&a);
    tsri_emitted_deinit(&b);
    tsri_kernel_release(first);
    tsri_kernel_release(second);
  }
}

TEST(a_kernel_can_be_a_function_that_other_code_calls) {
  tsri_kernel *kernel =
      kernel_of("kernel twice<WG = 1>(in f32 x[], out f32 y[]) { y[0] = 2 * x[0]; }", TSR_DTYPE_COUNT, false);
  tsri_emit_options options = *tsri_emitter_find("cuda")->defaults;
  options.as_function = true;
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("cuda"), kernel, &options, &code));
  CHECK_STR_HAS(code.data, "TSR_FN void tsrk_twice(");
  CHECK(!strstr(code.data, "__global__"));
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

TEST(cuda_is_told_how_many_groups_should_be_resident) {
  tsri_kernel *kernel =
      kernel_of("kernel k<WG = 128, RESIDENT = 2>(out f32 c[]) { c[global.x] = 1; }", TSR_DTYPE_COUNT, false);
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("cuda"), kernel, NULL, &code));
  CHECK_STR_HAS(code.data, "__launch_bounds__(128, 2) ");
  tsri_emitted_deinit(&code);
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("hip"), kernel, NULL, &code));
  CHECK_STR_HAS(code.data, "__launch_bounds__(128) ");
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

TEST(the_output_says_what_a_launch_needs) {
  tsri_kernel *kernel = kernel_of(norm, TSR_F32, false), *checked = kernel_of(norm, TSR_F32, true);
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("cuda"), kernel, NULL, &code));
  CHECK_STR(code.entry, "tsrk_rms_norm");
  CHECK_STR(code.build_options, "-fmad=false");
  CHECK_EQ_UINT(code.buffer_count, 3);
  CHECK_EQ_UINT(code.params_bytes, 8);
  CHECK_EQ_UINT(code.local[0], 256);
  CHECK_EQ_UINT(code.shared_bytes, 32);  // one sum per warp
  CHECK(!code.has_report);
  tsri_emitted_deinit(&code);

  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("opencl"), checked, NULL, &code));
  CHECK_STR_HAS(code.build_options, "-cl-fp32-correctly-rounded-divide-sqrt");
  CHECK_EQ_UINT(code.buffer_count, 4);
  CHECK_EQ_UINT(code.params_bytes, 32);
  CHECK_EQ_UINT(code.shared_bytes, 1024);  // one per item
  uint32_t params[2] = {7, 9}, words[8] = {0};
  tsri_emit_params(checked, &code, params, (uint64_t[]){64, UINT64_C(5) << 32, 3}, words);
  const uint32_t wanted[8] = {7, 9, 64, 0, 0, 5, 3, 0};
  CHECK_BYTES(words, wanted, sizeof wanted);
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
  tsri_kernel_release(checked);
}

TEST(kernels_without_loops_begin_with_a_wait_on_cuda) {
  tsri_kernel *kernel =
      kernel_of("kernel twice(in f32 x[], out f32 y[]) { y[global.x] = 2 * x[global.x]; }", TSR_DTYPE_COUNT, false);
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("cuda"), kernel, NULL, &code));
  CHECK_STR(code.build_options, "-fmad=false -DTSR_WAITS");
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

TEST(only_helpers_that_are_used_are_written) {
  tsri_kernel *kernel =
      kernel_of("kernel add(in f32 a[], in f32 b[], out f32 c[]) { c[global.x] = a[global.x] + b[global.x]; }",
                TSR_DTYPE_COUNT, false);
  for (const tsri_emitter *emitter = tsri_emitters; emitter->name; emitter++) {
    if (!is_c_family(emitter)) continue;
    tsri_emitted code;
    CHECK_OK(tsri_emit_kernel(emitter, kernel, NULL, &code));
    const char *text = code.data;
    for (const char *found = text; (found = strstr(found, "TSR_FN")) != NULL; found++) {
      CHECK(strncmp(found - strlen("#define "), "#define ", strlen("#define ")) == 0);
    }
    CHECK_STR_HAS(text, "c_b2[");
    tsri_emitted_deinit(&code);
  }
  tsri_kernel_release(kernel);
}

TEST(metal_refuses_f64_and_says_so) {
  tsri_kernel *kernel = kernel_of(norm, TSR_F64, false);
  tsri_emitted code;
  CHECK_STATUS(tsri_emit_kernel(tsri_emitter_find("metal"), kernel, NULL, &code), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("kernel rms_norm needs f64");
  CHECK(!code.data);
  tsri_kernel_release(kernel);
}

TEST(a_subgroup_size_that_is_no_power_of_two_is_refused) {
  tsri_kernel *kernel = kernel_of(norm, TSR_F32, false);
  tsri_emitted code;
  const tsri_emitter *emitter = tsri_emitter_find("cuda");
  tsri_emit_options options = *emitter->defaults;
  options.subgroup_size = 48;
  CHECK_STATUS(tsri_emit_kernel(emitter, kernel, &options, &code), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("48");
  tsri_kernel_release(kernel);
}

TEST(a_group_that_is_no_whole_number_of_subgroups_uses_shared_memory) {
  tsri_kernel *kernel =
      kernel_of("kernel sums<WG = 24>(in f32 a[], out f32 c[]) { c[global.x] = group_sum(a[global.x]); }",
                TSR_DTYPE_COUNT, false);
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("cuda"), kernel, NULL, &code));
  CHECK(!strstr(code.data, "__shfl"));
  CHECK_EQ_UINT(code.shared_bytes, 96);
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

TEST(conversions_to_the_storage_of_a_store_are_not_done_twice) {
  tsri_kernel *kernel =
      kernel_of("kernel k(in f32 a[], out f16 c[]) { c[global.x] = f16(a[global.x]); }", TSR_DTYPE_COUNT, false);
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("opencl"), kernel, NULL, &code));
  CHECK_STR_HAS(code.data, "vstore_half_rte(a_b0[global_x], global_x, (__global half *)c_b1);");
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

// Text in OpenCL C of a kernel that goes with it.
static void check_opencl(const char *text, bool wide_unaligned, const char *part) {
  tsri_kernel *kernel = kernel_of(text, TSR_DTYPE_COUNT, false);
  const tsri_emitter *emitter = tsri_emitter_find("opencl");
  tsri_emit_options options = *emitter->defaults;
  options.wide_unaligned = wide_unaligned;
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(emitter, kernel, &options, &code));
  CHECK_STR_HAS(code.data, part);
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

TEST(a_barrier_orders_buffers_only_where_items_read_what_others_write) {
  check_opencl(
      "kernel k(in f32 a[], out f32 c[]) { shared f32 s[64]; s[local.x] = a[global.x]; barrier(); c[global.x] = s[0]; "
      "}",
      false, "barrier(CLK_LOCAL_MEM_FENCE);");
  check_opencl("kernel k(inout f32 a[]) { a[global.x] = 1; barrier(); a[global.x] = a[group.x * 64] + 1; }", false,
               "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);");
}

TEST(opencl_reads_vectors_by_their_own_type_where_buffers_are_aligned) {
  static const char text[] = "kernel k(in f32 a[], out f16 c[]) { store4(c, global.x * 4, load4(a, global.x * 4)); }";
  check_opencl(text, false, "*(const __global float4 *)(p + i + 0)");
  check_opencl(text, false, "vstorea_half4_rte(");
  check_opencl(text, true, "vload4(0, p + i + 0)");
  check_opencl(text, true, "vstore_half4_rte(");
}

TEST(what_is_read_once_is_read_by_its_own_instruction_unless_it_may_be_written) {
  static const struct {
    const char *text, *dialect;
    bool no_alias, is_once;
  } cases[] = {{"kernel k(in bf16 a[], out f32 c[]) { store4(c, 0, load4_once(a, 0)); }", "cuda", true, true},
               {"kernel k(in f64 a[], out f64 c[]) { store4(c, 0, load4_once(a, 0)); }", "cuda", true, true},
               {"kernel k(in f32 a[], out f32 c[]) { store4(c, 0, load4_once(a, 0)); }", "cuda", false, false},
               {"kernel k(inout f32 a[]) { store4(a, 0, load4_once(a, 4)); }", "cuda", true, false},
               {"kernel k(in u8 a[], out u8 c[]) { store4(c, 0, load4_once(a, 0)); }", "cuda", true, false},
               {"kernel k(in f32 a[], out f32 c[]) { store4(c, 0, load4(a, 0)); }", "cuda", true, false},
               {"kernel k(in f32 a[], out f32 c[]) { store4(c, 0, load4_once(a, 0)); }", "hip", false, true},
               {"kernel k(inout f32 a[]) { store4(a, 0, load4_once(a, 4)); }", "hip", true, false},
               {"kernel k(in f32 a[], out f32 c[]) { store4(c, 0, load4(a, 0)); }", "hip", true, false},
               {"kernel k(in f32 a[], out f32 c[]) { store4(c, 0, load4_once(a, 0)); }", "opencl", true, false}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    tsri_kernel *kernel = kernel_of(cases[i].text, TSR_DTYPE_COUNT, false);
    const tsri_emitter *emitter = tsri_emitter_find(cases[i].dialect);
    tsri_emit_options options = *emitter->defaults;
    options.no_alias = cases[i].no_alias;
    tsri_emitted code;
    CHECK_OK(tsri_emit_kernel(emitter, kernel, &options, &code));
    bool is_once = strstr(code.data, "(TSR_READ_ONCE ") || strstr(code.data, "__builtin_nontemporal_load");
    CHECK(is_once == cases[i].is_once);
    tsri_emitted_deinit(&code);
    tsri_kernel_release(kernel);
  }
}

// NVIDIA's driver reports no subgroups, but its compiler takes PTX.
TEST(opencl_shuffles_and_rounds_by_ptx_where_the_compiler_takes_it) {
  static const struct {
    const char *text;
    tsr_dtype dtype;
    const char *part;
  } cases[] = {
      {"y[i] = subgroup_shuffle_xor(x[i], 1);", TSR_F32, "idx.b32 %0, %1, %2, 31, 0xffffffff;\" : \"=f\"(r)"},
      {"y[i] = subgroup_shuffle(x[i], 3);", TSR_I32, "idx.b32 %0, %1, %2, 31, 0xffffffff;\" : \"=r\"(r)"},
      {"y[i] = subgroup_shuffle(x[i], 3);", TSR_U32, "tsr_lane_u32(u32 v, u32 m)"},
      {"y[i] = subgroup_shuffle(x[i], 3);", TSR_I64, ": \"=l\"(r) : \"l\"(v), \"r\"(m)"},
      {"y[i] = subgroup_sum(x[i]);", TSR_F64, "bfly.b32 b, b, %2, 31, 0xffffffff; mov.b64 %0, {a, b}; }"},
      {"y[i] = subgroup_max(x[i]);", TSR_F32, "v = tsr_max_f32(v, tsr_swap_f32(v, m))"},
      {"y[i] = subgroup_ballot(x[i] > 3);", TSR_U32, "vote.sync.ballot.b32 %0, p, 0xffffffff;"},
      {"y[i] = x[i] + x[0];", TSR_BF16, "cvt.rn.bf16.f32 %0, %1;"},
      {"y[i] = f32(f16(x[i]));", TSR_F32, "tsr_f16_to_f32(tsr_f32_to_f16("},
  };
  const tsri_emitter *emitter = tsri_emitter_find("opencl");
  tsri_emit_options options = *emitter->defaults;
  options.ptx = options.subgroups = options.subgroup_shuffle = true;
  options.flat_barriers = false;
  options.subgroup_size = 32;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[160];
    snprintf(text, sizeof text, "kernel k<T>(in T x[], out T y[]) { u32 i = global.x; %s }", cases[i].text);
    tsri_kernel *kernel = kernel_of(text, cases[i].dtype, false);
    tsri_emitted code;
    CHECK_OK(tsri_emit_kernel(emitter, kernel, &options, &code));
    CHECK_STR_HAS(code.data, cases[i].part);
    CHECK(!strstr(code.data, "cl_khr_subgroup"));
    CHECK(!strstr(code.data, "sub_group_"));
    CHECK_STR_HAS(code.build_options, "-cl-std=CL1.2");
    tsri_emitted_deinit(&code);
    tsri_kernel_release(kernel);
  }
}

// NVIDIA's assembler gets min and max of negated integers wrong (helpers.c).
TEST(integers_are_negated_so_that_nvidias_compilers_do_not_notice) {
  static const struct {
    const char *dialect, *form;
  } forms[] = {{"cuda", "not.b32"}, {"opencl", "get_global_offset(0)"}};
  tsri_kernel *kernel = kernel_of("kernel k(in i32 x[], out i32 y[]) { y[global.x] = min(min(5, -x[0]), x[1] * -1); }",
                                  TSR_DTYPE_COUNT, false);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    tsri_emitted code;
    CHECK_OK(tsri_emit_kernel(tsri_emitter_find(forms[i].dialect), kernel, NULL, &code));
    CHECK_STR_HAS(code.data, forms[i].form);
    CHECK_STR_HAS(code.data, "tsr_negate(x_b0[0u])");
    CHECK_STR_HAS(code.data, "tsr_negate(x_b0[1u])");
    tsri_emitted_deinit(&code);
  }
  tsri_kernel_release(kernel);
}

TEST(every_allocation_may_fail) {
  tsri_kernel *kernel = kernel_of(norm, TSR_F16, true);
  for (const tsri_emitter *emitter = tsri_emitters; emitter->name; emitter++) {
    if (!is_c_family(emitter)) continue;
    tsr_status status = TSR_ERR_OUT_OF_MEMORY;
    for (uint64_t nth = 1; status != TSR_OK; nth++) {
      tsri_emitted code;
      tsri_alloc_fail_at(nth, nth % 2 == 0);
      status = tsri_emit_kernel(emitter, kernel, NULL, &code);
      tsri_alloc_fail_at(0, false);
      if (status != TSR_OK) {
        CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
        CHECK(!code.data);
      }
      CHECK(nth < 10000);
      tsri_emitted_deinit(&code);
    }
  }
  tsri_kernel_release(kernel);
}

// --- The report -----------------------------------------------------------------------------------------------------

TEST(a_report_without_a_flag_says_nothing) {
  tsri_kernel *kernel = kernel_of(norm, TSR_F32, true);
  uint32_t words[TSRI_EMIT_REPORT_WORDS] = {0};
  char text[200] = "before";
  CHECK(!tsri_emit_decode_report(kernel, words, text, sizeof text));
  CHECK_STR(text, "");
  tsri_kernel_release(kernel);
}

TEST(a_report_becomes_a_sentence) {
  tsri_kernel *kernel = kernel_of(norm, TSR_F32, true);
  uint32_t words[TSRI_EMIT_REPORT_WORDS] = {1, TSRI_IR_POS(7, 20), 0, 70, 0, 64, 0, 1};
  char text[200];
  CHECK(tsri_emit_decode_report(kernel, words, text, sizeof text));
  CHECK_STR(text, "kernel rms_norm: index 70 is outside buffer 'x' of 64 elements (norm.tk:7:20)");
  words[TSRI_EMIT_REPORT_ARRAY] = 99;  // whatever a broken device wrote
  words[TSRI_EMIT_REPORT_INDEX + 1] = 0xFFFFFFFFu;
  CHECK(tsri_emit_decode_report(kernel, words, text, sizeof text));
  CHECK_STR_HAS(text, "'?'");
  tsri_kernel_release(kernel);
}
