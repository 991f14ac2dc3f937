// SPDX-License-Identifier: MIT
// Matrix factorisations by LAPACK: OpenBLAS, or any other library with the usual function names and 32-bit integers. It is opened at the first operator that is large
// enough.
#ifndef TSRI_CPU_LAPACK_H
#define TSRI_CPU_LAPACK_H

#include "backends/cpu/cpu.h"

// Functions of one dtype. Matrices and numbers are float or double; the lengths of character arguments come last, as Fortran compilers pass them.
typedef struct tsri_lapack {
  void (*potrf)(const char *uplo, const int *n, void *a, const int *lda, int *info, size_t uplo_bytes);
  void (*getrf)(const int *m, const int *n, void *a, const int *lda, int *exchanges, int *info);
  void (*geqrf)(const int *m, const int *n, void *a, const int *lda, void *tau, void *work, const int *work_count,
                int *info);
  void (*orgqr)(const int *m, const int *n, const int *k, void *a, const int *lda, const void *tau, void *work,
                const int *work_count, int *info);
  void (*syevd)(const char *job, const char *uplo, const int *n, void *a, const int *lda, void *w, void *work,
                const int *work_count, int *numbers, const int *number_count, int *info, size_t job_bytes,
                size_t uplo_bytes);
  void (*gesdd)(const char *job, const int *m, const int *n, void *a, const int *lda, void *s, void *u, const int *ldu,
                void *vt, const int *ldvt, void *work, const int *work_count, int *numbers, int *info,
                size_t job_bytes);
  void (*trsm)(const char *side, const char *uplo, const char *turn, const char *diagonal, const int *m, const int *n,
               const void *alpha, const void *a, const int *lda, void *b, const int *ldb, size_t side_bytes,
               size_t uplo_bytes, size_t turn_bytes, size_t diagonal_bytes);
} tsri_lapack;

// Library names to try, in order; the list ends with NULL. Tests replace the list, and then call tsri_lapack_forget.
extern const char *const *tsri_lapack_names;
void tsri_lapack_forget(void);

// The functions for f32 or f64; NULL if there is no library, which is logged once. Any thread.
const tsri_lapack *tsri_lapack_for(tsr_dtype dtype);

// Call these before and after calls of LAPACK functions: in between, a library with threads of its own uses only the calling thread. Afterwards its number of threads is
// restored, for other users of the library in the process. Any thread, also several at once.
void tsri_lapack_begin(void);
void tsri_lapack_end(void);

// Whether the device factors, or solves, by LAPACK. Opens the library if the operator is worth it.
bool tsri_cpu_has_lapack(const cpu_device *device, const tsri_native_op *op);

// Runs a TSRI_NATIVE_FACTOR or TSRI_NATIVE_SOLVE that tsri_cpu_has_lapack accepted. Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_lapack(cpu_device *device, const tsri_native_op *op);

#endif
