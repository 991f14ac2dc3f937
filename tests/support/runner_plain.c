// SPDX-License-Identifier: MIT
// Runs tests one after the other without cmocka, for programs that are built for another processor. A crash ends the program.
#include <setjmp.h>

#include "support/runner.h"

enum { HAS_FAILED = 1, WAS_SKIPPED = 2 };
static jmp_buf after_test;

void test_leave_failed(const char *file, int line) {
  (void)file;
  (void)line;
  longjmp(after_test, HAS_FAILED);
}

void test_leave_skipped(void) { longjmp(after_test, WAS_SKIPPED); }

// 0, or the value with which the test left by longjmp.
static int run_one(const test_case *test) {
  int outcome = setjmp(after_test);
  if (outcome == 0) test_run(test);
  return outcome;
}

int test_run_all(test_case *const *tests, size_t count) {
  static const char *const words[] = {"OK", "FAILED", "SKIPPED"};
  int failed = 0;
  for (size_t i = 0; i < count; i++) {
    printf("[ RUN      ] %s\n", tests[i]->name);
    fflush(stdout);
    int outcome = run_one(tests[i]);
    printf("[ %8s ] %s\n", words[outcome], tests[i]->name);
    failed += outcome == HAS_FAILED;
  }
  return failed;
}
