// SPDX-License-Identifier: MIT
// A plug-in that calls itself by a built-in backend's name.
#include "trap.h"

TRAP_BACKEND("cpu", "Not the CPU", )
