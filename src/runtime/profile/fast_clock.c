// SPDX-License-Identifier: MIT
// The host's clock, read for each launch: the system's clock is read about once per millisecond; in between, the processor's cycle counter gives the time that
// has passed since. On some virtual machines reading the system's clock is a system call, which takes longer than all the rest of recording a launch.
#include "runtime/profile/recorder.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>

static uint64_t read_counter(void) { return __builtin_ia32_rdtsc(); }

// Whether the counter has a constant rate, independent of the processor's current frequency.
static bool is_steady(void) {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1u);
}
#else
static uint64_t read_counter(void) { return 0; }
static bool is_steady(void) { return false; }
#endif

enum { LEARN_NS = 1000000, AGAIN_NS = 1000000 };

// Reads the system's clock. Computes the counter's rate once LEARN_NS have passed since the first reading.
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

// If the counter went backwards, because the thread moved to another processor, the system's clock is read instead.
uint64_t tsri_fast_clock_ns(tsri_fast_clock *clock) {
  int64_t ticks = (int64_t)(read_counter() - clock->ticks);
  double passed_ns = (double)ticks * clock->ns_per_tick;
  bool is_known = clock->ns_per_tick > 0 && ticks >= 0 && passed_ns < AGAIN_NS;
  uint64_t ns = is_known ? clock->ns + (uint64_t)passed_ns : read_system(clock);
  if (ns > clock->latest_ns) clock->latest_ns = ns;
  return clock->latest_ns;
}
