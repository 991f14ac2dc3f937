// SPDX-License-Identifier: MIT
// Matrix products by plain loops, for the stand-ins of rocBLAS and hipBLASLt, and what both need of the stand-in for HIP.
#ifndef TESSERA_STANDIN_HIP_PRODUCT_H
#define TESSERA_STANDIN_HIP_PRODUCT_H

#include <stdint.h>

#include "backends/cuda/blas_api.h"
#include "standins/hip/hip.h"

// What the libraries beside libamdhip64 use of it.
typedef struct standin_beside {
  bool is_real;  // there is a real CUDA driver beneath
  int (*enter)(void);
  bool (*is_recording)(cu_stream stream);
  int (*queue)(cu_stream stream, void (*function)(void *), void *user);
} standin_beside;

const standin_beside *standin_hip_beside(void);

// Looks up `name` in a library. Says so if it is not there.
void standin_hip_find(void *library, const char *name, void *out_function);

// A column-major matrix; `type` is one of LT_R_*.
typedef struct standin_matrix {
  const void *memory;
  int type;
  bool is_turned;
  int64_t leading, stride;
} standin_matrix;

// d = activation(alpha * a b + beta * c + bias); d has the type of c.
typedef struct standin_product {
  int64_t m, n, k, batch;
  double alpha, beta;
  standin_matrix a, b, c;
  void *d;
  int64_t d_leading, d_stride;
  const void *bias;   // of c's type; NULL: none
  uint32_t epilogue;  // LT_EPILOGUE_RELU or LT_EPILOGUE_GELU: that activation
} standin_product;

// A factor that is stored in the type of the sums.
double standin_hip_factor(const void *factor, int type);

// Queues the product on the stream of the stand-in without a GPU. Returns HIP's code.
int standin_hip_multiply(cu_stream stream, const standin_product *product);

#endif
