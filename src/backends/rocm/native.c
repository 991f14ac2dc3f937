// SPDX-License-Identifier: MIT
// Native operators of ROCm: matrix products by hipBLASLt where the GPU is one of its own, else by rocBLAS. Products with a
// bias or an activation are only for hipBLASLt.
#include <limits.h>

#include "backends/rocm/blas.h"

enum { NARROW = 1u << TSR_F16 | 1u << TSR_BF16 | 1u << TSR_F32 };

const tsri_native_offer tsri_rocm_native_ops[] = {
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = NARROW | 1u << TSR_F64, .parts = TSRI_PRODUCT_SCALED},
    {.kind = TSRI_NATIVE_PRODUCT,
     .dtypes = NARROW,
     .parts = TSRI_PRODUCT_BIAS | TSRI_PRODUCT_RELU | TSRI_PRODUCT_GELU_TANH | TSRI_PRODUCT_RESIDUAL},
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_I8, .results = 1u << TSR_I32},
    {.kind = TSRI_NATIVE_NONE},
};

static bool fits(const cuda_matrix *matrix) { return matrix->leading <= INT_MAX && matrix->rows <= INT_MAX; }

static bool describe(const tsri_native_op *op, cuda_product *out) {
  bool is_product = op->kind == TSRI_NATIVE_PRODUCT && tsri_cuda_describe_product(op, out) && fits(&out->a) &&
                    fits(&out->b) && fits(&out->c) && fits(&out->d) && out->d.cols <= INT_MAX;
  // AMD's libraries do not ask for alignments: products that differ in nothing else share a plan.
  for (int i = 0; is_product && i < 4; i++) out->alignments[i] = 0;
  return is_product;
}

// hipBLASLt has no f64.
static bool may_have_lt(const rocm_device *device, const cuda_product *product) {
  return device->gpu.allows_blas && !device->gpu.blas_has_failed && product->dtype != TSR_F64;
}

static bool is_plain(const cuda_product *product) {
  return !product->has_bias && product->activation == TSRI_ACTIVATION_NONE;
}

// A product with a bias or an activation that hipBLASLt has nothing for is refused here, not when it runs: the graph then
// asks for the product alone, which rocBLAS may have.
bool tsri_rocm_has_op(tsri_device *device, const tsri_native_op *op) {
  rocm_device *gpu_device = (rocm_device *)device;
  cuda_product product;
  if (!describe(op, &product)) return false;
  bool may_lt = may_have_lt(gpu_device, &product);
  if (is_plain(&product)) return may_lt || (gpu_device->allows_rocblas && !gpu_device->rocblas_has_failed);
  if (!may_lt) return false;
  bool was_pushed = tsri_cuda_enter(&gpu_device->gpu);
  bool has_lt = tsri_cuda_can_multiply(&gpu_device->gpu, &product);
  tsri_cuda_leave(&gpu_device->gpu, was_pushed);
  return has_lt;
}

static tsr_status run(cuda_queue *queue, const tsri_native_op *op) {
  const rocm_device *device = (const rocm_device *)queue->device;
  cuda_product product;
  if (!describe(op, &product)) return TSR_ERR_UNSUPPORTED;
  cuda_product_memory memory = tsri_cuda_product_memory(op);
  tsr_status status = TSR_ERR_UNSUPPORTED;
  if (may_have_lt(device, &product)) status = tsri_cuda_multiply(queue, &product, &memory);
  if (status != TSR_ERR_UNSUPPORTED || !is_plain(&product) || !device->allows_rocblas) return status;
  return tsri_rocm_multiply(queue, &product, &memory);
}

tsr_status tsri_rocm_run_op(tsri_queue *queue, const tsri_native_op *op) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  status = run(gpu_queue, op);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return status;
}
