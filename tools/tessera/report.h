// SPDX-License-Identifier: MIT
// Prints messages on standard error, and texts and tables on standard output in the terminal's width.
#ifndef TESSERA_TOOL_REPORT_H
#define TESSERA_TOOL_REPORT_H

#include "table.h"
#include "text.h"

// Prints "tessera: …" with this thread's last error of the library. Returns EXIT_ERROR.
int report_error(void);

// Prints "tessera: out of memory". Returns EXIT_ERROR.
int report_no_memory(void);

// Prints "tessera devices: …"; if `command` is NULL, without a command. Returns EXIT_USAGE.
int report_usage(const char *command, const char *format, ...) TEXT_FORMAT(2, 3);

// Prints a paragraph on standard output, broken into lines of the terminal's width. A longer word, such as a file's
// path, is not cut. A line break in the text begins a new line.
void report_text(const char *format, ...) TEXT_FORMAT(1, 2);

// Prints the table on standard output and empties it. Returns EXIT_DONE, or EXIT_ERROR (with a message) if memory ran out.
int report_table(table *t);

// Flushes standard output. Returns `exit_code`, or EXIT_ERROR (with a message) if something could not be written.
int report_output(int exit_code);

#endif
