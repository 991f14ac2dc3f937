// SPDX-License-Identifier: MIT
// Native operators: matrix products, by cuBLASLt, in the layouts that it can read without a copy.
//
// cuBLASLt counts column by column and our results lie row by row, so it computes the transposed product: what is its
// first matrix is our second. With y = x w (x: m x k, w: k x n) it is given y' = w' x', n x m.
#include <string.h>

#include "backends/cuda/blas.h"

// Multiplications below which the portable kernels are as fast, and opening cuBLASLt would take longer than the product.
enum { LEAST_WORK = 1 << 18 };

// --- Layouts ----------------------------------------------------------------------------------------------------------

typedef struct strides {
  int64_t row, col;
} strides;

static strides strides_of(const tsri_operand *operand) {
  return (strides){operand->strides[operand->shape.rank - 2], operand->strides[operand->shape.rank - 1]};
}

// A matrix of rows x cols whose elements are `row` and `col` apart, as stored columns or, turned, as stored rows. False if it
// is neither.
static bool matrix_of(int64_t rows, int64_t cols, int64_t row, int64_t col, bool may_turn, cuda_matrix *out) {
  if (row == 1 || rows == 1) {
    *out = (cuda_matrix){.rows = rows, .cols = cols, .leading = cols == 1 ? rows : col};
    if (out->leading >= rows) return true;
  }
  if (!may_turn || (col != 1 && cols != 1)) return false;
  *out = (cuda_matrix){.rows = cols, .cols = rows, .leading = rows == 1 ? cols : row, .is_transposed = 1};
  return out->leading >= cols;
}

static int64_t batch_stride_at(const tsri_operand *operand, const tsri_operand *output, int axis) {
  int at = axis - (output->shape.rank - operand->shape.rank);
  return at < 0 || operand->shape.dims[at] == 1 ? 0 : operand->strides[at];
}

// All batch axes as one. False if they do not lie so.
static bool join_batch(const tsri_operand *const *operands, int count, const tsri_operand *output, int64_t *out_batch,
                       int64_t *out_strides) {
  *out_batch = 1;
  for (int i = 0; i < count; i++) out_strides[i] = 0;
  for (int axis = 0; axis < output->shape.rank - 2; axis++) {
    int64_t size = output->shape.dims[axis];
    if (size == 1) continue;
    for (int i = 0; i < count; i++) {
      int64_t stride = batch_stride_at(operands[i], output, axis);
      if (*out_batch > 1 && out_strides[i] != size * stride) return false;
      out_strides[i] = stride;
    }
    *out_batch *= size;
  }
  return true;
}

// --- Describing a product -----------------------------------------------------------------------------------------------

// Floats of one dtype, or a plain product of i8 with a result of i32.
static bool has_good_dtypes(const tsri_native_op *op) {
  tsr_dtype dtype = op->inputs[0].dtype;
  bool is_float = dtype == TSR_F64 || dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
  bool is_whole = dtype == TSR_I8 && op->output.dtype == TSR_I32 && strcmp(op->name, "matmul") == 0;
  for (int i = 0; i < op->input_count; i++) {
    if (op->inputs[i].dtype != dtype) return false;
  }
  return is_whole || (is_float && op->output.dtype == dtype);
}

static uint32_t alignment_of(const tsri_operand *operand) {
  enum { MOST = 256 };
  cu_address address = (operand->buffer ? cuda_address_of(operand->buffer, 0) : 0) + operand->offset;
  uint32_t alignment = MOST;
  while (address % alignment != 0) alignment /= 2;
  return alignment;
}

static bool is_row_major(const tsri_operand *operand) {
  int64_t step = 1;
  for (int axis = operand->shape.rank - 1; axis >= 0; axis--) {
    if (operand->shape.dims[axis] != 1 && operand->strides[axis] != step) return false;
    step *= operand->shape.dims[axis];
  }
  return true;
}

static bool is_bias(const tsri_operand *bias, int64_t n) {
  return bias->shape.rank == 1 && bias->shape.dims[0] == n && (n == 1 || bias->strides[0] == 1);
}

// A matrix that lies along k, times a vector, is bound by memory: 14336 x 4096 take cuBLASLt 64 us in f32 on an H200, and 31.8
// in bf16; the portable kernel takes 56 and 30.6.
static bool is_for_kernels(int64_t m, int64_t n, strides a, strides b) {
  return (n == 1 && a.col == 1) || (m == 1 && b.row == 1);
}

// `bias` and `c` may be NULL.
static bool describe(const tsri_native_op *op, const tsri_operand *c, const tsri_operand *bias, cuda_product *out) {
  const tsri_operand *a = &op->inputs[0], *b = &op->inputs[1], *y = &op->output;
  const tsri_operand *operands[4] = {a, b, y, c};
  int64_t batch_strides[4] = {0};
  if (!has_good_dtypes(op) || a->shape.rank < 2 || b->shape.rank < 2 || y->shape.rank < 2 || !is_row_major(y)) {
    return false;
  }
  memset(out, 0, sizeof *out);
  if (!join_batch(operands, c ? 4 : 3, y, &out->batch, batch_strides) || out->batch > INT32_MAX) return false;
  int64_t m = y->shape.dims[y->shape.rank - 2], n = y->shape.dims[y->shape.rank - 1];
  int64_t k = a->shape.dims[a->shape.rank - 1];
  strides sa = strides_of(a), sb = strides_of(b), sc = c ? strides_of(c) : (strides){0, 0};
  if ((double)out->batch * (double)m * (double)n * (double)k < LEAST_WORK) return false;
  // One matrix for all: the rows of all batches are rows of one product.
  bool is_foldable = batch_strides[1] == 0 && batch_strides[0] == m * sa.row && (!c || batch_strides[3] == m * sc.row);
  if (out->batch > 1 && is_foldable) {
    m *= out->batch;
    out->batch = 1;
  }
  if (is_for_kernels(m, n, sa, sb)) return false;
  if (!matrix_of(n, k, sb.col, sb.row, true, &out->a) || !matrix_of(k, m, sa.col, sa.row, true, &out->b) ||
      !matrix_of(n, m, 1, n, false, &out->d) || (c && !matrix_of(n, m, sc.col, sc.row, false, &out->c))) {
    return false;
  }
  if (bias && !is_bias(bias, n)) return false;
  out->dtype = a->dtype;
  out->a.batch_stride = batch_strides[1];
  out->b.batch_stride = batch_strides[0];
  out->d.batch_stride = batch_strides[2];
  out->c.batch_stride = batch_strides[3];
  out->has_c = c != NULL;
  out->has_bias = bias != NULL;
  out->alignments[0] = alignment_of(b);
  out->alignments[1] = alignment_of(a);
  out->alignments[2] = alignment_of(c ? c : y);
  out->alignments[3] = alignment_of(y);
  return true;
}

// --- Entries --------------------------------------------------------------------------------------------------------------

// Which inputs an operator has beside the two matrices. False: no operator of ours.
static bool parts_of(const tsri_native_op *op, const tsri_operand **out_c, const tsri_operand **out_bias) {
  const tsri_operand *third = op->input_count > 2 ? &op->inputs[2] : NULL;
  *out_c = *out_bias = NULL;
  if (strcmp(op->name, "gemm") == 0) {
    *out_c = third;
    return true;
  }
  if (strcmp(op->name, "linear") == 0) {
    *out_bias = third;
    return op->output.dtype != TSR_F64;  // cuBLASLt adds no bias there
  }
  return strcmp(op->name, "matmul") == 0;
}

static cuda_activation activation_of(const tsri_native_op *op) {
  if (strcmp(op->name, "linear") != 0) return CUDA_NO_ACTIVATION;
  switch (op->activation) {
    case TSRI_ACTIVATION_RELU:
      return CUDA_RELU;
    case TSRI_ACTIVATION_GELU_TANH:
      return CUDA_GELU_TANH;
    default:
      return CUDA_NO_ACTIVATION;
  }
}

bool tsri_cuda_has_op(tsri_device *device, const tsri_native_op *op) {
  const cuda_device *gpu_device = cuda_device_of(device);
  const tsri_operand *c = NULL, *bias = NULL;
  cuda_product product;
  return gpu_device->allows_blas && !gpu_device->blas_has_failed && parts_of(op, &c, &bias) &&
         describe(op, c, bias, &product);
}

static cu_address address_of(const tsri_operand *operand) {
  return operand ? cuda_address_of(operand->buffer, operand->offset) : 0;
}

tsr_status tsri_cuda_run_op(tsri_queue *queue, const tsri_native_op *op) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  const tsri_operand *c = NULL, *bias = NULL;
  cuda_product product;
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  if (!parts_of(op, &c, &bias) || !describe(op, c, bias, &product)) return TSR_ERR_UNSUPPORTED;
  product.activation = activation_of(op);
  bool is_scaled = strcmp(op->name, "gemm") == 0;
  cuda_product_memory memory = {
      .a = address_of(&op->inputs[1]),
      .b = address_of(&op->inputs[0]),
      .c = address_of(c),
      .d = address_of(&op->output),
      .bias = address_of(bias),
      .alpha = is_scaled ? op->alpha : 1,
      .beta = c ? op->beta : 0,
  };
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  status = tsri_cuda_multiply(gpu_queue, &product, &memory);
  tsri_cuda_leave(was_pushed);
  return status;
}
