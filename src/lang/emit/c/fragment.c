// SPDX-License-Identifier: MIT
// Fragments: declarations and statements, as calls of the helpers that a dialect defines (fragment.h).
#include "lang/emit/c/fragment.h"

#include <stdio.h>
#include <string.h>

#include "core/alloc.h"

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

// NVIDIA's OpenCL has no functions of subgroups; the instructions need none.
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

static void put_replaced(tsri_builder *out, const char *pattern, const tsri_c_replacement *list) {
  while (*pattern) {
    const tsri_c_replacement *r = list;
    while (r->word && strncmp(pattern, r->word, strlen(r->word)) != 0) r++;
    if (r->word) tsri_builder_string(out, r->text);
    else tsri_builder_put(out, pattern, 1);
    pattern += r->word ? strlen(r->word) : 1;
  }
}

static void define_once(tsri_c_emitter *e, const char *name, const char *pattern, const tsri_c_replacement *list) {
  tsri_builder text = {0};
  if (!tsri_c_want(e, name)) return;
  put_replaced(&text, pattern, list);
  tsri_c_define(e, name, &text);
  tsri_free(text.text);
}

static void define_lane(tsri_c_emitter *e) {
  define_once(e, "tsr_fragment_lane", e->spell->fragments->lane, (const tsri_c_replacement[]){{NULL, NULL}});
}

static void define_split(tsri_c_emitter *e) {
  define_once(e, "tsr_fragment_split", e->spell->fragments->split, (const tsri_c_replacement[]){{NULL, NULL}});
}

void tsri_c_define_fragment(tsri_c_emitter *e, const char *name, const char *pattern, const tsri_c_replacement *list) {
  define_lane(e);
  define_once(e, name, pattern, list);
}

// --- Statements -----------------------------------------------------------------------------------------------------

tsri_c_name tsri_c_fragment_name(const tsri_c_emitter *e, uint32_t fragment) {
  tsri_c_name name;
  snprintf(name.text, sizeof name.text, "%.*s_f%u", TSRI_C_MAX_NAME, e->kernel->fragments[fragment].name,
           (unsigned)fragment);
  return name;
}

static const char *length_of(const tsri_c_emitter *e, const tsri_ir_fragment *f) {
  const struct tsri_c_fragments *all = e->spell->fragments;
  if (f->role == TSRI_ROLE_SUM) return all->sum_count;
  return f->dtype == TSR_F32 ? all->wide_words : all->factor_words;
}

void tsri_c_put_fragments(tsri_c_emitter *e, tsri_builder *out, const char *indent) {
  if (tsri_c_is(e, TSRI_C_METAL)) {
    tsri_c_put_metal_fragments(e, out, indent);
    return;
  }
  if (e->kernel->fragment_count > 0) define_lane(e);
  for (uint32_t i = 0; i < e->kernel->fragment_count; i++) {
    bool is_sum = e->kernel->fragments[i].role == TSRI_ROLE_SUM;
    tsri_builder_add(out, "%s%s %s[%s];\n", indent, is_sum ? "f32" : "u32", tsri_c_fragment_name(e, i).text,
                     length_of(e, &e->kernel->fragments[i]));
  }
}

static void put_memory(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const tsri_ir_fragment *f = &e->kernel->fragments[stmt->fragments[0]];
  bool is_load = stmt->kind == TSRI_STMT_FRAGMENT_LOAD, by_columns = stmt->op != 0;
  bool is_shared = stmt->space == TSRI_SPACE_SHARED, is_sum = f->role == TSRI_ROLE_SUM;
  bool has_spaces = tsri_c_is(e, TSRI_C_OPENCL);
  char name[TSRI_HELPER_NAME_BYTES];
  snprintf(name, sizeof name, "tsr_%s_%s_%s%s%s", tsri_ir_role_spellings[f->role], is_load ? "load" : "store",
           by_columns ? "columns" : "rows", is_shared && (!is_sum || has_spaces) ? "_shared" : "",
           !is_sum && f->dtype == TSR_F32 ? "_f32" : "");
  if (is_sum) {
    const char *place = by_columns ? "p[col * stride + row]" : "p[row * stride + col]";
    char assign[64];
    snprintf(assign, sizeof assign, is_load ? "f[i] = %s" : "%s = f[i]", place);
    tsri_c_define_fragment(e, name, sum_text,
                           (const tsri_c_replacement[]){{"$name", name},
                                                        {"$space", e->spell->space[is_shared ? 1 : 0]},
                                                        {"$const ", is_load ? "const " : ""},
                                                        {"$count", e->spell->fragments->sum_count},
                                                        {"$place", e->spell->fragments->sum_place},
                                                        {"$assign", assign},
                                                        {NULL, NULL}});
  } else {
    if (f->dtype == TSR_F32) define_split(e);
    e->spell->fragments->define_load(e, name, (tsr_dtype)f->dtype, f->role == TSRI_ROLE_LEFT, by_columns, is_shared);
  }
  tsri_c_put(e, "%s(%s, %a, %e, %e);\n", name, tsri_c_fragment_name(e, stmt->fragments[0]).text, stmt->space,
             stmt->object, stmt->index, stmt->value);
}

static void put_multiply(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const char *dtype = tsr_dtype_name((tsr_dtype)e->kernel->fragments[stmt->fragments[1]].dtype);
  char name[TSRI_HELPER_NAME_BYTES];
  snprintf(name, sizeof name, "tsr_fragment_multiply_add_%s", dtype);
  e->spell->fragments->define_multiply(e, name, dtype);
  tsri_c_put(e, "%s(%s, %s, %s);\n", name, tsri_c_fragment_name(e, stmt->fragments[0]).text,
             tsri_c_fragment_name(e, stmt->fragments[1]).text, tsri_c_fragment_name(e, stmt->fragments[2]).text);
}

static void put_fill(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  const tsri_ir_fragment *f = &e->kernel->fragments[stmt->fragments[0]];
  const tsri_c_name fragment = tsri_c_fragment_name(e, stmt->fragments[0]);
  bool is_sum = f->role == TSRI_ROLE_SUM, is_wide = !is_sum && f->dtype == TSR_F32;
  if (is_wide) define_split(e);
  tsri_c_put(e, is_sum ? "{ const f32 tsr_v = %e" : "{ const u32 tsr_v = (u32)", stmt->value);
  if (is_wide) {
    tsri_c_put_pattern(e, tsri_c_bitcast_pattern(TSR_U32, TSR_F32), TSR_F32, &stmt->value, false);
  } else if (!is_sum) {
    tsri_c_put_pattern(e, tsri_c_encode_pattern((tsr_dtype)f->dtype), TSR_F32, &stmt->value, false);
    tsri_c_put(e, " * 65537u");
  }
  if (is_wide) {
    tsri_c_put(e, "; for (u32 tsr_i = 0; tsr_i < 8u; tsr_i++) tsr_fragment_split(%s, tsr_i, tsr_v); }\n",
               fragment.text);
  } else {
    tsri_c_put(e, "; for (u32 tsr_i = 0; tsr_i < %s; tsr_i++) %s[tsr_i] = tsr_v; }\n", length_of(e, f), fragment.text);
  }
}

void tsri_c_put_fragment_stmt(tsri_c_emitter *e, const tsri_ir_stmt *stmt) {
  if (tsri_c_is(e, TSRI_C_METAL)) {
    tsri_c_put_metal_fragment_stmt(e, stmt);
    return;
  }
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
