// SPDX-License-Identifier: MIT
// AMD's GPUs by the name that compilers use for them.
#include <string.h>

#include "backends/rocm/rocm.h"

#define ROCM_GFX(name, since, wave, lt_since, matrix) {#name, since, wave, lt_since, ROCM_##matrix},
static const rocm_gfx list[] = {
#include "backends/rocm/gfx.def"
};
#undef ROCM_GFX

const rocm_gfx *tsri_rocm_find_gfx(const char *reported) {
  size_t length = strcspn(reported, ":");
  for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
    if (strlen(list[i].name) == length && memcmp(list[i].name, reported, length) == 0) return &list[i];
  }
  return NULL;
}
