// SPDX-License-Identifier: MIT
// "Did you mean …?": the library's own, whose source the program compiles in as well. It is the one thing the program
// shares with the library beside the public API.
#ifndef TESSERA_TOOL_SUGGEST_H
#define TESSERA_TOOL_SUGGEST_H

#include "../../src/core/suggest.h"

#endif
