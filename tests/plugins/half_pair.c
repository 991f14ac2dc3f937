// SPDX-License-Identifier: MIT
// A plug-in that says which operators it has and cannot run one.
#include "trap.h"

TRAP_BACKEND("half_pair", "Half a pair", TRAP(native_ops))
