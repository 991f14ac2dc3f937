// SPDX-License-Identifier: MIT
// Runs tests by cmocka, which continues with the next test even after a crash.
#include <setjmp.h>
#include <stdarg.h>

#include "support/runner.h"
// cmocka.h needs the headers above it
#include <cmocka.h>

static void run(void **state) { test_run(*state); }

void test_leave_failed(const char *file, int line) {
  _fail(file, line);
  abort();  // not reached: cmocka jumps out of the test
}

void test_leave_skipped(void) {
  skip();
  abort();  // not reached
}

int test_run_all(test_case *const *tests, size_t count) {
  struct CMUnitTest *units = calloc(count + 1, sizeof *units);
  if (!units) return 1;
  for (size_t i = 0; i < count; i++) {
    units[i] = (struct CMUnitTest){.name = tests[i]->name, .test_func = run, .initial_state = tests[i]};
  }
  int failed = _cmocka_run_group_tests("tests", units, count, NULL, NULL);
  free(units);
  return failed;
}
