// SPDX-License-Identifier: MIT
// Inside the WGSL emitter: what its files share.
//
//   emit/wgsl/wgsl.c          the emitter: declarations, the entry point's head, putting the module together
//   emit/wgsl/helpers.c  small functions the text may need
//   emit/wgsl/op.c       operations, conversions and expansions
//   emit/wgsl/memory.c   how arrays are held; loads, stores, atomics
//   emit/wgsl/expr.c     expressions
//   emit/wgsl/stmt.c     statements
//   emit/wgsl/fragment.c matrix fragments
//
// The module has one entry point. Group 0 holds the buffers at bindings 0, 1, …, then a
// uniform buffer of 32-bit words: TSRI_WGSL_SYSTEM_WORDS of the launcher's (below), then the kernel's parameters.
//
// Every expression but a leaf is a `let` named e<index>, so that nothing nests and nothing is a constant expression, in
// which WGSL refuses what overflows. What WGSL lacks:
//   i64                       pairs of words (lower/pairs.h)
//   8 and 16 bits             in buffers parts of words, elsewhere held in their value type (lower/storage.h); but elements of
//                             f16 where the device has them and was found to round (tsri_emit_options.f16)
//   NaN and infinity          tested by bits, made by bits at run time: WGSL may assume that there are none
//   more than 65,535 groups   folded: TSRI_WGSL_FOLD says how group ids are to be unfolded
//
// Names are those of emit/c/c.h.
#ifndef TSRI_LANG_EMIT_WGSL_H
#define TSRI_LANG_EMIT_WGSL_H

#include "core/builder.h"
#include "lang/emit/emit.h"
#include "lang/emit/helper_names.h"
#include "lang/emit/phrase.h"
#include "lang/emit/tree.h"
#include "lang/lower/lacks.h"

// The first words of the uniform buffer, which the launcher fills in.
enum {
  TSRI_WGSL_GROUPS = 0,  // three words: groups of the launch along each axis
  TSRI_WGSL_FOLD = 3,    // a tsri_wgsl_fold
  TSRI_WGSL_ZERO = 4,    // 0; the compiler does not know that
  TSRI_WGSL_APART = 5,   // 0 as well; the compiler does not know that it equals TSRI_WGSL_ZERO
  // The bits of 1, -1 and -0 as f32, which the compiler does not know either: an fma with one of them is a sum, a difference or a product.
  TSRI_WGSL_ONE = 6,
  TSRI_WGSL_MINUS_ONE = 7,
  TSRI_WGSL_MINUS_ZERO = 8,
  TSRI_WGSL_SYSTEM_WORDS = 12
};

// How the groups of the launch are arranged in the dispatch.
typedef enum tsri_wgsl_fold {
  TSRI_WGSL_AS_THEY_ARE,
  TSRI_WGSL_ROW,  // the launch has one row; the dispatch has at least as many groups, in any shape
  TSRI_WGSL_ANY   // as TSRI_WGSL_ROW for any launch, by divisions, which cost as much as a small kernel
} tsri_wgsl_fold;

#define TSRI_WGSL_MAX_DEPTH 250  // of nested blocks; compilers of WGSL refuse more

// How an array of the kernel is stored in memory.
typedef struct tsri_wgsl_array {
  uint8_t lanes;  // elements in a vector of the declaration
  bool is_atomic;
  bool is_half;     // elements are WGSL's f16, whose conversions were found to be the same as ours
  bool has_halves;  // elements are words, each declared as two f16, lower half first
} tsri_wgsl_array;

typedef struct tsri_wgsl {
  const tsri_kernel *kernel;
  const tsri_emit_options *options;
  bool has_shuffles;
  tsri_lacks lacks;

  tsri_builder helpers;  // each after those that it uses
  tsri_builder body;
  tsri_helper_names names;  // names of the helpers written so far

  tsri_wgsl_array *buffers, *shared;
  bool *is_rounded;  // by expression: + - or * of f32 that is written as tsri_wgsl_rounded_call
  tsri_tree tree;

  int indent;
  uint32_t depth;
  bool is_too_deep, is_out_of_memory;
} tsri_wgsl;

// --- Names and types ------------------------------------------------------------------------------------------------

// "f32", "vec4<f32>".
const char *tsri_wgsl_type(tsri_ir_type type);
void tsri_wgsl_put_name(tsri_builder *out, const char *name, const char *kind, uint32_t index);
void tsri_wgsl_put_array(tsri_wgsl *w, tsri_builder *out, tsri_ir_space space, uint32_t object);
void tsri_wgsl_put_const(tsri_wgsl *w, tsri_builder *out, tsr_dtype dtype, uint64_t bits);

// --- Helpers --------------------------------------------------------------------------------------------------------

typedef struct tsri_wgsl_helper {
  const char *name;  // "tsr_div_i32"
  const char *text;
} tsri_wgsl_helper;

// True if a helper of this name is requested for the first time: the caller then writes it to `helpers`.
bool tsri_wgsl_want(tsri_wgsl *w, const char *name);
// Writes every helper that the text names, unless it exists.
void tsri_wgsl_use(tsri_wgsl *w, const char *text);

// --- Operations: $a, $b, $c stand for the operands ------------------------------------------------------------------

// The pattern for one lane; `dtype` is that of the first operand, or of the selected value. is_loose: the result may be as inexact as for a relaxed operation
// (expand.h).
const char *tsri_wgsl_op_pattern(const tsri_wgsl *w, tsri_ir_op op, tsr_dtype dtype, bool is_loose);
// The call of a helper that computes + - or * of f32 by one fma, "tsr_add4($a, $b)", so that the compiler can neither fuse nor cancel it. NULL: another
// operation, or a device whose fma may round twice.
const char *tsri_wgsl_rounded_call(const tsri_wgsl *w, tsri_ir_op op, tsri_ir_type type);
// The helper for the high word of a product with a constant factor, which is faster than mulhi of any two words; call it with the other word and `*out_factor`.
// NULL: there is none for this factor.
const char *tsri_wgsl_mulhi_call(uint32_t factor, uint32_t *out_factor);
// Whether the pattern can be applied to whole vectors.
bool tsri_wgsl_op_is_native(const tsri_wgsl *w, tsri_ir_op op, tsr_dtype dtype);
const char *tsri_wgsl_convert_pattern(tsr_dtype to, tsr_dtype from, bool is_loose);
// `as`: f16 or bf16 if the bits are those of such an element (TSRI_EXPR_BITCAST).
const char *tsri_wgsl_bitcast_pattern(tsr_dtype as, tsr_dtype to, tsr_dtype from);
// The name of an operand in a pattern.
typedef struct tsri_wgsl_operands {
  const char *text[3];
} tsri_wgsl_operands;
// Writes a pattern with its operands, each followed by `suffix` (".x").
void tsri_wgsl_put_pattern(tsri_wgsl *w, tsri_builder *out, const char *pattern, const tsri_wgsl_operands *operands,
                           const char *suffix);
// Writes the function tsr_<op>_f32 from its expansion, if there is one and it does not exist yet.
bool tsri_wgsl_define_expansion(tsri_wgsl *w, const char *name);

// --- Memory ---------------------------------------------------------------------------------------------------------

void tsri_wgsl_plan_arrays(tsri_wgsl *w);
tsri_wgsl_array tsri_wgsl_held(const tsri_wgsl *w, tsri_ir_space space, uint32_t object);
void tsri_wgsl_put_load(tsri_wgsl *w, uint32_t expr);
void tsri_wgsl_put_store(tsri_wgsl *w, const tsri_ir_stmt *stmt);
void tsri_wgsl_put_atomic(tsri_wgsl *w, const tsri_ir_stmt *stmt);

// --- Fragments ------------------------------------------------------------------------------------------------------

// Adapts the declarations of the arrays that fragments are loaded from and stored to.
void tsri_wgsl_plan_fragments(tsri_wgsl *w);
void tsri_wgsl_put_fragment_directives(const tsri_wgsl *w, tsri_builder *out);
void tsri_wgsl_put_fragments(tsri_wgsl *w, tsri_builder *out);
void tsri_wgsl_put_fragment_stmt(tsri_wgsl *w, const tsri_ir_stmt *s);

// --- Expressions and statements -------------------------------------------------------------------------------------

void tsri_wgsl_put(tsri_wgsl *w, const char *format, ...);  // to the body; emit/phrase.h has the letters
void tsri_wgsl_put_line(tsri_wgsl *w, const char *text);    // as tsri_wgsl_put, for an indented text without letters
void tsri_wgsl_plan_rounded(tsri_wgsl *w);                  // fills is_rounded
// Writes the lets that `expr` (0: none) needs; afterwards tsri_wgsl_put_value writes its name.
void tsri_wgsl_put_lets(tsri_wgsl *w, uint32_t expr);
void tsri_wgsl_put_value(tsri_wgsl *w, tsri_builder *out, uint32_t expr);
void tsri_wgsl_put_block(tsri_wgsl *w, uint32_t first);

#endif
