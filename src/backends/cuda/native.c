// SPDX-License-Identifier: MIT
// Native operators of CUDA, for operands that can be read without a copy: matrix products by cuBLASLt or our own kernels (units.c, halves.c); convolutions and
// attention by cuDNN; attention of f32 by our own kernel (heads.c); joins of many arrays (join.c); and matrix factorisations by cuSOLVER (solver.c).
//
// cuBLASLt is column-major and our results are row-major, so it computes the transposed product with the operands exchanged: for y = x w (x: m x k, w: k x n)
// it computes y' = w' x', which is n x m.
#include <string.h>

#include "backends/cuda/blas.h"
#include "backends/cuda/dnn.h"
#include "backends/cuda/dnn_attention.h"
#include "backends/cuda/halves.h"
#include "backends/cuda/heads.h"
#include "backends/cuda/join.h"
#include "backends/cuda/solver.h"
#include "backends/cuda/units.h"

// With fewer multiplications the portable kernels are as fast, and opening cuBLASLt would take longer than the
// product.
enum { LEAST_WORK = 1 << 18 };

// HALVES, NARROW: the dtypes for which cuBLASLt has a bias and activations, and which cuDNN convolves by matrix units (f32 as TF32). For f64 cuBLASLt has only
// the factors alpha and beta, for i8 not even those.
enum { HALVES = 1u << TSR_F16 | 1u << TSR_BF16, NARROW = 1u << TSR_F32 | HALVES };

const tsri_native_offer tsri_cuda_native_ops[] = {
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = NARROW | 1u << TSR_F64, .parts = TSRI_PRODUCT_SCALED},
    {.kind = TSRI_NATIVE_PRODUCT,
     .dtypes = NARROW,
     .parts = TSRI_PRODUCT_BIAS | TSRI_PRODUCT_RELU | TSRI_PRODUCT_GELU_TANH | TSRI_PRODUCT_RESIDUAL |
              TSRI_PRODUCT_CHAIN | TSRI_PRODUCT_ROW_SUMS},
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_I8, .results = 1u << TSR_I32},
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = HALVES, .results = 1u << TSR_F32},
    {.kind = TSRI_NATIVE_FACTOR, .dtypes = 1u << TSR_F32 | 1u << TSR_F64},
    {.kind = TSRI_NATIVE_SOLVE, .dtypes = 1u << TSR_F32 | 1u << TSR_F64},
    {.kind = TSRI_NATIVE_CONV, .dtypes = NARROW},
    {.kind = TSRI_NATIVE_CONV_WEIGHT, .dtypes = NARROW},
    {.kind = TSRI_NATIVE_ATTENTION, .dtypes = NARROW},
    {.kind = TSRI_NATIVE_ATTENTION_GRADIENT, .dtypes = NARROW},
    {.kind = TSRI_NATIVE_JOIN, .dtypes = UINT32_MAX},
    {.kind = TSRI_NATIVE_NONE},
};

// --- Layouts ----------------------------------------------------------------------------------------------------------

// Describes a matrix of rows x cols with the strides `row` and `col` as column-major or, if may_turn, as transposed.
// False: neither stride is 1.
static bool matrix_of(int64_t rows, int64_t cols, int64_t row, int64_t col, bool may_turn, cuda_matrix *out) {
  if (row == 1 || rows == 1) {
    *out = (cuda_matrix){.rows = rows, .cols = cols, .leading = cols == 1 ? rows : col};
    if (out->leading >= rows) return true;
  }
  if (!may_turn || (col != 1 && cols != 1)) return false;
  *out = (cuda_matrix){.rows = cols, .cols = rows, .leading = rows == 1 ? cols : row, .is_transposed = 1};
  return out->leading >= cols;
}

// --- Describing a product -----------------------------------------------------------------------------------------------

static cu_address address_of(tsri_place place) {
  return place.buffer ? cuda_address_of(place.buffer, place.offset) : 0;
}

static uint32_t alignment_of(tsri_place place) {
  enum { MOST = 256 };
  cu_address address = place.buffer ? address_of(place) : place.offset;
  uint32_t alignment = MOST;
  while (address % alignment != 0) alignment /= 2;
  return alignment;
}

// A matrix that is contiguous along k, times a vector, is limited by memory bandwidth, and the portable kernel is
// faster: for 14336 x 4096 on an H200, cuBLASLt takes 64 us in f32 and 31.8 us in bf16; the kernel takes 56 and 30.6
// us.
static bool is_for_kernels(const tsri_product_op *p, int64_t m) {
  return (p->n == 1 && p->a.column <= 1) || (m == 1 && p->b.row <= 1);
}

// Whether all matrices of the batch can be multiplied as one tall matrix: b is the same for all, and the rows of a
// (and c) continue evenly from one matrix to the next.
static bool is_foldable(const tsri_product_op *p, bool has_c) {
  return p->b.batch[0] == 0 && (p->m == 1 || p->a.batch[0] == p->m * p->a.row) &&
         (!has_c || p->m == 1 || p->c.batch[0] == p->m * p->c.row);
}

// The product with its residual as c, which cuBLASLt adds before an activation.
static tsri_product_op with_residual_as_c(const tsri_native_op *op) {
  tsri_product_op p = op->is.product;
  if (op->parts & TSRI_PRODUCT_RESIDUAL) {
    p.beta = 1;
    p.c = (tsri_matrix){.at = p.residual, .row = p.n, .column = 1, .batch = {p.m * p.n}};
  }
  return p;
}

bool tsri_cuda_describe_product(const tsri_native_op *op, cuda_product *out) {
  tsri_product_op p = with_residual_as_c(op);
  bool has_c = p.beta != 0;
  memset(out, 0, sizeof *out);
  if ((op->parts & TSRI_PRODUCT_RESIDUAL) && (op->is.product.beta != 0 || p.activation != TSRI_ACTIVATION_NONE)) {
    return false;
  }
  out->batch = p.batch_rank ? p.batch_dims[0] : 1;
  if (p.batch_rank > 1 || out->batch > INT32_MAX) return false;
  if ((double)out->batch * (double)p.m * (double)p.n * (double)p.k < LEAST_WORK) return false;
  if (out->batch > 1 && is_foldable(&p, has_c)) {
    if (p.m == 1) {
      p.a.row = p.a.batch[0];
      p.c.row = p.c.batch[0];
    }
    p.m *= out->batch;
    out->batch = 1;
  }
  if (is_for_kernels(&p, p.m)) return false;
  if (!matrix_of(p.n, p.k, p.b.column, p.b.row, true, &out->a) ||
      !matrix_of(p.k, p.m, p.a.column, p.a.row, true, &out->b) || !matrix_of(p.n, p.m, 1, p.n, false, &out->d) ||
      (has_c && !matrix_of(p.n, p.m, p.c.column, p.c.row, false, &out->c))) {
    return false;
  }
  out->dtype = op->dtype;
  out->result = op->result;
  out->activation = p.activation;
  out->a.batch_stride = p.b.batch[0];
  out->b.batch_stride = p.a.batch[0];
  out->d.batch_stride = out->batch > 1 ? p.m * p.n : 0;
  out->c.batch_stride = p.c.batch[0];
  out->has_c = has_c;
  out->has_bias = (op->parts & TSRI_PRODUCT_BIAS) != 0;
  out->alignments[0] = alignment_of(p.b.at);
  out->alignments[1] = alignment_of(p.a.at);
  out->alignments[2] = alignment_of(has_c ? p.c.at : p.y);
  out->alignments[3] = alignment_of(p.y);
  return true;
}

cuda_product_memory tsri_cuda_product_memory(const tsri_native_op *op) {
  const tsri_product_op p = with_residual_as_c(op);
  cuda_product_memory memory = {
      .a = address_of(p.b.at),
      .b = address_of(p.a.at),
      .c = address_of(p.c.at),
      .d = address_of(p.y),
      .bias = address_of(p.bias),
      .alpha = p.alpha,
      .beta = p.beta,
  };
  if (op->parts & TSRI_PRODUCT_ROW_SUMS) memory.row_sums = address_of(p.row_sums);
  if (!(op->parts & TSRI_PRODUCT_CHAIN)) return memory;
  memory.chain = &op->is.product.chain;
  memory.kept = address_of(p.chain.kept);
  for (int i = 0; i < p.chain.input_count; i++) memory.chain_inputs[i] = address_of(p.chain.inputs[i].at);
  return memory;
}

// Whether one of our own kernels computes the product. For f16 or bf16 with a chain, and if cuBLASLt is available, it must also be estimated to be faster than
// cuBLASLt's product followed by a kernel for the chain.
static bool own_takes(const cuda_device *device, const cuda_product *product, const tsri_product_chain *chain,
                      bool has_library) {
  if (device->units_have_failed) return false;
  if (tsri_cuda_units_take(device, product)) return true;
  return tsri_cuda_halves_take(device, product) &&
         (!chain || !has_library || tsri_cuda_halves_gain(device, product, chain));
}

// Whether the library or one of our own kernels computes the product with its parts. Only our own kernels support chains, whose inputs must be readable in
// quads, and sums of rows.
static bool has_product(const cuda_device *device, const tsri_native_op *op) {
  enum { VECTOR_BYTES = 16 };
  const tsri_product_chain *chain = &op->is.product.chain;
  bool has_chain = op->parts & TSRI_PRODUCT_CHAIN, has_sums = op->parts & TSRI_PRODUCT_ROW_SUMS;
  bool has_library = device->allows_blas && !device->blas_has_failed;
  cuda_product product;
  if ((!has_library && !device->allows_units) || !tsri_cuda_describe_product(op, &product)) return false;
  if (has_library && !has_chain && !has_sums) return true;
  if (!own_takes(device, &product, has_chain ? chain : NULL, has_library)) return false;
  if (has_sums) return !has_chain && product.batch == 1 && tsri_cuda_units_take(device, &product);
  if (!has_chain) return true;
  for (int i = 0; i < chain->input_count; i++) {
    if (chain->inputs[i].by_column && alignment_of(chain->inputs[i].at) < VECTOR_BYTES) return false;
  }
  return alignment_of(chain->kept) >= VECTOR_BYTES;
}

// --- Entries --------------------------------------------------------------------------------------------------------------

static bool is_conv(const tsri_native_op *op) {
  return op->kind == TSRI_NATIVE_CONV || op->kind == TSRI_NATIVE_CONV_WEIGHT;
}

static bool is_attention(const tsri_native_op *op) {
  return op->kind == TSRI_NATIVE_ATTENTION || op->kind == TSRI_NATIVE_ATTENTION_GRADIENT;
}

bool tsri_cuda_has_op(tsri_device *device, const tsri_native_op *op) {
  cuda_device *gpu_device = cuda_device_of(device);
  cuda_attention attention;
  if (op->kind == TSRI_NATIVE_JOIN) return tsri_cuda_join_takes(op);
  if (is_attention(op) && op->dtype == TSR_F32) return tsri_cuda_heads_take(gpu_device, op);
  if (is_attention(op)) {
    return gpu_device->allows_dnn && tsri_cuda_describe_attention(op, &attention) &&
           tsri_cuda_has_attention(gpu_device, &attention, op->is.attention.plan_after_ns);
  }
  cuda_conv conv;
  if (is_conv(op)) {
    if (!gpu_device->allows_dnn || !tsri_cuda_describe_conv(gpu_device, op, &conv)) return false;
    if (!tsri_cuda_conv_gains(gpu_device, &conv)) return false;
    if (op->is.conv.is_copied && tsri_cuda_conv_keeps_order(gpu_device, &conv)) return false;
    return tsri_cuda_has_conv(gpu_device, &conv);
  }
  return op->kind == TSRI_NATIVE_PRODUCT ? has_product(gpu_device, op) : tsri_cuda_has_solver(gpu_device, op);
}

static tsr_status convolve(cuda_queue *queue, const tsri_native_op *op) {
  const tsri_conv_op *c = &op->is.conv;
  cuda_conv conv;
  if (!tsri_cuda_describe_conv(queue->device, op, &conv)) return TSR_ERR_UNSUPPORTED;
  // A transposed convolution is the gradient of another convolution by x: our x is its y, and our y is its x.
  cuda_conv_memory memory = {.x = address_of(c->is_transposed ? c->y : c->x),
                             .w = address_of(c->w),
                             .y = address_of(c->is_transposed ? c->x : c->y)};
  return tsri_cuda_convolve(queue, &conv, &memory);
}

static tsr_status attend(cuda_queue *queue, const tsri_native_op *op) {
  const tsri_attention_op *a = &op->is.attention;
  cuda_attention attention;
  if (op->dtype == TSR_F32) {
    return tsri_cuda_heads_take(queue->device, op) ? tsri_cuda_heads_attend(queue, op) : TSR_ERR_UNSUPPORTED;
  }
  if (!tsri_cuda_describe_attention(op, &attention)) return TSR_ERR_UNSUPPORTED;
  cuda_attention_memory memory = {.q = address_of(a->q),
                                  .k = address_of(a->k),
                                  .v = address_of(a->v),
                                  .y = address_of(a->y),
                                  .mask = address_of(a->mask),
                                  .lse = address_of(a->lse),
                                  .g = address_of(a->g),
                                  .dq = address_of(a->dq),
                                  .dk = address_of(a->dk),
                                  .dv = address_of(a->dv),
                                  .scratch = address_of(a->scratch),
                                  .scale = (float)a->scale};
  return tsri_cuda_attend(queue, &attention, &memory);
}

static tsr_status run_product(cuda_queue *gpu_queue, const tsri_native_op *op) {
  cuda_product product;
  if (!tsri_cuda_describe_product(op, &product)) return TSR_ERR_UNSUPPORTED;
  cuda_product_memory memory = tsri_cuda_product_memory(op);
  return tsri_cuda_multiply(gpu_queue, &product, &memory);
}

tsr_status tsri_cuda_run_op(tsri_queue *queue, const tsri_native_op *op) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  if (op->kind == TSRI_NATIVE_PRODUCT) status = run_product(gpu_queue, op);
  else if (op->kind == TSRI_NATIVE_JOIN) status = tsri_cuda_join(gpu_queue, op);
  else if (is_attention(op)) status = attend(gpu_queue, op);
  else status = is_conv(op) ? convolve(gpu_queue, op) : tsri_cuda_solve(gpu_queue, op);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return status;
}

tsri_op_group tsri_cuda_group_of(tsri_device *device, const tsri_native_op *op) {
  const cuda_device *gpu_device = cuda_device_of(device);
  cuda_product product;
  if (op->kind != TSRI_NATIVE_PRODUCT || !tsri_cuda_describe_product(op, &product)) return (tsri_op_group){0};
  if (op->parts & TSRI_PRODUCT_CHAIN || !tsri_cuda_units_take(gpu_device, &product)) return (tsri_op_group){0};
  return tsri_cuda_units_group_of(gpu_device, &product);
}

tsr_status tsri_cuda_run_ops(tsri_queue *queue, const tsri_native_op *const *ops, int count) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  cuda_product products[TSRI_MOST_GROUPED];
  cuda_product_memory memories[TSRI_MOST_GROUPED];
  for (int i = 0; i < count; i++) {
    if (!tsri_cuda_describe_product(ops[i], &products[i])) return TSR_ERR_UNSUPPORTED;
    memories[i] = tsri_cuda_product_memory(ops[i]);
  }
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  bool works = tsri_cuda_multiply_group(gpu_queue, products, memories, count);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return works ? TSR_OK : TSR_ERR_UNSUPPORTED;
}
