// SPDX-License-Identifier: MIT
// A test program as a server that scripts/run-tests asks for one test after the other.
#ifndef TESSERA_TEST_SERVE_H
#define TESSERA_TEST_SERVE_H

#include "support/test.h"

// Reads lines "NAME OUTPUT-FILE" from standard input until it ends. Runs each named test by `run` in a forked process, whose standard output and standard error
// go to the file. Answers with a line "STATUS SECONDS THREADS". STATUS: the exit status of the process, or 128 plus the number of the signal that ended it.
// SECONDS: its processor time. THREADS: `threads` if it started a second thread, otherwise `thread`. Returns 0, or 2 if a line names no test of the list
// `first`.
//
// A fork costs a fraction of starting the program: a sanitizer alone takes 20 ms to start.
int test_serve(test_case *first, int (*run)(test_case **tests, size_t count));

#endif
