// SPDX-License-Identifier: MIT
// A forked process for each test: see serve.h.
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#endif

#include "support/serve.h"

enum { SIGNAL_STATUS = 128, NO_SUCH_TEST = 2 };

// Whether `name` is the full name of the test: core.shape.CLAIM for the test CLAIM of the file core.shape.
static bool is_named(const test_case *test, const char *name) {
  size_t length = strlen(test->file);
  return strncmp(name, test->file, length) == 0 && name[length] == '.' && strcmp(name + length + 1, test->name) == 0;
}

static test_case *find_test(test_case *first, const char *name) {
  test_case *t = first;
  while (t && !is_named(t, name)) t = t->next;
  return t;
}

// Redirects standard output and standard error to the file at `path`, and standard input to an empty file.
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

// The exit status as a shell gives it. Sets `out_seconds` to the processor time of the process and of those it waited for.
static int wait_for(pid_t child, double *out_seconds) {
  int status = 0;
  struct rusage usage = {0};
  while (wait4(child, &status, 0, &usage) < 0) {
    if (errno != EINTR) return EXIT_FAILURE;
  }
  *out_seconds = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
  return WIFSIGNALED(status) ? SIGNAL_STATUS + WTERMSIG(status) : WEXITSTATUS(status);
}

// Whether this process ever started a thread; true if the C library has no way to find out.
static bool has_started_threads(void) {
#if __has_include(<sys/single_threaded.h>)
  return !__libc_single_threaded;
#else
  return true;
#endif
}

// Runs the test in this process, which ends. Sets `had_threads`, which the server reads, to whether it ever had a second thread.
static _Noreturn void run_here(test_case *test, int (*run)(test_case **tests, size_t count), const char *output,
                               bool *had_threads) {
  if (!redirect(output)) exit(EXIT_FAILURE);
  int status = run(&test, 1);
  *had_threads = has_started_threads();
  exit(status);
}

int test_serve(test_case *first, int (*run)(test_case **tests, size_t count)) {
  char name[512], output[4096];
  bool *had_threads = mmap(NULL, sizeof *had_threads, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (had_threads == MAP_FAILED) return EXIT_FAILURE;
  while (scanf("%511s %4095s", name, output) == 2) {
    test_case *test = find_test(first, name);
    if (!test) {
      fprintf(stderr, "no test %s (--list shows them)\n", name);
      return NO_SUCH_TEST;
    }
    *had_threads = false;
    double seconds = 0;
    pid_t child = fork();
    if (child == 0) run_here(test, run, output, had_threads);
    int status = child < 0 ? EXIT_FAILURE : wait_for(child, &seconds);
    printf("%d %.3f %s\n", status, seconds, *had_threads ? "threads" : "thread");
    fflush(stdout);
  }
  return 0;
}
