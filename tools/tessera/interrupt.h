// SPDX-License-Identifier: MIT
// Ctrl-C, and SIGTERM (as of timeout(1)), as requests to end in order.
#ifndef TESSERA_TOOL_INTERRUPT_H
#define TESSERA_TOOL_INTERRUPT_H

#include <stdbool.h>

// From now on the first request is only noted. Another one, more than a tenth of a second later, ends the process, as usual: timeout(1) sends its signal
// twice, to the process and to its group. Ten seconds after SIGTERM the process is ended anyway.
void interrupt_catch(void);

// Whether there was a request since.
bool interrupt_is_noted(void);

#endif
