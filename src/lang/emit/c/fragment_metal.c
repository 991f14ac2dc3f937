// SPDX-License-Identifier: MIT
// Fragments in Metal: simdgroup_matrix of 8 x 8 elements, which Metal's functions load, store and multiply. Factors of f16 and bf16 are accumulated in f32.
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

void tsri_c_put_metal_fragment(const tsri_ir_fragment *f, tsri_builder *out, const char *name) {
  tsri_builder_add(out, "  simdgroup_matrix<%s, 8, 8> %s;\n", element_of(f), name);
}

// simdgroup_load(f, (const device half *)x + at, stride, ulong2(0), is_transposed): a matrix by columns is a transposed matrix by rows.
static void put_memory(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  bool is_load = stmt->kind == TSRI_STMT_FRAGMENT_LOAD;
  tsri_c_put(e, "simdgroup_%s(%s, (%s%s%s *)%a + %e, %e, ulong2(0), %s);\n", is_load ? "load" : "store",
             tsri_c_fragment_name(e, stmt->fragments[0]).text, is_load ? "const " : "", e->spell->space[stmt->space],
             element_of(&e->kernel->fragments[stmt->fragments[0]]), stmt->space, stmt->object, stmt->index, stmt->value,
             stmt->op != 0 ? "true" : "false");
}

static void put_fill(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const char *element = element_of(&e->kernel->fragments[stmt->fragments[0]]);
  tsri_c_put(e, "%s = make_filled_simdgroup_matrix<%s, 8, 8>(%s(%e));\n",
             tsri_c_fragment_name(e, stmt->fragments[0]).text, element, element, stmt->value);
}

static void put_multiply(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  tsri_c_name sum = tsri_c_fragment_name(e, stmt->fragments[0]);
  tsri_c_put(e, "simdgroup_multiply_accumulate(%s, %s, %s, %s);\n", sum.text,
             tsri_c_fragment_name(e, stmt->fragments[1]).text, tsri_c_fragment_name(e, stmt->fragments[2]).text,
             sum.text);
}

void tsri_c_put_metal_fragment_stmt(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  if (stmt->kind == TSRI_STMT_FRAGMENT_FILL) put_fill(e, stmt);
  else if (stmt->kind == TSRI_STMT_FRAGMENT_MULTIPLY_ADD) put_multiply(e, stmt);
  else put_memory(e, stmt);
}
