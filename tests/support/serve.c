// SPDX-License-Identifier: MIT
// A forked process for each test: see serve.h.
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/serve.h"

enum { SIGNAL_STATUS = 128, NO_SUCH_TEST = 2 };

// Whether `name` is core.shape.CLAIM for the test CLAIM of core.shape.
static bool is_named(const test_case *test, const char *name) {
  size_t length = strlen(test->file);
  return strncmp(name, test->file, length) == 0 && name[length] == '.' && strcmp(name + length + 1, test->name) == 0;
}

static test_case *find_test(test_case *first, const char *name) {
  test_case *t = first;
  while (t && !is_named(t, name)) t = t->next;
  return t;
}

// Makes `path` standard output and standard error, and leaves nothing to read from standard input.
static bool redirect(const char *path) {
  int nothing = open("/dev/null", O_RDONLY);
  int output = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0644);
  if (nothing < 0 || output < 0) return false;
  bool is_done =
      dup2(nothing, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0;
  close(nothing);
  close(output);
  return is_done;
}

// The exit status as a shell gives it.
static int wait_for(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return EXIT_FAILURE;
  }
  return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

int test_serve(test_case *first, int (*run)(test_case **tests, size_t count)) {
  char name[512], output[4096];
  while (scanf("%511s %4095s", name, output) == 2) {
    test_case *test = find_test(first, name);
    if (!test) {
      fprintf(stderr, "no test %s (--list shows them)\n", name);
      return NO_SUCH_TEST;
    }
    pid_t child = fork();
    if (child == 0) exit(redirect(output) ? run(&test, 1) : EXIT_FAILURE);
    printf("%d\n", child < 0 ? EXIT_FAILURE : wait_for(child));
    fflush(stdout);
  }
  return 0;
}
