// SPDX-License-Identifier: MIT
// Inside the C-family emitter: what its files share.
//
//   emit/c/c.c          the emitters, the function's head and declarations
//   emit/c/spell.c    the table of spellings, one entry per dialect
//   emit/c/helpers.c  small functions the text may need, written once for all dialects
//   emit/c/expansion.c  functions written from expansions (with emit/function.c)
//   emit/c/ops.c      templates of operations and conversions
//   emit/c/vectors.c    helpers made on demand: vectors, loads, stores, atomics
//   emit/c/expr.c     expressions
//   emit/c/stmt.c     statements
//   emit/c/group.c    statements in which a group acts as one: barriers and collectives
//   emit/c/fragment.c  fragments, as CUDA has them
//
// Names in the text: a variable "sum" with index 7 is sum_7; buffers end in _b0, shared arrays in _s0, local ones in
// _l0, scalars in _p0; everything else begins with tsr_. So nothing meets a keyword or another name.
#ifndef TSRI_LANG_EMIT_C_H
#define TSRI_LANG_EMIT_C_H

#include "core/builder.h"
#include "core/error.h"
#include "lang/emit/emit.h"
#include "lang/emit/helper_names.h"
#include "lang/emit/phrase.h"
#include "lang/ir/marks.h"
#include "lang/lower/lacks.h"

// --- Spellings ------------------------------------------------------------------------------------------------------

typedef enum tsri_c_dialect_bit {
  TSRI_C_OPENCL = 1,
  TSRI_C_CUDA = 2,
  TSRI_C_HIP = 4,
  TSRI_C_METAL = 8,
  TSRI_C_PLAIN = 16,
  TSRI_C_GPU = TSRI_C_OPENCL | TSRI_C_CUDA | TSRI_C_HIP | TSRI_C_METAL,
  TSRI_C_ALL = TSRI_C_GPU | TSRI_C_PLAIN
} tsri_c_dialect_bit;

// Words are written with the blank that follows them, so that an empty one leaves none behind.
typedef struct tsri_c_spelling {
  uint32_t bit;
  const char *prelude;                 // types u8 to f64 and TSR_FN, which stands before a helper
  const char *space[3];                // before a pointer's type, by tsri_ir_space
  const char *shared;                  // before the declaration of a shared array, which is aligned to 16
  const char *no_alias;                // after the * of a pointer parameter
  const char *build_options;           // for the device's compiler; OpenCL's depend on the kernel
  const char *barrier;                 // for shared memory and buffers
  const char *shared_barrier;          // for shared memory alone
  const char *group, *groups, *local;  // ids; # stands for the axis
  const char *axes;                    // what # becomes for the three axes
  const char *math_prefix;             // of sqrt and its like
  const char *f32_suffix;              // after them for f32
  const char *long_suffix;             // of a 64-bit literal
  const char *native_i64;              // element name of the built-in vector types for i64
  uint32_t max_native_bytes;           // of one native vector load; 0: none

  const struct tsri_c_fragments *fragments;  // helpers for matrix units (fragment.h); NULL: none
} tsri_c_spelling;

extern const struct tsri_c_fragments tsri_c_fragments_cuda, tsri_c_fragments_hip;
extern const tsri_c_spelling tsri_c_opencl, tsri_c_cuda, tsri_c_hip, tsri_c_metal, tsri_c_plain;

// --- The emitter's state --------------------------------------------------------------------------------------------

#define TSRI_C_MAX_DEPTH 600  // of nested blocks and conditional operands
#define TSRI_C_MAX_NAME  40   // of a source name; the number behind it keeps longer ones apart

// Flag of a statement, beside those of ir/marks.h.
#define TSRI_C_FLAGGED 4u  // LOOP: its BREAKs set tsr_leave_<index> (the body stands in a do … while)

typedef struct tsri_c_emitter {
  const tsri_emitter *emitter;
  const tsri_kernel *kernel;
  const tsri_emit_options *options;
  const tsri_c_spelling *spell;
  tsri_lacks lacks;

  tsri_builder helpers;  // in an order in which each stands after what it uses
  tsri_builder body;
  tsri_helper_names names;  // of the helpers written so far

  uint8_t *stmt_flags;  // plain C: a statement that is TSRI_MARK_COLLECTED runs once for the group, not once per item

  uint32_t items;       // per group
  bool has_groups;      // plain C: barriers, so variables live in an array of items
  bool uses_subgroups;  // the body has collectives of subgroups
  bool uses_lid;        // the body names tsr_lid
  bool uses_f64;        // the kernel or a helper does
  uint32_t ids_used;    // bit 3 * tsri_ir_id + axis
  uint8_t *params_used;
  uint8_t *vars_used;

  uint32_t loop;  // innermost statement LOOP; 0: none
  int indent;
  uint32_t depth;
  bool is_too_deep;
} tsri_c_emitter;

static inline bool tsri_c_is(const tsri_c_emitter *e, uint32_t bits) { return (e->spell->bit & bits) != 0; }

// --- Names and types ------------------------------------------------------------------------------------------------

// "f32", "tsr_f32x4"; asks for the helper that declares the vector.
const char *tsri_c_type(tsri_c_emitter *e, tsri_ir_type type);
const char *tsri_c_mem_type(tsr_dtype storage);  // C type of an element in memory: f16 is u16
// "x_b0"; with "tsr_group->" or so before it where it lies there.
void tsri_c_put_array(tsri_c_emitter *e, tsri_builder *out, tsri_ir_space space, uint32_t object);
void tsri_c_put_var(tsri_c_emitter *e, tsri_builder *out, uint32_t var);
void tsri_c_put_name(tsri_builder *out, const char *name, const char *kind, uint32_t index);

// --- Helpers --------------------------------------------------------------------------------------------------------

// Replaces $t and so on in a template (emit/c/helpers.c lists them), asks for each tsr_ helper it names, and adds the
// result to `out`. Operands $a, $b, $c stay.
void tsri_c_expand(tsri_c_emitter *e, tsri_builder *out, const char *pattern, tsr_dtype dtype);

// True the first time a helper of this name is asked for: the caller then writes it. `name` is cut to fit.
bool tsri_c_want(tsri_c_emitter *e, const char *name);
// Adds a helper that the caller wrote for tsri_c_want.
void tsri_c_define(tsri_c_emitter *e, const char *name, const tsri_builder *text);
void tsri_c_define_phrase(tsri_c_emitter *e, const char *name, const char *format, ...);  // emit/phrase.h: %s and %u

// Adds the function of this name that is written from an expansion (lang/lower/expand.h), if there is one and it was not
// asked for before.
void tsri_c_define_expansion(tsri_c_emitter *e, const char *name);

// Template of an operation on one lane; `dtype` is that of its (last) operand. `is_loose`: with the freedom that an
// expansion may give (lower/expand.h).
const char *tsri_c_op_pattern(const tsri_c_emitter *e, tsri_ir_op op, tsr_dtype dtype, bool is_loose);
const char *tsri_c_convert_pattern(const tsri_c_emitter *e, tsr_dtype to, tsr_dtype from, bool is_loose);
const char *tsri_c_bitcast_pattern(tsr_dtype to, tsr_dtype from);
const char *tsri_c_native_element(const tsri_c_emitter *e, tsr_dtype storage);  // of the dialect's vectors: "uchar"
const char *tsri_c_decode_pattern(tsr_dtype storage);                           // memory to value
const char *tsri_c_encode_pattern(tsr_dtype storage);                           // value to memory

// --- Helpers made on demand. Each writes the name of the helper to `name`. ---

typedef struct tsri_c_name {
  char text[TSRI_HELPER_NAME_BYTES];
} tsri_c_name;

tsri_c_name tsri_c_vector_op(tsri_c_emitter *e, tsri_ir_op op, tsri_ir_type operand, tsri_ir_type result);
tsri_c_name tsri_c_vector_convert(tsri_c_emitter *e, tsr_dtype to, tsri_ir_type from);
tsri_c_name tsri_c_vector_bitcast(tsri_c_emitter *e, tsri_ir_type to, tsri_ir_type from);
tsri_c_name tsri_c_vector_make(tsri_c_emitter *e, tsri_ir_type type);
tsri_c_name tsri_c_vector_splat(tsri_c_emitter *e, tsri_ir_type type);
tsri_c_name tsri_c_vector_insert(tsri_c_emitter *e, tsri_ir_type type, uint32_t lane);
// is_once: elements that nobody writes, and that are read once (TSRI_LOAD_ONCE).
tsri_c_name tsri_c_load(tsri_c_emitter *e, tsri_ir_space space, tsr_dtype storage, uint32_t lanes, bool is_once);
tsri_c_name tsri_c_store(tsri_c_emitter *e, tsri_ir_space space, tsr_dtype storage, uint32_t lanes);
tsri_c_name tsri_c_atomic(tsri_c_emitter *e, tsri_ir_atomic op, tsri_ir_space space, tsr_dtype dtype);

// OpenCL without cl_khr_fp16 reads and writes f16 in memory by vload_half and vstore_half_rte.
bool tsri_c_is_half_pointer(const tsri_c_emitter *e, tsr_dtype storage);

// --- Expressions and statements -------------------------------------------------------------------------------------

// Marks statements. False: no memory.
bool tsri_c_analyse(tsri_c_emitter *e);

void tsri_c_put_const(tsri_c_emitter *e, tsri_builder *out, tsr_dtype dtype, uint64_t bits);
void tsri_c_put_expr(tsri_c_emitter *e, uint32_t expr, bool is_bare);  // is_bare: no outer brackets
// A template with expressions as operands $a, $b, $c; `is_bare`: no outer brackets.
void tsri_c_put_pattern(tsri_c_emitter *e, const char *pattern, tsr_dtype dtype, const uint32_t *args, bool is_bare);

void tsri_c_put(tsri_c_emitter *e, const char *format, ...);  // to the body; emit/phrase.h has the letters
// True unless nested too deep; then call tsri_c_leave.
bool tsri_c_enter(tsri_c_emitter *e);
void tsri_c_leave(tsri_c_emitter *e);
void tsri_c_put_block(tsri_c_emitter *e, uint32_t first);  // statements of each item
void tsri_c_put_stmt(tsri_c_emitter *e, uint32_t index);
void tsri_c_put_loop(tsri_c_emitter *e, uint32_t index);
void tsri_c_put_group_block(tsri_c_emitter *e, uint32_t first);           // plain C: statements of a whole group
void tsri_c_put_collective(tsri_c_emitter *e, const tsri_ir_stmt *stmt);  // on a device

// Fragments, where the dialect has them: declarations, and a statement.
void tsri_c_put_fragments(tsri_c_emitter *e, tsri_builder *out, const char *indent);
void tsri_c_put_fragment_stmt(tsri_c_emitter *e, const tsri_ir_stmt *stmt);

static inline tsri_ir_type tsri_c_lane(tsri_ir_type type) { return (tsri_ir_type){type.dtype, 1}; }

#endif
