// SPDX-License-Identifier: MIT
// Dead values: memory that nothing can read any more goes back to the pool while the plan still runs.
//
// References that a plan gives up are kept in its garbage until it has ended, because the plan points to its nodes. A value is dead once all of its
// references are in the garbage or belong to dead nodes: then nobody can get another reference to it. Its memory is given back at once. The node itself
// is freed with the garbage.
#ifndef TSRI_DEAD_H
#define TSRI_DEAD_H

#include "graph/plan.h"

// Finds the values that became dead when garbage->values[from] and later references were added, and gives their memory back. Only this plan may add to
// `garbage`. Returns the number of references in `garbage`; pass it as `from` of the next call. Call with state->lock held.
size_t tsri_dead_find(tsri_graph_state *state, const tsri_plan *plan, const tsri_garbage *garbage, size_t from);

#endif
