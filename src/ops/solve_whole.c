// SPDX-License-Identifier: MIT
// Solving with triangular matrices in one launch (kernels/op_solve.tk).
#include "ops/call.h"
#include "ops/matrix.h"

// As in the kernel. LEAST_ROWS: for smaller matrices, an item that solves for a whole column (solve_block of op_factor.tk) is as fast.
enum { LEAST_ROWS = 16, MOST_ROWS = 1024, BLOCK = 32, PARTS = 8, SUMS_PITCH = 36, TILE_PITCH = 33, MOST_COLUMNS = 8 };

// Elements of shared memory of a work-group that solves for `columns` columns of up to `size` rows.
static int64_t shared_elements(int64_t size, int64_t columns) {
  return columns * (size + PARTS * SUMS_PITCH + 2) + BLOCK * TILE_PITCH;
}

// How many columns a work-group takes: as few as there are, or as fit; a power of two. 0: not even one fits.
static int64_t columns_for(const tsri_matrices *x, int64_t size) {
  enum { SHARED_BYTES = 48 << 10 };  // more is not worth it, even on a device that has it
  int64_t most = x->device->limits.shared_bytes, columns = 1;
  if (most > SHARED_BYTES) most = SHARED_BYTES;
  most /= (int64_t)tsr_dtype_bytes(x->dtype);
  while (columns < x->columns && columns < MOST_COLUMNS) columns *= 2;
  while (columns > 0 && shared_elements(size, columns) > most) columns /= 2;
  return columns;
}

tsr_status tsri_solve_whole(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit) {
  int64_t size = BLOCK;
  while (size < x->rows) size *= 2;
  int64_t columns = columns_for(x, size);
  if (x->rows < LEAST_ROWS || x->rows > MOST_ROWS || columns == 0) return TSR_ERR_UNSUPPORTED;
  if (x->device->limits.max_group_size < BLOCK * PARTS) return TSR_ERR_UNSUPPORTED;
  tsri_call call;
  tsri_call_init(&call, x->device, "op_solve", "solve_whole",
                 TSRI_WITH(TSRI_TYPE("T", x->dtype), TSRI_CONSTANT("SIZE", size), TSRI_CONSTANT("COLUMNS", columns),
                           TSRI_CONSTANT("BY_ROWS", l->row != 1),
                           TSRI_CONSTANT("SG", tsri_call_subgroup(x->device, BLOCK * PARTS) >= BLOCK)));
  tsri_call_buffer(&call, "l", l->buffer, x->dtype);
  tsri_call_buffer(&call, "x", x->buffer, x->dtype);
  tsri_call_word(&call, "batch", x->batch);
  tsri_call_word(&call, "n", x->rows);
  tsri_call_word(&call, "columns", x->columns);
  tsri_call_word(&call, "l_at", l->at);
  tsri_call_word(&call, "l_batch", l->batch);
  tsri_call_word(&call, "l_row", l->row);
  tsri_call_word(&call, "l_column", l->column);
  tsri_call_word(&call, "is_upper", is_upper);
  tsri_call_word(&call, "is_unit", is_unit);
  return tsri_call_many_groups(&call, x->batch * ((x->columns + columns - 1) / columns));
}
