// SPDX-License-Identifier: MIT
// Workers on POSIX systems: a list of jobs, its lock, and a thread.
#include "platform/worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "platform/platform.h"

struct tsri_worker {
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;  // a job was added, or one has ended
  tsri_job *first, **last;
  uint64_t added;
  _Atomic uint64_t ended;
  bool is_closed;
  bool is_abandoned;  // jobs that have not begun are not run any more
};

const bool tsri_has_threads = true;

static void *run_jobs(void *user) {
  tsri_worker *worker = user;
  pthread_mutex_lock(&worker->lock);
  for (;;) {
    while (!worker->first && !worker->is_closed) pthread_cond_wait(&worker->changed, &worker->lock);
    tsri_job *job = worker->first;
    if (!job || worker->is_abandoned) break;
    worker->first = job->next;
    if (!worker->first) worker->last = &worker->first;
    pthread_mutex_unlock(&worker->lock);
    job->run(job);
    pthread_mutex_lock(&worker->lock);
    atomic_fetch_add(&worker->ended, 1);
    pthread_cond_broadcast(&worker->changed);
  }
  pthread_mutex_unlock(&worker->lock);
  return NULL;
}

// Time-outs are measured with the monotonic clock where the system has that for conditions.
static void init_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
#if !defined(__APPLE__)
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
#endif
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

// Signals are blocked, so that the program's signal handlers run on the program's own threads.
static bool create_thread(tsri_worker *worker) {
  sigset_t all, before;
  sigfillset(&all);
  if (pthread_sigmask(SIG_SETMASK, &all, &before) != 0) return false;
  bool is_created = pthread_create(&worker->thread, NULL, run_jobs, worker) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return is_created;
}

tsri_worker *tsri_worker_create(void) {
  tsri_worker *worker = calloc(1, sizeof *worker);
  if (!worker) return NULL;
  worker->last = &worker->first;
  pthread_mutex_init(&worker->lock, NULL);
  init_condition(&worker->changed);
  if (create_thread(worker)) return worker;
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->lock);
  free(worker);
  return NULL;
}

void tsri_worker_destroy(tsri_worker *worker) {
  if (!worker) return;
  pthread_mutex_lock(&worker->lock);
  worker->is_closed = true;
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  pthread_join(worker->thread, NULL);
  pthread_cond_destroy(&worker->changed);
  pthread_mutex_destroy(&worker->lock);
  free(worker);
}

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;
static tsri_worker *shared;

tsri_worker *tsri_worker_shared(void) {
  pthread_mutex_lock(&shared_lock);
  if (!shared) shared = tsri_worker_create();
  tsri_worker *worker = shared;
  pthread_mutex_unlock(&shared_lock);
  return worker;
}

__attribute__((destructor)) static void stop_shared(void) {
  if (!shared || pthread_equal(shared->thread, pthread_self())) return;
  pthread_mutex_lock(&shared->lock);
  shared->is_abandoned = true;
  pthread_mutex_unlock(&shared->lock);
  tsri_worker_destroy(shared);
}

uint64_t tsri_worker_add(tsri_worker *worker, tsri_job *job) {
  job->next = NULL;
  pthread_mutex_lock(&worker->lock);
  *worker->last = job;
  worker->last = &job->next;
  uint64_t number = ++worker->added;
  pthread_cond_broadcast(&worker->changed);
  pthread_mutex_unlock(&worker->lock);
  return number;
}

uint64_t tsri_worker_added(tsri_worker *worker) {
  pthread_mutex_lock(&worker->lock);
  uint64_t added = worker->added;
  pthread_mutex_unlock(&worker->lock);
  return added;
}

uint64_t tsri_worker_ended(tsri_worker *worker) { return atomic_load(&worker->ended); }

static struct timespec deadline_after(uint64_t ns) {
  enum { SECOND = 1000000000 };
  struct timespec now;
#if defined(__APPLE__)
  clock_gettime(CLOCK_REALTIME, &now);
#else
  clock_gettime(CLOCK_MONOTONIC, &now);
#endif
  uint64_t fraction = (uint64_t)now.tv_nsec + ns % SECOND;
  now.tv_sec += (time_t)(ns / SECOND + fraction / SECOND);
  now.tv_nsec = (long)(fraction % SECOND);
  return now;
}

bool tsri_worker_wait(tsri_worker *worker, uint64_t number, uint64_t timeout_ns) {
  const uint64_t for_ever = UINT64_C(1000000000) * 3600 * 24 * 365;
  if (tsri_worker_ended(worker) >= number) return true;
  bool has_limit = timeout_ns < for_ever;
  struct timespec deadline = deadline_after(has_limit ? timeout_ns : 0);
  int code = 0;
  pthread_mutex_lock(&worker->lock);
  while (atomic_load(&worker->ended) < number && code != ETIMEDOUT) {
    code = has_limit ? pthread_cond_timedwait(&worker->changed, &worker->lock, &deadline)
                     : pthread_cond_wait(&worker->changed, &worker->lock);
  }
  bool has_ended = atomic_load(&worker->ended) >= number;
  pthread_mutex_unlock(&worker->lock);
  return has_ended;
}
