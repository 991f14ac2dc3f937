// SPDX-License-Identifier: MIT
// Emits every kernel in kernels/ in every specialisation, one of them checked, and compiles it with each dialect's
// compiler: the system's C compiler, PoCL, NVRTC, and clang with our replacement for Metal's library. The
// compilers get a sample of them, which differs between the dialects. TSR_TEST_SAMPLE=1 compiles all of them.
#include <stdlib.h>

#include "graph/embedded.h"
#include "lang/emit_program.h"
#include "support/test.h"

static void build_on(const emit_device *device) {
  if (device->missing()) SKIP(device->missing());
  emit_program program = {0};
  emit_program_add_all(&program, device->dialect);
  void *built = device->build(program.text.data, program.build_options);
  if (!built) test_fail(__FILE__, __LINE__, "%s:\n%s", device->name, emit_log());
  device->release(built);
  free(program.text.data);
}

TEST(every_kernel_builds_as_plain_c) { build_on(&emit_device_c); }

TEST(every_kernel_builds_as_opencl) { build_on(&emit_device_opencl); }

TEST(every_kernel_runs_through_metals_stand_in_compiler) { build_on(&emit_device_metal); }

TEST(every_kernel_runs_through_hips_stand_in_compiler) { build_on(&emit_device_hip); }

// Compiles one in `one_in` kernels of the sample, with this option of NVRTC.
static void compile_cuda(const char *architecture, tsri_emit_options options, uint32_t one_in, const char *option) {
  if (emit_nvrtc_missing()) SKIP(emit_nvrtc_missing());
  emit_program program = {.options = options, .one_in = one_in};
  char *code = NULL, build_options[256];
  size_t bytes = 0;
  emit_program_add_all(&program, "cuda");
  snprintf(build_options, sizeof build_options, "%s %s", program.build_options, option);
  if (!emit_nvrtc_compile(program.text.data, architecture, build_options, &code, &bytes)) {
    test_fail(__FILE__, __LINE__, "%s: %s", architecture, emit_log());
  }
  free(code);
  free(program.text.data);
}

// Compiles with full optimisation, as the library does. The tests below only check that text compiles, which takes half the time without it.
TEST(every_kernel_compiles_as_cuda_for_sm_75) { compile_cuda("sm_75", (tsri_emit_options){0}, test_sample(3), ""); }

TEST(every_kernel_compiles_as_cuda_for_sm_90) {
  compile_cuda("sm_90", (tsri_emit_options){0}, 1, emit_nvrtc_fast_option());
}

TEST(every_kernel_compiles_as_cuda_without_subgroups_and_with_unaligned_buffers) {
  compile_cuda("sm_90",
               (tsri_emit_options){
                   .f64 = true, .exact_divide = true, .wide_unaligned = true, .no_alias = true, .subgroup_size = 8},
               test_sample(3), emit_nvrtc_fast_option());
}

// The instructions of a kernel that reads in both ways. The caller frees them.
static char *instructions_for(const char *architecture) {
  static const char *const text =
      "kernel k(in f32 a[], in f32 b[], inout f32 c[]) { store4(c, 0, load4_once(a, 0) + load4(b, 0) * load4(c, 0)); }";
  const tsri_emitter *emitter = tsri_emitter_find("cuda");
  tsri_emit_options options = *emitter->defaults;
  options.no_alias = true;
  tsri_kernel *kernel = emit_kernel_of("k.tk", text, "k", "", false);
  tsri_emitted code;
  char *built = NULL;
  size_t bytes = 0;
  CHECK_OK(tsri_emit_kernel(emitter, kernel, &options, &code));
  if (!emit_nvrtc_compile(code.data, architecture, code.build_options, &built, &bytes))
    test_fail(__FILE__, __LINE__, "%s: %s", architecture, emit_log());
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
  return built;
}

TEST(from_compute_capability_9_on_a_kernel_waits_before_it_reads_and_reads_nothing_as_constant) {
  if (emit_nvrtc_missing()) SKIP(emit_nvrtc_missing());
  char *newer = instructions_for("compute_90"), *older = instructions_for("compute_80");
  const char *wait = strstr(newer, "griddepcontrol.wait"), *read = strstr(newer, "ld.global");
  CHECK(wait && read && wait < read);
  CHECK_STR_HAS(newer, "ld.global.L1::no_allocate");
  CHECK(!strstr(newer, ".nc"));
  CHECK(!strstr(older, "griddepcontrol"));
  CHECK_STR_HAS(older, "ld.global.nc");
  free(newer);
  free(older);
}

// Compiles a kernel for a GPU whose matrix units do its fragments. The text must have `wanted`.
static void compile_with_units(const char *text, const char *kernel_name, const char *args, const char *const *wanted) {
  static const tsr_fragment_size sizes[] = {{TSR_F16, 16, 16, 16}, {TSR_BF16, 16, 16, 16}, {TSR_F32, 16, 16, 16}};
  const tsri_emitter *emitter = tsri_emitter_find("cuda");
  tsri_emit_options options = *emitter->defaults;
  options.fragments = sizes;
  options.fragment_count = 3;
  tsri_kernel *kernel = emit_kernel_of("k.tk", text, kernel_name, args, false);
  tsri_emitted code;
  char *built = NULL;
  size_t bytes = 0;
  CHECK_OK(tsri_emit_kernel(emitter, kernel, &options, &code));
  for (int i = 0; wanted[i]; i++) CHECK_STR_HAS(code.data, wanted[i]);
  if (!emit_nvrtc_compile(code.data, "sm_80", code.build_options, &built, &bytes)) {
    test_fail(__FILE__, __LINE__, "%s %s: %s", kernel_name, args, emit_log());
  }
  free(built);
  tsri_emitted_deinit(&code);
  tsri_kernel_release(kernel);
}

TEST(fragments_compile_as_cuda_for_matrix_units) {
  if (emit_nvrtc_missing()) SKIP(emit_nvrtc_missing());
  static const char *const f16[] = {"f32.f16.f16.f32", "ldmatrix.sync.aligned.m8n8.x4.trans.shared", NULL};
  static const char *const bf16[] = {"f32.bf16.bf16.f32", "ldmatrix.sync.aligned.m8n8.x4.trans.shared", NULL};
  static const char *const f32[] = {"f32.tf32.tf32.f32", "ldmatrix.sync.aligned.m8n8.x4.shared", NULL};
  compile_with_units(emit_fragments_text, "k", "T=f16 C=0", f16);
  compile_with_units(emit_fragments_text, "k", "T=f16 C=1", f16);
  compile_with_units(emit_fragments_text, "k", "T=bf16 C=0", bf16);
  compile_with_units(emit_fragments_text, "k", "T=bf16 C=1", bf16);
  compile_with_units(emit_fragments_text, "k", "T=f32 B=f32 C=0", f32);
  compile_with_units(emit_fragments_text, "k", "T=f32 B=f32 C=1", f32);
}

TEST(attention_of_f32_compiles_as_cuda_for_matrix_units) {
  if (emit_nvrtc_missing()) SKIP(emit_nvrtc_missing());
  static const char *const wanted[] = {"f32.tf32.tf32.f32", NULL};
  static const char *const attention = "T=f32 F=f32 X=f32 W=f32 E=f32 F32_UNITS=1 SG=32 WG=32";
  compile_with_units(tsri_embedded_text("op_attention_tiles", NULL), "attention_tiles", attention, wanted);
  compile_with_units(tsri_embedded_text("op_attention_tiles", NULL), "attention_gradient", attention, wanted);
}

// --- What only other OpenCL devices have ----------------------------------------------------------------------------

TEST(every_kernel_is_opencl_with_subgroups_and_half_too) {
  if (!emit_has_program("clang")) SKIP("there is no clang here");
  emit_program program = {.options = {.f64 = true,
                                      .f16 = true,
                                      .subgroups = true,
                                      .subgroup_shuffle = true,
                                      .no_alias = true,
                                      .subgroup_size = 16}};
  char path[128];
  emit_program_add_all(&program, "opencl");
  CHECK(emit_write("all.cl", program.text.data, path, sizeof path));
  free(program.text.data);
  // clang's header declares shuffles only if their extension is defined, which `all` does not do.
  if (!emit_command("clang -x cl -cl-std=CL3.0 -Xclang -cl-ext=+all -Dcl_khr_subgroup_shuffle=1 "
                    "-Xclang -finclude-default-header -fsyntax-only -w %s",
                    path)) {
    test_fail(__FILE__, __LINE__, "%s", emit_log());
  }
}
