// SPDX-License-Identifier: MIT
// The checker's bindings, scopes, types and file-level constants.
#include "lang/front/check.h"

#include <string.h>

#include "core/alloc.h"
#include "core/suggest.h"
#include "lang/front/foreign.h"

// --- Life -----------------------------------------------------------------------------------------------------------

static void bind_file(tsri_checker *c) {
  const tsri_module *module = c->module;
  for (uint32_t node = module->items; node; node = tsri_ast_at(module, node)->next) {
    const tsri_ast *ast = tsri_ast_at(module, node);
    tsri_name_binding_kind kind = ast->kind == TSRI_AST_KERNEL     ? TSRI_BIND_KERNEL
                                  : ast->kind == TSRI_AST_FUNCTION ? TSRI_BIND_FUNCTION
                                                                   : TSRI_BIND_LATER;
    if (ast->kind == TSRI_AST_STATIC_ASSERT || ast->kind == TSRI_AST_FILL || !ast->symbol) continue;
    if ((ast->flags & TSRI_AST_IS_BROKEN) && !ast->c) kind = TSRI_BIND_BROKEN;  // its parameters are not known
    tsri_name_binding_at(c, tsri_bind(c, kind, ast->symbol, ast->pos))->node = node;
  }
  c->file_bindings = c->bindings.count;
}

bool tsri_checker_init(tsri_checker *c, const tsri_module *module, tsri_diag *diag) {
  *c = (tsri_checker){.module = module, .diag = diag};
  c->latest = tsri_calloc(module->names.pool.count, sizeof *c->latest);
  bool ok = c->latest != NULL;
  ok = tsri_item_array_init(&c->exprs, sizeof(tsri_ir_expr), 128, TSRI_LANG_MAX_NODES) && ok;
  ok = tsri_item_array_init(&c->stmts, sizeof(tsri_ir_stmt), 32, TSRI_LANG_MAX_NODES) && ok;
  ok = tsri_item_array_init(&c->vars, sizeof(tsri_ir_var), 32, TSRI_LANG_MAX_NODES) && ok;
  ok = tsri_item_array_init(&c->bindings, sizeof(tsri_name_binding), 64, UINT32_MAX) && ok;
  ok = tsri_item_array_init(&c->params, sizeof(tsri_ir_param), 8, UINT32_MAX) && ok;
  for (int space = 0; space < 3; space++) {
    ok = tsri_item_array_init(&c->arrays[space], sizeof(tsri_ir_array), 8, TSRI_LANG_MAX_NODES) && ok;
  }
  ok = tsri_item_array_init(&c->fragments, sizeof(tsri_ir_fragment), 8, TSRI_LANG_MAX_FRAGMENTS + 1) && ok;
  tsri_checker_reset(c);
  if (ok) bind_file(c);
  return ok && !tsri_checker_has_failed(c);
}

void tsri_checker_deinit(tsri_checker *c) {
  tsri_free(c->latest);
  tsri_item_array_deinit(&c->exprs);
  tsri_item_array_deinit(&c->stmts);
  tsri_item_array_deinit(&c->vars);
  tsri_item_array_deinit(&c->bindings);
  tsri_item_array_deinit(&c->params);
  tsri_item_array_deinit(&c->fragments);
  for (int space = 0; space < 3; space++) tsri_item_array_deinit(&c->arrays[space]);
}

bool tsri_checker_has_failed(const tsri_checker *c) {
  return c->exprs.has_failed || c->stmts.has_failed || c->vars.has_failed || c->bindings.has_failed ||
         c->params.has_failed || c->arrays[0].has_failed || c->arrays[1].has_failed || c->arrays[2].has_failed ||
         c->fragments.has_failed || c->diag->text.has_failed;
}

bool tsri_check_is_over(tsri_checker *c) {
  bool is_full = c->exprs.is_full || c->stmts.is_full || c->vars.is_full || c->arrays[TSRI_SPACE_LOCAL].is_full ||
                 c->steps > TSRI_LANG_MAX_STEPS;
  if (is_full && !c->is_too_large) {
    c->is_too_large = true;
    tsri_diag_error(c->diag, tsri_ast_of(c, c->frame ? c->frame->function : 0)->pos,
                    "the kernel has more than %u operations once its functions are inlined", TSRI_LANG_MAX_NODES);
    tsri_diag_hint(c->diag, "use a loop instead of repeated calls");
  }
  return is_full || c->diag->is_full || tsri_checker_has_failed(c);
}

void tsri_checker_reset(tsri_checker *c) {
  tsri_item_array *const arrays[] = {&c->exprs,     &c->stmts,     &c->vars,      &c->params,
                                     &c->arrays[0], &c->arrays[1], &c->arrays[2], &c->fragments};
  for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
    arrays[i]->count = 1;
    arrays[i]->is_full = false;
  }
  for (int axis = 0; axis < 3; axis++) c->group_size[axis] = axis ? 1 : TSRI_LANG_DEFAULT_GROUP;
  c->resident_groups = 1;
  c->steps = 0;
  c->local_bytes = 0;
  c->is_too_large = false;
}

bool tsri_check_may_be_lost(const tsri_checker *c, uint32_t symbol) {
  return c->module->has_lost_text || tsri_names_at(&c->module->names, symbol)->is_in_lost_text;
}

bool tsri_check_is_broken(const tsri_checker *c) {
  if (c->module->has_lost_text) return true;
  return c->frame && c->frame->function && (tsri_ast_of(c, c->frame->function)->flags & TSRI_AST_IS_BROKEN);
}

bool tsri_check_enter(tsri_checker *c, tsri_ir_pos pos) {
  if (tsri_check_is_over(c)) return false;
  c->steps++;
  if (c->depth < TSRI_CHECK_DEPTH) {
    c->depth++;
    return true;
  }
  tsri_diag_error(c->diag, pos, "statements, expressions and calls are nested more than %d levels deep",
                  TSRI_CHECK_DEPTH);
  tsri_diag_hint(c->diag, "compute in steps, with variables; join early returns into one condition");
  return false;
}

// --- Scopes ---------------------------------------------------------------------------------------------------------

uint32_t tsri_scope_open(tsri_checker *c) {
  c->scope++;
  return c->bindings.count;
}

void tsri_scope_close(tsri_checker *c, uint32_t mark) {
  for (uint32_t i = c->bindings.count; i-- > mark;) {
    const tsri_name_binding *binding = tsri_name_binding_at(c, i);
    c->latest[binding->symbol] = binding->previous;
  }
  c->bindings.count = mark;
  c->scope--;
}

// Whether the language reserves this name. Types and ids cannot be redeclared. Variables and kernels may have the name
// of a built-in function, which can still be called; functions may not.
static bool is_taken(tsri_name_binding_kind kind, uint32_t symbol) {
  if (symbol < TSRI_SYM_FIRST_DTYPE || symbol >= TSRI_SYM_BUILTIN_COUNT) return false;
  if (symbol <= TSRI_SYM_LAST_ROLE) return true;
  if (symbol >= TSRI_SYM_WG && symbol <= TSRI_SYM_WG_Z) return kind != TSRI_BIND_CONST;
  return kind == TSRI_BIND_FUNCTION && !tsri_sym_in(symbol, TSRI_SYM_FIRST_PLAIN, TSRI_SYM_LAST_PLAIN);
}

uint32_t tsri_bind(tsri_checker *c, tsri_name_binding_kind kind, uint32_t symbol, tsri_ir_pos pos) {
  uint32_t older = tsri_lookup(c, symbol);
  if (older && tsri_name_binding_at(c, older)->scope == c->scope) {
    tsri_diag_error(c->diag, pos, "'%.*s' is already declared here", TSRI_NAME(c, symbol));
    tsri_diag_note(c->diag, tsri_name_binding_at(c, older)->pos, "the first declaration");
  } else if (is_taken(kind, symbol)) {
    tsri_diag_error(c->diag, pos, "'%.*s' is a name of the language", TSRI_NAME(c, symbol));
    tsri_diag_hint(c->diag, "choose another name");
  }
  uint32_t id = tsri_item_array_add(&c->bindings);
  tsri_name_binding *binding = tsri_name_binding_at(c, id);
  *binding = (tsri_name_binding){.kind = (uint8_t)kind, .symbol = symbol, .pos = pos, .scope = c->scope};
  if (!id) return 0;
  binding->previous = c->latest[symbol];
  c->latest[symbol] = id;
  return id;
}

uint32_t tsri_lookup(const tsri_checker *c, uint32_t symbol) {
  uint32_t id = c->latest[symbol];
  uint32_t first = c->frame ? c->frame->first_binding : 0;
  uint32_t callers = c->frame && c->frame->sees_kernel ? c->kernel_bindings : c->file_bindings;
  while (id >= callers && id < first) id = tsri_name_binding_at(c, id)->previous;
  return id;
}

// --- Types ----------------------------------------------------------------------------------------------------------

bool tsri_symbol_type(const tsri_checker *c, uint32_t symbol, tsr_dtype *out_dtype, uint8_t *out_lanes) {
  *out_lanes = 1;
  for (int part = 0; part < 2; part++) {
    if (tsri_sym_in(symbol, TSRI_SYM_FIRST_DTYPE, TSRI_SYM_LAST_DTYPE)) {
      *out_dtype = (tsr_dtype)(symbol - TSRI_SYM_FIRST_DTYPE);
      return true;
    }
    uint32_t binding = symbol ? tsri_lookup(c, symbol) : 0;
    if (binding && tsri_name_binding_at(c, binding)->kind == TSRI_BIND_TYPE) {
      *out_dtype = (tsr_dtype)tsri_name_binding_at(c, binding)->storage;
      return true;
    }
    // f32x4, Tx2
    const tsri_name *name = tsri_names_at(&c->module->names, symbol);
    size_t bytes = name->bytes;
    if (part == 1 || binding || bytes < 3 || name->text[bytes - 2] != 'x') return false;
    if (name->text[bytes - 1] != '2' && name->text[bytes - 1] != '4') return false;
    *out_lanes = (uint8_t)(name->text[bytes - 1] - '0');
    symbol = tsri_names_find(&c->module->names, name->text, bytes - 2);
  }
  return false;
}

bool tsri_check_type(tsri_checker *c, uint32_t node, tsr_dtype *out_dtype, uint8_t *out_lanes) {
  *out_dtype = TSR_F32;
  *out_lanes = 1;
  const tsri_ast *ast = tsri_ast_of(c, node);
  if (!node || !ast->symbol) return false;  // the parser has reported the error
  if (tsri_symbol_type(c, ast->symbol, out_dtype, out_lanes)) return true;
  if (tsri_sym_in(ast->symbol, TSRI_SYM_FIRST_ROLE, TSRI_SYM_LAST_ROLE)) {
    tsri_diag_error(c->diag, ast->pos, "a fragment cannot be a parameter, a result or a part of another type");
    tsri_diag_hint(c->diag, "declare it where it is used: %.*s<f16, 16, 16, 16> x;", TSRI_NAME(c, ast->symbol));
    return false;
  }
  if (tsri_check_may_be_lost(c, ast->symbol)) return false;
  tsri_diag_error(c->diag, ast->pos, "'%.*s' is no type", TSRI_NAME(c, ast->symbol));
  tsri_suggest(c, ast->symbol, TSRI_SUGGEST_TYPES);
  return false;
}

// --- Suggestions ----------------------------------------------------------------------------------------------------

#define MOST_WORDS 300
#define WORD_BYTES 40

typedef struct word_list {
  char text[MOST_WORDS][WORD_BYTES];
  const char *words[MOST_WORDS];
  size_t count;
} word_list;

static void add_word(word_list *list, const tsri_checker *c, uint32_t symbol) {
  const tsri_name *name = tsri_names_at(&c->module->names, symbol);
  if (list->count == MOST_WORDS || name->bytes >= WORD_BYTES || name->bytes == 0) return;
  memcpy(list->text[list->count], name->text, name->bytes);
  list->text[list->count][name->bytes] = 0;
  list->words[list->count] = list->text[list->count];
  list->count++;
}

static bool is_suggested(const tsri_name_binding *binding, uint32_t what) {
  if (binding->kind == TSRI_BIND_TYPE) return what & TSRI_SUGGEST_TYPES;
  if (binding->kind == TSRI_BIND_FUNCTION) return what & TSRI_SUGGEST_CALLS;
  return binding->kind != TSRI_BIND_KERNEL && binding->kind != TSRI_BIND_BROKEN && (what & TSRI_SUGGEST_VALUES);
}

void tsri_suggest(tsri_checker *c, uint32_t symbol, uint32_t what) {
  const tsri_name *name = tsri_names_at(&c->module->names, symbol);
  const tsri_foreign *foreign = tsri_foreign_find(name->text, name->bytes);
  if (foreign) {
    char room[TSRI_FOREIGN_HINT_BYTES];
    tsri_diag_hint(c->diag, "%s", tsri_foreign_hint(foreign, room));
    return;
  }
  char wrong[WORD_BYTES];
  word_list *list = name->bytes < WORD_BYTES && !c->diag->is_muted ? tsri_malloc(sizeof *list) : NULL;
  if (!list) return;  // no memory: leave out the hint
  list->count = 0;
  memcpy(wrong, name->text, name->bytes);
  wrong[name->bytes] = 0;
  for (uint32_t id = c->bindings.count; id-- > 1;) {
    const tsri_name_binding *binding = tsri_name_binding_at(c, id);
    if (is_suggested(binding, what) && tsri_lookup(c, binding->symbol) == id) add_word(list, c, binding->symbol);
  }
  for (uint32_t s = TSRI_SYM_FIRST_DTYPE; s < TSRI_SYM_BUILTIN_COUNT; s++) {
    bool is_type = s <= TSRI_SYM_LAST_DTYPE || tsri_sym_in(s, TSRI_SYM_FIRST_ROLE, TSRI_SYM_LAST_ROLE);
    bool is_value = s >= TSRI_SYM_FIRST_ID && s < TSRI_SYM_BARRIER && !is_type;
    bool is_call = s >= TSRI_SYM_BARRIER && !tsri_sym_in(s, TSRI_SYM_FIRST_PLAIN, TSRI_SYM_LAST_PLAIN);
    if ((is_type && (what & TSRI_SUGGEST_TYPES)) || (is_value && (what & TSRI_SUGGEST_VALUES)) ||
        (is_call && (what & TSRI_SUGGEST_CALLS))) {
      add_word(list, c, s);
    }
  }
  const char *nearest = tsri_text_nearest(wrong, list->words, list->count);
  if (nearest) tsri_diag_hint(c->diag, "did you mean '%s'?", nearest);
  tsri_free(list);
}

// --- Constants ------------------------------------------------------------------------------------------------------

bool tsri_check_constant(tsri_checker *c, uint32_t node, const char *what, int64_t *out_value) {
  *out_value = 0;
  tsri_check_operand operand = tsri_check_expr(c, node, TSR_DTYPE_COUNT);
  if (operand.kind == TSRI_OPERAND_ERROR) return false;
  if (operand.kind == TSRI_OPERAND_INT) {
    *out_value = operand.integer;
    return true;
  }
  if (operand.kind == TSRI_OPERAND_VALUE && tsri_is_const(c, &operand)) {
    uint64_t bits = tsri_const_bits(c, &operand);
    switch (operand.type.dtype) {
      case TSR_I32:
        *out_value = (int32_t)(uint32_t)bits;
        return true;
      case TSR_BOOL:
      case TSR_U32:
      case TSR_I64:
      case TSR_U64:
        *out_value = (int64_t)bits;
        return true;
      default:
        break;
    }
  }
  tsri_diag_error(c->diag, tsri_ast_of(c, node)->pos, "%s must be a whole number known at compile time", what);
  return false;
}

void tsri_check_assert(tsri_checker *c, uint32_t node) {
  const tsri_ast *ast = tsri_ast_of(c, node);
  if (!ast->a) return;
  tsri_check_operand condition =
      tsri_need_bool(c, tsri_check_expr(c, ast->a, TSR_BOOL), "the condition of static_assert");
  if (condition.kind == TSRI_OPERAND_ERROR) return;
  if (!tsri_is_const(c, &condition)) {
    tsri_diag_error(c->diag, tsri_ast_of(c, ast->a)->pos, "static_assert needs a condition known at compile time");
  } else if (!tsri_const_bits(c, &condition)) {
    int bytes = ast->c > 200 ? 200 : (int)ast->c;
    tsri_diag_error(c->diag, ast->pos, "static_assert does not hold%s%.*s", bytes ? ": " : "", bytes,
                    c->module->source.text + ast->b);
  }
}

// Evaluates a file-level constant when it is first used, in a scope where only the file's names are visible.
tsri_check_operand tsri_file_constant(tsri_checker *c, uint32_t id) {
  tsri_name_binding *binding = tsri_name_binding_at(c, id);
  if (binding->kind == TSRI_BIND_CONST) return tsri_file_value(c, id);
  const tsri_ast *ast = tsri_ast_of(c, binding->node);
  tsri_ir_pos pos = binding->pos;
  if (binding->kind == TSRI_BIND_BROKEN) return tsri_error_operand(pos);
  if (binding->kind == TSRI_BIND_BUSY) {
    tsri_diag_error(c->diag, pos, "the constant '%.*s' depends on itself", TSRI_NAME(c, ast->symbol));
    return tsri_error_operand(pos);
  }
  binding->kind = TSRI_BIND_BUSY;
  tsri_frame frame = {.first_binding = c->bindings.count};
  tsri_frame *outer = c->frame;
  bool was_const_only = c->is_const_only;
  c->frame = &frame;
  c->is_const_only = true;
  tsr_dtype dtype;
  uint8_t lanes;
  tsri_check_operand value = tsri_error_operand(pos);
  if (tsri_check_type(c, ast->a, &dtype, &lanes) && ast->b && !ast->c) {
    value = tsri_assignable(c, tsri_check_expr(c, ast->b, tsri_ir_compute_dtype(dtype)), dtype, lanes, "the constant");
    if (value.kind == TSRI_OPERAND_VALUE && !tsri_is_const(c, &value)) {
      tsri_diag_error(c->diag, tsri_ast_of(c, ast->b)->pos, "this is not known at compile time");
      value = tsri_error_operand(pos);
    }
  } else if (!ast->b || ast->c) {
    tsri_diag_error(c->diag, pos, ast->c ? "there are no arrays at file level" : "a constant needs a value");
  }
  c->frame = outer;
  c->is_const_only = was_const_only;
  binding = tsri_name_binding_at(c, id);
  binding->kind = value.kind == TSRI_OPERAND_VALUE ? TSRI_BIND_CONST : TSRI_BIND_BROKEN;
  binding->value = value;
  if (value.kind == TSRI_OPERAND_VALUE) binding->value.integer = (int64_t)tsri_const_bits(c, &value);
  return value;
}

// Makes a new expression from the constant's bits, because the one of its first evaluation may belong to another
// kernel of the file.
tsri_check_operand tsri_file_value(tsri_checker *c, uint32_t id) {
  tsri_check_operand known = tsri_name_binding_at(c, id)->value;
  tsri_check_operand value = tsri_const_value(c, (tsr_dtype)known.type.dtype, (uint64_t)known.integer, known.pos);
  value.held = known.held;
  return value;
}
