// SPDX-License-Identifier: MIT
// The lists of the program's commands and exit codes.
//
// To add a command, write a file cmd_<name>.c that defines command_<name>, and add a line to COMMANDS. A command with
// subcommands, such as `tessera kernel run`, lists them in `commands`.
#ifndef TESSERA_TOOL_COMMANDS_H
#define TESSERA_TOOL_COMMANDS_H

#include "options.h"

// Columns: name, number, meaning.
#define EXIT_CODES(X)                                                                          \
  X(DONE, 0, "success")                                                                        \
  X(NO, 1, "the work was done and the answer is no: a test failed, or a kernel has a mistake") \
  X(USAGE, 2, "the command line is wrong")                                                     \
  X(ERROR, 3, "an error in Tessera, or a file or output that could not be read or written")    \
  X(NO_DEVICE, 4, "a usable device is needed and there is none")                               \
  X(INTERRUPTED, 130, "Ctrl-C or SIGTERM, after which the command ended in order")

enum {
#define EXIT_X(name, number, text) EXIT_##name = number,
  EXIT_CODES(EXIT_X)
#undef EXIT_X
};

// In the order of the help.
#define COMMANDS(X) \
  X(devices)        \
  X(config)         \
  X(estimate)       \
  X(kernel)         \
  X(check)          \
  X(bench)          \
  X(tune)           \
  X(demo)           \
  X(run)            \
  X(cache)          \
  X(version)        \
  X(help)

typedef struct command_list {
  const struct tool_command *const *items;
  int count;
} command_list;

typedef struct tool_command {
  command_spec spec;      // its name, its line in the help, its options
  command_list commands;  // its subcommands, named "kernel run" and so on; empty for most

  // Does the work after the options were read. Returns an exit code. Output goes to standard output, messages to
  // standard error; main() reports output that could not be written. NULL if it only has subcommands.
  int (*run)(int argument_count, char **arguments);
} tool_command;

#define COMMAND_X(name) extern const tool_command command_##name;
COMMANDS(COMMAND_X)
#undef COMMAND_X

#endif
