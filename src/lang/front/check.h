// SPDX-License-Identifier: MIT
// The checker: walks the syntax tree of one kernel whose compile-time parameters are bound. It checks types, folds
// constants, inlines functions, and builds the checked form (ir.h).
//
//   check.c         bindings, scopes, types           check_stmt.c     statements, returns, loops
//   check_value.c   operands: conversion, memory      check_call.c     built-in functions
//   check_ops.c     operators and their type rules    check_inline.c   calls of functions in the file
//   check_expr.c    expressions                       fold.c           arithmetic on constants
//   check_unroll.c  unrolled loops                    check_fragment.c  fragments and what is done with them
#ifndef TSRI_LANG_CHECK_H
#define TSRI_LANG_CHECK_H

#include "lang/front/front.h"

#define TSRI_MAX_DIMS    TSRI_IR_MAX_DIMS
#define TSRI_CHECK_DEPTH 256  // limit for nested statements, expressions and calls together

typedef enum tsri_check_operand_kind {
  TSRI_OPERAND_ERROR,  // already reported: expressions that use it report nothing
  TSRI_OPERAND_VOID,   // a call without a result
  TSRI_OPERAND_INT,    // a literal: its type depends on where it is used
  TSRI_OPERAND_FLOAT,
  TSRI_OPERAND_VALUE,  // `expr` of `type`
  TSRI_OPERAND_TYPE,   // the name of a type, `type.dtype` (any dtype)
  TSRI_OPERAND_ARRAY   // `binding`
} tsri_check_operand_kind;

typedef struct tsri_check_operand {
  uint8_t kind;
  uint8_t held;  // VALUE: a dtype known to represent the value exactly, otherwise type.dtype
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
  TSRI_BIND_BROKEN,    // its declaration was wrong: using it reports nothing
  TSRI_BIND_CONST,     // `value`
  TSRI_BIND_LATER,     // file-level constant, `node`, not evaluated yet
  TSRI_BIND_BUSY,      // file-level constant being evaluated
  TSRI_BIND_VAR,       // `object` in vars, `storage` as declared
  TSRI_BIND_SCALAR,    // `object` in params
  TSRI_BIND_ARRAY,     // `object` in arrays[space]
  TSRI_BIND_FRAGMENT,  // `object` in fragments; for an array, that of its first fragment
  TSRI_BIND_TYPE,      // `storage`
  TSRI_BIND_FUNCTION,  // `node`
  TSRI_BIND_KERNEL
} tsri_name_binding_kind;

typedef struct tsri_name_binding {
  uint8_t kind, storage, space, access;
  uint8_t dim_count;
  bool is_const;
  bool is_read;  // VAR: its value was used
  tsri_ir_type type;
  tsri_ir_pos pos;
  uint32_t symbol, previous, scope;
  uint32_t object, node;
  uint32_t before;  // function parameter held in a variable: the statement before its assignment, which is `node`
  uint32_t dims[TSRI_MAX_DIMS];
  tsri_check_operand value;
} tsri_name_binding;

// A list of statements under construction.
typedef struct tsri_stmt_list {
  uint32_t first, last;
} tsri_stmt_list;

// A function (or the kernel) whose body is being checked.
typedef struct tsri_frame {
  struct tsri_frame *parent;
  uint32_t function;       // node of the function
  uint32_t first_binding;  // older bindings belong to callers and are invisible, except the file's
  bool sees_kernel;        // a hook: the kernel's parameters are visible as well
  uint32_t loop_depth;
  uint32_t result, flag;   // variables for the result, and for "has returned"; 0: none
  uint8_t storage, lanes;  // type of the result
  tsri_ir_pos call;
} tsri_frame;

typedef struct tsri_checker {
  const tsri_module *module;
  tsri_diag *diag;
  tsri_item_array exprs, stmts, vars, bindings, params, arrays[3], fragments;
  uint32_t *latest;          // newest binding of each symbol
  uint32_t file_bindings;    // bindings below this number belong to the file
  uint32_t kernel_bindings;  // bindings from file_bindings up to this number are the kernel's parameters and hooks
  uint32_t scope;            // number of open scopes
  uint32_t depth;
  uint32_t steps;        // statements, expressions and calls checked so far
  uint64_t local_bytes;  // size of all local arrays so far
  tsri_frame *frame;
  tsri_stmt_list *block;
  uint32_t group_size[3];
  uint32_t resident_groups;
  uint32_t unrolled;   // number of enclosing `unroll for` loops
  bool is_const_only;  // no code may be built: file-level constants and default values
  bool is_checked;     // the kernel checks its indices
  bool is_trial;       // the kernel will not run: a hook without a body need not be filled
  bool is_too_large;   // the error was reported once
  bool discards;       // the next call is a statement, so its result is not used
} tsri_checker;

// What a statement does to the statements after it: they never run, or they run only if it has not returned.
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

bool tsri_checker_init(tsri_checker *c, const tsri_module *module, tsri_diag *diag);  // binds the file's names
void tsri_checker_deinit(tsri_checker *c);
void tsri_checker_reset(tsri_checker *c);             // forgets the kernel but keeps the file's names, for the next
                                                      // kernel
bool tsri_checker_has_failed(const tsri_checker *c);  // memory ran out
bool tsri_check_is_over(tsri_checker *c);             // true: stop, because memory is out, or there are too many
                                                      // errors, or the kernel is too large (reported here)

// Whether the name occurs in text that was skipped after a syntax error. If so, a missing declaration is not reported.
bool tsri_check_may_be_lost(const tsri_checker *c, uint32_t symbol);
// Whether the function being checked has syntax errors, so that a loop or return may be missing from its tree.
bool tsri_check_is_broken(const tsri_checker *c);

// Call before recursing. False, with an error, if the nesting is too deep.
bool tsri_check_enter(tsri_checker *c, tsri_ir_pos pos);
static inline void tsri_check_leave(tsri_checker *c) { c->depth--; }

uint32_t tsri_scope_open(tsri_checker *c);  // returns the mark for tsri_scope_close
void tsri_scope_close(tsri_checker *c, uint32_t mark);
// Binds a symbol in the innermost scope. Reports an error if it is already declared there or reserved by the language.
uint32_t tsri_bind(tsri_checker *c, tsri_name_binding_kind kind, uint32_t symbol, tsri_ir_pos pos);
uint32_t tsri_lookup(const tsri_checker *c, uint32_t symbol);  // 0: no visible binding

// Arguments for printf("%.*s", TSRI_NAME(c, symbol)).
#define TSRI_NAME(c, symbol) \
  (int)tsri_names_at(&(c)->module->names, symbol)->bytes, tsri_names_at(&(c)->module->names, symbol)->text

// The type named by a TYPE node. False, with an error, if the name is not a type.
bool tsri_check_type(tsri_checker *c, uint32_t node, tsr_dtype *out_dtype, uint8_t *out_lanes);
bool tsri_symbol_type(const tsri_checker *c, uint32_t symbol, tsr_dtype *out_dtype, uint8_t *out_lanes);
// Adds a hint with the most similar name that would be valid here.
enum { TSRI_SUGGEST_TYPES = 1, TSRI_SUGGEST_VALUES = 2, TSRI_SUGGEST_CALLS = 4 };
void tsri_suggest(tsri_checker *c, uint32_t symbol, uint32_t what);
// Evaluates a constant expression. False, with an error, if it is not constant.
bool tsri_check_constant(tsri_checker *c, uint32_t node, const char *what, int64_t *out_value);
void tsri_check_assert(tsri_checker *c, uint32_t node);
tsri_check_operand tsri_file_constant(tsri_checker *c, uint32_t id);
tsri_check_operand tsri_file_value(tsri_checker *c, uint32_t id);  // of a constant that was already evaluated

// --- check_value.c --------------------------------------------------------------------------------------------------

tsri_check_operand tsri_error_operand(tsri_ir_pos pos);
tsri_check_operand tsri_checked_value(const tsri_checker *c, uint32_t expr);  // of an expression that was just built
uint32_t tsri_emit(tsri_checker *c, tsri_ir_expr expr);
tsri_check_operand tsri_const_value(tsri_checker *c, tsr_dtype dtype, uint64_t bits, tsri_ir_pos pos);
bool tsri_is_const(const tsri_checker *c, const tsri_check_operand *operand);  // whether it is a VALUE with a CONST
                                                                               // expression
uint64_t tsri_const_bits(const tsri_checker *c, const tsri_check_operand *operand);
bool tsri_is_leaf(const tsri_checker *c, uint32_t expr);
tsri_check_operand tsri_splat(tsri_checker *c, tsri_check_operand value, uint8_t lanes);
// Gives a literal the type; values are returned unchanged. ERROR, with a message, if the literal does not fit.
tsri_check_operand tsri_adapt(tsri_checker *c, tsri_check_operand operand, tsr_dtype dtype, uint8_t lanes);
tsri_check_operand tsri_default_type(tsri_checker *c, tsri_check_operand operand);  // for a literal without context:
                                                                                    // i32 or f32
// Returns a value; a literal gets its default type. Reports an error for anything that has no value.
tsri_check_operand tsri_need_value(tsri_checker *c, tsri_check_operand operand);
// Explicit conversion to any dtype.
tsri_check_operand tsri_convert_to(tsri_checker *c, tsri_check_operand operand, tsr_dtype dtype);
// Implicit conversion for an assignment to something declared as `storage`. `what` names it in errors: "variable 'x'".
tsri_check_operand tsri_assignable(tsri_checker *c, tsri_check_operand operand, tsr_dtype storage, uint8_t lanes,
                                   const char *what);
tsri_check_operand tsri_need_bool(tsri_checker *c, tsri_check_operand operand, const char *what);
// Converts both operands to a common type. False, with an error, if there is none.
bool tsri_unify(tsri_checker *c, tsri_ir_pos pos, const char *what, tsri_check_operand *a, tsri_check_operand *b);
const char *tsri_check_operand_type_name(const tsri_check_operand *operand);

extern const char tsri_temp_name[], tsri_flag_name[];  // names of variables that are not in the source
uint32_t tsri_new_var(tsri_checker *c, const char *name, tsri_ir_type type);
tsri_check_operand tsri_var_value(tsri_checker *c, uint32_t var, tsri_ir_pos pos);
uint32_t tsri_append(tsri_checker *c, tsri_ir_stmt stmt);
void tsri_assign(tsri_checker *c, uint32_t var, tsri_check_operand value, tsri_ir_pos pos);
// Assigns the value to a new variable, unless it is a leaf, so that it can be used several times.
tsri_check_operand tsri_spill(tsri_checker *c, tsri_check_operand value);
// If statements were added to the block since `mark` (the block's `last` at that time), assigns the operand to a
// variable before them, so that the order of evaluation is kept.
void tsri_keep_order(tsri_checker *c, tsri_check_operand *operand, uint32_t *mark);

// --- fold.c ---------------------------------------------------------------------------------------------------------

// Evaluates an operation on constants of `dtype`. False if this operation is not folded.
bool tsri_fold(tsri_ir_op op, tsr_dtype dtype, const uint64_t *args, uint64_t *out_bits);
uint64_t tsri_fold_convert(tsr_dtype from, uint64_t bits, tsr_dtype to);  // converts to `to` as stored, returned in
                                                                          // its compute type
// Evaluates +, - or * on literals.
bool tsri_fold_whole(tsri_ir_op op, int64_t a, int64_t b, int64_t *out);  // +, -, *: false on overflow

// --- check_ops.c, check_expr.c, check_call.c, check_inline.c, check_stmt.c --------------------------------------------

tsri_check_operand tsri_check_op(tsri_checker *c, tsri_ir_pos pos, tsri_ir_op op, tsri_check_operand *args);
// `want`: the dtype for literals whose type nothing else determines; TSR_DTYPE_COUNT: none.
tsri_check_operand tsri_check_expr(tsri_checker *c, uint32_t node, tsr_dtype want);
// A reference to an array element: the array's binding, and the index, which has an integer type.
typedef struct tsri_element {
  uint32_t binding;  // 0: an error was reported
  tsri_check_operand index;
} tsri_element;
tsri_element tsri_check_element(tsri_checker *c, uint32_t node);
tsri_check_operand tsri_check_index(tsri_checker *c, tsri_check_operand index);
tsri_check_operand tsri_load(tsri_checker *c, const tsri_element *element, uint8_t lanes, tsri_ir_pos pos);
void tsri_store(tsri_checker *c, const tsri_element *element, tsri_check_operand value, uint8_t lanes, tsri_ir_pos pos);
// False, with an error, if the array is const or an `in` buffer.
bool tsri_check_writable(tsri_checker *c, uint32_t binding, tsri_ir_pos pos);

tsri_check_operand tsri_check_call(tsri_checker *c, uint32_t node, tsr_dtype want);
// Checks arguments from left to right and returns how many there are. At most `most` are stored; the caller reports
// surplus ones.
uint32_t tsri_check_args(tsri_checker *c, uint32_t first, tsri_check_operand *out, uint32_t most, tsr_dtype want);
tsri_check_operand tsri_inline(tsri_checker *c, uint32_t node, uint32_t function);

// check_fragment.c: a declaration with a fragment's type, and calls of fragment_load and the other functions of fragments.
void tsri_check_fragment(tsri_checker *c, const tsri_ast *decl);
tsri_check_operand tsri_check_fragment_call(tsri_checker *c, const tsri_ast *call);
void tsri_check_fragments_given(tsri_checker *c);  // call after the body: reports factors that are never loaded
// check_stmt.c: sets the sizes of `out` to those of an array's declaration. False, with an error, if they are not valid.
bool tsri_check_sizes(tsri_checker *c, const tsri_ast *decl, tsri_name_binding *out, uint32_t *out_count);

int tsri_check_list(tsri_checker *c, uint32_t first);  // TSRI_FLOW_ bits
void tsri_check_statement(tsri_checker *c, uint32_t node);
void tsri_check_unrolled(tsri_checker *c, const tsri_ast *ast);  // an `unroll for` (check_unroll.c)
int tsri_check_body(tsri_checker *c, uint32_t block);            // the body of the current frame

// specialise.c: checks the kernel at `node` with these compile-time parameters into `c`, which was just initialised or
// reset. `out_variant` is for example "blur<T=f32, WG=256>". Errors go to the diagnostics. False: memory is out.
#define TSRI_VARIANT_BYTES 512
bool tsri_check_kernel(tsri_checker *c, uint32_t node, const tsri_lang_kernel_info *info, const tsri_lang_arg *args,
                       size_t arg_count, tsri_kernel *head, char out_variant[TSRI_VARIANT_BYTES]);
// check_all.c: checks every kernel of the module with each type its parameters allow. False: memory is out.
bool tsri_check_all(const tsri_module *module, tsri_diag *diag);

// ir/uniform.c: marks what is the same in all items of a work-group, and reports barriers that not all items reach.
bool tsri_check_uniform(tsri_checker *c, uint32_t body);  // false: memory is out

#endif
