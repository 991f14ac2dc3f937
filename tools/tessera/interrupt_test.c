// SPDX-License-Identifier: MIT
// Unit tests of requests to end, in children, which a signal may end. The tested files are included, because the program is not a library to link with.
#include <sys/wait.h>

#include "support/test.h"

#include "bench_time.c"  // NOLINT(bugprone-suspicious-include)
#include "interrupt.c"   // NOLINT(bugprone-suspicious-include)

// How a child that runs `action` ends: its exit code, or minus the signal that ended it.
static int end_of(int (*action)(void)) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) _exit(action());
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) return -1000;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

static int none(void) {
  interrupt_catch();
  return interrupt_is_noted();
}

static int twice_at_once(void) {
  interrupt_catch();
  raise(SIGTERM);
  raise(SIGTERM);
  return interrupt_is_noted();
}

static int twice(void) {
  signal(SIGINT, SIG_DFL);  // a shell that starts the tests in the background ignores it
  interrupt_catch();
  raise(SIGINT);
  bench_rest(0.15);
  raise(SIGINT);
  return interrupt_is_noted();
}

static int late(void) {
  interrupt_catch();
  raise(SIGTERM);
  if (alarm(1) == 0) return 2;  // there was no limit
  bench_rest(3);
  return interrupt_is_noted();
}

static int ignored(void) {
  signal(SIGINT, SIG_IGN);
  interrupt_catch();
  raise(SIGINT);
  return interrupt_is_noted();
}

TEST(interrupt_notes_a_request_that_is_sent_twice_at_once) {
  CHECK(end_of(none) == 0);
  CHECK(end_of(twice_at_once) == 1);
}

TEST(interrupt_ends_the_process_at_the_second_request) { CHECK(end_of(twice) == -SIGINT); }

TEST(interrupt_ends_a_process_that_goes_on_after_sigterm) { CHECK(end_of(late) == -SIGTERM); }

TEST(interrupt_leaves_an_ignored_signal_ignored) { CHECK(end_of(ignored) == 0); }
