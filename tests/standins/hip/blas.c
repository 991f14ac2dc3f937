// SPDX-License-Identifier: MIT
// librocblas: one function, by plain loops on the CPU, or by cuBLAS on a real NVIDIA GPU.
#include <dlfcn.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "standins/hip/hip.h"

enum { SUCCESS = 0, NOT_IMPLEMENTED = 2, INTERNAL_ERROR = 6 };
enum { TRANSPOSED = 112, F16 = 150, F32 = 151, F64 = 152, I8 = 160, I32 = 162 };  // else: bf16

static int (*synchronize)(cu_stream stream), (*enter)(size_t *free_bytes, size_t *total_bytes);
static bool (*is_recording)(cu_stream stream);
static bool is_real;

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

static void find(void *library, const char *name, void *out) {
  void *symbol = dlsym(library, name);
  if (!symbol) fprintf(stderr, "stand-in: no %s\n", name);
  memcpy(out, &symbol, sizeof symbol);
}

static void open_libraries(void) {
  bool (*has_gpu)(void) = NULL;
  if (synchronize) return;
  void *hip = standin_hip_open((const char *const[]){"libamdhip64.so.6", NULL});
  find(hip, "hipStreamSynchronize", &synchronize);
  find(hip, "hipMemGetInfo", &enter);
  find(hip, "standin_hip_is_recording", &is_recording);
  find(hip, "standin_hip_has_gpu", &has_gpu);
  is_real = has_gpu();
  if (!is_real) return;
  void *library = standin_hip_open((const char *const[]){"libcublas.so.13", "libcublas.so.12", NULL});
  find(library, "cublasCreate_v2", &cublas.create);
  find(library, "cublasDestroy_v2", &cublas.destroy);
  find(library, "cublasSetStream_v2", &cublas.set_stream);
  find(library, "cublasSetWorkspace_v2", &cublas.set_workspace);
  find(library, "cublasGemmStridedBatchedEx", &cublas.multiply);
}

// --- Handles --------------------------------------------------------------------------------------------------------

EXPORT int rocblas_create_handle(handle_record **handle);
EXPORT int rocblas_create_handle(handle_record **handle) {
  size_t free_bytes = 0, total = 0;
  open_libraries();
  if (enter(&free_bytes, &total)) return INTERNAL_ERROR;
  handle_record *h = &handles[__atomic_fetch_add(&handle_count, 1, __ATOMIC_RELAXED) % 16];
  *h = (handle_record){NULL, NULL};
  *handle = h;
  return is_real ? cublas.create(&h->real) : SUCCESS;
}

EXPORT int rocblas_destroy_handle(handle_record *handle);
EXPORT int rocblas_destroy_handle(handle_record *handle) { return is_real ? cublas.destroy(handle->real) : SUCCESS; }

EXPORT int rocblas_set_stream(handle_record *handle, cu_stream stream);
EXPORT int rocblas_set_stream(handle_record *handle, cu_stream stream) {
  size_t free_bytes = 0, total = 0;
  if (enter(&free_bytes, &total)) return INTERNAL_ERROR;
  handle->stream = stream;
  return is_real ? cublas.set_stream(handle->real, stream) : SUCCESS;
}

EXPORT int rocblas_set_workspace(handle_record *handle, void *memory, size_t bytes);
EXPORT int rocblas_set_workspace(handle_record *handle, void *memory, size_t bytes) {
  if (!memory || bytes == 0) return INTERNAL_ERROR;
  return is_real ? cublas.set_workspace(handle->real, memory, bytes) : SUCCESS;
}

// --- Products -------------------------------------------------------------------------------------------------------

typedef struct matrix {
  const void *memory;
  int type, leading, is_turned;
  int64_t stride;
} matrix;

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static double from_half(uint16_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                               : ldexp(exponent ? fraction + 1024 : fraction, (exponent ? exponent : 1) - 25);
  return bits >> 15 ? -size : size;
}

static double get(const matrix *m, int64_t batch, int row, int col) {
  int64_t at = batch * m->stride + (m->is_turned ? col + (int64_t)row * m->leading : row + (int64_t)col * m->leading);
  switch (m->type) {
    case F16:
      return from_half(((const uint16_t *)m->memory)[at]);
    case F32:
      return (double)((const float *)m->memory)[at];
    case F64:
      return ((const double *)m->memory)[at];
    case I8:
      return ((const int8_t *)m->memory)[at];
    case I32:
      return ((const int32_t *)m->memory)[at];
    default:
      return (double)from_bits((uint32_t)((const uint16_t *)m->memory)[at] << 16);
  }
}

// Rounds to the nearest number with `digits` binary digits, ties to even; below 2^lowest to a multiple of 2^(lowest - digits + 1).
static double rounded(double x, int digits, int lowest) {
  int exponent = 0;
  if (x == 0 || !isfinite(x)) return x;
  (void)frexp(x, &exponent);
  int unit = (exponent - 1 > lowest ? exponent - 1 : lowest) - digits + 1;
  return ldexp(nearbyint(ldexp(x, -unit)), unit);
}

static uint16_t to_half(double x) {
  uint16_t sign = signbit(x) ? 0x8000 : 0;
  double size = fabs(rounded(x, 11, -14));
  if (isnan(x)) return 0x7e00;
  if (size >= 65536) return (uint16_t)(sign | 0x7c00);
  if (size < ldexp(1, -14)) return (uint16_t)(sign | (unsigned)ldexp(size, 24));
  int exponent = 0;
  double fraction = frexp(size, &exponent);
  return (uint16_t)(sign | ((unsigned)(exponent + 14) << 10) | ((unsigned)ldexp(fraction, 11) & 1023));
}

static void put(void *memory, int type, int64_t at, double value) {
  float narrow = (float)(type == F32 ? value : rounded(value, 8, -126));
  uint32_t bits;
  memcpy(&bits, &narrow, sizeof bits);
  if (type == F32) ((float *)memory)[at] = narrow;
  else if (type == F64) ((double *)memory)[at] = value;
  else if (type == I32) ((int32_t *)memory)[at] = (int32_t)value;
  else if (type == F16) ((uint16_t *)memory)[at] = to_half(value);
  else ((uint16_t *)memory)[at] = (uint16_t)(bits >> 16);
}

static double number(const void *factor, int compute_type) {
  if (compute_type == F64) return *(const double *)factor;
  return compute_type == I32 ? *(const int32_t *)factor : (double)*(const float *)factor;
}

static int cuda_type(int type) {
  return type == F16 ? 2 : type == F32 ? 0 : type == F64 ? 1 : type == I8 ? 3 : type == I32 ? 10 : 14;
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
  double factor = number(alpha, compute_type), share = number(beta, compute_type);
  if (is_real) {
    int compute = compute_type == F64 ? 70 : compute_type == I32 ? 72 : 68;
    if (c != d) return NOT_IMPLEMENTED;  // cuBLAS has no fourth matrix
    return cublas.multiply(handle->real, turn_a == TRANSPOSED, turn_b == TRANSPOSED, m, n, k, alpha, a,
                           cuda_type(a_type), a_leading, a_stride, b, cuda_type(b_type), b_leading, b_stride, beta, d,
                           cuda_type(d_type), d_leading, d_stride, batch, compute, -1);
  }
  if (is_recording(handle->stream)) return NOT_IMPLEMENTED;
  if (synchronize(handle->stream)) return INTERNAL_ERROR;
  matrix left = {a, a_type, a_leading, turn_a == TRANSPOSED, a_stride};
  matrix right = {b, b_type, b_leading, turn_b == TRANSPOSED, b_stride}, third = {c, c_type, c_leading, 0, c_stride};
  for (int64_t z = 0; z < batch; z++) {
    for (int j = 0; j < n; j++) {
      for (int i = 0; i < m; i++) {
        double sum = 0;
        for (int l = 0; l < k; l++) sum += get(&left, z, i, l) * get(&right, z, l, j);
        sum = factor * sum + (share != 0 ? share * get(&third, z, i, j) : 0);
        put(d, d_type, z * d_stride + i + (int64_t)j * d_leading, sum);
      }
    }
  }
  return SUCCESS;
}
