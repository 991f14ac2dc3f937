// SPDX-License-Identifier: MIT
// Parses tokens into the syntax tree: file-level declarations, and functions that the parser's other files use.
#include "lang/front/parse.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

uint32_t tsri_parse_node(tsri_parser *p, tsri_ast_kind kind, tsri_ir_pos pos) {
  uint32_t node = tsri_item_array_add(&p->module->nodes);
  tsri_ast *ast = tsri_ast_node(p, node);
  if (!node) {  // memory is out: the scratch node must stay a leaf
    *ast = (tsri_ast){.kind = TSRI_AST_NONE};
    return 0;
  }
  ast->kind = (uint8_t)kind;
  ast->pos = pos;
  return node;
}

void tsri_parse_append(tsri_parser *p, tsri_chain *chain, uint32_t node) {
  if (!node) return;
  if (chain->last) tsri_ast_node(p, chain->last)->next = node;
  if (!chain->first) chain->first = node;
  chain->last = node;
}

void tsri_parse_error(tsri_parser *p, tsri_ir_pos pos, const char *format, ...) {
  if (p->is_lost) {
    p->diag->is_muted = true;
    return;
  }
  p->is_lost = true;
  char message[256];
  va_list args;
  va_start(args, format);
  if (vsnprintf(message, sizeof message, format, args) < 0) message[0] = 0;
  va_end(args);
  tsri_diag_error(p->diag, pos, "%s", message);
}

void tsri_parse_hint(tsri_parser *p, const char *hint) { tsri_diag_hint(p->diag, "%s", hint); }

// --- Words of other languages ---------------------------------------------------------------------------------------

const tsri_foreign *tsri_parse_foreign(const tsri_parser *p, const tsri_token *token) {
  bool is_ours = tsri_sym_in(token->symbol, TSRI_SYM_FIRST_DTYPE, TSRI_SYM_LAST_DTYPE);
  if (token->kind != TSRI_TOK_NAME || is_ours) return NULL;
  return tsri_foreign_find(p->module->source.text + token->offset, token->bytes);
}

bool tsri_parse_is_type_word(const tsri_parser *p, const tsri_token *token) {
  if (token->kind != TSRI_TOK_NAME) return false;
  if (tsri_sym_in(token->symbol, TSRI_SYM_FIRST_DTYPE, TSRI_SYM_LAST_DTYPE)) return true;
  const tsri_foreign *foreign = tsri_parse_foreign(p, token);
  return foreign && foreign->kind == TSRI_FOREIGN_TYPE;
}

void tsri_parse_hint_word(tsri_parser *p) {
  const tsri_foreign *foreign = tsri_parse_foreign(p, p->token);
  char room[TSRI_FOREIGN_HINT_BYTES];
  if (foreign) tsri_parse_hint(p, tsri_foreign_hint(foreign, room));
}

void tsri_parse_refuse_word(tsri_parser *p) {
  bool was_lost = p->is_lost;
  tsri_parse_error(p, p->token->pos, "there is no '%.*s' in this language", (int)p->token->bytes,
                   p->module->source.text + p->token->offset);
  tsri_parse_hint_word(p);
  p->is_lost = was_lost;
  tsri_parse_step(p);
}

// Reports and skips static, inline, __device__ and similar words before a declaration.
static void refuse_specifiers(tsri_parser *p) {
  const tsri_foreign *foreign = tsri_parse_foreign(p, p->token);
  while (foreign && foreign->kind == TSRI_FOREIGN_SPECIFIER && p->token[1].kind == TSRI_TOK_NAME) {
    tsri_parse_refuse_word(p);
    foreign = tsri_parse_foreign(p, p->token);
  }
}

// `unsigned int` and similar: reports one error for all the words; the first one determines the type.
static bool skip_type_words(tsri_parser *p) {
  uint32_t count = 0;
  while (tsri_parse_foreign(p, p->token + count) && tsri_parse_is_type_word(p, p->token + count)) count++;
  if (count < 2) return false;
  bool was_lost = p->is_lost;
  const tsri_token *last = p->token + count - 1;
  tsri_parse_error(p, p->token->pos, "'%.*s' is no type", (int)(last->offset + last->bytes - p->token->offset),
                   p->module->source.text + p->token->offset);
  tsri_parse_hint_word(p);
  p->is_lost = was_lost;
  p->token = last + 1;
  return true;
}

static const char *token_text(int kind) {
  static const char *const texts[] = {"(", ")", "{", "}", "[", "]", ";", ",", ":", "<", ">", "=", "."};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    if (texts[i][0] == kind) return texts[i];
  }
  return "?";
}

// The position after the previous token: a missing ')' or ';' is reported where it should be.
static tsri_ir_pos end_of_last(const tsri_parser *p) {
  const tsri_token *last = p->token - 1;
  if (last->kind == TSRI_TOK_END || TSRI_IR_COLUMN(last->pos) + last->bytes > 4095) return p->token->pos;
  return last->pos + last->bytes;
}

bool tsri_parse_expect(tsri_parser *p, int kind, const char *where) {
  if (tsri_parse_accept(p, kind)) return true;
  tsri_parse_error(p, end_of_last(p), "'%s' is missing %s", token_text(kind), where);
  if (p->token->kind == '=' && kind == ')') tsri_parse_hint(p, "to compare, write ==");
  return false;
}

bool tsri_parse_accept(tsri_parser *p, int kind) {
  if (p->is_lost || p->token->kind != kind) return false;
  tsri_parse_step(p);
  return true;
}

bool tsri_parse_accept_word(tsri_parser *p, uint32_t symbol) {
  if (p->is_lost || !tsri_parse_is_word(p, symbol)) return false;
  tsri_parse_step(p);
  return true;
}

void tsri_parse_lose(tsri_parser *p, const tsri_token *from) {
  for (; from < p->token; from++) {
    if (from->kind == TSRI_TOK_NAME) tsri_names_mark_lost(&p->module->names, from->symbol);
  }
  p->is_lost = false;
}

uint32_t tsri_parse_name(tsri_parser *p, const char *what) {
  const tsri_token *token = p->token;
  if (token->kind != TSRI_TOK_NAME) {
    tsri_parse_error(p, token->pos, "the name of %s should stand here", what);
    return 0;
  }
  if (tsri_sym_is_keyword(token->symbol)) {
    tsri_parse_error(p, token->pos, "'%.*s' is a word of the language and cannot name %s", (int)token->bytes,
                     p->module->source.text + token->offset, what);
    return 0;
  }
  if (p->is_lost) return 0;
  tsri_parse_step(p);
  return token->symbol;
}

// <f16, 16, 16, 16> of a fragment's type: the elements' type, then the sizes.
static uint32_t parse_fragment_parts(tsri_parser *p) {
  tsri_chain parts = {0, 0};
  if (!tsri_parse_expect(p, '<', "after a fragment's type: <f16, 16, 16, 16>")) return 0;
  uint32_t part = tsri_parse_type(p);
  while (part) {
    tsri_parse_append(p, &parts, part);
    if (!tsri_parse_accept(p, ',')) break;
    part = tsri_parse_expression(p, TSRI_PRECEDENCE_ADD);
  }
  tsri_parse_expect(p, '>', "after the sizes of a fragment");
  return parts.first;
}

uint32_t tsri_parse_type(tsri_parser *p) {
  refuse_specifiers(p);
  tsri_ir_pos pos = p->token->pos;
  const tsri_foreign *foreign = tsri_parse_foreign(p, p->token);
  bool is_written_long = skip_type_words(p);
  uint32_t symbol = is_written_long ? tsri_names_find(&p->module->names, foreign->ours, strlen(foreign->ours))
                                    : tsri_parse_name(p, "a type");
  if (!symbol) return 0;
  uint32_t node = tsri_parse_node(p, TSRI_AST_TYPE, pos);
  tsri_ast_node(p, node)->symbol = symbol;
  if (tsri_sym_in(symbol, TSRI_SYM_FIRST_ROLE, TSRI_SYM_LAST_ROLE)) {
    uint32_t parts = parse_fragment_parts(p);
    tsri_ast_node(p, node)->a = parts;
  }
  return node;
}

bool tsri_parse_enter(tsri_parser *p) {
  if (p->depth < TSRI_LANG_MAX_DEPTH && !p->diag->is_full) {
    p->depth++;
    return true;
  }
  tsri_parse_error(p, p->token->pos, "nested more than %d levels deep", TSRI_LANG_MAX_DEPTH);
  return false;
}

// --- Parameters -----------------------------------------------------------------------------------------------------

typedef struct type_class {
  const char *name;
  uint32_t dtypes;
} type_class;

#define BIT(name) (1u << TSR_##name)
static const type_class type_classes[] = {
    {"float", BIT(F16) | BIT(BF16) | BIT(F32) | BIT(F64) | BIT(F8_E4M3) | BIT(F8_E5M2)},
    {"int", BIT(I8) | BIT(I16) | BIT(I32) | BIT(I64) | BIT(U8) | BIT(U16) | BIT(U32) | BIT(U64)},
    {"number", ((1u << TSR_DTYPE_COUNT) - 1) & ~BIT(BOOL)},
    {"any", (1u << TSR_DTYPE_COUNT) - 1},
};

static uint32_t parse_one_class(tsri_parser *p) {
  const tsri_token *token = p->token;
  if (token->kind == TSRI_TOK_NAME && tsri_sym_in(token->symbol, TSRI_SYM_FIRST_DTYPE, TSRI_SYM_LAST_DTYPE)) {
    tsri_parse_step(p);
    return 1u << (token->symbol - TSRI_SYM_FIRST_DTYPE);
  }
  for (size_t i = 0; token->kind == TSRI_TOK_NAME && i < sizeof type_classes / sizeof *type_classes; i++) {
    if (strcmp(tsri_names_at(&p->module->names, token->symbol)->text, type_classes[i].name) != 0) continue;
    tsri_parse_step(p);
    return type_classes[i].dtypes;
  }
  tsri_parse_error(p, token->pos, "a type, or one of float, int, number, any should stand here");
  tsri_parse_hint(p, "T: float, or T: f32 | f16");
  return 0;
}

// T, T: float, T: f32 | f16, T = f32, WG = 256, u32 N, u32 N = 4, bool BIAS
static uint32_t parse_generic(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_GENERIC, p->token->pos);
  bool is_size = false;
  uint32_t allowed = (1u << TSR_DTYPE_COUNT) - 1, value = 0, is_bool = 0;
  if (p->token->kind == TSRI_TOK_NAME && p->token[1].kind == TSRI_TOK_NAME) {
    uint32_t type = p->token->symbol;
    is_size = true;
    is_bool = type == TSRI_SYM_DTYPE_BOOL;
    if (!is_bool && type != TSRI_SYM_DTYPE_U32 && type != TSRI_SYM_DTYPE_I32) {
      tsri_parse_error(p, p->token->pos, "a compile-time value is u32, i32 or bool");
    }
    tsri_parse_step(p);
  }
  tsri_ir_pos pos = p->token->pos;
  uint32_t symbol = tsri_parse_name(p, "a compile-time parameter");
  if (!is_size && tsri_parse_accept(p, ':')) {
    allowed = parse_one_class(p);
    while (tsri_parse_accept(p, '|')) allowed |= parse_one_class(p);
  }
  if (tsri_parse_accept(p, '=')) {
    bool is_type = !is_size && p->token->kind == TSRI_TOK_NAME &&
                   tsri_sym_in(p->token->symbol, TSRI_SYM_FIRST_DTYPE, TSRI_SYM_LAST_DTYPE);
    value = is_type ? tsri_parse_type(p) : tsri_parse_expression(p, TSRI_PRECEDENCE_ADD);
    is_size = !is_type;
  }
  if (symbol == TSRI_SYM_WG || symbol == TSRI_SYM_WG_Y || symbol == TSRI_SYM_WG_Z) is_size = true;
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->pos = pos;
  ast->symbol = symbol;
  ast->op = !is_size;
  ast->a = value;
  ast->b = allowed;
  ast->c = is_bool;
  return node;
}

static uint32_t parse_generics(tsri_parser *p) {
  tsri_chain chain = {0, 0};
  uint32_t count = 0;
  if (!tsri_parse_accept(p, '<')) return 0;
  do {
    tsri_ir_pos pos = p->token->pos;
    uint32_t generic = parse_generic(p);
    if (count++ == TSRI_LANG_MAX_GENERICS) {
      tsri_parse_error(p, pos, "there are at most %d compile-time parameters", TSRI_LANG_MAX_GENERICS);
    }
    if (p->is_lost) break;
    tsri_parse_append(p, &chain, generic);
  } while (tsri_parse_accept(p, ','));
  tsri_parse_expect(p, '>', "after the compile-time parameters");
  return chain.first;
}

static uint32_t parse_param(tsri_parser *p) {
  uint32_t node = tsri_parse_node(p, TSRI_AST_PARAM, p->token->pos);
  int access = tsri_parse_accept_word(p, TSRI_SYM_IN)      ? TSRI_ACCESS_IN + 1
               : tsri_parse_accept_word(p, TSRI_SYM_OUT)   ? TSRI_ACCESS_OUT + 1
               : tsri_parse_accept_word(p, TSRI_SYM_INOUT) ? TSRI_ACCESS_INOUT + 1
                                                           : 0;
  uint32_t type = tsri_parse_type(p);
  tsri_ir_pos pos = p->token->pos;
  if (p->token->kind == '*') {
    tsri_parse_error(p, pos, "there are no pointers");
    tsri_parse_hint(p, "a buffer is written: in f32 x[]");
  }
  uint32_t symbol = tsri_parse_name(p, "a parameter");
  bool is_array = tsri_parse_accept(p, '[');
  if (is_array) tsri_parse_expect(p, ']', "after '[': a buffer has no size here");
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->pos = pos;
  ast->symbol = symbol;
  ast->op = (uint8_t)access;
  ast->a = type;
  ast->flags = is_array ? TSRI_AST_IS_ARRAY : 0;
  return node;
}

static uint32_t parse_params(tsri_parser *p, bool is_kernel) {
  tsri_chain chain = {0, 0};
  uint32_t count = 0, most = is_kernel ? TSRI_LANG_MAX_BUFFERS + TSRI_LANG_MAX_PARAMS : TSRI_LANG_MAX_ARGUMENTS;
  tsri_parse_expect(p, '(', "before the parameters");
  while (!p->is_lost && p->token->kind != ')') {
    tsri_ir_pos pos = p->token->pos;
    uint32_t param = parse_param(p);
    if (count++ == most) {
      tsri_parse_error(p, pos, "a %s has at most %u parameters", is_kernel ? "kernel" : "function", most);
    }
    if (p->is_lost) break;
    tsri_parse_append(p, &chain, param);
    if (!tsri_parse_accept(p, ',')) break;
  }
  if (p->token->kind == TSRI_TOK_NAME) {
    tsri_parse_error(p, end_of_last(p), "',' is missing between the parameters");
  } else {
    tsri_parse_expect(p, ')', "after the parameters");
  }
  return chain.first;
}

// --- File level -----------------------------------------------------------------------------------------------------

// Parses hook f32 load(u32 index) { … }, or with a semicolon instead of the body.
static uint32_t parse_hook(tsri_parser *p) {
  tsri_parse_step(p);
  uint32_t result = tsri_parse_accept_word(p, TSRI_SYM_VOID) ? 0 : tsri_parse_type(p);
  uint32_t node = tsri_parse_node(p, TSRI_AST_HOOK, p->token->pos);
  uint32_t symbol = tsri_parse_name(p, "a hook"), body = 0;
  p->params = parse_params(p, false);
  if (p->token->kind == '{' && !p->is_lost) {
    body = tsri_parse_block(p);
  } else {
    tsri_parse_expect(p, ';', "after the hook, or its body");
  }
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->symbol = symbol;
  ast->b = p->params;
  ast->c = body;
  ast->d = result;
  if (node) tsri_parse_returns(p->module, node);
  return node;
}

static uint32_t parse_hooks(tsri_parser *p) {
  tsri_chain chain = {0, 0};
  uint32_t count = 0;
  while (!p->is_lost && tsri_parse_is_word(p, TSRI_SYM_HOOK)) {
    if (count++ == TSRI_LANG_MAX_HOOKS) {
      tsri_parse_error(p, p->token->pos, "a kernel has at most %d hooks", TSRI_LANG_MAX_HOOKS);
      break;
    }
    tsri_parse_append(p, &chain, parse_hook(p));
  }
  return chain.first;
}

// fill blur.load(in f32 scale[]) { … }
static uint32_t parse_fill(tsri_parser *p) {
  tsri_parse_step(p);
  uint32_t errors = p->diag->error_count, body = 0;
  uint32_t kernel = tsri_parse_node(p, TSRI_AST_NAME, p->token->pos);
  uint32_t kernel_symbol = tsri_parse_name(p, "a kernel");
  tsri_parse_expect(p, '.', "between the kernel and its hook");
  uint32_t node = tsri_parse_node(p, TSRI_AST_FILL, p->token->pos);
  uint32_t symbol = tsri_parse_name(p, "a hook");
  p->params = parse_params(p, true);
  if (p->token->kind == '{' && !p->is_lost) {
    body = tsri_parse_block(p);
  } else {
    tsri_parse_expect(p, '{', "before the body");
  }
  tsri_ast_node(p, kernel)->symbol = kernel_symbol;
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->symbol = symbol;
  ast->a = kernel;
  ast->b = p->params;
  ast->c = body;
  if (p->diag->error_count != errors) ast->flags |= TSRI_AST_IS_BROKEN;
  if (node) tsri_parse_returns(p->module, node);
  return node;
}

static uint32_t parse_function(tsri_parser *p, bool is_kernel) {
  uint32_t result = 0, errors = p->diag->error_count;
  if (is_kernel) {
    tsri_parse_step(p);
  } else if (!tsri_parse_accept_word(p, TSRI_SYM_VOID)) {
    result = tsri_parse_type(p);
  }
  uint32_t node = tsri_parse_node(p, is_kernel ? TSRI_AST_KERNEL : TSRI_AST_FUNCTION, p->token->pos);
  uint32_t symbol = tsri_parse_name(p, is_kernel ? "a kernel" : "a function");
  uint32_t generics = parse_generics(p);
  uint32_t params = parse_params(p, is_kernel), body = 0;
  uint32_t hooks = is_kernel ? parse_hooks(p) : 0;
  p->params = params;
  if (p->token->kind == '{' && !p->is_lost) {
    body = tsri_parse_block(p);
  } else {
    tsri_parse_expect(p, '{', "before the body");
  }
  tsri_ast *ast = tsri_ast_node(p, node);
  ast->symbol = symbol;
  ast->a = generics;
  ast->b = params;
  ast->c = body;
  ast->d = is_kernel ? hooks : result;
  if (p->diag->error_count != errors) {
    ast->flags |= TSRI_AST_IS_BROKEN;
    if (!body) ast->kind = TSRI_AST_FUNCTION;  // nothing in it can be checked, and it cannot be launched
  }
  if (node) tsri_parse_returns(p->module, node);
  return node;
}

// Skips to the next file-level declaration. The text that was not understood begins at `from`.
static void find_item(tsri_parser *p, const tsri_token *from) {
  uint32_t open = 0;
  for (; p->token->kind != TSRI_TOK_END; tsri_parse_step(p)) {
    if (tsri_parse_is_word(p, TSRI_SYM_KERNEL)) break;
    if (p->token->kind == '{') open++;
    if (p->token->kind == '}' && (open == 0 || --open == 0)) {
      tsri_parse_step(p);
      break;
    }
    if (p->token->kind == ';' && open == 0) {
      tsri_parse_step(p);
      break;
    }
  }
  tsri_parse_lose(p, from);
}

// Skips a struct, typedef or similar: up to the semicolon at its end, or to the closing brace if there is none.
static void skip_declaration(tsri_parser *p) {
  uint32_t open = 0;
  for (; p->token->kind != TSRI_TOK_END && !tsri_parse_is_word(p, TSRI_SYM_KERNEL); tsri_parse_step(p)) {
    if (p->token->kind == '{') open++;
    bool closes = p->token->kind == '}' && open > 0 && --open == 0;
    bool goes_on = p->token[1].kind == TSRI_TOK_NAME || p->token[1].kind == ';';
    if ((p->token->kind == ';' && open == 0) || (closes && !goes_on)) {
      tsri_parse_step(p);
      return;
    }
  }
}

// Reports a word of another language at the beginning of a declaration. Returns true if the whole declaration was
// skipped.
static bool refuse_item(tsri_parser *p) {
  const tsri_token *from = p->token;
  const tsri_foreign *foreign = tsri_parse_foreign(p, from);
  refuse_specifiers(p);
  if (!foreign || foreign->kind != TSRI_FOREIGN_WORD || p->token[1].kind == '(') return false;
  tsri_parse_refuse_word(p);
  skip_declaration(p);
  tsri_parse_lose(p, from);
  return true;
}

static uint32_t parse_item(tsri_parser *p) {
  if (p->token->kind == ';') {
    tsri_parse_step(p);
    return 0;
  }
  if (tsri_parse_is_word(p, TSRI_SYM_FILL) && p->token[1].kind == TSRI_TOK_NAME && p->token[2].kind == '.') {
    return parse_fill(p);
  }
  if (refuse_item(p)) return 0;
  if (tsri_parse_is_word(p, TSRI_SYM_KERNEL)) return parse_function(p, true);
  if (tsri_parse_is_word(p, TSRI_SYM_STATIC_ASSERT)) return tsri_parse_assert(p);
  if (tsri_parse_accept_word(p, TSRI_SYM_CONST)) return tsri_parse_declaration(p, TSRI_AST_IS_CONST);
  if (tsri_parse_is_word(p, TSRI_SYM_VOID)) return parse_function(p, false);
  if (p->token->kind == TSRI_TOK_NAME && !tsri_sym_is_keyword(p->token->symbol) && p->token[1].kind == TSRI_TOK_NAME) {
    const tsri_token *name = p->token + 1;
    while (tsri_parse_is_type_word(p, name - 1) && tsri_parse_is_type_word(p, name) && name[1].kind == TSRI_TOK_NAME)
      name++;
    if (name[1].kind == '(' || name[1].kind == '<') return parse_function(p, false);
    tsri_parse_error(p, p->token->pos, "there are no variables at file level");
    tsri_parse_hint(p, "put 'const' before it, or declare it in a kernel");
    return 0;
  }
  tsri_parse_error(p, p->token->pos, "a kernel, a function or a constant should stand here");
  tsri_parse_hint(p, "kernel name(in f32 x[], out f32 y[], u32 n) { … }");
  tsri_parse_step(p);
  return 0;
}

void tsri_parse(tsri_module *module, tsri_diag *diag, const tsri_token *tokens) {
  tsri_parser parser = {.module = module, .diag = diag, .token = tokens};
  tsri_chain chain = {0, 0};
  while (parser.token->kind != TSRI_TOK_END && !diag->is_full && !module->nodes.has_failed) {
    parser.depth = 0;
    const tsri_token *from = parser.token;
    uint32_t item = parse_item(&parser);
    if (parser.is_lost) find_item(&parser, from);
    if (!item) continue;
    // `const a = 1, b = 2;` makes several items.
    bool is_list = tsri_ast_node(&parser, item)->kind == TSRI_AST_DECLS;
    uint32_t next = is_list ? tsri_ast_node(&parser, item)->a : item;
    while (next) {
      uint32_t after = is_list ? tsri_ast_node(&parser, next)->next : 0;
      tsri_parse_append(&parser, &chain, next);
      next = after;
    }
  }
  module->items = chain.first;
}
