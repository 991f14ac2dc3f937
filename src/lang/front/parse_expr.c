// SPDX-License-Identifier: MIT
// Parses expressions by precedence climbing.
#include <stdio.h>
#include <string.h>

#include "lang/front/parse.h"

enum { LAND = 250, LOR = 251, COND = 252 };

typedef struct binary_operator {
  uint8_t token, precedence, op;
} binary_operator;

static const binary_operator binary_operators[] = {
    {TSRI_TOK_OR_OR, 2, LOR},       {TSRI_TOK_AND_AND, 3, LAND},  {'|', 4, TSRI_OP_OR},
    {'^', 5, TSRI_OP_XOR},          {'&', 6, TSRI_OP_AND},        {TSRI_TOK_EQ, 7, TSRI_OP_EQ},
    {TSRI_TOK_NE, 7, TSRI_OP_NE},   {'<', 8, TSRI_OP_LT},         {'>', 8, TSRI_OP_GT},
    {TSRI_TOK_LE, 8, TSRI_OP_LE},   {TSRI_TOK_GE, 8, TSRI_OP_GE}, {TSRI_TOK_SHL, 9, TSRI_OP_SHL},
    {TSRI_TOK_SHR, 9, TSRI_OP_SHR}, {'+', 10, TSRI_OP_ADD},       {'-', 10, TSRI_OP_SUB},
    {'*', 11, TSRI_OP_MUL},         {'/', 11, TSRI_OP_DIV},       {'%', 11, TSRI_OP_REM},
};

static const binary_operator *operator_of(uint8_t token) {
  for (size_t i = 0; i < sizeof binary_operators / sizeof *binary_operators; i++) {
    if (binary_operators[i].token == token) return &binary_operators[i];
  }
  return NULL;
}

// Sets the node's depth from its operands. Reports a tree that is too deep, since later stages recurse over it.
static void set_depth(tsri_parser *p, uint32_t node, uint32_t a, uint32_t b, uint32_t c) {
  uint32_t depth = tsri_ast_node(p, a)->depth;
  if (tsri_ast_node(p, b)->depth > depth) depth = tsri_ast_node(p, b)->depth;
  if (tsri_ast_node(p, c)->depth > depth) depth = tsri_ast_node(p, c)->depth;
  if (depth >= TSRI_LANG_MAX_DEPTH) {
    tsri_parse_error(p, tsri_ast_node(p, node)->pos, "this expression has more than %d levels", TSRI_LANG_MAX_DEPTH);
    tsri_parse_hint(p, "compute it in steps, with variables");
    depth = 0;
  }
  tsri_ast_node(p, node)->depth = (uint8_t)(depth + 1);
}

static uint32_t make(tsri_parser *p, tsri_ast_kind kind, int op, tsri_ir_pos pos, uint32_t a, uint32_t b) {
  uint32_t node = tsri_parse_node(p, kind, pos);
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->op = (uint8_t)op;
  ast->a = a;
  ast->b = b;
  set_depth(p, node, a, b, 0);
  return node;
}

static uint32_t parse_call(tsri_parser *p, uint32_t symbol, tsri_ir_pos pos) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_CALL, pos);
  tsri_chain chain = {0, 0};
  uint32_t deepest = 0;
  tsri_parse_step(p);  // (
  while (p->token->kind != ')' && p->token->kind != TSRI_TOK_END) {
    uint32_t argument = tsri_parse_expression(p, 0);
    if (!argument) break;
    tsri_parse_append(p, &chain, argument);
    if (tsri_ast_node(p, argument)->depth > tsri_ast_node(p, deepest)->depth) deepest = argument;
    if (!tsri_parse_accept(p, ',')) break;
  }
  tsri_parse_expect(p, ')', "after the arguments");
  tsri_ast_node(p, node)->symbol = symbol;
  tsri_ast_node(p, node)->a = chain.first;
  set_depth(p, node, deepest, 0, 0);
  return node;
}

static uint32_t parse_bitcast(tsri_parser *p) {
  tsri_ir_pos pos = p->token->pos;
  tsri_parse_step(p);
  uint32_t type = 0, value = 0;
  if (tsri_parse_expect(p, '<', "after 'bitcast', as in bitcast<u32>(x)")) type = tsri_parse_type(p);
  if (tsri_parse_expect(p, '>', "after the type of a bitcast")) {
    if (tsri_parse_expect(p, '(', "after bitcast<…>")) value = tsri_parse_expression(p, 0);
    tsri_parse_expect(p, ')', "after the value of a bitcast");
  }
  uint32_t node = make(p, TSRI_AST_BITCAST, 0, pos, 0, value);
  tsri_ast_node(p, node)->a = type;
  return node;
}

static uint32_t parse_literal(tsri_parser *p, tsri_ast_kind kind, uint64_t bits, int op) {
  uint32_t node = tsri_parse_node(p, kind, p->token->pos);
  tsri_ast_node(p, node)->bits = bits;
  tsri_ast_node(p, node)->op = (uint8_t)op;
  tsri_parse_step(p);
  return node;
}

static uint32_t parse_word(tsri_parser *p) {
  uint32_t symbol = p->token->symbol;
  tsri_ir_pos pos = p->token->pos;
  if (symbol == TSRI_SYM_TRUE || symbol == TSRI_SYM_FALSE) {
    return parse_literal(p, TSRI_AST_BOOL, symbol == TSRI_SYM_TRUE, 0);
  }
  if (symbol == TSRI_SYM_BITCAST) return parse_bitcast(p);
  if (tsri_sym_is_keyword(symbol)) {
    tsri_parse_error(p, pos, "'%.*s' cannot stand in an expression", (int)p->token->bytes,
                     p->module->source.text + p->token->offset);
    tsri_parse_hint_word(p);
    return 0;
  }
  tsri_parse_step(p);
  if (p->token->kind == '(') return parse_call(p, symbol, pos);
  uint32_t node = tsri_parse_node(p, TSRI_AST_NAME, pos);
  tsri_ast_node(p, node)->symbol = symbol;
  return node;
}

static uint32_t parse_parenthesis(tsri_parser *p) {
  tsri_ir_pos pos = p->token->pos;
  tsri_parse_step(p);
  // (f32)x: a cast as in C, which is reported.
  const tsri_token *token = p->token;
  if (token[1].kind == ')' && tsri_parse_is_type_word(p, token)) {
    const tsri_foreign *foreign = tsri_parse_foreign(p, token);
    int bytes = (int)token->bytes;
    const char *word = p->module->source.text + token->offset;
    tsri_parse_error(p, pos, "a cast is written like a call");
    char hint[96];
    snprintf(hint, sizeof hint, "write %.*s(x), not (%.*s)x", foreign ? (int)strlen(foreign->ours) : bytes,
             foreign ? foreign->ours : word, bytes, word);
    tsri_parse_hint(p, hint);
    return 0;
  }
  uint32_t node = tsri_parse_expression(p, 0);
  tsri_parse_expect(p, ')', "to match '('");
  return node;
}

static uint32_t parse_primary(tsri_parser *p) {
  const tsri_token *token = p->token;
  uint64_t bits = 0;
  switch (token->kind) {
    case TSRI_TOK_NAME:
      return parse_word(p);
    case TSRI_TOK_INT:
      return parse_literal(p, TSRI_AST_INT, token->integer, token->suffix);
    case TSRI_TOK_FLOAT:
      memcpy(&bits, &token->real, sizeof bits);
      return parse_literal(p, TSRI_AST_FLOAT, bits, token->suffix);
    case '(':
      return parse_parenthesis(p);
    case TSRI_TOK_PLUS_PLUS:
    case TSRI_TOK_MINUS_MINUS:
      tsri_parse_error(p, token->pos, "++ and -- are statements, they have no value");
      tsri_parse_hint(p, "put it on a line of its own");
      return 0;
    case '{':
      tsri_parse_error(p, token->pos, "a list in braces may only initialise an array");
      return 0;
    case TSRI_TOK_END:
      tsri_parse_error(p, token->pos, "the file ends where an expression should stand");
      return 0;
    default:
      tsri_parse_error(p, token->pos, "an expression should stand here");
      return 0;
  }
}

static uint32_t parse_postfix(tsri_parser *p) {
  uint32_t node = parse_primary(p);
  while (node) {
    tsri_ir_pos pos = p->token->pos;
    if (tsri_parse_accept(p, '[')) {
      uint32_t index = tsri_parse_expression(p, 0);
      tsri_parse_expect(p, ']', "after the index");
      node = make(p, TSRI_AST_INDEX, 0, tsri_ast_node(p, node)->pos, node, index);
    } else if (tsri_parse_accept(p, '.')) {
      uint32_t symbol = tsri_parse_name(p, "a lane or axis (x, y, z, w)");
      node = make(p, TSRI_AST_MEMBER, 0, tsri_ast_node(p, node)->pos, node, 0);
      tsri_ast_node(p, node)->symbol = symbol;
    } else if (p->token->kind == TSRI_TOK_ARROW) {
      tsri_parse_error(p, pos, "there are no pointers: use '.'");
      return 0;
    } else if (p->token->kind == '(') {
      tsri_parse_error(p, pos, "only a function's name can be called");
      return 0;
    } else {
      return node;
    }
  }
  return node;
}

static uint32_t parse_unary(tsri_parser *p) {
  tsri_ir_pos pos = p->token->pos;
  int op = -1;
  switch (p->token->kind) {
    case '-':
      op = TSRI_OP_NEG;
      break;
    case '~':
      op = TSRI_OP_BIT_NOT;
      break;
    case '!':
      op = TSRI_OP_NOT;
      break;
    case '+':
      break;
    case '*':
    case '&':
      tsri_parse_error(p, pos, "there are no pointers");
      tsri_parse_hint(p, "pass the array by its name and give the index beside it, as in atomic_add(a, i, 1)");
      return 0;
    default:
      return parse_postfix(p);
  }
  if (!tsri_parse_enter(p)) return 0;
  tsri_parse_step(p);
  uint32_t value = parse_unary(p);
  tsri_parse_leave(p);
  if (!value || op < 0) return value;
  return make(p, TSRI_AST_UNARY, op, pos, value, 0);
}

static uint32_t parse_conditional(tsri_parser *p, uint32_t condition) {
  tsri_ir_pos pos = p->token->pos;
  tsri_parse_step(p);  // ?
  uint32_t yes = tsri_parse_expression(p, 0);
  tsri_parse_expect(p, ':', "between the two values of '?'");
  uint32_t no = tsri_parse_expression(p, 1);
  uint32_t node = make(p, TSRI_AST_COND, 0, pos, condition, yes);
  tsri_ast_node(p, node)->c = no;
  set_depth(p, node, condition, yes, no);
  return node;
}

uint32_t tsri_parse_expression(tsri_parser *p, int least) {
  if (!tsri_parse_enter(p)) return 0;
  uint32_t left = parse_unary(p);
  while (left) {
    const binary_operator *found = operator_of(p->token->kind);
    if (!found || found->precedence < least) break;
    tsri_ir_pos pos = p->token->pos;
    tsri_parse_step(p);
    uint32_t right = tsri_parse_expression(p, found->precedence + 1);
    if (!right) {
      left = 0;
      break;
    }
    tsri_ast_kind kind = found->op == LAND ? TSRI_AST_AND_THEN : found->op == LOR ? TSRI_AST_OR_ELSE : TSRI_AST_BINARY;
    left = make(p, kind, found->op, pos, left, right);
  }
  if (left && least <= 1 && p->token->kind == '?') left = parse_conditional(p, left);
  if (left && least == 0 && p->token->kind == '=' && !p->is_lost) {
    tsri_parse_error(p, p->token->pos, "an assignment has no value");
    tsri_parse_hint(p, "to compare, write ==");
  }
  tsri_parse_leave(p);
  return left;
}
