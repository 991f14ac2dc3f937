// SPDX-License-Identifier: MIT
// The main function of every test program: runs the registered tests.
//
//   program            all tests
//   program NAME       the test of that name or, if there is none, all tests with NAME in their name
//   program --list     the full names, one a line: core.shape.NAME for a test in src/core/shape_test.c
//   program --serve    the tests whose full names standard input gives, each in a process of its own (serve.h)
//
// A program has the tests of one file or of a folder. Started under the name of a file's program (core_shape_test, a link to
// core_tests), it has the tests of that file only.
//
// Exit status: 0 all passed, 1 some failed, 2 no such test, 77 all tests that ran were skipped.
#include <stdarg.h>

#include "support/runner.h"
#include "support/serve.h"

enum { EXIT_SKIPPED = 77 };

static test_case *first_test, **last_link = &first_test;
static const char *running;  // name of the current test
static int skipped_count;

void test_register(test_case *test) {
  *last_link = test;
  last_link = &test->next;
}

void test_fail(const char *file, int line, const char *format, ...) {
  va_list values;
  va_start(values, format);
  fprintf(stderr, "%s:%d: ", file, line);
  vfprintf(stderr, format, values);
  fputc('\n', stderr);
  va_end(values);
  test_leave_failed(file, line);
}

void test_skip(const char *sentence) {
  printf("SKIPPED %s: %s\n", running, sentence);
  skipped_count++;
  test_leave_skipped();
}

void test_run(const test_case *test) {
  running = test->name;
  test->run();
}

// Whether `file` is core.shape and `program` is core_shape_test.
static bool is_program_of(const char *program, const char *file) {
  size_t length = strlen(file);
  for (size_t i = 0; i < length; i++) {
    if (program[i] != (file[i] == '.' ? '_' : file[i])) return false;
  }
  return strcmp(program + length, "_test") == 0;
}

// Drops the tests of other files if the program was started through a link named after one test file. False if that file no longer
// exists: the link is then left over from an earlier build.
static bool keep_tests_of(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *program = slash ? slash + 1 : path;
  test_case *kept = NULL, **link = &kept;
  for (test_case *t = first_test; t; t = t->next) {
    if (!is_program_of(program, t->file)) continue;
    *link = t;
    link = &t->next;
  }
  *link = NULL;
  if (kept) first_test = kept;
  const char *last_part = strrchr(program, '_');
  return kept || !last_part || strcmp(last_part, "_test") != 0;
}

static int list_tests(void) {
  for (const test_case *t = first_test; t; t = t->next) printf("%s.%s\n", t->file, t->name);
  return 0;
}

static bool has_test(const char *name) {
  for (const test_case *t = first_test; t; t = t->next) {
    if (strcmp(t->name, name) == 0) return true;
  }
  return false;
}

// Selects the tests that match `filter` into `selected`, which has room for all tests, and returns how many there are.
static size_t select_tests(const char *filter, test_case **selected) {
  bool exact = filter && has_test(filter);
  size_t count = 0;
  for (test_case *t = first_test; t; t = t->next) {
    if (filter && (exact ? strcmp(t->name, filter) != 0 : !strstr(t->name, filter))) continue;
    selected[count++] = t;
  }
  return count;
}

// Runs the tests and returns the program's exit status.
static int run_selected(test_case **selected, size_t count) {
  int failed = test_run_all(selected, count);
  if (failed != 0) return EXIT_FAILURE;
  return (size_t)skipped_count == count ? EXIT_SKIPPED : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  const char *filter = argc > 1 ? argv[1] : NULL;
  if (!keep_tests_of(argv[0])) {
    fprintf(stderr, "%s: there is no test file of this name any more\n", argv[0]);
    return 2;
  }
  if (filter && strcmp(filter, "--list") == 0) return list_tests();
  if (filter && strcmp(filter, "--serve") == 0) return test_serve(first_test, run_selected);

  size_t registered = 0;
  for (const test_case *t = first_test; t; t = t->next) registered++;
  test_case **selected = calloc(registered + 1, sizeof *selected);
  if (!selected) return EXIT_FAILURE;
  size_t count = select_tests(filter, selected);
  if (count == 0) {
    fprintf(stderr, "%s: no test %s (--list shows them)\n", argv[0], filter ? filter : "at all");
    free(selected);
    return 2;
  }
  int status = run_selected(selected, count);
  free(selected);
  return status;
}
