// SPDX-License-Identifier: MIT
// Row kernels: softmax, log_softmax, layer_norm, rms_norm. One group per row (kernels/op_rows.tk).
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

// Items per group by the length of a row: every item should have something to do.
typedef struct group_choice {
  int64_t longest;
  int items;
} group_choice;

static const group_choice group_choices[] = {{64, 32}, {256, 64}, {1024, 128}, {INT64_MAX, 256}};

static int group_for(int64_t n) {
  const group_choice *choice = group_choices;
  while (n > choice->longest) choice++;
  return choice->items;
}

// How a row is kept in registers: items of the group, elements of each; none if it is too long for that.
typedef struct row_shape {
  int group, held;
  bool is_wide;
} row_shape;

// `offsets`: where what is read four at a time begins.
static row_shape shape_row(const tsri_kernel_run *run, int64_t n, const int64_t *offsets, int count) {
  const tsri_tuning *tuning = &tsri_graph_of(run->device)->tuning;
  int limit = (int)run->device->limits.max_group_size, most = tuning->row_group < limit ? tuning->row_group : limit;
  row_shape row = {.group = 32, .held = tuning->row_held};
  if (row.held == 0) return row;
  while ((int64_t)row.group * row.held < n && row.group * 2 <= most) row.group *= 2;
  if ((int64_t)row.group * row.held < n) return (row_shape){0};
  while (row.held > 4 && (int64_t)row.group * (row.held / 2) >= n) row.held /= 2;
  row.is_wide = tuning->row_wide != 0 && row.held % 4 == 0 && !run->epilogue && n % 4 == 0;
  for (int i = 0; i < count; i++) row.is_wide = row.is_wide && offsets[i] % 4 == 0;
  return row;
}

// x as a float dtype, contiguous; the caller's to release.
static tsr_tensor *packed_float(tsr_tensor *x, tsr_dtype dtype) {
  tsr_tensor *cast = tsr_cast(x, dtype), *result = tsr_contiguous(cast);
  tsr_release(cast);
  return result;
}

// --- softmax ---------------------------------------------------------------------------------------------------------

// Attributes: integers[0] the axis, [1] whether the logarithm is wanted.
tsr_status tsri_run_softmax(const tsri_kernel_run *run) {
  const tsri_layout *layout = &run->layouts[0];
  tsr_status status = tsri_call_check("softmax", layout);
  if (status != TSR_OK || layout->count == 0) return status;
  int axis = (int)run->attributes->integers[0];
  int64_t n = layout->shape.dims[axis], rows = layout->count / n, inner = 1;
  for (int i = axis + 1; i < layout->shape.rank; i++) inner *= layout->shape.dims[i];
  row_shape held = inner == 1 ? shape_row(run, n, &layout->offset, 1) : (row_shape){0};
  const char *type = tsr_dtype_name(run->dtype), *wide = tsr_dtype_name(tsri_accumulator(run->dtype));
  bool is_log = run->attributes->integers[1] != 0;
  tsri_call call;
  if (held.held) {
    tsri_call_init_hooked(&call, run, "op_rows", "softmax_held", "T=%s A=%s LOG=%d WIDE=%d HELD=%d WG=%d", type, wide,
                          is_log, held.is_wide, held.held, held.group);
  } else {
    tsri_call_init_hooked(&call, run, "op_rows", "softmax", "T=%s A=%s LOG=%d WG=%d", type, wide, is_log, group_for(n));
  }
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "rows", rows);
  tsri_call_word(&call, "n", n);
  if (!held.held) {
    tsri_call_word(&call, "inner", inner);
    tsri_call_word(&call, "last", layout->shape.dims[layout->shape.rank - 1]);
  }
  tsri_call_word(&call, "x_at", layout->offset);
  return tsri_call_many_groups(&call, rows);
}

static tsr_tensor *softmax(const tsri_op *op, tsr_tensor *x, int axis) {
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_axis(op->name, axis, x->layout.shape.rank, &axis);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *input = packed_float(x, tsri_promote_float(x->dtype));
  status = tsri_tensor_check(op->name, input);
  if (status != TSR_OK) return tsri_tensor_named(op->name, input);
  tsri_attributes attributes = {.integers = {axis, op == TSRI_BODY(log_softmax)}};
  tsr_tensor *result =
      tsri_record_kernel(op, input->value->device, input->dtype, input->layout.shape, &input, 1, &attributes);
  tsr_release(input);
  return result;
}

tsr_tensor *tsr_softmax(tsr_tensor *x, int axis) { return softmax(TSRI_BODY(softmax), x, axis); }

tsr_tensor *tsr_log_softmax(tsr_tensor *x, int axis) { return softmax(TSRI_BODY(log_softmax), x, axis); }

// --- Norms -----------------------------------------------------------------------------------------------------------

// Inputs: x, then weight and bias where there are such. Attributes: scalars[0] eps; integers[0] has weight, [1] has
// bias, [2] centre.
tsr_status tsri_run_norm(const tsri_kernel_run *run) {
  const tsri_layout *layout = &run->layouts[0];
  tsr_status status = tsri_call_check("norm", layout);
  if (status != TSR_OK || layout->count == 0) return status;
  bool has_weight = run->attributes->integers[0] != 0, has_bias = run->attributes->integers[1] != 0;
  int weight = has_weight ? 1 : 0,
      bias = has_bias ? weight + 1 : 0;  // where there is none, x stands in and is not read
  int64_t n = layout->shape.dims[layout->shape.rank - 1], rows = layout->count / n;
  const int64_t offsets[] = {layout->offset, run->layouts[weight].offset, run->layouts[bias].offset};
  row_shape held = shape_row(run, n, offsets, 3);
  const char *type = tsr_dtype_name(run->dtype), *wide = tsr_dtype_name(tsri_accumulator(run->dtype));
  bool is_centred = run->attributes->integers[2] != 0;
  tsri_call call;
  if (held.held) {
    tsri_call_init_hooked(&call, run, "op_rows", "normalise_held",
                          "T=%s A=%s CENTRE=%d WEIGHT=%d BIAS=%d WIDE=%d HELD=%d WG=%d", type, wide, is_centred,
                          has_weight, has_bias, held.is_wide, held.held, held.group);
  } else {
    tsri_call_init_hooked(&call, run, "op_rows", "normalise", "T=%s A=%s CENTRE=%d WEIGHT=%d BIAS=%d WG=%d", type, wide,
                          is_centred, has_weight, has_bias, group_for(n));
  }
  tsri_call_buffer(&call, "x", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "weight", run->inputs[weight], run->dtype);
  tsri_call_buffer(&call, "bias", run->inputs[bias], run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "rows", rows);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "x_at", layout->offset);
  tsri_call_word(&call, "w_at", run->layouts[weight].offset);
  tsri_call_word(&call, "b_at", run->layouts[bias].offset);
  tsri_call_real(&call, "eps", run->attributes->scalars[0]);
  return tsri_call_many_groups(&call, rows);
}

static tsr_status check_row(const tsri_op *op, const char *what, const tsr_tensor *x, const tsr_tensor *row) {
  if (!row) return TSR_OK;
  tsr_status status = tsri_tensor_check(op->name, row);
  if (status != TSR_OK) return status;
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  int64_t n = x->layout.shape.dims[x->layout.shape.rank - 1];
  if (row->layout.shape.rank == 1 && row->layout.shape.dims[0] == n) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %s is %s, the last axis of %s has %lld", op->name, what,
                   tsr_shape_format(row->layout.shape, b, sizeof b), tsr_shape_format(x->layout.shape, a, sizeof a),
                   (long long)n);
}

static tsr_status check_norm(const tsri_op *op, const tsr_tensor *x, const tsr_tensor *weight, const tsr_tensor *bias,
                             double eps) {
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK && x->layout.shape.rank == 0) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: a scalar has no last axis", op->name);
  }
  if (status == TSR_OK && !(eps >= 0)) {
    status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: eps is %g; it must be 0 or more", op->name, eps);
  }
  if (status == TSR_OK) status = check_row(op, "weight", x, weight);
  if (status == TSR_OK) status = check_row(op, "bias", x, bias);
  return status;
}

static tsr_tensor *norm(const tsri_op *op, tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps) {
  tsr_status status = check_norm(op, x, weight, bias, eps);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(x->dtype);
  if (weight) dtype = tsri_promote(dtype, weight->dtype);
  if (bias) dtype = tsri_promote(dtype, bias->dtype);
  tsr_tensor *inputs[3] = {packed_float(x, dtype)};
  int count = 1;
  if (weight) inputs[count++] = packed_float(weight, dtype);
  if (bias) inputs[count++] = packed_float(bias, dtype);
  tsr_device *device = NULL;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, count, &device);
  tsri_attributes attributes = {
      .scalars = {eps}, .scalar_count = 1, .integers = {weight != NULL, bias != NULL, op == TSRI_BODY(layer_norm)}};
  tsr_tensor *result = status == TSR_OK
                           ? tsri_record_kernel(op, device, dtype, x->layout.shape, inputs, count, &attributes)
                           : tsri_tensor_fail(status);
  for (int i = 0; i < count; i++) tsr_release(inputs[i]);
  return tsri_tensor_named(op->name, result);
}

tsr_tensor *tsr_layer_norm(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, double eps) {
  return norm(TSRI_BODY(layer_norm), x, weight, bias, eps);
}

tsr_tensor *tsr_rms_norm(tsr_tensor *x, tsr_tensor *weight, double eps) {
  return norm(TSRI_BODY(rms_norm), x, weight, NULL, eps);
}
