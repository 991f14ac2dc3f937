// SPDX-License-Identifier: MIT
// The part of cuBLASLt's binary interface that we use, declared with our own types and constants as in cuda_api.h. AMD's
// hipBLASLt has the same functions; lt_library holds the numbers in which the two differ (rocm/blas_lt.c).
#ifndef TSRI_CUDA_BLAS_API_H
#define TSRI_CUDA_BLAS_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cuda/cuda_api.h"

typedef struct lt_handle_tag *lt_handle;
typedef struct lt_operation_tag *lt_operation;
typedef struct lt_layout_tag *lt_layout;
typedef struct lt_preference_tag *lt_preference;

enum { LT_SUCCESS = 0, LT_ALLOC_FAILED = 3, LT_INVALID_VALUE = 7, LT_ARCH_MISMATCH = 8, LT_NOT_SUPPORTED = 15 };

// Element types and epilogues: the same numbers in both libraries.
enum { LT_R_32F = 0, LT_R_64F = 1, LT_R_16F = 2, LT_R_8I = 3, LT_R_32I = 10, LT_R_16BF = 14 };
enum { LT_EPILOGUE_DEFAULT = 1, LT_EPILOGUE_RELU = 2, LT_EPILOGUE_BIAS = 4, LT_EPILOGUE_GELU = 32 };

// Types in which sums are computed.
enum { LT_COMPUTE_32F = 68, LT_COMPUTE_64F = 70, LT_COMPUTE_32I = 72, LT_COMPUTE_32F_FAST_TF32 = 77 };
enum { LT_TRANSPOSE_A = 3, LT_TRANSPOSE_B = 4, LT_EPILOGUE = 7, LT_BIAS_POINTER = 8 };  // attributes of an operation
enum { LT_BATCH_COUNT = 5, LT_BATCH_STRIDE = 6 };                                       // attributes of a layout
// Attributes of a preference. The alignments of a, b, c and d have consecutive numbers.
enum { LT_MAX_WORKSPACE = 1, LT_REDUCTION_MASK = 3, LT_MIN_ALIGNMENT_A = 5 };
enum { LT_REDUCE_INPLACE = 1, LT_REDUCE_COMPUTE_TYPE = 2 };

typedef struct lt_algorithm {
  uint64_t data[8];
} lt_algorithm;

typedef struct lt_choice {
  lt_algorithm algorithm;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
} lt_choice;

// `prefix`: "cublasLt" or "hipblasLt".
#define LT_ENTRY_POINTS(X, prefix)                                                                                    \
  X(Create, prefix "Create", (lt_handle * handle))                                                                    \
  X(Destroy, prefix "Destroy", (lt_handle handle))                                                                    \
  X(DescCreate, prefix "MatmulDescCreate", (lt_operation * operation, int compute_type, int scale_type))              \
  X(DescDestroy, prefix "MatmulDescDestroy", (lt_operation operation))                                                \
  X(DescSet, prefix "MatmulDescSetAttribute",                                                                         \
    (lt_operation operation, int attribute, const void *value, size_t bytes))                                         \
  X(LayoutCreate, prefix "MatrixLayoutCreate",                                                                        \
    (lt_layout * layout, int type, uint64_t rows, uint64_t cols, int64_t leading))                                    \
  X(LayoutDestroy, prefix "MatrixLayoutDestroy", (lt_layout layout))                                                  \
  X(LayoutSet, prefix "MatrixLayoutSetAttribute", (lt_layout layout, int attribute, const void *value, size_t bytes)) \
  X(PreferenceCreate, prefix "MatmulPreferenceCreate", (lt_preference * preference))                                  \
  X(PreferenceDestroy, prefix "MatmulPreferenceDestroy", (lt_preference preference))                                  \
  X(PreferenceSet, prefix "MatmulPreferenceSetAttribute",                                                             \
    (lt_preference preference, int attribute, const void *value, size_t bytes))                                       \
  X(GetHeuristic, prefix "MatmulAlgoGetHeuristic",                                                                    \
    (lt_handle handle, lt_operation operation, lt_layout a, lt_layout b, lt_layout c, lt_layout d,                    \
     lt_preference preference, int wanted, lt_choice *choices, int *count))                                           \
  X(Matmul, prefix "Matmul",                                                                                          \
    (lt_handle handle, lt_operation operation, const void *alpha, const void *a, lt_layout a_layout, const void *b,   \
     lt_layout b_layout, const void *beta, const void *c, lt_layout c_layout, void *d, lt_layout d_layout,            \
     const lt_algorithm *algorithm, void *workspace, size_t workspace_bytes, cu_stream stream))

#define TSRI_ENTRY(name, exported, parameters) int(CUDA_CALL * name) parameters;
typedef struct lt_entries {
  LT_ENTRY_POINTS(TSRI_ENTRY, "")
} lt_entries;
#undef TSRI_ENTRY

#define LT_ENTRY_OFFSET(name, exported, parameters) {exported, offsetof(lt_entries, name)},

// A library with these functions, and its values for what the enums above name.
typedef struct lt_library {
  const char *title;                       // "cuBLASLt", for messages
  const char *const *const *names;         // the list of file names to try, which tests replace
  const struct tsri_entry_point *entries;  // of lt_entries
  int alloc_failed, invalid_value, arch_mismatch, not_supported;
  int compute_32f, compute_64f, compute_32i, compute_32f_fast_tf32;
  int as_is, transposed;                                 // values of transpose_a and transpose_b
  int transpose_a, transpose_b, epilogue, bias_pointer;  // attributes of an operation
  int batch_count, batch_stride;                         // attributes of a layout
  size_t algorithm_bytes;  // bytes of lt_algorithm that the library uses; lt_choice's other members follow them
  bool has_preferences;    // preferences other than LT_MAX_WORKSPACE: alignments and the ways to add partial sums
  bool needs_early_bias;   // proposes nothing for a bias whose address is not set
} lt_library;

extern const lt_library tsri_cublaslt;  // blas.c

#endif
