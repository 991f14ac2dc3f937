// SPDX-License-Identifier: MIT
// Products of f8: converts both matrices to f16, multiplies with an f32 result, and rounds that to f8.
#include "ops/matmul_f8.h"

#include "ops/call.h"
#include "runtime/native_op.h"

enum { PRODUCT, A, B, BUFFERS };

bool tsri_product_f8_wide(tsri_native_op *op) {
  enum { LEAST_SIDE = 32 };  // each converted element is used at least this often
  const tsri_product_op *p = &op->is.product;
  if (op->parts || p->m < LEAST_SIDE || p->n < LEAST_SIDE) return false;
  op->dtype = TSR_F16;
  op->result = TSR_F32;
  return true;
}

static tsr_status convert(tsr_device *device, tsr_buffer *from, tsr_dtype from_dtype, int64_t first, int64_t count,
                          tsr_buffer *to, tsr_dtype to_dtype) {
  tsri_call call;
  tsri_call_init(&call, device, "op_matmul", "convert",
                 TSRI_WITH(TSRI_TYPE("T", from_dtype), TSRI_TYPE("R", to_dtype), TSRI_CONSTANT("WG", 256)));
  tsri_call_buffer(&call, "x", from, from_dtype);
  tsri_call_buffer(&call, "y", to, to_dtype);
  tsri_call_word(&call, "first", first);
  tsri_call_word(&call, "count", count);
  return tsri_call_items(&call, count);
}

// Converts an input's elements from the first to the last that the matrix uses, so that its strides remain valid.
static tsr_status bring(const tsri_kernel_run *run, int input, tsri_matrix *matrix, tsr_buffer **out_buffer) {
  const tsri_layout *layout = &run->layouts[input];
  int64_t low = 0, high = 0;
  tsri_layout_span(layout, &low, &high);
  int64_t count = high - low + 1;
  if (count > 2 * layout->count) return TSR_ERR_UNSUPPORTED;  // a view with gaps
  tsr_status status = tsri_call_scratch(run->device, count, TSR_F16, out_buffer);
  if (status == TSR_ERR_OUT_OF_MEMORY) return TSR_ERR_UNSUPPORTED;  // fall back to the kernel, which needs no memory
  if (status == TSR_OK) {
    status = convert(run->device, run->inputs[input], run->dtype, low, count, *out_buffer, TSR_F16);
  }
  matrix->at.offset = (size_t)(layout->offset - low) * tsr_dtype_bytes(TSR_F16);
  tsri_place_bind(&matrix->at, *out_buffer);
  return status;
}

static tsr_status multiply(const tsri_kernel_run *run, tsri_native_op *op, tsr_buffer **buffers) {
  tsri_product_op *p = &op->is.product;
  int64_t count = (int64_t)(tsr_buffer_bytes(run->output) / tsr_dtype_bytes(run->dtype));
  tsr_status status = tsri_call_scratch(run->device, count, TSR_F32, &buffers[PRODUCT]);
  if (status == TSR_ERR_OUT_OF_MEMORY) return TSR_ERR_UNSUPPORTED;
  if (status == TSR_OK) status = bring(run, 0, &p->a, &buffers[A]);
  if (status == TSR_OK) status = bring(run, 1, &p->b, &buffers[B]);
  if (status != TSR_OK) return status;
  tsri_place_bind(&p->y, buffers[PRODUCT]);
  status = tsri_device_run_op(run->device, op, buffers, BUFFERS);
  return status == TSR_OK ? convert(run->device, buffers[PRODUCT], TSR_F32, 0, count, run->output, run->dtype) : status;
}

tsr_status tsri_matmul_f8(const tsri_kernel_run *run, tsri_native_op product) {
  if (!tsri_product_f8_wide(&product) || !tsri_device_takes(run->device, &product)) return TSR_ERR_UNSUPPORTED;
  tsr_buffer *buffers[BUFFERS] = {NULL};
  tsr_status status = multiply(run, &product, buffers);
  for (int i = 0; i < BUFFERS; i++) tsr_buffer_release(buffers[i]);
  return status;
}
