// SPDX-License-Identifier: MIT
// The pool of worker threads on POSIX systems.
//
// A worker's state tells who may access its record:
//
//   FREE -> RESERVED    a caller takes the worker and writes `job` and `order`
//   RESERVED -> ASSIGNED  the caller is ready; the worker is woken if it sleeps
//   ASSIGNED -> RUNNING   the worker begins; from here to DONE the job on the caller's stack is in use
//   ASSIGNED -> FREE      the caller has finished before the worker began, and takes the job back
//   RUNNING -> DONE -> FREE   the worker ends, the caller notices
//   FREE -> STOPPED       the library is unloaded or the process ends
//
// Records are static, so a worker may still signal its own record after the caller has returned.
#include "platform/parallel.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform/platform.h"

enum {
  MOST_WORKERS = 1023,
  CACHE_LINE = 64,
  STACK_BYTES = 1 << 20,
  SPIN_NS = 20 * 1000,            // about the time the system needs to wake a thread
  JOB_NS = 200 * 1000,            // longest time to spin until a job of many parts ends (job.end_ns)
  AWAKE_NS = 1000 * 1000,         // job.awake_ns of tsri_parallel_awake
  RETRY_NS = 1000 * 1000 * 1000,  // time between attempts to create a thread that the system refused
  WORD_BITS = 64,
  // Parts per thread. From SOME_PARTS on, all threads end at nearly the same time, because they help each other; from MANY_PARTS on, it hardly matters which
  // thread runs the last part of a share.
  SOME_PARTS = 4,
  MANY_PARTS = 8,
};

typedef enum worker_state { FREE, RESERVED, ASSIGNED, RUNNING, DONE, STOPPED } worker_state;

typedef struct worker worker;

typedef struct job {
  tsri_part run;
  void *user;
  int parts, helper_count;
  uint64_t end_ns;    // how long a thread without parts spins until the whole job has ended
  uint64_t awake_ns;  // how long a worker then spins for the next job before it sleeps
  worker *helpers[MOST_WORKERS];
  _Atomic uint64_t claimed[TSRI_MOST_PARTS / WORD_BITS];  // bit i: some thread has taken part i
} job;

struct worker {
  _Alignas(CACHE_LINE) atomic_int state;
  atomic_int sleepers;  // threads that wait for either condition; 0 saves a system call
  job *job;
  int order;  // number among the job's threads; the caller is 0
  pthread_t thread;
  pthread_mutex_t lock;
  // One condition for each direction, so that no two threads ever wait for the same one: glibc before 2.41 may lose a
  // signal if a second thread begins to wait while the first is leaving (its bug 25847).
  pthread_cond_t has_work;   // the worker waits
  pthread_cond_t has_ended;  // the caller waits
};

static struct {
  worker workers[MOST_WORKERS];
  atomic_int worker_count;
  atomic_int active;      // callers and the workers that help them, in all calls
  atomic_int core_count;  // 0: not determined yet
  pthread_mutex_t lock;   // held while a worker is created
  bool handles_fork;
  bool is_closed;
  uint64_t retry_at_ns;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};

// --- Waiting for a worker's state ---------------------------------------------------------------------------------------

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static bool has_orders(int state) { return state == ASSIGNED || state == STOPPED; }

static bool is_done(int state) { return state == DONE; }

static bool is_dismissed(int state) { return state != DONE; }

static int core_count(void) {
  int cores = atomic_load_explicit(&pool.core_count, memory_order_relaxed);
  if (cores == 0) {
    cores = tsri_cpu_count();
    atomic_store_explicit(&pool.core_count, cores, memory_order_relaxed);
  }
  return cores;
}

// If there are more threads than cores, a spinning thread may keep the thread it waits for from running.
static bool may_spin(void) { return atomic_load_explicit(&pool.worker_count, memory_order_relaxed) < core_count(); }

static void sleep_until(worker *w, pthread_cond_t *changed, bool (*is_over)(int state)) {
  pthread_mutex_lock(&w->lock);
  // No wake-up is lost: this thread increments `sleepers` and then reads `state`; the other thread changes `state` and then calls wake(), which also performs
  // an atomic read-modify-write of `sleepers`. The later of these two operations on `sleepers` sees everything that the thread of the earlier one did before
  // it: either wake() finds a sleeper, or this thread finds the new state.
  atomic_fetch_add(&w->sleepers, 1);
  while (!is_over(atomic_load(&w->state))) pthread_cond_wait(changed, &w->lock);
  atomic_fetch_sub(&w->sleepers, 1);
  pthread_mutex_unlock(&w->lock);
}

// Spins until `is_over` is true for the worker's state, for at most `spin_ns`. Returns whether it became true.
static bool spin(const worker *w, bool (*is_over)(int state), uint64_t spin_ns) {
  enum { LOOKS = 16 };  // checks of the state between two readings of the clock
  if (!may_spin()) return is_over(atomic_load(&w->state));
  uint64_t end = tsri_clock_ns() + spin_ns;
  do {
    for (int i = 0; i < LOOKS; i++) {
      if (is_over(atomic_load_explicit(&w->state, memory_order_acquire))) return true;
      relax();
    }
  } while (tsri_clock_ns() < end);
  return false;
}

// Waits until the worker has a job. It first spins until its last job has ended: threads end at different times, and if those that end early slept, each call
// of a series of calls would have to wake them.
static void await_orders(worker *w, uint64_t end_ns, uint64_t awake_ns) {
  if (spin(w, is_dismissed, end_ns) && spin(w, has_orders, awake_ns)) return;
  sleep_until(w, &w->has_work, has_orders);
}

static void await_end(worker *w, uint64_t end_ns) {
  if (!spin(w, is_done, end_ns)) sleep_until(w, &w->has_ended, is_done);
}

// Wakes the thread that waits for `changed`, if there is one. Call after changing the worker's state.
static void wake(worker *w, pthread_cond_t *changed) {
  if (atomic_fetch_add(&w->sleepers, 0) == 0) return;  // a read-modify-write that adds 0: see sleep_until
  pthread_mutex_lock(&w->lock);                        // waits until the sleeper is inside pthread_cond_wait
  pthread_cond_signal(changed);
  pthread_mutex_unlock(&w->lock);
}

static void wake_worker(worker *w) { wake(w, &w->has_work); }

static bool change(worker *w, int from, int to) { return atomic_compare_exchange_strong(&w->state, &from, to); }

// --- Jobs ---------------------------------------------------------------------------------------------------------------

static uint64_t bit_of(int part) { return UINT64_C(1) << part % WORD_BITS; }

static bool is_claimed(const job *j, int part) {
  return (atomic_load_explicit(&j->claimed[part / WORD_BITS], memory_order_relaxed) & bit_of(part)) != 0;
}

static bool claim(job *j, int part) {
  if (is_claimed(j, part)) return false;
  uint64_t before = atomic_fetch_or_explicit(&j->claimed[part / WORD_BITS], bit_of(part), memory_order_relaxed);
  return (before & bit_of(part)) == 0;
}

// Threads are woken along a binary tree, each by the one above it: waking takes some microseconds, too long for one
// thread to wake all.
static void wake_next(const job *j, int order) {
  for (int next = 2 * order + 1; next <= 2 * order + 2 && next <= j->helper_count; next++)
    wake_worker(j->helpers[next - 1]);
}

// Runs parts of another thread's share (first to last - 1), from the last to the first. If the share has many parts and its owner has reached the part before,
// leaves the part to the owner, which is about to take it and has its data in its core's cache.
static void help(job *j, int first, int last) {
  bool is_fine = last - first >= MANY_PARTS;
  for (int part = last - 1; part >= first; part--) {
    if (is_fine && part > first && is_claimed(j, part - 1)) continue;
    if (claim(j, part)) j->run(j->user, part);
  }
}

// Runs the share of the thread number `order`, from the first part to the last, then helps with the other shares. So repeated calls run a part mostly on the
// same thread, which finds the part's data in its core's cache.
static void take_parts(job *j, int order) {
  int threads = j->helper_count + 1;
  for (int i = 0; i < threads; i++) {
    int owner = (order + i) % threads, first = j->parts * owner / threads, last = j->parts * (owner + 1) / threads;
    if (i > 0) help(j, first, last);
    for (int part = first; i == 0 && part < last; part++) {
      if (claim(j, part)) j->run(j->user, part);
    }
  }
}

static void *run_worker(void *user) {
  worker *w = user;
  uint64_t end_ns = SPIN_NS, awake_ns = SPIN_NS;
  for (;;) {
    await_orders(w, end_ns, awake_ns);
    if (change(w, ASSIGNED, RUNNING)) {
      end_ns = w->job->end_ns;
      awake_ns = w->job->awake_ns;
      wake_next(w->job, w->order);
      take_parts(w->job, w->order);
      atomic_store(&w->state, DONE);
      wake(w, &w->has_ended);
    } else if (atomic_load(&w->state) == STOPPED) {
      return NULL;
    }
  }
}

// --- Creating workers ---------------------------------------------------------------------------------------------------

static void init_worker(worker *w) {
  atomic_init(&w->state, FREE);
  atomic_init(&w->sleepers, 0);
  pthread_mutex_init(&w->lock, NULL);
  pthread_cond_init(&w->has_work, NULL);
  pthread_cond_init(&w->has_ended, NULL);
}

// A child of fork() has a copy of the records but none of the threads. A lock may have been held by a thread that does
// not exist in the child, so it is initialised again.
static void before_fork(void) { pthread_mutex_lock(&pool.lock); }

static void after_fork_in_parent(void) { pthread_mutex_unlock(&pool.lock); }

static void after_fork_in_child(void) {
  pthread_mutex_init(&pool.lock, NULL);
  atomic_store(&pool.worker_count, 0);
  atomic_store(&pool.active, 0);
  pool.retry_at_ns = 0;
}

// Signals are blocked, so that the program's signal handlers run on the program's own threads. The stack is small, so
// that many threads fit where address space is limited.
static bool create_thread(worker *w) {
  sigset_t all, before;
  pthread_attr_t attr;
  if (pthread_attr_init(&attr) != 0) return false;
  sigfillset(&all);
  bool is_created =
      pthread_attr_setstacksize(&attr, STACK_BYTES) == 0 && pthread_sigmask(SIG_SETMASK, &all, &before) == 0;
  if (is_created) {
    is_created = pthread_create(&w->thread, &attr, run_worker, w) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
  }
  pthread_attr_destroy(&attr);
  return is_created;
}

// Call with the pool's lock held.
static bool may_create(void) {
  if (pool.is_closed) return false;
  if (!pool.handles_fork)
    pool.handles_fork = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child) == 0;
  return pool.handles_fork && (pool.retry_at_ns == 0 || tsri_clock_ns() >= pool.retry_at_ns);
}

// Creates worker `index` unless another thread has done so. False if the system refuses, or there are MOST_WORKERS
// already.
static bool create_worker(int index) {
  if (index >= MOST_WORKERS) return false;
  pthread_mutex_lock(&pool.lock);
  bool is_there = index < atomic_load(&pool.worker_count);
  if (!is_there && may_create()) {
    init_worker(&pool.workers[index]);
    is_there = create_thread(&pool.workers[index]);
    pool.retry_at_ns = is_there ? 0 : tsri_clock_ns() + RETRY_NS;
    if (is_there) atomic_store(&pool.worker_count, index + 1);
  }
  pthread_mutex_unlock(&pool.lock);
  return is_there;
}

// Called when the library is unloaded and when the process ends. Does not wait for a worker that is running a part, so
// that the process can end during a long kernel.
__attribute__((destructor)) static void stop_workers(void) {
  pthread_mutex_lock(&pool.lock);
  pool.is_closed = true;
  int count = atomic_exchange(&pool.worker_count, 0);
  pthread_mutex_unlock(&pool.lock);
  for (int i = 0; i < count; i++) {
    worker *w = &pool.workers[i];
    if (!change(w, FREE, STOPPED)) continue;
    wake_worker(w);
    pthread_join(w->thread, NULL);
  }
}

// --- The call -----------------------------------------------------------------------------------------------------------

// Counts the caller and its helpers as active. Returns the number of helpers: as many as there are unused cores, at
// most threads - 1.
static int admit(int threads) {
  int limit = threads > core_count() ? threads : core_count();
  int active = atomic_load(&pool.active), helpers = 0;
  do {
    helpers = limit - active - 1;
    if (helpers > threads - 1) helpers = threads - 1;
    if (helpers < 0) helpers = 0;
  } while (!atomic_compare_exchange_weak(&pool.active, &active, active + 1 + helpers));
  return helpers;
}

static void assign(job *j, int wanted) {
  for (int i = 0; j->helper_count < wanted; i++) {
    if (i >= atomic_load_explicit(&pool.worker_count, memory_order_acquire) && !create_worker(i)) return;
    worker *w = &pool.workers[i];
    if (!change(w, FREE, RESERVED)) continue;
    j->helpers[j->helper_count++] = w;
    w->job = j;
    w->order = j->helper_count;
  }
}

// Takes the job back from workers that have not begun it, and waits for the others. Workers become FREE only when all of them have ended (see await_orders).
// j->helpers is not changed, because workers read it until they end. Here and in run_job, states are changed by release stores in a loop: such a store does not
// wait for the cache line that the worker's core has, so the stores to all workers overlap.
static void dismiss(const job *j) {
  bool has_begun[MOST_WORKERS];
  for (int i = 0; i < j->helper_count; i++) {
    bool is_waiting = atomic_load_explicit(&j->helpers[i]->state, memory_order_acquire) == ASSIGNED;
    has_begun[i] = !is_waiting || !change(j->helpers[i], ASSIGNED, FREE);
  }
  for (int i = 0; i < j->helper_count; i++) {
    if (has_begun[i]) await_end(j->helpers[i], j->end_ns);
  }
  for (int i = 0; i < j->helper_count; i++) {
    if (has_begun[i]) atomic_store_explicit(&j->helpers[i]->state, FREE, memory_order_release);
  }
}

static _Thread_local int limit;

void tsri_parallel_limit(int threads) { limit = threads; }

static void run_job(int threads, int parts, tsri_part run, void *user, uint64_t awake_ns) {
  if (threads > parts) threads = parts;
  if (limit && threads > limit) threads = limit;
  if (threads <= 1) {
    for (int part = 0; part < parts; part++) run(user, part);
    return;
  }
  job j;
  j.run = run;
  j.user = user;
  j.parts = parts;
  j.helper_count = 0;
  // With few parts, one part on a slow core may take as long as all others together. Then the other threads do not spin for long, so that the system can move a
  // thread to their cores if another program has taken its core.
  j.end_ns = parts >= SOME_PARTS * threads ? JOB_NS : SPIN_NS;
  j.awake_ns = awake_ns;
  for (int i = 0; i * WORD_BITS < parts; i++) atomic_init(&j.claimed[i], 0);

  int admitted = admit(threads);
  assign(&j, admitted);
  // Assign from last to first: a worker wakes workers after it in the list (wake_next), which must be assigned by then.
  for (int i = j.helper_count - 1; i >= 0; i--) {
    atomic_store_explicit(&j.helpers[i]->state, ASSIGNED, memory_order_release);
  }
  wake_next(&j, 0);
  take_parts(&j, 0);
  dismiss(&j);
  atomic_fetch_sub(&pool.active, 1 + admitted);
}

void tsri_parallel(int threads, int parts, tsri_part run, void *user) { run_job(threads, parts, run, user, SPIN_NS); }

void tsri_parallel_awake(int threads, int parts, tsri_part run, void *user) {
  run_job(threads, parts, run, user, AWAKE_NS);
}

int tsri_parallel_workers(void) { return atomic_load(&pool.worker_count); }
