// SPDX-License-Identifier: MIT
// Emits every kernel in kernels/ in every specialisation, one of them checked, and compiles it with each dialect's
// compiler: the system's C compiler, PoCL, NVRTC, hipcc, and clang with our replacement for Metal's library. The
// compilers get a sample of them, which differs between the dialects. TSR_TEST_SAMPLE=1 compiles all of them.
#include <stdlib.h>

#include "lang/emit_case.h"
#include "support/test.h"

typedef struct program_of {
  const tsri_emitter *emitter;
  tsri_emit_options options;
  emit_text text;
  char build_options[128];
  emit_sample sample;
  uint32_t emitted, refused, added;
} program_of;

static void add_kernel(const tsri_kernel *kernel, void *context) {
  program_of *program = context;
  tsri_emitted code;
  if ((kernel->needs & TSRI_NEEDS_F64) && !program->options.f64) {
    CHECK_STATUS(tsri_emit_kernel(program->emitter, kernel, &program->options, &code), TSR_ERR_UNSUPPORTED);
    program->refused++;
    return;
  }
  CHECK_OK(tsri_emit_kernel(program->emitter, kernel, &program->options, &code));
  if (emit_sample_takes(&program->sample, kernel)) {
    char entry[TSRI_EMIT_ENTRY_BYTES + 16];
    snprintf(entry, sizeof entry, "%s_%u", code.entry, (unsigned)program->added++);
    emit_append(&program->text, &code, entry);
    memcpy(program->build_options, code.build_options, sizeof program->build_options);
  }
  program->emitted++;
  tsri_emitted_deinit(&code);
}

static void add_all(program_of *program, const char *dialect) {
  program->emitter = tsri_emitter_find(dialect);
  CHECK(program->emitter);
  program->sample.visited = (uint32_t)(program->emitter - tsri_emitters);
  if (program->options.subgroup_size == 0) program->options = *program->emitter->defaults;
  uint32_t count = emit_each_kernel(add_kernel, program);
  CHECK_EQ_UINT(program->emitted + program->refused, count);
  CHECK(program->added >= 40);
  printf("%s: %u kernels, %u of them compiled; %u refused for want of f64\n", dialect, (unsigned)program->emitted,
         (unsigned)program->added, (unsigned)program->refused);
}

static void build_on(const emit_device *device) {
  if (device->missing()) SKIP(device->missing());
  program_of program = {0};
  add_all(&program, device->dialect);
  void *built = device->build(program.text.data, program.build_options);
  if (!built) test_fail(__FILE__, __LINE__, "%s:\n%s", device->name, emit_log());
  device->release(built);
  free(program.text.data);
}

TEST(every_kernel_builds_as_plain_c) { build_on(&emit_device_c); }

TEST(every_kernel_builds_as_opencl) { build_on(&emit_device_opencl); }

TEST(every_kernel_runs_through_metals_stand_in_compiler) { build_on(&emit_device_metal); }

TEST(every_kernel_runs_through_hips_stand_in_compiler) { build_on(&emit_device_hip); }

static void compile_cuda(const char *architecture, tsri_emit_options options) {
  if (emit_nvrtc_missing()) SKIP(emit_nvrtc_missing());
  program_of program = {.options = options};
  char *code = NULL;
  size_t bytes = 0;
  add_all(&program, "cuda");
  if (!emit_nvrtc_compile(program.text.data, architecture, program.build_options, &code, &bytes)) {
    test_fail(__FILE__, __LINE__, "%s: %s", architecture, emit_log());
  }
  free(code);
  free(program.text.data);
}

TEST(every_kernel_compiles_as_cuda_for_sm_75) { compile_cuda("sm_75", (tsri_emit_options){0}); }

TEST(every_kernel_compiles_as_cuda_for_sm_90) { compile_cuda("sm_90", (tsri_emit_options){0}); }

TEST(every_kernel_compiles_as_cuda_without_subgroups_and_with_unaligned_buffers) {
  compile_cuda("sm_90",
               (tsri_emit_options){
                   .f64 = true, .exact_divide = true, .wide_unaligned = true, .no_alias = true, .subgroup_size = 8});
}

// Both orders of both factors, out of shared memory and out of buffers, for matrix units.
TEST(fragments_compile_as_cuda_for_matrix_units) {
  if (emit_nvrtc_missing()) SKIP(emit_nvrtc_missing());
  static const tsr_fragment_size sizes[] = {{TSR_F16, 16, 16, 16}, {TSR_BF16, 16, 16, 16}};
  static const char text[] =
      "kernel k<T: f16 | bf16, bool C = 0, WG = 64>(in T a[], in u32 b[], in f32 c[], out f32 y[]) {\n"
      "  shared T tile[512];\n"
      "  fragment_left<T, 16, 16, 16> l, m;\n  fragment_right<T, 16, 16, 16> r, s;\n  fragment_sum<f32, 16, 16, 16> "
      "t;\n"
      "  for (u32 i = local.x; i < 512; i += WG) tile[i] = a[i];\n  barrier();\n"
      "  fragment_load(l, a, 0, 16, C);\n  fragment_load(r, b, 0, 16, C);\n  fragment_load(t, c, 0, 16, C);\n"
      "  fragment_load(m, tile, local.x / 32 * 256, 16, C);\n  fragment_load(s, tile, 0, 16, C);\n"
      "  fragment_multiply_add(t, l, s);\n  fragment_multiply_add(t, m, r);\n  fragment_fill(l, c[0]);\n"
      "  fragment_multiply_add(t, l, r);\n  fragment_store(t, y, 0, 16, C);\n}\n";
  static const char *const args[] = {"T=f16 C=0", "T=f16 C=1", "T=bf16 C=0", "T=bf16 C=1"};
  const tsri_emitter *emitter = tsri_emitter_find("cuda");
  tsri_emit_options options = *emitter->defaults;
  options.fragments = sizes;
  options.fragment_count = 2;
  for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
    tsri_kernel *kernel = emit_kernel_of("k.tk", text, "k", args[i], false);
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

static void compile_hip(const char *architecture, uint32_t subgroup_size) {
  if (!emit_has_program("hipcc")) SKIP("there is no hipcc here (Debian: hipcc libamdhip64-dev rocm-device-libs)");
  program_of program = {0};
  program.options = *tsri_emitter_find("hip")->defaults;
  program.options.subgroup_size = subgroup_size;
  add_all(&program, "hip");
  char path[128];
  CHECK(emit_write("all.hip", program.text.data, path, sizeof path));
  bool is_built = emit_command("hipcc --genco --offload-arch=%s -O1 %s -Wno-unused -x hip %s -o %s/all.hsaco",
                               architecture, program.build_options, path, emit_scratch());
  free(program.text.data);
  if (!is_built) test_fail(__FILE__, __LINE__, "%s:\n%s", architecture, emit_log());
}

TEST(every_kernel_compiles_as_hip_for_wavefronts_of_64) { compile_hip("gfx90a", 64); }

TEST(every_kernel_compiles_as_hip_for_wavefronts_of_32) { compile_hip("gfx1030", 32); }

// --- What only other OpenCL devices have ----------------------------------------------------------------------------

TEST(every_kernel_is_opencl_with_subgroups_and_half_too) {
  if (!emit_has_program("clang")) SKIP("there is no clang here");
  program_of program = {.options = {.f64 = true,
                                    .f16 = true,
                                    .subgroups = true,
                                    .subgroup_shuffle = true,
                                    .no_alias = true,
                                    .subgroup_size = 16}};
  char path[128];
  add_all(&program, "opencl");
  CHECK(emit_write("all.cl", program.text.data, path, sizeof path));
  free(program.text.data);
  // clang's header declares shuffles only if their extension is defined, which `all` does not do.
  if (!emit_command("clang -x cl -cl-std=CL3.0 -Xclang -cl-ext=+all -Dcl_khr_subgroup_shuffle=1 "
                    "-Xclang -finclude-default-header -fsyntax-only -w %s",
                    path)) {
    test_fail(__FILE__, __LINE__, "%s", emit_log());
  }
}

// --- Metal's address spaces, by clang's C++ for OpenCL --------------------------------------------------------------

// A __local array is allowed only in a kernel, and these functions cannot be kernels there, so it becomes a pointer.
static void add_shared_as_pointer(emit_text *out, const char *text) {
  static const char declaration[] = "  alignas(16) threadgroup ";
  for (const char *found; (found = strstr(text, declaration)) != NULL;) {
    char *before = strndup(text, (size_t)(found - text));
    emit_add_text(out, before ? before : "");
    free(before);
    const char *type = found + strlen(declaration), *name = strchr(type, ' ') + 1, *end = strchr(name, ';');
    emit_add(out, "  threadgroup %.*s *%.*s = 0;", (int)(name - 1 - type), type, (int)strcspn(name, "["), name);
    text = end + 1;
  }
  emit_add_text(out, text);
}

TEST(every_kernel_keeps_metals_address_spaces_apart) {
  if (!emit_has_program("clang")) SKIP("there is no clang here");
  program_of program = {0};
  emit_text text = {0};
  char path[128];
  const char *top = getenv("TSR_TEST_SOURCE_DIR");
  add_all(&program, "metal");
  add_shared_as_pointer(&text, program.text.data);
  CHECK(emit_write("all.clcpp", text.data, path, sizeof path));
  free(text.data);
  free(program.text.data);
  if (!emit_command("clang -x clcpp -cl-std=clc++2021 -cl-no-stdinc -fsyntax-only -w -I%s/tests/standins/kernels/spaces %s",
                    top ? top : ".", path)) {
    test_fail(__FILE__, __LINE__, "%s", emit_log());
  }
}
