// SPDX-License-Identifier: MIT
// Kernels for the emitter tests: those of kernels/ in every specialisation, and programs made of many of them.
#ifndef TESSERA_EMIT_CASE_H
#define TESSERA_EMIT_CASE_H

#include "lang/emit_device.h"

// Parses and specialises; the test fails with the diagnostics if the text is wrong. `args`: "T=f16 WG=32", or "".
tsri_kernel *emit_kernel_of(const char *file_name, const char *text, const char *kernel_name, const char *args,
                            bool checked);

// Calls `visit` for every kernel of kernels/*.tk with each type that each of its type parameters may have in turn; sizes
// take their defaults, or 1. The first of a kernel comes in checked mode too. Returns how many there were.
uint32_t emit_each_kernel(void (*visit)(const tsri_kernel *kernel, void *context), void *context);

// Adds a kernel's text to a program, its entry renamed to `entry` so that many kernels fit into one program.
void emit_append(emit_text *program, const tsri_emitted *code, const char *entry);

#endif
