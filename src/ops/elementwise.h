// SPDX-License-Identifier: MIT
// Element-wise operators: their records, from elementwise.def, and the one function that applies type rules and
// records.
#ifndef TSRI_ELEMENTWISE_H
#define TSRI_ELEMENTWISE_H

#include <tessera/ops.h>

#include "graph/graph.h"

typedef enum tsri_elementwise_id {
#define TSRI_ROW(name, inputs, scalars, rule, f, i, b, helper, costly, text) TSRI_EW_##name,
#include "ops/elementwise.def"
  TSRI_EW_COUNT
} tsri_elementwise_id;

// What elementwise.def calls `rule`.
typedef enum tsri_type_rule {
  TSRI_TYPE_SAME,
  TSRI_TYPE_FLOAT,
  TSRI_TYPE_COMPARE,
  TSRI_TYPE_TRUTH,
  TSRI_TYPE_WHERE
} tsri_type_rule;

enum { TSRI_EW_FLOAT, TSRI_EW_INT, TSRI_EW_BOOL, TSRI_EW_KINDS };

typedef struct tsri_elementwise_op {
  const char *name;  // "add": the public function is tsr_add
  const char *text;  // what it computes
  uint8_t input_count, scalar_count;
  uint8_t rule;                // tsri_type_rule
  tsri_op ops[TSRI_EW_KINDS];  // by the kind of what it computes in; expression NULL: refused
} tsri_elementwise_op;

extern const tsri_elementwise_op tsri_elementwise_ops[TSRI_EW_COUNT];

// What the operator computes in, and its result, for inputs of these dtypes.
//
// Errors: TSR_ERR_DTYPE, with the dtypes and what the operator takes.
tsr_status tsri_elementwise_dtypes(tsri_elementwise_id id, const tsr_dtype *inputs, tsr_dtype *out_computed,
                                   tsr_dtype *out_result);

// The record of an operator that computes in a dtype which it takes.
const tsri_op *tsri_elementwise_op_for(tsri_elementwise_id id, tsr_dtype computed);

// Checks, promotes and records: the body of every public function. A tensor, or a failed one.
tsr_tensor *tsri_elementwise(tsri_elementwise_id id, tsr_tensor *const *inputs, const double *scalars);

// The same with the result's dtype given (for compositions that keep f32 until the end).
tsr_tensor *tsri_elementwise_to(tsri_elementwise_id id, tsr_dtype dtype, tsr_tensor *const *inputs,
                                const double *scalars);

#endif
