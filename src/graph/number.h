// SPDX-License-Identifier: MIT
// Tensors of one element with a value that is known when they are created. They are recorded, so that the kernels that read them have the value as a parameter;
// memory is allocated and filled only if one is read otherwise.
#ifndef TSRI_NUMBER_H
#define TSRI_NUMBER_H

#include "graph/graph.h"

extern const tsri_op tsri_op_number;

// Whether the tensor with this element (in `dtype`) can be recorded: a kernel's parameter is computed from an f64, which must hold the element exactly.
bool tsri_number_fits(tsr_dtype dtype, const unsigned char *element, double *out_value);

// `layout` has one element.
tsr_tensor *tsri_record_number(tsr_device *device, tsr_dtype dtype, const tsri_layout *layout, double value);

// Fills the memory of a recorded number.
tsr_status tsri_number_run(const tsri_node *node, tsr_buffer *output);

#endif
