// SPDX-License-Identifier: MIT
// Work on several threads. One pool of worker threads serves the whole process, whatever the number of devices and callers.
//
// Workers are created when a call first needs them. An idle worker spins for at most 20 microseconds, then it sleeps in the system.
#ifndef TSRI_PARALLEL_H
#define TSRI_PARALLEL_H

enum { TSRI_MOST_PARTS = 4096 };

typedef void (*tsri_part)(void *user, int part);

// Calls `run(user, part)` once for each part from 0 to `parts` - 1 (at most TSRI_MOST_PARTS) and returns when all have returned.
// Several parts for each thread even out threads that are held up.
//
// At most `threads` threads work on it, the caller among them. The caller begins with part 0 and goes on with every part that no
// worker has begun, so a late worker holds nobody up and a call without workers still does everything. Each thread begins with a
// share of its own, so that repeated calls find the same data in a core's cache. Which thread runs a part, and how many threads
// there are, must not change the result.
//
// Workers that other calls use are not waited for: calls at the same time share the cores of the machine (or `threads` threads if
// that is more), and one that finds them all in use runs alone. Where the system refuses a thread, the call uses fewer and the pool
// tries again a second later. It never prints, exits or fails.
//
// Threads:   any thread, also from inside a part.
// fork():    the child creates workers of its own when it needs them, if no other thread of the parent was inside a call.
void tsri_parallel(int threads, int parts, tsri_part run, void *user);

// Worker threads of this process.
int tsri_parallel_workers(void);

#endif
