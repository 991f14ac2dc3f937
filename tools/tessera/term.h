// SPDX-License-Identifier: MIT
// The terminal: whether there is one, its width, and its colours.
#ifndef TESSERA_TOOL_TERM_H
#define TESSERA_TOOL_TERM_H

#include <stdbool.h>
#include <stdio.h>

typedef enum term_style { TERM_PLAIN, TERM_BOLD, TERM_DIM, TERM_GOOD, TERM_BAD } term_style;

// Makes sure that the descriptors 0 to 2 are in use, so that no file that a driver opens becomes our output. Writing
// to a descriptor that was closed fails, as it would have. Call it first in main().
void term_init(void);

// Whether standard output is a terminal with colours, and NO_COLOR is not set.
bool term_has_colour(void);

// Whether standard output is a terminal.
bool term_is_terminal(void);

// The number of columns to print in: the variable COLUMNS, or the width of the terminal at standard output, or 80. A
// pipe therefore gets the same lines as a terminal of 80 columns.
int term_columns(void);

// The escape sequences that begin and end a style; empty for TERM_PLAIN or without colour.
const char *term_begin(term_style style, bool colour);
const char *term_end(term_style style, bool colour);

#endif
