// SPDX-License-Identifier: MIT
// A worker: one thread that runs jobs in the order in which they were given.
#ifndef TSRI_WORKER_H
#define TSRI_WORKER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct tsri_worker tsri_worker;

// The first member of a job. `run` is called on the worker's thread, and frees the job.
typedef struct tsri_job {
  struct tsri_job *next;
  void (*run)(struct tsri_job *job);
} tsri_job;

// NULL if the system has no threads, or refuses one.
tsri_worker *tsri_worker_create(void);

// A worker of the whole process, created at the first call. When the library is unloaded or the process ends, its thread ends after the job that
// it runs then.
tsri_worker *tsri_worker_shared(void);

// Whether this system has threads at all.
extern const bool tsri_has_threads;

// Runs the jobs that are left, then ends the thread. Not on the worker's own thread. `worker` may be NULL.
void tsri_worker_destroy(tsri_worker *worker);

// Adds a job and returns its number; they count from 1. Any thread.
uint64_t tsri_worker_add(tsri_worker *worker, tsri_job *job);

// How many jobs have been added, and how many have ended. Any thread.
uint64_t tsri_worker_added(tsri_worker *worker);
uint64_t tsri_worker_ended(tsri_worker *worker);

// Waits until `number` jobs have ended. False if `timeout_ns` pass before; UINT64_MAX: no limit. Any thread; on the worker's own thread only for jobs before the
// current one, which cannot end while it waits.
bool tsri_worker_wait(tsri_worker *worker, uint64_t number, uint64_t timeout_ns);

#endif
