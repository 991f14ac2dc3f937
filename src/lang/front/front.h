// SPDX-License-Identifier: MIT
// Declarations shared by the stages of the front end: source text, symbols, tokens, the syntax tree, diagnostics, the
// module.
//
// Names are interned: a symbol is a number. The names of the language itself have fixed numbers (TSRI_SYM_*), so that
// the stages compare numbers instead of text.
#ifndef TSRI_LANG_FRONT_H
#define TSRI_LANG_FRONT_H

#include "core/builder.h"
#include "core/error.h"
#include "lang/front/item_array.h"
#include "lang/lang.h"

// --- Symbols --------------------------------------------------------------------------------------------------------

// clang-format off
// identifier part, spelling
#define TSRI_LANG_KEYWORDS(X) \
  X(KERNEL, "kernel") X(IN, "in") X(OUT, "out") X(INOUT, "inout") X(SHARED, "shared") X(CONST, "const") X(IF, "if") \
  X(ELSE, "else") X(FOR, "for") X(WHILE, "while") X(DO, "do") X(SWITCH, "switch") X(GOTO, "goto") \
  X(STRUCT, "struct") X(BREAK, "break") X(CONTINUE, "continue") X(RETURN, "return") X(TRUE, "true") \
  X(FALSE, "false") X(STATIC_ASSERT, "static_assert") X(BITCAST, "bitcast") X(VOID, "void")

// Names that are not keywords: a declaration may hide them.
#define TSRI_LANG_NAMES(X) \
  X(WG, "WG") X(WG_Y, "WG_Y") X(WG_Z, "WG_Z") X(RESIDENT, "RESIDENT") X(INFINITY, "INFINITY") X(NAN, "NAN") X(PI, "PI") \
  X(F32_MAX, "F32_MAX") X(F32_MIN, "F32_MIN") X(F32_EPSILON, "F32_EPSILON") X(I32_MIN, "I32_MIN") \
  X(I32_MAX, "I32_MAX") X(U32_MAX, "U32_MAX") X(BARRIER, "barrier") X(CLAMP, "clamp") X(LOAD2, "load2") \
  X(LOAD4, "load4") X(LOAD4_ONCE, "load4_once") X(STORE2, "store2") X(STORE4, "store4") X(UNROLL, "unroll") X(LANE_X, "x") X(LANE_Y, "y") \
  X(LANE_Z, "z") X(LANE_W, "w") X(HOOK, "hook") X(FILL, "fill")
// clang-format on

typedef enum tsri_symbol {
  TSRI_SYM_NONE,
#define TSRI_X(name, spelling) TSRI_SYM_##name,
  TSRI_LANG_KEYWORDS(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, lower, bytes, kind, text) TSRI_SYM_DTYPE_##name,
      TSR_DTYPES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, has_axis, uniform, meaning) TSRI_SYM_ID_##name,
          TSRI_IR_IDS(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, rows, cols, meaning) TSRI_SYM_ROLE_##name,
              TSRI_IR_ROLES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling) TSRI_SYM_##name,
                  TSRI_LANG_NAMES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, arity, rule, is_operator, meaning) TSRI_SYM_OP_##name,
                      TSRI_IR_OPS(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, scope, arity, rule, meaning) TSRI_SYM_COLLECTIVE_##name,
                          TSRI_IR_COLLECTIVES(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, operands, meaning) TSRI_SYM_ATOMIC_##name,
                              TSRI_IR_ATOMICS(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, spelling, least, most, form) TSRI_SYM_FRAGMENT_##name,
                                  TSRI_IR_FRAGMENT_OPS(TSRI_X)
#undef TSRI_X
                                      TSRI_SYM_BUILTIN_COUNT,

  TSRI_SYM_FIRST_KEYWORD = TSRI_SYM_KERNEL,
  TSRI_SYM_LAST_KEYWORD = TSRI_SYM_VOID,
  TSRI_SYM_FIRST_DTYPE = TSRI_SYM_DTYPE_BOOL,
  TSRI_SYM_LAST_DTYPE = TSRI_SYM_FIRST_DTYPE + TSR_DTYPE_COUNT - 1,
  TSRI_SYM_FIRST_ID = TSRI_SYM_ID_GROUP,
  TSRI_SYM_LAST_ID = TSRI_SYM_ID_SUBGROUP_LANE,
  TSRI_SYM_FIRST_ROLE = TSRI_SYM_ROLE_LEFT,
  TSRI_SYM_LAST_ROLE = TSRI_SYM_ROLE_SUM,
  TSRI_SYM_FIRST_PLAIN = TSRI_SYM_LANE_X,  // names that any declaration may use
  TSRI_SYM_LAST_PLAIN = TSRI_SYM_FILL,
  TSRI_SYM_FIRST_OP = TSRI_SYM_OP_NEG,
  TSRI_SYM_LAST_OP = TSRI_SYM_OP_ALL,
  TSRI_SYM_FIRST_COLLECTIVE = TSRI_SYM_COLLECTIVE_GROUP_SUM,
  TSRI_SYM_LAST_COLLECTIVE = TSRI_SYM_COLLECTIVE_SUBGROUP_BALLOT,
  TSRI_SYM_FIRST_ATOMIC = TSRI_SYM_ATOMIC_ADD,
  TSRI_SYM_LAST_ATOMIC = TSRI_SYM_ATOMIC_COMPARE_EXCHANGE,
  TSRI_SYM_FIRST_FRAGMENT_OP = TSRI_SYM_FRAGMENT_FILL,
  TSRI_SYM_LAST_FRAGMENT_OP = TSRI_SYM_FRAGMENT_MULTIPLY_ADD
} tsri_symbol;

typedef struct tsri_name {
  const char *text;  // ends with a NUL
  uint32_t bytes;
  uint32_t hash;
  bool is_in_lost_text;  // the name occurs in text that was skipped after a syntax error, so it may be declared there
} tsri_name;

// Symbol table: tsri_name items, and an open-addressing index over them.
typedef struct tsri_names {
  tsri_item_array pool;
  uint32_t *slots;
  uint32_t slot_count;  // a power of two
  char *store;          // where the text of the next new name is copied
} tsri_names;

// Fills in the language's own names. `store` receives the text of all others, each with a NUL: one byte more than the
// source has is enough. False: memory is out.
bool tsri_names_init(tsri_names *names, char *store);
void tsri_names_deinit(tsri_names *names);
// Returns 0 if memory is out.
uint32_t tsri_names_intern(tsri_names *names, const char *text, size_t bytes);
uint32_t tsri_names_find(const tsri_names *names, const char *text, size_t bytes);  // 0: unknown name
const tsri_name *tsri_names_at(const tsri_names *names, uint32_t symbol);
void tsri_names_mark_lost(tsri_names *names, uint32_t symbol);

static inline bool tsri_sym_in(uint32_t symbol, uint32_t first, uint32_t last) {
  return symbol >= first && symbol <= last;
}
static inline bool tsri_sym_is_keyword(uint32_t symbol) {
  return tsri_sym_in(symbol, TSRI_SYM_FIRST_KEYWORD, TSRI_SYM_LAST_KEYWORD);
}

// --- Tokens ---------------------------------------------------------------------------------------------------------

// Kinds below 128 are single characters.
typedef enum tsri_token_kind {
  TSRI_TOK_END = 0,
  TSRI_TOK_NAME = 128,
  TSRI_TOK_INT,
  TSRI_TOK_FLOAT,
  TSRI_TOK_STRING,
  TSRI_TOK_SHL,
  TSRI_TOK_SHR,
  TSRI_TOK_LE,
  TSRI_TOK_GE,
  TSRI_TOK_EQ,
  TSRI_TOK_NE,
  TSRI_TOK_AND_AND,
  TSRI_TOK_OR_OR,
  TSRI_TOK_PLUS_PLUS,
  TSRI_TOK_MINUS_MINUS,
  TSRI_TOK_ARROW,
  TSRI_TOK_ASSIGN_OP  // `op` is the tsri_ir_op of a compound assignment
} tsri_token_kind;

typedef enum tsri_suffix { TSRI_SUFFIX_NONE, TSRI_SUFFIX_U, TSRI_SUFFIX_F } tsri_suffix;

typedef struct tsri_token {
  uint8_t kind;
  uint8_t op;      // ASSIGN_OP
  uint8_t suffix;  // INT, FLOAT
  tsri_ir_pos pos;
  uint32_t offset, bytes;  // in the source
  union {
    uint32_t symbol;  // NAME
    uint64_t integer;
    double real;
  };
} tsri_token;

// --- Source and diagnostics -----------------------------------------------------------------------------------------

typedef struct tsri_source {
  const char *file;
  const char *text;  // ends with a NUL, after `bytes`
  size_t bytes;
  tsri_item_array lines;  // uint32_t: offset at which line i begins, counted from 1
  uint32_t fills_line;    // first line of the `fill` declarations that were given separately; 0: there are none
} tsri_source;

typedef struct tsri_diag {
  const tsri_source *source;
  tsri_builder text;
  uint32_t error_count;
  bool is_full;   // TSRI_LANG_MAX_ERRORS was reached: no more errors are reported
  bool is_muted;  // the last error or warning was a repetition, so its notes and hints are dropped
  tsri_ir_pos reported[TSRI_LANG_MAX_ERRORS];
  uint32_t warning_count;
  tsri_ir_pos warned[TSRI_LANG_MAX_ERRORS];
  const char *context;  // a line to write once before the next error or warning; NULL: none
} tsri_diag;

void tsri_diag_error(tsri_diag *diag, tsri_ir_pos pos, const char *format, ...) TSRI_PRINTF(3, 4);
void tsri_diag_warning(tsri_diag *diag, tsri_ir_pos pos, const char *format, ...) TSRI_PRINTF(3, 4);
// Returns the status of a stage: TSR_OK, TSR_ERR_BUILD with the text as the message, or TSR_ERR_OUT_OF_MEMORY if `ok`
// is false. `out_log` (may be NULL) receives the text, or NULL if there is none; the caller frees it.
tsr_status tsri_diag_finish(tsri_diag *diag, bool ok, char **out_log);
// Notes and hints belong to the error or warning before them.
void tsri_diag_note(tsri_diag *diag, tsri_ir_pos pos, const char *format, ...) TSRI_PRINTF(3, 4);
void tsri_diag_hint(tsri_diag *diag, const char *format, ...) TSRI_PRINTF(2, 3);

// --- Syntax tree ----------------------------------------------------------------------------------------------------

// The comments say what the fields of tsri_ast hold; lists are chained by `next`.
typedef enum tsri_ast_kind {
  TSRI_AST_NONE,
  // Top level
  TSRI_AST_KERNEL,         // symbol; a: GENERICs, b: PARAMs, c: BLOCK, d: HOOKs
  TSRI_AST_FUNCTION,       // as KERNEL, but d: TYPE of the result, 0: void
  TSRI_AST_HOOK,           // in a kernel: symbol; a: FILL or 0, b: PARAMs, c: BLOCK or 0, d: TYPE of the result
  TSRI_AST_FILL,           // symbol of the hook; a: NAME of the kernel, b: PARAMs, c: BLOCK, d: as in the hook
  TSRI_AST_STATIC_ASSERT,  // a: condition, b: offset and c: bytes of the message in the source; also a statement
  TSRI_AST_GENERIC,        // symbol, op 1: a type; a: default (expression or TYPE), b: allowed dtypes as bits,
                           // c: 1 for a bool
  TSRI_AST_PARAM,          // symbol, op: tsri_ir_access + 1, 0: none; a: TYPE, flag ARRAY
  TSRI_AST_TYPE,           // symbol; a fragment's: a: TYPE of an element, followed by the sizes m, n, k
  // Statements
  TSRI_AST_BLOCK,   // a: statements
  TSRI_AST_DECL,    // symbol, a: TYPE, b: value or 0, c: array sizes; flags CONST, SHARED; also at top level
  TSRI_AST_ASSIGN,  // a = b, or with op > 0: a (op - 1)= b
  TSRI_AST_IF,      // a: condition, b: then, c: else or 0
  TSRI_AST_LOOP,    // a: first statements, b: condition or 0, c: step statements, d: body; op 1: unrolled
  TSRI_AST_BREAK,
  TSRI_AST_CONTINUE,
  TSRI_AST_RETURN,     // a: value or 0
  TSRI_AST_CALL_STMT,  // a: CALL
  TSRI_AST_DECLS,      // a: DECLs of one statement, in the enclosing scope
  // Expressions
  TSRI_AST_NAME,      // symbol
  TSRI_AST_INT,       // bits, op: suffix
  TSRI_AST_FLOAT,     // bits of the double, op: suffix
  TSRI_AST_BOOL,      // bits
  TSRI_AST_UNARY,     // op: tsri_ir_op; a
  TSRI_AST_BINARY,    // op; a, b
  TSRI_AST_AND_THEN,  // a, b
  TSRI_AST_OR_ELSE,   // a, b
  TSRI_AST_COND,      // a, b, c
  TSRI_AST_CALL,      // symbol; a: arguments
  TSRI_AST_BITCAST,   // a: TYPE, b: value
  TSRI_AST_INDEX,     // a [ b ]
  TSRI_AST_MEMBER,    // a . symbol
  TSRI_AST_LIST       // a: values; only as the value of an array declaration
} tsri_ast_kind;

enum {
  TSRI_AST_IS_CONST = 1,
  TSRI_AST_IS_SHARED = 2,
  TSRI_AST_IS_ARRAY = 4,
  TSRI_AST_IS_ASSIGNED = 8,  // PARAM of a function: the body assigns to a name like this
  TSRI_AST_NEEDS_FLAG = 16,  // FUNCTION, KERNEL: it has a return that is not in tail position
  TSRI_AST_HAS_RETURN = 32,  // statement: contains a return
  TSRI_AST_ENDS = 64,        // statement: every path through it ends with a return
  TSRI_AST_IS_BROKEN = 128   // FUNCTION, KERNEL: has syntax errors; if it has no body, in its head
};

typedef struct tsri_ast {
  uint8_t kind, op, flags;
  uint8_t depth;  // nesting depth of an expression
  tsri_ir_pos pos;
  uint32_t next;
  uint32_t symbol;
  uint32_t a, b;
  union {
    struct {
      uint32_t c, d;
    };
    uint64_t bits;
  };
} tsri_ast;

// --- The module -----------------------------------------------------------------------------------------------------

struct tsri_module {
  tsri_source source;
  tsri_names names;
  tsri_item_array nodes;  // tsri_ast
  uint32_t items;         // the first top-level node
  bool has_lost_text;     // the lexer skipped characters, which may have contained any name
  uint32_t kernel_count;
  tsri_lang_kernel_info *kernels;
  void *info_memory;  // the memory that `kernels` points to
  char *text;         // file name, source and names in one block
};

static inline tsri_ast *tsri_ast_at(const tsri_module *module, uint32_t node) {
  return (tsri_ast *)module->nodes.items + node;
}

// Splits the source into tokens, interns names, and fills source.lines. False: memory is out.
bool tsri_lex(tsri_module *module, tsri_diag *diag, tsri_item_array *out_tokens);
// Builds the syntax tree.
void tsri_parse(tsri_module *module, tsri_diag *diag, const tsri_token *tokens);
// Determines how each function returns (NEEDS_FLAG, HAS_RETURN, ENDS) and which parameters it assigns to.
void tsri_parse_returns(tsri_module *module, uint32_t function);
// Checks everything that does not depend on compile-time parameters, and fills `kernels`. False: memory is out.
bool tsri_module_finish(tsri_module *module, tsri_diag *diag);

#endif
