// SPDX-License-Identifier: MIT
// Inside the engine: runs the compiler, by a process of it that has started already (server.c) where that works.
#ifndef TESSERA_STANDIN_COMPILER_H
#define TESSERA_STANDIN_COMPILER_H

enum { STANDIN_MOST_ARGUMENTS = 80, STANDIN_MOST_REQUEST = 32 << 10 };

// Both run a program with its messages in `log_path`, and return 0 if it succeeds. `arguments` end with NULL; [0] is the program.
int standin_run_program(char *const *arguments, const char *log_path);
int standin_run_compiler(char *const *arguments, const char *log_path);  // always the same compiler. Any thread

#endif
