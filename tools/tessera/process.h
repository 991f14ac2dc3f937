// SPDX-License-Identifier: MIT
// Running another program.
#ifndef TESSERA_TOOL_PROCESS_H
#define TESSERA_TOOL_PROCESS_H

#include <stdbool.h>

// Sets a variable of the environment. False when memory is out.
bool process_set(const char *name, const char *value);

// Replaces this process by the program argv[0], which is searched for in PATH; `argv` ends with NULL. On systems where that is not possible, runs the program, waits
// for it and returns its exit code. Returns -1, with errno, if the program cannot be run.
int process_become(char **argv);

#endif
