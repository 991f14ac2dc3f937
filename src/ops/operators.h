// SPDX-License-Identifier: MIT
// The records of all operators, generated from operators.def.
#ifndef TSRI_OPERATORS_H
#define TSRI_OPERATORS_H

#include <assert.h>

#include "graph/node.h"

typedef enum tsri_operator_id {
#define TSRI_ONE(name, ...)       TSRI_OPERATOR_##name,
#define TSRI_ONE_1(name, ...)     TSRI_OPERATOR_##name,
#define TSRI_ONE_2(name, ...)     TSRI_OPERATOR_##name,
#define TSRI_ONE_3(name, ...)     TSRI_OPERATOR_##name,
#define TSRI_TWO(name, ...)       TSRI_OPERATOR_##name,
#define TSRI_TWO_1(name, ...)     TSRI_OPERATOR_##name,
#define TSRI_THREE(name, ...)     TSRI_OPERATOR_##name,
#define TSRI_REDUCTION(name, ...) TSRI_OPERATOR_##name,
#define TSRI_OPERATOR(name, ...)  TSRI_OPERATOR_##name,
#include "ops/operators.def"
  TSRI_OPERATOR_COUNT
} tsri_operator_id;

// Attributes that nodes of operators with their own kernel have besides their inputs: tsri_scan_attributes and so on,
// from TSRI_ATTRIBUTES(scan, …). All fields are 8 bytes wide, so that nodes can be compared by memcmp.
#define NUMBER(x) double x;
#define SIZE(x)   int64_t x;
#define SIZES(x)  int64_t x[TSR_MAX_RANK];
#define AXIS(x)   int64_t x;
#define FLAG(x)   int64_t x;
#define SEED(x)   uint64_t x;
#define TSRI_ATTRIBUTES(set, fields)       \
  typedef struct tsri_##set##_attributes { \
    fields                                 \
  } tsri_##set##_attributes;
#include "ops/operators.def"
#undef NUMBER
#undef SIZE
#undef SIZES
#undef AXIS
#undef FLAG
#undef SEED

typedef enum tsri_attribute_set {
  TSRI_SET_NONE,
#define TSRI_ATTRIBUTES(set, fields) TSRI_SET_##set,
#include "ops/operators.def"
} tsri_attribute_set;

// TSRI_GIVE(op, scan, .axis = 1) and TSRI_GIVE_ALL(op, scan, &attributes) pass attributes to tsri_record_kernel;
// TSRI_GIVEN(node, scan)->axis reads them. The set must be the one named in the operator's row.
#define TSRI_GIVE(op, set, ...) TSRI_GIVE_ALL(op, set, (&(const tsri_##set##_attributes){__VA_ARGS__}))
#define TSRI_GIVE_ALL(op, set, attributes) \
  tsri_attributes_of(op, TSRI_SET_##set, (const tsri_##set##_attributes *){attributes})
#define TSRI_GIVEN(node, set) \
  ((const tsri_##set##_attributes *)tsri_attributes_of((node)->op, TSRI_SET_##set, (node)->attributes))

static inline const void *tsri_attributes_of(const tsri_op *op, tsri_attribute_set set, const void *attributes) {
  (void)op, (void)set;
  assert(op->attribute_set == set);
  return attributes;
}

// The type rules: RULE in operators.def.
typedef enum tsri_type_rule {
  TSRI_DTYPE_RULE_SAME,
  TSRI_DTYPE_RULE_FLOAT,
  TSRI_DTYPE_RULE_COMPARE,
  TSRI_DTYPE_RULE_TRUTH,
  TSRI_DTYPE_RULE_WHERE,
  TSRI_DTYPE_RULE_SUMMED,
  TSRI_DTYPE_RULE_INDEX,
  TSRI_DTYPE_RULE_BYTES,
  TSRI_DTYPE_RULE_ASKED
} tsri_type_rule;

// Bodies of an element-wise operator, by the kind of dtype it computes in. HALF replaces FLOAT for f16 and bf16, if
// there is one. Other operators have one body, TSRI_BODY_ONLY.
enum {
  TSRI_BODY_FLOAT,
  TSRI_BODY_INT,
  TSRI_BODY_BOOL,
  TSRI_BODY_HALF,
  TSRI_BODY_COUNT,
  TSRI_BODY_ONLY = TSRI_BODY_FLOAT
};

typedef struct tsri_operator {
  const char *name;                   // "add" for the public function tsr_add
  uint8_t input_count, scalar_count;  // element-wise: number of tensors and of scalars; other operators: 0
  uint8_t rule;                       // tsri_type_rule
  tsri_op bodies[TSRI_BODY_COUNT];    // element-wise: if expression is NULL, that kind of dtype is refused
} tsri_operator;

extern const tsri_operator tsri_operators[TSRI_OPERATOR_COUNT];

// The body of an operator that is not element-wise: TSRI_BODY(gather).
#define TSRI_BODY(name) (&tsri_operators[TSRI_OPERATOR_##name].bodies[TSRI_BODY_ONLY])

// Declares the functions that the rows name: tsri_run_gather for KERNEL(gather), and so on.
#define KERNEL(f)                                                  tsr_status tsri_run_##f(const tsri_kernel_run *run);
#define NATIVE(f)                                                  bool tsri_describe_##f(const tsri_node *node, tsri_native_op *out_op);
#define TSRI_OPERATOR(name, family, text, parameters, body, check) body
#include "ops/operators.def"

#endif
