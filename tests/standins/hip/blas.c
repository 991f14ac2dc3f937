// SPDX-License-Identifier: MIT
// librocblas: one function, by plain loops on the CPU, or by cuBLAS on a real NVIDIA GPU.
#include <pthread.h>

#include "standins/hip/product.h"

enum { SUCCESS = 0, NOT_IMPLEMENTED = 2, INTERNAL_ERROR = 6 };
enum { TRANSPOSED = 112, F16 = 150, F32 = 151, F64 = 152, I8 = 160, I32 = 162 };  // else: bf16

static struct {
  int (*create)(void **handle);
  int (*destroy)(void *handle);
  int (*set_stream)(void *handle, cu_stream stream);
  int (*set_workspace)(void *handle, void *memory, size_t bytes);
  int (*multiply)(void *handle, int turn_a, int turn_b, int m, int n, int k, const void *alpha, const void *a,
                  int a_type, int a_leading, long long a_stride, const void *b, int b_type, int b_leading,
                  long long b_stride, const void *beta, void *c, int c_type, int c_leading, long long c_stride,
                  int batch, int compute_type, int algorithm);
} cublas;

typedef struct handle_record {
  void *real;
  cu_stream stream;
} handle_record;

static handle_record handles[16];
static int handle_count;

static void open_cublas(void) {
  void *library = standin_hip_open((const char *const[]){"libcublas.so.13", "libcublas.so.12", NULL});
  standin_hip_find(library, "cublasCreate_v2", &cublas.create);
  standin_hip_find(library, "cublasDestroy_v2", &cublas.destroy);
  standin_hip_find(library, "cublasSetStream_v2", &cublas.set_stream);
  standin_hip_find(library, "cublasSetWorkspace_v2", &cublas.set_workspace);
  standin_hip_find(library, "cublasGemmStridedBatchedEx", &cublas.multiply);
}

// --- Handles --------------------------------------------------------------------------------------------------------

EXPORT int rocblas_create_handle(handle_record **handle);
EXPORT int rocblas_create_handle(handle_record **handle) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  const standin_beside *hip = standin_hip_beside();
  if (hip->is_real) pthread_once(&once, open_cublas);
  if (hip->enter()) return INTERNAL_ERROR;
  handle_record *h = &handles[__atomic_fetch_add(&handle_count, 1, __ATOMIC_RELAXED) % 16];
  *h = (handle_record){NULL, NULL};
  *handle = h;
  return hip->is_real ? cublas.create(&h->real) : SUCCESS;
}

EXPORT int rocblas_destroy_handle(handle_record *handle);
EXPORT int rocblas_destroy_handle(handle_record *handle) {
  return handle->real ? cublas.destroy(handle->real) : SUCCESS;
}

EXPORT int rocblas_set_stream(handle_record *handle, cu_stream stream);
EXPORT int rocblas_set_stream(handle_record *handle, cu_stream stream) {
  if (standin_hip_beside()->enter()) return INTERNAL_ERROR;
  handle->stream = stream;
  return handle->real ? cublas.set_stream(handle->real, stream) : SUCCESS;
}

EXPORT int rocblas_set_workspace(handle_record *handle, void *memory, size_t bytes);
EXPORT int rocblas_set_workspace(handle_record *handle, void *memory, size_t bytes) {
  if (!memory || bytes == 0) return INTERNAL_ERROR;
  return handle->real ? cublas.set_workspace(handle->real, memory, bytes) : SUCCESS;
}

// --- Products -------------------------------------------------------------------------------------------------------

// CUDA's number for a type.
static int cuda_type(int type) {
  switch (type) {
    case F16:
      return LT_R_16F;
    case F32:
      return LT_R_32F;
    case F64:
      return LT_R_64F;
    case I8:
      return LT_R_8I;
    case I32:
      return LT_R_32I;
    default:
      return LT_R_16BF;
  }
}

typedef handle_record *rocblas_handle;

EXPORT int rocblas_gemm_strided_batched_ex(rocblas_handle handle, int turn_a, int turn_b, int m, int n, int k,
                                           const void *alpha, const void *a, int a_type, int a_leading,
                                           int64_t a_stride, const void *b, int b_type, int b_leading, int64_t b_stride,
                                           const void *beta, const void *c, int c_type, int c_leading, int64_t c_stride,
                                           void *d, int d_type, int d_leading, int64_t d_stride, int batch,
                                           int compute_type, int algorithm, int32_t solution, uint32_t flags);
EXPORT int rocblas_gemm_strided_batched_ex(rocblas_handle handle, int turn_a, int turn_b, int m, int n, int k,
                                           const void *alpha, const void *a, int a_type, int a_leading,
                                           int64_t a_stride, const void *b, int b_type, int b_leading, int64_t b_stride,
                                           const void *beta, const void *c, int c_type, int c_leading, int64_t c_stride,
                                           void *d, int d_type, int d_leading, int64_t d_stride, int batch,
                                           int compute_type, int algorithm, int32_t solution, uint32_t flags) {
  if (algorithm || solution || flags) return NOT_IMPLEMENTED;
  if (handle->real) {
    int compute = compute_type == F64 ? 70 : compute_type == I32 ? 72 : 68;
    if (c != d) return NOT_IMPLEMENTED;  // cuBLAS has no fourth matrix
    return cublas.multiply(handle->real, turn_a == TRANSPOSED, turn_b == TRANSPOSED, m, n, k, alpha, a,
                           cuda_type(a_type), a_leading, a_stride, b, cuda_type(b_type), b_leading, b_stride, beta, d,
                           cuda_type(d_type), d_leading, d_stride, batch, compute, -1);
  }
  int sums = compute_type == F64 ? LT_R_64F : compute_type == I32 ? LT_R_32I : LT_R_32F;
  standin_product product = {
      .m = m,
      .n = n,
      .k = k,
      .batch = batch,
      .alpha = standin_hip_factor(alpha, sums),
      .beta = standin_hip_factor(beta, sums),
      .a = {a, cuda_type(a_type), turn_a == TRANSPOSED, a_leading, a_stride},
      .b = {b, cuda_type(b_type), turn_b == TRANSPOSED, b_leading, b_stride},
      .c = {c, cuda_type(c_type), false, c_leading, c_stride},
      .d = d,
      .d_leading = d_leading,
      .d_stride = d_stride,
  };
  if (c_type != d_type) return NOT_IMPLEMENTED;
  return standin_hip_multiply(handle->stream, &product) ? INTERNAL_ERROR : SUCCESS;
}
