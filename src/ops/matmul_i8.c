// SPDX-License-Identifier: MIT
// Products of i8 by a native operator: copies matrices that are not contiguous along k, multiplies them with sums in
// i32, and keeps the low bytes.
#include "ops/matmul_i8.h"

#include "graph/strided.h"
#include "ops/call.h"
#include "ops/product.h"
#include "runtime/native_op.h"

enum { SUMS, A, B, BUFFERS };

// The layout of a matrix with its batch. Batch axes along which it is broadcast have size 1.
static tsri_layout layout_of(const tsri_product_op *p, const tsri_matrix *matrix, int64_t rows, int64_t columns) {
  int rank = p->batch_rank;
  tsri_layout layout = {.offset = (int64_t)matrix->at.offset, .count = rows * columns, .shape.rank = rank + 2};
  for (int i = 0; i < rank; i++) {
    layout.shape.dims[i] = matrix->batch[i] ? p->batch_dims[i] : 1;
    layout.strides[i] = matrix->batch[i];
    layout.count *= layout.shape.dims[i];
  }
  layout.shape.dims[rank] = rows;
  layout.shape.dims[rank + 1] = columns;
  layout.strides[rank] = matrix->row;
  layout.strides[rank + 1] = matrix->column;
  return layout;
}

// Returns input 0 or 1 itself, or a copy of it that is contiguous along k.
static tsr_status bring(const tsri_kernel_run *run, int input, const tsri_layout *from, const tsri_layout *to,
                        bool is_copied, tsr_buffer **out_buffer) {
  if (!is_copied) {
    *out_buffer = tsr_buffer_retain(run->inputs[input]);
    return TSR_OK;
  }
  tsri_view view = {.buffer = run->inputs[input], .layout = *from, .dtype = TSR_I8};
  tsr_status status = tsri_call_scratch(run->device, to->count, TSR_I8, out_buffer);
  return status == TSR_OK ? tsri_strided_kernels(&view, *out_buffer, to) : status;
}

static tsr_status take_low_bytes(const tsri_kernel_run *run, tsr_buffer *sums, int64_t count) {
  tsri_call call;
  tsri_call_init(&call, run->device, "op_matmul", "low_bytes", TSRI_WITH(TSRI_CONSTANT("WG", 256)));
  tsri_call_buffer(&call, "sums", sums, TSR_I32);
  tsri_call_buffer(&call, "y", run->output, TSR_I8);
  tsri_call_word(&call, "count", count);
  return tsri_call_items(&call, count / 4);
}

// Computes the i32 sums. `given` describes the matrices as the run's inputs have them, `sums` those after the copies, both contiguous along k.
static tsr_status run_sums(const tsri_kernel_run *run, const tsri_product_op *given, tsri_native_op *sums,
                           unsigned copies, tsr_buffer **buffers) {
  tsri_product_op *p = &sums->is.product;
  tsri_layout from_a = layout_of(p, &given->a, p->m, p->k), to_a = layout_of(p, &p->a, p->m, p->k);
  tsri_layout from_b = layout_of(p, &given->b, p->k, p->n), to_b = layout_of(p, &p->b, p->k, p->n);
  tsr_status status = bring(run, 0, &from_a, &to_a, copies & 1u, &buffers[A]);
  if (status == TSR_OK) status = bring(run, 1, &from_b, &to_b, copies & 2u, &buffers[B]);
  if (status == TSR_ERR_OUT_OF_MEMORY) return TSR_ERR_UNSUPPORTED;  // fall back to the kernel, which needs no memory
  if (status != TSR_OK) return status;
  tsri_place_bind(&p->a.at, buffers[A]);
  tsri_place_bind(&p->b.at, buffers[B]);
  tsri_place_bind(&p->y, buffers[SUMS]);
  return tsri_device_run_op(run->device, sums, buffers, BUFFERS);
}

tsr_status tsri_matmul_i8_sums(const tsri_kernel_run *run, tsri_native_op product, tsr_buffer *sums) {
  const tsri_product_op given = product.is.product;
  unsigned copies = 0;
  if (!tsri_product_i8_sums(&product, &copies) || !tsri_device_takes(run->device, &product)) {
    return TSR_ERR_UNSUPPORTED;
  }
  tsr_buffer *buffers[BUFFERS] = {[SUMS] = sums};
  tsr_status status = run_sums(run, &given, &product, copies, buffers);
  for (int i = A; i < BUFFERS; i++) tsr_buffer_release(buffers[i]);
  return status;
}

tsr_status tsri_matmul_i8(const tsri_kernel_run *run, tsri_native_op product) {
  int64_t count = (int64_t)tsr_buffer_bytes(run->output);
  tsr_buffer *sums = NULL;
  tsr_status status = tsri_call_scratch(run->device, count, TSR_I32, &sums);
  if (status == TSR_ERR_OUT_OF_MEMORY) return TSR_ERR_UNSUPPORTED;
  if (status == TSR_OK) status = tsri_matmul_i8_sums(run, product, sums);
  if (status == TSR_OK) status = take_low_bytes(run, sums, count);
  tsr_buffer_release(sums);
  return status;
}
