// SPDX-License-Identifier: MIT
// The checked form of a kernel: what emitters and the bytecode compiler read.
//
// Made by tsri_lang_specialise (lang.h). By then everything is concrete: type parameters replaced, constants folded,
// helper functions inlined, `return` turned into structured control flow, every conversion written out. An emitter
// walks it and checks nothing.
//
// Shape: three flat arrays in the kernel (exprs, stmts, vars), referring to each other by index. Index 0 of each is
// unused and means "none". An operand has a smaller index than the expression that uses it. An expression other than
// a leaf (CONST, VAR, SCALAR, ID) is referred to at most once, so printing each tree where it is used repeats no work;
// some of exprs and stmts are referred to by nothing.
//
// Order: expressions have no side effects. A statement first evaluates its expressions, then acts. Only AND_THEN,
// OR_ELSE and COND leave operands unevaluated; for those, loads in the part not taken must not happen (nothing else can
// tell: every operation is defined for all arguments). LOADs read what memory holds when the statement runs.
//
// Values have type bool, i32, u32, i64, f32 or f64, alone or as vectors of 2 or 4 lanes. i8, u8, i16, f16 and bf16
// exist in memory only: `storage` of arrays says so, and loads and stores convert. Variables are always of a value type.
#ifndef TSRI_LANG_IR_H
#define TSRI_LANG_IR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/dtype.h>

#include "lang/ir/ir_ops.h"

// --- Types ----------------------------------------------------------------------------------------------------------

typedef struct tsri_ir_type {
  uint8_t dtype;  // tsr_dtype: TSR_BOOL, TSR_I32, TSR_U32, TSR_I64, TSR_F32 or TSR_F64
  uint8_t lanes;  // 1, 2 or 4
} tsri_ir_type;

// The value type a storage type is computed in: f16, bf16 -> f32; i8, i16 -> i32; u8 -> u32; others themselves.
tsr_dtype tsri_ir_compute_dtype(tsr_dtype storage);

// Where something stood in the source: line and byte column, both from 1 (columns past 4095 read 4095). 0: nowhere.
typedef uint32_t tsri_ir_pos;
#define TSRI_IR_POS(line, column) ((tsri_ir_pos)(((uint32_t)(line) << 12) | (uint32_t)(column)))
#define TSRI_IR_LINE(pos)         ((uint32_t)(pos) >> 12)
#define TSRI_IR_COLUMN(pos)       ((uint32_t)(pos)&4095u)

// --- Operations -----------------------------------------------------------------------------------------------------

typedef enum tsri_ir_op {
#define TSRI_X(name, spelling, arity, rule, is_operator, meaning) TSRI_OP_##name,
  TSRI_IR_OPS(TSRI_X)
#undef TSRI_X
      TSRI_OP_COUNT
} tsri_ir_op;

typedef enum tsri_ir_rule {
#define TSRI_X(name) TSRI_RULE_##name,
  TSRI_IR_RULES(TSRI_X)
#undef TSRI_X
      TSRI_RULE_COUNT
} tsri_ir_rule;

typedef enum tsri_ir_scope { TSRI_SCOPE_GROUP, TSRI_SCOPE_SUBGROUP } tsri_ir_scope;

typedef enum tsri_ir_collective {
#define TSRI_X(name, spelling, scope, arity, rule, meaning) TSRI_COLLECTIVE_##name,
  TSRI_IR_COLLECTIVES(TSRI_X)
#undef TSRI_X
      TSRI_COLLECTIVE_COUNT
} tsri_ir_collective;

typedef enum tsri_ir_atomic {
#define TSRI_X(name, spelling, operands, meaning) TSRI_ATOMIC_##name,
  TSRI_IR_ATOMICS(TSRI_X)
#undef TSRI_X
      TSRI_ATOMIC_COUNT
} tsri_ir_atomic;

typedef enum tsri_ir_id {
#define TSRI_X(name, spelling, has_axis, uniform, meaning) TSRI_ID_##name,
  TSRI_IR_IDS(TSRI_X)
#undef TSRI_X
      TSRI_ID_COUNT
} tsri_ir_id;

typedef struct tsri_ir_op_info {
  const char *name;      // "ADD"
  const char *spelling;  // "+"
  uint8_t arity;
  uint8_t rule;  // tsri_ir_rule
  bool is_operator;
  const char *meaning;
} tsri_ir_op_info;
extern const tsri_ir_op_info tsri_ir_op_infos[TSRI_OP_COUNT];

typedef struct tsri_ir_collective_info {
  const char *name, *spelling;
  uint8_t scope;  // tsri_ir_scope
  uint8_t arity;
  uint8_t rule;  // TSRI_RULE_NUMBER or TSRI_RULE_BOOL
  const char *meaning;
} tsri_ir_collective_info;
extern const tsri_ir_collective_info tsri_ir_collective_infos[TSRI_COLLECTIVE_COUNT];

typedef struct tsri_ir_atomic_info {
  const char *name, *spelling;
  uint8_t operands;
  const char *meaning;
} tsri_ir_atomic_info;
extern const tsri_ir_atomic_info tsri_ir_atomic_infos[TSRI_ATOMIC_COUNT];

typedef struct tsri_ir_id_info {
  const char *name, *spelling;
  bool has_axis, is_uniform;
  const char *meaning;
} tsri_ir_id_info;
extern const tsri_ir_id_info tsri_ir_id_infos[TSRI_ID_COUNT];

// --- Memory ---------------------------------------------------------------------------------------------------------

// Which list of the kernel an array is in.
typedef enum tsri_ir_space {
  TSRI_SPACE_BUFFER,  // kernel->buffers: device memory, shared by all items of the launch
  TSRI_SPACE_SHARED,  // kernel->shared: one per group, contents undefined at the start
  TSRI_SPACE_LOCAL    // kernel->locals: one per item; a CLEAR stands where it is declared
} tsri_ir_space;

typedef enum tsri_ir_access { TSRI_ACCESS_IN, TSRI_ACCESS_OUT, TSRI_ACCESS_INOUT } tsri_ir_access;

#define TSRI_IR_MAX_DIMS 3

// A buffer, a shared array or a local array.
typedef struct tsri_ir_array {
  const char *name;  // as in the source; unique among buffers, not among locals
  uint8_t storage;   // tsr_dtype of an element in memory. A shared or local array may be held wider, provided that a
                     // store first rounds to it: what is loaded is what tsr_convert to `storage` would have kept.
  uint8_t access;    // tsri_ir_access; buffers only. IN: never stored to, and no other item changes it meanwhile.
  bool is_loaded;    // there is a LOAD or ATOMIC of it
  bool is_stored;    // there is a STORE or ATOMIC of it
  bool is_atomic;    // there is an ATOMIC of it (WGSL then declares every element atomic)
  bool is_wide;      // there is a LOAD or STORE of more than one lane
  uint32_t count;    // elements; 0 for a buffer: known at launch only
  uint8_t dim_count;
  uint32_t dims[TSRI_IR_MAX_DIMS];  // shared and local arrays: their product is `count`
  tsri_ir_pos pos;
} tsri_ir_array;

// Checked mode, arrays of several dimensions: an access t[i][j] has one index, i * dims[1] + j, in which a `j` that is too
// large would go unnoticed. So the front end makes the index TSRI_IR_BAD_INDEX(dimension, value) where the one of that
// dimension is out of range; no array is so large. index_fault.h takes it apart.
#define TSRI_IR_BAD_INDEX_BITS 29
#define TSRI_IR_BAD_INDEX_MOST ((1 << (TSRI_IR_BAD_INDEX_BITS - 1)) - 1)  // values beyond are told as this one
#define TSRI_IR_BAD_INDEX(dimension, value)                        \
  (0x80000000u | (uint32_t)(dimension) << TSRI_IR_BAD_INDEX_BITS | \
   ((uint32_t)(value) & ((1u << TSRI_IR_BAD_INDEX_BITS) - 1)))

// A scalar parameter. Bool travels as a 32-bit word (0 or 1), a storage type as its value type.
typedef struct tsri_ir_param {
  const char *name;
  uint8_t declared;   // tsr_dtype as declared, after replacing type parameters
  tsri_ir_type type;  // value type, one lane
  uint32_t offset;    // bytes in the parameter block; a multiple of the size (4 or 8)
  tsri_ir_pos pos;
} tsri_ir_param;

// A variable of one item. Every path assigns it before reading it. Spell it as `name` and its index ("sum_7"): that
// is unique and no keyword.
typedef struct tsri_ir_var {
  const char *name;  // as in the source; "t" for temporaries
  tsri_ir_type type;
  bool is_uniform;  // wherever it is read, it holds the same value in all items of the group that read it there
} tsri_ir_var;

// --- Expressions ----------------------------------------------------------------------------------------------------

typedef enum tsri_ir_expr_kind {
  TSRI_EXPR_NONE,
  TSRI_EXPR_CONST,     // bits: the value, scalar. i32, u32, f32, bool in the low bits (upper bits 0), i64, f64 in all.
                       // May be NaN or infinity.
  TSRI_EXPR_VAR,       // object: index in vars
  TSRI_EXPR_SCALAR,    // object: index in params
  TSRI_EXPR_ID,        // op: tsri_ir_id, lane: axis 0 to 2; u32
  TSRI_EXPR_OP,        // op: tsri_ir_op on a, b, c (as many as its arity)
  TSRI_EXPR_AND_THEN,  // a && b, bool: b is evaluated only if a is true
  TSRI_EXPR_OR_ELSE,   // a || b, bool: b is evaluated only if a is false
  TSRI_EXPR_COND,      // a ? b : c: only one of b and c is evaluated; a is one lane
  TSRI_EXPR_CONVERT,   // a as tsr_convert would make it `dtype` and read it back as `type`; see below
  TSRI_EXPR_BITCAST,   // the bits of a as `type`; both have the same size and lanes
  TSRI_EXPR_SPLAT,     // a in every lane
  TSRI_EXPR_VECTOR,    // a, b (, c, d) as the lanes
  TSRI_EXPR_EXTRACT,   // lane `lane` of a
  TSRI_EXPR_INSERT,    // vector a with lane `lane` replaced by b
  TSRI_EXPR_LOAD       // array (space, object) at index a; see below
} tsri_ir_expr_kind;

// CONVERT: `dtype` is any dtype; `type` is its compute type with the operand's lanes. By tsr_convert's rules: float to
// integer drops the fraction and saturates to the range of `dtype`, NaN gives 0; integer to integer keeps the low bits
// of `dtype` and extends by its sign; integer to float rounds to nearest even; float to f16, bf16, f32 rounds to
// nearest even in one step (denormals kept), so f32 -> f16 -> f32 here is a rounding; anything to bool is "not 0", NaN
// included; bool to others is 0 or 1. The operand of a conversion to f16 is f32 or f64; to bf16 it may be an integer, too.
//
// LOAD: element a of the array, or with `type.lanes` > 1 that many consecutive elements, beginning at a rounded down
// to a multiple of the lanes. The index is i32, u32 or i64. Elements of a storage type are widened exactly; bool reads
// any non-zero byte as true. An index out of range (or, for more than one lane, not a multiple of the lanes) is the
// kernel's mistake: undefined unless `checked`, and then an error with pos, array, index and size.
typedef struct tsri_ir_expr {
  uint8_t kind;     // tsri_ir_expr_kind
  uint8_t op;       // OP, ID
  uint8_t lane;     // EXTRACT, INSERT, ID
  uint8_t space;    // LOAD: tsri_ir_space
  uint8_t dtype;    // CONVERT: target; LOAD: storage of the array
  bool is_uniform;  // the same value in every item of the group that evaluates it in the same round of its loops: the
                    // items active there, which may be fewer than the group (see is_uniform of the statement)
  tsri_ir_type type;
  tsri_ir_pos pos;
  uint32_t object;  // VAR, SCALAR, LOAD
  union {
    struct {
      uint32_t a, b, c, d;
    };
    uint32_t args[4];
    uint64_t bits;  // CONST
  };
} tsri_ir_expr;

// How many operands an expression has that are computed before it; those of &&, || and ?: are not.
uint32_t tsri_ir_plain_operands(const tsri_ir_expr *x);

// The same, with those that are computed only if they are needed.
uint32_t tsri_ir_operands(const tsri_ir_expr *x);

// --- Statements -----------------------------------------------------------------------------------------------------

typedef enum tsri_ir_stmt_kind {
  TSRI_STMT_NONE,
  TSRI_STMT_ASSIGN,  // vars[var] = value; types are equal
  TSRI_STMT_STORE,   // array (space, object) at `index` = value, converted to the array's storage as by CONVERT;
                     // value's dtype is the storage's compute dtype; lanes and index as for LOAD
  TSRI_STMT_CLEAR,   // every element of local array `object` = 0
  TSRI_STMT_IF,      // value: condition, one lane; body, other (else); either may be empty
  TSRI_STMT_LOOP,    // while (value) { body; other }: value 0 means true; CONTINUE goes on at `other` (the step),
                     // which holds no BREAK or CONTINUE of this loop
  TSRI_STMT_BREAK,   // leaves the innermost loop
  TSRI_STMT_CONTINUE,
  TSRI_STMT_BARRIER,    // all items of the group arrive, and see what the others wrote to shared memory and buffers
  TSRI_STMT_ATOMIC,     // op: tsri_ir_atomic on array (space, object) at `index` with value (and compare); the old
                        // value goes to vars[var], or nowhere if var is 0
  TSRI_STMT_COLLECTIVE  // op: tsri_ir_collective of value (second argument: compare); the result goes to vars[var]
} tsri_ir_stmt_kind;

typedef struct tsri_ir_stmt {
  uint8_t kind;      // tsri_ir_stmt_kind
  uint8_t op;        // ATOMIC, COLLECTIVE
  uint8_t space;     // STORE, ATOMIC
  bool is_uniform;   // all items of the group run it together, or none (always so for BARRIER and COLLECTIVE)
  bool has_barrier;  // IF, LOOP: there is a BARRIER or COLLECTIVE inside
  tsri_ir_pos pos;
  uint32_t next;    // following statement of the same block; 0: none
  uint32_t var;     // ASSIGN, ATOMIC, COLLECTIVE
  uint32_t object;  // STORE, CLEAR, ATOMIC
  uint32_t index;   // expressions, by kind
  uint32_t value;
  uint32_t compare;
  uint32_t body;  // first statement of a block; 0: empty
  uint32_t other;
} tsri_ir_stmt;

// --- The kernel -----------------------------------------------------------------------------------------------------

// What a device must have.
typedef enum tsri_ir_needs {
  TSRI_NEEDS_F64 = 1u << 0,  // values or storage
  TSRI_NEEDS_I64 = 1u << 1,
  TSRI_NEEDS_F16 = 1u << 2,  // as storage
  TSRI_NEEDS_BF16 = 1u << 3,
  TSRI_NEEDS_INT8 = 1u << 4,  // i8, u8 or bool in a buffer
  TSRI_NEEDS_INT16 = 1u << 5,
  TSRI_NEEDS_BARRIER = 1u << 6,  // BARRIER or a collective
  TSRI_NEEDS_ATOMICS = 1u << 7,
  TSRI_NEEDS_GROUP_OPS = 1u << 8,  // a group_ collective
  TSRI_NEEDS_SUBGROUPS = 1u << 9   // a subgroup_ collective or id
} tsri_ir_needs;

#define TSRI_LANG_MAX_BUFFERS 32
#define TSRI_LANG_MAX_PARAMS  64

// Immutable; one block of memory with all it points to.
typedef struct tsri_kernel {
  const char *name;     // "rms_norm"
  const char *variant;  // "rms_norm<T=f32, WG=256>": for messages and cache keys
  const char *file;     // as given to tsri_lang_parse
  uint32_t group_size[3];
  bool is_checked;        // LOAD, STORE and ATOMIC must check their index
  uint32_t needs;         // tsri_ir_needs
  uint32_t shared_bytes;  // sum over shared arrays at their storage size, each aligned to 16
  uint32_t params_bytes;  // size of the parameter block, a multiple of 4

  uint32_t buffer_count, shared_count, local_count, param_count;
  const tsri_ir_array *buffers;  // in the order of the parameter list
  const tsri_ir_array *shared;
  const tsri_ir_array *locals;
  const tsri_ir_param *params;  // in the order of the parameter list

  // Indices 1 to count - 1.
  uint32_t var_count, expr_count, stmt_count;
  const tsri_ir_var *vars;
  const tsri_ir_expr *exprs;
  const tsri_ir_stmt *stmts;
  uint32_t body;  // first statement; 0: the kernel does nothing
} tsri_kernel;

// The array an expression or statement refers to.
const tsri_ir_array *tsri_ir_array_of(const tsri_kernel *kernel, tsri_ir_space space, uint32_t object);

// Whether items read a buffer that others write: only then a BARRIER has to order buffers, too.
bool tsri_ir_shares_buffers(const tsri_kernel *kernel);

// The kernel as text, for people and tests (`emit --dialect ir`).
//
// Ownership: caller releases with tsri_free. NULL: no memory.
char *tsri_ir_print(const tsri_kernel *kernel);

// "f32", "u32x4". Static text.
const char *tsri_ir_type_name(tsri_ir_type type);

#endif
