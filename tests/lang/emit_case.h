// SPDX-License-Identifier: MIT
// Kernels for the tests of emitters: all kernels of kernels/ in every specialisation, and programs made of many of
// them.
#ifndef TESSERA_EMIT_CASE_H
#define TESSERA_EMIT_CASE_H

#include "lang/emit_device.h"

// Parses and specialises. If the text is wrong, the test fails with the diagnostics. `args`: "T=f16 WG=32", or "".
tsri_kernel *emit_kernel_of(const char *file_name, const char *text, const char *kernel_name, const char *args,
                            bool checked);

// A kernel that loads fragments in both orders of both factors, out of shared memory and out of buffers: k<T, C, SG>.
extern const char emit_fragments_text[];

// Calls `visit` for every kernel of kernels/*.tk, with each type that each of its type parameters allows in turn;
// sizes have their default, or 1. The first type of a kernel is also visited in checked mode. Returns the number of
// visits.
uint32_t emit_each_kernel(void (*visit)(const tsri_kernel *kernel, void *context), void *context);

// A sample of what emit_each_kernel visits, for compilers that are slow: each kernel's first type, and one in twelve of its
// other variants. TSR_TEST_SAMPLE=1 takes all of them.
typedef struct emit_sample {
  char last_kernel[128];
  uint32_t visited;  // may begin with any number, so that different tests take different variants
} emit_sample;

// Whether this visit is in the sample. Called for each visit, in turn.
bool emit_sample_takes(emit_sample *sample, const tsri_kernel *kernel);

// Adds a kernel's text to a program. Its entry is renamed to `entry`, so that one program can hold many kernels.
void emit_append(emit_text *program, const tsri_emitted *code, const char *entry);

#endif
