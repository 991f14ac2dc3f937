// SPDX-License-Identifier: MIT
// Names of operators in files.
#ifndef TSRI_SAVED_NAMES_H
#define TSRI_SAVED_NAMES_H

#include "graph/graph.h"

// The operator of a row of operators.def by the row's name and the number of its body; also what rows have no name for: "zeros" and "copy". NULL: there is none.
const tsri_op *tsri_saved_find_op(const char *name, size_t name_bytes, uint32_t body);

// The operator's name in files: that of its row, or that of a part which has no row.
const char *tsri_saved_name_of(const tsri_op *op);

// The other way round: the number of the operator's body, if tsri_saved_find_op finds it by its name; else -1.
int tsri_saved_body_of(const tsri_op *op);

#endif
