// SPDX-License-Identifier: MIT
// Metal text by two compilers that are not Apple's: clang's C++ for OpenCL, which knows address spaces, and the stand-in's, with which it
// also runs. A sample of the kernels in kernels/, unless TSR_TEST_SAMPLE=1.
#include <stdlib.h>

#include "lang/emit_program.h"
#include "support/test.h"

// --- Address spaces -----------------------------------------------------------------------------------------------------

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

static bool keeps_spaces_apart(const char *program) {
  const char *top = getenv("TSR_TEST_SOURCE_DIR");
  emit_text text = {0};
  char path[128];
  add_shared_as_pointer(&text, program);
  CHECK(emit_write("all.clcpp", text.data, path, sizeof path));
  free(text.data);
  return emit_command(
      "clang -x clcpp -cl-std=clc++2021 -cl-no-stdinc -fsyntax-only -w -I%s/tests/standins/kernels/spaces %s",
      top ? top : ".", path);
}

static void require_clang(void) {
  if (!emit_has_program("clang")) SKIP("there is no clang here");
}

TEST(every_kernel_keeps_metals_address_spaces_apart) {
  require_clang();
  emit_program program = {0};
  emit_program_add_all(&program, "metal");
  if (!keeps_spaces_apart(program.text.data)) test_fail(__FILE__, __LINE__, "%s", emit_log());
  free(program.text.data);
}

TEST(a_pointer_to_the_wrong_address_space_is_found) {
  require_clang();
  static const char text[] =
      "#include <metal_stdlib>\nusing namespace metal;\n"
      "void k(device uint *x) {\n  alignas(16) threadgroup uint s[4];\n  device uint *p = s;\n  p[0] = 1;\n}\n";
  CHECK(!keeps_spaces_apart(text));
  CHECK_STR_HAS(emit_log(), "__global");
}

// --- Matrix units ---------------------------------------------------------------------------------------------------------

static const tsr_fragment_size sizes[] = {{TSR_F16, 8, 8, 8}, {TSR_BF16, 8, 8, 8}, {TSR_F32, 8, 8, 8}};

// Both orders of both factors, out of shared memory and out of buffers.
static const char fragments_text[] =
    "kernel k<T: f16 | bf16 | f32, bool C = 0, WG = 64>(in T a[], in T b[], in f32 c[], out f32 y[]) {\n"
    "  shared T tile[128];\n"
    "  fragment_left<T, 8, 8, 8> l, m;\n  fragment_right<T, 8, 8, 8> r, s;\n  fragment_sum<f32, 8, 8, 8> t;\n"
    "  for (u32 i = local.x; i < 128; i += WG) tile[i] = a[i];\n  barrier();\n"
    "  fragment_load(l, a, 0, 8, C);\n  fragment_load(r, b, 0, 8, C);\n  fragment_load(t, c, 0, 8, C);\n"
    "  fragment_load(m, tile, local.x / 32 * 64, 8, C);\n  fragment_load(s, tile, 0, 8, C);\n"
    "  fragment_multiply_add(t, l, s);\n  fragment_multiply_add(t, m, r);\n  fragment_fill(l, c[0]);\n"
    "  fragment_multiply_add(t, l, r);\n  fragment_store(t, y, 0, 8, C);\n}\n";

TEST(fragments_are_matrices_of_simd_groups) {
  static const char *const args[] = {"T=f16 C=0", "T=f16 C=1", "T=bf16 C=0", "T=bf16 C=1", "T=f32 C=0", "T=f32 C=1"};
  static const char *const types[] = {"half", "bfloat", "float"};
  const tsri_emitter *emitter = tsri_emitter_find("metal");
  tsri_emit_options options = *emitter->defaults;
  options.fragments = sizes;
  options.fragment_count = 3;
  require_clang();
  if (emit_device_metal.missing()) SKIP(emit_device_metal.missing());
  for (size_t i = 0; i < sizeof args / sizeof *args; i++) {
    tsri_kernel *kernel = emit_kernel_of("k.tk", fragments_text, "k", args[i], false);
    tsri_emitted code;
    char declared[64];
    CHECK_OK(tsri_emit_kernel(emitter, kernel, &options, &code));
    snprintf(declared, sizeof declared, "simdgroup_matrix<%s, 8, 8>", types[i / 2]);
    CHECK_STR_HAS(code.data, declared);
    CHECK_STR_HAS(code.data, i % 2 ? "ulong2(0), true" : "ulong2(0), false");
    if (!keeps_spaces_apart(code.data))
      test_fail(__FILE__, __LINE__, "%s: %s\n%s", args[i], emit_log(), (char *)code.data);
    void *built = emit_device_metal.build(code.data, code.build_options);
    if (!built) test_fail(__FILE__, __LINE__, "%s: %s\n%s", args[i], emit_log(), (char *)code.data);
    emit_device_metal.release(built);
    tsri_emitted_deinit(&code);
    tsri_kernel_release(kernel);
  }
}

// Without matrix units of this size, or without SIMD groups, the same kernel is loops.
TEST(fragments_are_loops_without_matrix_units) {
  tsri_emit_options options = *tsri_emitter_find("metal")->defaults;
  for (int i = 0; i < 2; i++) {
    tsri_kernel *kernel = emit_kernel_of("k.tk", fragments_text, "k", "T=f16 C=0", false);
    tsri_emitted code;
    CHECK_OK(tsri_emit_kernel(tsri_emitter_find("metal"), kernel, &options, &code));
    CHECK(!strstr(code.data, "simdgroup_"));
    tsri_emitted_deinit(&code);
    tsri_kernel_release(kernel);
    options.fragments = sizes;
    options.fragment_count = 3;
    options.subgroups = false;
  }
}
