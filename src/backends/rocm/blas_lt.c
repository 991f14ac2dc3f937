// SPDX-License-Identifier: MIT
// hipBLASLt: the form of cuBLASLt with other numbers, so that products are those of cuda/blas.c. Unlike rocBLAS it adds a
// bias and applies an activation in the product's own kernel.
#include "backends/cuda/blas_api.h"
#include "backends/rocm/blas_lt_api.h"
#include "backends/rocm/rocm.h"

#if defined(_WIN32)
static const char *const library_names[] = {"libhipblaslt.dll", "hipblaslt.dll", NULL};
#else
static const char *const library_names[] = {"libhipblaslt.so.1", "libhipblaslt.so.0", "/opt/rocm/lib/libhipblaslt.so",
                                            NULL};
#endif
const char *const *tsri_hipblaslt_names = library_names;

static const tsri_entry_point entries[] = {LT_ENTRY_POINTS(LT_ENTRY_OFFSET, "hipblasLt"){NULL, 0}};

const lt_library tsri_hipblaslt = {
    .title = "hipBLASLt",
    .names = &tsri_hipblaslt_names,
    .entries = entries,
    .alloc_failed = HIPLT_ALLOC_FAILED,
    .invalid_value = HIPLT_INVALID_VALUE,
    .arch_mismatch = HIPLT_ARCH_MISMATCH,
    .not_supported = HIPLT_NOT_SUPPORTED,
    .compute_32f = HIPLT_COMPUTE_32F,
    .compute_64f = HIPLT_COMPUTE_64F,
    .compute_32i = HIPLT_COMPUTE_32I,
    .compute_32f_fast_tf32 = HIPLT_COMPUTE_32F_FAST_TF32,
    .as_is = HIPLT_AS_IS,
    .transposed = HIPLT_TRANSPOSED,
    .transpose_a = HIPLT_TRANSPOSE_A,
    .transpose_b = HIPLT_TRANSPOSE_B,
    .epilogue = HIPLT_EPILOGUE,
    .bias_pointer = HIPLT_BIAS_POINTER,
    .batch_count = HIPLT_BATCH_COUNT,
    .batch_stride = HIPLT_BATCH_STRIDE,
    .algorithm_bytes = sizeof(hiplt_algorithm),
    .needs_early_bias = true,
};
