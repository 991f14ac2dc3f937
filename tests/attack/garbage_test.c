// SPDX-License-Identifier: MIT
// Calls every public function with NULL, failed tensors, and meaningless numbers, shapes and enums: it must return a
// status or a failed tensor, and must neither crash, end the process, print, nor run for ever. The address and
// undefined-behaviour sanitizers make this test stricter.
//
// A child process makes the calls, with its output redirected to a file, so that the parent can tell how it ended and
// in which call.
//
//   TSR_TEST_ATTACK_SECONDS  how long the test with random arguments runs (4)
//   TSR_TEST_SEED            seed of its random numbers (1)
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "attack/garbage.h"
#include "support/test.h"

enum { LONGEST_CALL_SECONDS = 60 };

// State shared by parent and child.
typedef struct shared_state {
  garbage calls;
  int rounds;
  bool is_done;
} shared_state;

static uint64_t seed_from_environment(void) {
  const char *given = getenv("TSR_TEST_SEED");
  return given ? strtoull(given, NULL, 10) : 1;
}

static time_t seconds_from_environment(void) {
  const char *given = getenv("TSR_TEST_ATTACK_SECONDS");
  return given ? (time_t)strtol(given, NULL, 10) : 4;
}

// --- In the child -----------------------------------------------------------------------------------------------------------

// These functions start backends again, which is slow: call them once in 16 rounds.
static bool is_slow(const char *name) {
  return strcmp(name, "tsr_discover") == 0 || strcmp(name, "tsr_discovery_release") == 0 ||
         strcmp(name, "tsr_device_open") == 0;
}

static bool call_all(shared_state *s) {
  for (int i = 0; i < garbage_call_count; i++) {
    if (is_slow(garbage_calls[i].name) && s->rounds % 16 != 0) continue;
    alarm(LONGEST_CALL_SECONDS);  // ends the process if the call takes longer
    if (!garbage_do(&s->calls, &garbage_calls[i])) return false;
  }
  s->rounds++;
  return true;
}

static void make_calls(shared_state *s, bool is_plain) {
  time_t end = time(NULL) + (is_plain ? 0 : seconds_from_environment());
  bool is_good = garbage_init(&s->calls, seed_from_environment());
  if (!is_good) snprintf(s->calls.complaint, sizeof s->calls.complaint, "preparing: %s", tsr_last_error());
  s->calls.is_plain = is_plain;
  while (is_good) {
    is_good = call_all(s);
    if (time(NULL) >= end) break;
  }
  s->calls.function = NULL;
  if (is_good) garbage_deinit(&s->calls);
  s->is_done = true;
}

// --- In the parent ----------------------------------------------------------------------------------------------------------

static void redirect_output(FILE *file) {
  dup2(fileno(file), STDOUT_FILENO);
  dup2(fileno(file), STDERR_FILENO);
}

// Copies the child's output to standard error and returns its size. The address sanitizer's warning about failed
// allocations is not counted, because it does not come from the library.
static size_t show_output(FILE *file) {
  char line[4096];
  size_t bytes = 0;
  rewind(file);
  while (fgets(line, sizeof line, file)) {
    if (strstr(line, "WARNING: AddressSanitizer failed to allocate")) continue;
    fputs(line, stderr);
    bytes += strlen(line);
  }
  fclose(file);
  return bytes;
}

static void judge(const shared_state *s, int status, size_t printed_bytes) {
  const garbage *g = &s->calls;
  bool is_good = s->is_done && status == 0 && printed_bytes == 0 && !g->complaint[0];
  if (is_good) return;
  const char *what = g->complaint[0]                                      ? g->complaint
                     : WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "the call does not come back"
                     : !s->is_done                                        ? "the call ends the process"
                     : printed_bytes > 0                                  ? "something was printed"
                                                                          : "the process ends badly";
  test_fail(__FILE__, __LINE__, "seed %llu: %s(%s): %s (status %d)", (unsigned long long)seed_from_environment(),
            g->function ? g->function : "after the calls, ", g->text, what, status);
}

static void call_in_child(bool is_plain) {
  shared_state *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  FILE *output = tmpfile();
  CHECK(s != MAP_FAILED && output);
  fflush(stdout);
  fflush(stderr);
  pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    redirect_output(output);
    make_calls(s, is_plain);
    exit(s->calls.complaint[0] ? 1 : 0);  // not _exit: leaks are reported at exit
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  judge(s, status, show_output(output));
  printf("%d rounds of %d functions\n", s->rounds, garbage_call_count);
  munmap(s, sizeof *s);
}

TEST(every_function_answers_null_and_zero) { call_in_child(true); }
TEST(every_function_answers_garbage) { call_in_child(false); }
