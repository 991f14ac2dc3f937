// SPDX-License-Identifier: MIT
// Fragments as subgroup matrices: what is written, and when they are loops. That Dawn takes it is tested in src/backends/webgpu.
#include "core/alloc.h"
#include "lang/emit/emit.h"
#include "lang/emit_case.h"
#include "lang/lang.h"
#include "support/test.h"

static const tsr_fragment_size size = {TSR_F16, 16, 8, 32};

static tsri_emit_options unit_options(void) {
  tsri_emit_options o = *tsri_emitter_find("wgsl")->defaults;
  o.f16 = o.subgroups = o.subgroup_shuffle = true;
  o.fragments = &size;
  o.fragment_count = 1;
  return o;
}

static const char text[] =
    "kernel k<T: f16 | bf16 = f16, bool C = 0, WG = 64>(in T a[], in u32 b[], in f32 c[], inout f32 y[], u32 n) {\n"
    "  shared u32 tile[512];\n  shared f32 results[256];\n  shared T halves[256];\n"
    "  fragment_left<T, 16, 8, 32> l;\n  fragment_right<T, 16, 8, 32> r;\n  fragment_sum<f32, 16, 8, 32> s;\n"
    "  store4(tile, local.x * 4, u32x4(b[local.x], 1, 2, 3));\n  tile[local.x] = tile[local.x + 64];\n"
    "  halves[local.x] = T(f32(n));\n  barrier();\n"
    "  fragment_load(l, a, n * 8, 32, C);\n  fragment_load(r, tile, local.x / 32 * 256, 40, C);\n"
    "  fragment_load(s, c, 0, n);\n  fragment_multiply_add(s, l, r);\n  fragment_load(r, halves, 0, 8, C);\n"
    "  fragment_fill(l, 100000.0);\n  fragment_multiply_add(s, l, r);\n"
    "  fragment_store(s, results, 0, 8);\n  barrier();\n  y[local.x] = results[local.x];\n}\n";

static tsri_emitted emit(const char *args, const tsri_emit_options *options) {
  tsri_kernel *kernel = emit_kernel_of("test.tk", text, "k", args, false);
  tsri_emitted code;
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), kernel, options, &code));
  tsri_kernel_release(kernel);
  return code;
}

// A matrix type has its columns first.
TEST(fragments_are_subgroup_matrices_where_the_device_has_them) {
  static const char *const parts[] = {
      "enable f16;\nenable chromium_experimental_subgroup_matrix;\n",
      "diagnostic(off, chromium.subgroup_matrix_uniformity);\n",
      "var<workgroup> tile_s0: array<f16, 1024>;\n",
      "var<workgroup> results_s1: array<f32, 256>;\n",
      "var<workgroup> halves_s2: array<f16, 256>;\n",
      "var<storage, read> a_b0: array<f16>;\n",
      "var<storage, read> b_b1: array<u32>;\n",
      "  var l_f0: subgroup_matrix_left<f16, 32, 16>;\n  var r_f1: subgroup_matrix_right<f16, 8, 32>;\n",
      "  var s_f2: subgroup_matrix_result<f32, 8, 16>;\n",
      "  l_f0 = subgroupMatrixLoad<subgroup_matrix_left<f16, 32, 16>>(&a_b0, ",
      ", true, 32u);\n",
      "  s_f2 = subgroupMatrixLoad<subgroup_matrix_result<f32, 8, 16>>(&c_b2, 0u, false, n_p0);\n",
      "  s_f2 = subgroupMatrixMultiplyAccumulate(l_f0, r_f1, s_f2);\n",
      "    let value = 100000f;\n    l_f0 = subgroup_matrix_left<f16, 32, 16>(f16(value));\n",
      "  subgroupMatrixStore(&results_s1, 0u, s_f2, false, 8u);\n",
      " = bitcast<u32>(vec2<f16>(tile_s0[(at",
      " = f16(",
  };
  tsri_emit_options options = unit_options();
  tsri_emitted code = emit("C=1", &options);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) CHECK_STR_HAS(code.data, parts[i]);
  tsri_emitted_deinit(&code);
}

TEST(words_that_fragments_are_loaded_from_are_stored_as_two_halves) {
  tsri_emit_options options = unit_options();
  tsri_emitted code = emit("", &options);
  const char *at = strstr(code.data, "let h");
  CHECK(at != NULL);
  CHECK_STR_HAS(at, "_3 = bitcast<vec2<f16>>(");
  CHECK_STR_HAS(at, " << 1u) + 7u] = h");
  CHECK_STR_HAS(at, "_3.y;\n");
  tsri_emitted_deinit(&code);
}

TEST(fragments_are_loops_where_something_is_missing) {
  tsri_emit_options lacking[5];
  for (int i = 0; i < 5; i++) lacking[i] = unit_options();
  lacking[0].f16 = false;
  lacking[1].subgroups = false;
  lacking[2].fragment_count = 0;
  lacking[4].wide_unaligned = true;
  for (int i = 0; i < 5; i++) {
    tsri_emitted code = emit(i == 3 ? "T=bf16" : "", &lacking[i]);  // matrices of bf16 are not in WGSL
    CHECK(!strstr(code.data, "subgroup_matrix"));
    tsri_emitted_deinit(&code);
  }
}
