// SPDX-License-Identifier: MIT
// Prints a command's help, in the layout of a manual page, from its declaration.
#ifndef TESSERA_TOOL_HELP_H
#define TESSERA_TOOL_HELP_H

#include "options.h"

enum { HELP_TERM_BYTES = 64, HELP_MEANING_BYTES = 512 };

// Formats "[--kv-heads N]", without brackets if the option is required.
void help_format_usage(const option_spec *option, char term[HELP_TERM_BYTES]);

// Formats "-k, --kernel NAME", and its meaning with its default.
void help_format_option(const option_spec *option, char term[HELP_TERM_BYTES], char meaning[HELP_MEANING_BYTES]);

// Print the two halves of a command's help on standard output, between which its subcommands are listed: name, usage
// and description; then options, exit codes and example.
void help_print_start(const command_spec *command);
void help_print_end(const command_spec *command);

// Prints an empty line, a heading and a text below it.
void help_section(const char *heading, const char *text);

// Prints a heading such as "NAME".
void help_heading(const char *text);

// Prints "    --json    print JSON": each line of the meaning begins `columns` and two spaces after the indent.
void help_term(const char *term, int columns, const char *meaning);

#endif
