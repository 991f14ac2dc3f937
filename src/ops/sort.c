// SPDX-License-Identifier: MIT
// sort, argsort, topk: by the device's native operator if it has one; else blocks are sorted by counting and then
// merged in passes (kernels/op_sort.tk).

#include <stdio.h>

#include "core/error.h"
#include "ops/axes.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/sort.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

enum { BLOCK = 32 };

// --- Passes ----------------------------------------------------------------------------------------------------------

// The elements and their original indices, before or after a pass.
typedef struct run_state {
  tsr_buffer *values, *order;
} run_state;

// Runs one pass. `from` NULL: the first pass, which sorts blocks of x.
static tsr_status pass(const tsri_sort *s, const run_state *from, const run_state *to, int64_t width) {
  static const char *const kernels[2][2] = {{"sort_blocks", "sort_merge"}, {"order_blocks", "order_merge"}};
  bool has_order = to->order != NULL;
  const tsri_lang_arg args[] = {TSRI_TYPE("T", s->dtype), TSRI_CONSTANT("DESCENDING", s->is_descending),
                                TSRI_CONSTANT("BLOCK", BLOCK)};
  tsri_call call;
  tsri_call_init(&call, s->device, "op_sort", kernels[has_order][from != NULL], args, from ? 2 : 3);
  tsri_call_buffer(&call, "x", from ? from->values : s->x, s->dtype);
  if (from && has_order) tsri_call_buffer(&call, "from", from->order, TSR_I32);
  tsri_call_buffer(&call, "values", to->values, s->dtype);
  if (has_order) tsri_call_buffer(&call, "order", to->order, TSR_I32);
  tsri_call_word(&call, "total", s->rows * s->n);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, from ? "width" : "x_at", from ? width : s->x_at);
  return tsri_call_items(&call, s->rows * s->n);
}

// Passes write alternately to two places; the last one must write to the caller's buffers.
tsr_status tsri_sort_rows(const tsri_sort *s) {
  int64_t total = s->rows * s->n;
  if (total == 0) return TSR_OK;
  int merges = 0;
  for (int64_t width = BLOCK; width < s->n; width *= 2) merges++;
  run_state places[2] = {{s->values, s->order}, {NULL, NULL}};  // places[0]: the caller's buffers
  tsr_buffer *scratch[3] = {NULL, NULL, NULL};
  tsr_status status = TSR_OK;
  if (!s->values) {
    status = tsri_call_scratch(s->device, total, s->dtype, &scratch[0]);
    places[0].values = scratch[0];
  }
  if (status == TSR_OK && merges > 0) status = tsri_call_scratch(s->device, total, s->dtype, &scratch[1]);
  if (status == TSR_OK && merges > 0 && s->order) status = tsri_call_scratch(s->device, total, TSR_I32, &scratch[2]);
  places[1] = (run_state){scratch[1], scratch[2]};

  int at = merges % 2;
  if (status == TSR_OK) status = pass(s, NULL, &places[at], 0);
  for (int64_t width = BLOCK; width < s->n && status == TSR_OK; width *= 2, at = 1 - at) {
    status = pass(s, &places[at], &places[1 - at], width);
  }
  for (int i = 0; i < 3; i++) tsr_buffer_release(scratch[i]);
  return status;
}

// keep: how many elements of each sorted row are wanted. Returns TSR_ERR_UNSUPPORTED, without a message, if the device has no such operator.
static tsr_status sort_native(const tsri_sort *s, int64_t keep) {
  tsr_buffer *to = s->order ? s->order : s->values;
  tsri_native_op op = {.kind = TSRI_NATIVE_SORT, .dtype = s->dtype, .result = s->order ? TSR_I32 : s->dtype};
  op.parts = keep < s->n ? TSRI_SORT_KEEPS : 0;
  op.is.sort = (tsri_sort_op){.rows = s->rows,
                              .n = s->n,
                              .keep = keep,
                              .is_descending = s->is_descending,
                              .wants_order = s->order != NULL,
                              .from.offset = (size_t)s->x_at * tsr_dtype_bytes(s->dtype)};
  tsri_place_bind(&op.is.sort.from, s->x);
  tsri_place_bind(&op.is.sort.to, to);
  return tsri_device_run_op(s->device, &op, (tsr_buffer *const[]){to, s->x}, 2);
}

// --- Operators -------------------------------------------------------------------------------------------------------

tsr_status tsri_sort_rows_natively(const tsri_sort *s) { return sort_native(s, s->n); }

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
                 .is_descending = TSRI_GIVEN(run->node, sort)->is_descending != 0};
  if (wants_order) s.order = run->output;
  else s.values = run->output;
  int64_t keep = run->shape.dims[run->shape.rank - 1];  // less than n only if the device takes TSRI_SORT_KEEPS
  status = sort_native(&s, keep);
  return status == TSR_ERR_UNSUPPORTED ? tsri_sort_rows(&s) : status;
}

tsr_status tsri_run_sort(const tsri_kernel_run *run) { return run_sort(run, false); }
tsr_status tsri_run_argsort(const tsri_kernel_run *run) { return run_sort(run, true); }

// x with the axis last, contiguous, and bool converted to u8.
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

// Records the sorted elements along the axis, or their order: the first `keep` of them.
static tsr_tensor *sorted(const tsri_op *op, tsr_tensor *x, int axis, bool is_descending, int64_t keep) {
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

// Whether the device finds the first `keep` of the sorted elements without sorting all of them.
static bool has_native_topk(const tsr_tensor *x, int axis, int64_t keep) {
  int64_t n = x->layout.shape.dims[axis];
  tsr_dtype dtype = x->dtype == TSR_BOOL ? TSR_U8 : x->dtype;
  tsri_native_op op = {.kind = TSRI_NATIVE_SORT, .dtype = dtype, .result = TSR_I32, .parts = TSRI_SORT_KEEPS};
  if (keep >= n) return false;
  op.is.sort = (tsri_sort_op){.rows = x->layout.count / n, .n = n, .keep = keep, .wants_order = true};
  return tsri_device_takes(x->value->device, &op);
}

// Records where the first `keep` of the sorted elements along the axis were.
static tsr_tensor *order_of_first(tsr_tensor *x, int axis, bool is_descending, int64_t keep) {
  const tsri_op *op = TSRI_BODY(argsort);
  tsr_status status = check_axis(op, x, &axis);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (has_native_topk(x, axis, keep)) return sorted(op, x, axis, is_descending, keep);
  tsr_tensor *order = tsr_argsort(x, axis, is_descending), *first = tsr_slice(order, axis, 0, keep, 1);
  tsr_release(order);
  return first;
}

// Looks the values up by the indices: cheaper than sorting both, since k is mostly small.
tsr_status tsr_topk(tsr_tensor *x, int64_t k, int axis, bool largest, tsr_tensor **out_values,
                    tsr_tensor **out_indices) {
  tsr_tensor **outs[2] = {out_values, out_indices};
  tsri_clear_outs(outs, 2);
  tsr_status status = tsri_tensor_check("topk", x);
  if (status == TSR_OK) status = tsri_axis("topk", axis, x->layout.shape.rank, &axis);
  if (status == TSR_OK && (k < 0 || k > x->layout.shape.dims[axis])) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "topk: k is %lld, axis %d has %lld elements", (long long)k, axis,
                       (long long)x->layout.shape.dims[axis]);
  }
  if (status != TSR_OK) return status;
  tsr_tensor *indices = order_of_first(x, axis, largest, k);
  return tsri_hand_out("topk", (tsr_tensor *[]){tsr_gather(x, axis, indices), indices}, outs, 2);
}
