// SPDX-License-Identifier: MIT
// One program with many of the kernels in kernels/, for tests that give it to a compiler.
#ifndef TESSERA_EMIT_PROGRAM_H
#define TESSERA_EMIT_PROGRAM_H

#include "lang/emit_case.h"

// A part of a program that is compiled by itself. Which kernels it has depends on their names alone, so that a change of a
// kernel changes one part.
typedef struct emit_part {
  emit_text text;
  uint32_t added;
} emit_part;

typedef struct emit_program {
  const tsri_emitter *emitter;
  tsri_emit_options options;
  emit_text text;
  char build_options[128];
  emit_sample sample;
  uint32_t emitted, refused, added, taken;
  uint32_t one_in;   // one in so many kernels of the sample is added; 0: all of them
  emit_part *parts;  // the caller's; if part_count is not 0, kernels are added to these and not to `text`
  uint32_t part_count;
} emit_program;

// Emits every kernel in every specialisation, and adds a sample of them to the program. Options of 0 are replaced by the
// dialect's defaults. With TSR_TEST_KERNELS=<name>,<name> only those kernels are added. The caller frees program->text.data and the parts' texts.
void emit_program_add_all(emit_program *program, const char *dialect);

#endif
