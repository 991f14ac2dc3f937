// SPDX-License-Identifier: MIT
// A progress line on the terminal, removed at the end. Prints nothing if standard error is not a terminal.
#ifndef TESSERA_TOOL_PROGRESS_H
#define TESSERA_TOOL_PROGRESS_H

#include <stdbool.h>

#include "text.h"

// Whether standard error is a terminal on which a line can be replaced.
bool progress_has_terminal(void);

// Replaces the progress line. `format` is as in printf.
void progress_show(const char *format, ...) TEXT_FORMAT(1, 2);

// Removes the line. Call it before printing anything else.
void progress_end(void);

#endif
