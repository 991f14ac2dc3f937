// SPDX-License-Identifier: MIT
// The checked form of a kernel, which emitters and the bytecode compiler read.
//
// tsri_lang_specialise (lang.h) makes it. Everything in it is concrete: type parameters are replaced, constants
// folded, functions inlined, `return` is structured control flow, and every conversion is explicit. An emitter walks
// it and need not check anything.
//
// Structure: three flat arrays in the kernel (exprs, stmts, vars) that refer to each other by index. Index 0 of each
// is unused and means "none". An operand has a smaller index than the expression that uses it. An expression other
// than a leaf (CONST, VAR, SCALAR, ID) is used at most once, so printing each tree where it is used repeats no work.
// Some exprs and stmts are not used at all.
//
// Order: expressions have no side effects. A statement first evaluates its expressions, then acts. Only AND_THEN,
// OR_ELSE and COND leave operands unevaluated, and loads in an operand that is not evaluated must not happen. (For all
// other operations this makes no difference, because they are defined for all arguments.) A LOAD reads what memory
// holds when its statement runs.
//
// Values have type bool, i32, u32, i64, f32 or f64, as scalars or vectors of 2 or 4 lanes. i8, u8, i16, f16 and bf16
// exist only in memory, as the `storage` of an array; loads and stores convert. Variables always have a value type.
// The language's other types, u64 (a value type), u16 and f8 (in memory), are made of these before a kernel leaves the
// front end (lower/others.h). No pass and no emitter sees them, except as the declared types of buffers and parameters.
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

// The value type in which a storage type is computed: f16, bf16, f8 -> f32; i8, i16 -> i32; u8, u16 -> u32; others
// unchanged.
tsr_dtype tsri_ir_compute_dtype(tsr_dtype storage);

// A position in the source: line and byte column, both counted from 1 (columns beyond 4095 become 4095). 0: none.
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

// The list of the kernel that contains an array.
typedef enum tsri_ir_space {
  TSRI_SPACE_BUFFER,  // kernel->buffers: device memory, shared by all items of the launch
  TSRI_SPACE_SHARED,  // kernel->shared: one per work-group, contents undefined at the start
  TSRI_SPACE_LOCAL    // kernel->locals: one per item; a CLEAR statement stands at its declaration
} tsri_ir_space;

typedef enum tsri_ir_access { TSRI_ACCESS_IN, TSRI_ACCESS_OUT, TSRI_ACCESS_INOUT } tsri_ir_access;

#define TSRI_IR_MAX_DIMS 3

// A buffer, a shared array or a local array.
typedef struct tsri_ir_array {
  const char *name;  // as in the source; unique among buffers, not among locals
  uint8_t storage;   // tsr_dtype of an element in memory. A shared or local array may use a wider type, if each store
                     // first rounds to `storage`, so that loads return the same values.
  uint8_t declared;  // buffers: tsr_dtype as declared, with type parameters replaced; of the same size as `storage`
  uint8_t access;    // tsri_ir_access; buffers only. IN: never stored to, and no other item changes it during the
                     // launch
  bool is_loaded;    // a LOAD or ATOMIC uses it
  bool is_stored;    // a STORE or ATOMIC uses it
  bool is_atomic;    // an ATOMIC uses it (WGSL then declares every element atomic)
  bool is_wide;      // a LOAD or STORE of more than one lane uses it
  uint32_t count;    // elements; 0 for a buffer, whose size is known only at launch
  uint8_t dim_count;
  uint32_t dims[TSRI_IR_MAX_DIMS];  // of shared and local arrays; their product is `count`
  tsri_ir_pos pos;
} tsri_ir_array;

// Checked mode, arrays of several dimensions: an access t[i][j] has the flat index i * dims[1] + j, in which a `j`
// that is too large could go unnoticed. If the index of a dimension is out of range, the front end therefore uses
// TSRI_IR_BAD_INDEX(dimension, value) as the flat index; no array is that large. index_fault.h decodes it.
#define TSRI_IR_BAD_INDEX_BITS 29
#define TSRI_IR_BAD_INDEX_MOST ((1 << (TSRI_IR_BAD_INDEX_BITS - 1)) - 1)  // larger values are reported as this one
#define TSRI_IR_BAD_INDEX(dimension, value)                        \
  (0x80000000u | (uint32_t)(dimension) << TSRI_IR_BAD_INDEX_BITS | \
   ((uint32_t)(value) & ((1u << TSRI_IR_BAD_INDEX_BITS) - 1)))

// A scalar parameter. Bool is passed as a 32-bit word (0 or 1), a storage type as its value type.
typedef struct tsri_ir_param {
  const char *name;
  uint8_t declared;   // tsr_dtype as declared, with type parameters replaced
  tsri_ir_type type;  // value type, one lane
  uint32_t offset;    // byte offset in the parameter block; a multiple of the size (4 or 8)
  tsri_ir_pos pos;
} tsri_ir_param;

// A variable of one item. Every path assigns it before reading it. Emit it as `name` and its index ("sum_7"), which is
// unique and not a keyword.
typedef struct tsri_ir_var {
  const char *name;  // as in the source; "t" for temporaries
  tsri_ir_type type;
  bool is_uniform;  // wherever it is read, all items of the work-group that read it there have the same value
} tsri_ir_var;

// --- Fragments ------------------------------------------------------------------------------------------------------

// What a fragment is in sum = left * right + sum.
typedef enum tsri_ir_role {
#define TSRI_X(name, spelling, rows, cols, meaning) TSRI_ROLE_##name,
  TSRI_IR_ROLES(TSRI_X)
#undef TSRI_X
      TSRI_ROLE_COUNT
} tsri_ir_role;

extern const char *const tsri_ir_role_spellings[TSRI_ROLE_COUNT];

// Sizes m, n and k: left is m x k, right is k x n, sum is m x n. Powers of two.
#define TSRI_IR_FRAGMENT_LEAST 8
#define TSRI_IR_FRAGMENT_MOST  32

// A matrix that the items of a subgroup hold together. Which item has which element is up to the device.
typedef struct tsri_ir_fragment {
  const char *name;  // as in the source; the fragments of an array share it
  uint8_t role;      // tsri_ir_role
  uint8_t dtype;     // tsr_dtype of an element; TSR_F32 for a sum
  uint8_t m, n, k;
  bool is_loaded;   // there is a FRAGMENT_LOAD of it
  bool is_filled;   // there is a FRAGMENT_FILL of it
  bool by_columns;  // factors that are loaded: how every LOAD reads memory
  tsri_ir_pos pos;
} tsri_ir_fragment;

// Rows and columns of the fragment itself.
uint32_t tsri_ir_fragment_rows(const tsri_ir_fragment *fragment);
uint32_t tsri_ir_fragment_cols(const tsri_ir_fragment *fragment);

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
  TSRI_EXPR_CONVERT,   // a converted to `dtype` as by tsr_convert, then read back as `type`; see below
  TSRI_EXPR_BITCAST,  // the bits of a as `type`; both have the same size and lanes. `dtype` f16 or bf16, which only lowering
                      // makes: between f32 and the bits of such an element in the low half of a u32 (above them 0, or
                      // anything where they are read)
  TSRI_EXPR_SPLAT,    // a in every lane
  TSRI_EXPR_VECTOR,   // a, b (, c, d) as the lanes
  TSRI_EXPR_EXTRACT,  // lane `lane` of a
  TSRI_EXPR_INSERT,   // vector a with lane `lane` replaced by b
  TSRI_EXPR_LOAD      // array (space, object) at index a; see below
} tsri_ir_expr_kind;

// CONVERT: `dtype` is any dtype; `type` is its compute type with the operand's lanes. The rules are those of
// tsr_convert. Float to integer drops the fraction and saturates to the range of `dtype`; NaN gives 0. Integer to
// integer keeps the low bits of `dtype` and extends its sign. Integer to float rounds to nearest even. Float to f16,
// bf16 or f32 rounds to nearest even in one step (denormals are kept), so f32 -> f16 -> f32 is a rounding. Anything to
// bool is "not 0", which includes NaN; bool to others is 0 or 1. The operand of a conversion to f16 is f32 or f64; for
// bf16 it may also be an integer.
//
// LOAD: element a of the array or, if `type.lanes` > 1, that many consecutive elements, where a is rounded down to a
// multiple of the lanes. The index is i32, u32 or i64. Elements of a storage type are widened exactly; a bool is true
// for any non-zero byte. An index out of range (or, for several lanes, not a multiple of the lanes) is an error in the
// kernel: undefined behaviour unless `checked`, and then a message with pos, array, index and size.
// Its `op` is 0 or a kind of load:
typedef enum tsri_ir_load {
  TSRI_LOAD_ONCE = 1,  // the elements are not read again soon: caches need not keep them. Emitters may ignore it
  TSRI_LOAD_FOR_ALL,  // gives all items of the work-group the same value, with a barrier before and after it: made by lower/, for WGSL
} tsri_ir_load;

typedef struct tsri_ir_expr {
  uint8_t kind;     // tsri_ir_expr_kind
  uint8_t op;       // OP, ID; LOAD: tsri_ir_load, or 0
  uint8_t lane;     // EXTRACT, INSERT, ID
  uint8_t space;    // LOAD: tsri_ir_space
  uint8_t dtype;    // CONVERT: target; LOAD: storage of the array; BITCAST: see there
  bool is_uniform;  // the same value in all items of the work-group that evaluate it in the same iteration of its
                    // loops: the active items, which may be fewer than the work-group (see is_uniform of the
                    // statement)
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

// Number of operands that are always computed before the expression; the operands of &&, || and ?: do not count.
uint32_t tsri_ir_plain_operands(const tsri_ir_expr *x);

// Number of operands, including those that are computed only if needed.
uint32_t tsri_ir_operands(const tsri_ir_expr *x);

// --- Statements -----------------------------------------------------------------------------------------------------

typedef enum tsri_ir_stmt_kind {
  TSRI_STMT_NONE,
  TSRI_STMT_ASSIGN,  // vars[var] = value; types are equal
  TSRI_STMT_STORE,   // array (space, object) at `index` = value, converted to the array's storage as by CONVERT; the
                     // value's dtype is the storage's compute dtype; lanes and index as for LOAD
  TSRI_STMT_CLEAR,   // every element of local array `object` = 0
  TSRI_STMT_IF,      // value: condition, one lane; body, other (else); either may be empty
  TSRI_STMT_LOOP,    // while (value) { body; other }: value 0 means true; CONTINUE jumps to `other` (the step), which
                     // contains no BREAK or CONTINUE of this loop
  TSRI_STMT_BREAK,   // leaves the innermost loop
  TSRI_STMT_CONTINUE,
  TSRI_STMT_BARRIER,     // waits for all items of the work-group; then each sees what the others wrote to shared memory
                         // and buffers
  TSRI_STMT_ATOMIC,      // op: tsri_ir_atomic on array (space, object) at `index` with value (and compare); the old
                         // value is assigned to vars[var] unless var is 0
  TSRI_STMT_COLLECTIVE,  // op: tsri_ir_collective of value (second argument: compare); the result is assigned to
                         // vars[var]

  // All items of a subgroup together, with the same index and stride, on fragments[…] of the kernel.
  TSRI_STMT_FRAGMENT_FILL,         // every element of fragments[0] = value, f32, rounded to its dtype
  TSRI_STMT_FRAGMENT_LOAD,         // fragments[0] from array (space, object); see below
  TSRI_STMT_FRAGMENT_STORE,        // fragments[0], a sum, to that place
  TSRI_STMT_FRAGMENT_MULTIPLY_ADD  // fragments[0] += fragments[1] * fragments[2]: sum, left, right
} tsri_ir_stmt_kind;

#define TSRI_STMT_FRAGMENT_FIRST TSRI_STMT_FRAGMENT_FILL  // those from here on are about fragments

// FRAGMENT_LOAD, FRAGMENT_STORE: element (i, j) lies at index + i * value + j, or with `op` 1 (by columns) at index + i + j *
// value, counted in elements of the fragment; index and value are u32 and multiples of 16 bytes. The array's storage is the
// fragment's dtype, or u32 for a factor of f16 or bf16: two elements to a word, the lower half first.

typedef struct tsri_ir_stmt {
  uint8_t kind;      // tsri_ir_stmt_kind
  uint8_t op;        // ATOMIC, COLLECTIVE, FRAGMENT_LOAD, FRAGMENT_STORE
  uint8_t space;     // STORE, ATOMIC, FRAGMENT_LOAD, FRAGMENT_STORE
  bool is_uniform;   // all items of the work-group run it together, or none does (always true for BARRIER,
                     // COLLECTIVE and FRAGMENT_)
  bool has_barrier;  // IF, LOOP: contains a BARRIER or COLLECTIVE
  tsri_ir_pos pos;
  uint32_t next;    // next statement of the same block; 0: none
  uint32_t var;     // ASSIGN, ATOMIC, COLLECTIVE
  uint32_t object;  // STORE, CLEAR, ATOMIC, FRAGMENT_LOAD, FRAGMENT_STORE
  uint32_t index;   // expressions; their meaning depends on the kind
  uint32_t value;
  uint32_t compare;
  uint32_t body;  // first statement of a block; 0: empty
  uint32_t other;
  uint32_t fragments[3];  // FRAGMENT_: indices in the kernel's fragments, from 0
} tsri_ir_stmt;

// --- The kernel -----------------------------------------------------------------------------------------------------

// Abilities that a device must have to run the kernel.
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

// Immutable. The kernel and everything it points to are one block of memory, or two if it has a base.
typedef struct tsri_kernel {
  struct tsri_kernel *base;  // the kernel this one was made of, whose names it uses, if both are released together
  const char *name;          // "rms_norm"
  const char *variant;       // "rms_norm<T=f32, WG=256>": for messages and cache keys
  const char *file;          // as given to tsri_lang_parse
  uint32_t group_size[3];
  uint32_t resident_groups;  // how many groups should fit a multiprocessor at least; a hint, 1 if there is none
  bool is_checked;           // LOAD, STORE and ATOMIC must check their index
  uint32_t needs;            // tsri_ir_needs
  uint32_t shared_bytes;     // sum of all shared arrays at their storage size, each aligned to 16
  uint32_t params_bytes;     // size of the parameter block, a multiple of 4

  uint32_t buffer_count, shared_count, local_count, param_count, fragment_count;
  const tsri_ir_array *buffers;  // in the order of the parameter list
  const tsri_ir_array *shared;
  const tsri_ir_array *locals;
  const tsri_ir_param *params;  // in the order of the parameter list
  const tsri_ir_fragment *fragments;

  // Valid indices are 1 to count - 1.
  uint32_t var_count, expr_count, stmt_count;
  const tsri_ir_var *vars;
  const tsri_ir_expr *exprs;
  const tsri_ir_stmt *stmts;
  uint32_t body;  // first statement; 0: the kernel does nothing
} tsri_kernel;

// The array an expression or statement refers to.
const tsri_ir_array *tsri_ir_array_of(const tsri_kernel *kernel, tsri_ir_space space, uint32_t object);

// How many elements the widest LOAD or STORE of the array accesses at once; 0: there is none.
uint32_t tsri_ir_access_lanes(const tsri_kernel *kernel, tsri_ir_space space, uint32_t object);

bool tsri_ir_has_loop(const tsri_kernel *kernel);

// Whether items may read what other items write to a buffer. Only then must a BARRIER also order buffer accesses.
bool tsri_ir_shares_buffers(const tsri_kernel *kernel);

// The kernel as text, for people and tests (`emit --dialect ir`).
//
// Ownership: the caller frees it with tsri_free. NULL: memory is out.
char *tsri_ir_print(const tsri_kernel *kernel);

// Returns "f32", "u32x4", … as static text.
const char *tsri_ir_type_name(tsri_ir_type type);

#endif
