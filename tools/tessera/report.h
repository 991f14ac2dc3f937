// SPDX-License-Identifier: MIT
// Messages on standard error, and tables on standard output as the terminal wants them.
#ifndef TESSERA_TOOL_REPORT_H
#define TESSERA_TOOL_REPORT_H

#include "table.h"
#include "text.h"

// Prints "tessera: …" with Tessera's last error of this thread. Returns EXIT_ERROR.
int report_error(void);

// Prints "tessera: out of memory". Returns EXIT_ERROR.
int report_no_memory(void);

// Prints "tessera devices: …"; `command` NULL leaves the command out. Returns EXIT_USAGE.
int report_usage(const char *command, const char *format, ...) TEXT_FORMAT(2, 3);

// Prints a paragraph on standard output, broken into lines as wide as the terminal. A word that is wider, such as the
// path of a file, is not cut. Line breaks in the text begin a new line.
void report_text(const char *format, ...) TEXT_FORMAT(1, 2);

// Prints the table on standard output and empties it. Returns EXIT_DONE, or EXIT_ERROR (with a message) if memory ran out.
int report_table(table *t);

// Flushes standard output. Returns `exit_code`, or EXIT_ERROR (with a message) if something could not be written.
int report_output(int exit_code);

#endif
