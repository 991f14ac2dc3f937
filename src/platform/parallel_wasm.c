// SPDX-License-Identifier: MIT
// A WebAssembly module has one thread: the caller's.
#include "platform/parallel.h"

void tsri_parallel(int threads, int parts, tsri_part run, void *user) {
  (void)threads;
  for (int part = 0; part < parts; part++) run(user, part);
}

void tsri_parallel_awake(int threads, int parts, tsri_part run, void *user) {
  tsri_parallel(threads, parts, run, user);
}

void tsri_parallel_limit(int threads) { (void)threads; }

int tsri_parallel_workers(void) { return 0; }
