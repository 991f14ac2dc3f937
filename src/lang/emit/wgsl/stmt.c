// SPDX-License-Identifier: MIT
// Statements of WGSL.
#include <inttypes.h>

#include "lang/emit/wgsl/wgsl.h"

void tsri_wgsl_put_indent(tsri_wgsl *w) {
  for (int i = 0; i < w->indent && i < 40; i++) tsri_builder_string(&w->body, "  ");
}

bool tsri_wgsl_enter(tsri_wgsl *w) {
  if (w->depth >= TSRI_WGSL_MAX_DEPTH) {
    w->is_too_deep = true;
    return false;
  }
  w->depth++;
  return true;
}

static void put_line(tsri_wgsl *w, const char *line) {
  tsri_wgsl_put_indent(w);
  tsri_builder_string(&w->body, line);
}

static void put_assignment(tsri_wgsl *w, const tsri_ir_stmt *s) {
  tsri_wgsl_put_indent(w);
  tsri_wgsl_put_name(&w->body, w->kernel->vars[s->var].name, "", s->var);
  tsri_builder_string(&w->body, " = ");
  tsri_wgsl_put_value(w, &w->body, s->value);
  tsri_builder_string(&w->body, ";\n");
}

static void put_clear(tsri_wgsl *w, const tsri_ir_stmt *s) {
  const tsri_ir_array *array = &w->kernel->locals[s->object];
  tsri_ir_type type = {array->storage, 1};
  tsri_wgsl_put_indent(w);
  tsri_wgsl_put_array(w, &w->body, TSRI_SPACE_LOCAL, s->object);
  tsri_builder_add(&w->body, " = array<%s, %" PRIu32 ">();\n", tsri_wgsl_type(type), array->count);
}

// --- Control flow ---------------------------------------------------------------------------------------------------

static void put_if(tsri_wgsl *w, const tsri_ir_stmt *s) {
  put_line(w, "if (");
  tsri_wgsl_put_value(w, &w->body, s->value);
  tsri_builder_string(&w->body, ") {\n");
  tsri_wgsl_put_block(w, s->body);
  if (s->other) {
    put_line(w, "} else {\n");
    tsri_wgsl_put_block(w, s->other);
  }
  put_line(w, "}\n");
}

// A loop without a condition may have no way out, which WGSL refuses: it gets one that is not taken.
static void put_loop(tsri_wgsl *w, const tsri_ir_stmt *s) {
  put_line(w, "loop {\n");
  w->indent++;
  if (s->value) {
    tsri_wgsl_put_lets(w, s->value);
    put_line(w, "if (!");
    tsri_wgsl_put_value(w, &w->body, s->value);
    tsri_builder_string(&w->body, ") { break; }\n");
  } else {
    put_line(w, "if (tsr_p[1].x != 0u) { break; }\n");
  }
  w->indent--;
  tsri_wgsl_put_block(w, s->body);
  if (s->other) {
    w->indent++;
    put_line(w, "continuing {\n");
    tsri_wgsl_put_block(w, s->other);
    put_line(w, "}\n");
    w->indent--;
  }
  put_line(w, "}\n");
}

// Buffers that are written and read need a barrier of their own kind.
static void put_barrier(tsri_wgsl *w) {
  bool has_buffers = tsri_ir_shares_buffers(w->kernel);
  put_line(w, has_buffers ? "storageBarrier();\n" : "workgroupBarrier();\n");
  if (has_buffers) put_line(w, "workgroupBarrier();\n");
}

// --- All of them ----------------------------------------------------------------------------------------------------

static void put_stmt(tsri_wgsl *w, const tsri_ir_stmt *s) {
  if (s->kind != TSRI_STMT_LOOP) {  // a loop's condition is evaluated each time
    tsri_wgsl_put_lets(w, s->index);
    tsri_wgsl_put_lets(w, s->value);
    tsri_wgsl_put_lets(w, s->compare);
  }
  switch (s->kind) {
    case TSRI_STMT_ASSIGN:
      put_assignment(w, s);
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
      put_line(w, "break;\n");
      break;
    case TSRI_STMT_CONTINUE:
      put_line(w, "continue;\n");
      break;
    case TSRI_STMT_BARRIER:
      put_barrier(w);
      break;
    case TSRI_STMT_ATOMIC:
      tsri_wgsl_put_atomic(w, s);
      break;
    default:
      break;
  }
}

void tsri_wgsl_put_block(tsri_wgsl *w, uint32_t first) {
  if (!tsri_wgsl_enter(w)) return;
  w->indent++;
  for (uint32_t i = first; i; i = w->kernel->stmts[i].next) {
    put_stmt(w, &w->kernel->stmts[i]);
    uint8_t kind = w->kernel->stmts[i].kind;
    if (kind == TSRI_STMT_BREAK || kind == TSRI_STMT_CONTINUE) break;  // nothing after them runs, and WGSL wants none
  }
  w->indent--;
  w->depth--;
}
