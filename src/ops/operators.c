// SPDX-License-Identifier: MIT
// The records of all operators: expands operators.def into designated initialisers.
#include "ops/operators.h"

// --- Bodies ----------------------------------------------------------------------------------------------------------

#define RULE(r)      .rule = TSRI_DTYPE_RULE_##r,
#define FLOATS(e)    .bodies[TSRI_BODY_FLOAT].expression = e,
#define INTEGERS(e)  .bodies[TSRI_BODY_INT].expression = e,
#define BOOLS(e)     .bodies[TSRI_BODY_BOOL].expression = e,
#define HALVES(e, h) .bodies[TSRI_BODY_HALF].expression = e, .bodies[TSRI_BODY_HALF].helper = h,
#define HELPER(h) \
  .bodies[TSRI_BODY_FLOAT].helper = h, .bodies[TSRI_BODY_INT].helper = h, .bodies[TSRI_BODY_BOOL].helper = h,
#define COSTLY                                                                        \
  .bodies[TSRI_BODY_FLOAT].is_costly = true, .bodies[TSRI_BODY_INT].is_costly = true, \
  .bodies[TSRI_BODY_BOOL].is_costly = true, .bodies[TSRI_BODY_HALF].is_costly = true,
#define ADDITION .bodies[TSRI_BODY_FLOAT].is_addition = true,
#define ACTIVATION(a) \
  .bodies[TSRI_BODY_FLOAT].activation = TSRI_ACTIVATION_##a, .bodies[TSRI_BODY_HALF].activation = TSRI_ACTIVATION_##a,
#define EXPRESSION(e) .bodies[TSRI_BODY_ONLY].kind = TSRI_OP_ELEMENTWISE, .bodies[TSRI_BODY_ONLY].expression = e,
#define REDUCE(r)     .bodies[TSRI_BODY_ONLY].kind = TSRI_OP_REDUCE, .bodies[TSRI_BODY_ONLY].reduce = TSRI_REDUCE_##r,
#define KERNEL(f)     .bodies[TSRI_BODY_ONLY].kind = TSRI_OP_KERNEL, .bodies[TSRI_BODY_ONLY].run = tsri_run_##f,
#define ATTRIBUTES(set)                                   \
  .bodies[TSRI_BODY_ONLY].attribute_set = TSRI_SET_##set, \
  .bodies[TSRI_BODY_ONLY].attribute_bytes = sizeof(tsri_##set##_attributes),
#define LOAD_HOOK   .bodies[TSRI_BODY_ONLY].has_load_hook = true,
#define STORE_HOOK  .bodies[TSRI_BODY_ONLY].has_store_hook = true,
#define CAST_HOOK   .bodies[TSRI_BODY_ONLY].has_cast_hook = true,
#define AXIS_HOOK   .bodies[TSRI_BODY_ONLY].has_axis_hook = true,
#define AUTOCAST(a) .bodies[TSRI_BODY_ONLY].autocast = TSRI_AUTOCAST_##a,
#define SEQUENCE    .bodies[TSRI_BODY_ONLY].is_sequence = true,
#define NATIVE(f)   .bodies[TSRI_BODY_ONLY].describe = tsri_describe_##f,

// --- Rows ------------------------------------------------------------------------------------------------------------

#define ROW(op, inputs, numbers, ...)                          \
  [TSRI_OPERATOR_##op] = {.name = #op,                         \
                          .input_count = inputs,               \
                          .scalar_count = numbers,             \
                          .bodies[TSRI_BODY_FLOAT].name = #op, \
                          .bodies[TSRI_BODY_INT].name = #op,   \
                          .bodies[TSRI_BODY_BOOL].name = #op,  \
                          .bodies[TSRI_BODY_HALF].name = #op,  \
                          __VA_ARGS__},

const tsri_operator tsri_operators[TSRI_OPERATOR_COUNT] = {
#define TSRI_ONE(name, family, text, body, check, real, whole)            ROW(name, 1, 0, body)
#define TSRI_ONE_1(name, p, family, text, body, check, real, whole)       ROW(name, 1, 1, body)
#define TSRI_ONE_2(name, p, q, family, text, body, check, real, whole)    ROW(name, 1, 2, body)
#define TSRI_ONE_3(name, p, q, r, family, text, body, check, real, whole) ROW(name, 1, 3, body)
#define TSRI_TWO(name, family, text, body, check, real, whole)            ROW(name, 2, 0, body)
#define TSRI_TWO_1(name, p, family, text, body, check, real, whole)       ROW(name, 2, 1, body)
#define TSRI_THREE(name, a, b, c, family, text, body, check, real, whole) ROW(name, 3, 0, body)
#define TSRI_REDUCTION(name, text, body, check)                           ROW(name, 0, 0, body)
#define TSRI_OPERATOR(name, family, text, params, body, check)            ROW(name, 0, 0, body)
#include "ops/operators.def"
};
