// SPDX-License-Identifier: MIT
// "Did you mean …?": the library's own function, whose source is also compiled into the program. Apart from the public
// API, it is the only thing that the program shares with the library.
#ifndef TESSERA_TOOL_SUGGEST_H
#define TESSERA_TOOL_SUGGEST_H

#include "../../src/core/suggest.h"

#endif
