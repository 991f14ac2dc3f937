// SPDX-License-Identifier: MIT
// bincount, histogram: elements counted by atomics; bucketize.
#include <math.h>

#include "core/error.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/count.h"
#include "ops/create.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "runtime/tape.h"

#include <tessera/ops.h>

// Work-groups of GROUP items count LEAST_PART elements each, or fewer if there would not be enough groups to keep the device busy. Parts are larger if there would be more
// than MOST_PARTS, or if a work-group has many bins: it counts at least PER_COUNT elements per bin, because in the end it adds each of its bins to memory. PACKED_PART:
// most elements of a work-group whose counters have 16 bits. An item reads READS elements at a time.
enum { GROUP = 256, READS = 4, LEAST_PART = 16 * GROUP, MOST_PARTS = 2048, PER_COUNT = 4, PACKED_PART = 255 * GROUP };
enum { MOST_BINS = 1 << 24 };

// How a work-group counts in shared memory: in so many counters (MOST of kernels/op_count.tk), each of which counts one bin, or two if it is packed.
// counters 0: it counts in global memory.
typedef struct count_way {
  int64_t counters;
  bool is_packed;
} count_way;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

// Work-groups that keep the device busy.
static int64_t enough_groups(tsr_device *device) {
  return larger(1, TSRI_TUNED(tsri_call_tuning(device), matmul_tiles));
}

static int64_t part_of(tsr_device *device, int64_t count, int64_t local_bins, bool is_packed) {
  enum { ROUNDS = 4 };  // work-groups that a multiprocessor runs at once
  int64_t part = smaller(LEAST_PART, count / (ROUNDS * enough_groups(device)));
  part = larger(part, larger(count / MOST_PARTS, PER_COUNT * local_bins));
  part = larger(GROUP, (part + GROUP - 1) / GROUP * GROUP);
  return is_packed ? smaller(part, PACKED_PART) : part;
}

// Chooses the smallest counters that hold all bins and fit in shared memory: 16 and 32 KiB, less 256 bytes, as the variant of a kernel that stops in time and
// continues in another launch (lang/lower/resume.c) has an array of its own there. Many bins make parts so long that there may be too few work-groups to keep the
// device busy; then elements are counted in global memory, by more work-groups, unless so many elements fall into a bin that these would wait for each other.
static count_way choose_way(tsr_device *device, int64_t count, int64_t bins) {
  enum { SURE = 2 * 4032, CROWD = 64 };
  static const count_way ways[] = {{1024, false}, {4032, false}, {4032, true}, {8128, true}};
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    const count_way *way = &ways[i];
    if (bins > way->counters * (way->is_packed ? 2 : 1)) continue;
    if (way->counters * (int64_t)sizeof(uint32_t) > (int64_t)device->limits.shared_bytes) break;
    int64_t groups = count / part_of(device, count, bins, way->is_packed);
    bool is_crowded = bins <= SURE && count / bins >= CROWD;
    if (!is_crowded && groups < enough_groups(device) && PER_COUNT * bins > READS * GROUP) break;
    return *way;
  }
  return (count_way){0, false};
}

// One input: a contiguous list of integers; the result counts 0, 1, … Two inputs: a list of floats and the edges of the bins.
tsr_status tsri_run_count(const tsri_kernel_run *run) {
  const tsri_layout *values = &run->layouts[0];
  int64_t bins = run->shape.dims[0];
  if (bins == 0) return TSR_OK;
  count_way way = choose_way(run->device, values->count, bins);
  int64_t part = part_of(run->device, values->count, way.counters > 0 ? bins : 0, way.is_packed);
  int has_ranges = run->input_count > 1;  // else `edges` is not read
  tsr_status status = tsri_call_zero(run);
  if (status != TSR_OK || values->count == 0) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_count", "count",
                 TSRI_WITH(TSRI_TYPE("I", run->input_dtypes[0]), TSRI_CONSTANT("RANGES", has_ranges),
                           TSRI_CONSTANT("LOCAL", way.counters > 0), TSRI_CONSTANT("PACKED", way.is_packed),
                           TSRI_CONSTANT("MOST", way.counters > 0 ? way.counters : 1),
                           TSRI_CONSTANT("READS", part < READS * GROUP ? 1 : READS)));
  tsri_call_buffer(&call, "values", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(&call, "edges", run->inputs[has_ranges], run->input_dtypes[0]);
  tsri_call_buffer(&call, "counts", run->output, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "n", values->count);
  tsri_call_word(&call, "v_at", values->offset);
  tsri_call_word(&call, "e_at", run->layouts[has_ranges].offset);
  tsri_call_word(&call, "bins", bins);
  tsri_call_word(&call, "part", part);
  return tsri_call_many_groups(&call, (values->count + part - 1) / part);
}

// Counts the integers 0 .. bins - 1 in `values`, or floats in the bins between `edges`, which has bins + 1 elements.
static tsr_tensor *count_each(const tsri_op *op, tsr_tensor *values, tsr_tensor *edges, int64_t bins) {
  tsr_status status = tsri_tensor_check(op->name, values);
  if (status == TSR_OK && edges) status = tsri_tensor_check(op->name, edges);
  if (status == TSR_OK && values->layout.count > INT32_MAX) {
    status =
        TSRI_FAIL(TSR_ERR_UNSUPPORTED, "%s: %lld elements; counts are i32", op->name, (long long)values->layout.count);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *packed = tsr_contiguous(values);
  status = tsri_tensor_check(op->name, packed);
  if (status != TSR_OK) return packed;
  tsr_tensor *result = tsri_record_kernel(op, packed->value->device, TSRI_INDEX_DTYPE, TSR_SHAPE(bins),
                                          (tsr_tensor *[]){packed, edges}, edges ? 2 : 1, NULL);
  return tsri_then(result, packed);
}

// --- bincount --------------------------------------------------------------------------------------------------------

// Gives the largest element plus 1, or 0 if no element counts. Waits for the device.
static tsr_status length_of(tsr_tensor *x, int64_t *out_length) {
  int64_t most = -1;
  tsr_status status = TSR_OK;
  tsri_tape_refuses(x->value->device, "bincount, whose length is found on the device");
  if (x->layout.count > 0) {
    tsr_tensor *largest = tsr_max(x, NULL, 0, false);
    status = tsr_item_int(largest, &most);
    tsr_release(largest);
  }
  *out_length = most < 0 ? 0 : most == INT64_MAX ? most : most + 1;
  return status;
}

static tsr_status check_bins(const char *caller, int64_t least, int64_t bins) {
  if (bins >= least && bins <= MOST_BINS) return TSR_OK;
  return TSRI_FAIL(bins < least ? TSR_ERR_INVALID_ARGUMENT : TSR_ERR_UNSUPPORTED,
                   "%s: %lld counts; %lld to %d are possible", caller, (long long)bins, (long long)least, MOST_BINS);
}

static tsr_status check_bincount(const tsr_tensor *x, const tsr_tensor *weights) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("bincount", x);
  if (status == TSR_OK && weights) status = tsri_tensor_check("bincount", weights);
  if (status != TSR_OK) return status;
  tsr_dtype_kind kind = tsr_dtype_kind_of(x->dtype);
  if (kind != TSR_KIND_INT && kind != TSR_KIND_UINT) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "bincount: takes integers, not %s", tsr_dtype_name(x->dtype));
  }
  if (!weights || tsri_shape_equal(x->layout.shape, weights->layout.shape)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "bincount: x is %s, weights are %s", tsr_shape_format(x->layout.shape, a, sizeof a),
                   tsr_shape_format(weights->layout.shape, b, sizeof b));
}

// Sums the weights of each integer by scatter_add. Negative integers, which scatter_add would count from the end, are replaced by an index beyond the end,
// which it skips.
static tsr_tensor *add_weights(tsr_tensor *x, tsr_tensor *weights, int64_t length) {
  tsr_dtype wide = tsri_promote(x->dtype, TSRI_INDEX_DTYPE);
  tsr_shape list = TSR_SHAPE(x->layout.count);
  tsr_tensor *cast = tsr_cast(x, wide), *flat = tsr_reshape(cast, list), *is_negative = tsr_lt_scalar(flat, 0);
  tsr_tensor *places = tsr_masked_fill(flat, is_negative, (double)length);
  tsr_tensor *from = tsr_reshape(weights, list);
  tsr_tensor *zeros = tsri_record_zeros(x->value->device, tsri_promote_sum(weights->dtype), TSR_SHAPE(length));
  tsr_tensor *result = tsr_scatter_add(zeros, 0, places, from);
  tsri_release_all((tsr_tensor *[]){cast, flat, is_negative, places, from, zeros}, 6);
  return result;
}

tsr_tensor *tsr_bincount(tsr_tensor *x, tsr_tensor *weights, int64_t length) {
  tsr_status status = check_bincount(x, weights);
  if (status == TSR_OK) status = check_bins("bincount", 0, length);
  if (status == TSR_OK && length == 0) {
    status = length_of(x, &length);
    if (status == TSR_OK) status = check_bins("bincount", 0, length);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_tensor_named(
      "bincount", weights ? add_weights(x, weights, length) : count_each(TSRI_BODY(bincount), x, NULL, length));
}

// --- histogram -------------------------------------------------------------------------------------------------------

tsr_tensor *tsri_histogram_between(tsr_tensor *x, tsr_tensor *edges) {
  tsr_tensor *values = tsr_cast(x, edges->dtype), *packed = tsr_contiguous(edges);
  tsr_tensor *result = count_each(TSRI_BODY(histogram), values, packed, edges->layout.count - 1);
  tsri_release_all((tsr_tensor *[]){values, packed}, 2);
  return result;
}

tsr_tensor *tsr_histogram(tsr_tensor *x, int64_t bins, double low, double high) {
  tsr_status status = tsri_tensor_check("histogram", x);
  if (status == TSR_OK) status = check_bins("histogram", 1, bins);
  if (status == TSR_OK && !(isfinite(low) && isfinite(high) && low < high)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "histogram: from %g to %g is no range", low, high);
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *edges =
      tsr_linspace(x->value->device, tsri_accumulator(tsri_promote_float(x->dtype)), low, high, bins + 1);
  status = tsri_tensor_check("histogram", edges);
  if (status != TSR_OK) return tsri_tensor_named("histogram", edges);
  return tsri_tensor_named("histogram", tsri_then(tsri_histogram_between(x, edges), edges));
}

tsr_tensor *tsr_bucketize(tsr_tensor *x, tsr_tensor *boundaries, bool right) {
  return tsri_tensor_named("bucketize", tsr_searchsorted(boundaries, x, right));
}
