// SPDX-License-Identifier: MIT
// Threads that do the same work at the same time, timed: the machine's limits are measured with all cores.
#ifndef TESSERA_TOOL_BENCH_THREADS_H
#define TESSERA_TOOL_BENCH_THREADS_H

#include <stdbool.h>

enum { BENCH_MAX_THREADS = 1024 };

// One thread's part of a round.
typedef void (*bench_work)(void *user, int thread, int thread_count);

// Runs `rounds` rounds of `work` on `thread_count` threads, which begin each round together. out_ns receives the time
// of each round, until the last thread is done. The threads are created and joined here.
//
// False if threads cannot be created; on Windows and in WebAssembly if there is more than one.
bool bench_time_rounds(int thread_count, int rounds, bench_work work, void *user, double *out_ns);

#endif
