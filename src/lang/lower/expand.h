// SPDX-License-Identifier: MIT
// Operations as simpler ones, for dialects that lack them (lacks.h): integer division that is defined for every divisor,
// min and max that keep NaN, exp, sin and their like. Vulkan promises 2^-11 for sin, 3 + 2|x| ULP for exp and nothing for
// f64; WGSL is no better.
//
// An expansion is a list of expressions of the checked form without branches: each refers to earlier ones by index, any
// number of times. A dialect writes it where it stands, one name per expression, or once as a function. What it consists of
// the dialect may lack in turn. The functions' arithmetic is that of the CPU (src/backends/cpu/math), so results agree
// closely; within 3 ULP given correctly rounded + - *, and 4 where division is off by 2.5. Everything else is exact.
#ifndef TSRI_LANG_EXPAND_H
#define TSRI_LANG_EXPAND_H

#include "lang/ir/ir.h"

#define TSRI_EXPAND_MAX 560  // expressions of the longest, sin of large f64

typedef struct tsri_expansion {
  // Indices 1 to count - 1. Kinds: VAR (object 0 to 2: the operand), CONST, OP, CONVERT, BITCAST. CONST is of all lanes.
  // `lane` 1 leaves a dialect more freedom, so that it does not lack the operation:
  //   DIV, REM    floats need not be rounded correctly; the divisor of integers is neither 0 nor -1
  //   ADD, SUB, MUL  what becomes of the result need not see it as it was rounded
  //   NEG         need not turn the sign of 0, and may take any form
  //   SHL, SHR    the count is below the width
  //   comparisons may give anything for NaN
  //   CONVERT     float to integer: the operand is in range; u32 to f32: it is below 2^24
  tsri_ir_expr nodes[TSRI_EXPAND_MAX];
  uint32_t count, result;
  bool has_overflowed;  // a defect here: the list was too short
} tsri_expansion;

typedef struct tsri_expand_options {
  bool fma;          // FMA is one operation that rounds once; without it, it is not used
  bool nan_by_bits;  // comparisons may give anything for NaN, which is then asked for by itself, if possible at the end
  bool trusts_nan;   // comparisons give what they must for NaN, whatever the compiler assumes
  bool remainder;    // REM of negative integers is one operation; without it, it is made of DIV
  bool f64;          // FMA of f32 may go through f64, and i64 is there, too
  bool far;          // for arguments beyond tsri_expand_limit, infinity and NaN; without it, for the others and NaN
} tsri_expand_options;

// Some expansions are for arguments whose size is at most this. Beyond, there is a longer one (option `far`), best written as a
// branch that is seldom taken. 0: one expansion does for all arguments.
double tsri_expand_limit(tsri_ir_op code);

// Is it an operation with an expansion? `type` is that of the operands, any lanes.
bool tsri_expand_has(tsri_ir_op code, tsri_ir_type type);

// Is the expansion long, as that of exp or sin? Then it is worth a branch that leaves it out.
bool tsri_expand_is_long(tsri_ir_op code);

// The call of the function that a dialect makes of the expansion: "tsr_min_f32($a, $b)", operands as templates have them.
const char *tsri_expand_call(tsri_ir_op code, tsr_dtype dtype);

// Writes the expansion of an operation that tsri_expand_has. That of an operation on f64 needs i64, too.
void tsri_expand(tsri_ir_op code, tsri_ir_type type, tsri_expand_options options, tsri_expansion *out);

// Conversions with an expansion, by the rules of CONVERT (ir.h): floats to integers and bool, to f16 and bf16 (the result is
// f32), integers to bf16, which f32 on the way would round twice, u32 to f32. The operand has type `from`.
bool tsri_expand_has_convert(tsr_dtype to, tsr_dtype from);
void tsri_expand_convert(tsr_dtype to, tsri_ir_type from, tsri_expand_options options, tsri_expansion *out);

// Between f32 and the 16 bits of f16 or bf16 in the low half of a u32.
void tsri_expand_encode(tsr_dtype storage, uint32_t lanes, tsri_expansion *out);
void tsri_expand_decode(tsr_dtype storage, uint32_t lanes, tsri_expansion *out);

// How a dialect that writes expansions as functions calls them: "tsr_sin_f32", "tsr_sin_far_f32" (option `far`),
// "tsr_to_bf16_i64", "tsr_f32_to_f16" (encode), "tsr_f16_to_f32" (decode). `options.far` is not read.
typedef struct tsri_expand_signature {
  tsri_ir_type operand;  // of each operand
  uint32_t arity;
  char far_name[40];  // of the function for larger arguments than `limit`; "" if there is none
  double limit;
} tsri_expand_signature;

// Writes the expansion that the function of this name is. False: there is none.
bool tsri_expand_named(const char *name, tsri_expand_options options, tsri_expansion *out,
                       tsri_expand_signature *out_signature);

#endif
