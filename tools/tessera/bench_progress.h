// SPDX-License-Identifier: MIT
// A line on the terminal that says what is being done, gone when it is over. Nothing where standard error is no terminal.
#ifndef TESSERA_TOOL_BENCH_PROGRESS_H
#define TESSERA_TOOL_BENCH_PROGRESS_H

#include "text.h"

// Shows the line in place of the one before; "%s" and so on as in printf.
void bench_progress(const char *format, ...) TEXT_FORMAT(1, 2);

// Takes the line away. Call it before anything else is printed.
void bench_progress_end(void);

#endif
