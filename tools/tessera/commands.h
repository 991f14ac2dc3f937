// SPDX-License-Identifier: MIT
// The program's commands and exit codes, each list written once.
//
// A new command is a file cmd_<name>.c, which defines command_<name>, and a line in COMMANDS.
#ifndef TESSERA_TOOL_COMMANDS_H
#define TESSERA_TOOL_COMMANDS_H

#include "options.h"

// name, number, meaning.
#define EXIT_CODES(X)                                                      \
  X(DONE, 0, "success")                                                    \
  X(NO, 1, "the work was done and the answer is no: a device test failed") \
  X(USAGE, 2, "the command line is wrong")                                 \
  X(ERROR, 3, "an error in Tessera, or output that could not be written")  \
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
  X(version)        \
  X(help)

typedef struct tool_command {
  command_spec spec;  // its name, its line in the help, its options

  // Does the work once the options are read. Returns an exit code. Output goes to standard output, messages to standard
  // error; main() notices output that could not be written.
  int (*run)(int argument_count, char **arguments);
} tool_command;

#define COMMAND_X(name) extern const tool_command command_##name;
COMMANDS(COMMAND_X)
#undef COMMAND_X

#endif
