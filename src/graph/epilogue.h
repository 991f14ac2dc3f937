// SPDX-License-Identifier: MIT
// Element-wise operators that run in the store of an operator's own kernel (the bias and relu of a matmul, say), or in its loads
// (the scale before a softmax).
//
// A kernel offers this by marks in its text (kernels/*.tk), all in comments, so that it stands on its own as well:
//
//   u32 n, f32 alpha /*+params*/) {                              more parameters go here, after the last one
//   y[at] = T(sum);  //+store value | index | column             this line is replaced: `value` in the type sums are kept in,
//                                                                `index` of the result in row-major order, `column` on its last axis
//                                                                (left out where the operator's hook is TSRI_HOOK_INDEX)
//   A v = A(x[at + i]);  //+load A v | index | column            this line is replaced: it declares `v` of type A, the element
//                                                                `index` of the first input in row-major order
#ifndef TSRI_EPILOGUE_H
#define TSRI_EPILOGUE_H

#include "graph/codegen.h"
#include "runtime/program.h"

typedef struct tsri_epilogue {
  const tsri_codegen *codegen;  // TSRI_FORM_HOOK, prepared
  const tsri_argument *leaves;  // what it reads, in the codegen's order
} tsri_epilogue;

// As tsri_embedded_kernel, with the run's epilogue in the kernel's loads and stores if there is one.
tsr_status tsri_hooked_kernel(const tsri_kernel_run *run, const char *file, const char *kernel, const char *defines,
                              const tsri_built **out_built);

// Adds what the epilogue reads to a launch: arguments and parameters after the kernel's own. Nothing without an epilogue.
void tsri_epilogue_pass(const tsri_kernel_run *run, const tsri_built *built, tsri_argument *arguments,
                        uint32_t *buffer_count, uint64_t *params, uint32_t *param_count);

#endif
