// SPDX-License-Identifier: MIT
// A command's help, laid out like a manual page, made from its declaration.
#ifndef TESSERA_TOOL_HELP_H
#define TESSERA_TOOL_HELP_H

#include "options.h"

// Prints the help of a command on standard output.
void help_print(const command_spec *command);

// Its two halves, between which the program's own help lists the commands: name, usage and description; options, exit
// codes and example.
void help_print_start(const command_spec *command);
void help_print_end(const command_spec *command);

// "NAME"
void help_heading(const char *text);

// "    --json    print JSON": the meaning begins `columns` and two spaces after the indent, on each of its lines.
void help_term(const char *term, int columns, const char *meaning);

#endif
