// SPDX-License-Identifier: MIT
// Ctrl-C as a request to end in order.
#ifndef TESSERA_TOOL_INTERRUPT_H
#define TESSERA_TOOL_INTERRUPT_H

#include <stdbool.h>

// From now on the first Ctrl-C is only noted. The second ends the process, as usual.
void interrupt_catch(void);

// Whether it was pressed since.
bool interrupt_is_noted(void);

#endif
