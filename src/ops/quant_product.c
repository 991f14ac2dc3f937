// SPDX-License-Identifier: MIT
// Products with quantised weights by the kernels of kernels/op_quant.tk, which decode weights as they are used. Products of many rows use a decoded copy
// (quant_expand.c).
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/quant.h"
#include "ops/quant_row.h"
#include "ops/quant_units.h"

#include <tessera/ops.h>

// The kernel product_rows multiplies up to FEW_ROWS rows of x by one or two rows of weights in each work-group, whose items share the blocks. Products with
// many rows do not come here (quant_expand.c).
enum { FEW_ROWS = 4, LARGE_SIDE = 128 };

typedef struct product {
  const tsri_quant_format *format;
  int64_t id, m, n, k;
  tsr_dtype carrier;  // of the weights
  bool is_wide;       // whether x can be read in quads
} product;

static product product_of(const tsri_kernel_run *run) {
  const tsri_layout *x = &run->layouts[0], *w = &run->layouts[1];
  product p = {.id = TSRI_GIVEN(run->node, quant)->format};
  p.format = &tsri_quant_formats[p.id];
  p.n = w->shape.dims[0];
  p.k = x->shape.dims[x->shape.rank - 1];
  p.m = 1;
  for (int i = 0; i < x->shape.rank - 1; i++) p.m *= x->shape.dims[i];
  p.carrier = tsri_quant_carrier(w);
  p.is_wide = x->offset % 4 == 0;
  return p;
}

// The native operator reads x and the weights in the form that the kernels read.
bool tsri_quant_describe(tsr_dtype dtype, int64_t m, int64_t n, int64_t k, int64_t format, tsri_native_op *out_op) {
  enum { PIECE = 32 };  // elements that native products decode at a time
  if (m == 0 || n == 0 || k == 0 || k % PIECE != 0) return false;
  *out_op =
      (tsri_native_op){.kind = TSRI_NATIVE_PRODUCT, .dtype = dtype, .result = dtype, .parts = TSRI_PRODUCT_QUANTISED};
  tsri_product_op *p = &out_op->is.product;
  *p = (tsri_product_op){.m = m, .n = n, .k = k, .alpha = 1, .b_format = (int)format};
  p->a.row = m > 1 ? k : 0;
  p->a.column = k > 1 ? 1 : 0;
  return true;
}

bool tsri_describe_quant_product(const tsri_node *node, tsri_native_op *out_op) {
  const tsri_layout *x = &node->inputs[0].layout, *w = &node->inputs[1].layout;
  int64_t k = x->shape.dims[x->shape.rank - 1], n = w->shape.dims[0];
  if (node->count == 0 || node->inputs[0].dtype != node->dtype ||
      !tsri_quant_describe(node->dtype, node->count / n, n, k, TSRI_GIVEN(node, quant)->format, out_op))
    return false;
  out_op->is.product.a.at.offset = (size_t)x->offset * tsr_dtype_bytes(out_op->dtype);
  out_op->is.product.b.at.offset = (size_t)w->offset;
  return true;
}

// Starts the call of a kernel. `shape`: the compile-time parameters that only this kernel has; `filler` is bound for inputs without elements (k is 0).
static void start(const tsri_kernel_run *run, const product *p, const char *kernel, const tsri_lang_arg shape[2],
                  tsr_buffer *filler, tsri_call *call) {
  tsr_dtype dtype = run->input_dtypes[0];
  tsri_lang_arg args[] = {TSRI_TYPE("W", p->carrier),
                          TSRI_TYPE("T", dtype),
                          TSRI_TYPE("A", dtype == TSR_F64 ? TSR_F64 : TSR_F32),
                          TSRI_TYPE("Y", run->dtype),
                          TSRI_CONSTANT("FORMAT", p->id),
                          TSRI_CONSTANT("BLOCK", p->format->block),
                          TSRI_CONSTANT("HALVES", p->format->bytes / 2),
                          TSRI_CONSTANT("GAP", p->format->gap),
                          TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma),
                          TSRI_CONSTANT("WIDE", p->is_wide),
                          shape[0],
                          shape[1]};
  tsri_call_init_hooked(call, run, "op_quant", kernel, args, sizeof args / sizeof args[0]);
  tsri_call_buffer(call, "w", p->k > 0 ? run->inputs[1] : filler, p->carrier);
  tsri_call_buffer(call, "x", p->k > 0 ? run->inputs[0] : filler, dtype);
  tsri_call_buffer(call, "y", run->output, run->dtype);
  tsri_call_word(call, "m", p->m);
  tsri_call_word(call, "n", p->n);
  tsri_call_word(call, "k", p->k);
  tsri_call_word(call, "w_at", run->layouts[1].offset / 2);
  tsri_call_word(call, "x_at", run->layouts[0].offset);
  tsri_call_word(call, "exponent", TSRI_QUANT_EXPONENT);
}

static tsr_status launch(const tsri_kernel_run *run, const product *p, tsr_buffer *filler) {
  if (p->k > 0) {
    tsr_status status = p->m == 1 ? tsri_quant_row(run) : TSR_ERR_UNSUPPORTED;
    if (status == TSR_ERR_UNSUPPORTED) status = tsri_quant_units(run);
    if (status != TSR_ERR_UNSUPPORTED) return status;
  }
  // Whether the device's tuning has large tiles for matrix products (a large GPU).
  bool is_large = TSRI_TUNED(tsri_tuning_of(run->device), matmul_m) >= LARGE_SIDE;
  int64_t rows = p->m >= FEW_ROWS ? FEW_ROWS : p->m > 1 ? 2 : 1, columns = is_large ? 2 : 1;
  tsri_lang_arg shape[2] = {TSRI_CONSTANT("ROWS", rows), TSRI_CONSTANT("COLS", columns)};
  tsri_call call;
  start(run, p, "product_rows", shape, filler, &call);
  return tsri_call_many_groups(&call, (p->m + rows - 1) / rows * ((p->n + columns - 1) / columns));
}

// Inputs: x, row-major, and the weights as tsri_quant_packed returns them.
tsr_status tsri_run_quant_product(const tsri_kernel_run *run) {
  tsri_layout result;
  tsr_status status = tsri_layout_init("matmul_quantized", run->shape, run->dtype, &result, NULL);
  if (status != TSR_OK || result.count == 0) return status;
  for (int i = 0; i < 2 && status == TSR_OK; i++) status = tsri_call_check("matmul_quantized", &run->layouts[i]);
  if (status == TSR_OK) status = tsri_call_check("matmul_quantized", &result);
  if (status != TSR_OK) return status;
  product p = product_of(run);
  tsr_buffer *filler = NULL;
  if (p.k == 0) status = tsri_call_scratch(run->device, 4, run->input_dtypes[0], &filler);
  if (status == TSR_OK) status = launch(run, &p, filler);
  tsr_buffer_release(filler);
  return status;
}

static tsr_status check_weights(const tsr_tensor *x, const tsr_tensor *w, const tsri_quant_format *format) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  int64_t k = 0;
  tsr_status status = tsri_quant_check_bytes("matmul_quantized", w, format, &k);
  if (status != TSR_OK) return status;
  tsr_shape rows = x->layout.shape;
  if (w->layout.shape.rank == 2 && rows.rank > 0 && rows.dims[rows.rank - 1] == k) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE,
                   "matmul_quantized: x is %s, w is %s bytes of %s, which are rows of %lld elements; x is […, k], w "
                   "[n, bytes of k elements]",
                   tsr_shape_format(rows, a, sizeof a), tsr_shape_format(w->layout.shape, b, sizeof b), format->name,
                   (long long)k);
}

// Records the product of inputs that a kernel can read; the result has the dtype `dtype`.
static tsr_tensor *record(tsr_tensor *x, tsr_tensor *w, int64_t format, tsr_dtype dtype) {
  const tsri_op *op = TSRI_BODY(matmul_quantized);
  tsr_device *device = NULL;
  tsr_tensor *inputs[2] = {x, w};
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_tensor_check(op->name, w);
  if (status == TSR_OK) status = tsri_record_device(op->name, inputs, 2, &device);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (tsri_quant_is_expanded(device, x, w->layout.shape.dims[0], format)) return tsri_quant_expanded(x, w, format);
  tsr_shape shape = x->layout.shape;
  shape.dims[shape.rank - 1] = w->layout.shape.dims[0];
  status = tsri_shape_check(op->name, shape, &(int64_t){0});
  if (status != TSR_OK) return tsri_tensor_fail(status);
  return tsri_record_kernel(op, device, dtype, shape, inputs, 2, TSRI_GIVE(op, quant, .format = format));
}

tsr_tensor *tsr_matmul_quantized(tsr_tensor *x, tsr_tensor *w, tsr_quant_format format) {
  const char *name = "matmul_quantized";
  const tsri_quant_format *known = NULL;
  tsr_status status = tsri_tensor_check(name, x);
  if (status == TSR_OK) status = tsri_tensor_check(name, w);
  if (status == TSR_OK) status = tsri_quant_find(name, format, &known);
  if (status == TSR_OK) status = check_weights(x, w, known);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(x->dtype);
  tsr_tensor *cast = tsr_cast(x, dtype), *rows = tsri_then(tsr_contiguous(cast), cast);
  tsr_tensor *bytes = tsri_quant_packed(name, w);
  return tsri_tensor_named(name, tsri_then(tsri_then(record(rows, bytes, (int64_t)format, dtype), bytes), rows));
}

// --- i8 with a scale for each channel --------------------------------------------------------------------------------

static tsr_status check_channels(const tsr_tensor *x, const tsr_tensor *w, const tsr_tensor *scale) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES], c[TSR_SHAPE_TEXT_BYTES];
  if (w->dtype != TSR_I8 || !tsri_dtype_is_float(scale->dtype)) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "matmul_channels: w is i8 and the scale a float, not %s and %s",
                     tsr_dtype_name(w->dtype), tsr_dtype_name(scale->dtype));
  }
  tsr_shape rows = x->layout.shape, shape = w->layout.shape;
  bool fits = rows.rank > 0 && shape.rank == 2 && rows.dims[rows.rank - 1] == shape.dims[1];
  if (fits && scale->layout.shape.rank == 1 && scale->layout.shape.dims[0] == shape.dims[0]) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "matmul_channels: x is %s, w is %s, the scale is %s; they are […, k], [n, k] and [n]",
                   tsr_shape_format(rows, a, sizeof a), tsr_shape_format(shape, b, sizeof b),
                   tsr_shape_format(scale->layout.shape, c, sizeof c));
}

// x with zeros appended along its last axis, so that its size is a multiple of a unit.
static tsr_tensor *whole_units(tsr_tensor *x) {
  if (tsr_error(x) != TSR_OK) return tsr_contiguous(x);
  int64_t before[TSR_MAX_RANK] = {0}, after[TSR_MAX_RANK] = {0};
  int rank = x->layout.shape.rank, unit = tsri_quant_formats[TSRI_QUANT_I8].block;
  after[rank - 1] = (unit - x->layout.shape.dims[rank - 1] % unit) % unit;
  return after[rank - 1] > 0 ? tsr_pad(x, before, after, rank, 0) : tsr_contiguous(x);
}

static bool has_units_for(const tsr_tensor *x, const tsr_tensor *w, tsr_dtype dtype) {
  int64_t n = w->layout.shape.dims[0], k = w->layout.shape.dims[1];
  return k > 0 && tsri_quant_has_units(x->value->device, dtype, x->layout.count / k, n, k, TSRI_QUANT_I8);
}

tsr_tensor *tsr_matmul_channels(tsr_tensor *x, tsr_tensor *w, tsr_tensor *scale) {
  const char *name = "matmul_channels";
  tsr_tensor *const inputs[] = {x, w, scale};
  tsr_status status = TSR_OK;
  for (int i = 0; i < 3 && status == TSR_OK; i++) status = tsri_tensor_check(name, inputs[i]);
  if (status == TSR_OK) status = check_channels(x, w, scale);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(x->dtype), wide = dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  // For matrix units x keeps its dtype, in which i8 weights are exact.
  tsr_tensor *cast = tsr_cast(x, has_units_for(x, w, dtype) ? dtype : wide), *rows = tsri_then(whole_units(cast), cast);
  tsr_tensor *padded = whole_units(w), *bytes = tsri_then(tsr_bit_cast(padded, TSR_U8), padded);
  status = tsri_tensor_check(name, bytes);
  tsr_tensor *packed = status == TSR_OK ? tsri_quant_packed(name, bytes) : tsri_tensor_fail(status);
  tsr_tensor *sums = tsri_then(tsri_then(tsri_then(record(rows, packed, TSRI_QUANT_I8, wide), packed), bytes), rows);
  tsr_tensor *factors = tsr_cast(scale, wide), *scaled = tsri_then(tsri_then(tsr_mul(sums, factors), factors), sums);
  return tsri_tensor_named(name, tsri_then(tsr_cast(scaled, dtype), scaled));
}

tsr_tensor *tsri_matmul_i8_bytes(tsr_tensor *x, tsr_tensor *w) {
  const char *name = "matmul_quantized";
  tsr_status status = tsri_tensor_check(name, x);
  if (status == TSR_OK) status = tsri_tensor_check(name, w);
  if (status == TSR_OK && !tsri_dtype_is_float(x->dtype))
    status = TSRI_FAIL(TSR_ERR_DTYPE, "%s: x is %s, no float", name, tsr_dtype_name(x->dtype));
  if (status == TSR_OK) status = check_weights(x, w, &tsri_quant_formats[TSRI_QUANT_I8]);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_dtype dtype = tsri_promote_float(x->dtype), wide = dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  tsr_tensor *cast = tsr_cast(x, has_units_for(x, w, dtype) ? dtype : wide),
             *rows = tsri_then(tsr_contiguous(cast), cast);
  tsr_tensor *packed = tsri_quant_packed(name, w);
  return tsri_then(tsri_then(record(rows, packed, TSRI_QUANT_I8, wide), packed), rows);
}
