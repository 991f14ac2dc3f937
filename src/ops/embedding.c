// SPDX-License-Identifier: MIT
// embedding: selects rows of a table, as index_select does, with indices of any shape.
#include "core/error.h"
#include "core/tensor.h"
#include "ops/compose.h"

#include <tessera/ops.h>

tsr_tensor *tsr_embedding(tsr_tensor *table, tsr_tensor *indices) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("embedding", table);
  if (status == TSR_OK) status = tsri_tensor_check("embedding", indices);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape rows = table->layout.shape, shape = indices->layout.shape;
  if (rows.rank < 1 || shape.rank + rows.rank - 1 > TSR_MAX_RANK) {
    return tsri_tensor_fail(
        TSRI_FAIL(TSR_ERR_SHAPE, "embedding: a table of %s and indices of %s; the result has at most %d axes",
                  tsr_shape_format(rows, a, sizeof a), tsr_shape_format(shape, b, sizeof b), TSR_MAX_RANK));
  }
  for (int i = 1; i < rows.rank; i++) shape.dims[shape.rank++] = rows.dims[i];
  tsr_tensor *list = tsr_reshape(indices, TSR_SHAPE(indices->layout.count));
  tsr_tensor *chosen = tsri_then(tsr_index_select(table, 0, list), list);
  return tsri_tensor_named("embedding", tsri_then(tsr_reshape(chosen, shape), chosen));
}
