// SPDX-License-Identifier: MIT
// The list of emitters: all dialects.
#include "lang/emit/emit.h"

const tsri_emitter tsri_emitters[] = {
#define TSRI_X(name, title, form, suffix) \
  {#name, title, TSRI_EMIT_##form, suffix, &tsri_emit_defaults_##name, tsri_emit_##name},
    TSRI_DIALECTS(TSRI_X)
#undef TSRI_X
        {0}};

#define TSRI_X(name, title, form, suffix) " " #name
const char tsri_emitter_names[] = TSRI_DIALECTS(TSRI_X);
#undef TSRI_X

tsri_fragment_test tsri_emit_fragment_test(const tsri_emitter *emitter) {
  if (emitter->emit == tsri_emit_spirv) return tsri_emit_fragments_spirv;
  if (emitter->emit == tsri_emit_hip) return tsri_emit_fragments_hip;
  if (emitter->emit == tsri_emit_metal) return tsri_emit_fragments_metal;
  if (emitter->emit == tsri_emit_opencl) return tsri_emit_fragments_opencl;
  if (emitter->emit == tsri_emit_wgsl) return tsri_emit_fragments_wgsl;
  return emitter->emit == tsri_emit_cuda ? tsri_emit_fragments_cuda : NULL;
}
