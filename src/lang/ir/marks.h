// SPDX-License-Identifier: MIT
// Marks statements for languages without work items, in which a group is a loop over its items: what contains a barrier or a collective runs once for
// the group, and is decided for all items alike.
#ifndef TSRI_LANG_IR_MARKS_H
#define TSRI_LANG_IR_MARKS_H

#include "lang/ir/ir.h"

#define TSRI_MARK_COLLECTED    1u  // contains a barrier or a collective, or leaves a loop that does
#define TSRI_MARK_HAS_CONTINUE 2u  // LOOP: a CONTINUE of this loop is inside

// Fills `marks`, which has a zero for each statement. Blocks that are nested deeper than `most_depth` are not marked. Returns whether the
// body is collected.
bool tsri_ir_mark(const tsri_kernel *kernel, uint32_t most_depth, uint8_t *marks);

#endif
