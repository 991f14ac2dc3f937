// SPDX-License-Identifier: MIT
// Sequences: arange, linspace, eye. They are recorded like every operator; nothing is allocated before they run.
//
// Elements are computed in f64 arithmetic and have the same bits on every device. A kernel computes them if the device has f64, or if integer arithmetic gives
// the same result; otherwise the host computes and uploads them, block by block.
#include <math.h>

#include "core/error.h"
#include "ops/call.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "runtime/stage.h"
#include "runtime/tape.h"

#include <tessera/ops.h>

// --- Running ---------------------------------------------------------------------------------------------------------

// Attributes of a sequence: element `last_at` is exactly `last` (last_at -1: no such element). If all elements are
// integers of the dtype (is_whole), they are computed from whole_start and whole_step.

// Whether a kernel can write the output: the device can store the dtype and bind the whole output.
static bool runs_kernels(const tsri_kernel_run *run, int64_t count) {
  const tsri_limits *limits = &run->device->limits;
  bool is_seen = limits->max_binding_bytes == 0 || tsr_buffer_bytes(run->output) <= limits->max_binding_bytes;
  return limits->max_group_size > 0 && is_seen && count < TSRI_CALL_MAX_ELEMENTS &&
         (limits->dtype_storage >> run->dtype & 1u);
}

static tsr_status run_whole(const tsri_kernel_run *run, int64_t count) {
  const tsri_sequence_attributes *given = TSRI_GIVEN(run->node, sequence);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_create", "sequence_whole",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype))));
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", count);
  tsri_call_word(&call, "start", given->whole_start);
  tsri_call_word(&call, "step", given->whole_step);
  return tsri_call_items(&call, count);
}

static tsr_status run_real(const tsri_kernel_run *run, int64_t count) {
  const tsri_sequence_attributes *given = TSRI_GIVEN(run->node, sequence);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_create", "sequence", TSRI_WITH(TSRI_TYPE("T", run->dtype)));
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", count);
  tsri_call_word(&call, "last_at", given->last_at);
  tsri_call_real(&call, "start", given->start);
  tsri_call_real(&call, "step", given->step);
  tsri_call_real(&call, "last", given->last);
  return tsri_call_items(&call, count);
}

// Computes `count` elements from `first` on, converted to the run's dtype, into `out`.
static tsr_status fill_block(const tsri_kernel_run *run, int64_t first, int64_t count, void *out) {
  enum { BLOCK = 1024 };
  const tsri_sequence_attributes *given = TSRI_GIVEN(run->node, sequence);
  size_t element = tsr_dtype_bytes(run->dtype);
  int64_t wholes[BLOCK];
  double reals[BLOCK];
  bool is_whole = given->is_whole != 0;
  tsr_status status = TSR_OK;
  for (int64_t done = 0; done < count && status == TSR_OK; done += BLOCK) {
    int64_t part = count - done < BLOCK ? count - done : BLOCK;
    for (int64_t i = 0; i < part; i++) {
      int64_t at = first + done + i;
      uint64_t whole = (uint64_t)given->whole_start + (uint64_t)at * (uint64_t)given->whole_step;
      wholes[i] = (int64_t)whole;
      double product = (double)at * given->step;
      reals[i] = at == given->last_at ? given->last : given->start + product;
    }
    status = tsr_convert(run->dtype, (char *)out + (size_t)done * element, is_whole ? TSR_I64 : TSR_F64,
                         is_whole ? (const void *)wholes : (const void *)reals, (size_t)part);
  }
  return status;
}

static tsr_status upload_from_host(const tsri_kernel_run *run, int64_t count, tsr_buffer *to) {
  enum { BLOCK = 65536 };
  size_t element = tsr_dtype_bytes(run->dtype);
  int64_t most = count < BLOCK ? count : BLOCK;
  unsigned char *stage = tsri_stage_create((size_t)most * element);
  if (!stage) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "arange: no host memory for a stage");
  tsr_status status = TSR_OK;
  for (int64_t done = 0; done < count && status == TSR_OK; done += BLOCK) {
    int64_t part = count - done < BLOCK ? count - done : BLOCK;
    status = fill_block(run, done, part, stage);
    if (status == TSR_OK) status = tsr_buffer_upload(to, (size_t)done * element, stage, (size_t)part * element);
  }
  tsri_stage_release(run->device, stage, status);
  return status;
}

// Computes the elements on the host and uploads them. A capture repeats copies but not uploads, so while a capture is open they are uploaded to a buffer that
// the capture keeps, and copied from there.
static tsr_status run_on_host(const tsri_kernel_run *run, int64_t count) {
  if (!tsri_tape_now()) return upload_from_host(run, count, run->output);
  tsr_buffer *kept = NULL;
  size_t bytes = tsr_buffer_bytes(run->output);
  tsr_status status = tsr_buffer_create(run->device, bytes, 0, &kept);
  if (status == TSR_OK) status = upload_from_host(run, count, kept);
  if (status == TSR_OK) status = tsri_buffer_copy(run->output, 0, kept, 0, bytes);
  tsr_buffer_release(kept);
  return status;
}

tsr_status tsri_run_sequence(const tsri_kernel_run *run) {
  int64_t count = run->shape.dims[0];
  if (count == 0) return TSR_OK;
  bool has_f64 = run->device->limits.dtype_arithmetic >> TSR_F64 & 1u;
  if (runs_kernels(run, count) && TSRI_GIVEN(run->node, sequence)->is_whole) return run_whole(run, count);
  return runs_kernels(run, count) && has_f64 ? run_real(run, count) : run_on_host(run, count);
}

tsr_status tsri_run_eye(const tsri_kernel_run *run) {
  const tsri_eye_attributes *given = TSRI_GIVEN(run->node, eye);
  int64_t first = given->first, step = given->step, ones = given->ones, count = run->shape.dims[0] * run->shape.dims[1];
  if (count == 0) return TSR_OK;
  tsr_status status = tsri_call_zero(run);
  if (status != TSR_OK || ones == 0) return status;
  if (runs_kernels(run, count)) {
    tsri_call call;
    tsri_call_init(&call, run->device, "op_create", "diagonal", TSRI_WITH(TSRI_TYPE("T", run->dtype)));
    tsri_call_buffer(&call, "y", run->output, run->dtype);
    tsri_call_word(&call, "n", ones);
    tsri_call_word(&call, "first", first);
    tsri_call_word(&call, "step", step);
    return tsri_call_items(&call, ones);
  }
  unsigned char one[8];
  size_t element = tsr_dtype_bytes(run->dtype);
  status = tsr_convert(run->dtype, one, TSR_F64, &(double){1}, 1);
  for (int64_t i = 0; i < ones && status == TSR_OK; i++) {
    status = tsr_buffer_fill(run->output, (size_t)(first + i * step) * element, element, one, element);
  }
  return status;
}

// --- Recording -------------------------------------------------------------------------------------------------------

static tsr_tensor *record(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                          const void *attributes) {
  tsr_status status = tsri_device_check(op->name, device);
  if (status == TSR_OK) status = tsri_dtype_check(op->name, dtype);
  tsri_layout layout;
  if (status == TSR_OK) status = tsri_layout_init(op->name, shape, dtype, &layout, NULL);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(op, device, dtype, shape, NULL, 0, attributes);
}

// Whether the value is an integer that fits into i64.
static bool is_whole(double value) {
  return value == trunc(value) && value >= -9223372036854775808.0 && value < 9223372036854775808.0;
}

static tsr_status arange_count(double start, double stop, double step, int64_t *out_count) {
  *out_count = 0;
  if (!isfinite(start) || !isfinite(stop) || !isfinite(step) || step == 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "arange: start %g, stop %g, step %g; all must be finite and step not 0",
                     start, stop, step);
  }
  if ((stop - start) / step <= 0) return TSR_OK;
  uint64_t count = UINT64_MAX;
  if (is_whole(start) && is_whole(stop) && is_whole(step)) {  // doubles beyond 2^53 are not exact
    uint64_t low = (uint64_t)(int64_t)fmin(start, stop), high = (uint64_t)(int64_t)fmax(start, stop);
    uint64_t each = (uint64_t)fabs(step);
    count = (high - low) / each + ((high - low) % each != 0);
  } else if (ceil((stop - start) / step) < 9e18) {
    count = (uint64_t)ceil((stop - start) / step);
  }
  if (count > INT64_MAX)
    return TSRI_FAIL(TSR_ERR_SHAPE, "arange: %g to %g by %g is too many elements", start, stop, step);
  *out_count = (int64_t)count;
  return TSR_OK;
}

// Whether start, start + step, … up to stop can be computed exactly by integer arithmetic in `dtype`.
static bool is_whole_sequence(tsr_dtype dtype, double start, double stop, double step) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(dtype);
  if ((kind != TSR_KIND_INT && kind != TSR_KIND_UINT) || !is_whole(start) || !is_whole(stop) || !is_whole(step))
    return false;
  tsri_whole_range range = tsri_range_of(dtype);
  double one = step > 0 ? 1 : -1, last = dtype == TSR_I64 ? stop : stop - one;  // stop itself is not in the sequence
  return fmin(start, last) >= range.least && fmax(start, last) <= range.most;
}

tsr_tensor *tsr_arange(tsr_device *device, tsr_dtype dtype, double start, double stop, double step) {
  int64_t count = 0;
  tsr_status status = arange_count(start, stop, step, &count);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsri_sequence_attributes given = {.start = start, .step = step, .last_at = -1};
  if (is_whole_sequence(dtype, start, stop, step)) {
    given.is_whole = true;
    given.whole_start = (int64_t)start;
    given.whole_step = (int64_t)step;
  }
  return record(TSRI_BODY(arange), device, dtype, TSR_SHAPE(count), TSRI_GIVE_ALL(TSRI_BODY(arange), sequence, &given));
}

tsr_tensor *tsr_linspace(tsr_device *device, tsr_dtype dtype, double start, double stop, int64_t count) {
  if (!isfinite(start) || !isfinite(stop)) {
    return tsri_tensor_fail(
        TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "linspace: start %g, stop %g; both must be finite", start, stop));
  }
  // NumPy's formula; the last element is exactly `stop`.
  double step = count > 1 ? (stop - start) / (double)(count - 1) : 0;
  return record(TSRI_BODY(linspace), device, dtype, TSR_SHAPE(count),
                TSRI_GIVE(TSRI_BODY(linspace), sequence, .start = start, .step = step, .last = stop,
                          .last_at = count > 1 ? count - 1 : -1));
}

tsr_tensor *tsr_eye(tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t cols, int64_t diagonal) {
  tsri_eye_attributes given = {0};
  if (rows > 0 && cols > 0 && diagonal < cols && diagonal > -rows) {
    int64_t row = diagonal < 0 ? -diagonal : 0, col = diagonal > 0 ? diagonal : 0;
    // If this product overflows, `record` refuses the shape.
    given.first = (int64_t)((uint64_t)row * (uint64_t)cols) + col;
    given.step = (int64_t)((uint64_t)cols + 1);
    given.ones = rows - row < cols - col ? rows - row : cols - col;
  }
  return record(TSRI_BODY(eye), device, dtype, TSR_SHAPE(rows, cols), TSRI_GIVE_ALL(TSRI_BODY(eye), eye, &given));
}
