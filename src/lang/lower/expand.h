// SPDX-License-Identifier: MIT
// Expansions: operations written as simpler ones, for dialects that lack them (lacks.h). Examples are integer division
// that is defined for every divisor, min and max that keep NaN, and functions such as exp and sin. (Vulkan guarantees
// only 2^-11 for sin, 3 + 2|x| ULP for exp, and nothing for f64; WGSL is no better.)
//
// An expansion is a list of expressions of the checked form, without branches. Each expression refers to earlier ones
// by index, any number of times. A dialect writes the list in place, one name per expression, or once as a function.
// The dialect may lack some of these operations as well; then they are expanded in turn. The functions use the same
// arithmetic as the CPU (src/backends/cpu/math), so results agree closely: within 3 ULP if + - * are correctly
// rounded, and 4 if division has an error of 2.5 ULP. Everything else is exact, division and square root of
// f32 among it.
#ifndef TSRI_LANG_EXPAND_H
#define TSRI_LANG_EXPAND_H

#include "lang/ir/ir.h"

#define TSRI_EXPAND_MAX 560  // length of the longest expansion, sin of large f64 arguments

typedef struct tsri_expansion {
  // Valid indices are 1 to count - 1. Kinds: VAR (object 0 to 2: the operand), CONST (of all lanes), OP, CONVERT,
  // BITCAST.
  // `lane` 1 marks a relaxed operation. It needs less, so that the dialect need not expand it:
  //   DIV, REM    floats need not be rounded correctly; an integer divisor is neither 0 nor -1
  //   SQRT        need not be rounded correctly
  //   EXP2        may have an error of 3 + 2|x| ULP, and make a subnormal result 0
  //   MIN, MAX    of floats may give either operand if one is NaN
  //   ADD, SUB, MUL  the result need not be rounded before it is used (it may be fused with the next operation)
  //   NEG         need not change the sign of 0
  //   SHL, SHR    the count is below the width
  //   comparisons may give any result for NaN
  //   CONVERT     float to integer: the operand is in range; u32 to f32: the operand is below 2^24
  tsri_ir_expr nodes[TSRI_EXPAND_MAX];
  uint32_t count, result;
  bool has_overflowed;  // a bug here: TSRI_EXPAND_MAX is too small
} tsri_expansion;

typedef struct tsri_expand_options {
  bool fma;          // FMA is an operation that rounds once; if false, it is not used
  bool nan_by_bits;  // comparisons may give any result for NaN, so NaN is tested by its bits, if possible at the end
  bool trusts_nan;   // comparisons give the right result for NaN, whatever the compiler assumes
  // MUL and SUB of f32 round to even and keep subnormal numbers, so that bf16 is rounded by them; needs `trusts_nan`.
  bool by_products;
  // tsri_expand_encode to bf16 leaves the bits in the upper half of the word; the lower half is arbitrary.
  bool upper;
  bool remainder;  // REM works for negative integers; if false, it is computed with DIV
  bool f64;        // f64 and i64 exist, so FMA of f32 may be computed in f64
  bool
      narrow;  // the result is rounded to 16 bits afterwards (narrow.h), so a relative error of 2^-15 does no harm: the
               // dialect's own EXP2, DIV and SQRT of f32 are used, relaxed
  // What the dialect's own operations of f32 are good for on this device, so that expansions use them, relaxed (runtime/own_functions.h):
  bool near_quotient;  // 1 / b is so accurate that two corrections of a quotient round it correctly; needs `fma`
  bool near_exp2;      // EXP2 is accurate from -0.5 to 0.5, and right for infinity and NaN; needs `fma`
  bool near_root;      // x RSQRT(x) is rounded correctly after one correction; needs `fma`
  bool far;            // true: for operands with tsri_expand_is_far, infinity and NaN; false: for all others
} tsri_expand_options;

// Some expansions are not valid for operands that are very large or very small. For these there is a longer one (option
// `far`), best written as a branch that is seldom taken. tsri_expand_is_far writes the condition, a bool for each lane.
bool tsri_expand_has_far(tsri_ir_op code, tsr_dtype dtype);
void tsri_expand_is_far(tsri_ir_op code, tsri_ir_type type, tsri_expansion *out);

// Whether the operation has an expansion. `type` is the type of the operands, with any lanes.
bool tsri_expand_has(tsri_ir_op code, tsri_ir_type type);

// Whether the expansion is long, such as for exp or sin, so that a branch that skips it is worthwhile.
bool tsri_expand_is_long(tsri_ir_op code);

// The pattern by which a dialect calls the function that it makes of the expansion: "tsr_min_f32($a, $b)", with operands as in templates.
const char *tsri_expand_call(tsri_ir_op code, tsr_dtype dtype);

// Writes the expansion of an operation; tsri_expand_has must be true. Expansions for f64 also need i64.
void tsri_expand(tsri_ir_op code, tsri_ir_type type, tsri_expand_options options, tsri_expansion *out);

// Conversions that have an expansion, with the rules of CONVERT (ir.h): floats to integers and bool; floats to f16 and
// bf16 (the result is f32); integers to bf16, which f32 as an intermediate step would round twice; u32 to f32. The
// operand has type `from`.
bool tsri_expand_has_convert(tsr_dtype to, tsr_dtype from);
void tsri_expand_convert(tsr_dtype to, tsri_ir_type from, tsri_expand_options options, tsri_expansion *out);

// Conversions between f32 and the 16 bits of f16 or bf16 in the low half of a u32.
void tsri_expand_encode(tsr_dtype storage, uint32_t lanes, tsri_expand_options options, tsri_expansion *out);
void tsri_expand_decode(tsr_dtype storage, uint32_t lanes, tsri_expansion *out);

// The function of a dialect that writes expansions as functions. Names: "tsr_sin_f32", "tsr_sin_far_f32" (option
// `far`), "tsr_sin_is_far_f32" (the condition), "tsr_to_bf16_i64", "tsr_f32_to_f16" (encode), "tsr_f16_to_f32" (decode).
typedef struct tsri_expand_signature {
  tsri_ir_type operand;  // type of each operand
  uint32_t arity;
  char is_far_name[40], far_name[40];  // "" if there is one expansion for all operands
} tsri_expand_signature;

// Writes the expansion for the function of this name; ignores `options.far`. False: there is no such function.
bool tsri_expand_named(const char *name, tsri_expand_options options, tsri_expansion *out,
                       tsri_expand_signature *out_signature);

#endif
