// SPDX-License-Identifier: MIT
#include "ops/mode_rows.h"

#include "core/error.h"
#include "lang/ir/ir.h"
#include "ops/axes.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/sort.h"

#include <tessera/ops.h>

// GROUP: items of a work-group. LONGEST_SHORT: most elements of a row that mode_short takes.
enum { GROUP = 256, LONGEST_SHORT = 2 * GROUP };

// Where rows are in memory: row r begins at offset + r / inner * outer_step + r % inner * inner_step, and its elements are `step` apart.
typedef struct row_places {
  int64_t rows, n, inner, outer_step, inner_step, step;
} row_places;

// Finds the places of the rows along the last axis. False if their beginnings need more than two steps.
static bool find_places(const tsri_layout *x, row_places *out) {
  int last = x->shape.rank - 1, found = 0;
  int64_t sizes[2] = {1, 1}, steps[2] = {0, 0};
  for (int i = last - 1; i >= 0; i--) {
    if (x->shape.dims[i] == 1) continue;
    if (found > 0 && x->strides[i] == steps[found - 1] * sizes[found - 1]) {
      sizes[found - 1] *= x->shape.dims[i];
      continue;
    }
    if (found == 2) return false;
    sizes[found] = x->shape.dims[i];
    steps[found++] = x->strides[i];
  }
  *out = (row_places){.rows = sizes[0] * sizes[1],
                      .n = x->shape.dims[last],
                      .inner = sizes[0],
                      .outer_step = steps[1],
                      .inner_step = steps[0],
                      .step = x->strides[last]};
  return true;
}

// Whether rows are so short that counting their elements takes less time than a sort: an item compares its own element with all of its row.
static bool is_short(int64_t rows, int64_t n) {
  enum { SURE = 64, MOST_COMPARISONS = 1 << 26 };
  return n <= SURE || (n <= LONGEST_SHORT && rows * n <= MOST_COMPARISONS / n);
}

// --- Running ---------------------------------------------------------------------------------------------------------

static tsr_status run_short(const tsri_kernel_run *run, const row_places *p) {
  tsr_dtype dtype = run->input_dtypes[0];
  int items = p->n <= GROUP ? 1 : LONGEST_SHORT / GROUP;
  int64_t rows_at_once = GROUP * items / p->n;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_mode", "mode_short",
      TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", tsri_ir_compute_dtype(dtype)), TSRI_CONSTANT("ITEMS", items)));
  tsri_call_buffer(&call, "x", run->inputs[0], dtype);
  tsri_call_buffer(&call, "y", run->output, dtype);
  tsri_call_word(&call, "rows", p->rows);
  tsri_call_word(&call, "n", p->n);
  tsri_call_word(&call, "inner", p->inner);
  tsri_call_word(&call, "outer_step", p->outer_step);
  tsri_call_word(&call, "inner_step", p->inner_step);
  tsri_call_word(&call, "step", p->step);
  tsri_call_word(&call, "x_at", run->layouts[0].offset);
  return tsri_call_many_groups(&call, (p->rows + rows_at_once - 1) / rows_at_once);
}

// The parts of a row of n elements: as many as keep the device busy, each with PART elements at least.
static int64_t parts_of(const tsri_kernel_run *run, int64_t rows, int64_t n) {
  enum { PART = 4096 };
  int64_t parts = tsri_call_tuning(run->device)->radix_parts / rows;
  if (parts > n / PART) parts = n / PART;
  return parts > 1 ? parts : 1;
}

// Finds the longest run of each part of each sorted row. `lengths` and `ends` get those of a row with several parts.
static tsr_status find_runs(const tsri_kernel_run *run, tsr_buffer *sorted, const row_places *p, int64_t parts,
                            tsr_buffer *lengths, tsr_buffer *ends) {
  tsr_dtype dtype = run->dtype;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_mode", "mode_runs",
                 TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", tsri_ir_compute_dtype(dtype)),
                           TSRI_CONSTANT("JOINS", parts > 1)));
  tsri_call_buffer(&call, "x", sorted, dtype);
  tsri_call_buffer(&call, "y", run->output, dtype);
  tsri_call_buffer(&call, "lengths", lengths, TSR_U32);
  tsri_call_buffer(&call, "ends", ends, TSR_U32);
  tsri_call_word(&call, "rows", p->rows);
  tsri_call_word(&call, "n", p->n);
  tsri_call_word(&call, "parts", parts);
  return tsri_call_many_groups(&call, p->rows * parts);
}

static tsr_status join_parts(const tsri_kernel_run *run, tsr_buffer *sorted, const row_places *p, int64_t parts,
                             tsr_buffer *lengths, tsr_buffer *ends) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_mode", "mode_join", TSRI_WITH(TSRI_TYPE("T", run->dtype)));
  tsri_call_buffer(&call, "x", sorted, run->dtype);
  tsri_call_buffer(&call, "lengths", lengths, TSR_U32);
  tsri_call_buffer(&call, "ends", ends, TSR_U32);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "rows", p->rows);
  tsri_call_word(&call, "n", p->n);
  tsri_call_word(&call, "parts", parts);
  return tsri_call_items(&call, p->rows);
}

// Sorts the rows, which are contiguous, and finds their longest runs.
static tsr_status run_long(const tsri_kernel_run *run, const row_places *p) {
  int64_t parts = parts_of(run, p->rows, p->n);
  tsr_buffer *sorted = NULL, *lengths = NULL, *ends = NULL;
  tsr_status status = tsri_call_scratch(run->device, p->rows * p->n, run->dtype, &sorted);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, p->rows * parts, TSR_U32, &lengths);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, p->rows * parts, TSR_U32, &ends);
  if (status == TSR_OK) {
    status = tsri_sort_rows(&(tsri_sort){.device = run->device,
                                         .dtype = run->dtype,
                                         .x = run->inputs[0],
                                         .x_at = run->layouts[0].offset,
                                         .rows = p->rows,
                                         .n = p->n,
                                         .keep = p->n,
                                         .values = sorted});
  }
  if (status == TSR_OK) status = find_runs(run, sorted, p, parts, lengths, ends);
  if (status == TSR_OK && parts > 1) status = join_parts(run, sorted, p, parts, lengths, ends);
  tsr_buffer_release(sorted);
  tsr_buffer_release(lengths);
  tsr_buffer_release(ends);
  return status;
}

// Input: x, whose rows are contiguous unless mode_short takes them.
tsr_status tsri_run_mode_rows(const tsri_kernel_run *run) {
  const tsri_layout *x = &run->layouts[0];
  row_places places;
  tsr_status status = tsri_call_check("mode", x);
  if (status != TSR_OK || x->count == 0) return status;
  if (!find_places(x, &places)) return TSRI_FAIL(TSR_ERR_INTERNAL, "mode: its rows begin in too many places");
  return is_short(places.rows, places.n) ? run_short(run, &places) : run_long(run, &places);
}

const tsri_op tsri_op_mode_rows = {
    .name = "mode", .kind = TSRI_OP_KERNEL, .is_for_device = true, .run = tsri_run_mode_rows};

// --- Recording -------------------------------------------------------------------------------------------------------

// Whether the kernels can be used: not on the CPU, which runs the composed operators in one pass each.
static bool has_kernels(const tsr_tensor *x) {
  const tsr_device *device = x->value->device;
  return !tsri_device_is_cpu(device) && device->limits.max_group_size >= GROUP &&
         (device->limits.dtype_storage >> x->dtype & 1u);
}

// Records the mode of each row of x (not bool) along its last axis; the result has no such axis.
static tsr_tensor *mode_of_rows(tsr_tensor *x) {
  row_places places;
  tsr_shape shape = x->layout.shape;
  int64_t n = shape.dims[--shape.rank];
  bool reads_views = find_places(&x->layout, &places) && is_short(x->layout.count / n, n);
  tsr_tensor *input = reads_views ? tsr_retain(x) : tsr_contiguous(x);
  tsr_status status = tsri_tensor_check("mode", input);
  if (status != TSR_OK) return input;
  tsr_tensor *result = tsri_record_kernel(&tsri_op_mode_rows, x->value->device, x->dtype, shape, &input, 1, NULL);
  return tsri_then(result, input);
}

tsr_tensor *tsri_mode_by_kernels(tsr_tensor *x, int axis, bool keep_dims) {
  if (!has_kernels(x)) return NULL;
  tsr_tensor *turned = tsri_axis_to_end(x, axis);
  tsr_tensor *numbers = x->dtype == TSR_BOOL ? tsr_cast(turned, TSR_U8) : tsr_retain(turned);
  bool is_usable = tsri_tensor_check("mode", numbers) == TSR_OK;
  tsr_tensor *result = is_usable ? mode_of_rows(numbers) : tsr_retain(numbers);
  tsri_release_all((tsr_tensor *[]){turned, numbers}, 2);
  if (x->dtype == TSR_BOOL) result = tsri_then(tsr_cast(result, TSR_BOOL), result);
  return keep_dims ? tsri_then(tsr_unsqueeze(result, axis), result) : result;
}
