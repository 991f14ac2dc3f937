// SPDX-License-Identifier: MIT
// The arguments of a launch, bound by the names of the kernel's parameter list.
//
//   tsri_arguments args;
//   tsri_arguments_init(&args, built->kernel);
//   tsri_arguments_buffer(&args, "x", (tsri_argument){…});
//   tsri_arguments_word(&args, "n", count);
//   tsr_status status = tsri_arguments_check(&args);    // then launch with args.buffers and args.params
//
// A name that the kernel does not have, one that is given twice and one that is not given are our mistakes:
// TSR_ERR_INTERNAL, with kernel and name. The first failure is kept; what comes after it does nothing.
#ifndef TSRI_GRAPH_ARGUMENTS_H
#define TSRI_GRAPH_ARGUMENTS_H

#include "runtime/program.h"

typedef struct tsri_arguments {
  const tsri_kernel *kernel;
  tsr_status status;
  uint32_t next_buffer, next_param;      // where a search begins: after what was found last, since most come in order
  uint64_t buffers_given, params_given;  // bits
  tsri_argument buffers[TSRI_LANG_MAX_BUFFERS];
  uint64_t params[TSRI_LANG_MAX_PARAMS];  // the parameter block; each takes 8 bytes at most
} tsri_arguments;

void tsri_arguments_init(tsri_arguments *args, const tsri_kernel *kernel);

void tsri_arguments_buffer(tsri_arguments *args, const char *name, tsri_argument buffer);

// A scalar, as the kernel declares it. `word`: modulo 2^32 where that is u32, so that negative strides wrap around.
void tsri_arguments_word(tsri_arguments *args, const char *name, int64_t value);
void tsri_arguments_real(tsri_arguments *args, const char *name, double value);

// Scalars d1, d2, …: `stem` and a number from `first` on, at most 9.
void tsri_arguments_words(tsri_arguments *args, const char *stem, int first, const int64_t *values, int count);

// The kernel's last buffers and scalars count as given: generated code that added them fills them itself.
void tsri_arguments_give_last(tsri_arguments *args, uint32_t buffer_count, uint32_t param_count);

// The first failure, or that something is missing.
tsr_status tsri_arguments_check(const tsri_arguments *args);

#endif
