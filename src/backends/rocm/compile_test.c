// SPDX-License-Identifier: MIT
// AMD's own hiprtc, which needs no GPU, compiles what the backend gives it.
#include "backends/common/fixture_testing.h"
#include "backends/rocm/rocm.h"
#include "core/alloc.h"

// Compiles for `gfx` as program_create does. Errors leave the compiler's log in tsr_last_error.
static tsr_status compile(const rocm_gfx *gfx, const char *text, const char *args) {
  tsri_emit_options options = *tsri_emitter_find("hip")->defaults;
  static const tsr_fragment_size sizes[] = {{TSR_F16, 16, 16, 16}, {TSR_BF16, 16, 16, 16}};
  options.subgroup_size = gfx->wave;
  options.fragments = sizes;
  options.fragment_count = gfx->matrix == ROCM_MFMA ? 2 : 0;
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  tsri_emitted emitted;
  tsri_lang_arg arg;
  char name[32];
  CHECK_OK(tsri_lang_parse("test.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_arg_parse(args, name, sizeof name, &arg));
  CHECK_OK(tsri_lang_specialise(module, NULL, &arg, 1, &(tsri_lang_options){.checked = false}, NULL, &kernel));
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("hip"), kernel, &options, &emitted));
  tsri_code code =
      fixture_code(emitted.entry, emitted.data, emitted.buffer_count, emitted.params_bytes, emitted.build_options);
  cuda_device device = {.vendor = &tsri_rocm_vendor, .cu = &tsri_hip};
  snprintf(device.target, sizeof device.target, "%s", gfx->name);
  void *image = NULL;
  bool is_fresh = false;
  tsr_status status = tsri_cuda_compile(&device, device.target, &code, false, &image, &is_fresh);
  if (status == TSR_OK) CHECK(memcmp(image, "\177ELF", 4) == 0);
  tsri_free(image);
  tsri_emitted_deinit(&emitted);
  tsri_kernel_release(kernel);
  tsri_module_release(module);
  return status;
}

static void open_hiprtc(void) {
  if (tsri_rocm_load() != TSR_OK || tsri_hiprtc_load() != TSR_OK)
    SKIP("there is no hiprtc here (Debian: libamdhip64-5)");
}

TEST(amds_compiler_takes_kernels_with_sums_over_wavefronts) {
  static const char text[] =
      "kernel k<T: f16 | bf16 | f32, WG = 256>(in T x[], out T y[]) {\n"
      "  f32 s = group_sum(exp(f32(x[global.x])));\n  y[global.x] = T(s / 3.0);\n}\n";
  open_hiprtc();
  CHECK_OK(compile(tsri_rocm_find_gfx("gfx90a"), text, "T=f16"));
  CHECK_OK(compile(tsri_rocm_find_gfx("gfx1030"), text, "T=bf16"));
}

TEST(amds_compiler_takes_fragments_for_matrix_units) {
  static const char text[] =
      "kernel k<T: f16 | bf16, WG = 64>(in T a[], in T b[], out f32 y[]) {\n"
      "  fragment_left<T, 16, 16, 16> l;\n  fragment_right<T, 16, 16, 16> r;\n  fragment_sum<f32, 16, 16, 16> s;\n"
      "  fragment_load(l, a, 0, 16);\n  fragment_load(r, b, 0, 16);\n"
      "  fragment_multiply_add(s, l, r);\n  fragment_store(s, y, 0, 16);\n}\n";
  open_hiprtc();
  CHECK_OK(compile(tsri_rocm_find_gfx("gfx90a"), text, "T=f16"));
  CHECK_OK(compile(tsri_rocm_find_gfx("gfx90a"), text, "T=bf16"));
}
