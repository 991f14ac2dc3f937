// SPDX-License-Identifier: MIT
// Emits every kernel in kernels/ in every specialisation, one of them checked, and compiles it with each dialect's
// compiler: the system's C compiler, PoCL, NVRTC, and clang with our replacement for Metal's library. The
// compilers get a sample of them, which differs between the dialects. TSR_TEST_SAMPLE=1 compiles all of them.
#include <stdlib.h>

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

// Compiles one in `one_in` kernels of the sample.
static void compile_cuda(const char *architecture, tsri_emit_options options, uint32_t one_in) {
  if (emit_nvrtc_missing()) SKIP(emit_nvrtc_missing());
  emit_program program = {.options = options, .one_in = one_in};
  char *code = NULL;
  size_t bytes = 0;
  emit_program_add_all(&program, "cuda");
  if (!emit_nvrtc_compile(program.text.data, architecture, program.build_options, &code, &bytes)) {
    test_fail(__FILE__, __LINE__, "%s: %s", architecture, emit_log());
  }
  free(code);
  free(program.text.data);
}

TEST(every_kernel_compiles_as_cuda_for_sm_75) { compile_cuda("sm_75", (tsri_emit_options){0}, test_sample(3)); }

TEST(every_kernel_compiles_as_cuda_for_sm_90) { compile_cuda("sm_90", (tsri_emit_options){0}, 1); }

TEST(every_kernel_compiles_as_cuda_without_subgroups_and_with_unaligned_buffers) {
  compile_cuda("sm_90",
               (tsri_emit_options){
                   .f64 = true, .exact_divide = true, .wide_unaligned = true, .no_alias = true, .subgroup_size = 8},
               test_sample(3));
}

TEST(fragments_compile_as_cuda_for_matrix_units) {
  if (emit_nvrtc_missing()) SKIP(emit_nvrtc_missing());
  static const tsr_fragment_size sizes[] = {{TSR_F16, 16, 16, 16}, {TSR_BF16, 16, 16, 16}};
  static const char *const args[] = {"T=f16 C=0", "T=f16 C=1", "T=bf16 C=0", "T=bf16 C=1"};
  const tsri_emitter *emitter = tsri_emitter_find("cuda");
  tsri_emit_options options = *emitter->defaults;
  options.fragments = sizes;
  options.fragment_count = 2;
  for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
    tsri_kernel *kernel = emit_kernel_of("k.tk", emit_fragments_text, "k", args[i], false);
    tsri_emitted code;
    char *built = NULL;
    size_t bytes = 0;
    CHECK_OK(tsri_emit_kernel(emitter, kernel, &options, &code));
    CHECK_STR_HAS(code.data, i < 2 ? "f32.f16.f16.f32" : "f32.bf16.bf16.f32");
    CHECK_STR_HAS(code.data, "ldmatrix.sync.aligned.m8n8.x4.trans.shared");
    if (!emit_nvrtc_compile(code.data, "sm_80", code.build_options, &built, &bytes)) {
      test_fail(__FILE__, __LINE__, "%s: %s", args[i], emit_log());
    }
    free(built);
    tsri_emitted_deinit(&code);
    tsri_kernel_release(kernel);
  }
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
