// SPDX-License-Identifier: MIT
// The product by subgroup matrices, run on a device that has neither them nor f16: its text is rewritten so that every item holds
// whole matrices of f32, and the matrices' functions are loops. What is tested is the rest: which elements are moved where.
#include <stdlib.h>

#include "backends/webgpu/fixture.h"
#include "core/alloc.h"
#include "graph/embedded.h"
#include "lang/emit_case.h"

enum { SG = 32 };

// --- Rewriting ------------------------------------------------------------------------------------------------------

static void put_replaced(tsri_builder *out, const char *line, const char *from, const char *to) {
  const char *at = strstr(line, from);
  CHECK(at != NULL);
  tsri_builder_put(out, line, (size_t)(at - line));
  tsri_builder_add(out, "%s%s\n", to, at + strlen(from));
}

// "&tile_s0, e7, true, 40u": array, offset and stride; `name` is the matrix, between offset and order in a store.
typedef struct access {
  char array[64], at[64], name[64], order[8], stride[64];
} access;

static void put_access(tsri_builder *out, const access *a, int side, bool is_load) {
  char place[400];
  snprintf(place, sizeof place, "%s[%s + select(i / %du * %s + i %% %du, i %% %du * %s + i / %du, %s)]", a->array,
           a->at, side, a->stride, side, side, a->stride, side, a->order);
  tsri_builder_add(out, "for (var i = 0u; i < %du; i++) { ", side * side);
  if (is_load) tsri_builder_add(out, "%s[i] = %s; }\n", a->name, place);
  else tsri_builder_add(out, "%s = %s[i]; }\n", place, a->name);
}

static void put_product(tsri_builder *out, const char *line, int side) {
  char result[64], left[64], right[64], sum[64];
  CHECK(sscanf(line, " %63s = subgroupMatrixMultiplyAccumulate(%63[^,], %63[^,], %63[^)]);", result, left, right,
               sum) == 4);
  CHECK_STR(result, sum);
  tsri_builder_add(out, "for (var i = 0u; i < %du; i++) { for (var k = 0u; k < %du; k++) { ", side * side, side);
  tsri_builder_add(out, "%s[i] += %s[i / %du * %du + k] * %s[k * %du + i %% %du]; } }\n", sum, left, side, side, right,
                   side, side);
}

static void rewrite_line(tsri_builder *out, const char *line, int side) {
  char name[64], type[64];
  access a = {"", "", "", "", ""};
  if (strncmp(line, "enable ", 7) == 0 || strncmp(line, "diagnostic(", 11) == 0) return;
  if (sscanf(line, " var %63[^:]: subgroup_matrix_%63s", name, type) == 2) {
    tsri_builder_add(out, "  var %s: array<f32, %d>;\n", name, side * side);
  } else if (strstr(line, "subgroupMatrixLoad<")) {
    CHECK(sscanf(line, " %63s =", a.name) == 1);
    CHECK(sscanf(strstr(line, ">>(&") + 4, "%63[^,], %63[^,], %7[^,], %63[^)]", a.array, a.at, a.order, a.stride) == 4);
    put_access(out, &a, side, true);
  } else if (strstr(line, "subgroupMatrixStore(&")) {
    CHECK(sscanf(line, " subgroupMatrixStore(&%63[^,], %63[^,], %63[^,], %7[^,], %63[^)]", a.array, a.at, a.name,
                 a.order, a.stride) == 5);
    put_access(out, &a, side, false);
  } else if (strstr(line, "subgroupMatrixMultiply")) {
    put_product(out, line, side);
  } else if (strstr(line, "= subgroup_matrix_result<")) {  // fragment_fill
    CHECK(sscanf(line, " %63s =", name) == 1);
    tsri_builder_add(out, "for (var i = 0u; i < %du; i++) { %s[i] = value; }\n", side * side, name);
  } else if (strstr(line, "bitcast<vec2<f16>>(")) {
    put_replaced(out, line, "bitcast<vec2<f16>>(", "unpack2x16float(");
  } else if (strstr(line, "array<f16, ")) {
    put_replaced(out, line, "array<f16, ", "array<f32, ");
  } else if (strstr(line, "array<f16>")) {  // c, which is not read
    put_replaced(out, line, "array<f16>", "array<u32>");
  } else {
    CHECK(!strstr(line, "f16"));
    tsri_builder_add(out, "%s\n", line);
  }
}

static char *rewrite(char *text, int side) {
  tsri_builder out = {.most_bytes = 1u << 24};
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) rewrite_line(&out, line, side);
  CHECK(out.text && !out.has_failed);
  return out.text;
}

// --- Running --------------------------------------------------------------------------------------------------------

static fixture_kernel build_product(const fixture *f, const char *args, int side) {
  tsr_fragment_size size = {TSR_F16, side, side, side};
  tsri_emit_options options = f->emit;
  options.f16 = options.subgroups = options.subgroup_shuffle = true;
  options.subgroup_size = SG;
  options.fragments = &size;
  options.fragment_count = 1;
  fixture_kernel k = {
      .kernel = emit_kernel_of("test.tk", tsri_embedded_text("op_product", NULL), "matmul_fragments", args, false)};
  CHECK_OK(tsri_emit_kernel(tsri_emitter_find("wgsl"), k.kernel, &options, &k.code));
  CHECK_STR_HAS(k.code.data, "subgroupMatrixMultiplyAccumulate");
  char *text = rewrite(k.code.data, side);
  tsri_code code = {.form = TSRI_CODE_TEXT,
                    .name = k.code.entry,
                    .data = text,
                    .data_bytes = strlen(text),
                    .buffer_count = k.code.buffer_count,
                    .params_bytes = k.code.params_bytes,
                    .options = k.code.build_options,
                    .shared_bytes = 2 * k.code.shared_bytes};  // f32 in place of f16
  memcpy(code.local, k.code.local, sizeof code.local);
  if (f->backend->program_create(f->device, &code, &k.program) != TSR_OK) {
    test_fail(__FILE__, __LINE__, "%s: %s\n%s", args, tsr_last_error(), text);
  }
  tsri_free(text);
  return k;
}

typedef struct product_case {
  int m, n, k, batch, side, tile_m, tile_n;
  const char *args;
} product_case;

enum { MOST = 128 * 128 };

static int number_at(int seed, int i) { return (i * 7 + seed + i / 9) % 9 - 4; }

static void fill(uint16_t *halves, int seed, int count) {
  static const uint16_t bits[] = {0, 0x3c00, 0x4000, 0x4200, 0x4400};
  for (int i = 0; i < count; i++) {
    int number = number_at(seed, i);
    halves[i] = number < 0 ? bits[-number] | 0x8000 : bits[number];
  }
}

static float wanted_at(const product_case *c, bool a_turned, bool b_turned, int z, int row, int col) {
  int sum = 0;
  for (int j = 0; j < c->k; j++) {
    int a = a_turned ? j * c->m + row : row * c->k + j, b = b_turned ? col * c->k + j : j * c->n + col;
    sum += number_at(1, z * c->m * c->k + a) * number_at(2, b);
  }
  return (float)sum;
}

static void run_product(const fixture *f, const product_case *c) {
  static uint16_t a[MOST], b[MOST];
  static float y[MOST];
  uint32_t nothing = 0, m = (uint32_t)c->m, n = (uint32_t)c->n, k = (uint32_t)c->k;
  bool a_turned = strstr(c->args, "A_COLUMNS=1") != NULL, b_turned = strstr(c->args, "B_COLUMNS=1") != NULL;
  int count = c->batch * c->m * c->n;
  fill(a, 1, c->batch * c->m * c->k);
  fill(b, 2, c->k * c->n);
  memset(y, 0xff, sizeof y);
  const struct {
    uint32_t sizes[3], a[3], b[3], c[3], batch_inner, outer_inner[6], first, y_at, part;
    float alpha, beta;
  } params = {.sizes = {m, n, k},
              .a = {0, a_turned ? 1 : k, a_turned ? m : 1},
              .b = {0, b_turned ? 1 : n, b_turned ? k : 1},
              .batch_inner = (uint32_t)c->batch,
              .outer_inner = {0, m * k},
              .alpha = 1};
  fixture_kernel kernel = build_product(f, c->args, c->side);
  CHECK_EQ_UINT(kernel.code.params_bytes, sizeof params);
  void *data[] = {a, b, &nothing, y};
  size_t bytes[] = {(size_t)(c->batch * c->m * c->k + 1) / 2 * 4, (size_t)(c->k * c->n + 1) / 2 * 4, 4,
                    (size_t)count * sizeof *y};
  fixture_bound bound[4];
  for (int i = 0; i < 4; i++) bound[i] = (fixture_bound){fixture_buffer(f, bytes[i], data[i]), bytes[i], 0};
  fixture_launch(f, &kernel, (n + (uint32_t)c->tile_n - 1) / (uint32_t)c->tile_n,
                 (m + (uint32_t)c->tile_m - 1) / (uint32_t)c->tile_m, (uint32_t)c->batch, bound, &params);
  fixture_read(f, bound[3].buffer, 0, y, bytes[3]);
  for (int i = 0; i < count; i++) {
    int z = i / (c->m * c->n), within = i % (c->m * c->n);
    float wanted = wanted_at(c, a_turned, b_turned, z, within / c->n, within % c->n);
    if (y[i] != wanted) test_fail(__FILE__, __LINE__, "%s: y[%d] is %g, not %g", c->args, i, y[i], wanted);
  }
  for (int i = 0; i < 4; i++) f->backend->buffer_destroy(f->device, bound[i].buffer);
  fixture_discard(f, &kernel);
}

#define TILE_8  "T=f16 E=f16 Y=f32 SG=32 M=8 N=8 K=8 PART_M=8 PART_N=16 BM=16 BN=32 DEPTH=64 "
#define TILE_16 "T=f16 E=f16 Y=f32 SG=32 M=16 N=16 K=16 PART_M=16 PART_N=16 BM=32 BN=32 DEPTH=32 "

TEST(products_are_right_with_the_matrices_written_out) {
  static const product_case cases[] = {
      {16, 32, 128, 1, 8, 16, 32, TILE_8 "WIDE_A=1 WIDE_B=1 WIDE_Y=1 EDGES=0 TAIL=0"},
      {24, 24, 72, 2, 8, 16, 32, TILE_8 "WIDE_A=1 WIDE_B=1 WIDE_Y=1 A_COLUMNS=1"},
      {17, 35, 67, 1, 8, 16, 32, TILE_8 "WA=i16 WB=i16 B_COLUMNS=1"},
      {24, 24, 40, 1, 16, 32, 32, TILE_16 "WIDE_A=1 WIDE_B=1 B_COLUMNS=1"},
  };
  fixture f = fixture_open();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) run_product(&f, &cases[i]);
  fixture_close(&f);
}
