// SPDX-License-Identifier: MIT
// quantize and dequantize: blocks of few bits per element, as in GGUF files. Products with them are in quant_product.c.
#include "ops/quant.h"

#include "core/alloc.h"
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

const tsri_quant_format tsri_quant_formats[TSRI_QUANT_I8 + 1] = {
    [TSR_QUANT_Q8_0] = {"q8_0", 32, 34, 16},   [TSR_QUANT_Q4_0] = {"q4_0", 32, 18, 16},
    [TSR_QUANT_Q4_K] = {"q4_K", 256, 144, 32}, [TSR_QUANT_Q6_K] = {"q6_K", 256, 210, 64},
    [TSRI_QUANT_I8] = {"i8", 8, 8, 4},
};

tsr_status tsri_quant_find(const char *caller, tsr_quant_format format, const tsri_quant_format **out_format) {
  if ((unsigned)format >= TSR_QUANT_FORMAT_COUNT) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "%s: %d is no format; 0 to %d are", caller, (int)format,
                     TSR_QUANT_FORMAT_COUNT - 1);
  }
  *out_format = &tsri_quant_formats[format];
  return TSR_OK;
}

// Gives the number of pieces of `size` on the last axis of a shape. `unit` names the pieces in the error message.
static tsr_status pieces_of(const char *caller, tsr_shape shape, int size, const char *unit,
                            const tsri_quant_format *format, int64_t *out_pieces) {
  char text[TSR_SHAPE_TEXT_BYTES];
  if (shape.rank == 0 || shape.dims[shape.rank - 1] % size != 0) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "%s: x is %s, its last axis is no whole number of %s blocks, which are %d %s",
                     caller, tsr_shape_format(shape, text, sizeof text), format->name, size, unit);
  }
  *out_pieces = shape.dims[shape.rank - 1] / size;
  return TSR_OK;
}

tsr_status tsri_quant_check_bytes(const char *caller, const tsr_tensor *x, const tsri_quant_format *format,
                                  int64_t *out_elements) {
  if (x->dtype != TSR_U8) {
    return TSRI_FAIL(TSR_ERR_DTYPE, "%s: blocks of %s are u8, not %s", caller, format->name, tsr_dtype_name(x->dtype));
  }
  int64_t blocks = 0;
  tsr_status status = pieces_of(caller, x->layout.shape, format->bytes, "bytes", format, &blocks);
  if (status != TSR_OK || tsri_mul_i64(blocks, format->block, out_elements)) return status;
  return TSRI_FAIL(TSR_ERR_SHAPE, "%s: %lld blocks of %d elements are too many", caller, (long long)blocks,
                   format->block);
}

tsr_tensor *tsri_quant_packed(const char *caller, tsr_tensor *x) {
  tsr_tensor *packed = tsr_contiguous(x);
  if (tsri_tensor_check(caller, packed) != TSR_OK || packed->layout.offset % 2 == 0) return packed;
  tsri_layout layout;
  tsr_status status = tsri_layout_init(caller, packed->layout.shape, packed->dtype, &layout, NULL);
  return tsri_then(status == TSR_OK ? tsri_record_copy(packed, &layout) : tsri_tensor_fail(status), packed);
}

tsr_dtype tsri_quant_carrier(const tsri_layout *bytes) {
  return bytes->offset % 4 == 0 && bytes->count % 4 == 0 ? TSR_U32 : TSR_I16;
}

// --- quantize --------------------------------------------------------------------------------------------------------

// Input: x, row-major, of f16, bf16 or f32, with whole blocks on its last axis.
tsr_status tsri_run_quantize(const tsri_kernel_run *run) {
  int64_t id = TSRI_GIVEN(run->node, quant)->format;
  const tsri_quant_format *format = &tsri_quant_formats[id];
  const tsri_layout *x = &run->layouts[0];
  if (x->count == 0) return TSR_OK;
  tsr_status status = tsri_call_check("quantize", x);
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_quant", "quantize",
                 TSRI_WITH(TSRI_TYPE("T", run->input_dtypes[0]), TSRI_CONSTANT("FORMAT", id),
                           TSRI_CONSTANT("BLOCK", format->block), TSRI_CONSTANT("HALVES", format->bytes / 2)));
  tsri_call_buffer(&call, "x", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(&call, "y", run->output, TSR_I16);
  tsri_call_word(&call, "blocks", x->count / format->block);
  tsri_call_word(&call, "x_at", x->offset);
  return tsri_call_items(&call, x->count / format->block);
}

tsr_tensor *tsr_quantize(tsr_tensor *x, tsr_quant_format format) {
  const tsri_op *op = TSRI_BODY(quantize);
  const tsri_quant_format *known = NULL;
  int64_t blocks = 0;
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_quant_find(op->name, format, &known);
  if (status == TSR_OK) status = pieces_of(op->name, x->layout.shape, known->block, "elements", known, &blocks);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape shape = x->layout.shape;
  shape.dims[shape.rank - 1] = blocks * known->bytes;
  bool is_narrow = tsri_dtype_is_narrow(x->dtype);
  tsr_tensor *cast = tsr_cast(x, is_narrow ? x->dtype : TSR_F32), *packed = tsri_then(tsr_contiguous(cast), cast);
  status = tsri_tensor_check(op->name, packed);
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, packed->value->device, TSR_U8, shape, &packed, 1,
                                                             TSRI_GIVE(op, quant, .format = (int64_t)format))
                                        : tsri_tensor_fail(status);
  return tsri_tensor_named(op->name, tsri_then(result, packed));
}

// --- dequantize ------------------------------------------------------------------------------------------------------

// Input: x as tsri_quant_packed returns it.
tsr_status tsri_run_dequantize(const tsri_kernel_run *run) {
  int64_t id = TSRI_GIVEN(run->node, quant)->format;
  const tsri_quant_format *format = &tsri_quant_formats[id];
  const tsri_layout *bytes = &run->layouts[0];
  if (bytes->count == 0) return TSR_OK;
  tsri_layout result;
  tsr_status status = tsri_layout_init("dequantize", run->shape, run->dtype, &result, NULL);
  if (status == TSR_OK) status = tsri_call_check("dequantize", &result);
  if (status != TSR_OK) return status;
  tsr_dtype carrier = tsri_quant_carrier(bytes);
  tsri_call call;
  tsri_call_init(&call, run->device, "op_quant", "dequantize",
                 TSRI_WITH(TSRI_TYPE("W", carrier), TSRI_TYPE("T", run->dtype), TSRI_CONSTANT("FORMAT", id),
                           TSRI_CONSTANT("BLOCK", format->block), TSRI_CONSTANT("HALVES", format->bytes / 2),
                           TSRI_CONSTANT("GAP", format->gap)));
  tsri_call_buffer(&call, "w", run->inputs[0], carrier);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "units", result.count / 8);
  tsri_call_word(&call, "w_at", bytes->offset / 2);
  tsri_call_word(&call, "exponent", TSRI_QUANT_EXPONENT);
  return tsri_call_items(&call, result.count / 8);
}

tsr_tensor *tsr_dequantize(tsr_tensor *x, tsr_quant_format format, tsr_dtype dtype) {
  const tsri_op *op = TSRI_BODY(dequantize);
  const tsri_quant_format *known = NULL;
  int64_t elements = 0;
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_quant_find(op->name, format, &known);
  if (status == TSR_OK) status = tsri_quant_check_bytes(op->name, x, known, &elements);
  if (status == TSR_OK && !tsri_dtype_is_float(dtype)) {
    status = TSRI_FAIL(TSR_ERR_DTYPE, "dequantize: gives floats, not %s", tsr_dtype_name(dtype));
  }
  if (status != TSR_OK) return tsri_tensor_fail(status);
  tsr_shape shape = x->layout.shape;
  shape.dims[shape.rank - 1] = elements;
  tsr_tensor *packed = tsri_quant_packed(op->name, x);
  status = tsri_tensor_check(op->name, packed);
  if (status == TSR_OK) status = tsri_shape_check(op->name, shape, &(int64_t){0});
  tsr_tensor *result = status == TSR_OK ? tsri_record_kernel(op, packed->value->device, dtype, shape, &packed, 1,
                                                             TSRI_GIVE(op, quant, .format = (int64_t)format))
                                        : tsri_tensor_fail(status);
  return tsri_tensor_named(op->name, tsri_then(result, packed));
}
