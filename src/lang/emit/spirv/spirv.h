// SPDX-License-Identifier: MIT
// Inside the SPIR-V emitter: what its files share.
//
//   emit/spirv/spirv.c          the emitter: analysis, declarations, putting the module together
//   emit/spirv/words.c    words, types, constants
//   emit/spirv/op.c       operations on values
//   emit/spirv/convert.c  conversions between value types and to storage types
//   emit/spirv/memory.c   loads, stores, atomics, parameters
//   emit/spirv/expr.c     expression trees
//   emit/spirv/stmt.c     statements as structured control flow
//   emit/spirv/group.c    collectives of subgroups
//   emit/spirv/fragment.c fragments as cooperative matrices
//
// The module is SPIR-V 1.3 for Vulkan 1.1: one compute entry point, named as the kernel. Descriptor set 0 holds the
// buffers at bindings 0, 1, …. Parameters are push constants if they fit in
// TSRI_SPV_PUSH_BYTES, else a storage buffer at the binding after those; both are flat arrays of 32-bit words.
//
// Integers are unsigned types only: SPIR-V's instructions, not its types, say what is signed.
#ifndef TSRI_LANG_EMIT_SPIRV_H
#define TSRI_LANG_EMIT_SPIRV_H

#include "core/builder.h"
#include "lang/emit/emit.h"
#include "lang/emit/spirv/names.h"
#include "lang/emit/tree.h"
#include "lang/lower/expand.h"
#include "lang/lower/lacks.h"

// The size of push constants that every Vulkan device supports.
#define TSRI_SPV_PUSH_BYTES 128u
#define TSRI_SPV_MAX_DEPTH  600  // of nested blocks and conditional operands

typedef uint32_t tsri_spv_id;

// The scalar types of values and memory.
typedef enum tsri_spv_kind {
  SPV_BOOL,
  SPV_U8,
  SPV_U16,
  SPV_U32,
  SPV_U64,
  SPV_F16,
  SPV_F32,
  SPV_F64,
  SPV_KIND_COUNT
} tsri_spv_kind;

typedef struct tsri_spv_type {
  uint8_t kind;   // tsri_spv_kind
  uint8_t lanes;  // 1, 2 or 4
} tsri_spv_type;

// How an array of the kernel is stored in memory.
typedef struct tsri_spv_array {
  tsri_spv_id variable;
  uint8_t kind;   // of an element
  uint8_t lanes;  // elements in a vector of the declaration
} tsri_spv_array;

// A fragment of the kernel as a cooperative matrix.
typedef struct tsri_spv_fragment {
  tsri_spv_id type, variable;
} tsri_spv_fragment;

// A type or constant that has been declared.
typedef struct tsri_spv_known {
  uint32_t op;  // 0: the slot is free
  uint32_t count, operands[6];
  tsri_spv_id id;
} tsri_spv_known;

// The labels of the innermost loop.
typedef struct tsri_spv_loop {
  tsri_spv_id merge, step;
} tsri_spv_loop;

typedef struct tsri_spv {
  const tsri_kernel *kernel;
  const tsri_emit_options *options;
  tsri_lacks lacks;

  tsri_builder decorations, globals, locals, code, functions;  // words
  tsri_spv_id next_id, glsl;
  tsri_spv_id void_type;
  uint32_t capabilities;  // bit: tsri_spv_capability
  tsri_spv_known *known;  // hash table
  uint32_t known_count, known_capacity;

  tsri_spv_array *buffers, *shared, *locals_held;  // by index in the kernel
  tsri_spv_id *local_zeros;                        // by local array: the constant that CLEAR stores
  tsri_spv_fragment *fragments;                    // by index in the kernel
  tsri_spv_id *vars;                               // Function variables by index; 0: not declared yet
  tsri_spv_id *ids;                                // ids of the expressions' values
  bool *narrow;    // expressions whose values become 16-bit floats (lower/narrow.h); NULL: none
  bool is_narrow;  // the operation being written is one of them
  tsri_tree tree;
  tsri_spv_id params;
  tsri_spv_id builtins[8];                         // variables by tsri_spv_builtin
  tsri_spv_id buffer_types[SPV_KIND_COUNT][3];     // blocks with a runtime array, by element and lanes
  tsri_spv_id far_functions[TSRI_OP_COUNT][2][3];  // expansions for far operands, of f32 and f64, by lanes; 0: not yet

  bool native_subgroups;  // hardware subgroups, and the group is a whole number of them
  bool is_vulkan_model;   // Vulkan's memory model, which cooperative matrices need, in place of GLSL's
  uint32_t shared_bytes;

  tsri_spv_id first_block, block;  // labels of the function's first block and of the current one
  bool is_ended;                   // the current block has its branch already
  tsri_spv_loop loop;
  uint32_t depth;
  bool is_too_deep, is_out_of_memory;
  const char *missing;  // what the device lacks for this kernel; NULL: nothing
} tsri_spv;

// --- Words, types, constants (emit/spirv/words.c) -------------------------------------------------------------------

// Lists of words are builders: after a failure they ignore everything, and the emitter checks once, at the end.
void tsri_spv_put(tsri_builder *list, const uint32_t *words, size_t count);
// An instruction with `count` operand words.
void tsri_spv_put_op(tsri_builder *list, uint32_t op, const uint32_t *operands, size_t count);
// Packs a string as operands, truncated to fit. Returns the number of words.
size_t tsri_spv_pack_text(const char *text, uint32_t *words, size_t most_words);

tsri_spv_id tsri_spv_new_id(tsri_spv *s);

#define SPV_WORDS(...)          (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t)
#define SPV_PUT(words, op, ...) tsri_spv_put_op((words), (op), SPV_WORDS(__VA_ARGS__))
#define SPV_DECORATE(s, ...)    SPV_PUT(&(s)->decorations, SPV_OP_DECORATE, __VA_ARGS__)

// A type or constant. It is declared when it is first requested, since a module may declare each only once. `operands` are without the result id; the first
// operand of a constant is its type.
tsri_spv_id tsri_spv_global(tsri_spv *s, uint32_t op, const uint32_t *operands, size_t count);
#define SPV_GLOBAL(s, op, ...) tsri_spv_global((s), (op), SPV_WORDS(__VA_ARGS__))

void tsri_spv_need(tsri_spv *s, tsri_spv_capability capability);

static inline tsri_spv_type tsri_spv_make_type(tsri_spv_kind kind, uint32_t lanes) {
  return (tsri_spv_type){(uint8_t)kind, (uint8_t)lanes};
}
static inline bool tsri_spv_is_float(tsri_spv_type type) { return type.kind >= SPV_F16; }
static inline bool tsri_spv_is_64(tsri_spv_type type) { return type.kind == SPV_U64 || type.kind == SPV_F64; }
static inline uint32_t tsri_spv_kind_bytes(tsri_spv_kind kind) {
  static const uint8_t bytes[SPV_KIND_COUNT] = {4, 1, 2, 4, 8, 2, 4, 8};
  return bytes[kind];
}
// tsri_spv_bits_type: the unsigned type of the same size. The next function: bool with the same number of lanes.
tsri_spv_type tsri_spv_bits_type(tsri_spv_type type);
static inline tsri_spv_type tsri_spv_bool_type(tsri_spv_type type) { return tsri_spv_make_type(SPV_BOOL, type.lanes); }

tsri_spv_kind tsri_spv_value_kind(tsr_dtype dtype);  // the kind of a value type
tsri_spv_type tsri_spv_value_type(tsri_ir_type type);
tsri_spv_id tsri_spv_type_id(tsri_spv *s, tsri_spv_type type);
tsri_spv_id tsri_spv_pointer_type(tsri_spv *s, uint32_t storage_class, tsri_spv_id type);
tsri_spv_id tsri_spv_variable(tsri_spv *s, uint32_t storage_class, tsri_spv_id type);

// A constant with `bits` (those of the value) in every lane.
tsri_spv_id tsri_spv_const(tsri_spv *s, tsri_spv_type type, uint64_t bits);
static inline tsri_spv_id tsri_spv_u32(tsri_spv *s, uint32_t value) {
  return tsri_spv_const(s, (tsri_spv_type){SPV_U32, 1}, value);
}

// --- Instructions into the code -------------------------------------------------------------------------------------

// Emits an instruction that gives a value of `type`, with up to 6 operands: SPV_OP(s, SPV_OP_I_ADD, type, a, b).
tsri_spv_id tsri_spv_op(tsri_spv *s, uint32_t op, tsri_spv_type type, const uint32_t *operands, size_t count);
#define SPV_OP(s, op, type, ...) tsri_spv_op((s), (op), (type), SPV_WORDS(__VA_ARGS__))
// A function of GLSL.std.450.
#define SPV_GLSL(s, function, type, ...) SPV_OP(s, SPV_OP_EXT_INST, type, (s)->glsl, function, __VA_ARGS__)
tsri_spv_id tsri_spv_bitcast(tsri_spv *s, tsri_spv_type to, tsri_spv_type from, tsri_spv_id a);
tsri_spv_id tsri_spv_load(tsri_spv *s, tsri_spv_type type, tsri_spv_id pointer);
void tsri_spv_store(tsri_spv *s, tsri_spv_id pointer, tsri_spv_id value);
tsri_spv_id tsri_spv_extract(tsri_spv *s, tsri_spv_type vector, tsri_spv_id a,
                             uint32_t lane);  // a itself if it is a scalar
tsri_spv_id tsri_spv_compose(tsri_spv *s, tsri_spv_type vector,
                             const tsri_spv_id *lanes);  // lanes[0] if it is a scalar

// Blocks. tsri_spv_begin_block starts the block `label`; the others end the current one.
void tsri_spv_begin_block(tsri_spv *s, tsri_spv_id label);
void tsri_spv_branch(tsri_spv *s, tsri_spv_id to);  // nothing if the block has ended
// if (condition) goto yes; else goto no; they meet at `merge`.
void tsri_spv_branch_if(tsri_spv *s, tsri_spv_id condition, tsri_spv_id yes, tsri_spv_id no, tsri_spv_id merge);
tsri_spv_id tsri_spv_phi(tsri_spv *s, tsri_spv_type type, tsri_spv_id a, tsri_spv_id from_a, tsri_spv_id b,
                         tsri_spv_id from_b);

// --- Values ---------------------------------------------------------------------------------------------------------

// Emits an operation on values of `operand` type (the type of the last operand) that gives `result`. is_loose, here and below: the result may be as inexact as
// for a relaxed operation (lower/expand.h).
tsri_spv_id tsri_spv_operation(tsri_spv *s, tsri_ir_op op, tsri_ir_type operand, tsri_ir_type result,
                               const tsri_spv_id *args, bool is_loose);
tsri_spv_id tsri_spv_convert(tsri_spv *s, tsr_dtype to, tsri_ir_type from, tsri_spv_id a, bool is_loose);
// Emits an expansion in place; its operands are `args`.
tsri_spv_id tsri_spv_put_expansion(tsri_spv *s, const tsri_expansion *x, const tsri_spv_id *args);
// tsri_spv_decode and tsri_spv_encode convert between a value and the bits of a storage type, as u32 (or the value itself if the storage type is the value
// type).
tsri_spv_id tsri_spv_decode(tsri_spv *s, tsr_dtype storage, uint32_t lanes, tsri_spv_id bits);
tsri_spv_id tsri_spv_encode(tsri_spv *s, tsr_dtype storage, uint32_t lanes, tsri_spv_id value);
// f32 as bf16 in 16-bit integers, which are taken from words that have the bf16 in their upper half: NVIDIA's driver joins two of them by one instruction,
// whereas for lower halves it would shift each word before that.
tsri_spv_id tsri_spv_bf16_halves(tsri_spv *s, uint32_t lanes, tsri_spv_id value);

// --- Memory ---------------------------------------------------------------------------------------------------------

typedef struct tsri_spv_place {
  tsri_ir_space space;
  uint32_t object;
  const tsri_spv_array *array;
  tsr_dtype storage;
  uint32_t lanes;
  tsri_ir_type index_type;
  tsri_spv_id index;
} tsri_spv_place;

// Chooses an array's declaration from the device's features and the kernel's accesses.
void tsri_spv_plan_array(tsri_spv *s, tsri_ir_space space, uint32_t object, uint32_t lanes);
// Describes an access; `index` is an expression that tsri_spv_expr has emitted.
tsri_spv_place tsri_spv_place_of(const tsri_spv *s, uint32_t space, uint32_t object, uint32_t index, uint32_t lanes);
tsri_spv_id tsri_spv_load_place(tsri_spv *s, tsri_spv_place place);
void tsri_spv_store_place(tsri_spv *s, tsri_spv_place place, tsri_spv_id value);
tsri_spv_id tsri_spv_atomic_place(tsri_spv *s, tsri_spv_place place, tsri_ir_atomic op, tsri_spv_id value,
                                  tsri_spv_id compare);
// Whether items may read what others write there: shared arrays, and buffers that are both loaded and stored.
bool tsri_spv_is_common(const tsri_spv *s, tsri_ir_space space, uint32_t object);
// tsri_spv_held: how an array is stored. The next function: a pointer to entry `index` of its declaration, an element or a vector of array->lanes.
tsri_spv_array *tsri_spv_held(const tsri_spv *s, tsri_ir_space space, uint32_t object);
tsri_spv_id tsri_spv_entry_pointer(tsri_spv *s, tsri_ir_space space, uint32_t object, tsri_spv_id index);
tsri_spv_id tsri_spv_param(tsri_spv *s, tsri_ir_type type, uint32_t offset);
tsri_spv_id tsri_spv_param_word(tsri_spv *s, uint32_t offset);

// --- Expressions, statements, groups --------------------------------------------------------------------------------

tsri_spv_id tsri_spv_expr(tsri_spv *s, uint32_t expr);
tsri_spv_id tsri_spv_builtin_value(tsri_spv *s, tsri_spv_builtin builtin, uint32_t axis);
tsri_spv_id tsri_spv_ir_id(tsri_spv *s, tsri_ir_id id, uint32_t axis);
tsri_spv_id tsri_spv_var(tsri_spv *s, uint32_t var);
tsri_spv_id tsri_spv_local_index(tsri_spv *s);
// A word that is 0, which the driver's compiler does not know. gallivm (lavapipe) folds x * 0, 0 / x and 0 + x without regard to NaN and infinity, so with
// options->quirks, floats that may be 0 are combined with this word.
tsri_spv_id tsri_spv_hidden_zero(tsri_spv *s);
void tsri_spv_stmts(tsri_spv *s, uint32_t first);
tsri_spv_id tsri_spv_collective(tsri_spv *s, tsri_ir_collective op, tsri_ir_type type, tsri_spv_id value,
                                tsri_spv_id lane);
// tsri_spv_declare_fragments: declares the types and variables of the kernel's fragments. The next function: emits a statement on them.
void tsri_spv_declare_fragments(tsri_spv *s);
void tsri_spv_fragment_stmt(tsri_spv *s, const tsri_ir_stmt *stmt);

#endif
