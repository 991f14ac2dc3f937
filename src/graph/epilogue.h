// SPDX-License-Identifier: MIT
// Epilogues: element-wise operators fused into the store of an operator's own kernel (the bias and relu of a matmul) or
// into its loads (the scale before a softmax).
//
// A kernel allows this by declaring hooks in its signature (docs/kernel-language.md), which generated text fills:
//
//   hook A load(u32 index, u32 column)                 returns element `index` of the first input, in row-major order
//   hook void store(A value, u32 index, u32 column)    stores `value` as element `index` of the result
//
// `column` is the index on the last axis. A kernel whose parameter WIDE_Y is 1 stores four elements at a time by this hook, and by `store` only what is left at
// the end; `at` is a multiple of 4:
//
//   hook void store_quad(Ax4 values, u32 at, u32 from)  stores elements `at` to `at` + 3, of columns `from` to `from` + 3
#ifndef TSRI_EPILOGUE_H
#define TSRI_EPILOGUE_H

#include "graph/arguments.h"
#include "graph/codegen.h"
#include "runtime/program.h"

typedef struct tsri_epilogue {
  const tsri_codegen *codegen;  // form is TSRI_FORM_HOOK; tsri_codegen_prepare has been called
  const tsri_argument *leaves;  // the buffers it reads, in the order of codegen->fused->leaves
} tsri_epilogue;

// As tsri_embedded_kernel; if the run has an epilogue, the kernel's hooks are filled with it.
tsr_status tsri_hooked_kernel(const tsri_kernel_run *run, const char *file, const char *kernel,
                              const tsri_lang_arg *args, size_t arg_count, const tsri_built **out_built);

// Whether operators are fused into the kernel's loads, so that it must use its load hook.
bool tsri_epilogue_loads(const tsri_kernel_run *run);

// Whether an operator that is fused into the kernel's stores reads a leaf by its column (a bias along the last axis).
bool tsri_epilogue_reads_columns(const tsri_kernel_run *run);

// The dtype that the run's kernel stores: the dtype of the last operator of its epilogue; without an epilogue, the node's dtype.
tsr_dtype tsri_epilogue_dtype(const tsri_kernel_run *run);

// Binds the buffers and scalars that the epilogue adds after the kernel's own parameters, and returns the number of the buffers. Without an epilogue these are
// none.
uint32_t tsri_epilogue_pass(const tsri_kernel_run *run, tsri_arguments *args);

#endif
