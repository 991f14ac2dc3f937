// SPDX-License-Identifier: MIT
// Prints the manual page of the whole program, in roff's man macros.
//
// It contains everything that `tessera help` shows, once: the exit codes are the same for every command.
#include "man.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <tessera/version.h>

#include "help.h"

// --- Text ---------------------------------------------------------------------------------------------------------------

// Prints `bytes` of text so that roff shows them unchanged. A dash remains one that can be copied into a shell.
static void put(const char *text, size_t bytes) {
  for (const char *end = text + bytes; text < end; text++) {
    if (*text == '\\') fputs("\\e", stdout);
    else if (*text == '-') fputs("\\-", stdout);
    else if (*text == '\'') fputs("\\(aq", stdout);
    else fputc(*text, stdout);
  }
}

static void put_text(const char *text) { put(text, strlen(text)); }

// Prints lines separated by newlines, with an empty line between paragraphs. A line may not begin like a roff request.
static void put_lines(const char *text) {
  while (*text) {
    size_t bytes = strcspn(text, "\n");
    if (bytes == 0) fputs(".PP", stdout);
    else if (*text == '.') fputs("\\&", stdout);
    put(text, bytes);
    fputc('\n', stdout);
    text += bytes + (text[bytes] == '\n');
  }
}

static void put_request(const char *request, const char *text) {
  printf("%s ", request);
  put_text(text);
  fputc('\n', stdout);
}

// Prints a term in bold and its meaning, indented below.
static void put_term(const char *term, const char *meaning) {
  fputs(".TP\n", stdout);
  put_request(".B", term);
  put_lines(meaning);
}

static void put_capitals(const char *request, const char *text) {
  printf("%s \"", request);
  for (; *text; text++) fputc(toupper((unsigned char)*text), stdout);
  fputs("\"\n", stdout);
}

// --- A command ----------------------------------------------------------------------------------------------------------

static void put_options(const command_spec *command) {
  for (int i = 0; i < command->option_count; i++) {
    char term[HELP_TERM_BYTES], meaning[HELP_MEANING_BYTES];
    help_format_option(&command->options[i], term, meaning);
    put_term(term, meaning);
  }
}

static void put_usage(const command_spec *command) {
  printf(".B tessera %s\n", command->name ? command->name : "");
  for (int i = 0; i < command->option_count; i++) {
    char term[HELP_TERM_BYTES];
    help_format_usage(&command->options[i], term);
    put_text(term);
    fputc('\n', stdout);
  }
  if (command->argument_name) put_lines(command->argument_name);
}

static void put_example(const char *example) {
  fputs(".PP\nExample:\n.PP\n.nf\n.RS\n", stdout);
  for (const char *line = example; *line;) {
    size_t bytes = strcspn(line, "\n");
    put(line, bytes);
    fputc('\n', stdout);
    line += bytes + (line[bytes] == '\n');
  }
  fputs(".RE\n.fi\n", stdout);
}

static void put_command(const tool_command *command) {
  const command_spec *spec = &command->spec;
  printf(".SS \"tessera %s\"\n", spec->name);
  put_usage(spec);
  fputs(".PP\n", stdout);
  put_lines(spec->description);
  if (spec->more_heading) {
    char text[HELP_MEANING_BYTES];
    spec->format_more(text, sizeof text);
    put_term(spec->more_heading, text);
  }
  put_options(spec);
  put_example(spec->example);
  for (int i = 0; i < command->commands.count; i++) put_command(command->commands.items[i]);
}

// --- The page -----------------------------------------------------------------------------------------------------------

// Does not list the settings, which change between versions: 'tessera config' prints them with their meanings.
static void put_environment(void) {
  put_capitals(".SH", "Environment");
  put_term("TESSERA_...",
           "One variable for each setting; 'tessera config' lists them, 'tessera config --json' with the "
           "values they may have.");
  put_term("NO_COLOR", "If set and not empty, there is no colour.");
  put_term("COLUMNS", "How wide tables are; otherwise as wide as the terminal, or 80 columns.");
}

void man_print(const command_spec *program, const command_list *commands) {
  printf(".\\\" Made by scripts/generate-man from the program's own help. Do not edit.\n");
  printf(".TH TESSERA 1 \"\" \"Tessera %s\" \"User Commands\"\n", tsr_version());
  printf(".SH NAME\ntessera \\- %s\n", program->summary);
  printf(".SH SYNOPSIS\n");
  put_usage(program);
  printf(".SH DESCRIPTION\n");
  put_lines(program->description);
  put_options(program);
  printf(".SH COMMANDS\n");
  for (int i = 0; i < commands->count; i++) put_command(commands->items[i]);
  put_capitals(".SH", "Exit status");
#define EXIT_X(name, number, text) put_term(#number, text);
  EXIT_CODES(EXIT_X)
#undef EXIT_X
  put_environment();
}
