// SPDX-License-Identifier: MIT
// Prints a command's help, in the layout of a manual page, from its declaration.
#include "help.h"

#include <stdio.h>
#include <string.h>

#include "commands.h"
#include "term.h"
#include "text.h"

enum { INDENT = 4, WIDTH = 80 };

static int width(void) {
  int columns = term_columns();
  return columns < WIDTH ? columns : WIDTH;
}

void help_heading(const char *text) {
  bool colour = term_has_colour();
  printf("%s%s%s\n", term_begin(TERM_BOLD, colour), text, term_end(TERM_BOLD, colour));
}

void help_term(const char *term, int columns, const char *meaning) {
  const int indent = INDENT + columns + 2;
  printf("%*s%-*s  ", INDENT, "", columns, term);
  text_print_wrapped(stdout, meaning, indent, width() - indent);
}

void help_section(const char *heading, const char *text) {
  printf("\n");
  help_heading(heading);
  printf("%*s", INDENT, "");
  text_print_wrapped(stdout, text, INDENT, width() - INDENT);
}

// Formats "tessera devices", or "tessera" for the program itself.
static void format_name(const command_spec *command, char term[HELP_TERM_BYTES]) {
  snprintf(term, HELP_TERM_BYTES, "tessera%s%s", command->name ? " " : "", command->name ? command->name : "");
}

void help_format_usage(const option_spec *option, char term[HELP_TERM_BYTES]) {
  const char *value = option->value_name;
  bool is_required = option->is_required;
  snprintf(term, HELP_TERM_BYTES, "%s--%s%s%s%s%s", is_required ? "" : "[", option->name, value ? " " : "",
           value ? value : "", option->list ? " ..." : "", is_required ? "" : "]");
}

// Formats "-k, --kernel NAME".
static void format_term(const option_spec *option, char term[HELP_TERM_BYTES]) {
  char letter[] = "-?, ";
  letter[1] = option->letter;
  const char *value = option->value_name;
  snprintf(term, HELP_TERM_BYTES, "%s--%s%s%s", option->letter ? letter : "", option->name, value ? " " : "",
           value ? value : "");
}

void help_format_option(const option_spec *option, char term[HELP_TERM_BYTES], char meaning[HELP_MEANING_BYTES]) {
  format_term(option, term);
  if (option->standard) {
    snprintf(meaning, HELP_MEANING_BYTES, "%s (default: %s)", option->help, option->standard);
  } else {
    snprintf(meaning, HELP_MEANING_BYTES, "%s%s", option->help, option->is_required ? " (required)" : "");
  }
}

// Prints one part of the usage, on a new line if it does not fit on the current one.
static void print_part(const char *part, int indent, int *column) {
  int columns = 1 + (int)strlen(part);
  if (*column + columns > width()) {
    printf("\n%*s", indent, "");
    *column = indent;
  }
  printf(" %s", part);
  *column += columns;
}

static void print_usage(const command_spec *command) {
  printf("\n");
  help_heading("USAGE");
  char name[HELP_TERM_BYTES];
  format_name(command, name);
  printf("%*s%s", INDENT, "", name);
  const int indent = INDENT + (int)strlen(name);
  int column = indent;
  for (int i = 0; i < command->option_count; i++) {
    char part[HELP_TERM_BYTES];
    help_format_usage(&command->options[i], part);
    print_part(part, indent, &column);
  }
  if (command->argument_name) print_part(command->argument_name, indent, &column);
  printf("\n");
}

static void print_option(const option_spec *option, int columns) {
  char term[HELP_TERM_BYTES], meaning[HELP_MEANING_BYTES];
  help_format_option(option, term, meaning);
  help_term(term, columns, meaning);
}

static void print_options(const command_spec *command) {
  static const char help[] = "-h, --help";
  int columns = (int)strlen(help);
  for (int i = 0; i < command->option_count; i++) {
    char term[HELP_TERM_BYTES];
    format_term(&command->options[i], term);
    if ((int)strlen(term) > columns) columns = (int)strlen(term);
  }
  printf("\n");
  help_heading("OPTIONS");
  for (int i = 0; i < command->option_count; i++) print_option(&command->options[i], columns);
  help_term(help, columns, "show this text");
}

void help_print_start(const command_spec *command) {
  char name[HELP_TERM_BYTES], line[256];
  format_name(command, name);
  snprintf(line, sizeof line, "%s - %s", name, command->summary);
  help_heading("NAME");
  printf("%*s", INDENT, "");
  text_print_wrapped(stdout, line, INDENT, width() - INDENT);
  print_usage(command);
  help_section("DESCRIPTION", command->description);
  if (command->more_heading) {
    char text[HELP_MEANING_BYTES];
    command->format_more(text, sizeof text);
    help_section(command->more_heading, text);
  }
}

void help_print_end(const command_spec *command) {
  print_options(command);
  printf("\n");
  help_heading("EXIT CODES");
#define EXIT_X(name, number, text) help_term(#number, 1, text);
  EXIT_CODES(EXIT_X)
#undef EXIT_X
  help_section("EXAMPLE", command->example);
}
