// SPDX-License-Identifier: MIT
// The part of the binary interfaces of cuSOLVER and cuBLAS that we use, declared with our own types and constants as in cuda_api.h. Matrices are column-major.
#ifndef TSRI_CUDA_SOLVER_API_H
#define TSRI_CUDA_SOLVER_API_H

#include "backends/cuda/cuda_api.h"

typedef struct solver_handle_tag *solver_handle;
typedef struct solver_jacobi_tag *solver_jacobi;  // options of gesvdj
typedef struct trsm_handle_tag *trsm_handle;      // of cuBLAS

enum { SOLVER_SUCCESS = 0, SOLVER_ALLOC_FAILED = 2 };
enum { TRSM_ALLOC_FAILED = 3 };
enum { SOLVER_LOWER = 0, SOLVER_UPPER = 1 };
enum { SOLVER_VECTORS = 1 };
enum { TRSM_RIGHT = 1, TRSM_NOT_TURNED = 0, TRSM_TURNED = 1, TRSM_UNIT = 1 };

#define CUSOLVER_ENTRY_POINTS(X)                                                \
  X(Create, "cusolverDnCreate", (solver_handle * handle))                       \
  X(Destroy, "cusolverDnDestroy", (solver_handle handle))                       \
  X(SetStream, "cusolverDnSetStream", (solver_handle handle, cu_stream stream)) \
  X(JacobiCreate, "cusolverDnCreateGesvdjInfo", (solver_jacobi * options))      \
  X(JacobiDestroy, "cusolverDnDestroyGesvdjInfo", (solver_jacobi options))

#define CUBLAS_ENTRY_POINTS(X)                         \
  X(Create, "cublasCreate_v2", (trsm_handle * handle)) \
  X(Destroy, "cublasDestroy_v2", (trsm_handle handle)) \
  X(SetStream, "cublasSetStream_v2", (trsm_handle handle, cu_stream stream))

// Functions that exist for each dtype; these names have a space where the dtype's letter goes. Addresses are on the device, except counts and alpha.
#define CUSOLVER_DTYPE_ENTRY_POINTS(X)                                                                                \
  X(PotrfSize, "potrf_bufferSize", (solver_handle handle, int uplo, int n, cu_address a, int lda, int *count))        \
  X(Potrf, "potrf",                                                                                                   \
    (solver_handle handle, int uplo, int n, cu_address a, int lda, cu_address work, int count, cu_address info))      \
  X(GetrfSize, "getrf_bufferSize", (solver_handle handle, int m, int n, cu_address a, int lda, int *count))           \
  X(Getrf, "getrf",                                                                                                   \
    (solver_handle handle, int m, int n, cu_address a, int lda, cu_address work, cu_address exchanges,                \
     cu_address info))                                                                                                \
  X(GeqrfSize, "geqrf_bufferSize", (solver_handle handle, int m, int n, cu_address a, int lda, int *count))           \
  X(Geqrf, "geqrf",                                                                                                   \
    (solver_handle handle, int m, int n, cu_address a, int lda, cu_address tau, cu_address work, int count,           \
     cu_address info))                                                                                                \
  X(OrgqrSize, "orgqr_bufferSize",                                                                                    \
    (solver_handle handle, int m, int n, int k, cu_address a, int lda, cu_address tau, int *count))                   \
  X(Orgqr, "orgqr",                                                                                                   \
    (solver_handle handle, int m, int n, int k, cu_address a, int lda, cu_address tau, cu_address work, int count,    \
     cu_address info))                                                                                                \
  X(SyevdSize, "syevd_bufferSize",                                                                                    \
    (solver_handle handle, int job, int uplo, int n, cu_address a, int lda, cu_address w, int *count))                \
  X(Syevd, "syevd",                                                                                                   \
    (solver_handle handle, int job, int uplo, int n, cu_address a, int lda, cu_address w, cu_address work, int count, \
     cu_address info))                                                                                                \
  X(GesvdjSize, "gesvdj_bufferSize",                                                                                  \
    (solver_handle handle, int job, int is_short, int m, int n, cu_address a, int lda, cu_address s, cu_address u,    \
     int ldu, cu_address v, int ldv, int *count, solver_jacobi options))                                              \
  X(Gesvdj, "gesvdj",                                                                                                 \
    (solver_handle handle, int job, int is_short, int m, int n, cu_address a, int lda, cu_address s, cu_address u,    \
     int ldu, cu_address v, int ldv, cu_address work, int count, cu_address info, solver_jacobi options))

// cublasStrsm_v2 and cublasDtrsm_v2.
typedef int(CUDA_CALL *trsm_fn)(trsm_handle handle, int side, int uplo, int turn, int diagonal, int m, int n,
                                const void *alpha, cu_address a, int lda, cu_address b, int ldb);

#endif
