// SPDX-License-Identifier: MIT
// Private to the C-family emitter: shared by its files.
//
// emit/c/c.c        the emitters, the function's head and declarations
// emit/c/spell.c    the table of spellings, one entry per dialect
// emit/c/helpers.c  small functions the text may need, written once for all dialects
// emit/c/expansion.c  functions written from expansions (with emit/function.c)
// emit/c/ops.c      templates of operations and conversions
// emit/c/memory.c   loads, stores and atomics, with helpers made on demand
// emit/c/expr.c     expressions
// emit/c/stmt.c     statements
// emit/c/group.c    statements of a whole group: barriers and collectives
// emit/c/fragment.c fragments
//
// Names in the text: variable "sum" with index 7 is sum_7; buffers end in _b0, shared arrays in _s0, local arrays in _l0, scalars in _p0; all other names begin
// with tsr_. So names never clash with keywords or with each other.
#ifndef TSRI_LANG_EMIT_C_H
#define TSRI_LANG_EMIT_C_H

#include "core/builder.h"
#include "core/error.h"
#include "lang/emit/emit.h"
#include "lang/emit/helper_names.h"
#include "lang/emit/phrase.h"
#include "lang/emit/template.h"
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

// How a dialect spells things. Each word ends with a blank, so that an empty word leaves no blank behind.
typedef struct tsri_c_spelling {
  uint32_t bit;
  const char *prelude;  // types u8 to f64 and TSR_FN, which stands before a helper
  const char *
      head;  // of the function, up to its name; $0 $1 $2: items per group along each axis, $n: all items; $r: the least number of groups per multiprocessor, if it is not 1
  const char *params;          // declares tsr_p, the parameters in a struct $entry_params
  const char *begin;           // the first lines of its body; NULL: none
  const char *space[3];        // address space before a pointer's type, by tsri_ir_space
  const char *shared;          // before the declaration of a shared array, which is aligned to 16
  const char *no_alias;        // after the * of a pointer parameter
  const char *build_options;   // for the device's compiler; OpenCL's depend on the kernel
  const char *loopless;        // additional options for a kernel without loops; NULL: none
  const char *barrier;         // for shared memory and buffers
  const char *shared_barrier;  // for shared memory alone
  // By tsri_ir_id, up to GLOBAL. $#: the axis as the dialect writes it; $l: its letter; $size: items of a group along it; $below: the stride of the axis in the
  // numbering of a group's items.
  const char *ids[TSRI_ID_GLOBAL + 1];
  const char *axes;           // what $# becomes for the three axes
  const char *math_prefix;    // prefix of sqrt and other functions
  const char *f32_suffix;     // their suffix for f32
  const char *long_suffix;    // of a 64-bit literal
  const char *native_i64;     // element name of the built-in vector types for i64
  uint32_t max_native_bytes;  // of one native vector load; 0: none

  const struct tsri_c_fragments *fragments;  // helpers for matrix units (fragment.h); NULL: none
} tsri_c_spelling;

extern const struct tsri_c_fragments tsri_c_fragments_cuda, tsri_c_fragments_hip;
extern const tsri_c_spelling tsri_c_opencl, tsri_c_cuda, tsri_c_hip, tsri_c_metal, tsri_c_plain;

// --- The emitter's state --------------------------------------------------------------------------------------------

#define TSRI_C_MAX_DEPTH 600  // of nested blocks and conditional operands
#define TSRI_C_MAX_NAME  40   // of a source name; longer ones are cut, and stay distinct by the number after them

// Flag of a statement, in addition to those of ir/marks.h.
#define TSRI_C_FLAGGED 4u  // LOOP: its BREAKs set tsr_leave_<index> (its body is in a do … while)

typedef struct tsri_c_name {
  char text[TSRI_HELPER_NAME_BYTES];
} tsri_c_name;

typedef struct tsri_c_emitter {
  const tsri_emitter *emitter;
  const tsri_kernel *kernel;
  const tsri_emit_options *options;
  const tsri_c_spelling *spell;
  tsri_lacks lacks;

  tsri_builder helpers;  // each after those that it uses
  tsri_builder body;
  tsri_helper_names names;  // names of the helpers written so far

  uint8_t *stmt_flags;  // plain C: a statement with TSRI_MARK_COLLECTED runs once for the group, not once per item

  uint32_t items;        // per group
  tsri_c_name subgroup;  // the subgroup size, "32u"
  bool has_groups;       // plain C: there are barriers, so variables are in an array of items
  bool uses_subgroups;   // the body has collectives of subgroups
  bool uses_lid;         // the body names tsr_lid
  bool uses_f64;         // the kernel or a helper does
  uint32_t ids_used;     // bit 3 * tsri_ir_id + axis
  uint8_t *params_used;
  uint8_t *vars_used;

  uint32_t loop;  // innermost statement LOOP; 0: none
  int indent;
  uint32_t depth;
  bool is_too_deep;
} tsri_c_emitter;

static inline bool tsri_c_is(const tsri_c_emitter *e, uint32_t bits) { return (e->spell->bit & bits) != 0; }

// --- Names and types ------------------------------------------------------------------------------------------------

tsri_c_name tsri_c_named(const char *format, ...) TSRI_PRINTF(1, 2);  // cut to fit
// "f32", "tsr_f32x4"; requests the helper that declares the vector type.
tsri_c_name tsri_c_type(tsri_c_emitter *e, tsri_ir_type type);
// "x_b0", preceded by "tsr_group->" or the like if the array is a member.
void tsri_c_put_array(void *emitter, tsri_builder *out, tsri_ir_space space, uint32_t object);
void tsri_c_put_var(void *emitter, tsri_builder *out, uint32_t var);
void tsri_c_put_name(tsri_builder *out, const char *name, const char *kind, uint32_t index);

// --- Helpers --------------------------------------------------------------------------------------------------------

// Adds `pattern` to `out` with its holes filled (emit/c/helpers.c lists the holes), including those of `more` (a list, or NULL), and writes each tsr_ helper
// that it names. $a, $b, $c are kept.
void tsri_c_expand(tsri_c_emitter *e, tsri_builder *out, const char *pattern, tsri_ir_type type, const tsri_hole *more);

// True if the helper of this name is requested for the first time: the caller then writes it. `name` is truncated to fit.
bool tsri_c_want(void *emitter, const char *name);
// Adds a helper that the caller has written after tsri_c_want.
void tsri_c_define(void *emitter, const char *name, const tsri_builder *text);
// tsri_c_want and tsri_c_define in one call, for a helper that is a template.
void tsri_c_define_once(tsri_c_emitter *e, const char *name, const char *pattern, tsri_ir_type type,
                        const tsri_hole *more);
// Writes the helper of this name, if it has not been written and is in the list of helpers.c or is an expansion. Returns the name.
tsri_c_name tsri_c_need(tsri_c_emitter *e, tsri_c_name name);
// Adds the function of this name that is written from an expansion (lang/lower/expand.h), if there is one and it was not requested before.
void tsri_c_define_expansion(tsri_c_emitter *e, const char *name);

// --- Templates of operations ----------------------------------------------------------------------------------------

typedef struct tsri_c_pattern {
  const char *text;
  tsr_dtype dtype;            // dtype for which $t stands
  const char *word, *result;  // what $o and $r stand for; NULL: not used
} tsri_c_pattern;

// The pattern of an OP, CONVERT or BITCAST on one lane. `from`: dtype of its operand; for SELECT, of the selected values. is_loose: the result may be as
// inexact as for a relaxed operation (lower/expand.h).
tsri_c_pattern tsri_c_pattern_of(const tsri_c_emitter *e, const tsri_ir_expr *x, tsr_dtype from, bool is_loose);
// As tsri_c_expand. `operands`: texts for $a, $b and $c; NULL: these are kept.
void tsri_c_expand_pattern(tsri_c_emitter *e, tsri_builder *out, tsri_c_pattern pattern, const char *const operands[3]);

// How an element is stored in memory, by tsr_dtype.
typedef struct tsri_c_element {
  const char *type;    // in C: f16 is u16
  const char *native;  // element name in the dialect's own vectors: "uchar" of uchar4; i64: tsri_c_spelling.native_i64
  const char *decode, *encode;  // templates: memory to value, value to memory
} tsri_c_element;
extern const tsri_c_element tsri_c_elements[TSR_DTYPE_COUNT];

// --- Memory ---------------------------------------------------------------------------------------------------------

void tsri_c_put_load(tsri_c_emitter *e, const tsri_ir_expr *x);
void tsri_c_put_store(tsri_c_emitter *e, const tsri_ir_stmt *stmt);
void tsri_c_put_atomic(tsri_c_emitter *e, const tsri_ir_stmt *stmt);

// --- Expressions and statements -------------------------------------------------------------------------------------

// Writes an id as an expression of the dialect: "(u32)get_group_id(0)".
void tsri_c_put_id(const tsri_c_emitter *e, tsri_builder *out, tsri_ir_id id, uint32_t axis);
void tsri_c_put_const(void *emitter, tsri_builder *out, tsr_dtype dtype, uint64_t bits);
void tsri_c_put_expr(tsri_c_emitter *e, uint32_t expr, bool is_bare);  // is_bare: no outer brackets
// Writes a template with the expressions `args` as operands $a, $b, $c. is_bare: no outer brackets.
void tsri_c_put_pattern(tsri_c_emitter *e, tsri_c_pattern pattern, const uint32_t *args, bool is_bare);

void tsri_c_put(tsri_c_emitter *e, const char *format, ...);  // to the body; emit/phrase.h has the letters
void tsri_c_put_block(tsri_c_emitter *e, uint32_t first);     // statements of each item
void tsri_c_put_stmt(tsri_c_emitter *e, uint32_t index);
void tsri_c_put_group_block(tsri_c_emitter *e, uint32_t first);           // plain C: statements of a whole group
void tsri_c_put_collective(tsri_c_emitter *e, const tsri_ir_stmt *stmt);  // on a device

// Fragments, for dialects that have them: declarations, and a statement.
void tsri_c_put_fragments(tsri_c_emitter *e, tsri_builder *out);
void tsri_c_put_fragment_stmt(tsri_c_emitter *e, const tsri_ir_stmt *stmt);

#endif
