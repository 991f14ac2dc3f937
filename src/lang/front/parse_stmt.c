// SPDX-License-Identifier: MIT
// Parses statements, recovers after an error at the next one, and determines how functions return.
#include "lang/front/parse.h"

// --- Assignments and calls ------------------------------------------------------------------------------------------

// Marks a parameter that is assigned to: it needs its own variable when its function is inlined.
static void note_assigned(tsri_parser *p, uint32_t target) {
  const tsri_ast *ast = tsri_ast_node(p, target);
  while (ast->kind == TSRI_AST_INDEX || ast->kind == TSRI_AST_MEMBER) ast = tsri_ast_node(p, ast->a);
  if (ast->kind != TSRI_AST_NAME) return;
  uint32_t symbol = ast->symbol;
  for (uint32_t param = p->params; param; param = tsri_ast_node(p, param)->next) {
    if (tsri_ast_node(p, param)->symbol == symbol) tsri_ast_node(p, param)->flags |= TSRI_AST_IS_ASSIGNED;
  }
}

static uint32_t make_assign(tsri_parser *p, tsri_ir_pos pos, int op, uint32_t target, uint32_t value) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_ASSIGN, pos);
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->op = (uint8_t)op;
  ast->a = target;
  ast->b = value;
  if (target) note_assigned(p, target);
  return node;
}

static uint32_t one_literal(tsri_parser *p, tsri_ir_pos pos) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_INT, pos);
  tsri_ast_node(p, node)->bits = 1;
  return node;
}

// Parses x = …, x += …, x++, ++x or f(…), without the semicolon.
static uint32_t parse_simple(tsri_parser *p) {
  tsri_ir_pos pos = p->token->pos;
  int step = p->token->kind == TSRI_TOK_PLUS_PLUS     ? TSRI_OP_ADD
             : p->token->kind == TSRI_TOK_MINUS_MINUS ? TSRI_OP_SUB
                                                      : -1;
  if (step >= 0) tsri_parse_step(p);
  uint32_t target = tsri_parse_expression(p, 20);  // binds tighter than any binary operator
  if (!target) return 0;
  if (step >= 0) return make_assign(p, pos, step + 1, target, one_literal(p, pos));

  pos = p->token->pos;
  int kind = p->token->kind, op = p->token->op;
  if (kind == '=' || kind == TSRI_TOK_ASSIGN_OP) {
    tsri_parse_step(p);
    uint32_t value = tsri_parse_expression(p, 0);
    return value ? make_assign(p, pos, kind == '=' ? 0 : op + 1, target, value) : 0;
  }
  if (kind == TSRI_TOK_PLUS_PLUS || kind == TSRI_TOK_MINUS_MINUS) {
    tsri_parse_step(p);
    return make_assign(p, pos, (kind == TSRI_TOK_PLUS_PLUS ? TSRI_OP_ADD : TSRI_OP_SUB) + 1, target,
                       one_literal(p, pos));
  }
  if (tsri_ast_node(p, target)->kind != TSRI_AST_CALL) {
    tsri_parse_error(p, tsri_ast_node(p, target)->pos, "this does nothing: a statement assigns, calls or declares");
    if (kind == TSRI_TOK_EQ) tsri_parse_hint(p, "to assign, write =");
    return 0;
  }
  uint32_t node = tsri_parse_node(p, TSRI_AST_CALL_STMT, tsri_ast_node(p, target)->pos);
  tsri_ast_node(p, node)->a = target;
  return node;
}

// --- Declarations ---------------------------------------------------------------------------------------------------

static uint32_t parse_list(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_LIST, p->token->pos);
  tsri_chain chain = {0, 0};
  tsri_parse_step(p);  // {
  while (p->token->kind != '}' && p->token->kind != TSRI_TOK_END) {
    uint32_t value = tsri_parse_expression(p, 0);
    if (!value) break;
    tsri_parse_append(p, &chain, value);
    if (!tsri_parse_accept(p, ',')) break;
  }
  tsri_parse_expect(p, '}', "after the values");
  tsri_ast_node(p, node)->a = chain.first;
  return node;
}

static uint32_t parse_declarator(tsri_parser *p, uint32_t type, uint8_t flags) {
  tsri_ir_pos pos = p->token->pos;
  uint32_t symbol = tsri_parse_name(p, "the variable");
  if (!symbol) return 0;
  uint32_t node = tsri_parse_node(p, TSRI_AST_DECL, pos);
  tsri_chain sizes = {0, 0};
  uint32_t value = 0;
  while (tsri_parse_accept(p, '[')) {
    uint32_t size = tsri_parse_expression(p, 0);
    if (!size) break;
    tsri_parse_append(p, &sizes, size);
    tsri_parse_expect(p, ']', "after the array's size");
  }
  if (tsri_parse_accept(p, '=')) value = p->token->kind == '{' ? parse_list(p) : tsri_parse_expression(p, 0);
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->symbol = symbol;
  ast->flags = flags;
  ast->a = type;
  ast->b = value;
  ast->c = sizes.first;
  return node;
}

uint32_t tsri_parse_declaration(tsri_parser *p, uint8_t flags) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_DECLS, p->token->pos);
  uint32_t type = tsri_parse_type(p);
  tsri_chain chain = {0, 0};
  do {
    uint32_t declarator = parse_declarator(p, type, flags);
    if (!declarator) break;
    tsri_parse_append(p, &chain, declarator);
  } while (tsri_parse_accept(p, ','));
  tsri_parse_expect(p, ';', "after the declaration");
  tsri_ast_node(p, node)->a = chain.first;
  return node;
}

uint32_t tsri_parse_assert(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_STATIC_ASSERT, p->token->pos);
  tsri_parse_step(p);
  uint32_t condition = 0;
  if (tsri_parse_expect(p, '(', "after static_assert")) condition = tsri_parse_expression(p, 0);
  tsri_ast_node(p, node)->a = condition;
  if (tsri_parse_accept(p, ',')) {
    if (p->token->kind == TSRI_TOK_STRING && p->token->bytes >= 2) {
      tsri_ast_node(p, node)->b = p->token->offset + 1;
      tsri_ast_node(p, node)->c = p->token->bytes - 2;
      tsri_parse_step(p);
    } else {
      tsri_parse_error(p, p->token->pos, "the second argument of static_assert is a text in quotes");
    }
  }
  tsri_parse_expect(p, ')', "after static_assert");
  tsri_parse_expect(p, ';', "after static_assert");
  return node;
}

// --- Control flow ---------------------------------------------------------------------------------------------------

static uint32_t parse_condition(tsri_parser *p, const char *after) {
  if (!tsri_parse_expect(p, '(', after)) return 0;
  uint32_t condition = tsri_parse_expression(p, 0);
  tsri_parse_expect(p, ')', "after the condition");
  return condition;
}

static uint8_t flags_of(const tsri_parser *p, uint32_t node) {
  return tsri_ast_node(p, node)->flags & (TSRI_AST_HAS_RETURN | TSRI_AST_ENDS);
}

static uint32_t parse_if(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_IF, p->token->pos);
  tsri_parse_step(p);
  uint32_t condition = parse_condition(p, "after 'if'");
  uint32_t yes = p->is_lost ? 0 : tsri_parse_statement(p);
  uint32_t no = tsri_parse_accept_word(p, TSRI_SYM_ELSE) ? tsri_parse_statement(p) : 0;
  uint8_t any = flags_of(p, yes) | flags_of(p, no), both = flags_of(p, yes) & flags_of(p, no);
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->a = condition;
  ast->b = yes;
  ast->c = no;
  ast->flags = (uint8_t)((any & TSRI_AST_HAS_RETURN) | (both & TSRI_AST_ENDS));
  return node;
}

static uint32_t parse_loop_start(tsri_parser *p) {
  if (tsri_parse_accept(p, ';')) return 0;
  if (p->token->kind == TSRI_TOK_NAME && p->token[1].kind == TSRI_TOK_NAME) return tsri_parse_declaration(p, 0);
  uint32_t first = parse_simple(p);
  tsri_parse_expect(p, ';', "after the start of 'for'");
  return first;
}

static uint32_t parse_for(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_LOOP, p->token->pos);
  tsri_parse_step(p);
  uint32_t start = 0, condition = 0, body = 0;
  tsri_chain steps = {0, 0};
  if (tsri_parse_expect(p, '(', "after 'for'")) start = parse_loop_start(p);
  if (p->token->kind != ';' && !p->is_lost) condition = tsri_parse_expression(p, 0);
  tsri_parse_expect(p, ';', "after the condition of 'for'");
  while (p->token->kind != ')' && !p->is_lost) {
    uint32_t step = parse_simple(p);
    if (!step) break;
    tsri_parse_append(p, &steps, step);
    if (!tsri_parse_accept(p, ',')) break;
  }
  tsri_parse_expect(p, ')', "after the step of 'for'");
  if (!p->is_lost) body = tsri_parse_statement(p);
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->flags = flags_of(p, body) & TSRI_AST_HAS_RETURN;
  ast->a = start;
  ast->b = condition;
  ast->c = steps.first;
  ast->d = body;
  return node;
}

// unroll for (…): `unroll` is a special word only here.
static uint32_t parse_unrolled(tsri_parser *p) {
  tsri_parse_step(p);
  uint32_t node = parse_for(p);
  tsri_ast_node(p, node)->op = 1;
  return node;
}

static uint32_t parse_while(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_LOOP, p->token->pos);
  tsri_parse_step(p);
  uint32_t condition = parse_condition(p, "after 'while'");
  uint32_t body = p->is_lost ? 0 : tsri_parse_statement(p);
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->flags = flags_of(p, body) & TSRI_AST_HAS_RETURN;
  ast->b = condition;
  ast->d = body;
  return node;
}

static uint32_t parse_jump(tsri_parser *p) {
  uint32_t symbol = p->token->symbol;
  tsri_ast_kind kind = symbol == TSRI_SYM_BREAK      ? TSRI_AST_BREAK
                       : symbol == TSRI_SYM_CONTINUE ? TSRI_AST_CONTINUE
                                                     : TSRI_AST_RETURN;
  uint32_t node = tsri_parse_node(p, kind, p->token->pos);
  tsri_parse_step(p);
  uint32_t value = 0;
  if (kind == TSRI_AST_RETURN) {
    if (p->token->kind != ';') value = tsri_parse_expression(p, 0);
    tsri_ast_node(p, node)->a = value;
    tsri_ast_node(p, node)->flags = TSRI_AST_HAS_RETURN | TSRI_AST_ENDS;
  }
  tsri_parse_expect(p, ';', kind == TSRI_AST_RETURN ? "after 'return'" : "after the jump");
  return node;
}

// Skips to a place where a statement can begin: after the next ';', or at a '}'. Blocks on the way are skipped
// entirely. The statement that was not understood begins at `from`.
static void find_statement(tsri_parser *p, const tsri_token *from) {
  uint32_t open = 0;
  for (;; tsri_parse_step(p)) {
    int kind = p->token->kind;
    if (kind == TSRI_TOK_END) break;
    if (kind == '{') open++;
    if (kind == '}' && open-- == 0) break;
    if ((kind == ';' && open == 0) || (kind == '}' && open == 0)) {
      tsri_parse_step(p);
      break;
    }
    if (tsri_parse_is_word(p, TSRI_SYM_KERNEL)) break;
  }
  tsri_parse_lose(p, from);
}

uint32_t tsri_parse_block(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_BLOCK, p->token->pos);
  tsri_ir_pos pos = p->token->pos;
  tsri_chain chain = {0, 0};
  uint8_t flags = 0;
  tsri_parse_step(p);  // {
  while (p->token->kind != '}' && p->token->kind != TSRI_TOK_END && !tsri_parse_is_word(p, TSRI_SYM_KERNEL)) {
    const tsri_token *from = p->token;
    uint32_t statement = tsri_parse_statement(p);
    if (p->is_lost) find_statement(p, from);
    if (p->diag->is_full) break;
    if (!statement) continue;
    flags |= flags_of(p, statement);
    tsri_parse_append(p, &chain, statement);
  }
  if (!tsri_parse_accept(p, '}') && !p->diag->is_full) {
    tsri_parse_error(p, p->token->pos, "a '}' is missing");
    tsri_diag_note(p->diag, pos, "for this '{'");
  }
  tsri_ast_node(p, node)->a = chain.first;
  tsri_ast_node(p, node)->flags = flags;
  return node;
}

// do … while (…): reported, but parsed as a loop, so that errors inside it are reported, too.
static uint32_t parse_do(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_LOOP, p->token->pos);
  tsri_parse_refuse_word(p);
  uint32_t body = tsri_parse_statement(p), condition = 0;
  if (tsri_parse_accept_word(p, TSRI_SYM_WHILE)) {
    condition = parse_condition(p, "after 'while'");
    tsri_parse_expect(p, ';', "after the condition");
  }
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->flags = flags_of(p, body) & TSRI_AST_HAS_RETURN;
  ast->b = condition;
  ast->d = body;
  return node;
}

// switch, goto, struct, …: reported and skipped.
static uint32_t parse_unsupported(tsri_parser *p) {
  tsri_parse_refuse_word(p);
  p->is_lost = true;
  return 0;
}

// Reports `f32 *p = x;`.
static bool refuse_pointer(tsri_parser *p) {
  if (p->token[1].kind != '*' || !tsri_parse_is_type_word(p, p->token)) return false;
  tsri_parse_error(p, p->token[1].pos, "there are no pointers");
  tsri_parse_hint(p, "keep the index instead, and write x[i]; arrays are passed to functions by name");
  return true;
}

// `typedef f32 real;`, `printf("%d", i);`. Other calls are left to the checker, because the file may have a function
// of that name.
static bool is_foreign_statement(const tsri_parser *p) {
  bool may_be = p->token[1].kind == TSRI_TOK_NAME || (p->token[1].kind == '(' && p->token[2].kind == TSRI_TOK_STRING);
  const tsri_foreign *foreign = may_be ? tsri_parse_foreign(p, p->token) : NULL;
  return foreign && foreign->kind == TSRI_FOREIGN_WORD;
}

static uint32_t parse_expression_statement(tsri_parser *p) {
  uint32_t node = parse_simple(p);
  if (node) tsri_parse_expect(p, ';', "after the statement");
  return node;
}

static uint32_t parse_word_statement(tsri_parser *p) {
  switch (p->token->symbol) {
    case TSRI_SYM_IF:
      return parse_if(p);
    case TSRI_SYM_FOR:
      return parse_for(p);
    case TSRI_SYM_WHILE:
      return parse_while(p);
    case TSRI_SYM_UNROLL:
      if (p->token[1].kind == TSRI_TOK_NAME && p->token[1].symbol == TSRI_SYM_FOR) return parse_unrolled(p);
      break;
    case TSRI_SYM_BREAK:
    case TSRI_SYM_CONTINUE:
    case TSRI_SYM_RETURN:
      return parse_jump(p);
    case TSRI_SYM_STATIC_ASSERT:
      return tsri_parse_assert(p);
    case TSRI_SYM_DO:
      return parse_do(p);
    case TSRI_SYM_SWITCH:
    case TSRI_SYM_GOTO:
    case TSRI_SYM_STRUCT:
      return parse_unsupported(p);
    case TSRI_SYM_CONST:
      tsri_parse_step(p);
      return tsri_parse_declaration(p, TSRI_AST_IS_CONST);
    case TSRI_SYM_SHARED:
      tsri_parse_step(p);
      return tsri_parse_declaration(p, TSRI_AST_IS_SHARED);
    case TSRI_SYM_ELSE:
      tsri_parse_error(p, p->token->pos, "'else' without an 'if' before it");
      return 0;
    default:
      break;
  }
  if (refuse_pointer(p)) return 0;
  if (is_foreign_statement(p)) return parse_unsupported(p);
  bool is_fragment = tsri_sym_in(p->token->symbol, TSRI_SYM_FIRST_ROLE, TSRI_SYM_LAST_ROLE);
  if (p->token[1].kind == TSRI_TOK_NAME || is_fragment) return tsri_parse_declaration(p, 0);
  return parse_expression_statement(p);
}

uint32_t tsri_parse_statement(tsri_parser *p) {
  if (!tsri_parse_enter(p)) return 0;
  uint32_t node = 0;
  if (p->token->kind == '{') {
    node = tsri_parse_block(p);
  } else if (p->token->kind == ';') {
    tsri_parse_step(p);
  } else if (p->token->kind == TSRI_TOK_NAME) {
    node = parse_word_statement(p);
  } else {
    node = parse_expression_statement(p);
  }
  tsri_parse_leave(p);
  return node;
}

// --- How functions return -------------------------------------------------------------------------------------------

// Whether some return in the list needs the flag "has returned": a return in a loop, or in an `if` that is followed by
// more and cannot become if/else. `has_rest`: something follows the list.
static bool needs_flag(const tsri_module *module, uint32_t first, bool has_rest) {
  for (uint32_t node = first; node; node = tsri_ast_at(module, node)->next) {
    const tsri_ast *ast = tsri_ast_at(module, node);
    if (!(ast->flags & TSRI_AST_HAS_RETURN)) continue;
    bool rest = (ast->next || has_rest) && !(ast->flags & TSRI_AST_ENDS);
    if (ast->kind == TSRI_AST_LOOP) return true;
    if (ast->kind == TSRI_AST_BLOCK && (rest || needs_flag(module, ast->a, false))) return true;
    if (ast->kind != TSRI_AST_IF) continue;
    uint8_t yes = tsri_ast_at(module, ast->b)->flags, no = tsri_ast_at(module, ast->c)->flags;
    bool goes_to_else = (yes & TSRI_AST_ENDS) && !(no & TSRI_AST_HAS_RETURN);
    bool goes_to_then = (no & TSRI_AST_ENDS) && !(yes & TSRI_AST_HAS_RETURN);
    if (rest && !goes_to_else && !goes_to_then) return true;
    if (needs_flag(module, ast->b, false) || needs_flag(module, ast->c, false)) return true;
  }
  return false;
}

void tsri_parse_returns(tsri_module *module, uint32_t function) {
  tsri_ast *ast = tsri_ast_at(module, function);
  if (needs_flag(module, ast->c, false)) ast->flags |= TSRI_AST_NEEDS_FLAG;
}
