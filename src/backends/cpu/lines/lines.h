// SPDX-License-Identifier: MIT
// Native operators on rows and columns that are not part of the browser module, which must stay small; kernels compute them there. lines_wasm.c replaces this
// folder in that build.
#ifndef TSRI_CPU_LINES_H
#define TSRI_CPU_LINES_H

#include "backends/cpu/cpu.h"

// Whether tsri_cpu_lines computes an operator. Of those that it declines, sorting whole rows is done in rows/; the others are not native.
bool tsri_cpu_has_lines(const tsri_native_op *op);

// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_lines(cpu_device *device, const tsri_native_op *op);

// argmax and argmin, with int32_t results. tsri_cpu_has_arg must have accepted the strides; the axis must not be empty.
bool tsri_cpu_has_arg(const tsri_reduce_op *op);
tsr_status tsri_cpu_arg(cpu_device *device, tsr_dtype dtype, const tsri_reduce_op *op);

// Whether sort_short.c sorts these rows faster than rows/sort.c; the results are the same.
bool tsri_cpu_has_short_sort(tsr_dtype dtype, const tsri_sort_op *op);
void tsri_cpu_sort_short(const cpu_device *device, tsr_dtype dtype, const tsri_sort_op *op);

// The order of the first few elements of each sorted row, or of all elements of a very short row. tsri_cpu_has_topk must have accepted the operator.
bool tsri_cpu_has_topk(const tsri_sort_op *op);
bool tsri_cpu_topk_has_vectors(const cpu_device *device, tsr_dtype dtype,
                               int64_t keep);  // whether AVX-512 registers are used, which is much faster
void tsri_cpu_topk(const cpu_device *device, tsr_dtype dtype, const tsri_sort_op *op);

void tsri_cpu_softmax(cpu_device *device, tsr_dtype dtype, const tsri_softmax_op *op);

void tsri_cpu_join(const cpu_device *device, tsr_dtype dtype, const tsri_join_op *op);

// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_norm(cpu_device *device, tsr_dtype dtype, const tsri_norm_op *op);
tsr_status tsri_cpu_norm_gradient(cpu_device *device, const tsri_norm_op *op);

#endif
