// SPDX-License-Identifier: MIT
// Runs the tests of a program: by cmocka (runner_cmocka.c) or, if cmocka is not installed for the processor that the tests
// are built for, without it (runner_plain.c).
#ifndef TESSERA_TEST_RUNNER_H
#define TESSERA_TEST_RUNNER_H

#include "support/test.h"

// Runs the tests one after the other and prints the result of each. Returns the number of failed tests.
int test_run_all(test_case *const *tests, size_t count);

// Called by test_run_all for each test; the test may end in one of the two below.
void test_run(const test_case *test);
_Noreturn void test_leave_failed(const char *file, int line);
_Noreturn void test_leave_skipped(void);

#endif
