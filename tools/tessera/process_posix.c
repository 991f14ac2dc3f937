// SPDX-License-Identifier: MIT
#include "process.h"

#include <stdlib.h>
#include <unistd.h>

bool process_set(const char *name, const char *value) { return setenv(name, value, 1) == 0; }

int process_become(char **argv) { return execvp(argv[0], argv); }
