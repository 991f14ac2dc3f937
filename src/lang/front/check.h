// SPDX-License-Identifier: MIT
// The checker: walks the syntax tree of one kernel with its compile-time parameters bound, checks types, folds
// constants, inlines functions, and builds the checked form as it goes.
//
//   check.c         bindings, scopes, types           check_stmt.c     statements, returns, loops
//   check_value.c   operands: conversion, memory      check_call.c     built-in functions
//   check_ops.c     operators and their type rules    check_inline.c   calls of functions in the file
//   check_expr.c    expressions                       fold.c           arithmetic on constants
//   check_unroll.c  unrolled loops
#ifndef TSRI_LANG_CHECK_H
#define TSRI_LANG_CHECK_H

#include "lang/front/front.h"

#define TSRI_MAX_DIMS    TSRI_IR_MAX_DIMS
#define TSRI_CHECK_DEPTH 256  // of statements, expressions and calls together

typedef enum tsri_check_operand_kind {
  TSRI_OPERAND_ERROR,  // already reported: whatever uses it keeps quiet
  TSRI_OPERAND_VOID,   // a call without a result
  TSRI_OPERAND_INT,    // a constant that takes its type from where it is used
  TSRI_OPERAND_FLOAT,
  TSRI_OPERAND_VALUE,  // `expr` of `type`
  TSRI_OPERAND_TYPE,   // a type's name, `type.dtype` (any dtype)
  TSRI_OPERAND_ARRAY   // `binding`
} tsri_check_operand_kind;

typedef struct tsri_check_operand {
  uint8_t kind;
  uint8_t held;  // VALUE: a dtype that holds it without loss, where known; else type.dtype
  tsri_ir_type type;
  tsri_ir_pos pos;
  uint32_t expr;
  uint32_t binding;
  union {
    int64_t integer;
    double real;
  };
} tsri_check_operand;

typedef enum tsri_name_binding_kind {
  TSRI_BIND_BROKEN,    // its declaration was wrong: uses are quiet
  TSRI_BIND_CONST,     // `value`
  TSRI_BIND_LATER,     // file-level constant, `node`, not yet looked at
  TSRI_BIND_BUSY,      // file-level constant being evaluated
  TSRI_BIND_VAR,       // `object` in vars, `storage` as declared
  TSRI_BIND_SCALAR,    // `object` in params
  TSRI_BIND_ARRAY,     // `object` in arrays[space]
  TSRI_BIND_TYPE,      // `storage`
  TSRI_BIND_FUNCTION,  // `node`
  TSRI_BIND_KERNEL
} tsri_name_binding_kind;

typedef struct tsri_name_binding {
  uint8_t kind, storage, space, access;
  uint8_t dim_count;
  bool is_const;
  bool is_read;  // VAR: something asked for its value
  tsri_ir_type type;
  tsri_ir_pos pos;
  uint32_t symbol, previous, scope;
  uint32_t object, node;
  uint32_t before;  // a function's parameter in a variable: statement before the one that assigns it, which is `node`
  uint32_t dims[TSRI_MAX_DIMS];
  tsri_check_operand value;
} tsri_name_binding;

// Statements being put one after the other.
typedef struct tsri_stmt_list {
  uint32_t first, last;
} tsri_stmt_list;

// A function (or the kernel) whose body is being checked.
typedef struct tsri_frame {
  struct tsri_frame *parent;
  uint32_t function;       // its node
  uint32_t first_binding;  // older ones belong to callers and are not seen, except those of the file
  bool sees_kernel;        // a hook: except those of the kernel's parameters, too
  uint32_t loop_depth;
  uint32_t result, flag;   // variables: what it returns, whether it has returned; 0: none
  uint8_t storage, lanes;  // of the result
  tsri_ir_pos call;
} tsri_frame;

typedef struct tsri_checker {
  const tsri_module *module;
  tsri_diag *diag;
  tsri_item_array exprs, stmts, vars, bindings, params, arrays[3];
  uint32_t *latest;          // newest binding of each symbol
  uint32_t file_bindings;    // bindings below this number belong to the file
  uint32_t kernel_bindings;  // those from there to below this one are the kernel's parameters and hooks
  uint32_t scope;            // number of open scopes
  uint32_t depth;
  uint32_t steps;        // statements, expressions and calls looked at
  uint64_t local_bytes;  // of the local arrays so far
  tsri_frame *frame;
  tsri_stmt_list *block;
  uint32_t group_size[3];
  uint32_t unrolled;   // `unroll for`s around
  bool is_const_only;  // no code may be built: file-level constants and defaults
  bool is_checked;     // the kernel tests its indices
  bool is_trial;       // nobody will run the kernel: a hook without a body need not be filled
  bool is_too_large;   // said once
  bool discards;       // the next call is a statement: nobody wants its result
} tsri_checker;

// Where the rest of a list of statements goes after one of them.
enum { TSRI_FLOW_STOPS = 1, TSRI_FLOW_MAY_RETURN = 2 };

static inline tsri_ir_expr *tsri_expr_at(const tsri_checker *c, uint32_t id) {
  return (tsri_ir_expr *)c->exprs.items + id;
}
static inline tsri_ir_stmt *tsri_stmt_at(const tsri_checker *c, uint32_t id) {
  return (tsri_ir_stmt *)c->stmts.items + id;
}
static inline tsri_ir_var *tsri_var_at(const tsri_checker *c, uint32_t id) { return (tsri_ir_var *)c->vars.items + id; }
static inline tsri_name_binding *tsri_name_binding_at(const tsri_checker *c, uint32_t id) {
  return (tsri_name_binding *)c->bindings.items + id;
}
static inline tsri_ir_array *tsri_array_at(const tsri_checker *c, uint32_t space, uint32_t id) {
  return (tsri_ir_array *)c->arrays[space].items + id;
}
static inline const tsri_ast *tsri_ast_of(const tsri_checker *c, uint32_t node) { return tsri_ast_at(c->module, node); }

// --- check.c --------------------------------------------------------------------------------------------------------

bool tsri_checker_init(tsri_checker *c, const tsri_module *module, tsri_diag *diag);  // with the file's names bound
void tsri_checker_deinit(tsri_checker *c);
void tsri_checker_reset(tsri_checker *c);             // forgets the kernel, keeps the file's names: for the next kernel
bool tsri_checker_has_failed(const tsri_checker *c);  // memory ran out
bool tsri_check_is_over(tsri_checker *c);             // stop: memory is out, too many errors, or too large (says so)

// The name stands in text that was skipped after a syntax error. Not finding its declaration is then no error.
bool tsri_check_may_be_lost(const tsri_checker *c, uint32_t symbol);
// The function that is being checked has syntax errors, so a loop or a return of it may be missing.
bool tsri_check_is_broken(const tsri_checker *c);

// False, with an error, when nested too deep.
bool tsri_check_enter(tsri_checker *c, tsri_ir_pos pos);
static inline void tsri_check_leave(tsri_checker *c) { c->depth--; }

uint32_t tsri_scope_open(tsri_checker *c);  // returns what close takes
void tsri_scope_close(tsri_checker *c, uint32_t mark);
// Binds a symbol in the innermost scope; an error if it has one there, or is taken by the language.
uint32_t tsri_bind(tsri_checker *c, tsri_name_binding_kind kind, uint32_t symbol, tsri_ir_pos pos);
uint32_t tsri_lookup(const tsri_checker *c, uint32_t symbol);  // 0: none that can be seen here

// printf("%.*s", TSRI_NAME(c, symbol))
#define TSRI_NAME(c, symbol) \
  (int)tsri_names_at(&(c)->module->names, symbol)->bytes, tsri_names_at(&(c)->module->names, symbol)->text

// The type a TYPE node names. False, with an error, if none.
bool tsri_check_type(tsri_checker *c, uint32_t node, tsr_dtype *out_dtype, uint8_t *out_lanes);
bool tsri_symbol_type(const tsri_checker *c, uint32_t symbol, tsr_dtype *out_dtype, uint8_t *out_lanes);
// A hint with the nearest name that could stand here.
enum { TSRI_SUGGEST_TYPES = 1, TSRI_SUGGEST_VALUES = 2, TSRI_SUGGEST_CALLS = 4 };
void tsri_suggest(tsri_checker *c, uint32_t symbol, uint32_t what);
// A constant expression's value. False, with an error, if it is none.
bool tsri_check_constant(tsri_checker *c, uint32_t node, const char *what, int64_t *out_value);
void tsri_check_assert(tsri_checker *c, uint32_t node);
tsri_check_operand tsri_file_constant(tsri_checker *c, uint32_t id);
tsri_check_operand tsri_file_value(tsri_checker *c, uint32_t id);  // of a constant that was evaluated

// --- check_value.c --------------------------------------------------------------------------------------------------

tsri_check_operand tsri_error_operand(tsri_ir_pos pos);
tsri_check_operand tsri_checked_value(const tsri_checker *c, uint32_t expr);  // of an expression just made
uint32_t tsri_emit(tsri_checker *c, tsri_ir_expr expr);
tsri_check_operand tsri_const_value(tsri_checker *c, tsr_dtype dtype, uint64_t bits, tsri_ir_pos pos);
bool tsri_is_const(const tsri_checker *c, const tsri_check_operand *operand);  // VALUE that is a CONST
uint64_t tsri_const_bits(const tsri_checker *c, const tsri_check_operand *operand);
bool tsri_is_leaf(const tsri_checker *c, uint32_t expr);
tsri_check_operand tsri_splat(tsri_checker *c, tsri_check_operand value, uint8_t lanes);
// A literal given the type; values pass unchanged. ERROR, with a message, where it does not fit.
tsri_check_operand tsri_adapt(tsri_checker *c, tsri_check_operand operand, tsr_dtype dtype, uint8_t lanes);
tsri_check_operand tsri_default_type(tsri_checker *c, tsri_check_operand operand);  // a literal alone: i32 or f32
// As adapt, and anything that is not a value is an error.
tsri_check_operand tsri_need_value(tsri_checker *c, tsri_check_operand operand);
// Explicit conversion to any dtype.
tsri_check_operand tsri_convert_to(tsri_checker *c, tsri_check_operand operand, tsr_dtype dtype);
// Implicit: what may be assigned to something declared as `storage`. `what`: "variable 'x'".
tsri_check_operand tsri_assignable(tsri_checker *c, tsri_check_operand operand, tsr_dtype storage, uint8_t lanes,
                                   const char *what);
tsri_check_operand tsri_need_bool(tsri_checker *c, tsri_check_operand operand, const char *what);
// Brings both to one type. False, with an error, if they do not mix.
bool tsri_unify(tsri_checker *c, tsri_ir_pos pos, const char *what, tsri_check_operand *a, tsri_check_operand *b);
const char *tsri_check_operand_type_name(const tsri_check_operand *operand);

extern const char tsri_temp_name[], tsri_flag_name[];  // of variables that are not in the source
uint32_t tsri_new_var(tsri_checker *c, const char *name, tsri_ir_type type);
tsri_check_operand tsri_var_value(tsri_checker *c, uint32_t var, tsri_ir_pos pos);
uint32_t tsri_append(tsri_checker *c, tsri_ir_stmt stmt);
void tsri_assign(tsri_checker *c, uint32_t var, tsri_check_operand value, tsri_ir_pos pos);
// The value in a variable, unless it is a leaf.
tsri_check_operand tsri_spill(tsri_checker *c, tsri_check_operand value);
// If statements were added to the block since `mark` (its `last` then), computes the operand before them.
void tsri_keep_order(tsri_checker *c, tsri_check_operand *operand, uint32_t *mark);

// --- fold.c ---------------------------------------------------------------------------------------------------------

// The operation on constants of `dtype`; false if it is not one that is folded.
bool tsri_fold(tsri_ir_op op, tsr_dtype dtype, const uint64_t *args, uint64_t *out_bits);
uint64_t tsri_fold_convert(tsr_dtype from, uint64_t bits, tsr_dtype to);  // `to` as stored, then its compute type
bool tsri_fold_whole(tsri_ir_op op, int64_t a, int64_t b, int64_t *out);  // +, -, *: false on overflow

// --- check_ops.c, check_expr.c, check_call.c, check_inline.c, check_stmt.c --------------------------------------------

tsri_check_operand tsri_check_op(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op, tsri_check_operand *args);
// `want`: dtype that literals should take where nothing else decides; TSR_DTYPE_COUNT: none.
tsri_check_operand tsri_check_expr(tsri_checker *c, uint32_t node, tsr_dtype want);
// A reference to an element: the array's binding, and the index, which is of an integer type.
typedef struct tsri_element {
  uint32_t binding;  // 0: an error, already said
  tsri_check_operand index;
} tsri_element;
tsri_element tsri_check_element(tsri_checker *c, uint32_t node);
tsri_check_operand tsri_check_index(tsri_checker *c, tsri_check_operand index);
tsri_check_operand tsri_load(tsri_checker *c, const tsri_element *element, uint8_t lanes, tsri_ir_pos pos);
void tsri_store(tsri_checker *c, const tsri_element *element, tsri_check_operand value, uint8_t lanes, tsri_ir_pos pos);
bool tsri_may_store(tsri_checker *c, uint32_t binding, tsri_ir_pos pos);

tsri_check_operand tsri_check_call(tsri_checker *c, uint32_t node, tsr_dtype want);
// Checks arguments from left to right; returns their count, at most `most` (more are an error of the caller's).
uint32_t tsri_check_args(tsri_checker *c, uint32_t first, tsri_check_operand *out, uint32_t most, tsr_dtype want);
tsri_check_operand tsri_inline(tsri_checker *c, uint32_t node, uint32_t function);

int tsri_check_list(tsri_checker *c, uint32_t first);  // TSRI_FLOW_ bits
void tsri_check_statement(tsri_checker *c, uint32_t node);
void tsri_check_unrolled(tsri_checker *c, const tsri_ast *ast);  // an `unroll for` (check_unroll.c)
int tsri_check_body(tsri_checker *c, uint32_t block);            // the body of the present frame

// specialise.c: the kernel at `node` with these compile-time parameters into `c`, which was just made or reset.
// `out_variant`: "blur<T=f32, WG=256>". Errors go to the diagnostics. False: no memory.
#define TSRI_VARIANT_BYTES 512
bool tsri_check_kernel(tsri_checker *c, uint32_t node, const tsri_lang_kernel_info *info, const tsri_lang_arg *args,
                       size_t arg_count, tsri_kernel *head, char out_variant[TSRI_VARIANT_BYTES]);
// check_all.c: every kernel of the module, with each type it may have. False: no memory.
bool tsri_check_all(const tsri_module *module, tsri_diag *diag);

// uniform.c: marks what is the same in all items of a group; reports barriers where not all arrive.
bool tsri_check_uniform(tsri_checker *c, uint32_t body);  // false: no memory

#endif
