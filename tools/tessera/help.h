// SPDX-License-Identifier: MIT
// A command's help, laid out like a manual page, made from its declaration.
#ifndef TESSERA_TOOL_HELP_H
#define TESSERA_TOOL_HELP_H

#include "options.h"

// The two halves of a command's help on standard output, between which its commands are listed: name, usage and
// description; options, exit codes and example.
void help_print_start(const command_spec *command);
void help_print_end(const command_spec *command);

// An empty line, a heading and a text below it.
void help_section(const char *heading, const char *text);

// "NAME"
void help_heading(const char *text);

// "    --json    print JSON": the meaning begins `columns` and two spaces after the indent, on each of its lines.
void help_term(const char *term, int columns, const char *meaning);

#endif
