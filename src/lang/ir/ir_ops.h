// SPDX-License-Identifier: MIT
// The operations of the kernel language: one list each for arithmetic, group operations and atomics.
//
// The enums, names, type rules, the emitters' tables and the tables of docs/kernel-language.md are made from these
// lists. The last column is the exact meaning: every dialect must give these results, whatever the device does by
// itself. "accurate" means within a few ULP of the exact result (the CPU stays within 2 ULP in f32); everything else
// is exact or correctly rounded.
#ifndef TSRI_LANG_IR_OPS_H
#define TSRI_LANG_IR_OPS_H

// Type rules. N is a value type: i32 u32 i64 u64 f32 f64, as a scalar or a vector of 2 or 4 lanes. All arguments have the
// same type unless stated otherwise, and a vector operation works on each lane.
//   NUMBER   N, N… -> N                          SIGNED   the same, i32 i64 f32 f64 only
//   FLOAT    f32 or f64 -> the same              TEST     f32 or f64 -> bool
//   INT      i32 u32 i64 u64 -> the same         BITS     the same, and bool
//   SHIFT    (INT type, u32 of as many lanes) -> the first's type
//   BOOL     bool -> bool                        WORD     u32 -> u32
//   EQUAL    N or bool, twice -> bool            ORDER    N, N -> bool
//   SELECT   (bool, t, t) -> t for any type t; with vectors the bool has as many lanes
//   LANES    vector of bool -> bool
#define TSRI_IR_RULES(X) \
  X(NUMBER) X(SIGNED) X(FLOAT) X(TEST) X(INT) X(BITS) X(SHIFT) X(BOOL) X(WORD) X(EQUAL) X(ORDER) X(SELECT) X(LANES)

// Columns: name, spelling in the language, argument count, type rule, whether it is an operator (else a function),
// meaning.
#define TSRI_IR_OPS(X)                                                                                            \
  X(NEG, "-", 1, SIGNED, true, "integers wrap: -INT_MIN is INT_MIN; floats flip the sign bit")                    \
  X(BIT_NOT, "~", 1, INT, true, "every bit inverted")                                                             \
  X(NOT, "!", 1, BOOL, true, "true where false")                                                                  \
  X(ADD, "+", 2, NUMBER, true, "integers wrap; floats round once, never contracted into fma")                     \
  X(SUB, "-", 2, NUMBER, true, "integers wrap; floats round once, never contracted into fma")                     \
  X(MUL, "*", 2, NUMBER, true, "integers wrap; floats round once, never contracted into fma")                     \
  X(DIV, "/", 2, NUMBER, true, "integers drop the fraction, x / 0 is x, INT_MIN / -1 is INT_MIN; floats as IEEE") \
  X(REM, "%", 2, INT, true, "sign of the left side; x % 0 is 0, INT_MIN % -1 is 0")                               \
  X(AND, "&", 2, BITS, true, "bit by bit; on bool both sides are evaluated")                                      \
  X(OR, "|", 2, BITS, true, "bit by bit; on bool both sides are evaluated")                                       \
  X(XOR, "^", 2, BITS, true, "bit by bit; on bool true where they differ")                                        \
  X(SHL, "<<", 2, SHIFT, true, "the count is taken modulo the width (32 or 64); zeros come in")                   \
  X(SHR, ">>", 2, SHIFT, true, "the count is taken modulo the width; signed types repeat the sign bit")           \
  X(EQ, "==", 2, EQUAL, true, "false where either is NaN; -0 equals +0")                                          \
  X(NE, "!=", 2, EQUAL, true, "true where either is NaN")                                                         \
  X(LT, "<", 2, ORDER, true, "false where either is NaN")                                                         \
  X(LE, "<=", 2, ORDER, true, "false where either is NaN")                                                        \
  X(GT, ">", 2, ORDER, true, "false where either is NaN")                                                         \
  X(GE, ">=", 2, ORDER, true, "false where either is NaN")                                                        \
  X(MIN, "min", 2, NUMBER, false, "a < b or a is NaN ? a : b, so NaN if either is NaN")                           \
  X(MAX, "max", 2, NUMBER, false, "a > b or a is NaN ? a : b, so NaN if either is NaN")                           \
  X(LOOSE_MAX, "loose_max", 2, FLOAT, false, "the larger one; either of them if one is NaN or both are 0")        \
  X(ABS, "abs", 1, SIGNED, false, "abs(INT_MIN) is INT_MIN; floats clear the sign bit")                           \
  X(SIGN, "sign", 1, SIGNED, false, "x > 0 ? 1 : x < 0 ? -1 : x, so NaN stays NaN and -0 stays -0")               \
  X(FLOOR, "floor", 1, FLOAT, false, "largest whole number that is not above x")                                  \
  X(CEIL, "ceil", 1, FLOAT, false, "smallest whole number that is not below x")                                   \
  X(ROUND, "round", 1, FLOAT, false, "nearest whole number, halves to the even one")                              \
  X(TRUNC, "trunc", 1, FLOAT, false, "the fraction dropped")                                                      \
  X(SQRT, "sqrt", 1, FLOAT, false, "correctly rounded; NaN below 0")                                              \
  X(RSQRT, "rsqrt", 1, FLOAT, false, "1 / sqrt(x), accurate; infinity at 0, NaN below")                           \
  X(EXP, "exp", 1, FLOAT, false, "e to the x, accurate; 0 at -infinity, infinity on overflow")                    \
  X(EXP2, "exp2", 1, FLOAT, false, "2 to the x, accurate")                                                        \
  X(EXPM1, "expm1", 1, FLOAT, false, "e to the x, less 1, accurate near 0 too")                                   \
  X(LOG, "log", 1, FLOAT, false, "natural logarithm, accurate; -infinity at 0, NaN below")                        \
  X(LOG2, "log2", 1, FLOAT, false, "logarithm to base 2, accurate")                                               \
  X(LOG10, "log10", 1, FLOAT, false, "logarithm to base 10, accurate")                                            \
  X(LOG1P, "log1p", 1, FLOAT, false, "log(1 + x), accurate near 0 too")                                           \
  X(SIN, "sin", 1, FLOAT, false, "accurate for every number; NaN for infinity")                                   \
  X(COS, "cos", 1, FLOAT, false, "accurate for every number; NaN for infinity")                                   \
  X(TAN, "tan", 1, FLOAT, false, "accurate for every number; NaN for infinity")                                   \
  X(ASIN, "asin", 1, FLOAT, false, "accurate; NaN outside -1 to 1")                                               \
  X(ACOS, "acos", 1, FLOAT, false, "accurate; NaN outside -1 to 1")                                               \
  X(ATAN, "atan", 1, FLOAT, false, "accurate")                                                                    \
  X(ATAN2, "atan2", 2, FLOAT, false, "angle of the point (x = second, y = first) as C's atan2, accurate")         \
  X(SINH, "sinh", 1, FLOAT, false, "accurate; infinity on overflow")                                              \
  X(COSH, "cosh", 1, FLOAT, false, "accurate; infinity on overflow")                                              \
  X(TANH, "tanh", 1, FLOAT, false, "accurate; 1 and -1 far out, never NaN for a number")                          \
  X(ERF, "erf", 1, FLOAT, false, "error function, accurate")                                                      \
  X(POW, "pow", 2, FLOAT, false, "as C's pow, also for a negative base and a whole exponent; pow(x, 0) is 1")     \
  X(FMA, "fma", 3, FLOAT, false, "a * b + c rounded once")                                                        \
  X(ISNAN, "isnan", 1, TEST, false, "decided by the bits")                                                        \
  X(LOOSE_LESS, "loose_less", 2, TEST, false, "a < b; any result if one of them is NaN")                          \
  X(ISINF, "isinf", 1, TEST, false, "decided by the bits")                                                        \
  X(ISFINITE, "isfinite", 1, TEST, false, "decided by the bits")                                                  \
  X(POPCOUNT, "popcount", 1, INT, false, "number of 1 bits")                                                      \
  X(CLZ, "clz", 1, INT, false, "zero bits above the highest 1; clz(0) is the width")                              \
  X(CTZ, "ctz", 1, INT, false, "zero bits below the lowest 1; ctz(0) is the width")                               \
  X(MULHI, "mulhi", 2, WORD, false, "upper 32 bits of the 64-bit product")                                        \
  X(SELECT, "select", 3, SELECT, false, "second where the first is true, else third; all three are evaluated")    \
  X(ANY, "any", 1, LANES, false, "is any lane true")                                                              \
  X(ALL, "all", 1, LANES, false, "is every lane true")

// Operations in which all items of the work-group take part. They are allowed only in uniform control flow.
// Columns: name, spelling, scope, argument count, type of the value (NUMBER: a scalar N; BOOL), meaning.
//
// A SUBGROUP is a run of subgroup_size items with consecutive local ids (x fastest). A device without subgroups uses
// shared memory and runs of any power of two; the last run of a work-group may be shorter.
#define TSRI_IR_COLLECTIVES(X)                                                                                      \
  X(GROUP_SUM, "group_sum", GROUP, 1, NUMBER, "sum over the group, the same value for every item; order not given") \
  X(GROUP_MIN, "group_min", GROUP, 1, NUMBER, "smallest over the group; NaN if any is NaN")                         \
  X(GROUP_MAX, "group_max", GROUP, 1, NUMBER, "largest over the group; NaN if any is NaN")                          \
  X(GROUP_ANY, "group_any", GROUP, 1, BOOL, "is it true for any item of the group")                                 \
  X(GROUP_ALL, "group_all", GROUP, 1, BOOL, "is it true for every item of the group")                               \
  X(SUBGROUP_SUM, "subgroup_sum", SUBGROUP, 1, NUMBER, "sum over the subgroup; order not given")                    \
  X(SUBGROUP_MIN, "subgroup_min", SUBGROUP, 1, NUMBER, "smallest over the subgroup; NaN if any is NaN")             \
  X(SUBGROUP_MAX, "subgroup_max", SUBGROUP, 1, NUMBER, "largest over the subgroup; NaN if any is NaN")              \
  X(SUBGROUP_ANY, "subgroup_any", SUBGROUP, 1, BOOL, "is it true for any item of the subgroup")                     \
  X(SUBGROUP_ALL, "subgroup_all", SUBGROUP, 1, BOOL, "is it true for every item of the subgroup")                   \
  X(SUBGROUP_SHUFFLE, "subgroup_shuffle", SUBGROUP, 2, NUMBER,                                                      \
    "the value of the item whose lane is the second argument (u32) modulo the subgroup's size; 0 if there is none") \
  X(SUBGROUP_SHUFFLE_XOR, "subgroup_shuffle_xor", SUBGROUP, 2, NUMBER,                                              \
    "the value of the item whose lane is this one's xor the second argument, modulo the size; 0 if there is none")  \
  X(SUBGROUP_BALLOT, "subgroup_ballot", SUBGROUP, 1, BOOL,                                                          \
    "a u32 whose bit i says whether it is true for lane i; lanes from 32 on are left out")

// Atomics on elements of i32 and u32 `inout` buffers and shared arrays. Each returns the old value. The memory order
// is relaxed; a barrier orders them. Columns: name, spelling, operands after the index, new value (old: the value
// before).
#define TSRI_IR_ATOMICS(X)                                \
  X(ADD, "atomic_add", 1, "old + value, wrapping")        \
  X(SUB, "atomic_sub", 1, "old - value, wrapping")        \
  X(MIN, "atomic_min", 1, "the smaller of old and value") \
  X(MAX, "atomic_max", 1, "the larger of old and value")  \
  X(AND, "atomic_and", 1, "old & value")                  \
  X(OR, "atomic_or", 1, "old | value")                    \
  X(XOR, "atomic_xor", 1, "old ^ value")                  \
  X(EXCHANGE, "atomic_exchange", 1, "value")              \
  X(COMPARE_EXCHANGE, "atomic_compare_exchange", 2,       \
    "old == compare ? value : old; the arguments are (a, i, compare, value)")

// Fragments: matrices that the items of a subgroup hold together. name, spelling of the type, rows, columns, meaning
#define TSRI_IR_ROLES(X)                                               \
  X(LEFT, "fragment_left", m, k, "left factor of a product, m x k")    \
  X(RIGHT, "fragment_right", k, n, "right factor of a product, k x n") \
  X(SUM, "fragment_sum", m, n, "what products are added to, m x n")

// Operations on fragments, in the order of the statements (ir.h). name, spelling, fewest and most arguments, form
#define TSRI_IR_FRAGMENT_OPS(X)                                                                   \
  X(FILL, "fragment_fill", 2, 2, "fragment_fill(fragment, value)")                                \
  X(LOAD, "fragment_load", 4, 5, "fragment_load(fragment, array, offset, stride, by_columns)")    \
  X(STORE, "fragment_store", 4, 5, "fragment_store(fragment, array, offset, stride, by_columns)") \
  X(MULTIPLY_ADD, "fragment_multiply_add", 3, 3, "fragment_multiply_add(sum, left, right)")

// Ids: where an item is in the launch. Columns: name, spelling (with .x .y .z if it has axes), has axes, uniform in a
// work-group, meaning.
#define TSRI_IR_IDS(X)                                                                                 \
  X(GROUP, "group", true, true, "number of this group, from 0")                                        \
  X(GROUPS, "groups", true, true, "how many groups were launched")                                     \
  X(LOCAL, "local", true, false, "number of this item in its group, from 0")                           \
  X(GLOBAL, "global", true, false, "group * group size + local, wrapping at 2^32")                     \
  X(SUBGROUP_SIZE, "subgroup_size", false, true, "items in a full subgroup: a power of two, 1 to 128") \
  X(SUBGROUP_LANE, "subgroup_lane", false, false, "number of this item in its subgroup, from 0")

#endif
