// SPDX-License-Identifier: MIT
// What the SPIR-V emitter writes is valid, by the judgement of spirv-val: every kernel that ships with every type it
// takes, and kernels that use every operation, on devices with all features and with none.
#include <dirent.h>

#include "core/alloc.h"
#include "lang/emit/emit.h"
#include "lang/lang.h"
#include "lang/spirv_valid.h"
#include "support/test.h"

typedef void (*spirv_checker)(const tsri_kernel *kernel);

// Each type parameter in turn takes each type it may have.
static void emit_variants(const tsri_module *module, const tsri_lang_kernel_info *info, bool checked,
                          spirv_checker check) {
  tsri_lang_options options = {.checked = checked};
  for (int dtype = 0; dtype < TSR_DTYPE_COUNT; dtype++) {
    tsri_lang_arg args[8];
    size_t count = 0;
    bool is_varied = false;
    for (uint32_t i = 0; i < info->generic_count && count < 8; i++) {
      const tsri_lang_generic *generic = &info->generics[i];
      if (!generic->is_type || !(generic->allowed & 1u << dtype)) continue;
      args[count++] = (tsri_lang_arg){.name = generic->name, .is_type = true, .dtype = (tsr_dtype)dtype};
      is_varied = true;
    }
    if (!is_varied && dtype > 0) continue;
    tsri_kernel *kernel = NULL;
    tsr_status status = tsri_lang_specialise(module, info->name, args, count, &options, NULL, &kernel);
    if (status == TSR_ERR_INVALID_ARGUMENT || status == TSR_ERR_BUILD) continue;  // not for this type
    CHECK_OK(status);
    check(kernel);
    tsri_kernel_release(kernel);
  }
}

static void emit_file(const char *name, const char *text, size_t bytes, spirv_checker check) {
  tsri_module *module = NULL;
  CHECK_OK(tsri_lang_parse(name, text, bytes, NULL, &module));
  for (uint32_t i = 0; i < tsri_module_kernel_count(module); i++) {
    emit_variants(module, tsri_module_kernel(module, i), false, check);
    emit_variants(module, tsri_module_kernel(module, i), true, check);
  }
  tsri_module_release(module);
}

TEST(every_kernel_that_ships_is_valid_for_every_type) {
  if (!spirv_has_validator()) SKIP("spirv-val is not installed (package spirv-tools)");
  const char *source = getenv("TSR_TEST_SOURCE_DIR");
  char folder[900], path[1200];
  static char text[1 << 17];
  snprintf(folder, sizeof folder, "%s/kernels", source ? source : ".");
  DIR *dir = opendir(folder);
  if (!dir) SKIP("the source folder is not here");
  for (struct dirent *entry; (entry = readdir(dir));) {
    size_t length = strlen(entry->d_name);
    if (length < 4 || strcmp(entry->d_name + length - 3, ".tk") != 0) continue;
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    emit_file(entry->d_name, text, bytes, spirv_check_sample);
  }
  closedir(dir);
  printf("  %d modules\n", spirv_checked());
}

static void emit_text(const char *text) {
  if (!spirv_has_validator()) SKIP("spirv-val is not installed (package spirv-tools)");
  emit_file("test.tk", text, strlen(text), spirv_check);
}

TEST(float_functions_are_valid_alone_and_as_vectors) {
  emit_text(
      "kernel k<T: f32 | f64>(in T a[], in T b[], out T y[], u32 n) {\n"
      "  u32 i = global.x;\n  if (i >= n) return;\n  T x = a[i], z = b[i];\n"
      "  T s = -x + x - z * x / z + min(x, z) + max(x, z) + abs(x) + sign(x) + floor(x) + ceil(x) + round(x) + "
      "trunc(x);\n"
      "  s += sqrt(x) + rsqrt(x) + exp(x) + exp2(x) + expm1(x) + log(x) + log2(x) + log10(x) + log1p(x);\n"
      "  s += sin(x) + cos(x) + tan(x) + asin(x) + acos(x) + atan(x) + atan2(x, z) + sinh(x) + cosh(x) + tanh(x);\n"
      "  s += erf(x) + pow(x, z) + fma(x, z, s) + select(isnan(x), x, z) + select(isinf(x) | isfinite(z), x, z);\n"
      "  if (x == z || x != z && x < z || x <= z || x > z || x >= z) s += 1;\n"
      "  y[i] = x > 0 ? s : a[i + 1];\n}\n"
      "kernel v<T: f32 | f16 | bf16>(in T a[], out T y[]) {\n"
      "  u32 i = global.x * 4;\n  store4(y, i, exp(load4(a, i)) / sin(load4(a, i)));\n  y[i] = a[i + 1];\n}\n");
}

TEST(integers_and_conversions_are_valid) {
  emit_text(
      "kernel k<T: i32 | u32 | i64>(in T a[], in T b[], out T y[]) {\n"
      "  u32 i = global.x;\n  T x = a[i], z = b[i];\n"
      "  T s = x + z - x * z / z % x + (x & z) + (x | z) + (x ^ z) + (x << u32(3)) + (x >> u32(z)) + ~x;\n"
      "  s += min(x, z) + max(x, z) + popcount(x) + clz(x) + ctz(x);\n"
      "  if (x == z || x < z || x >= z) s += T(mulhi(u32(x), u32(z)));\n  y[i] = s;\n}\n"
      "kernel c<T>(in T a[], out i8 b[], out u8 c[], out i16 d[], out i32 e[], out u32 f[], out f16 g[], out bf16 "
      "h[],\n"
      "            out f32 j[], out bool q[]) {\n"
      "  u32 i = global.x;\n  b[i] = i8(a[i]);\n  c[i] = u8(a[i]);\n  d[i] = i16(a[i]);\n  e[i] = i32(a[i]);\n"
      "  f[i] = u32(a[i]);\n  g[i] = f16(a[i]);\n  h[i] = bf16(a[i]);\n  j[i] = f32(a[i]);\n  q[i] = bool(a[i]);\n}\n"
      "kernel w<T>(in T a[], out i64 b[], out f64 c[]) {\n"
      "  u32 i = global.x;\n  b[i] = i64(a[i]);\n  c[i] = f64(a[i]);\n}\n");
}

TEST(groups_shared_arrays_and_loops_are_valid) {
  emit_text(
      "kernel k<T: i32 | u32 | i64 | f32 | f64, WG = 128>(in T a[], out T y[], u32 n) {\n"
      "  T x = a[global.x];\n  T s = group_sum(x) + group_min(x) + group_max(x);\n"
      "  s += subgroup_sum(x) + subgroup_min(x) + subgroup_max(x) + subgroup_shuffle(x, 3) + subgroup_shuffle_xor(x, "
      "1);\n"
      "  if (group_any(x > 0) && group_all(x > 1) || subgroup_any(x > 2) && subgroup_all(x > 3)) s += 1;\n"
      "  y[global.x] = s + T(subgroup_lane + subgroup_size + subgroup_ballot(x > 4));\n}\n"
      "kernel m<T, WG = 32>(in T a[], out T y[], inout u32 h[], inout i32 g[], u32 n) {\n"
      "  shared T tile[64];\n  shared u32 counts[8];\n  T held[4];\n"
      "  for (u32 i = 0; i < 4; i++) {\n    if (i == 2) continue;\n    held[i] = a[i];\n    if (i > n) break;\n  }\n"
      "  tile[local.x] = held[local.x % 4];\n  if (local.x < 8) counts[local.x] = 0;\n  barrier();\n"
      "  u32 old = atomic_add(counts, local.x % 8, 1);\n  old = atomic_max(h, old, 5) + atomic_min(h, 1, 2);\n"
      "  i32 was = atomic_min(g, 0, 3) + atomic_max(g, 1, -3) + atomic_sub(g, 2, 1) + atomic_and(g, 3, 7);\n"
      "  was += atomic_or(g, 4, 1) + atomic_xor(g, 5, 1) + atomic_exchange(g, 6, 9) + atomic_compare_exchange(g, 7, 1, "
      "2);\n"
      "  h[9] = old + u32(was);\n  barrier();\n  y[global.x] = tile[63 - local.x];\n"
      "  while (true) { if (n > 3) break; else return; }\n}\n");
}

TEST(a_shared_array_of_i64_that_nothing_reads_or_writes_is_valid) {
  emit_text("kernel k<WG = 32>(out u32 y[]) {\n  shared i64 idle[16];\n  barrier();\n  y[global.x] = 1;\n}\n");
}

TEST(a_kernel_that_needs_what_the_device_lacks_is_refused_by_name) {
  tsri_module *module = NULL;
  tsri_kernel *kernel = NULL;
  tsri_emitted code;
  const char *text = "kernel wide(in i64 x[], out f64 y[]) { y[global.x] = f64(x[global.x]); }";
  CHECK_OK(tsri_lang_parse("t.tk", text, strlen(text), NULL, &module));
  CHECK_OK(tsri_lang_specialise(module, NULL, NULL, 0, NULL, NULL, &kernel));
  CHECK_STATUS(tsri_emit_kernel(tsri_emitter_find("spirv"), kernel, NULL, &code), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("kernel wide needs f64");
  tsri_emit_options options = tsri_emit_defaults_spirv;
  options.f64 = true;
  CHECK_STATUS(tsri_emit_kernel(tsri_emitter_find("spirv"), kernel, &options, &code), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("kernel wide needs i64");
  tsri_kernel_release(kernel);
  tsri_module_release(module);
}
