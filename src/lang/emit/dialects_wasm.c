// SPDX-License-Identifier: MIT
// The list of emitters in the browser module: only dialects that a page can run, to keep the module small.
#include "lang/emit/emit.h"

const tsri_emitter tsri_emitters[] = {
    {"wgsl", "WGSL", TSRI_EMIT_TEXT, ".wgsl", &tsri_emit_defaults_wgsl, tsri_emit_wgsl},
    {"lanes", "lane bytecode", TSRI_EMIT_WORDS, ".lanes", &tsri_emit_defaults_lanes, tsri_emit_lanes},
    {0}};

const char tsri_emitter_names[] = " wgsl lanes";

tsri_fragment_test tsri_emit_fragment_test(const tsri_emitter *emitter) {
  (void)emitter;
  return NULL;
}
