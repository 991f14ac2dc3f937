// SPDX-License-Identifier: MIT
// Operators whose number of results depends on the elements: nonzero, masked_select, unique (ops/unique_sorted.h where the device can run it). They read that number from the device.
#include "ops/found.h"
#include "core/error.h"
#include "core/tensor.h"
#include "graph/watch.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/create.h"
#include "ops/promote.h"
#include "ops/unique_sorted.h"
#include "runtime/tape.h"

#include <tessera/ops.h>

// --- Finding ---------------------------------------------------------------------------------------------------------

static tsr_status check_count(const char *caller, const tsr_tensor *x) {
  tsr_status status = tsri_tensor_check(caller, x);
  if (status != TSR_OK || x->layout.count <= INT32_MAX) return status;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %lld elements; places are i32", caller, (long long)x->layout.count);
}

int64_t tsri_part_of_list(int64_t n, int64_t tile) {
  int64_t part = (n + TSRI_FOUND_PARTS - 1) / TSRI_FOUND_PARTS;
  return (part + tile - 1) / tile * tile;
}

tsr_status tsri_add_counts(tsr_tensor *counts, int64_t *out_total) {
  int32_t found[TSRI_FOUND_PARTS];
  int64_t count = tsr_tensor_count(counts);
  tsr_status status = tsr_read(counts, found, (size_t)count * sizeof *found);
  *out_total = 0;
  for (int64_t i = 0; i < count && status == TSR_OK; i++) *out_total += found[i];
  return status;
}

static int64_t part_of(int64_t count) {
  enum { TILE = 12 * 256 };  // ITEMS * WG of kernels/op_found.tk
  return tsri_part_of_list(count, TILE);
}

static int64_t parts_of(int64_t count) { return (count + part_of(count) - 1) / part_of(count); }

static void start(const tsri_kernel_run *run, const char *kernel, tsri_call *call) {
  const tsri_layout *x = &run->layouts[0];
  tsri_call_init(call, run->device, "op_found", kernel, TSRI_WITH(TSRI_TYPE("T", run->input_dtypes[0])));
  tsri_call_buffer(call, "x", run->inputs[0], run->input_dtypes[0]);
  tsri_call_word(call, "n", x->count);
  tsri_call_word(call, "x_at", x->offset);
  tsri_call_word(call, "part", part_of(x->count));
  tsri_call_word(call, "parts", parts_of(x->count));
}

// Input: x, a contiguous list that is not empty. Output: how many elements are not 0, for each part.
static tsr_status run_counts(const tsri_kernel_run *run) {
  tsr_status status = tsri_call_check("nonzero", &run->layouts[0]);
  if (status != TSR_OK) return status;
  tsri_call call;
  start(run, "found_count", &call);
  tsri_call_buffer(&call, "counts", run->output, TSRI_INDEX_DTYPE);
  return tsri_call_many_groups(&call, parts_of(run->layouts[0].count));
}

// Inputs: x, and the counts. Output: the indices of the elements that are not 0.
static tsr_status run_places(const tsri_kernel_run *run) {
  if (run->shape.dims[0] == 0) return TSR_OK;
  tsri_call call;
  start(run, "found_places", &call);
  tsri_call_buffer(&call, "counts", run->inputs[1], TSRI_INDEX_DTYPE);
  tsri_call_buffer(&call, "y", run->output, TSRI_INDEX_DTYPE);
  return tsri_call_many_groups(&call, parts_of(run->layouts[0].count));
}

static const tsri_op op_counts = {.name = "nonzero", .kind = TSRI_OP_KERNEL, .run = run_counts};
static const tsri_op op_places = {.name = "nonzero", .kind = TSRI_OP_KERNEL, .run = run_places};

// Records the indices of the elements of the list x that are not 0, whose number is the sum of `counts`. Waits for the device to read them.
static tsr_tensor *places_by(tsr_tensor *x, tsr_tensor *counts) {
  int64_t found = 0;
  tsr_status status = tsri_add_counts(counts, &found);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(&op_places, x->value->device, TSRI_INDEX_DTYPE, TSR_SHAPE(found),
                            (tsr_tensor *[]){x, counts}, 2, NULL);
}

// The row-major indices of the elements that are not 0.
static tsr_tensor *places_of(tsr_tensor *x) {
  tsr_device *device = x->value->device;
  int64_t count = x->layout.count;
  tsri_tape_refuses(device, "an operator whose result's size is found on the device");
  if (count == 0) return tsri_record_zeros(device, TSRI_INDEX_DTYPE, TSR_SHAPE(0));
  tsr_tensor *packed = tsr_contiguous(x), *list = tsri_then(tsr_reshape(packed, TSR_SHAPE(count)), packed);
  tsr_status status = tsri_tensor_check("find", list);
  if (status != TSR_OK) return list;
  tsr_tensor *counts =
      tsri_record_kernel(&op_counts, device, TSRI_INDEX_DTYPE, TSR_SHAPE(parts_of(count)), &list, 1, NULL);
  status = tsri_tensor_check("find", counts);
  tsr_tensor *places = status == TSR_OK ? places_by(list, counts) : tsri_tensor_fail(status);
  tsri_release_all((tsr_tensor *[]){list, counts}, 2);
  return places;
}

// --- nonzero, masked_select ------------------------------------------------------------------------------------------

// Converts row-major indices to the index along one axis: divided by its stride, modulo its size. is_first: the first axis needs no modulo.
static tsr_tensor *axis_of(tsr_tensor *places, int64_t stride, int64_t size, bool is_first) {
  tsr_tensor *quotient = stride > 1 ? tsr_floor_div_scalar(places, (double)stride) : tsr_retain(places);
  return is_first ? quotient : tsri_then(tsr_mod_scalar(quotient, (double)size), quotient);
}

tsr_tensor *tsr_nonzero(tsr_tensor *x) {
  tsr_status status = check_count("nonzero", x);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *places = places_of(x), *axes[TSR_MAX_RANK];
  status = tsri_tensor_check("nonzero", places);
  if (status != TSR_OK) return tsri_tensor_named("nonzero", places);
  int rank = x->layout.shape.rank;
  int64_t stride = 1;
  for (int i = rank - 1; i >= 0; i--) {
    axes[i] = axis_of(places, stride, x->layout.shape.dims[i], i == 0);
    stride *= x->layout.shape.dims[i];
  }
  tsr_shape none = TSR_SHAPE(places->layout.count, 0);
  tsr_tensor *result =
      rank > 0 ? tsr_stack(axes, rank, 1) : tsri_record_zeros(places->value->device, TSRI_INDEX_DTYPE, none);
  tsri_release_all(axes, rank);
  return tsri_tensor_named("nonzero", tsri_then(result, places));
}

tsr_tensor *tsr_masked_select(tsr_tensor *x, tsr_tensor *mask) {
  tsr_shape shape = {0};
  tsr_status status = tsri_tensor_check("masked_select", x);
  if (status == TSR_OK) status = tsri_tensor_check("masked_select", mask);
  if (status == TSR_OK) status = tsri_shape_broadcast("masked_select", x->layout.shape, mask->layout.shape, &shape);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *all = tsr_expand(x, shape), *chosen = tsr_expand(mask, shape), *result = NULL;
  status = tsri_tensor_check("masked_select", all);
  if (status == TSR_OK) status = check_count("masked_select", chosen);
  if (status == TSR_OK) {
    tsr_tensor *places = places_of(chosen);
    result = tsri_then(tsr_take(all, places), places);
  } else {
    result = tsri_tensor_fail(status);
  }
  tsri_release_all((tsr_tensor *[]){all, chosen}, 2);
  return tsri_tensor_named("masked_select", result);
}

// --- unique ----------------------------------------------------------------------------------------------------------

// 1 where an element of a sorted list differs from the element before it. NaN equals NaN here; since NaN comes last, it suffices to compare the elements
// before.
static tsr_tensor *mark_first(tsr_tensor *sorted) {
  int64_t n = sorted->layout.count;
  if (n == 0) return tsri_record_zeros(sorted->value->device, TSRI_INDEX_DTYPE, TSR_SHAPE(0));
  tsr_tensor *later = tsr_slice(sorted, 0, 1, n, 1), *earlier = tsr_slice(sorted, 0, 0, n - 1, 1);
  tsr_tensor *is_same = tsr_eq(later, earlier), *is_nan = tsr_isnan(earlier), *is_old = tsr_logical_or(is_same, is_nan);
  tsr_tensor *is_new = tsr_logical_not(is_old), *cast = tsr_cast(is_new, TSRI_INDEX_DTYPE);
  tsr_tensor *result = tsr_pad(cast, (int64_t[]){1}, (int64_t[]){0}, 1, 1);
  tsri_release_all((tsr_tensor *[]){later, earlier, is_same, is_nan, is_old, is_new, cast}, 7);
  return result;
}

// For each element of the list, the index of its value among the distinct values: running sums of `marks`, scattered back by `order`.
static tsr_tensor *inverse_of(tsr_tensor *marks, tsr_tensor *order) {
  tsr_tensor *numbers = tsr_cumsum(marks, 0), *from_zero = tsri_then(tsr_sub_scalar(numbers, 1), numbers);
  return tsri_then(tsr_scatter(from_zero, 0, order, from_zero), from_zero);
}

// How often each distinct value occurs: the distance from its first index to that of the next value, or to the end.
static tsr_tensor *counts_of(tsr_tensor *firsts, int64_t n) {
  if (n == 0) return tsr_cast(firsts, TSRI_INDEX_DTYPE);
  tsr_tensor *next = tsr_slice(firsts, 0, 1, INT64_MAX, 1);
  tsr_tensor *ends = tsri_then(tsr_pad(next, (int64_t[]){0}, (int64_t[]){1}, 1, (double)n), next);
  return tsri_then(tsr_sub(ends, firsts), ends);
}

// The values, the inverse and the counts of the list x, composed of other operators. On failure no result is made.
static tsr_status composed(tsr_tensor *x, tsr_tensor *results[3]) {
  tsr_tensor *order = tsr_argsort(x, 0, false), *sorted = tsr_take(x, order), *marks = NULL, *firsts = NULL;
  tsr_status status = tsri_tensor_check("unique", sorted);
  if (status == TSR_OK) marks = mark_first(sorted);
  if (status == TSR_OK) status = tsri_tensor_check("unique", marks);
  if (status == TSR_OK) firsts = places_of(marks);
  if (status == TSR_OK) status = tsri_tensor_check("unique", firsts);
  if (status == TSR_OK) {
    results[0] = tsr_take(sorted, firsts);
    results[1] = inverse_of(marks, order);
    results[2] = counts_of(firsts, x->layout.count);
  }
  tsri_release_all((tsr_tensor *[]){order, sorted, marks, firsts}, 4);
  return status;
}

tsr_status tsr_unique(tsr_tensor *x, tsr_tensor **out_values, tsr_tensor **out_inverse, tsr_tensor **out_counts) {
  tsr_tensor **outs[3] = {out_values, out_inverse, out_counts}, *results[3] = {NULL, NULL, NULL};
  tsri_clear_outs(outs, 3);
  tsr_status status = check_count("unique", x);
  if (status != TSR_OK) return status;
  tsri_tape_refuses(x->value->device, "an operator whose result's size is found on the device");
  tsr_tensor *numbers = x->dtype == TSR_BOOL ? tsr_cast(x, TSR_U8) : tsr_retain(x);
  tsr_tensor *packed = tsri_then(tsr_contiguous(numbers), numbers);
  tsr_tensor *list = tsri_then(tsr_reshape(packed, TSR_SHAPE(x->layout.count)), packed);
  status = tsri_tensor_check("unique", list);
  // Gradients need the gather of the composed one.
  if (status == TSR_OK) status = tsri_watching ? TSR_ERR_UNSUPPORTED : tsri_unique_sorted(list, results);
  if (status == TSR_ERR_UNSUPPORTED) status = composed(list, results);
  if (status == TSR_OK) {
    results[0] = tsri_then(tsr_cast(results[0], x->dtype), results[0]);
    results[1] = tsri_then(tsr_reshape(results[1], x->layout.shape), results[1]);
    status = tsri_hand_out("unique", results, outs, 3);
  } else {
    tsri_fail_as("unique", status);
  }
  tsr_release(list);
  return status;
}
