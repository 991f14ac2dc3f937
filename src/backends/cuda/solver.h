// SPDX-License-Identifier: MIT
// Matrix factorisations by cuSOLVER, and triangular systems by cuBLAS, which comes with it. Both libraries are opened at the first operator that is
// large enough for them.
#ifndef TSRI_CUDA_SOLVER_H
#define TSRI_CUDA_SOLVER_H

#include "backends/cuda/cuda.h"

// Whether these libraries compute this TSRI_NATIVE_FACTOR or TSRI_NATIVE_SOLVE. Opens them if the operator is large enough.
bool tsri_cuda_has_solver(cuda_device *device, const tsri_native_op *op);

// Queues the operator. The device's context must be current.
//
// Errors: TSR_ERR_UNSUPPORTED while a graph is recorded, since the libraries may wait for the device, and use work space that may be freed before the graph runs;
//         TSR_ERR_OUT_OF_MEMORY, TSR_ERR_LAUNCH.
tsr_status tsri_cuda_solve(cuda_queue *queue, const tsri_native_op *op);

// Library names to try, in order; each list ends with NULL. Tests replace them.
extern const char *const *tsri_cusolver_names, *const *tsri_cublas_names;

#endif
