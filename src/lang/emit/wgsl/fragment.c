// SPDX-License-Identifier: MIT
// Fragments as Dawn's subgroup matrices (chromium_experimental_subgroup_matrix), each in a variable.
//
// Dawn's functions load and store arrays of the matrix's component type. So if the kernel loads factors of f16 from an array of words, that array is declared
// as an array of f16 (tsri_wgsl_array.has_halves), and memory.c splits and joins its words.
#include "lang/emit/wgsl/wgsl.h"

// --- What can be written --------------------------------------------------------------------------------------------

static bool is_memory(const tsri_ir_stmt *s) {
  return s->kind == TSRI_STMT_FRAGMENT_LOAD || s->kind == TSRI_STMT_FRAGMENT_STORE;
}

// Dawn requires that rows of work-groups are whole subgroups.
bool tsri_emit_fragments_wgsl(const tsri_kernel *kernel, const tsri_emit_options *options) {
  bool ok = options->f16 && options->subgroups && kernel->group_size[0] % options->subgroup_size == 0;
  for (uint32_t i = 0; i < kernel->fragment_count; i++) {
    const tsri_ir_fragment *f = &kernel->fragments[i];
    ok = ok && (f->role == TSRI_ROLE_SUM || f->dtype == TSR_F16);
  }
  for (uint32_t i = 1; i < kernel->stmt_count && ok; i++) {
    const tsri_ir_stmt *s = &kernel->stmts[i];
    if (!is_memory(s)) continue;
    ok = !tsri_ir_array_of(kernel, (tsri_ir_space)s->space, s->object)->is_atomic;
    if (s->space == TSRI_SPACE_BUFFER && options->wide_unaligned)
      ok = false;  // GPUs require rows at multiples of 16 bytes
  }
  return ok;
}

// --- Arrays ---------------------------------------------------------------------------------------------------------

void tsri_wgsl_plan_fragments(tsri_wgsl *w) {
  for (uint32_t i = 1; i < w->kernel->stmt_count; i++) {
    const tsri_ir_stmt *s = &w->kernel->stmts[i];
    if (!is_memory(s)) continue;
    tsri_wgsl_array *held = s->space == TSRI_SPACE_BUFFER ? &w->buffers[s->object] : &w->shared[s->object];
    held->lanes = 1;
    held->has_halves = tsri_ir_array_of(w->kernel, (tsri_ir_space)s->space, s->object)->storage == TSR_U32;
  }
}

// --- Declarations ---------------------------------------------------------------------------------------------------

static void put_type(tsri_builder *out, const tsri_ir_fragment *f) {
  static const char *const roles[TSRI_ROLE_COUNT] = {
      [TSRI_ROLE_LEFT] = "left", [TSRI_ROLE_RIGHT] = "right", [TSRI_ROLE_SUM] = "result"};
  tsri_builder_add(out, "subgroup_matrix_%s<%s, %u, %u>", roles[f->role], f->role == TSRI_ROLE_SUM ? "f32" : "f16",
                   (unsigned)tsri_ir_fragment_cols(f), (unsigned)tsri_ir_fragment_rows(f));
}

static void put_name(tsri_wgsl *w, tsri_builder *out, uint32_t fragment) {
  tsri_wgsl_put_name(out, w->kernel->fragments[fragment].name, "f", fragment);
}

void tsri_wgsl_put_fragments(tsri_wgsl *w, tsri_builder *out) {
  for (uint32_t i = 0; i < w->kernel->fragment_count; i++) {
    tsri_builder_string(out, "  var ");
    put_name(w, out, i);
    tsri_builder_string(out, ": ");
    put_type(out, &w->kernel->fragments[i]);
    tsri_builder_string(out, ";\n");
  }
}

// Switches off WGSL's check of uniformity: our own analysis ensures that all items of a subgroup arrive, with the same offset and stride.
void tsri_wgsl_put_fragment_directives(const tsri_wgsl *w, tsri_builder *out) {
  if (w->kernel->fragment_count == 0) return;
  tsri_builder_string(out,
                      "enable chromium_experimental_subgroup_matrix;\n"
                      "diagnostic(off, chromium.subgroup_matrix_uniformity);\n");
}

// --- Statements -----------------------------------------------------------------------------------------------------

static void put_load(tsri_wgsl *w, const tsri_ir_stmt *s) {
  tsri_builder_string(&w->body, " = subgroupMatrixLoad<");
  put_type(&w->body, &w->kernel->fragments[s->fragments[0]]);
  tsri_wgsl_put(w, ">(&%a, %e, %s, %e);\n", s->space, s->object, s->index, s->op ? "true" : "false", s->value);
}

// The value gets a name first: WGSL refuses the conversion of a constant that overflows.
static void put_fill(tsri_wgsl *w, const tsri_ir_stmt *s) {
  const tsri_ir_fragment *f = &w->kernel->fragments[s->fragments[0]];
  tsri_wgsl_put(w, "%i{\n%i  let value = %e;\n%i  ", s->value);
  put_name(w, &w->body, s->fragments[0]);
  tsri_builder_string(&w->body, " = ");
  put_type(&w->body, f);
  tsri_builder_string(&w->body, f->role == TSRI_ROLE_SUM ? "(value);\n" : "(f16(value));\n");
  tsri_wgsl_put_line(w, "}\n");
}

static void put_store(tsri_wgsl *w, const tsri_ir_stmt *s) {
  tsri_wgsl_put(w, "%isubgroupMatrixStore(&%a, %e, ", s->space, s->object, s->index);
  put_name(w, &w->body, s->fragments[0]);
  tsri_wgsl_put(w, ", %s, %e);\n", s->op ? "true" : "false", s->value);
}

static void put_multiply_add(tsri_wgsl *w, const tsri_ir_stmt *s) {
  tsri_builder_string(&w->body, " = subgroupMatrixMultiplyAccumulate(");
  put_name(w, &w->body, s->fragments[1]);
  tsri_builder_string(&w->body, ", ");
  put_name(w, &w->body, s->fragments[2]);
  tsri_builder_string(&w->body, ", ");
  put_name(w, &w->body, s->fragments[0]);
  tsri_builder_string(&w->body, ");\n");
}

void tsri_wgsl_put_fragment_stmt(tsri_wgsl *w, const tsri_ir_stmt *s) {
  if (s->kind == TSRI_STMT_FRAGMENT_FILL) {
    put_fill(w, s);
  } else if (s->kind == TSRI_STMT_FRAGMENT_STORE) {
    put_store(w, s);
  } else {
    tsri_wgsl_put_line(w, "");
    put_name(w, &w->body, s->fragments[0]);
    if (s->kind == TSRI_STMT_FRAGMENT_LOAD) put_load(w, s);
    else put_multiply_add(w, s);
  }
}
