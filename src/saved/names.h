// SPDX-License-Identifier: MIT
// Names of operators in files.
#ifndef TSRI_SAVED_NAMES_H
#define TSRI_SAVED_NAMES_H

#include "graph/graph.h"

// Finds an operator by the name of its row in operators.def and the number of its body. Also finds parts that have no row, such as "zeros" and "copy". NULL: none.
const tsri_op *tsri_saved_find_op(const char *name, size_t name_bytes, uint32_t body);

// The operator's name in files: that of its row, or that of a part which has no row.
const char *tsri_saved_name_of(const tsri_op *op);

// The other way round: the number of the operator's body, if tsri_saved_find_op finds it by its name; else -1.
int tsri_saved_body_of(const tsri_op *op);

#endif
