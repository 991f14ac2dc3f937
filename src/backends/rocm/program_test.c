// SPDX-License-Identifier: MIT
// Building, the cache on disk, launching, wavefronts of both sizes, and matrix units.
#include <math.h>

#include "backends/rocm/fixture.h"
#include "core/alloc.h"

TEST(a_text_that_does_not_compile_gives_the_compilers_log) {
  fixture f = fixture_open();
  tsri_code code = fixture_code("bad", "#error no", 0, 0, "");
  fixture_check_refused(&f, code, "bad: hiprtc cannot build it for gfx1100 (hiprtc 6): ");
  CHECK_LAST_ERROR_HAS("error: no");
  fixture_use_standin("builderror");
  code = fixture_code("good", "extern \"C\" __global__ void good() {}", 0, 0, "");
  fixture_check_refused(&f, code, "the stand-in was asked for a mistake");
  fixture_close(&f);
}

static void sum_over_waves(const char *words, uint32_t wave) {
  static const char text[] =
      "kernel sums<WG = 128>(in u32 x[], out u32 y[]) { y[global.x] = subgroup_sum(x[global.x]); }\n";
  fixture f = fixture_open_as(words);
  uint32_t x[128], y[128];
  for (uint32_t i = 0; i < 128; i++) x[i] = i * i;
  fixture_kernel k = fixture_compile(&f, text, NULL, "", false);
  tsri_buffer *in = fixture_buffer(&f, sizeof x, x), *out = fixture_buffer(&f, sizeof y, NULL);
  fixture_launch(&f, &k, 1, 1, 1, (const fixture_bound[]){{in, sizeof x, 0}, {out, sizeof y, 0}}, NULL);
  fixture_read(&f, out, 0, y, sizeof y);
  for (uint32_t i = 0; i < 128; i++) {
    uint32_t wanted = 0, first = i / wave * wave;
    for (uint32_t j = first; j < first + wave; j++) wanted += x[j];
    CHECK_EQ_UINT(y[i], wanted);
  }
  f.backend->buffer_destroy(f.device, in);
  f.backend->buffer_destroy(f.device, out);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

TEST(a_subgroup_is_a_wavefront_of_64_on_gfx90a) { sum_over_waves("gfx=gfx90a", 64); }
TEST(a_subgroup_is_a_wavefront_of_32_on_gfx1100) { sum_over_waves("gfx=gfx1100", 32); }

TEST(elements_that_are_read_once_arrive) {
  static const char *const dtypes[] = {"f32", "bf16", "f64", "i64"};
  static const size_t sizes[] = {4, 2, 8, 8};
  fixture f = fixture_open();
  for (int i = 0; i < 4; i++) {
    char text[200];
    uint16_t x[64 * 16], y[64 * 16] = {0};  // small bit patterns, which are exact in each dtype
    for (uint32_t j = 0; j < 64 * 16; j++) x[j] = (uint16_t)(j + 1);
    snprintf(text, sizeof text,
             "kernel k<WG = 64>(in %s x[], out %s y[]) { u32 i = global.x * 4; store4(y, i, load4_once(x, i)); }\n",
             dtypes[i], dtypes[i]);
    fixture_kernel k = fixture_compile(&f, text, NULL, "", false);
    CHECK_STR_HAS(k.code.data, "__builtin_nontemporal_load");
    size_t bytes = 64 * 4 * sizes[i];
    tsri_buffer *in = fixture_buffer(&f, sizeof x, x), *out = fixture_buffer(&f, sizeof y, y);
    fixture_launch(&f, &k, 1, 1, 1, (const fixture_bound[]){{in, sizeof x, 0}, {out, sizeof y, 0}}, NULL);
    fixture_read(&f, out, 0, y, sizeof y);
    CHECK(memcmp(x, y, bytes) == 0);
    f.backend->buffer_destroy(f.device, in);
    f.backend->buffer_destroy(f.device, out);
    fixture_discard(&f, &k);
  }
  fixture_close(&f);
}

// --- Matrix units ---------------------------------------------------------------------------------------------------

enum { SIDE = 16 };

// Small whole numbers as f16 or bf16, which both have exactly.
static uint16_t bits_of(int value, bool is_bf16) {
  float x = (float)value;
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (is_bf16 || value == 0) return (uint16_t)(bits >> 16);
  return (uint16_t)((bits >> 16 & 0x8000) | (((bits >> 23 & 255) - 127 + 15) << 10) | (bits >> 13 & 1023));
}

static int left_at(int i, int k) { return (i * 3 + k * 5) % 7 - 3; }
static int right_at(int k, int j) { return (k * 2 + j * 3) % 5 - 2; }

// One factor out of a buffer, one out of shared memory; by rows or by columns.
static void multiply(fixture *f, bool is_bf16, bool by_columns) {
  static const char text[] =
      "kernel product<T: f16 | bf16, bool C = 0, WG = 64>(in T a[], in T b[], in f32 c[], out f32 y[]) {\n"
      "  shared T tile[256];\n"
      "  fragment_left<T, 16, 16, 16> l;\n  fragment_right<T, 16, 16, 16> r;\n  fragment_sum<f32, 16, 16, 16> s;\n"
      "  for (u32 i = local.x; i < 256; i += WG) tile[i] = a[i];\n  barrier();\n"
      "  fragment_load(l, tile, 0, 16, C);\n  fragment_load(r, b, 0, 16, C);\n  fragment_load(s, c, 0, 16, C);\n"
      "  fragment_multiply_add(s, l, r);\n  fragment_store(s, y, 0, 16, C);\n}\n";
  uint16_t a[SIDE * SIDE], b[SIDE * SIDE];
  float c[SIDE * SIDE], y[SIDE * SIDE];
  char args[40];
  for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++) {
      int at = by_columns ? j * SIDE + i : i * SIDE + j;
      a[at] = bits_of(left_at(i, j), is_bf16);
      b[at] = bits_of(right_at(i, j), is_bf16);
      c[at] = (float)(i - 2 * j);
    }
  }
  snprintf(args, sizeof args, "T=%s C=%d", is_bf16 ? "bf16" : "f16", by_columns);
  f->emit.fragments = f->limits.fragments;
  f->emit.fragment_count = f->limits.fragment_count;
  fixture_kernel k = fixture_compile(f, text, NULL, args, false);
  CHECK_STR_HAS(k.code.data, "__builtin_amdgcn_");
  fixture_bound bound[] = {{fixture_buffer(f, sizeof a, a), sizeof a, 0},
                           {fixture_buffer(f, sizeof b, b), sizeof b, 0},
                           {fixture_buffer(f, sizeof c, c), sizeof c, 0},
                           {fixture_buffer(f, sizeof y, NULL), sizeof y, 0}};
  fixture_launch(f, &k, 1, 1, 1, bound, NULL);
  fixture_read(f, bound[3].buffer, 0, y, sizeof y);
  for (int i = 0; i < SIDE; i++) {
    for (int j = 0; j < SIDE; j++) {
      int wanted = i - 2 * j;
      for (int n = 0; n < SIDE; n++) wanted += left_at(i, n) * right_at(n, j);
      CHECK_EQ_INT((int)y[by_columns ? j * SIDE + i : i * SIDE + j], wanted);
    }
  }
  for (int i = 0; i < 4; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &k);
}

static void multiply_on(const char *words) {
  fixture f = fixture_open_as(words);
  for (uint32_t dtype = 0; dtype < f.limits.fragment_count; dtype++) {
    multiply(&f, dtype == 1, false);
    multiply(&f, dtype == 1, true);
  }
  fixture_close(&f);
}

TEST(fragments_have_the_layout_of_mfma_on_gfx908) { multiply_on("gfx=gfx908"); }
TEST(fragments_have_the_layout_of_mfma_on_gfx90a) { multiply_on("gfx=gfx90a"); }
TEST(fragments_have_the_layout_of_wmma_on_gfx1100) { multiply_on("gfx=gfx1100"); }
TEST(fragments_have_the_layout_of_wmma_on_gfx1201) { multiply_on("gfx=gfx1201"); }
