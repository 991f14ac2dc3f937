// SPDX-License-Identifier: MIT
// The product by cooperative matrices as a module: which shapes are taken, and what the words are. What installed
// validators know is the older SPV_NV_cooperative_matrix, so the module is judged with that extension's spelling.
#include "lang/emit/spirv/matmul.h"

#include <unistd.h>

#include "core/alloc.h"
#include "support/test.h"

// --- The older spelling ---------------------------------------------------------------------------------------------

enum {
  NV_CAPABILITY = 5357,
  NV_TYPE = 5358,
  NV_LOAD = 5359,
  NV_STORE = 5360,
  NV_MUL_ADD = 5361,
};

static tsri_spv_id nv_pointer(tsri_spv *s, tsri_spv_type type, tsri_spv_id array, tsri_spv_id index) {
  tsri_spv_id id = tsri_spv_new_id(s);
  tsri_spv_id pointer = tsri_spv_pointer_type(s, SPV_CLASS_WORKGROUP, tsri_spv_type_id(s, type));
  SPV_PUT(&s->code, SPV_OP_ACCESS_CHAIN, pointer, id, array, index);
  return id;
}

static void nv_declare(tsri_spv *s, const tsri_spv_matmul *shape) {
  (void)shape;
  tsri_spv_need(s, SPV_CAPABILITY_FLOAT16);
}

static tsri_spv_id nv_type(tsri_spv *s, tsr_dtype dtype, uint32_t rows, uint32_t cols, uint32_t use) {
  (void)use;
  tsri_spv_kind kind = dtype == TSR_F32 ? SPV_F32 : SPV_F16;
  tsri_spv_id component = tsri_spv_type_id(s, tsri_spv_make_type(kind, 1)), scope = tsri_spv_u32(s, SPV_SCOPE_SUBGROUP);
  tsri_spv_id row_count = tsri_spv_u32(s, rows), col_count = tsri_spv_u32(s, cols), id = tsri_spv_new_id(s);
  SPV_PUT(&s->globals, NV_TYPE, id, component, scope, row_count, col_count);
  return id;
}

static tsri_spv_id nv_load(tsri_spv *s, tsri_spv_id type, tsri_spv_id array, tsri_spv_id index, uint32_t stride,
                           bool by_columns) {
  tsri_spv_id pointer = nv_pointer(s, tsri_spv_make_type(SPV_U32, 4), array, index), id = tsri_spv_new_id(s);
  tsri_spv_id columns = tsri_spv_const(s, tsri_spv_make_type(SPV_BOOL, 1), by_columns);
  tsri_spv_id stride_id = tsri_spv_u32(s, stride), scope = tsri_spv_u32(s, SPV_SCOPE_WORKGROUP);
  SPV_PUT(&s->code, NV_LOAD, type, id, pointer, stride_id, columns, SPV_MEMORY_MAKE_VISIBLE | SPV_MEMORY_NON_PRIVATE,
          scope);
  return id;
}

static tsri_spv_id nv_mul_add(tsri_spv *s, tsri_spv_id type, tsri_spv_id a, tsri_spv_id b, tsri_spv_id c) {
  tsri_spv_id id = tsri_spv_new_id(s);
  SPV_PUT(&s->code, NV_MUL_ADD, type, id, a, b, c);
  return id;
}

static void nv_store(tsri_spv *s, tsri_spv_id value, tsri_spv_id array, tsri_spv_id index, uint32_t stride) {
  tsri_spv_id pointer = nv_pointer(s, tsri_spv_make_type(SPV_F32, 1), array, index);
  tsri_spv_id rows = tsri_spv_const(s, tsri_spv_make_type(SPV_BOOL, 1), 0);
  tsri_spv_id stride_id = tsri_spv_u32(s, stride), scope = tsri_spv_u32(s, SPV_SCOPE_WORKGROUP);
  SPV_PUT(&s->code, NV_STORE, pointer, value, stride_id, rows, SPV_MEMORY_MAKE_AVAILABLE | SPV_MEMORY_NON_PRIVATE,
          scope);
}

// The capability and the extension, which the emitter does not know, go in after the five words of the header.
static void write_module(const tsri_emitted *code, const char *path) {
  tsri_spv_words more = {0};
  const uint32_t *words = code->data;
  size_t at = 5;
  FILE *file = fopen(path, "wb");
  CHECK(file != NULL);
  SPV_PUT(&more, SPV_OP_CAPABILITY, NV_CAPABILITY);
  while ((words[at] & 0xffff) == SPV_OP_CAPABILITY) at += words[at] >> 16;
  tsri_spv_words extension = {0};
  tsri_spv_put_text(&extension, SPV_OP_EXTENSION, NULL, 0, "SPV_NV_cooperative_matrix");
  CHECK_EQ_UINT(fwrite(words, 4, 5, file), 5);
  CHECK_EQ_UINT(fwrite(more.data, 4, more.count, file), more.count);
  CHECK_EQ_UINT(fwrite(words + 5, 4, at - 5, file), at - 5);
  CHECK_EQ_UINT(fwrite(extension.data, 4, extension.count, file), extension.count);
  CHECK_EQ_UINT(fwrite(words + at, 4, code->data_bytes / 4 - at, file), code->data_bytes / 4 - at);
  CHECK_EQ_INT(fclose(file), 0);
  tsri_free(more.data);
  tsri_free(extension.data);
}

// --- Tests ----------------------------------------------------------------------------------------------------------

static tsri_spv_matmul usual(void) {
  return (tsri_spv_matmul){.dtype = TSR_F16,
                           .m = 16,
                           .n = 16,
                           .k = 16,
                           .part_m = 64,
                           .part_n = 32,
                           .tile_m = 128,
                           .tile_n = 128,
                           .tile_k = 32,
                           .subgroup_size = 32};
}

TEST(modules_of_every_kind_are_valid_in_the_older_spelling) {
  if (system("command -v spirv-val >/dev/null 2>&1") != 0) SKIP("spirv-val is not installed (package spirv-tools)");
  tsri_spv_matrices nv = {nv_declare, nv_type, tsri_spv_matrices_khr.zero, nv_load, nv_mul_add, nv_store};
  char path[64], command[160];
  snprintf(path, sizeof path, "/tmp/tsr_matmul_%ld.spv", (long)getpid());
  snprintf(command, sizeof command, "spirv-val --target-env vulkan1.1 %s", path);
  for (uint32_t kind = 0; kind < 64; kind++) {
    tsri_spv_matmul shape = usual();
    shape.n = 8;  // all three types are different ones, which that spelling asks for
    shape.a_by_columns = kind & 1;
    shape.b_by_columns = kind & 2;
    shape.has_edges = kind & 4;
    shape.by_elements = kind & 8;
    shape.has_two_tiles = kind & 32;
    if (kind & 16) {
      shape.tile_m = shape.tile_n = 64;
      shape.part_m = shape.part_n = 32;
    }
    tsri_emitted code;
    CHECK_OK(tsri_spv_matmul_emit(&shape, &nv, &code));
    write_module(&code, path);
    if (system(command) != 0) test_fail(__FILE__, __LINE__, "kind %u is not valid; kept in %s", kind, path);
    tsri_emitted_deinit(&code);
  }
  remove(path);
}

// How often an instruction stands in the module.
static uint32_t count_op(const tsri_emitted *code, uint32_t op) {
  const uint32_t *words = code->data;
  uint32_t found = 0;
  for (size_t at = 5; at < code->data_bytes / 4; at += words[at] >> 16) found += (words[at] & 0xffff) == op;
  return found;
}

TEST(a_group_multiplies_each_pair_of_its_matrices_once) {
  tsri_spv_matmul shape = usual();
  tsri_emitted code;
  CHECK_OK(tsri_spv_matmul_emit(&shape, &tsri_spv_matrices_khr, &code));
  CHECK_EQ_UINT(code.local[0], 256);
  CHECK_EQ_UINT(code.params_bytes, 15 * 4);
  CHECK_EQ_UINT(count_op(&code, SPV_OP_TYPE_COOPERATIVE_MATRIX), 3);
  CHECK_EQ_UINT(count_op(&code, SPV_OP_COOPERATIVE_MATRIX_LOAD), 2 * (4 + 2));
  CHECK_EQ_UINT(count_op(&code, SPV_OP_COOPERATIVE_MATRIX_MUL_ADD), 2 * 4 * 2);
  CHECK_EQ_UINT(count_op(&code, SPV_OP_COOPERATIVE_MATRIX_STORE), 4 * 2);
  // 128 lines of 32 and 32 of 128 elements, each line 8 longer; 16 x 16 f32 for each of 8 subgroups.
  CHECK_EQ_UINT(code.shared_bytes, (128 * 40 + 32 * 136) * 2 + 8 * 1024);
  tsri_emitted_deinit(&code);
}

// The operands of a capability's instruction.
static bool has_capability(const tsri_emitted *code, uint32_t number) {
  const uint32_t *words = code->data;
  for (size_t at = 5; (words[at] & 0xffff) == SPV_OP_CAPABILITY; at += 2) {
    if (words[at + 1] == number) return true;
  }
  return false;
}

TEST(modules_ask_for_what_they_use) {
  tsri_spv_matmul shape = usual();
  tsri_emitted code;
  CHECK_OK(tsri_spv_matmul_emit(&shape, &tsri_spv_matrices_khr, &code));
  CHECK(has_capability(&code, 6022) && has_capability(&code, 5345) && has_capability(&code, 9));
  CHECK(!has_capability(&code, 5118) && !has_capability(&code, 4433));
  tsri_emitted_deinit(&code);
  shape.dtype = TSR_BF16;
  shape.by_elements = true;
  CHECK_OK(tsri_spv_matmul_emit(&shape, &tsri_spv_matrices_khr, &code));
  CHECK(has_capability(&code, 6022) && has_capability(&code, 5116) && has_capability(&code, 5118));
  CHECK(!has_capability(&code, 9) && has_capability(&code, 4433));
  tsri_emitted_deinit(&code);
}

TEST(shapes_that_cannot_be_shared_evenly_are_refused) {
  tsri_spv_matmul shape = usual();
  CHECK(tsri_spv_matmul_is_valid(&shape));
  shape.m = 12;
  CHECK(!tsri_spv_matmul_is_valid(&shape));
  shape = usual();
  shape.part_n = 48;
  CHECK(!tsri_spv_matmul_is_valid(&shape));
  shape = usual();
  shape.tile_k = 8;
  CHECK(!tsri_spv_matmul_is_valid(&shape));
  shape = usual();
  shape.subgroup_size = 24;
  CHECK(!tsri_spv_matmul_is_valid(&shape));
  shape = usual();
  shape.m = 0;
  CHECK(!tsri_spv_matmul_is_valid(&shape));
}
