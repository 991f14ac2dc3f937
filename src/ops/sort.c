// SPDX-License-Identifier: MIT
// sort, argsort, topk: by the device's native operator if it has one; otherwise short rows by counting (kernels/op_sort.tk), longer ones by radix sort
// (ops/radix.h).

#include <stdio.h>

#include "core/error.h"
#include "graph/watch.h"
#include "ops/axes.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/first.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/radix.h"
#include "ops/sort.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

// SHORT_ROW: longest row that is sorted by counting. SORT_GROUP: items of a work-group of sort_short.
enum { SHORT_ROW = 64, SORT_GROUP = 256 };

static tsr_status sort_short_rows(const tsri_sort *s) {
  tsr_buffer *dummy = NULL;  // bound for results that are not wanted: every parameter needs a buffer
  tsr_status status = s->values && s->order ? TSR_OK : tsri_call_scratch(s->device, 2, TSR_U32, &dummy);
  if (status != TSR_OK) return status;
  bool fits = s->n <= SHORT_ROW;
  tsri_call call;
  tsri_call_init(&call, s->device, "op_sort", fits ? "sort_short" : "sort_any",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_CONSTANT("DESCENDING", s->is_descending),
                           TSRI_TYPE("K", tsr_dtype_bytes(s->dtype) == 8 ? TSR_U64 : TSR_U32),
                           TSRI_CONSTANT("VALUES", s->values != NULL), TSRI_CONSTANT("ORDER", s->order != NULL)));
  tsri_call_buffer(&call, "x", s->x, s->dtype);
  tsri_call_buffer(&call, "values", s->values ? s->values : dummy, s->dtype);
  tsri_call_buffer(&call, "order", s->order ? s->order : dummy, TSR_I32);
  tsri_call_word(&call, "total", s->rows * s->n);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, "keep", s->keep);
  tsri_call_word(&call, "x_at", s->x_at);
  int64_t rows_at_once = SORT_GROUP / s->n;  // rows that a work-group of sort_short takes
  status = fits ? tsri_call_many_groups(&call, (s->rows + rows_at_once - 1) / rows_at_once)
                : tsri_call_items(&call, s->rows * s->n);
  tsr_buffer_release(dummy);
  return status;
}

tsr_status tsri_sort_rows(const tsri_sort *s) {
  if (s->rows * s->keep == 0) return TSR_OK;
  return s->n <= SHORT_ROW || !tsri_radix_takes(s->device, s->dtype) ? sort_short_rows(s) : tsri_radix_sort(s);
}

tsr_status tsri_sort_rows_natively(const tsri_sort *s) {
  tsr_buffer *to = s->order ? s->order : s->values;
  tsri_native_op op = {.kind = TSRI_NATIVE_SORT, .dtype = s->dtype, .result = s->order ? TSR_I32 : s->dtype};
  op.parts = s->keep < s->n ? TSRI_SORT_KEEPS : 0;
  op.is.sort = (tsri_sort_op){.rows = s->rows,
                              .n = s->n,
                              .keep = s->keep,
                              .is_descending = s->is_descending,
                              .wants_order = s->order != NULL,
                              .from.offset = (size_t)s->x_at * tsr_dtype_bytes(s->dtype)};
  tsri_place_bind(&op.is.sort.from, s->x);
  tsri_place_bind(&op.is.sort.to, to);
  return tsri_device_run_op(s->device, &op, (tsr_buffer *const[]){to, s->x}, 2);
}

// --- Operators -------------------------------------------------------------------------------------------------------

static tsr_status run_sort(const tsri_kernel_run *run, bool wants_order) {
  const tsri_layout *layout = &run->layouts[0];
  tsr_status status = tsri_call_check(wants_order ? "argsort" : "sort", layout);
  if (status != TSR_OK || layout->count == 0) return status;
  int64_t n = layout->shape.dims[layout->shape.rank - 1];
  tsri_sort s = {.device = run->device,
                 .dtype = run->input_dtypes[0],
                 .x = run->inputs[0],
                 .x_at = layout->offset,
                 .rows = layout->count / n,
                 .n = n,
                 .keep = run->shape.dims[run->shape.rank - 1],  // less than n only if finds_first()
                 .is_descending = TSRI_GIVEN(run->node, sort)->is_descending != 0};
  if (wants_order) s.order = run->output;
  else s.values = run->output;
  status = tsri_sort_rows_natively(&s);
  return status == TSR_ERR_UNSUPPORTED ? tsri_sort_rows(&s) : status;
}

tsr_status tsri_run_sort(const tsri_kernel_run *run) { return run_sort(run, false); }
tsr_status tsri_run_argsort(const tsri_kernel_run *run) { return run_sort(run, true); }

// x with the axis moved to the end, contiguous, and bool converted to u8.
static tsr_tensor *prepare(tsr_tensor *x, int axis) {
  tsr_tensor *turned = tsri_axis_to_end(x, axis);
  tsr_tensor *numbers = x->dtype == TSR_BOOL ? tsr_cast(turned, TSR_U8) : tsr_retain(turned);
  tsr_tensor *input = tsr_contiguous(numbers);
  tsr_release(turned);
  tsr_release(numbers);
  return input;
}

static tsr_status check_axis(const tsri_op *op, const tsr_tensor *x, int *axis) {
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_axis(op->name, *axis, x->layout.shape.rank, axis);
  if (status == TSR_OK && x->layout.shape.dims[*axis] > INT32_MAX) {
    status = TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: axis %d has %lld elements; an index is i32", op->name, *axis,
                       (long long)x->layout.shape.dims[*axis]);
  }
  return status;
}

// Records the first `keep` of the sorted elements along the axis, or of their order (`op` decides). An axis with one element needs no sort.
static tsr_tensor *sorted(const tsri_op *op, tsr_tensor *x, int axis, bool is_descending, int64_t keep) {
  if (x->layout.shape.dims[axis] == 1 && keep == 1) {
    bool is_order = op == TSRI_BODY(argsort);
    return tsri_tensor_named(
        op->name, is_order ? tsri_record_zeros(x->value->device, TSRI_INDEX_DTYPE, x->layout.shape) : tsr_copy(x));
  }
  tsr_tensor *input = prepare(x, axis);
  tsr_status status = tsri_tensor_check(op->name, input);
  tsr_dtype dtype = op == TSRI_BODY(argsort) ? TSRI_INDEX_DTYPE : tsr_tensor_dtype(input);
  tsr_shape shape = tsr_tensor_shape(input);
  if (status == TSR_OK) shape.dims[shape.rank - 1] = keep;
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, input->value->device, dtype, shape, &input, 1,
                                                             TSRI_GIVE(op, sort, .is_descending = is_descending))
                                        : tsri_tensor_fail(status);
  tsr_tensor *turned = tsri_axis_from_end(result, axis);
  tsr_release(input);
  tsr_release(result);
  if (x->dtype != TSR_BOOL || op == TSRI_BODY(argsort)) return tsri_tensor_named(op->name, turned);
  tsr_tensor *truth = tsr_cast(turned, TSR_BOOL);
  tsr_release(turned);
  return tsri_tensor_named(op->name, truth);
}

static tsr_tensor *sorted_along(const tsri_op *op, tsr_tensor *x, int axis, bool is_descending) {
  tsr_status status = check_axis(op, x, &axis);
  return status == TSR_OK ? sorted(op, x, axis, is_descending, x->layout.shape.dims[axis]) : tsri_tensor_fail(status);
}

tsr_tensor *tsr_sort(tsr_tensor *x, int axis, bool descending) {
  return sorted_along(TSRI_BODY(sort), x, axis, descending);
}

tsr_tensor *tsr_argsort(tsr_tensor *x, int axis, bool descending) {
  return sorted_along(TSRI_BODY(argsort), x, axis, descending);
}

// Whether the device finds the first `keep` elements without sorting all of them.
static bool finds_first(const tsr_tensor *x, int axis, int64_t keep) {
  tsr_device *device = x->value->device;
  int64_t n = x->layout.shape.dims[axis];
  tsr_dtype dtype = x->dtype == TSR_BOOL ? TSR_U8 : x->dtype;
  tsri_native_op op = {.kind = TSRI_NATIVE_SORT, .dtype = dtype, .result = TSR_I32, .parts = TSRI_SORT_KEEPS};
  if (keep >= n || keep == 0) return false;
  op.is.sort = (tsri_sort_op){.rows = x->layout.count / n, .n = n, .keep = keep, .wants_order = true};
  if (tsri_device_takes(device, &op) || n <= SHORT_ROW) return true;
  bool is_few = n <= tsri_radix_longest_row(device, dtype) || keep <= tsri_radix_most_first(device);
  return tsri_radix_takes(device, dtype) && is_few;
}

// Records the order (indices along the axis) of the first `keep` of the sorted elements.
static tsr_tensor *order_of_first(tsr_tensor *x, int axis, bool is_descending, int64_t keep) {
  const tsri_op *op = TSRI_BODY(argsort);
  tsr_status status = check_axis(op, x, &axis);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (finds_first(x, axis, keep)) return sorted(op, x, axis, is_descending, keep);
  tsr_tensor *order = tsr_argsort(x, axis, is_descending), *first = tsr_slice(order, axis, 0, keep, 1);
  tsr_release(order);
  return first;
}

// Records both results as those of one operator. False if it has to be done otherwise: the device has no such kernels or does not find first elements, or
// gradients need the gather.
static bool both_of_first(tsr_tensor *x, int axis, bool is_descending, int64_t keep, tsr_tensor *results[2]) {
  int64_t n = x->layout.shape.dims[axis];
  if (tsri_watching || n > INT32_MAX || !finds_first(x, axis, keep)) return false;
  tsr_tensor *input = prepare(x, axis);
  bool is_recorded = tsri_first_of_rows(input, is_descending, keep, results);
  tsr_release(input);
  if (!is_recorded) return false;
  for (int i = 0; i < 2; i++) results[i] = tsri_then(tsri_axis_from_end(results[i], axis), results[i]);
  if (x->dtype == TSR_BOOL) results[0] = tsri_then(tsr_cast(results[0], TSR_BOOL), results[0]);
  return true;
}

// Finds only the indices, and gathers the values by them: cheaper than sorting both, since k is mostly small.
static void gather_first(tsr_tensor *x, int axis, bool is_descending, int64_t keep, tsr_tensor *results[2]) {
  bool is_single = keep == 1 && x->layout.shape.dims[axis] == 1;
  results[1] = order_of_first(x, axis, is_descending, keep);
  results[0] = is_single ? tsr_copy(x) : tsr_gather(x, axis, results[1]);
}

tsr_status tsr_topk(tsr_tensor *x, int64_t k, int axis, bool largest, tsr_tensor **out_values,
                    tsr_tensor **out_indices) {
  tsr_tensor **outs[2] = {out_values, out_indices}, *results[2];
  tsri_clear_outs(outs, 2);
  tsr_status status = tsri_tensor_check("topk", x);
  if (status == TSR_OK) status = tsri_axis("topk", axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK && (k < 0 || k > x->layout.shape.dims[axis])) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "topk: k is %lld, axis %d has %lld elements", (long long)k, axis,
                       (long long)x->layout.shape.dims[axis]);
  }
  if (status != TSR_OK) return status;
  if (!both_of_first(x, axis, largest, k, results)) gather_first(x, axis, largest, k, results);
  return tsri_hand_out("topk", results, outs, 2);
}
