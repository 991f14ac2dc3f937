// SPDX-License-Identifier: MIT
// A growing array of bytes of machine code.
#include "backends/cpu/jit/code.h"

#include <string.h>

#include "core/alloc.h"

void tsri_code_deinit(machine_code *code) {
  tsri_free(code->bytes);
  tsri_free(code->fixups);
  *code = (machine_code){0};
}

static bool grow(void **memory, size_t *room, size_t wanted, size_t element) {
  if (wanted <= *room) return true;
  size_t more = *room * 2 > wanted ? *room * 2 : wanted + 256;
  void *grown = tsri_realloc(*memory, more * element);
  if (!grown) return false;
  *memory = grown;
  *room = more;
  return true;
}

void tsri_code_put(machine_code *code, const void *bytes, size_t count) {
  void *memory = code->bytes;
  if (code->failed || !grow(&memory, &code->room, code->count + count, 1)) {
    code->failed = true;
    return;
  }
  code->bytes = memory;
  memcpy(code->bytes + code->count, bytes, count);
  code->count += count;
}

void tsri_code_add_fixup(machine_code *code, size_t next) {
  void *memory = code->fixups;
  if (code->failed || !grow(&memory, &code->fixup_room, code->fixup_count + 1, sizeof *code->fixups)) {
    code->failed = true;
    return;
  }
  code->fixups = memory;
  code->fixups[code->fixup_count++] = (code_fixup){.at = (uint32_t)code->count, .next = (uint32_t)next};
}
