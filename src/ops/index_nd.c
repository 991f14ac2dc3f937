// SPDX-License-Identifier: MIT
// gather_nd, scatter_nd, put: several indices are combined to one row number, for index_select and scatter.
#include "core/error.h"
#include "ops/checked.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

// Combines an index with the row number so far. $0: row number so far, $1: next index; #0: size of the axis, #1: rows per element of the axis, #2: number of
// all rows, which is the result if an index is out of range.
static const tsri_op row_op = {
    .name = "gather_nd",
    .kind = TSRI_OP_ELEMENTWISE,
    .expression = "select($0 == #2 | $1 < T(0) - #0 | $1 >= #0, #2, $0 + select($1 < T(0), $1 + #0, $1) * #1)"};

// How `indices` select rows: the first axes of a tensor are flattened to row_count rows.
typedef struct row_choice {
  int axis_count;
  int64_t rows, row_count;
  tsr_shape list;  // shape of `indices` without its last axis
} row_choice;

static tsr_status check_choice(const char *caller, const tsr_tensor *x, const tsr_tensor *indices, row_choice *out) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, x);
  if (status == TSR_OK) status = tsri_tensor_check(caller, indices);
  if (status != TSR_OK) return status;
  tsr_dtype_kind kind = tsr_dtype_kind_of(indices->dtype);
  if (kind != TSR_KIND_INT && kind != TSR_KIND_UINT) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: indices are integers, not %s", caller, tsr_dtype_name(indices->dtype));
  }
  tsr_shape shape = x->layout.shape, list = indices->layout.shape;
  int64_t axis_count = list.rank > 0 ? list.dims[list.rank - 1] : -1;
  if (axis_count < 0 || axis_count > shape.rank || list.rank - 1 + shape.rank - axis_count > TSR_MAX_RANK) {
    return TSRI_FAIL(
        TSR_ERR_SHAPE, "%s: indices are %s; their last axis names up to %d axes of %s, and the result has at most %d",
        caller, tsr_shape_format(list, a, sizeof a), shape.rank, tsr_shape_format(shape, b, sizeof b), TSR_MAX_RANK);
  }
  list.rank--;
  *out = (row_choice){.axis_count = (int)axis_count, .rows = 1, .row_count = 1, .list = list};
  for (int i = 0; i < shape.rank; i++) *(i < axis_count ? &out->rows : &out->row_count) *= shape.dims[i];
  return TSR_OK;
}

static int64_t list_count(const row_choice *c) {
  int64_t count = 1;
  for (int i = 0; i < c->list.rank; i++) count *= c->list.dims[i];
  return count;
}

static tsr_tensor *next_row(tsr_tensor *row, tsr_tensor *index, tsr_dtype dtype, const double *numbers) {
  tsr_status status = tsri_tensor_check("gather_nd", row);
  if (status == TSR_OK) status = tsri_tensor_check("gather_nd", index);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_elementwise(&row_op, dtype, (tsri_operand_ref[]){{row, dtype}, {index, dtype}}, 2,
                                 &(tsri_scalars){3, {numbers[0], numbers[1], numbers[2]}});
}

// The row number of each index tuple, as a list; c->rows if one is out of range. In i64 if i32 cannot hold them.
static tsr_tensor *rows_of(const tsr_tensor *x, tsr_tensor *indices, const row_choice *c) {
  bool is_long = indices->dtype == TSR_I64 || indices->dtype == TSR_U64;
  bool is_wide = is_long || indices->dtype == TSR_U32 || c->rows > INT32_MAX;
  tsr_dtype dtype = is_wide ? TSR_I64 : TSRI_INDEX_DTYPE;
  tsr_tensor *row = tsri_record_zeros(indices->value->device, dtype, c->list);
  int last = indices->layout.shape.rank - 1;
  int64_t step = c->rows;
  for (int i = 0; i < c->axis_count; i++) {
    int64_t size = x->layout.shape.dims[i];
    step = size > 0 ? step / size : 0;
    tsr_tensor *part = tsr_slice(indices, last, i, i + 1, 1), *index = tsri_then(tsr_squeeze(part, last), part);
    // u64 indices from 2^63 on would become negative in i64, and so count from the end: clamp them to an index that is out of range.
    if (indices->dtype == TSR_U64) index = tsri_then(tsr_clamp(index, 0, 0x1p62), index);
    double numbers[3] = {(double)size, (double)step, (double)c->rows};
    row = tsri_then(tsri_then(next_row(row, index, dtype, numbers), index), row);
  }
  return tsri_then(tsr_reshape(row, TSR_SHAPE(list_count(c))), row);
}

static tsr_shape result_shape(const tsr_tensor *x, const row_choice *c) {
  tsr_shape shape = c->list;
  for (int i = c->axis_count; i < x->layout.shape.rank; i++) shape.dims[shape.rank++] = x->layout.shape.dims[i];
  return shape;
}

tsr_tensor *tsr_gather_nd(tsr_tensor *x, tsr_tensor *indices) {
  row_choice c;
  tsr_status status = check_choice("gather_nd", x, indices, &c);
  tsr_shape shape = status == TSR_OK ? result_shape(x, &c) : TSR_SCALAR;
  if (status == TSR_OK) status = tsri_shape_check("gather_nd", shape, &(int64_t){0});
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *rows = rows_of(x, indices, &c), *table = tsr_reshape(x, TSR_SHAPE(c.rows, c.row_count));
  tsr_tensor *chosen = tsr_index_select(table, 0, rows), *result = tsr_reshape(chosen, shape);
  tsri_release_all((tsr_tensor *[]){rows, table, chosen}, 3);
  return tsri_tensor_named("gather_nd", result);
}

// --- Writing ---------------------------------------------------------------------------------------------------------

typedef tsr_tensor *(*writer)(tsr_tensor *x, int axis, tsr_tensor *indices, tsr_tensor *source);

static tsr_status choose_writer(const char *caller, const tsr_scatter_desc *desc, writer *out_writer) {
  static const writer writers[] = {[TSR_COMBINE_REPLACE] = tsr_scatter,
                                   [TSR_COMBINE_ADD] = tsr_scatter_add,
                                   [TSR_COMBINE_MUL] = tsr_scatter_mul,
                                   [TSR_COMBINE_MAX] = tsr_scatter_max,
                                   [TSR_COMBINE_MIN] = tsr_scatter_min};
  int combine = desc ? (int)desc->combine : TSR_COMBINE_REPLACE;
  if (combine < 0 || combine > TSR_COMBINE_MIN) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: combine is %d; 0 to %d are known", caller, combine,
                     TSR_COMBINE_MIN);
  }
  *out_writer = writers[combine];
  return TSR_OK;
}

static tsr_status check_source(const char *caller, const tsr_tensor *source, tsr_shape wanted) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, source);
  if (status != TSR_OK || tsri_shape_equal(source->layout.shape, wanted)) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: source is %s, the indices ask for %s", caller,
                   tsr_shape_format(source->layout.shape, a, sizeof a), tsr_shape_format(wanted, b, sizeof b));
}

tsr_tensor *tsr_scatter_nd(tsr_tensor *x, tsr_tensor *indices, tsr_tensor *source, const tsr_scatter_desc *desc) {
  row_choice c;
  writer write = NULL;
  tsr_status status = check_choice("scatter_nd", x, indices, &c);
  if (status == TSR_OK) status = choose_writer("scatter_nd", desc, &write);
  if (status == TSR_OK) status = check_source("scatter_nd", source, result_shape(x, &c));
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int64_t count = list_count(&c);
  tsr_tensor *rows = rows_of(x, indices, &c), *column = tsr_unsqueeze(rows, 1);
  tsr_tensor *places = tsr_expand(column, TSR_SHAPE(count, c.row_count));
  tsr_tensor *from = tsr_reshape(source, TSR_SHAPE(count, c.row_count));
  tsr_tensor *table = tsr_reshape(x, TSR_SHAPE(c.rows, c.row_count)), *written = write(table, 0, places, from);
  tsr_tensor *result = tsr_reshape(written, x->layout.shape);
  tsri_release_all((tsr_tensor *[]){rows, column, places, from, table, written}, 6);
  return tsri_tensor_named("scatter_nd", result);
}

tsr_tensor *tsr_put(tsr_tensor *x, tsr_tensor *indices, tsr_tensor *source, const tsr_scatter_desc *desc) {
  writer write = NULL;
  tsr_status status = tsri_tensor_check("put", x);
  if (status == TSR_OK) status = tsri_tensor_check("put", indices);
  if (status == TSR_OK) status = choose_writer("put", desc, &write);
  if (status == TSR_OK) status = check_source("put", source, indices->layout.shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape list = TSR_SHAPE(indices->layout.count);
  tsr_tensor *flat = tsr_reshape(x, TSR_SHAPE(x->layout.count)), *places = tsr_reshape(indices, list);
  tsr_tensor *from = tsr_reshape(source, list), *written = write(flat, 0, places, from);
  tsr_tensor *result = tsr_reshape(written, x->layout.shape);
  tsri_release_all((tsr_tensor *[]){flat, places, from, written}, 4);
  return tsri_tensor_named("put", result);
}
