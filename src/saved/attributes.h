// SPDX-License-Identifier: MIT
// Attributes of operators by name: what TSRI_ATTRIBUTES of operators.def lists, as data.
#ifndef TSRI_SAVED_ATTRIBUTES_H
#define TSRI_SAVED_ATTRIBUTES_H

#include "saved/format.h"

// Writes all fields of an operator's attributes, or nothing if it has none. Fields that are 0 are left out.
void tsri_saved_put_attributes(tsri_builder *to, const tsri_op *op, const void *attributes);

// Reads them into zeroed memory of the operator's attributes. Returns the name of a field that the operator does not have, or that has another
// type or length, in `bad`, of at least TSRI_SAVED_MOST_NAME + 1 bytes; empty: there is none.
void tsri_saved_take_attributes(tsri_saved_reader *from, const tsri_op *op, void *attributes, char *bad);

#endif
