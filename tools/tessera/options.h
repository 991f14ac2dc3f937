// SPDX-License-Identifier: MIT
// Command-line options, declared in a list: `--name value`, `--name=value`, `--flag`, `-n value`, `-nvalue`, `-h`,
// `--help`, and arguments in between, which may be negative numbers. `--` ends the options. If an option is given
// twice, the last value counts, unless it collects all of them.
#ifndef TESSERA_TOOL_OPTIONS_H
#define TESSERA_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The values of an option that may be given several times, in order.
typedef struct option_list {
  const char **texts;  // room for `max`
  int count, max;
} option_list;

// One option. Exactly one of the five pointers is set: it determines the type of the value, and receives it. If the
// option is not given, the value stays unchanged.
typedef struct option_spec {
  const char *name;        // "kv-heads"
  const char *help;        // what it means, a line or two
  const char *value_name;  // "N"; NULL for a flag
  const char *standard;    // the default as shown in the help; NULL: none to show
  char letter;             // 'k' for -k; 0: none
  bool is_required;
  bool *flag;
  uint64_t *count;  // an integer of at least 1
  double *real;     // a number above 0
  const char **text;
  option_list *list;
} option_spec;

// A command, as its help and its parser see it.
typedef struct command_spec {
  const char *name;         // "estimate"; NULL for the program itself
  const char *summary;      // one line for the list of commands
  const char *description;  // paragraphs, separated by an empty line
  const option_spec *options;
  int option_count;
  const char *argument_name;  // "[COMMAND]"; NULL if it takes no arguments
  int argument_max;
  bool ends_at_argument;                               // the first argument ends the options: the rest is not ours
  const char *example;                                 // one or more lines
  const char *more_heading;                            // heading of an additional section after the description; NULL:
                                                       // none
  void (*format_more)(char *text, size_t text_bytes);  // writes the text of that section
} command_spec;

typedef enum options_outcome { OPTIONS_OK, OPTIONS_HELP, OPTIONS_WRONG } options_outcome;

#define OPTIONS_MESSAGE_BYTES 512

// Parses argv[1] and the following. OPTIONS_OK: the arguments that are not options are argv[1 … *out_argument_count],
// in order. OPTIONS_WRONG: `message` (OPTIONS_MESSAGE_BYTES) says what is wrong and what is allowed. --help is handled
// as soon as it is read.
options_outcome options_parse(const command_spec *command, int argc, char **argv, int *out_argument_count,
                              char *message);

#endif
