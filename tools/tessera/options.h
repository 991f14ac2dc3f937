// SPDX-License-Identifier: MIT
// Command-line options, declared in a list: `--name value`, `--name=value`, `--flag`, `-h`, `--help`, and arguments in
// between. `--` ends the options. An option given twice has its last value.
#ifndef TESSERA_TOOL_OPTIONS_H
#define TESSERA_TOOL_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// One option. Exactly one of the four pointers is set: it says what the value may be, and receives it. What is not given on
// the command line is left as it is.
typedef struct option_spec {
  const char *name;        // "kv-heads"
  const char *help;        // what it means, a line or two
  const char *value_name;  // "N"; NULL for a flag
  const char *standard;    // the default as the help shows it; NULL where there is none to show
  bool is_required;
  bool *flag;
  uint64_t *count;  // a whole number from 1
  double *real;     // a number above 0
  const char **text;
} option_spec;

// A command as its help and its parser see it.
typedef struct command_spec {
  const char *name;         // "estimate"; NULL for the program itself
  const char *summary;      // one line, the one in the list of commands
  const char *description;  // paragraphs, separated by an empty line
  const option_spec *options;
  int option_count;
  const char *argument_name;  // "[COMMAND]"; NULL if it takes no arguments
  int argument_max;
  const char *example;  // one or more lines
} command_spec;

typedef enum options_outcome { OPTIONS_OK, OPTIONS_HELP, OPTIONS_WRONG } options_outcome;

#define OPTIONS_MESSAGE_BYTES 512

// Reads argv[1] and on. On OPTIONS_OK the arguments that are no options are argv[1 … *out_argument_count], in their order.
// On OPTIONS_WRONG `message` (OPTIONS_MESSAGE_BYTES of it) says what is wrong and what is allowed. --help is answered
// when it is met.
options_outcome options_parse(const command_spec *command, int argc, char **argv, int *out_argument_count,
                              char *message);

#endif
