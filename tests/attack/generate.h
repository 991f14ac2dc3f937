// SPDX-License-Identifier: MIT
// Generates random steps that fit the live tensors of a world.
#ifndef TESSERA_ATTACK_GENERATE_H
#define TESSERA_ATTACK_GENERATE_H

#include "attack/world.h"

// Properties of a whole program. They limit its variety, so that its tensors often fit together.
typedef struct style {
  uint64_t random;
  tsr_shape base;         // shapes consist of these sizes and 1
  tsr_dtype dtypes[3];    // most tensors have one of these
  int64_t most_elements;  // of a result
  int most_steps;
  bool has_captures, has_scopes;
  uint64_t palette;  // not 0: only a few operators, which it determines, are used
} style;

// On devices that compile slowly, programs are shorter, and 256 in a row use the same few operators and dtypes, so
// that most kernels exist already and more programs can run.

void style_init(style *look, uint64_t seed, const arena *a);

// Generates step `at`. It may turn out not to fit: then world_do leaves it out, and another one can be generated.
void generate_step(world *w, style *look, int at);

#endif
