// SPDX-License-Identifier: MIT
// A progress line on the terminal, removed at the end. Prints nothing if standard error is not a terminal.
#ifndef TESSERA_TOOL_BENCH_PROGRESS_H
#define TESSERA_TOOL_BENCH_PROGRESS_H

#include "text.h"

// Replaces the progress line. `format` is as in printf.
void bench_progress(const char *format, ...) TEXT_FORMAT(1, 2);

// Removes the line. Call it before printing anything else.
void bench_progress_end(void);

#endif
