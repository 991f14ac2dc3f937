// SPDX-License-Identifier: MIT
// Host memory of our own as a tensor, through DLPack.
#ifndef TESSERA_ATTACK_IMPORT_H
#define TESSERA_ATTACK_IMPORT_H

#include "attack/world.h"

// Whether there is a CPU device to import to, and the shape has an axis and elements.
bool attack_can_import(const arena *a, const step *s);

// A tensor of the step's dtype and shape over every other element of a host array, on the arena's first CPU device, and its
// model. NULL: the library refused.
tsr_tensor *attack_import(const arena *a, const step *s, model_tensor *out_model);

#endif
