// SPDX-License-Identifier: MIT
// Integers of 64 bits, or of a small range, are sorted by how far they are from the smallest one, so that fewer bits have to be sorted.
#include "ops/unique_sorted.h"

#include "core/error.h"
#include "lang/ir/ir.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/found.h"
#include "ops/operators.h"
#include "ops/radix.h"
#include "ops/sort.h"

#include <tessera/ops.h>

enum { GROUP = 256 };  // items of a work-group

static int64_t part_of(int64_t n) {
  enum { TILE = 8 * GROUP };  // WG * ITEMS of unique_store
  return tsri_part_of_list(n, TILE);
}

static int64_t parts_of(int64_t n) { return (n + part_of(n) - 1) / part_of(n); }

// --- The range of integers ---------------------------------------------------------------------------------------------

enum { MOST_RANGES = 512 };

// Work-groups that look for the range; an item of each reads READS elements at least.
static int64_t range_parts(int64_t n) {
  enum { READS = 4 };
  int64_t parts = n / (GROUP * READS);
  return parts < 1 ? 1 : parts > MOST_RANGES ? MOST_RANGES : parts;
}

static tsr_status run_range(const tsri_kernel_run *run) {
  int64_t n = run->layouts[0].count;
  tsr_status status = tsri_call_check("unique", &run->layouts[0]);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_unique", "unique_range",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", run->dtype)));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "range", run->output, run->dtype);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "x_at", run->layouts[0].offset);
  tsri_call_word(&call, "parts", range_parts(n));
  return tsri_call_many_groups(&call, range_parts(n));
}

static const tsri_op op_range = {.name = "unique", .kind = TSRI_OP_KERNEL, .is_for_device = true, .run = run_range};

// Finds the smallest and the largest element of a list of i32, u32 or i64. Waits for the device.
static tsr_status find_range(tsr_tensor *x, int64_t *out_low, int64_t *out_high) {
  int64_t parts = range_parts(x->layout.count), found[2 * MOST_RANGES], raw[2 * MOST_RANGES];
  tsr_tensor *range = tsri_record_kernel(&op_range, x->value->device, x->dtype, TSR_SHAPE(2 * parts), &x, 1, NULL);
  tsr_status status = tsr_read(range, raw, (size_t)(2 * parts) * tsr_dtype_bytes(x->dtype));
  if (status == TSR_OK) status = tsr_convert(TSR_I64, found, x->dtype, raw, (size_t)(2 * parts));
  tsr_release(range);
  if (status != TSR_OK) return status;
  *out_low = found[0];
  *out_high = found[parts];
  for (int64_t i = 1; i < parts; i++) {
    if (found[i] < *out_low) *out_low = found[i];
    if (found[parts + i] > *out_high) *out_high = found[parts + i];
  }
  return TSR_OK;
}

// What is sorted in place of the list: its elements, or how far they are from the smallest one.
typedef struct sort_keys {
  tsr_tensor *list;  // owned
  bool is_distance;
  int64_t low;  // the smallest element, if the list has distances
  int bits;     // of the distances; 0: unknown
} sort_keys;

// Whether it is worth a wait for the device to find the range of x: if x has wide integers, and its sort takes many launches.
static bool wants_range(const tsr_tensor *x) {
  bool is_wide = x->dtype == TSR_I32 || x->dtype == TSR_U32 || x->dtype == TSR_I64;
  return is_wide && x->layout.count > tsri_radix_longest_row(x->value->device, x->dtype);
}

static tsr_status make_keys(tsr_tensor *x, sort_keys *out) {
  // The smallest element is subtracted as the parameter of a kernel, which is an f64.
  enum { MOST_BITS = 53 };
  int64_t low = 0, high = 0, most = (int64_t)1 << MOST_BITS;
  tsr_status status = wants_range(x) ? find_range(x, &low, &high) : TSR_OK;
  *out = (sort_keys){.low = low};
  uint64_t range = (uint64_t)high - (uint64_t)low;
  bool is_small = range < (x->dtype == TSR_I64 ? (uint64_t)UINT32_MAX : UINT32_MAX >> 8) && low >= -most && low <= most;
  if (status != TSR_OK) return status;
  if (!wants_range(x) || !is_small) {
    out->list = tsr_retain(x);
    return TSR_OK;
  }
  out->is_distance = true;
  while (range >> out->bits > 0) out->bits++;
  if (out->bits == 0) out->bits = 1;
  tsr_tensor *wide = tsr_cast(x, TSR_I64), *distance = tsri_then(tsr_sub_scalar(wide, (double)low), wide);
  out->list = tsri_then(tsr_cast(distance, TSR_U32), distance);
  return tsri_tensor_check("unique", out->list);
}

// The values that belong to these keys. Releases `values`.
static tsr_tensor *values_of_keys(const sort_keys *keys, tsr_tensor *values, tsr_dtype dtype) {
  if (!keys->is_distance) return values;
  tsr_tensor *wide = tsri_then(tsr_cast(values, TSR_I64), values);
  tsr_tensor *moved = tsri_then(tsr_add_scalar(wide, (double)keys->low), wide);
  return tsri_then(tsr_cast(moved, dtype), moved);
}

// --- Sorting and counting ------------------------------------------------------------------------------------------------

// Input: the keys. Outputs: the sorted keys, their order, and how many values begin in each part.
static tsr_status run_sort(const tsri_kernel_run *run) {
  int64_t n = run->layouts[0].count;
  tsr_dtype dtype = run->input_dtypes[0];
  tsr_status status = tsri_sort_rows(&(tsri_sort){.device = run->device,
                                                  .dtype = dtype,
                                                  .x = run->inputs[0],
                                                  .x_at = run->layouts[0].offset,
                                                  .rows = 1,
                                                  .n = n,
                                                  .keep = n,
                                                  .key_bits = (int)TSRI_GIVEN(run->node, unique)->key_bits,
                                                  .values = run->outputs[0],
                                                  .order = run->outputs[1]});
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_unique", "unique_count",
                 TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", tsri_ir_compute_dtype(dtype))));
  tsri_call_buffer(&call, "x", run->outputs[0], dtype);
  tsri_call_buffer(&call, "counts", run->outputs[2], TSR_I32);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "part", part_of(n));
  tsri_call_word(&call, "parts", parts_of(n));
  return tsri_call_many_groups(&call, parts_of(n));
}

static const tsri_op op_sort = {.name = "unique",
                                .kind = TSRI_OP_KERNEL,
                                .is_for_device = true,
                                .run = run_sort,
                                .attribute_set = TSRI_SET_unique,
                                .attribute_bytes = sizeof(tsri_unique_attributes)};

// --- Numbering -------------------------------------------------------------------------------------------------------

static tsr_status store_values(const tsri_kernel_run *run, tsr_buffer *firsts) {
  int64_t n = run->layouts[0].count;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_unique", "unique_store",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_ir_compute_dtype(run->dtype))));
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "order", run->inputs[1], TSR_I32);
  tsri_call_buffer(&call, "counts", run->inputs[2], TSR_I32);
  tsri_call_buffer(&call, "values", run->outputs[0], run->dtype);
  tsri_call_buffer(&call, "inverse", run->outputs[1], TSR_I32);
  tsri_call_buffer(&call, "firsts", firsts, TSR_I32);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "part", part_of(n));
  tsri_call_word(&call, "parts", parts_of(n));
  return tsri_call_many_groups(&call, parts_of(n));
}

// Inputs: the outputs of run_sort. Outputs: the values, the inverse and the counts.
static tsr_status run_store(const tsri_kernel_run *run) {
  int64_t total = run->shape.dims[0];
  tsr_buffer *firsts = NULL;
  tsr_status status = tsri_call_scratch(run->device, total, TSR_I32, &firsts);
  if (status == TSR_OK) status = store_values(run, firsts);
  if (status == TSR_OK) {
    tsri_call call;
    tsri_call_init(&call, run->device, "op_unique", "unique_lengths", NULL, 0);
    tsri_call_buffer(&call, "firsts", firsts, TSR_I32);
    tsri_call_buffer(&call, "counts", run->outputs[2], TSR_I32);
    tsri_call_word(&call, "total", total);
    tsri_call_word(&call, "n", run->layouts[0].count);
    status = tsri_call_items(&call, total);
  }
  tsr_buffer_release(firsts);
  return status;
}

static const tsri_op op_store = {.name = "unique", .kind = TSRI_OP_KERNEL, .is_for_device = true, .run = run_store};

// --- Recording -------------------------------------------------------------------------------------------------------

static bool has_kernels(const tsr_tensor *x) {
  const tsr_device *device = x->value->device;
  return !tsri_device_is_cpu(device) && device->limits.max_group_size >= GROUP && x->layout.count > 0 &&
         tsri_radix_takes(device, x->dtype) && (device->limits.dtype_storage >> x->dtype & 1u);
}

// Records the sort of the keys, and reads the number of values.
static tsr_status sort_list(const sort_keys *keys, tsr_tensor *sorted[3], int64_t *out_total) {
  tsr_tensor *list = keys->list;
  int64_t n = list->layout.count;
  const tsri_result results[3] = {
      {list->dtype, TSR_SHAPE(n)}, {TSR_I32, TSR_SHAPE(n)}, {TSR_I32, TSR_SHAPE(parts_of(n))}};
  tsri_record_kernel_results(&op_sort, list->value->device, results, 3, &list, 1,
                             TSRI_GIVE(&op_sort, unique, .key_bits = keys->bits), sorted);
  tsr_status status = tsri_tensor_check("unique", sorted[2]);
  return status == TSR_OK ? tsri_add_counts(sorted[2], out_total) : status;
}

tsr_status tsri_unique_sorted(tsr_tensor *x, tsr_tensor *out_results[3]) {
  if (!has_kernels(x)) return TSR_ERR_UNSUPPORTED;
  sort_keys keys;
  tsr_tensor *sorted[3] = {NULL, NULL, NULL};
  int64_t n = x->layout.count, total = 0;
  tsr_status status = make_keys(x, &keys);
  if (status == TSR_OK) status = sort_list(&keys, sorted, &total);
  if (status == TSR_OK) {
    const tsri_result results[3] = {
        {keys.list->dtype, TSR_SHAPE(total)}, {TSR_I32, TSR_SHAPE(n)}, {TSR_I32, TSR_SHAPE(total)}};
    tsri_record_kernel_results(&op_store, x->value->device, results, 3, sorted, 3, NULL, out_results);
    out_results[0] = values_of_keys(&keys, out_results[0], x->dtype);
  }
  tsri_release_all(sorted, 3);
  tsr_release(keys.list);
  return status;
}
