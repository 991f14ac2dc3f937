// SPDX-License-Identifier: MIT
// The arguments of a launch, bound by the names in the kernel's parameter list.
//
//   tsri_arguments args;
//   tsri_arguments_init(&args, built->kernel);
//   tsri_arguments_buffer(&args, "x", (tsri_argument){…});
//   tsri_arguments_word(&args, "n", count);
//   tsr_status status = tsri_arguments_check(&args);    // then launch with args.buffers and args.params
//
// A name that the kernel does not have, a name given twice and a parameter that was not given are mistakes of this
// library: TSR_ERR_INTERNAL, with the kernel and the name. The first failure is kept; later calls do nothing.
#ifndef TSRI_GRAPH_ARGUMENTS_H
#define TSRI_GRAPH_ARGUMENTS_H

#include "runtime/program.h"

typedef struct tsri_arguments {
  const tsri_kernel *kernel;
  tsr_status status;
  // Where the next search by name begins: after the last one found, since callers mostly follow the parameter list.
  uint32_t next_buffer, next_param;
  uint64_t buffers_given, params_given;  // bit i: argument i has been given
  tsri_argument buffers[TSRI_LANG_MAX_BUFFERS];
  uint64_t params[TSRI_LANG_MAX_PARAMS];  // the parameter block; a parameter takes at most 8 bytes
} tsri_arguments;

void tsri_arguments_init(tsri_arguments *args, const tsri_kernel *kernel);

void tsri_arguments_buffer(tsri_arguments *args, const char *name, tsri_argument buffer);

// Gives a scalar, converted to the type the kernel declares. tsri_arguments_word reduces it modulo 2^32 for u32, so
// that negative strides wrap around.
void tsri_arguments_word(tsri_arguments *args, const char *name, int64_t value);
void tsri_arguments_real(tsri_arguments *args, const char *name, double value);

// Gives the scalars <stem><first>, <stem><first + 1>, …, such as d1, d2. The numbers are at most 9.
void tsri_arguments_words(tsri_arguments *args, const char *stem, int first, const int64_t *values, int count);

// Marks the kernel's last buffers and scalars as given: the epilogue that added them (epilogue.c) fills them itself.
void tsri_arguments_give_last(tsri_arguments *args, uint32_t buffer_count, uint32_t param_count);

// Returns the first failure, or TSR_ERR_INTERNAL if a parameter has not been given.
tsr_status tsri_arguments_check(const tsri_arguments *args);

#endif
