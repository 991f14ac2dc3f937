// SPDX-License-Identifier: MIT
// The host's clock for each launch: the system's clock is read about once in a millisecond, and in between the processor's counter tells how much time has passed.
// Where the system's clock is a call of the kernel, as on some virtual machines, reading it takes longer than all the rest of a record.
#include "runtime/profile/recorder.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

static uint64_t read_counter(void) { return __builtin_ia32_rdtsc(); }

// Whether the counter has the same rate at all times, whatever the processor's clock is.
static bool is_steady(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1u);
}
#else
static uint64_t read_counter(void) { return 0; }
static bool is_steady(void) { return false; }
#endif

enum { LEARN_NS = 1000000, AGAIN_NS = 1000000 };

// Reads the system's clock. Once some time has passed since it was first read, the counter's rate is known.
static uint64_t read_system(tsri_fast_clock *clock) {
  clock->ns = tsri_clock_ns();
  clock->ticks = read_counter();
  if (clock->first_ns == 0) {
    clock->first_ns = is_steady() ? clock->ns : UINT64_MAX;  // UINT64_MAX: the rate is never known
    clock->first_ticks = clock->ticks;
  } else if (clock->first_ns < clock->ns && clock->ns - clock->first_ns > LEARN_NS) {
    clock->ns_per_tick = (double)(clock->ns - clock->first_ns) / (double)(clock->ticks - clock->first_ticks);
  }
  return clock->ns;
}

// A counter that went back, since the thread moved to another processor, is not believed.
uint64_t tsri_fast_clock_ns(tsri_fast_clock *clock) {
  int64_t ticks = (int64_t)(read_counter() - clock->ticks);
  double passed_ns = (double)ticks * clock->ns_per_tick;
  bool is_known = clock->ns_per_tick > 0 && ticks >= 0 && passed_ns < AGAIN_NS;
  uint64_t ns = is_known ? clock->ns + (uint64_t)passed_ns : read_system(clock);
  if (ns > clock->latest_ns) clock->latest_ns = ns;
  return clock->latest_ns;
}
