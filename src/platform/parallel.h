// SPDX-License-Identifier: MIT
// Runs work on several threads. One pool of worker threads serves the whole process, whatever the number of devices and
// callers.
//
// Workers are created when a call first needs them. A worker that finds no more parts in a call spins until the call ends, for at most 200 us. After that it
// spins for another 20 us (1 ms after tsri_parallel_awake), waiting for the next call; then it sleeps.
#ifndef TSRI_PARALLEL_H
#define TSRI_PARALLEL_H

enum { TSRI_MOST_PARTS = 4096 };

typedef void (*tsri_part)(void *user, int part);

// Calls `run(user, part)` once for each part from 0 to `parts` - 1 (at most TSRI_MOST_PARTS) and returns when all have
// returned. Use several parts per thread, so that a delayed thread delays the call less.
//
// At most `threads` threads run parts, including the caller. Each thread begins with its own share of the parts, which is the same in repeated calls, so that a
// core finds the data of its parts in its cache; the caller's share begins with part 0. Then the thread takes parts of other shares that no thread has begun,
// except the last part of a share whose own thread is running. So a worker that starts late delays no other thread, and a call without workers still runs all
// parts. The result must not depend on which thread runs a part, or on the number of threads.
//
// The call does not wait for workers that other calls use: simultaneous calls share the cores of the machine (or
// `threads` threads if that is more), and a call that finds all of them in use runs alone. If the system refuses to
// create a thread, the call uses fewer, and the pool tries again a second later. It never prints, exits or fails.
//
// Threads:   any thread, also from inside a part.
// fork():    the child creates workers of its own when it needs them, if no other thread of the parent was inside a call.
void tsri_parallel(int threads, int parts, tsri_part run, void *user);

// As tsri_parallel, for short work that is likely to be repeated within a millisecond: the workers stay awake for that time. Waking seven workers takes a fifth
// of the time of an upload of 40 MB.
void tsri_parallel_awake(int threads, int parts, tsri_part run, void *user);

// From now on, calls of this thread use at most `threads` threads; 0: no limit.
void tsri_parallel_limit(int threads);

// Number of worker threads of this process.
int tsri_parallel_workers(void);

#endif
