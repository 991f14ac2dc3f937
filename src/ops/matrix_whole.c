// SPDX-License-Identifier: MIT
// LU factors and solving with triangular matrices by work-groups that have a whole matrix, or a few of its columns (kernels/op_whole.tk).
#include "ops/call.h"
#include "ops/matrix.h"
#include "ops/promote.h"

// More shared memory is not worth it for a work-group, even on a device that has it.
enum { SHARED_BYTES = 48 << 10 };

static int64_t shared_limit(const tsri_matrices *x) {
  int64_t most = x->device->limits.shared_bytes;
  return most < SHARED_BYTES ? most : SHARED_BYTES;
}

// The smallest size that kernels are built for. Drivers in software take long to compile a kernel, so they get few variants.
static int64_t least_size(const tsri_matrices *x) {
  enum { LEAST = 32, SOFTWARE_LEAST = 128 };
  return x->device->info.is_software ? SOFTWARE_LEAST : LEAST;
}

// --- Triangular matrices ---------------------------------------------------------------------------------------------

// As in the kernel. LEAST_ROWS: for smaller matrices, an item that solves for a whole column (solve_block of op_factor.tk) is as fast, and so are LU's panels.
enum {
  LEAST_ROWS = 16,
  MOST_ROWS = 1024,
  BLOCK = 32,
  PARTS = 8,
  SUMS_PITCH = 36,
  TILE_PITCH = 33,
  MOST_COLUMNS = 8,
  SOFTWARE_COLUMNS = 4
};

// Elements of shared memory of a work-group that solves for `columns` columns of up to `size` rows.
static int64_t shared_elements(int64_t size, int64_t columns) {
  return columns * (size + PARTS * SUMS_PITCH + 2) + BLOCK * TILE_PITCH;
}

// How many columns a work-group takes: as few as there are, or as fit; a power of two. 0: not even one fits.
static int64_t columns_for(const tsri_matrices *x, int64_t size) {
  int64_t most = shared_limit(x) / (int64_t)tsr_dtype_bytes(x->dtype);
  int64_t columns = x->device->info.is_software ? SOFTWARE_COLUMNS : 1;
  while (columns < x->columns && columns < MOST_COLUMNS) columns *= 2;
  while (columns > 0 && shared_elements(size, columns) > most) columns /= 2;
  return columns;
}

tsr_status tsri_solve_whole(const tsri_matrices *x, const tsri_matrix_view *l, bool is_upper, bool is_unit) {
  int64_t size = least_size(x);
  while (size < x->rows) size *= 2;
  int64_t columns = columns_for(x, size);
  if (x->rows < LEAST_ROWS || x->rows > MOST_ROWS || columns == 0) return TSR_ERR_UNSUPPORTED;
  if (x->device->limits.max_group_size < BLOCK * PARTS) return TSR_ERR_UNSUPPORTED;
  tsri_call call;
  tsri_call_init(&call, x->device, "op_whole", "solve_whole",
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

// --- LU --------------------------------------------------------------------------------------------------------------

tsr_status tsri_lu_whole(const tsri_matrices *a, const tsri_lu_results *results, int64_t from, int64_t to) {
  enum { GROUP = 256, PANEL = 32, PITCH = 33, MOST_ROWS_ALONE = 128, MOST_COLUMNS_ALONE = 256 };
  bool is_alone = to - from > PANEL || (from == 0 && to == (a->rows < a->columns ? a->rows : a->columns));
  bool suits_alone = a->rows >= LEAST_ROWS && a->rows <= MOST_ROWS_ALONE && a->columns <= MOST_COLUMNS_ALONE;
  if (is_alone && !suits_alone) return TSR_ERR_UNSUPPORTED;
  if (a->device->info.is_software) return TSR_ERR_UNSUPPORTED;  // such a driver takes seconds to compile the kernel
  int64_t size = least_size(a), bytes = (int64_t)tsr_dtype_bytes(a->dtype);
  while (size < a->rows) size *= 2;
  int64_t needed = size * (PITCH * bytes + (int64_t)sizeof(uint32_t)) + PANEL * (int64_t)sizeof(uint32_t);
  if (needed > shared_limit(a) || a->device->limits.max_group_size < GROUP) return TSR_ERR_UNSUPPORTED;
  tsri_call call;
  tsri_call_init(&call, a->device, "op_whole", "lu_whole",
                 TSRI_WITH(TSRI_TYPE("T", a->dtype), TSRI_CONSTANT("SIZE", size), TSRI_CONSTANT("ALONE", is_alone)));
  tsri_call_buffer(&call, "a", a->buffer, a->dtype);
  tsri_call_buffer(&call, "rows", results->rows, TSRI_INDEX_DTYPE);
  tsri_call_buffer(&call, "odd", results->odd, TSRI_INDEX_DTYPE);
  tsri_call_buffer(&call, "block", results->block, a->dtype);
  tsri_call_word(&call, "batch", a->batch);
  tsri_call_word(&call, "m", a->rows);
  tsri_call_word(&call, "n", a->columns);
  tsri_call_word(&call, "from", from);
  tsri_call_word(&call, "to", to);
  return tsri_call_many_groups(&call, a->batch);
}
