// SPDX-License-Identifier: MIT
// A plug-in with a name that no setting could hold.
#include "trap.h"

TRAP_BACKEND("Bad, Name", "Bad name", )
