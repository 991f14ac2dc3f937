// SPDX-License-Identifier: MIT
// Imports the test's own host memory as a tensor, through DLPack.
#ifndef TESSERA_ATTACK_IMPORT_H
#define TESSERA_ATTACK_IMPORT_H

#include "attack/world.h"

// Whether there is a CPU device to import to, and the shape has at least one axis and one element.
bool attack_can_import(const arena *a, const step *s);

// Makes a tensor of the step's dtype and shape over every second element of a host array, on the arena's first CPU
// device, and its model. NULL: the library refused.
tsr_tensor *attack_import(const arena *a, const step *s, model_tensor *out_model);

#endif
