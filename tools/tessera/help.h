// SPDX-License-Identifier: MIT
// A command's help, laid out like a manual page, made from its declaration.
#ifndef TESSERA_TOOL_HELP_H
#define TESSERA_TOOL_HELP_H

#include "options.h"

enum { HELP_TERM_BYTES = 64, HELP_MEANING_BYTES = 512 };

// "[--kv-heads N]", or without brackets where the option must be given.
void help_format_usage(const option_spec *option, char term[HELP_TERM_BYTES]);

// "-k, --kernel NAME", and what it means with its default.
void help_format_option(const option_spec *option, char term[HELP_TERM_BYTES], char meaning[HELP_MEANING_BYTES]);

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
