// SPDX-License-Identifier: MIT
// Native operators of the CPU: copies between strided layouts, sums of rows (sum.c), reductions, sorting, running sums, indexing and pooling (rows/), argmax,
// softmax and norms (lines/), products (product/), convolutions (conv/), attention (attention/), Fourier transforms (fft/), and matrix factorisations (lapack/).
#include <string.h>

#include "backends/cpu/attention/attention.h"
#include "backends/cpu/conv/conv.h"
#include "backends/cpu/cpu.h"
#include "backends/cpu/fft/fft.h"
#include "backends/cpu/lapack/lapack.h"
#include "backends/cpu/later.h"
#include "backends/cpu/lines/lines.h"
#include "backends/cpu/product/product.h"
#include "backends/cpu/rows/pool.h"
#include "backends/cpu/rows/reduce.h"
#include "core/strided.h"
#include "platform/parallel.h"

enum { REALS = 1u << TSR_F32 | 1u << TSR_F64, FLOATS = REALS | 1u << TSR_F16 | 1u << TSR_BF16 };
enum { WIDE_INTEGERS = 1u << TSR_I32 | 1u << TSR_U32 | 1u << TSR_I64 };
enum {
  ACTIVATIONS = TSRI_PRODUCT_RELU | TSRI_PRODUCT_GELU_TANH | TSRI_PRODUCT_GELU | TSRI_PRODUCT_TANH,
  AFTER_PRODUCTS = TSRI_PRODUCT_BIAS | ACTIVATIONS | TSRI_PRODUCT_RESIDUAL
};
enum { BYTES = 1u << TSR_I8 | 1u << TSR_U8 };
enum { NUMBERS = FLOATS | WIDE_INTEGERS | 1u << TSR_U8 | 1u << TSR_I8 | 1u << TSR_I16 };

const tsri_native_offer tsri_cpu_native_ops[] = {
    {.kind = TSRI_NATIVE_COPY, .dtypes = UINT32_MAX},
    {.kind = TSRI_NATIVE_JOIN, .dtypes = UINT32_MAX},
    {.kind = TSRI_NATIVE_SUM, .dtypes = REALS},
    {.kind = TSRI_NATIVE_REDUCE, .dtypes = FLOATS | 1u << TSR_I32},
    {.kind = TSRI_NATIVE_REDUCE, .dtypes = 1u << TSR_F16 | 1u << TSR_BF16, .results = 1u << TSR_F32},
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = FLOATS, .parts = TSRI_PRODUCT_SCALED | AFTER_PRODUCTS},
    {.kind = TSRI_NATIVE_PRODUCT,
     .dtypes = FLOATS & ~(1u << TSR_F64),
     .parts = TSRI_PRODUCT_QUANTISED | AFTER_PRODUCTS},
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = BYTES},
    {.kind = TSRI_NATIVE_SORT, .dtypes = NUMBERS},
    {.kind = TSRI_NATIVE_SORT, .dtypes = NUMBERS, .results = 1u << TSR_I32, .parts = TSRI_SORT_KEEPS},
    {.kind = TSRI_NATIVE_SCAN, .dtypes = FLOATS | WIDE_INTEGERS},
    {.kind = TSRI_NATIVE_GATHER, .dtypes = UINT32_MAX},
    {.kind = TSRI_NATIVE_SCATTER_ADD, .dtypes = NUMBERS},
    {.kind = TSRI_NATIVE_ARG_REDUCE, .dtypes = NUMBERS, .results = 1u << TSR_I32},
    {.kind = TSRI_NATIVE_SOFTMAX, .dtypes = FLOATS},
    {.kind = TSRI_NATIVE_NORM_GRADIENT, .dtypes = 1u << TSR_F32},
    {.kind = TSRI_NATIVE_NORM, .dtypes = FLOATS},
    {.kind = TSRI_NATIVE_ATTENTION, .dtypes = FLOATS & ~(1u << TSR_F64)},
    {.kind = TSRI_NATIVE_ATTENTION_GRADIENT, .dtypes = FLOATS & ~(1u << TSR_F64)},
    {.kind = TSRI_NATIVE_POOL, .dtypes = FLOATS},
    {.kind = TSRI_NATIVE_POOL, .dtypes = FLOATS, .results = 1u << TSR_I32},
    {.kind = TSRI_NATIVE_CONV, .dtypes = FLOATS, .parts = ACTIVATIONS},
    {.kind = TSRI_NATIVE_FACTOR, .dtypes = REALS, .parts = TSRI_FACTOR_ORDERED},
    {.kind = TSRI_NATIVE_SOLVE, .dtypes = REALS},
    {.kind = TSRI_NATIVE_FFT, .dtypes = REALS},
    {.kind = TSRI_NATIVE_NONE},
};

// Whether native operators support the dtype of the indices; others are left to kernels.
static bool takes_indices(tsr_dtype dtype) { return (1u << dtype & (WIDE_INTEGERS | BYTES | 1u << TSR_I16)) != 0; }

static bool is_linear_algebra(const tsri_native_op *op) {
  return op->kind == TSRI_NATIVE_FACTOR || op->kind == TSRI_NATIVE_SOLVE;
}

bool tsri_cpu_has_op(tsri_device *device, const tsri_native_op *op) {
  if (op->kind == TSRI_NATIVE_PRODUCT && (op->parts & TSRI_PRODUCT_QUANTISED)) {
    return tsri_product_kernels_for(((const cpu_device *)device)->simd, TSR_F32)->quant != NULL;
  }
  bool is_indexing = op->kind == TSRI_NATIVE_GATHER || op->kind == TSRI_NATIVE_SCATTER_ADD;
  if (is_indexing && !takes_indices(op->is.index.index_dtype)) return false;
  if (op->kind == TSRI_NATIVE_PRODUCT && (1u << op->dtype & BYTES)) {
    return tsri_product_groups_for(((const cpu_device *)device)->units, op->dtype, op->is.product.k) != NULL;
  }
  if (op->kind == TSRI_NATIVE_REDUCE) return tsri_cpu_has_reduce(op);
  if (is_linear_algebra(op)) return tsri_cpu_has_lapack((const cpu_device *)device, op);
  if (op->kind == TSRI_NATIVE_CONV) return tsri_cpu_has_conv(&op->is.conv);
  if (op->kind == TSRI_NATIVE_ATTENTION || op->kind == TSRI_NATIVE_ATTENTION_GRADIENT) {
    return tsri_cpu_has_attention(op);
  }
  if (op->kind == TSRI_NATIVE_POOL) return tsri_cpu_has_pool(&op->is.pool);
  if (op->kind == TSRI_NATIVE_FFT) return tsri_cpu_has_fft(&op->is.fft);
  bool is_part = op->kind == TSRI_NATIVE_SORT && (op->parts & TSRI_SORT_KEEPS);
  bool is_only_there = is_part || op->kind == TSRI_NATIVE_JOIN || op->kind == TSRI_NATIVE_ARG_REDUCE ||
                       op->kind == TSRI_NATIVE_SOFTMAX || op->kind == TSRI_NATIVE_NORM ||
                       op->kind == TSRI_NATIVE_NORM_GRADIENT;
  return !is_only_there || tsri_cpu_has_lines(op);
}

static tsri_layout layout_of(tsr_shape shape, const int64_t *strides) {
  tsri_layout layout = {.shape = shape, .count = 1};
  memcpy(layout.strides, strides, sizeof layout.strides);
  for (int i = 0; i < shape.rank; i++) layout.count *= shape.dims[i];
  return layout;
}

char *tsri_cpu_place(tsri_place place) { return (char *)tsri_cpu_buffer_host(NULL, place.buffer) + place.offset; }

// The longest axis is divided into parts, one for each thread.
static int longest_axis(tsr_shape shape) {
  int longest = 0;
  for (int i = 1; i < shape.rank; i++) {
    if (shape.dims[i] > shape.dims[longest]) longest = i;
  }
  return longest;
}

static tsri_layout part_of(tsri_layout layout, int axis, int64_t first, int64_t last) {
  if (layout.shape.rank == 0) return layout;
  layout.offset += first * layout.strides[axis];
  layout.count = layout.count / layout.shape.dims[axis] * (last - first);
  layout.shape.dims[axis] = last - first;
  return layout;
}

typedef struct strided_job {
  char *to_memory, *from_memory;
  tsri_layout to, from;
  size_t element;  // bytes
  int axis;        // axis that is divided into parts
  int64_t parts;
} strided_job;

static void copy_part(void *user, int part) {
  const strided_job *job = user;
  int64_t size = job->to.shape.rank ? job->to.shape.dims[job->axis] : 1;
  int64_t first = size * part / job->parts, last = size * (part + 1) / job->parts;
  tsri_layout to = part_of(job->to, job->axis, first, last), from = part_of(job->from, job->axis, first, last);
  tsri_strided_copy(job->to_memory, &to, job->from_memory, &from, job->element);
}

static void copy_strided(const cpu_device *device, tsr_dtype dtype, const tsri_copy_op *op) {
  enum { WORTH_A_THREAD = 1 << 18 };  // bytes; below, waking threads takes longer than the copy
  strided_job job = {.to_memory = tsri_cpu_place(op->to),
                     .from_memory = tsri_cpu_place(op->from),
                     .to = layout_of(op->shape, op->to_strides),
                     .from = layout_of(op->shape, op->from_strides),
                     .element = tsr_dtype_bytes(dtype),
                     .axis = longest_axis(op->shape)};
  if (job.to.count == 0) return;
  int threads = job.to.count * (int64_t)job.element < WORTH_A_THREAD ? 1 : device->threads;
  job.parts = tsri_cpu_parts(threads, op->shape.rank ? (uint64_t)op->shape.dims[job.axis] : 1);
  tsri_parallel(threads, (int)job.parts, copy_part, &job);
}

// Factorisations run inside this call even on a queue with a thread of its own: they may turn out to be unsupported, and then the core must run kernels instead.
tsr_status tsri_cpu_run_op(tsri_queue *queue, const tsri_native_op *op) {
  cpu_device *device = (cpu_device *)queue;
  if (!device->later) return tsri_cpu_run_op_now(device, op);
  if (!is_linear_algebra(op)) return tsri_cpu_later_op(device, op);
  tsri_cpu_later_idle(device);
  return tsri_cpu_run_op_now(device, op);
}

tsr_status tsri_cpu_run_op_now(cpu_device *device, const tsri_native_op *op) {
  switch (op->kind) {
    case TSRI_NATIVE_PRODUCT:
      return tsri_cpu_product(device, op);
    case TSRI_NATIVE_CONV:
      return tsri_cpu_conv(device, op);
    case TSRI_NATIVE_ATTENTION:
    case TSRI_NATIVE_ATTENTION_GRADIENT:
      return tsri_cpu_attention(device, op);
    case TSRI_NATIVE_SUM:
      return tsri_cpu_sum(device, op->dtype, &op->is.sum);
    case TSRI_NATIVE_COPY:
      copy_strided(device, op->dtype, &op->is.copy);
      return TSR_OK;
    case TSRI_NATIVE_FACTOR:
    case TSRI_NATIVE_SOLVE:
      return tsri_cpu_lapack(device, op);
    case TSRI_NATIVE_FFT:
      return tsri_cpu_fft(device, op->dtype, &op->is.fft);
    default:
      return tsri_cpu_has_lines(op) ? tsri_cpu_lines(device, op) : tsri_cpu_rows(device, op);
  }
}
