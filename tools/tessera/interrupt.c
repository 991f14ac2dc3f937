// SPDX-License-Identifier: MIT
// Ctrl-C and SIGTERM as requests to end in order.
#include "interrupt.h"

#if defined(__wasm__)  // a page has no signals
void interrupt_catch(void) {}

bool interrupt_is_noted(void) { return false; }
#else
#include <signal.h>

#include "bench_time.h"

enum { END_SECONDS = 10 };  // time until the process is ended after SIGTERM
#define ONE_REQUEST_NS 1e8

static volatile sig_atomic_t is_noted;
static double first_ns;  // only the handler uses it

static void end_by(int number) {
  signal(number, SIG_DFL);
  raise(number);
}

#if defined(_WIN32)  // on Windows no other process can send SIGTERM
static void set_limit(int number) { (void)number; }
#else
#include <unistd.h>

static void end_late(int number) {
  (void)number;
  end_by(SIGTERM);
}

// Ends the process some seconds after SIGTERM even if the command does not react, for instance because a device hangs.
static void set_limit(int number) {
  if (number != SIGTERM) return;
  signal(SIGALRM, end_late);
  alarm(END_SECONDS);
}
#endif

static void note(int number) {
  // clock_gettime may be called in a handler; Windows calls handlers on a thread of their own.
  double now = bench_now_ns();  // NOLINT(bugprone-signal-handler)
  if (is_noted && now - first_ns > ONE_REQUEST_NS) {
    end_by(number);
    return;
  }
  if (!is_noted) first_ns = now;
  is_noted = 1;
  signal(number, note);  // Windows resets the handler to the default before each call
  set_limit(number);
}

// A signal that is ignored already, as Ctrl-C in a program that was started in the background, stays ignored.
static void catch_one(int number) {
  if (signal(number, note) == SIG_IGN) signal(number, SIG_IGN);
}

void interrupt_catch(void) {
  catch_one(SIGINT);
  catch_one(SIGTERM);
}

bool interrupt_is_noted(void) { return is_noted != 0; }
#endif
