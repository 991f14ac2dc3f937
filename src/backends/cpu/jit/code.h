// SPDX-License-Identifier: MIT
// Machine code under construction: bytes, and displacements that are filled in later.
//
// If memory runs out, `failed` is set and stays set, so that callers check once, at the end.
#ifndef TSRI_CPU_JIT_CODE_H
#define TSRI_CPU_JIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/builder.h"

typedef struct code_fixup {
  uint32_t at, next;  // positions of the displacement to fill in, and of the next instruction
} code_fixup;

typedef struct machine_code {
  uint8_t *bytes;
  size_t count, room;
  bool has_evex;  // x86-64 with AVX-512: all vector instructions have the EVEX prefix
  bool failed;
  code_fixup *fixups;
  size_t fixup_count, fixup_room;
  tsri_builder *listing;  // receives each instruction as a line of text; NULL: no listing
} machine_code;

void tsri_code_deinit(machine_code *code);
void tsri_code_put(machine_code *code, const void *bytes, size_t count);
// Records that the bytes put next are a displacement relative to `next`.
void tsri_code_add_fixup(machine_code *code, size_t next);

// Adds a line to the listing.
#define CODE_LIST(code, ...)                                             \
  do {                                                                   \
    if ((code)->listing) tsri_builder_add((code)->listing, __VA_ARGS__); \
  } while (0)

#endif
