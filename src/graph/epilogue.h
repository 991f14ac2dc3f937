// SPDX-License-Identifier: MIT
// Element-wise operators that run in the store of an operator's own kernel (the bias and relu of a matmul, say), or in its loads
// (the scale before a softmax).
//
// A kernel offers this by hooks of its signature (docs/kernel-language.md), which generated text fills:
//
//   hook A load(u32 index, u32 column)                 element `index` of the first input, in row-major order
//   hook void store(A value, u32 index, u32 column)    `value` as element `index` of the result
//
// `column` is the index on the last axis.
#ifndef TSRI_EPILOGUE_H
#define TSRI_EPILOGUE_H

#include "graph/arguments.h"
#include "graph/codegen.h"
#include "runtime/program.h"

typedef struct tsri_epilogue {
  const tsri_codegen *codegen;  // TSRI_FORM_HOOK, prepared
  const tsri_argument *leaves;  // what it reads, in the codegen's order
} tsri_epilogue;

// As tsri_embedded_kernel, with the run's epilogue in the kernel's hooks if there is one.
tsr_status tsri_hooked_kernel(const tsri_kernel_run *run, const char *file, const char *kernel,
                              const tsri_lang_arg *args, size_t arg_count, const tsri_built **out_built);

// Binds what the epilogue reads: the parameters of its fillings, which come after the kernel's own. Nothing without an epilogue.
void tsri_epilogue_pass(const tsri_kernel_run *run, tsri_arguments *args);

#endif
