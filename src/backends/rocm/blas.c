// SPDX-License-Identifier: MIT
// Matrix products by rocBLAS, which is opened at the first one. Without it the portable kernels compute them.
//
// rocBLAS is column-major and our results are row-major, so it computes the transposed product, as cuBLASLt does
// (backends/cuda/native.c).
#include <limits.h>

#include "backends/cuda/blas.h"
#include "backends/rocm/rocm.h"
#include "core/alloc.h"
#include "core/log.h"

#if defined(_WIN32)
static const char *const library_names[] = {"rocblas.dll", NULL};
#else
static const char *const library_names[] = {
    "librocblas.so.5", "librocblas.so.4", "librocblas.so.3", "librocblas.so.0", "/opt/rocm/lib/librocblas.so", NULL};
#endif
const char *const *tsri_rocblas_names = library_names;

// rocBLAS's numbers.
enum {
  ROCBLAS_SUCCESS = 0,
  ROCBLAS_AS_IS = 111,
  ROCBLAS_TRANSPOSED = 112,
  ROCBLAS_F16 = 150,
  ROCBLAS_F32 = 151,
  ROCBLAS_F64 = 152,
  ROCBLAS_I8 = 160,
  ROCBLAS_I32 = 162,
  ROCBLAS_BF16 = 168,
  ROCBLAS_STANDARD = 0  // how to choose the algorithm
};

typedef struct rocblas_handle_tag *rocblas_handle;

struct rocm_blas {
  int (*create)(rocblas_handle *handle);
  int (*destroy)(rocblas_handle handle);
  int (*set_stream)(rocblas_handle handle, cu_stream stream);
  int (*set_workspace)(rocblas_handle handle, void *memory, size_t bytes);
  int (*multiply)(rocblas_handle handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha, const void *a,
                  int a_type, int a_leading, int64_t a_stride, const void *b, int b_type, int b_leading,
                  int64_t b_stride, const void *beta, const void *c, int c_type, int c_leading, int64_t c_stride,
                  void *d, int d_type, int d_leading, int64_t d_stride, int batch, int compute_type, int algorithm,
                  int32_t solution, uint32_t flags);
  rocblas_handle handle;
  tsri_mutex lock;  // held from set_stream to multiply: the handle has one stream at a time
};

static const tsri_entry_point entries[] = {
    {"rocblas_create_handle", offsetof(rocm_blas, create)},
    {"rocblas_destroy_handle", offsetof(rocm_blas, destroy)},
    {"rocblas_set_stream", offsetof(rocm_blas, set_stream)},
    {"rocblas_set_workspace", offsetof(rocm_blas, set_workspace)},
    {"rocblas_gemm_strided_batched_ex", offsetof(rocm_blas, multiply)},
    {NULL, 0},
};

const tsri_native_offer tsri_rocm_native_ops[] = {
    {.kind = TSRI_NATIVE_PRODUCT,
     .dtypes = 1u << TSR_F16 | 1u << TSR_BF16 | 1u << TSR_F32 | 1u << TSR_F64,
     .parts = TSRI_PRODUCT_SCALED},
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_I8, .results = 1u << TSR_I32},
    {.kind = TSRI_NATIVE_NONE},
};

// --- Opening --------------------------------------------------------------------------------------------------------

static rocm_blas *open_blas(const rocm_device *device) {
  char trail[600] = "";
  rocm_blas *blas = tsri_calloc(1, sizeof *blas);
  if (!blas) return NULL;
  if (!tsri_cuda_open_library(tsri_rocblas_names, entries, blas, trail, sizeof trail)) {
    tsri_log(TSR_LOG_INFO, "rocm: matrix products run without rocBLAS (%s)", trail);
  } else {
    int code = blas->create(&blas->handle);
    if (code == ROCBLAS_SUCCESS) {
      tsri_mutex_init(&blas->lock);
      return blas;
    }
    tsri_log(TSR_LOG_WARN, "rocm: rocBLAS does not start on %s (code %d)", device->gpu.name, code);
  }
  tsri_free(blas);
  return NULL;
}

// The device must be current.
static rocm_blas *blas_of(rocm_device *device) {
  tsri_mutex_lock(&device->gpu.library_lock);
  if (!device->blas && !device->blas_has_failed) {
    device->blas = open_blas(device);
    device->blas_has_failed = !device->blas;
  }
  rocm_blas *blas = device->blas;
  tsri_mutex_unlock(&device->gpu.library_lock);
  return blas;
}

void tsri_rocm_blas_close(rocm_device *device) {
  rocm_blas *blas = device->blas;
  if (!blas) return;
  bool was_pushed = tsri_cuda_enter(&device->gpu);
  (void)blas->destroy(blas->handle);
  tsri_cuda_leave(&device->gpu, was_pushed);
  tsri_mutex_deinit(&blas->lock);
  tsri_free(blas);
  device->blas = NULL;
}

// --- Products -------------------------------------------------------------------------------------------------------

static int type_of(tsr_dtype dtype) {
  switch (dtype) {
    case TSR_I8:
      return ROCBLAS_I8;
    case TSR_I32:
      return ROCBLAS_I32;
    case TSR_F64:
      return ROCBLAS_F64;
    case TSR_F32:
      return ROCBLAS_F32;
    case TSR_F16:
      return ROCBLAS_F16;
    default:
      return ROCBLAS_BF16;
  }
}

// A factor in the type that the product is computed in.
typedef union rocm_factor {
  double f64;
  float f32;
  int32_t i32;
} rocm_factor;

static rocm_factor factor_of(double value, int compute_type) {
  if (compute_type == ROCBLAS_F64) return (rocm_factor){.f64 = value};
  if (compute_type == ROCBLAS_I32) return (rocm_factor){.i32 = (int32_t)value};
  return (rocm_factor){.f32 = (float)value};
}

static bool fits(const cuda_matrix *matrix) { return matrix->leading <= INT_MAX && matrix->rows <= INT_MAX; }

static int multiply(cuda_queue *queue, const rocm_blas *blas, const cuda_product *p, const tsri_product_op *op) {
  int type = type_of(p->dtype), result = type_of(p->result);
  int compute = p->dtype == TSR_F64 ? ROCBLAS_F64 : p->dtype == TSR_I8 ? ROCBLAS_I32 : ROCBLAS_F32;
  int64_t k = p->a.is_transposed ? p->a.rows : p->a.cols;
  rocm_factor alpha = factor_of(op->alpha, compute), beta = factor_of(op->beta, compute);
  const void *a = cuda_pointer_of(op->b.at), *b = cuda_pointer_of(op->a.at);
  void *d = cuda_pointer_of(op->y);
  const cuda_matrix *c = p->has_c ? &p->c : &p->d;
  int code = blas->set_stream(blas->handle, queue->stream);
  if (code == ROCBLAS_SUCCESS) {
    code = blas->set_workspace(blas->handle, (void *)(uintptr_t)queue->workspace, CUDA_WORKSPACE_BYTES);
  }
  if (code != ROCBLAS_SUCCESS) return code;
  return blas->multiply(blas->handle, p->a.is_transposed ? ROCBLAS_TRANSPOSED : ROCBLAS_AS_IS,
                        p->b.is_transposed ? ROCBLAS_TRANSPOSED : ROCBLAS_AS_IS, (int)p->d.rows, (int)p->d.cols, (int)k,
                        &alpha, a, type, (int)p->a.leading, p->a.batch_stride, b, type, (int)p->b.leading,
                        p->b.batch_stride, &beta, p->has_c ? cuda_pointer_of(op->c.at) : d, result, (int)c->leading,
                        c->batch_stride, d, result, (int)p->d.leading, p->d.batch_stride, (int)p->batch, compute,
                        ROCBLAS_STANDARD, 0, 0);
}

static bool describe(const tsri_native_op *op, cuda_product *out) {
  return op->kind == TSRI_NATIVE_PRODUCT && tsri_cuda_describe_product(op, out) && fits(&out->a) && fits(&out->b) &&
         fits(&out->c) && fits(&out->d) && out->d.cols <= INT_MAX;
}

bool tsri_rocm_has_op(tsri_device *device, const tsri_native_op *op) {
  const rocm_device *gpu_device = (const rocm_device *)device;
  cuda_product product;
  return gpu_device->allows_blas && !gpu_device->blas_has_failed && describe(op, &product);
}

static tsr_status run(cuda_queue *queue, const tsri_native_op *op) {
  cuda_product product;
  if (!describe(op, &product)) return TSR_ERR_UNSUPPORTED;
  rocm_blas *blas = blas_of((rocm_device *)queue->device);
  if (!blas || tsri_cuda_workspace(queue) != CU_SUCCESS) return TSR_ERR_UNSUPPORTED;
  tsri_mutex_lock(&blas->lock);
  int code = multiply(queue, blas, &product, &op->is.product);
  tsri_mutex_unlock(&blas->lock);
  if (code == ROCBLAS_SUCCESS) return TSR_OK;
  tsri_log(TSR_LOG_DEBUG, "rocm: rocBLAS does not compute a product (code %d)", code);
  return TSR_ERR_UNSUPPORTED;
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
