// SPDX-License-Identifier: MIT
// The parser's state, shared by its files: parse.c (declarations), parse_stmt.c, parse_expr.c.
#ifndef TSRI_LANG_PARSE_H
#define TSRI_LANG_PARSE_H

#include "lang/front/foreign.h"
#include "lang/front/front.h"

typedef struct tsri_parser {
  tsri_module *module;
  tsri_diag *diag;
  const tsri_token *token;  // the next token; TSRI_TOK_END is the last one and is never passed
  bool is_lost;             // after an error: report nothing until the next statement
  uint32_t depth;
  uint32_t params;  // first PARAM of the function being parsed
} tsri_parser;

// A list of nodes under construction.
typedef struct tsri_chain {
  uint32_t first, last;
} tsri_chain;

static inline tsri_ast *tsri_ast_node(const tsri_parser *p, uint32_t node) { return tsri_ast_at(p->module, node); }

uint32_t tsri_parse_node(tsri_parser *p, tsri_ast_kind kind, tsri_ir_pos pos);
void tsri_parse_append(tsri_parser *p, tsri_chain *chain, uint32_t node);

void tsri_parse_error(tsri_parser *p, tsri_ir_pos pos, const char *format, ...) TSRI_PRINTF(3, 4);
void tsri_parse_hint(tsri_parser *p, const char *hint);  // on the last error
void tsri_parse_hint_word(tsri_parser *p);               // a hint with our equivalent of the next word

// Reports "there is no 'goto' in this language", with a hint, and skips the word.
void tsri_parse_refuse_word(tsri_parser *p);
// The token as a word of another language, or NULL.
const tsri_foreign *tsri_parse_foreign(const tsri_parser *p, const tsri_token *token);
bool tsri_parse_is_type_word(const tsri_parser *p, const tsri_token *token);  // one of our types, or a foreign one
                                                                              // such as float

// Skips a token of that kind, or reports that it is missing; `where` is for example "after the condition".
bool tsri_parse_expect(tsri_parser *p, int kind, const char *where);
bool tsri_parse_accept(tsri_parser *p, int kind);
bool tsri_parse_accept_word(tsri_parser *p, uint32_t symbol);
static inline bool tsri_parse_is_word(const tsri_parser *p, uint32_t symbol) {
  return p->token->kind == TSRI_TOK_NAME && p->token->symbol == symbol;
}
static inline void tsri_parse_step(tsri_parser *p) {
  if (p->token->kind != TSRI_TOK_END) p->token++;
}
// Text from `from` up to the next token was not understood: names in it may be declared there. Resets is_lost.
void tsri_parse_lose(tsri_parser *p, const tsri_token *from);
// Parses a name that is not a keyword; 0 after an error. `what` is for example "a variable".
uint32_t tsri_parse_name(tsri_parser *p, const char *what);
uint32_t tsri_parse_type(tsri_parser *p);

// False if the nesting is too deep (reported once). Call tsri_parse_leave after each true result.
bool tsri_parse_enter(tsri_parser *p);
static inline void tsri_parse_leave(tsri_parser *p) { p->depth--; }

// `least`: the lowest precedence that is parsed; 0 for a whole expression.
uint32_t tsri_parse_expression(tsri_parser *p, int least);
#define TSRI_PRECEDENCE_ADD 10  // additive operators and tighter, for default values of compile-time parameters

uint32_t tsri_parse_statement(tsri_parser *p);
uint32_t tsri_parse_block(tsri_parser *p);
uint32_t tsri_parse_declaration(tsri_parser *p, uint8_t flags);  // from the type to the semicolon; makes a DECLS node
uint32_t tsri_parse_assert(tsri_parser *p);

#endif
