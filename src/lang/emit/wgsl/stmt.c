// SPDX-License-Identifier: MIT
// Statements of WGSL.
#include "lang/emit/wgsl/wgsl.h"

static void put_var(void *emitter, tsri_builder *out, uint32_t var) {
  const tsri_wgsl *w = emitter;
  tsri_wgsl_put_name(out, w->kernel->vars[var].name, "", var);
}

static void put_array(void *emitter, tsri_builder *out, tsri_ir_space space, uint32_t object) {
  tsri_wgsl_put_array(emitter, out, space, object);
}

static void put_expr(void *emitter, tsri_builder *out, uint32_t expr, bool is_bare) {
  (void)is_bare;  // values are names, which need no brackets
  tsri_wgsl_put_value(emitter, out, expr);
}

static int indentation(const void *emitter) { return ((const tsri_wgsl *)emitter)->indent; }

void tsri_wgsl_put(tsri_wgsl *w, const char *format, ...) {
  static const tsri_phrase_dialect dialect = {put_var, put_array, put_expr, indentation};
  va_list args;
  va_start(args, format);
  tsri_phrase_put(&dialect, w, &w->body, format, args);
  va_end(args);
}

void tsri_wgsl_put_line(tsri_wgsl *w, const char *text) {
  tsri_phrase_indent(&w->body, w->indent);
  tsri_builder_string(&w->body, text);
}

static void put_clear(tsri_wgsl *w, const tsri_ir_stmt *s) {
  const tsri_ir_array *array = &w->kernel->locals[s->object];
  tsri_wgsl_put(w, "%i%a = array<%s, %u>();\n", TSRI_SPACE_LOCAL, s->object,
                tsri_wgsl_type((tsri_ir_type){array->storage, 1}), array->count);
}

// --- Control flow ---------------------------------------------------------------------------------------------------

static void put_if(tsri_wgsl *w, const tsri_ir_stmt *s) {
  tsri_wgsl_put(w, "%iif (%e) {\n", s->value);
  tsri_wgsl_put_block(w, s->body);
  if (s->other) {
    tsri_wgsl_put_line(w, "} else {\n");
    tsri_wgsl_put_block(w, s->other);
  }
  tsri_wgsl_put_line(w, "}\n");
}

// WGSL refuses a loop without an exit. A loop without a condition therefore gets a break that is never taken.
static void put_loop(tsri_wgsl *w, const tsri_ir_stmt *s) {
  tsri_wgsl_put_line(w, "loop {\n");
  w->indent++;
  if (s->value) {
    tsri_wgsl_put_lets(w, s->value);
    tsri_wgsl_put(w, "%iif (!%e) { break; }\n", s->value);
  } else {
    tsri_wgsl_put_line(w, "if (tsr_p[1].x != 0u) { break; }\n");
  }
  w->indent--;
  tsri_wgsl_put_block(w, s->body);
  if (s->other) {
    w->indent++;
    tsri_wgsl_put_line(w, "continuing {\n");
    tsri_wgsl_put_block(w, s->other);
    tsri_wgsl_put_line(w, "}\n");
    w->indent--;
  }
  tsri_wgsl_put_line(w, "}\n");
}

// Buffers that are both written and read need a separate barrier.
static void put_barrier(tsri_wgsl *w) {
  bool has_buffers = tsri_ir_shares_buffers(w->kernel);
  if (has_buffers) tsri_wgsl_put_line(w, "storageBarrier();\n");
  tsri_wgsl_put_line(w, "workgroupBarrier();\n");
}

// Writes a shuffle or ballot of the subgroup; there are no other collectives here (tsri_lacks.has_only_shuffles). The second operand of WGSL's shuffle by xor
// must be the same in all items.
static void put_collective(tsri_wgsl *w, const tsri_ir_stmt *s) {
  bool is_xor = s->op == TSRI_COLLECTIVE_SUBGROUP_SHUFFLE_XOR;
  bool is_same = is_xor && w->kernel->exprs[s->compare].kind == TSRI_EXPR_CONST;
  w->has_shuffles = true;
  if (s->op == TSRI_COLLECTIVE_SUBGROUP_BALLOT) {
    tsri_wgsl_put(w, "%i%v = subgroupBallot(%e != 0u).x;\n", s->var, s->value);
    return;
  }
  tsri_wgsl_put(w, "%i%v = %s(%e, (%s%e) & %uu);\n", s->var, is_same ? "subgroupShuffleXor" : "subgroupShuffle",
                s->value, is_xor && !is_same ? "tsr_lid ^ " : "", s->compare, w->options->subgroup_size - 1);
}

// --- All of them ----------------------------------------------------------------------------------------------------

static void put_stmt(tsri_wgsl *w, const tsri_ir_stmt *s) {
  if (s->kind != TSRI_STMT_LOOP) {  // a loop's condition is evaluated in each round
    tsri_wgsl_put_lets(w, s->index);
    tsri_wgsl_put_lets(w, s->value);
    tsri_wgsl_put_lets(w, s->compare);
  }
  switch (s->kind) {
    case TSRI_STMT_ASSIGN:
      tsri_wgsl_put(w, "%i%v = %e;\n", s->var, s->value);
      break;
    case TSRI_STMT_STORE:
      tsri_wgsl_put_store(w, s);
      break;
    case TSRI_STMT_CLEAR:
      put_clear(w, s);
      break;
    case TSRI_STMT_IF:
      put_if(w, s);
      break;
    case TSRI_STMT_LOOP:
      put_loop(w, s);
      break;
    case TSRI_STMT_BREAK:
      tsri_wgsl_put_line(w, "break;\n");
      break;
    case TSRI_STMT_CONTINUE:
      tsri_wgsl_put_line(w, "continue;\n");
      break;
    case TSRI_STMT_BARRIER:
      put_barrier(w);
      break;
    case TSRI_STMT_ATOMIC:
      tsri_wgsl_put_atomic(w, s);
      break;
    case TSRI_STMT_COLLECTIVE:
      put_collective(w, s);
      break;
    default:
      if (s->kind >= TSRI_STMT_FRAGMENT_FIRST) tsri_wgsl_put_fragment_stmt(w, s);
      break;
  }
}

void tsri_wgsl_put_block(tsri_wgsl *w, uint32_t first) {
  w->is_too_deep |= ++w->depth > TSRI_WGSL_MAX_DEPTH;
  w->indent++;
  for (uint32_t i = first; i && !w->is_too_deep; i = w->kernel->stmts[i].next) {
    put_stmt(w, &w->kernel->stmts[i]);
    uint8_t kind = w->kernel->stmts[i].kind;
    if (kind == TSRI_STMT_BREAK || kind == TSRI_STMT_CONTINUE)
      break;  // statements after these are unreachable, and WGSL refuses them
  }
  w->indent--;
  w->depth--;
}
