// SPDX-License-Identifier: MIT
// argmax and argmin along one axis.
#ifndef TSRI_OPS_INDEX_PARTS_H
#define TSRI_OPS_INDEX_PARTS_H

#include "graph/graph.h"

// Records `op`, argmax or argmin, of x, which is not bool, along the axis: in two steps if a GPU would have too little to do in one.
tsr_tensor *tsri_index_by_parts(const tsri_op *op, tsr_tensor *x, int axis, bool keep_dims);

#endif
