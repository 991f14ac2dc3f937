// SPDX-License-Identifier: MIT
// Fragments in CUDA C++: PTX's mma.m16n8k16, twice for a product of 16 x 16 x 16, with factors out of shared memory by
// ldmatrix. No header is needed, which NVRTC may not find.
//
// Registers of an item, as the PTX manual has them, with row = lane / 4 and pair = lane % 4 * 2:
//   left   register i: row `row + 8 * (i % 2)`, columns `pair + 8 * (i / 2)` and the next one
//   right  register i: column `row + 8 * (i / 2)`, rows `pair + 8 * (i % 2)` and the next one
//   sum    register i: row `row + 8 * (i / 2 % 2)`, column `pair + i % 2 + 8 * (i / 4)`
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "lang/emit/c/c.h"

enum { SIDE = 16 };

// --- What can be written --------------------------------------------------------------------------------------------

bool tsri_emit_fragments_cuda(const tsri_kernel *kernel, const tsri_emit_options *options) {
  bool ok = options->subgroups && options->subgroup_size == 32;
  for (uint32_t i = 0; i < kernel->fragment_count; i++) {
    const tsri_ir_fragment *f = &kernel->fragments[i];
    ok = ok && f->m == SIDE && f->n == SIDE && f->k == SIDE && (f->role == TSRI_ROLE_SUM || f->dtype != TSR_F32);
  }
  for (uint32_t i = 1; i < kernel->stmt_count; i++) {
    const tsri_ir_stmt *stmt = &kernel->stmts[i];
    bool is_memory = stmt->kind == TSRI_STMT_FRAGMENT_LOAD || stmt->kind == TSRI_STMT_FRAGMENT_STORE;
    if (is_memory && stmt->space == TSRI_SPACE_BUFFER && options->wide_unaligned) ok = false;
  }
  return ok;
}

// --- Helpers --------------------------------------------------------------------------------------------------------

static const char lane_text[] =
    "TSR_FN u32 tsr_fragment_lane() {\n  u32 x;\n  asm(\"mov.u32 %0, %%laneid;\" : \"=r\"(x));\n  return x;\n}\n";

// A factor's four matrices of 8 x 8, each line of which one item points to.
static const char shared_text[] =
    "TSR_FN void $name(u32 *f, const void *base, u32 at, u32 stride) {\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  const u16 *line = (const u16 *)base + at + $line * stride + $column * 8u;\n"
    "  asm volatile(\"ldmatrix.sync.aligned.m8n8.x4$trans.shared.b16 {%0, %1, %2, %3}, [%4];\"\n"
    "               : \"=r\"(f[0]), \"=r\"(f[1]), \"=r\"(f[2]), \"=r\"(f[3])\n"
    "               : \"r\"((u32)__cvta_generic_to_shared(line)) : \"memory\");\n}\n";

// `outer` and `inner` of the pair that a register holds: inner runs along k. Two elements stand in one word, or apart.
static const char buffer_text[] =
    "TSR_FN void $name(u32 *f, const void *base, u32 at, u32 stride) {\n"
    "  const u16 *p = (const u16 *)base + at;\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  for (u32 i = 0; i < 4u; i++) {\n"
    "    const u32 outer = lane / 4u + 8u * ($outer), inner = lane % 4u * 2u + 8u * ($inner);\n"
    "    f[i] = $pair;\n  }\n}\n";

static const char sum_text[] =
    "TSR_FN void $name(f32 *f, $const void *base, u32 at, u32 stride) {\n"
    "  $const f32 *p = ($const f32 *)base + at;\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  for (u32 i = 0; i < 8u; i++) {\n"
    "    const u32 row = lane / 4u + 8u * (i / 2u % 2u), col = lane % 4u * 2u + i % 2u + 8u * (i / 4u);\n"
    "    $assign;\n  }\n}\n";

static const char multiply_text[] =
    "TSR_FN void $name(f32 *s, const u32 *l, const u32 *r) {\n"
    "  for (u32 i = 0; i < 2u; i++) {\n"
    "    asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.$dtype.$dtype.f32 \"\n"
    "                 \"{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\"\n"
    "                 : \"+f\"(s[4u * i]), \"+f\"(s[4u * i + 1u]), \"+f\"(s[4u * i + 2u]), \"+f\"(s[4u * i + 3u])\n"
    "                 : \"r\"(l[0]), \"r\"(l[1]), \"r\"(l[2]), \"r\"(l[3]), \"r\"(r[2u * i]), \"r\"(r[2u * i + 1u]));\n"
    "  }\n}\n";

typedef struct replacement {
  const char *word, *text;  // "$name"
} replacement;

static void put_replaced(tsri_builder *out, const char *pattern, const replacement *list) {
  while (*pattern) {
    const replacement *r = list;
    while (r->word && strncmp(pattern, r->word, strlen(r->word)) != 0) r++;
    if (r->word) tsri_builder_string(out, r->text);
    else tsri_builder_put(out, pattern, 1);
    pattern += r->word ? strlen(r->word) : 1;
  }
}

static void define(tsri_c_emitter *e, const char *name, const char *pattern, const replacement *list) {
  tsri_builder text = {0};
  if (tsri_c_want(e, "tsr_fragment_lane")) {
    tsri_builder_string(&text, lane_text);
    tsri_c_define(e, "tsr_fragment_lane", &text);
    text.bytes = 0;
  }
  if (tsri_c_want(e, name)) {
    put_replaced(&text, pattern, list);
    tsri_c_define(e, name, &text);
  }
  tsri_free(text.text);
}

// --- Statements -----------------------------------------------------------------------------------------------------

static void put_fragment(tsri_c_emitter *e, tsri_builder *out, uint32_t fragment) {
  tsri_c_put_name(out, e->kernel->fragments[fragment].name, "f", fragment);
}

void tsri_c_put_fragments(tsri_c_emitter *e, tsri_builder *out, const char *indent) {
  for (uint32_t i = 0; i < e->kernel->fragment_count; i++) {
    bool is_sum = e->kernel->fragments[i].role == TSRI_ROLE_SUM;
    tsri_builder_add(out, "%s%s ", indent, is_sum ? "f32" : "u32");
    put_fragment(e, out, i);
    tsri_builder_string(out, is_sum ? "[8];\n" : "[4];\n");
  }
}

static void define_factor_load(tsri_c_emitter *e, const char *name, bool is_left, bool by_columns, bool is_shared) {
  // Left by rows and right by columns have k along their lines, as the registers do.
  bool runs_along_k = is_left != by_columns;
  if (is_shared) {
    const char *half = by_columns ? "(lane % 8u + lane / 16u * 8u)" : "lane % 16u";
    define(e, name, shared_text,
           (const replacement[]){{"$name", name},
                                 {"$line", half},
                                 {"$column", by_columns ? "(lane / 8u % 2u)" : "(lane / 16u)"},
                                 {"$trans", runs_along_k ? "" : ".trans"},
                                 {NULL, NULL}});
    return;
  }
  const char *along = "*(const u32 *)(p + outer * stride + inner)";
  const char *across = "(u32)p[inner * stride + outer] | (u32)p[(inner + 1u) * stride + outer] << 16";
  define(e, name, buffer_text,
         (const replacement[]){{"$name", name},
                               {"$outer", is_left ? "i % 2u" : "i / 2u"},
                               {"$inner", is_left ? "i / 2u" : "i % 2u"},
                               {"$pair", runs_along_k ? along : across},
                               {NULL, NULL}});
}

static void put_memory(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const tsri_ir_fragment *f = &e->kernel->fragments[stmt->fragments[0]];
  bool is_load = stmt->kind == TSRI_STMT_FRAGMENT_LOAD, by_columns = stmt->op != 0;
  bool is_shared = stmt->space == TSRI_SPACE_SHARED, is_sum = f->role == TSRI_ROLE_SUM;
  char name[TSRI_HELPER_NAME_BYTES];
  snprintf(name, sizeof name, "tsr_%s_%s_%s%s", tsri_ir_role_spellings[f->role], is_load ? "load" : "store",
           by_columns ? "columns" : "rows", !is_sum && is_shared ? "_shared" : "");
  if (is_sum) {
    const char *place = by_columns ? "p[col * stride + row]" : "p[row * stride + col]";
    char assign[64];
    snprintf(assign, sizeof assign, is_load ? "f[i] = %s" : "%s = f[i]", place);
    define(e, name, sum_text,
           (const replacement[]){
               {"$name", name}, {"$const ", is_load ? "const " : ""}, {"$assign", assign}, {NULL, NULL}});
  } else {
    define_factor_load(e, name, f->role == TSRI_ROLE_LEFT, by_columns, is_shared);
  }
  tsri_builder_add(&e->body, "%s(", name);
  put_fragment(e, &e->body, stmt->fragments[0]);
  tsri_builder_string(&e->body, ", ");
  tsri_c_put_array(e, &e->body, (tsri_ir_space)stmt->space, stmt->object);
  tsri_builder_string(&e->body, ", ");
  tsri_c_put_expr(e, stmt->index);
  tsri_builder_string(&e->body, ", ");
  tsri_c_put_expr(e, stmt->value);
  tsri_builder_string(&e->body, ");\n");
}

static void put_multiply(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const char *dtype = tsr_dtype_name((tsr_dtype)e->kernel->fragments[stmt->fragments[1]].dtype);
  char name[TSRI_HELPER_NAME_BYTES];
  snprintf(name, sizeof name, "tsr_fragment_multiply_add_%s", dtype);
  define(e, name, multiply_text, (const replacement[]){{"$name", name}, {"$dtype", dtype}, {NULL, NULL}});
  tsri_builder_add(&e->body, "%s(", name);
  for (int i = 0; i < 3; i++) {
    if (i) tsri_builder_string(&e->body, ", ");
    put_fragment(e, &e->body, stmt->fragments[i]);
  }
  tsri_builder_string(&e->body, ");\n");
}

static void put_fill(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const tsri_ir_fragment *f = &e->kernel->fragments[stmt->fragments[0]];
  bool is_sum = f->role == TSRI_ROLE_SUM;
  tsri_builder_add(&e->body, "{ const %s tsr_v = ", is_sum ? "f32" : "u32");
  if (is_sum) {
    tsri_c_put_expr(e, stmt->value);
  } else {
    tsri_builder_string(&e->body, "(u32)");
    tsri_c_put_pattern(e, tsri_c_encode_pattern((tsr_dtype)f->dtype), TSR_F32, &stmt->value, false);
    tsri_builder_string(&e->body, " * 65537u");
  }
  tsri_builder_add(&e->body, "; for (u32 tsr_i = 0; tsr_i < %uu; tsr_i++) ", is_sum ? 8u : 4u);
  put_fragment(e, &e->body, stmt->fragments[0]);
  tsri_builder_string(&e->body, "[tsr_i] = tsr_v; }\n");
}

void tsri_c_put_fragment_stmt(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  switch (stmt->kind) {
    case TSRI_STMT_FRAGMENT_FILL:
      put_fill(e, stmt);
      break;
    case TSRI_STMT_FRAGMENT_MULTIPLY_ADD:
      put_multiply(e, stmt);
      break;
    default:
      put_memory(e, stmt);
  }
}
