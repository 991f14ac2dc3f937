// SPDX-License-Identifier: MIT
// One program with many of the kernels in kernels/, for tests that give it to a compiler.
#ifndef TESSERA_EMIT_PROGRAM_H
#define TESSERA_EMIT_PROGRAM_H

#include "lang/emit_case.h"

typedef struct emit_program {
  const tsri_emitter *emitter;
  tsri_emit_options options;
  emit_text text;
  char build_options[128];
  emit_sample sample;
  uint32_t emitted, refused, added, taken;
  uint32_t one_in;  // of the sample; 0: all of it
} emit_program;

// Emits every kernel in every specialisation, and adds a sample of them to the program. Options of 0 are replaced by the
// dialect's defaults. The caller frees program->text.data.
void emit_program_add_all(emit_program *program, const char *dialect);

#endif
