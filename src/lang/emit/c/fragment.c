// SPDX-License-Identifier: MIT
// Fragments: declarations and statements, which call the helpers that a dialect defines (fragment.h).
#include "lang/emit/c/fragment.h"

// --- What can be written --------------------------------------------------------------------------------------------

static bool can_write(const tsri_kernel *kernel, const tsri_emit_options *options,
                      const struct tsri_c_fragments *fragments) {
  enum { SIDE = TSRI_C_FRAGMENT_SIDE };
  bool ok = true;
  for (uint32_t i = 0; i < kernel->fragment_count; i++) {
    const tsri_ir_fragment *f = &kernel->fragments[i];
    ok = ok && f->m == SIDE && f->n == SIDE && f->k == SIDE &&
         (f->role == TSRI_ROLE_SUM || f->dtype != TSR_F32 || fragments->wide_words);
  }
  for (uint32_t i = 1; i < kernel->stmt_count; i++) {
    const tsri_ir_stmt *stmt = &kernel->stmts[i];
    bool is_memory = stmt->kind == TSRI_STMT_FRAGMENT_LOAD || stmt->kind == TSRI_STMT_FRAGMENT_STORE;
    if (is_memory && stmt->space == TSRI_SPACE_BUFFER && options->wide_unaligned) ok = false;
  }
  return ok;
}

bool tsri_emit_fragments_cuda(const tsri_kernel *kernel, const tsri_emit_options *options) {
  return options->subgroups && options->subgroup_size == 32 && can_write(kernel, options, &tsri_c_fragments_cuda);
}

// NVIDIA's OpenCL has no functions for subgroups, but the PTX instructions need none.
bool tsri_emit_fragments_opencl(const tsri_kernel *kernel, const tsri_emit_options *options) {
  return options->subgroup_size == 32 && can_write(kernel, options, &tsri_c_fragments_cuda);
}

bool tsri_emit_fragments_hip(const tsri_kernel *kernel, const tsri_emit_options *options) {
  return options->subgroups && (options->subgroup_size == 32 || options->subgroup_size == 64) &&
         can_write(kernel, options, &tsri_c_fragments_hip);
}

// --- Helpers --------------------------------------------------------------------------------------------------------

static const char sum_text[] =
    "TSR_FN void $name(f32 *f, $space$const void *base, u32 at, u32 stride) {\n"
    "  $space$const f32 *p = ($space$const f32 *)base + at;\n"
    "  const u32 lane = tsr_fragment_lane();\n"
    "  for (u32 i = 0; i < $count; i++) {\n"
    "    $place\n"
    "    $assign;\n  }\n}\n";

// --- Statements -----------------------------------------------------------------------------------------------------

tsri_c_name tsri_c_fragment_name(const tsri_c_emitter *e, uint32_t fragment) {
  return tsri_c_named("%.*s_f%u", TSRI_C_MAX_NAME, e->kernel->fragments[fragment].name, (unsigned)fragment);
}

static const char *length_of(const tsri_c_emitter *e, const tsri_ir_fragment *f) {
  const struct tsri_c_fragments *all = e->spell->fragments;
  if (f->role == TSRI_ROLE_SUM) return all->sum_count;
  return f->dtype == TSR_F32 ? all->wide_words : all->factor_words;
}

static void need(tsri_c_emitter *e, const char *name) { (void)tsri_c_need(e, tsri_c_named("%s", name)); }

void tsri_c_put_fragments(tsri_c_emitter *e, tsri_builder *out) {
  if (e->kernel->fragment_count > 0 && !tsri_c_is(e, TSRI_C_METAL)) need(e, "tsr_fragment_lane");
  for (uint32_t i = 0; i < e->kernel->fragment_count; i++) {
    const tsri_ir_fragment *f = &e->kernel->fragments[i];
    const tsri_c_name name = tsri_c_fragment_name(e, i);
    const char *element = f->role == TSRI_ROLE_SUM ? "f32" : "u32";
    if (tsri_c_is(e, TSRI_C_METAL)) tsri_c_put_metal_fragment(f, out, name.text);
    else tsri_builder_add(out, "  %s %s[%s];\n", element, name.text, length_of(e, f));
  }
}

static void define_sum_memory(tsri_c_emitter *e, const char *name, bool is_load, bool by_columns, bool is_shared) {
  const char *place = by_columns ? "p[col * stride + row]" : "p[row * stride + col]";
  tsri_c_name assign = tsri_c_named(is_load ? "f[i] = %s" : "%s = f[i]", place);
  const tsri_hole holes[] = {{"$name", name},
                             {"$space", e->spell->space[is_shared ? 1 : 0]},
                             {"$const ", is_load ? "const " : ""},
                             {"$count", e->spell->fragments->sum_count},
                             {"$place", e->spell->fragments->sum_place},
                             {"$assign", assign.text},
                             {NULL, NULL}};
  tsri_c_define_once(e, name, sum_text, (tsri_ir_type){TSR_F32, 1}, holes);
}

static void put_memory(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const tsri_ir_fragment *f = &e->kernel->fragments[stmt->fragments[0]];
  bool is_load = stmt->kind == TSRI_STMT_FRAGMENT_LOAD, by_columns = stmt->op != 0;
  bool is_shared = stmt->space == TSRI_SPACE_SHARED, is_sum = f->role == TSRI_ROLE_SUM;
  bool has_spaces = tsri_c_is(e, TSRI_C_OPENCL), is_wide = !is_sum && f->dtype == TSR_F32;
  tsri_c_name name = tsri_c_named("tsr_%s_%s_%s%s%s", tsri_ir_role_spellings[f->role], is_load ? "load" : "store",
                                  by_columns ? "columns" : "rows",
                                  is_shared && (!is_sum || has_spaces) ? "_shared" : "", is_wide ? "_f32" : "");
  if (is_wide) need(e, "tsr_fragment_split");
  if (is_sum) define_sum_memory(e, name.text, is_load, by_columns, is_shared);
  else
    e->spell->fragments->define_load(e, name.text, (tsr_dtype)f->dtype, f->role == TSRI_ROLE_LEFT, by_columns,
                                     is_shared);
  tsri_c_put(e, "%s(%s, %a, %e, %e);\n", name.text, tsri_c_fragment_name(e, stmt->fragments[0]).text, stmt->space,
             stmt->object, stmt->index, stmt->value);
}

static void put_multiply(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const char *dtype = tsr_dtype_name((tsr_dtype)e->kernel->fragments[stmt->fragments[1]].dtype);
  tsri_c_name name = tsri_c_named("tsr_fragment_multiply_add_%s", dtype);
  e->spell->fragments->define_multiply(e, name.text, dtype);
  tsri_c_put(e, "%s(%s, %s, %s);\n", name.text, tsri_c_fragment_name(e, stmt->fragments[0]).text,
             tsri_c_fragment_name(e, stmt->fragments[1]).text, tsri_c_fragment_name(e, stmt->fragments[2]).text);
}

// Fills a fragment. In a factor of 16-bit elements, a word holds two elements.
static void put_fill(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const tsri_ir_fragment *f = &e->kernel->fragments[stmt->fragments[0]];
  const tsri_c_name name = tsri_c_fragment_name(e, stmt->fragments[0]);
  bool is_sum = f->role == TSRI_ROLE_SUM, is_wide = !is_sum && f->dtype == TSR_F32;
  tsri_c_pattern bits = {is_wide ? "tsr_bits_$t($a)" : tsri_c_elements[f->dtype].encode, TSR_F32, NULL, NULL};
  if (is_wide) need(e, "tsr_fragment_split");
  tsri_c_put(e, is_sum ? "{ const f32 tsr_v = %e" : "{ const u32 tsr_v = (u32)", stmt->value);
  if (!is_sum) tsri_c_put_pattern(e, bits, &stmt->value, false);
  tsri_c_put(e, is_sum || is_wide ? "; for" : " * 65537u; for");
  tsri_c_put(e, " (u32 tsr_i = 0; tsr_i < %s; tsr_i++) ", is_wide ? "8u" : length_of(e, f));
  tsri_c_put(e, is_wide ? "tsr_fragment_split(%s, tsr_i, tsr_v); }\n" : "%s[tsr_i] = tsr_v; }\n", name.text);
}

void tsri_c_put_fragment_stmt(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  if (tsri_c_is(e, TSRI_C_METAL)) tsri_c_put_metal_fragment_stmt(e, stmt);
  else if (stmt->kind == TSRI_STMT_FRAGMENT_FILL) put_fill(e, stmt);
  else if (stmt->kind == TSRI_STMT_FRAGMENT_MULTIPLY_ADD) put_multiply(e, stmt);
  else put_memory(e, stmt);
}
