// SPDX-License-Identifier: MIT
// The parser's state, shared by its files: parse.c (declarations), parse_stmt.c, parse_expr.c.
#ifndef TSRI_LANG_PARSE_H
#define TSRI_LANG_PARSE_H

#include "lang/front/foreign.h"
#include "lang/front/front.h"

typedef struct tsri_parser {
  tsri_module *module;
  tsri_diag *diag;
  const tsri_token *token;  // the next one; the last is TSRI_TOK_END and never passed
  bool is_lost;             // after an error: say nothing until the next statement
  uint32_t depth;
  uint32_t params;  // of the function being parsed
} tsri_parser;

// A chain of nodes being built.
typedef struct tsri_chain {
  uint32_t first, last;
} tsri_chain;

static inline tsri_ast *tsri_ast_node(const tsri_parser *p, uint32_t node) { return tsri_ast_at(p->module, node); }

uint32_t tsri_parse_node(tsri_parser *p, tsri_ast_kind kind, tsri_ir_pos pos);
void tsri_parse_append(tsri_parser *p, tsri_chain *chain, uint32_t node);

void tsri_parse_error(tsri_parser *p, tsri_ir_pos pos, const char *format, ...) TSRI_PRINTF(3, 4);
void tsri_parse_hint(tsri_parser *p, const char *hint);  // on that error
void tsri_parse_hint_word(tsri_parser *p);               // what is written here instead of the word that is next

// "there is no 'goto' in this language", with a hint. The word is passed over, and what follows is read on.
void tsri_parse_refuse_word(tsri_parser *p);
// The next token as a word of another language; NULL: it is none.
const tsri_foreign *tsri_parse_foreign(const tsri_parser *p, const tsri_token *token);
bool tsri_parse_is_type_word(const tsri_parser *p, const tsri_token *token);  // f32, or float

// Steps over a token of that kind or says what is missing ("after the condition").
bool tsri_parse_expect(tsri_parser *p, int kind, const char *where);
bool tsri_parse_accept(tsri_parser *p, int kind);
bool tsri_parse_accept_word(tsri_parser *p, uint32_t symbol);
static inline bool tsri_parse_is_word(const tsri_parser *p, uint32_t symbol) {
  return p->token->kind == TSRI_TOK_NAME && p->token->symbol == symbol;
}
static inline void tsri_parse_step(tsri_parser *p) {
  if (p->token->kind != TSRI_TOK_END) p->token++;
}
// The text from `from` up to the next token was not understood: names in it may be declared there. Ends is_lost.
void tsri_parse_lose(tsri_parser *p, const tsri_token *from);
// A name that is no keyword; 0 after an error. `what`: "a variable".
uint32_t tsri_parse_name(tsri_parser *p, const char *what);
uint32_t tsri_parse_type(tsri_parser *p);

// False when nested too deep (said once). Leave after a true enter.
bool tsri_parse_enter(tsri_parser *p);
static inline void tsri_parse_leave(tsri_parser *p) { p->depth--; }

// `least`: lowest precedence that is taken in; 0 for a whole expression.
uint32_t tsri_parse_expression(tsri_parser *p, int least);
#define TSRI_PRECEDENCE_ADD 10  // additive and tighter: for defaults of compile-time parameters

uint32_t tsri_parse_statement(tsri_parser *p);
uint32_t tsri_parse_block(tsri_parser *p);
uint32_t tsri_parse_declaration(tsri_parser *p, uint8_t flags);  // from the type to the semicolon; DECLS
uint32_t tsri_parse_assert(tsri_parser *p);

#endif
