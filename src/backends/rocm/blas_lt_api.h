// SPDX-License-Identifier: MIT
// hipBLASLt's numbers, where they are not cuBLASLt's (cuda/blas_api.h).
//
// They have been these since ROCm 6.1 (libhipblaslt.so.0) and are the same in ROCm 7 (libhipblaslt.so.1). ROCm 6.0 and
// older have other numbers for element types and compute types.
#ifndef TSRI_ROCM_BLAS_LT_API_H
#define TSRI_ROCM_BLAS_LT_API_H

#include <stddef.h>

enum { HIPLT_FIRST_VERSION = 601 };  // of HIP: 100 * major + minor

enum { HIPLT_ALLOC_FAILED = 2, HIPLT_INVALID_VALUE = 3, HIPLT_NOT_SUPPORTED = 7, HIPLT_ARCH_MISMATCH = 8 };
enum { HIPLT_AS_IS = 111, HIPLT_TRANSPOSED = 112 };
// Types in which sums are computed.
enum { HIPLT_COMPUTE_32F = 2, HIPLT_COMPUTE_32F_FAST_TF32 = 6, HIPLT_COMPUTE_64F = 7, HIPLT_COMPUTE_32I = 9 };
enum { HIPLT_TRANSPOSE_A = 0, HIPLT_TRANSPOSE_B = 1, HIPLT_EPILOGUE = 2, HIPLT_BIAS_POINTER = 3 };  // of an operation
enum { HIPLT_BATCH_COUNT = 0, HIPLT_BATCH_STRIDE = 1 };                                             // of a layout
enum { HIPLT_MAX_WORKSPACE = 1 };  // of a preference, as in cuBLASLt; there are none for alignments or partial sums

typedef struct hiplt_algorithm {
  unsigned char data[16];
  size_t most_workspace_bytes;
} hiplt_algorithm;

#endif
