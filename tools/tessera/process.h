// SPDX-License-Identifier: MIT
// Running another program.
#ifndef TESSERA_TOOL_PROCESS_H
#define TESSERA_TOOL_PROCESS_H

#include <stdbool.h>

// Sets a variable of the environment. False when memory is out.
bool process_set(const char *name, const char *value);

// Runs argv[0], which is searched for as a shell does, in place of this process; `argv` ends with NULL. Where a process cannot become another, it
// waits for it and returns the exit code. Returns -1, with errno, if the program cannot be run.
int process_become(char **argv);

#endif
