// SPDX-License-Identifier: MIT
// The program's commands and exit codes, each list written once.
//
// A new command is a file cmd_<name>.c, which defines command_<name>, and a line in COMMANDS. One with commands of its
// own, such as `tessera kernel run`, lists them in `commands`.
#ifndef TESSERA_TOOL_COMMANDS_H
#define TESSERA_TOOL_COMMANDS_H

#include "options.h"

// name, number, meaning.
#define EXIT_CODES(X)                                                                          \
  X(DONE, 0, "success")                                                                        \
  X(NO, 1, "the work was done and the answer is no: a test failed, or a kernel has a mistake") \
  X(USAGE, 2, "the command line is wrong")                                                     \
  X(ERROR, 3, "an error in Tessera, or a file or output that could not be read or written")    \
  X(NO_DEVICE, 4, "a usable device is needed and there is none")

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
  X(demo)           \
  X(version)        \
  X(help)

typedef struct command_list {
  const struct tool_command *const *items;
  int count;
} command_list;

typedef struct tool_command {
  command_spec spec;      // its name, its line in the help, its options
  command_list commands;  // its own, named "kernel run" and so on; empty for most

  // Does the work once the options are read. Returns an exit code. Output goes to standard output, messages to standard
  // error; main() notices output that could not be written. NULL if it only has commands of its own.
  int (*run)(int argument_count, char **arguments);
} tool_command;

#define COMMAND_X(name) extern const tool_command command_##name;
COMMANDS(COMMAND_X)
#undef COMMAND_X

#endif
