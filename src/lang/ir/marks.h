// SPDX-License-Identifier: MIT
// Marks statements for target languages without work items, where a work-group becomes loops over its items. A statement that contains a barrier or a
// collective (a collected statement) cannot be inside such a loop: it is executed once for the work-group, and its condition is evaluated once for all items.
#ifndef TSRI_LANG_IR_MARKS_H
#define TSRI_LANG_IR_MARKS_H

#include "lang/ir/ir.h"

#define TSRI_MARK_COLLECTED    1u  // contains a barrier or a collective, or leaves a loop that does
#define TSRI_MARK_HAS_CONTINUE 2u  // LOOP: a CONTINUE of this loop is inside

// Sets marks[i], initially 0, to the TSRI_MARK_ bits of statement i. Statements nested deeper than `most_depth` get no marks. Returns whether the kernel's body
// contains a collected statement.
bool tsri_ir_mark(const tsri_kernel *kernel, uint32_t most_depth, uint8_t *marks);

#endif
