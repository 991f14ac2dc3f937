// SPDX-License-Identifier: MIT
// Fragments as cooperative matrices: what is written for matrix units and what as loops. What installed validators know is the older
// SPV_NV_cooperative_matrix, so the module is translated into that extension's words and judged so.
#include <stdlib.h>
#include <unistd.h>

#include "lang/emit/spirv/names.h"
#include "lang/emit/spirv/spirv_testing.h"

static const tsr_fragment_size sizes[] = {{TSR_F16, 16, 8, 16}, {TSR_BF16, 16, 8, 16}};

static tsri_emit_options unit_options(void) {
  tsri_emit_options o = *tsri_emitter_find("spirv")->defaults;
  o.subgroups = o.subgroup_shuffle = o.storage16 = o.storage8 = o.i16 = o.i8 = o.f16 = o.no_alias = true;
  o.fragments = sizes;
  o.fragment_count = 2;
  return o;
}

static const char text[] =
    "kernel k<T: f16 | bf16 = f16, bool C = 0, WG = 64>(in T a[], in u32 b[], in f32 c[], inout f32 y[], u32 n) {\n"
    "  shared u32 tile[512];\n  shared f32 results[256];\n"
    "  fragment_left<T, 16, 8, 16> l[2];\n  fragment_right<T, 16, 8, 16> r;\n  fragment_sum<f32, 16, 8, 16> s, t;\n"
    "  store4(tile, local.x * 8, u32x4(b[local.x], 1, 2, 3));\n  barrier();\n"
    "  fragment_load(l[0], a, n * 8, 16, C);\n  fragment_load(l[1], tile, local.x / 32 * 256 + 8, 24, C);\n"
    "  fragment_load(r, tile, 0, 8, C);\n  fragment_load(t, c, 0, n, C);\n  fragment_fill(s, f32(n));\n"
    "  unroll for (u32 i = 0; i < 2; i++) fragment_multiply_add(s, l[i], r);\n  fragment_multiply_add(t, l[0], r);\n"
    "  fragment_store(s, results, local.x / 32 * 128, 8);\n  fragment_store(t, y, 0, 8, C);\n  barrier();\n"
    "  y[128 + local.x] = results[local.x] + group_sum(y[local.x]);\n}\n";

static int count_op(const tsri_emitted *code, uint32_t op) {
  const uint32_t *words = code->data;
  int count = 0;
  for (size_t i = 5; i < code->data_bytes / 4; i += words[i] >> 16) count += (words[i] & 0xffff) == op;
  return count;
}

TEST(fragments_are_cooperative_matrices_where_the_device_has_them) {
  tsri_emit_options options = unit_options();
  tsri_emitted code = emit_spirv(text, "T=bf16", &options);
  CHECK_EQ_INT(count_op(&code, SPV_OP_TYPE_COOPERATIVE_MATRIX), 3);
  CHECK_EQ_INT(count_op(&code, SPV_OP_COOPERATIVE_MATRIX_LOAD), 4);
  CHECK_EQ_INT(count_op(&code, SPV_OP_COOPERATIVE_MATRIX_STORE), 2);
  CHECK_EQ_INT(count_op(&code, SPV_OP_COOPERATIVE_MATRIX_MUL_ADD), 3);
  tsri_emitted_deinit(&code);
}

TEST(fragments_are_loops_where_something_is_missing) {
  tsri_emit_options lacking[6];
  for (int i = 0; i < 6; i++) lacking[i] = unit_options();
  lacking[0].fragment_count = 1;  // bf16
  lacking[1].subgroups = false;
  lacking[2].storage16 = false;
  lacking[3].wide_unaligned = true;
  lacking[4].fragment_count = 0;
  lacking[5].subgroup_shuffle = false;
  for (int i = 0; i < 6; i++) {
    tsri_emitted code = emit_spirv(text, "T=bf16", &lacking[i]);
    CHECK_EQ_INT(count_op(&code, SPV_OP_TYPE_COOPERATIVE_MATRIX), 0);
    CHECK(count_op(&code, SPV_OP_LOOP_MERGE) > 0);
    tsri_emitted_deinit(&code);
  }
}

// --- The older spelling -----------------------------------------------------------------------------------------------

enum { NV_CAPABILITY = 5357, NV_TYPE = 5358, NV_LOAD = 5359, NV_STORE = 5360, NV_MUL_ADD = 5361 };

typedef struct translation {
  uint32_t words[1 << 16];
  size_t count;
  uint32_t bool_type, yes, no, columns;  // ids; columns: of the constant that means them
} translation;

static void put(translation *t, const uint32_t *words, size_t count) {
  CHECK(t->count + count <= sizeof t->words / sizeof *t->words);
  memcpy(t->words + t->count, words, count * sizeof *words);
  t->count += count;
}
#define PUT(t, op, ...)                                                                                        \
  put((t), (const uint32_t[]){(uint32_t)(sizeof((uint32_t[]){0, __VA_ARGS__}) / 4) << 16 | (op), __VA_ARGS__}, \
      sizeof((uint32_t[]){0, __VA_ARGS__}) / 4)

static void put_order(translation *t, uint32_t op, const uint32_t *w, size_t count, int layout_at) {
  uint32_t out[16] = {(uint32_t)count << 16 | op};
  for (size_t i = 1; i < count; i++) out[i] = w[i];
  out[layout_at] = w[layout_at + 1];  // stride comes first
  out[layout_at + 1] = w[layout_at] == t->columns ? t->yes : t->no;
  put(t, out, count);
}

static void put_translated(translation *t, const uint32_t *w, size_t count) {
  switch (w[0] & 0xffff) {
    case SPV_OP_CAPABILITY:
      PUT(t, SPV_OP_CAPABILITY, w[1] == 6022 ? NV_CAPABILITY : w[1]);
      break;
    case SPV_OP_EXTENSION:
      if (strcmp((const char *)(w + 1), "SPV_KHR_cooperative_matrix") == 0) {
        uint32_t name[8] = {8u << 16 | SPV_OP_EXTENSION};
        memcpy(name + 1, "SPV_NV_cooperative_matrix", 26);
        put(t, name, 8);
      } else {
        put(t, w, count);
      }
      break;
    case SPV_OP_TYPE_COOPERATIVE_MATRIX:
      PUT(t, NV_TYPE, w[1], w[2], w[3], w[4], w[5]);
      break;
    case SPV_OP_COOPERATIVE_MATRIX_LOAD:
      put_order(t, NV_LOAD, w, count, 4);
      break;
    case SPV_OP_COOPERATIVE_MATRIX_STORE:
      put_order(t, NV_STORE, w, count, 3);
      break;
    case SPV_OP_COOPERATIVE_MATRIX_MUL_ADD:
      PUT(t, NV_MUL_ADD, w[1], w[2], w[3], w[4], w[5]);
      break;
    case SPV_OP_FUNCTION:  // before the first: what the other spelling needs
      if (t->bool_type && t->yes) {
        PUT(t, SPV_OP_CONSTANT_TRUE, t->bool_type, t->yes);
        PUT(t, SPV_OP_CONSTANT_FALSE, t->bool_type, t->no);
        t->bool_type = 0;
      }
      put(t, w, count);
      break;
    default:
      put(t, w, count);
  }
}

static void translate(const tsri_emitted *code, translation *t) {
  const uint32_t *words = code->data;
  size_t count = code->data_bytes / 4;
  uint32_t u32_type = 0;
  t->yes = words[3];
  t->no = words[3] + 1;
  put(t, words, 5);
  t->words[3] += 2;
  for (size_t i = 5; i < count; i += words[i] >> 16) {
    const uint32_t *w = words + i;
    uint32_t op = w[0] & 0xffff;
    if (op == SPV_OP_TYPE_BOOL) t->bool_type = w[1];
    if (op == SPV_OP_TYPE_INT && w[2] == 32) u32_type = w[1];
    if (op == SPV_OP_CONSTANT && w[1] == u32_type && w[3] == SPV_MATRIX_COLUMNS) t->columns = w[2];
  }
  CHECK(t->bool_type != 0);
  for (size_t i = 5; i < count; i += words[i] >> 16) put_translated(t, words + i, words[i] >> 16);
}

static void validate(const translation *t) {
  char path[64], command[160];
  snprintf(path, sizeof path, "/tmp/tsr_fragment_%ld.spv", (long)getpid());
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  CHECK_EQ_UINT(fwrite(t->words, 4, t->count, file), t->count);
  CHECK_EQ_INT(fclose(file), 0);
  snprintf(command, sizeof command, "spirv-val --target-env vulkan1.1 %s", path);
  if (system(command) != 0) test_fail(__FILE__, __LINE__, "the module is not valid; kept in %s", path);
  remove(path);
}

TEST(modules_with_cooperative_matrices_are_valid) {
  if (system("command -v spirv-val >/dev/null 2>&1") != 0) SKIP("there is no spirv-val here (Debian: spirv-tools)");
  static translation t;
  const tsri_emit_options options = unit_options();
  for (int i = 0; i < 2; i++) {
    tsri_emitted code = emit_spirv(text, i ? "C=1" : "C=0", &options);
    CHECK(count_op(&code, SPV_OP_TYPE_COOPERATIVE_MATRIX) > 0);
    memset(&t, 0, sizeof t);
    translate(&code, &t);
    validate(&t);
    tsri_emitted_deinit(&code);
  }
}
