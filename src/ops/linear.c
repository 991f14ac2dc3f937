// SPDX-License-Identifier: MIT
// linear: a product and the operators after it (bias, activation, residual), which fusion joins into one kernel; and products that write to given tensors.
#include "core/error.h"
#include "core/tensor.h"
#include "ops/autocast.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "runtime/device.h"

#include <tessera/ops.h>

// --- linear ----------------------------------------------------------------------------------------------------------

static tsr_status check_weight(const tsr_tensor *x, const tsr_tensor *weight, const tsr_tensor *bias) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape rows = x->layout.shape, shape = weight->layout.shape;
  if (rows.rank < 1 || shape.rank != 2 || rows.dims[rows.rank - 1] != shape.dims[1]) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "linear: x is %s, the weight is %s; it is [outputs, inputs], x […, inputs]",
                     tsr_shape_format(rows, a, sizeof a), tsr_shape_format(shape, b, sizeof b));
  }
  if (!bias || (bias->layout.shape.rank == 1 && bias->layout.shape.dims[0] == shape.dims[0])) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "linear: the bias is %s, there are %lld outputs",
                   tsr_shape_format(bias->layout.shape, a, sizeof a), (long long)shape.dims[0]);
}

static tsr_status check_desc(const tsr_tensor *x, const tsr_tensor *weight, const tsr_linear_desc *desc) {
  if ((unsigned)desc->activation > TSR_ACTIVATION_TANH) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "linear: there is no activation %d", (int)desc->activation);
  }
  if (!desc->residual) return TSR_OK;
  tsr_status status = tsri_tensor_check("linear", desc->residual);
  if (status != TSR_OK) return status;
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = x->layout.shape;
  shape.dims[shape.rank - 1] = weight->layout.shape.dims[0];
  if (tsri_shape_equal(shape, desc->residual->layout.shape)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "linear: the residual is %s, the result is %s",
                   tsr_shape_format(desc->residual->layout.shape, a, sizeof a), tsr_shape_format(shape, b, sizeof b));
}

// Applies the activation to x. Releases x.
static tsr_tensor *activated(tsr_tensor *x, tsr_activation activation) {
  static tsr_tensor *(*const functions[])(tsr_tensor *) = {
      [TSR_ACTIVATION_RELU] = tsr_relu,           [TSR_ACTIVATION_GELU] = tsr_gelu,
      [TSR_ACTIVATION_GELU_TANH] = tsr_gelu_tanh, [TSR_ACTIVATION_SILU] = tsr_silu,
      [TSR_ACTIVATION_SIGMOID] = tsr_sigmoid,     [TSR_ACTIVATION_TANH] = tsr_tanh};
  return activation == TSR_ACTIVATION_NONE ? x : tsri_then(functions[activation](x), x);
}

// x + added. Releases both.
static tsr_tensor *sum(tsr_tensor *x, tsr_tensor *added) { return tsri_then(tsri_then(tsr_add(x, added), added), x); }

enum { UNIT = 8 };  // elements of 16 bits in 16 bytes

// How many zeros make `count` elements a multiple of UNIT.
static int64_t spare_of(int64_t count) { return (UNIT - count % UNIT) % UNIT; }

// How many zero outputs to add to each row of a large product, so that rows of f16 and bf16 begin at multiples of 16 bytes, which matrix units read and write
// fast. The result is then a view without them.
static int64_t spare_outputs(const tsr_tensor *x, const tsr_tensor *weight, tsr_dtype dtype) {
  enum { MANY_OUTPUTS = 512, MANY_ROWS = 64 };
  int64_t outputs = weight->layout.shape.dims[0], inputs = weight->layout.shape.dims[1];
  bool is_large = outputs >= MANY_OUTPUTS && inputs > 0 && x->layout.count / inputs >= MANY_ROWS;
  const tsri_limits *limits = &weight->value->device->limits;
  bool has_units = false;
  for (uint32_t i = 0; i < limits->fragment_count; i++) has_units = has_units || limits->fragments[i].dtype == dtype;
  return is_large && has_units && tsr_dtype_bytes(dtype) == 2 ? spare_of(outputs) : 0;
}

// Adds `spare` zero outputs to the weights and, because these are copied anyway, as many zero inputs to both factors as make their rows begin at multiples of 16
// bytes: 181 x 975 times 975 x 6859 of f16 takes cuBLASLt 45 us on an H200 if the factors' rows are not aligned.
static void pad(int64_t spare, tsr_tensor **rows, tsr_tensor **weight) {
  int64_t before[TSR_MAX_RANK] = {0}, after[TSR_MAX_RANK] = {0};
  int rank = (*rows)->layout.shape.rank;
  if ((*rows)->status != TSR_OK || (*weight)->status != TSR_OK) return;
  int64_t inputs = spare_of((*weight)->layout.shape.dims[1]);
  after[rank - 1] = inputs;
  *weight = tsri_then(tsr_pad(*weight, before, (const int64_t[]){spare, inputs}, 2, 0), *weight);
  if (inputs > 0) *rows = tsri_then(tsr_pad(*rows, before, after, rank, 0), *rows);
}

tsr_tensor *tsr_linear(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *bias, const tsr_linear_desc *desc) {
  static const tsr_linear_desc usual;
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check("linear", x);
  if (status == TSR_OK) status = tsri_tensor_check("linear", weight);
  if (status == TSR_OK && bias) status = tsri_tensor_check("linear", bias);
  if (status == TSR_OK) status = check_weight(x, weight, bias);
  if (status == TSR_OK) status = check_desc(x, weight, desc);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(tsri_promote(x->dtype, weight->dtype));
  if (bias) dtype = tsri_promote(dtype, bias->dtype);
  if (desc->residual) dtype = tsri_promote(dtype, desc->residual->dtype);
  tsr_dtype full = dtype;  // the residual is not narrowed
  dtype = tsri_autocast(TSRI_BODY(linear), dtype);
  tsr_tensor *rows = tsr_cast(x, dtype), *cast = tsr_cast(weight, dtype);
  int64_t outputs = weight->layout.shape.dims[0], spare = spare_outputs(x, weight, dtype);
  if (spare > 0) pad(spare, &rows, &cast);
  tsr_tensor *columns = tsr_transpose(cast, 0, 1);
  tsr_tensor *result = tsri_then(tsri_then(tsri_then(tsr_matmul(rows, columns), columns), cast), rows);
  if (spare > 0) result = tsri_then(tsr_slice(result, -1, 0, outputs, 1), result);
  if (bias) result = sum(result, tsr_cast(bias, dtype));
  result = activated(result, desc->activation);
  if (desc->residual) result = sum(result, tsr_cast(desc->residual, full));
  return tsri_tensor_named("linear", result);
}

// --- Into a given tensor ---------------------------------------------------------------------------------------------

// Writes `source` into `target`, which has the same shape; `caller` is for error messages. Releases `source`.
static tsr_status write_into(const char *caller, tsr_tensor *target, tsr_tensor *source) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(caller, target);
  if (status == TSR_OK) {
    status = tsri_tensor_check(caller, source);
    if (status != TSR_OK) tsri_fail_as(caller, status);
  }
  if (status == TSR_OK && !tsri_shape_equal(target->layout.shape, source->layout.shape)) {
    status = TSRI_FAIL(TSR_ERR_SHAPE, "%s: the target is %s, the product is %s", caller,
                       tsr_shape_format(target->layout.shape, a, sizeof a),
                       tsr_shape_format(source->layout.shape, b, sizeof b));
  }
  if (status == TSR_OK) {
    status = tsr_assign(target, source);
    if (status != TSR_OK) tsri_fail_as(caller, status);
  }
  tsr_release(source);
  return status;
}

tsr_status tsr_matmul_into(tsr_tensor *target, tsr_tensor *a, tsr_tensor *b) {
  return write_into("matmul_into", target, tsr_matmul(a, b));
}

tsr_status tsr_gemv_into(tsr_tensor *target, tsr_tensor *a, tsr_tensor *x) {
  return write_into("gemv_into", target, tsr_gemv(a, x));
}
