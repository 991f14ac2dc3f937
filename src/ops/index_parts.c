// SPDX-License-Identifier: MIT
// argmax and argmin of few long lines on a GPU: first of parts of each line, so that there is work for all of it, then of the parts' results. Of equal
// elements the first is still found, and NaN before others, since parts are compared in order and by the same operator.
#include "ops/index_parts.h"

#include "ops/axes.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/promote.h"

#include <tessera/ops.h>

enum { LEAST_LENGTH = 64, LEAST_LINE = 1024 };  // elements of a part, and of a line that is worth it

// `most` parts of n elements, or fewer, but no less than half as many, if that makes parts that are read four elements at a time, or at least leaves no rest.
static int64_t even_parts(int64_t n, int64_t most) {
  int64_t even = most;
  for (int64_t parts = most; parts >= 2 && parts >= most / 2; parts--) {
    if (n % (4 * parts) == 0) return parts;
    if (n % parts == 0 && n % even != 0) even = parts;
  }
  return even;
}

// Parts of each line of x along `axis`; 1: it is not divided.
static int64_t parts_of(const tsr_tensor *x, int axis) {
  const tsri_tuning *tuning = tsri_call_tuning(x->value->device);
  const tsr_shape shape = x->layout.shape;
  int64_t n = shape.dims[axis], results = x->layout.count / (n > 0 ? n : 1), inner = 1;
  for (int i = axis + 1; i < shape.rank; i++) inner *= shape.dims[i];
  if (tuning->reduce_wide == 0 || n < LEAST_LINE || shape.rank == TSR_MAX_RANK || results == 0) return 1;
  // Along columns an item has four of them, where it can read four at a time.
  int64_t items = inner > 1 && inner % 4 == 0 ? (results + 3) / 4 : results;
  int64_t wanted = (inner > 1 ? tuning->column_items : tuning->row_parts) / items, most = n / LEAST_LENGTH;
  int64_t parts = wanted < most ? wanted : most;
  return parts < 2 ? 1 : even_parts(n, parts);
}

// Element-wise first + which * length: the index in the whole line.
static tsr_tensor *whole_index(tsr_tensor *first, tsr_tensor *which, int64_t length) {
  tsr_tensor *offset = tsr_mul_scalar(which, (double)length);
  return tsri_then(tsr_add(first, offset), offset);
}

// The index of the best element of each of `parts` parts of x, [… parts, length …] along axis and axis + 1, and that element.
static void find_in_parts(const tsri_op *op, tsr_tensor *x, int axis, tsr_tensor **out_first, tsr_tensor **out_values) {
  *out_first = tsri_record_reduce(op, TSRI_INDEX_DTYPE, x, 1u << (axis + 1), true);
  *out_values = tsr_gather(x, axis + 1, *out_first);
}

// x from `begin` to `end` along the axis, divided into `parts`.
static tsr_tensor *divided(tsr_tensor *x, int axis, int64_t begin, int64_t end, int64_t parts) {
  tsr_tensor *piece = tsr_slice(x, axis, begin, end, 1);
  tsr_shape shape = tsr_tensor_shape(piece);
  for (int i = shape.rank; i > axis; i--) shape.dims[i] = shape.dims[i - 1];
  shape.rank++;
  shape.dims[axis] = parts;
  shape.dims[axis + 1] = (end - begin) / parts;
  return tsri_then(tsr_reshape(piece, shape), piece);
}

static tsr_tensor *joined(tsr_tensor *a, tsr_tensor *b, int axis) {
  tsr_tensor *both[2] = {a, b}, *result = tsr_concat(both, 2, axis);
  tsri_release_all(both, 2);
  return result;
}

tsr_tensor *tsri_index_by_parts(const tsri_op *op, tsr_tensor *x, int axis, bool keep_dims) {
  int64_t parts = parts_of(x, axis), n = x->layout.shape.dims[axis];
  if (parts == 1) return tsri_record_reduce(op, TSRI_INDEX_DTYPE, x, 1u << axis, keep_dims);
  int64_t length = n / parts, rest = n % parts;
  tsr_tensor *most = divided(x, axis, 0, n - rest, parts), *first = NULL, *values = NULL;
  find_in_parts(op, most, axis, &first, &values);
  tsr_release(most);
  if (rest > 0) {
    tsr_tensor *last = divided(x, axis, n - rest, n, 1), *last_first = NULL, *last_values = NULL;
    find_in_parts(op, last, axis, &last_first, &last_values);
    tsr_release(last);
    first = joined(first, last_first, axis);
    values = joined(values, last_values, axis);
  }
  tsr_tensor *which = tsri_record_reduce(op, TSRI_INDEX_DTYPE, values, 1u << axis, true);
  tsr_tensor *chosen = tsr_gather(first, axis, which), *index = whole_index(chosen, which, length);
  tsr_shape shape = x->layout.shape;
  shape.dims[axis] = 1;
  for (int i = axis; !keep_dims && i + 1 < shape.rank; i++) shape.dims[i] = shape.dims[i + 1];
  if (!keep_dims) shape.rank--;
  tsr_tensor *result = tsr_reshape(index, shape);
  tsri_release_all((tsr_tensor *[]){first, values, which, chosen, index}, 5);
  return result;
}
