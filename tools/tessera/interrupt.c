// SPDX-License-Identifier: MIT
// Ctrl-C as a request to end in order.
#include "interrupt.h"

#if defined(__wasm__)  // a page has no signals
void interrupt_catch(void) {}

bool interrupt_is_noted(void) { return false; }
#else
#include <signal.h>

static volatile sig_atomic_t is_noted;

static void note(int number) {
  is_noted = 1;
  signal(number, SIG_DFL);
}

// If Ctrl-C is ignored already, as in a program that was started in the background, it stays ignored.
void interrupt_catch(void) {
  if (signal(SIGINT, note) == SIG_IGN) signal(SIGINT, SIG_IGN);
}

bool interrupt_is_noted(void) { return is_noted != 0; }
#endif
