// SPDX-License-Identifier: MIT
#include "process.h"

#include <process.h>
#include <stdlib.h>

bool process_set(const char *name, const char *value) { return _putenv_s(name, value) == 0; }

int process_become(char **argv) { return (int)_spawnvp(_P_WAIT, argv[0], (const char *const *)argv); }
