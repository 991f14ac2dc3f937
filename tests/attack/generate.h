// SPDX-License-Identifier: MIT
// Random steps that fit what is live in a world.
#ifndef TESSERA_ATTACK_GENERATE_H
#define TESSERA_ATTACK_GENERATE_H

#include "attack/world.h"

// What a whole program keeps to, so that its tensors meet often.
typedef struct style {
  uint64_t random;
  tsr_shape base;         // shapes are made of these sizes and 1
  tsr_dtype dtypes[3];    // most tensors are of these
  int64_t most_elements;  // of a result
  int most_steps;
  bool has_captures, has_scopes;
  uint64_t palette;  // not 0: operators are of a few that follow from it
} style;

// Where compiling a kernel takes long, programs are shorter, and 256 in a row keep to the same few operators and dtypes, so that most
// kernels are built already and more programs are run.

void style_init(style *look, uint64_t seed, const arena *a);

// Words step `at` of the world. It may turn out not to fit: world_do then leaves it out, and another can be worded.
void generate_step(world *w, style *look, int at);

#endif
