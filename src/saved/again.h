// SPDX-License-Identifier: MIT
// Records an operator of a file again, on the device of its inputs. Wherever the operator has a public function, that one is called: it checks everything that may be
// wrong in a file, and chooses what suits the device.
#ifndef TSRI_SAVED_AGAIN_H
#define TSRI_SAVED_AGAIN_H

#include "graph/node.h"

typedef struct tsri_again {
  const tsri_op *op;
  tsr_device *device;
  const void *given;  // its attributes; NULL if the operator has none
  uint32_t axes;
  tsr_tensor *const *inputs;
  const tsr_dtype *as;  // of each input: tsri_input.as
  uint32_t input_count;
  const tsri_result *results;
  uint32_t result_count;
} tsri_again;

// Whether the operator can be recorded again.
bool tsri_again_is_known(const tsri_op *op);

// Records the operator. Each result has the shape and dtype of `results`, but may be a view of any layout. A result is NULL if only the device on which the capture was
// saved computes it.
//
// Ownership: the caller releases them, or the caller's scope does. On failure they are all NULL.
// Errors:    those of the operator; TSR_ERR_INVALID_ARGUMENT (inputs, attributes or results that the operator cannot have).
tsr_status tsri_again_record(const tsri_again *step, tsr_tensor **out_results);

// The operator with this expression, for element-wise operators that are part of others and have no name of their own. It is kept as long as the
// process runs. NULL: host memory is out, or the text is not just an expression.
const tsri_op *tsri_again_expression(const char *name, const char *expression, const char *helper, bool is_costly);

#endif
