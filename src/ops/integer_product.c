// SPDX-License-Identifier: MIT
// Products of 8-bit integers with zero points: matmul_integer by a kernel with sums in i32 (kernels/op_integer.tk); conv_integer and qlinear_matmul are
// composed of other operators.
#include "core/alloc.h"
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/matmul_i8.h"
#include "ops/operators.h"
#include "ops/product.h"
#include "ops/promote.h"

#include <tessera/ops.h>

enum { SIDE = 64 };  // rows and columns of a tile of the result, as in the kernel

// --- matmul_integer --------------------------------------------------------------------------------------------------

// Binds the zero points of one factor. If there are none, binds `filler`, which the kernel does not read.
static void pass_zeros(const tsri_kernel_run *run, int input, tsr_buffer *filler, const char *name, const char *at,
                       const char *step, tsri_call *call) {
  bool is_there = input > 0;
  tsri_call_buffer(call, name, is_there ? run->inputs[input] : filler, TSR_I32);
  tsri_call_word(call, at, is_there ? run->layouts[input].offset : 0);
  tsri_call_word(call, step, is_there && run->layouts[input].count > 1 ? 1 : 0);
}

static tsr_status launch(const tsri_kernel_run *run, int64_t batch, tsr_buffer *filler) {
  const tsri_integer_attributes *given = TSRI_GIVEN(run->node, integer);
  const tsri_layout *a = &run->layouts[0], *b = &run->layouts[1];
  int64_t m = a->shape.dims[1], k = a->shape.dims[2], n = b->shape.dims[2];
  bool has_a = given->has_a != 0, has_b = given->has_b != 0;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_integer", "integer_product",
                 TSRI_WITH(TSRI_TYPE("TA", run->input_dtypes[0]), TSRI_TYPE("TB", run->input_dtypes[1]),
                           TSRI_CONSTANT("ZA", has_a), TSRI_CONSTANT("ZB", has_b)));
  tsri_call_buffer(&call, "a", a->count > 0 ? run->inputs[0] : filler, run->input_dtypes[0]);
  tsri_call_buffer(&call, "b", b->count > 0 ? run->inputs[1] : filler, run->input_dtypes[1]);
  pass_zeros(run, has_a ? 2 : 0, filler, "za", "za_at", "za_step", &call);
  pass_zeros(run, has_b ? 2 + has_a : 0, filler, "zb", "zb_at", "zb_step", &call);
  tsri_call_buffer(&call, "y", run->output, TSR_I32);
  tsri_call_word(&call, "m", m);
  tsri_call_word(&call, "n", n);
  tsri_call_word(&call, "k", k);
  tsri_call_word(&call, "a_at", a->offset);
  tsri_call_word(&call, "a_batch", a->strides[0]);
  tsri_call_word(&call, "a_row", a->strides[1]);
  tsri_call_word(&call, "a_col", a->strides[2]);
  tsri_call_word(&call, "b_at", b->offset);
  tsri_call_word(&call, "b_batch", b->strides[0]);
  tsri_call_word(&call, "b_row", b->strides[1]);
  tsri_call_word(&call, "b_col", b->strides[2]);
  return tsri_call_many_groups(&call, batch * ((m + SIDE - 1) / SIDE) * ((n + SIDE - 1) / SIDE));
}

// The product of i8 without zero points, by a native operator. TSR_ERR_UNSUPPORTED, without a message: other dtypes, zero points, or the device has no such
// operator.
static tsr_status run_natively(const tsri_kernel_run *run) {
  const tsri_layout *layouts[2] = {&run->layouts[0], &run->layouts[1]};
  tsri_native_op op;
  if (run->input_count > 2 || run->input_dtypes[0] != TSR_I8 || run->input_dtypes[1] != TSR_I8 ||
      !tsri_product_describe(TSR_I8, run->shape, layouts, 2, 1, 0, &op)) {
    return TSR_ERR_UNSUPPORTED;
  }
  return tsri_matmul_i8_sums(run, op, run->output);
}

// Inputs: a, [batch, m, k], and b, [batch, k, n], then the zero points that are given, as contiguous lists of i32.
tsr_status tsri_run_matmul_integer(const tsri_kernel_run *run) {
  tsri_layout result;
  tsr_status status = tsri_layout_init("matmul_integer", run->shape, TSR_I32, &result, NULL);
  if (status != TSR_OK || result.count == 0) return status;
  for (int i = 0; i < 2 && status == TSR_OK; i++) status = tsri_call_check("matmul_integer", &run->layouts[i]);
  if (status == TSR_OK) status = tsri_call_check("matmul_integer", &result);
  if (status == TSR_OK) status = run_natively(run);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  tsr_buffer *filler = NULL;
  status = tsri_call_scratch(run->device, 4, TSR_I32, &filler);
  if (status == TSR_OK) status = launch(run, run->shape.dims[0], filler);
  tsr_buffer_release(filler);
  return status;
}

static bool is_byte(tsr_dtype dtype) { return dtype == TSR_I8 || dtype == TSR_U8; }

static tsr_status check_bytes(const char *caller, const char *name, const tsr_tensor *x) {
  tsr_status status = tsri_tensor_check(caller, x);
  if (status != TSR_OK || is_byte(x->dtype)) return status;
  return TSRI_FAIL(TSR_ERR_DTYPE, "%s: %s is i8 or u8, not %s", caller, name, tsr_dtype_name(x->dtype));
}

// Checks a zero point: one number, or a list of `count`. NULL: none.
static tsr_status check_zeros(const char *caller, const char *name, const tsr_tensor *zeros, int64_t count) {
  if (!zeros) return TSR_OK;
  tsr_status status = tsri_tensor_check(caller, zeros);
  if (status != TSR_OK) return status;
  char text[TSR_SHAPE_TEXT_BYTES];
  if (zeros->dtype == TSR_BOOL || tsri_dtype_is_float(zeros->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: %s is of whole numbers, not %s", caller, name, tsr_dtype_name(zeros->dtype));
  }
  tsr_shape shape = zeros->layout.shape;
  if (shape.rank == 0 || (shape.rank == 1 && (shape.dims[0] == 1 || shape.dims[0] == count))) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %s is %s; it is one number or %lld", caller, name,
                   tsr_shape_format(shape, text, sizeof text), (long long)count);
}

// Gives the result's shape. `*out_batch` is the shape of its batch axes, and `*out_count` the product of their sizes.
static tsr_status product_shape(tsr_shape a, tsr_shape b, tsr_shape *out_batch, int64_t *out_count) {
  char left[TSR_SHAPE_TEXT_BYTES], right[TSR_SHAPE_TEXT_BYTES];
  if (a.rank < 2 || b.rank < 2 || a.dims[a.rank - 1] != b.dims[b.rank - 2]) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "matmul_integer: a is %s, b is %s; they are matrices whose inner sizes agree",
                     tsr_shape_format(a, left, sizeof left), tsr_shape_format(b, right, sizeof right));
  }
  a.rank -= 2;
  b.rank -= 2;
  tsr_status status = tsri_shape_broadcast("matmul_integer", a, b, out_batch);
  return status == TSR_OK ? tsri_shape_check("matmul_integer", *out_batch, out_count) : status;
}

// x broadcast to the batch shape and reshaped to [count, rows, columns].
static tsr_tensor *as_batch(tsr_tensor *x, tsr_shape batch, int64_t count) {
  tsr_shape shape = x->layout.shape, full = batch;
  int64_t rows = shape.dims[shape.rank - 2], columns = shape.dims[shape.rank - 1];
  full.dims[full.rank++] = rows;
  full.dims[full.rank++] = columns;
  tsr_tensor *expanded = tsr_expand(x, full);
  return tsri_then(tsr_reshape(expanded, TSR_SHAPE(count, rows, columns)), expanded);
}

static tsr_tensor *zero_list(tsr_tensor *zeros) {
  tsr_tensor *cast = tsr_cast(zeros, TSR_I32);
  return tsri_then(tsr_contiguous(cast), cast);
}

static tsr_tensor *record(tsr_tensor *const *inputs, int count, bool has_a, bool has_b) {
  const tsri_op *op = TSRI_BODY(matmul_integer);
  tsr_device *device = NULL;
  tsr_status status = TSR_OK;
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(op->name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, count, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape a = inputs[0]->layout.shape, b = inputs[1]->layout.shape;
  tsr_shape shape = TSR_SHAPE(a.dims[0], a.dims[1], b.dims[2]);
  status = tsri_shape_check(op->name, shape, &(int64_t){0});
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(op, device, TSR_I32, shape, inputs, count,
                            TSRI_GIVE(op, integer, .has_a = has_a, .has_b = has_b));
}

tsr_tensor *tsr_matmul_integer(tsr_tensor *a, tsr_tensor *b, tsr_tensor *a_zero_point, tsr_tensor *b_zero_point) {
  const char *name = "matmul_integer";
  tsr_shape batch = {0};
  int64_t count = 0;
  tsr_status status = check_bytes(name, "a", a);
  if (status == TSR_OK) status = check_bytes(name, "b", b);
  if (status == TSR_OK) status = product_shape(a->layout.shape, b->layout.shape, &batch, &count);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  int64_t m = a->layout.shape.dims[a->layout.shape.rank - 2], n = b->layout.shape.dims[b->layout.shape.rank - 1];
  status = check_zeros(name, "the zero point of a", a_zero_point, m);
  if (status == TSR_OK) status = check_zeros(name, "the zero point of b", b_zero_point, n);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *inputs[4] = {as_batch(a, batch, count), as_batch(b, batch, count)};
  int used = 2;
  if (a_zero_point) inputs[used++] = zero_list(a_zero_point);
  if (b_zero_point) inputs[used++] = zero_list(b_zero_point);
  tsr_tensor *product = record(inputs, used, a_zero_point != NULL, b_zero_point != NULL);
  tsri_release_all(inputs, used);
  batch.dims[batch.rank++] = m;
  batch.dims[batch.rank++] = n;
  return tsri_tensor_named(name, tsri_then(tsr_reshape(product, batch), product));
}

// --- conv_integer ----------------------------------------------------------------------------------------------------

// x as i32, minus its zero points. If there are several, they belong to the channels, axis 0.
static tsr_tensor *centred(tsr_tensor *x, tsr_tensor *zeros) {
  tsr_tensor *wide = tsr_cast(x, TSR_I32);
  if (!zeros) return wide;
  tsr_shape shape = {.rank = x->layout.shape.rank};
  for (int i = 0; i < shape.rank; i++) shape.dims[i] = i == 0 ? zeros->layout.count : 1;
  tsr_tensor *cast = tsr_cast(zeros, TSR_I32), *spread = tsri_then(tsr_reshape(cast, shape), cast);
  return tsri_then(tsri_then(tsr_sub(wide, spread), spread), wide);
}

tsr_tensor *tsr_conv_integer(tsr_tensor *x, tsr_tensor *weight, tsr_tensor *x_zero_point, tsr_tensor *weight_zero_point,
                             const tsr_conv_desc *desc) {
  const char *name = "conv_integer";
  tsr_status status = check_bytes(name, "x", x);
  if (status == TSR_OK) status = check_bytes(name, "the weight", weight);
  if (status == TSR_OK) status = check_zeros(name, "the zero point of x", x_zero_point, 1);
  int64_t channels = status == TSR_OK && weight->layout.shape.rank > 0 ? weight->layout.shape.dims[0] : 1;
  if (status == TSR_OK) status = check_zeros(name, "the zero point of the weight", weight_zero_point, channels);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_tensor *a = centred(x, x_zero_point), *b = centred(weight, weight_zero_point);
  return tsri_tensor_named(name, tsri_then(tsri_then(tsr_conv(a, b, NULL, desc), b), a));
}

// --- qlinear_matmul --------------------------------------------------------------------------------------------------

// Reshapes a scale to broadcast: a list of column scales stays a list, a list of row scales becomes a column; a single number stays.
static tsr_tensor *scale_of(tsr_tensor *scale, bool is_of_rows) {
  tsr_tensor *cast = tsr_cast(scale, TSR_F32);
  if (!is_of_rows || scale->layout.shape.rank != 1) return cast;
  return tsri_then(tsr_unsqueeze(cast, 1), cast);
}

static tsr_status check_scale(const char *what, const tsr_tensor *scale, int64_t count) {
  char text[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check("qlinear_matmul", scale);
  if (status != TSR_OK) return status;
  if (!tsri_dtype_is_float(scale->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "qlinear_matmul: the scale of %s is a float, not %s", what,
                     tsr_dtype_name(scale->dtype));
  }
  tsr_shape shape = scale->layout.shape;
  if (shape.rank == 0 || (shape.rank == 1 && (shape.dims[0] == 1 || shape.dims[0] == count))) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "qlinear_matmul: the scale of %s is %s; it is one number or %lld", what,
                   tsr_shape_format(shape, text, sizeof text), (long long)count);
}

tsr_tensor *tsr_qlinear_matmul(tsr_tensor *a, tsr_tensor *a_scale, tsr_tensor *a_zero_point, tsr_tensor *b,
                               tsr_tensor *b_scale, tsr_tensor *b_zero_point, tsr_tensor *y_scale,
                               tsr_tensor *y_zero_point) {
  const char *name = "qlinear_matmul";
  tsr_status status = check_bytes(name, "the zero point of the result", y_zero_point);
  tsr_tensor *product = status == TSR_OK ? tsr_matmul_integer(a, b, a_zero_point, b_zero_point) : NULL;
  if (status == TSR_OK) status = tsri_tensor_check(name, product);
  if (status == TSR_OK) status = check_scale("a", a_scale, a->layout.shape.dims[a->layout.shape.rank - 2]);
  if (status == TSR_OK) status = check_scale("b", b_scale, b->layout.shape.dims[b->layout.shape.rank - 1]);
  if (status == TSR_OK) status = check_scale("the result", y_scale, 1);
  if (status != TSR_OK) {
    tsr_release(product);
    return tsri_tensor_named(name, tsri_tensor_fail(status));
  }
  tsr_tensor *left = scale_of(a_scale, true), *right = scale_of(b_scale, false), *wide = tsr_cast(product, TSR_F32);
  tsr_tensor *rows = tsri_then(tsri_then(tsr_mul(wide, left), left), wide);
  tsr_tensor *real = tsri_then(tsri_then(tsr_mul(rows, right), right), rows);
  tsr_tensor *result = tsr_quantize_linear(real, y_scale, y_zero_point, 0, y_zero_point->dtype);
  return tsri_tensor_named(name, tsri_then(tsri_then(result, real), product));
}
