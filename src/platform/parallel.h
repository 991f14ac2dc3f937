// SPDX-License-Identifier: MIT
// Runs work on several threads. One pool of worker threads serves the whole process, whatever the number of devices and
// callers.
//
// Workers are created when a call first needs them. A worker that has no more to do in a call spins until the call ends, for at most 200 microseconds, and then for 20 (a millisecond
// after tsri_parallel_awake); then it sleeps.
#ifndef TSRI_PARALLEL_H
#define TSRI_PARALLEL_H

enum { TSRI_MOST_PARTS = 4096 };

typedef void (*tsri_part)(void *user, int part);

// Calls `run(user, part)` once for each part from 0 to `parts` - 1 (at most TSRI_MOST_PARTS) and returns when all have
// returned. Use several parts per thread, so that a delayed thread delays the call less.
//
// At most `threads` threads work on it, including the caller. Each thread begins with its own share of the parts, so that repeated calls find the same data in a core's cache, the
// caller with part 0. Then it takes parts of other shares that nobody has begun, but for the last one of a thread that is at work. So a late worker delays nobody, and a call
// without workers still does everything. The result must not depend on which thread runs a part, or on the number of threads.
//
// The call does not wait for workers that other calls use: simultaneous calls share the cores of the machine (or
// `threads` threads if that is more), and a call that finds all of them in use runs alone. If the system refuses to
// create a thread, the call uses fewer, and the pool tries again a second later. It never prints, exits or fails.
//
// Threads:   any thread, also from inside a part.
// fork():    the child creates workers of its own when it needs them, if no other thread of the parent was inside a call.
void tsri_parallel(int threads, int parts, tsri_part run, void *user);

// As tsri_parallel, for short work that is likely to come again within a millisecond: its workers stay awake for so long. To wake seven of them takes a fifth of the time
// of an upload of 40 MB.
void tsri_parallel_awake(int threads, int parts, tsri_part run, void *user);

// Calls of this thread use at most so many threads from now on; 0: no limit.
void tsri_parallel_limit(int threads);

// Number of worker threads of this process.
int tsri_parallel_workers(void);

#endif
