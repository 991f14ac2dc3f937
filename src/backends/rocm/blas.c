// SPDX-License-Identifier: MIT
// Matrix products by rocBLAS, which is opened at the first one. Without it the portable kernels compute them.
//
// rocBLAS is column-major and our results are row-major, so it computes the transposed product, as cuBLASLt does
// (backends/cuda/native.c).
#include "backends/rocm/blas.h"

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
  if (!device->rocblas && !device->rocblas_has_failed) {
    device->rocblas = open_blas(device);
    device->rocblas_has_failed = !device->rocblas;
  }
  rocm_blas *blas = device->rocblas;
  tsri_mutex_unlock(&device->gpu.library_lock);
  return blas;
}

void tsri_rocm_blas_close(rocm_device *device) {
  rocm_blas *blas = device->rocblas;
  if (!blas) return;
  bool was_pushed = tsri_cuda_enter(&device->gpu);
  (void)blas->destroy(blas->handle);
  tsri_cuda_leave(&device->gpu, was_pushed);
  tsri_mutex_deinit(&blas->lock);
  tsri_free(blas);
  device->rocblas = NULL;
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

static int multiply(cuda_queue *queue, const rocm_blas *blas, const cuda_product *p,
                    const cuda_product_memory *memory) {
  int type = type_of(p->dtype), result = type_of(p->result);
  int compute = p->dtype == TSR_F64 ? ROCBLAS_F64 : p->dtype == TSR_I8 ? ROCBLAS_I32 : ROCBLAS_F32;
  int64_t k = p->a.is_transposed ? p->a.rows : p->a.cols;
  rocm_factor alpha = factor_of(memory->alpha, compute), beta = factor_of(memory->beta, compute);
  const void *a = (const void *)(uintptr_t)memory->a, *b = (const void *)(uintptr_t)memory->b;
  void *d = (void *)(uintptr_t)memory->d;
  const cuda_matrix *c = p->has_c ? &p->c : &p->d;
  int code = blas->set_stream(blas->handle, queue->stream);
  if (code == ROCBLAS_SUCCESS) {
    code = blas->set_workspace(blas->handle, (void *)(uintptr_t)tsri_cuda_take_workspace(queue, CUDA_WORKSPACE_BYTES),
                               CUDA_WORKSPACE_BYTES);
  }
  if (code != ROCBLAS_SUCCESS) return code;
  return blas->multiply(blas->handle, p->a.is_transposed ? ROCBLAS_TRANSPOSED : ROCBLAS_AS_IS,
                        p->b.is_transposed ? ROCBLAS_TRANSPOSED : ROCBLAS_AS_IS, (int)p->d.rows, (int)p->d.cols, (int)k,
                        &alpha, a, type, (int)p->a.leading, p->a.batch_stride, b, type, (int)p->b.leading,
                        p->b.batch_stride, &beta, p->has_c ? (const void *)(uintptr_t)memory->c : d, result,
                        (int)c->leading, c->batch_stride, d, result, (int)p->d.leading, p->d.batch_stride,
                        (int)p->batch, compute, ROCBLAS_STANDARD, 0, 0);
}

tsr_status tsri_rocm_multiply(cuda_queue *queue, const cuda_product *product, const cuda_product_memory *memory) {
  rocm_blas *blas = blas_of((rocm_device *)queue->device);
  if (!blas || tsri_cuda_workspace(queue) != CU_SUCCESS) return TSR_ERR_UNSUPPORTED;
  tsri_mutex_lock(&blas->lock);
  int code = multiply(queue, blas, product, memory);
  tsri_mutex_unlock(&blas->lock);
  if (code == ROCBLAS_SUCCESS) return TSR_OK;
  tsri_log(TSR_LOG_DEBUG, "rocm: rocBLAS does not compute a product (code %d)", code);
  return TSR_ERR_UNSUPPORTED;
}
