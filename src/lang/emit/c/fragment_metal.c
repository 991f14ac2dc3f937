// SPDX-License-Identifier: MIT
// Fragments in Metal: simdgroup_matrix of 8 x 8 elements, which its own functions load, store and multiply. Factors of f16 and bf16 are
// added up in f32.
#include "lang/emit/c/fragment.h"

bool tsri_emit_fragments_metal(const tsri_kernel *kernel, const tsri_emit_options *options) {
  enum { SIDE = 8, SIMD_GROUP = 32 };
  bool ok = options->subgroups && options->subgroup_size == SIMD_GROUP;
  for (uint32_t i = 0; i < kernel->fragment_count; i++) {
    const tsri_ir_fragment *f = &kernel->fragments[i];
    ok = ok && f->m == SIDE && f->n == SIDE && f->k == SIDE;
  }
  return ok;
}

static const char *element_of(const tsri_ir_fragment *f) {
  if (f->role == TSRI_ROLE_SUM || f->dtype == TSR_F32) return "float";
  return f->dtype == TSR_F16 ? "half" : "bfloat";
}

static void put_name(tsri_c_emitter *e, tsri_builder *out, uint32_t fragment) {
  tsri_c_put_name(out, e->kernel->fragments[fragment].name, "f", fragment);
}

void tsri_c_put_metal_fragments(tsri_c_emitter *e, tsri_builder *out, const char *indent) {
  for (uint32_t i = 0; i < e->kernel->fragment_count; i++) {
    tsri_builder_add(out, "%ssimdgroup_matrix<%s, 8, 8> ", indent, element_of(&e->kernel->fragments[i]));
    put_name(e, out, i);
    tsri_builder_string(out, ";\n");
  }
}

// simdgroup_load(f, (const device half *)x + at, stride, ulong2(0), is_transposed): a matrix by columns is a transposed one by rows.
static void put_memory(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  bool is_load = stmt->kind == TSRI_STMT_FRAGMENT_LOAD;
  tsri_builder_string(&e->body, is_load ? "simdgroup_load(" : "simdgroup_store(");
  put_name(e, &e->body, stmt->fragments[0]);
  tsri_builder_add(&e->body, ", (%s%s%s *)", is_load ? "const " : "", e->spell->space[stmt->space],
                   element_of(&e->kernel->fragments[stmt->fragments[0]]));
  tsri_c_put_array(e, &e->body, (tsri_ir_space)stmt->space, stmt->object);
  tsri_builder_string(&e->body, " + ");
  tsri_c_put_expr(e, stmt->index);
  tsri_builder_string(&e->body, ", ");
  tsri_c_put_expr(e, stmt->value);
  tsri_builder_add(&e->body, ", ulong2(0), %s);\n", stmt->op != 0 ? "true" : "false");
}

static void put_fill(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const char *element = element_of(&e->kernel->fragments[stmt->fragments[0]]);
  put_name(e, &e->body, stmt->fragments[0]);
  tsri_builder_add(&e->body, " = make_filled_simdgroup_matrix<%s, 8, 8>(%s(", element, element);
  tsri_c_put_expr(e, stmt->value);
  tsri_builder_string(&e->body, "));\n");
}

static void put_multiply(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_builder_string(&e->body, "simdgroup_multiply_accumulate(");
  for (int i = 0; i < 4; i++) {
    if (i) tsri_builder_string(&e->body, ", ");
    put_name(e, &e->body, stmt->fragments[i % 3]);
  }
  tsri_builder_string(&e->body, ");\n");
}

void tsri_c_put_metal_fragment_stmt(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
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
