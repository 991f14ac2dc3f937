// SPDX-License-Identifier: MIT
// The pool of worker threads, on the system that runs the tests.
#include "platform/parallel.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "platform/platform.h"
#include "support/test.h"

// The thread sanitizer aborts a forked process that creates threads.
static bool has_thread_sanitizer(void) {
  const char *sanitizers = getenv("TSR_TEST_SANITIZE");
  return sanitizers && strstr(sanitizers, "thread");
}

typedef struct visits {
  atomic_int count[TSRI_MOST_PARTS];
} visits;

static void visit(void *user, int part) { atomic_fetch_add(&((visits *)user)->count[part], 1); }

typedef void (*parallel_call)(int threads, int parts, tsri_part run, void *user);

static bool visits_each_once_by(parallel_call call, int parts) {
  visits v = {0};
  call(parts, parts, visit, &v);
  for (int part = 0; part < TSRI_MOST_PARTS; part++) {
    if (v.count[part] != (part < parts)) return false;
  }
  return true;
}

static bool visits_each_once(int parts) { return visits_each_once_by(tsri_parallel, parts); }

TEST(each_part_runs_once_whatever_the_number_of_threads) {
  static const int counts[] = {0, 1, 2, 3, 63, 64, 65, 130};
  for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
    for (int round = 0; round < 20; round++) CHECK(visits_each_once(counts[i]));
  }
}

// With workers that are still awake, and with workers that have gone to sleep in between.
TEST(workers_that_stay_awake_run_each_part_once) {
  for (int round = 0; round < 40; round++) {
    CHECK(visits_each_once_by(tsri_parallel_awake, 4));
    if (round % 2) tsri_sleep_ns(round % 4 == 1 ? 100 * 1000 : 3 * 1000 * 1000);
    CHECK(visits_each_once(3));
  }
}

static void note_thread(void *user, int part) { ((pthread_t *)user)[part] = pthread_self(); }

TEST(a_call_uses_no_more_threads_than_it_asks_for) {
  enum { PARTS = 100, ROUNDS = 50 };
  CHECK(visits_each_once(8));  // so that workers exist
  for (int round = 0; round < ROUNDS; round++) {
    pthread_t ran_on[PARTS];
    int others = 0;
    tsri_parallel(2, PARTS, note_thread, ran_on);
    for (int i = 1; i < PARTS; i++) {
      bool is_new = !pthread_equal(ran_on[i], pthread_self());
      for (int k = 0; k < i && is_new; k++) is_new = !pthread_equal(ran_on[i], ran_on[k]);
      others += is_new;
    }
    CHECK(others <= 1);
  }
}

typedef struct meeting {
  atomic_int begun;
  int parts;
} meeting;

// Waits, for a limited time, until all parts have begun. That is possible only with one thread per part.
static void attend(void *user, int part) {
  (void)part;
  meeting *m = user;
  atomic_fetch_add(&m->begun, 1);
  for (int i = 0; atomic_load(&m->begun) < m->parts && i < 20000; i++) tsri_sleep_ns(100000);
}

static bool meets(int parts) {
  meeting m = {.parts = parts};
  tsri_parallel(parts, parts, attend, &m);
  return m.begun == parts;
}

TEST(two_parts_run_at_the_same_time_on_two_threads) {
  uint64_t before = tsri_clock_ns();
  CHECK(meets(2));
  CHECK(tsri_clock_ns() - before < UINT64_C(2000000000));
  CHECK(tsri_parallel_workers() >= 1);
}

static void visit_from_inside(void *user, int part) {
  atomic_int *good = user;
  if (visits_each_once(3 + part)) atomic_fetch_add(good, 1);
}

TEST(a_part_may_split_its_own_work_over_threads) {
  atomic_int good = 0;
  for (int round = 0; round < 20; round++) tsri_parallel(4, 4, visit_from_inside, &good);
  CHECK_EQ_INT(good, 80);
}

enum { CALLERS = 4, CALLS = 300 };

static void *call_often(void *user) {
  for (int i = 0; i < CALLS; i++) {
    if (!visits_each_once(2 + i % 5)) atomic_store((atomic_bool *)user, false);
  }
  return NULL;
}

TEST(threads_that_call_at_the_same_time_share_the_workers) {
  atomic_bool is_good = true;
  pthread_t threads[CALLERS];
  int before = tsri_parallel_workers(), most = tsri_cpu_count() > 6 ? tsri_cpu_count() : 6;
  for (int i = 0; i < CALLERS; i++) CHECK_EQ_INT(pthread_create(&threads[i], NULL, call_often, &is_good), 0);
  for (int i = 0; i < CALLERS; i++) CHECK_EQ_INT(pthread_join(threads[i], NULL), 0);
  CHECK(is_good);
  CHECK(tsri_parallel_workers() < (before > most ? before + 1 : most));
}

static void *occupy(void *user) {
  atomic_int *released = user;
  while (!atomic_load(released)) tsri_sleep_ns(100000);
  return NULL;
}

static void hold(void *user, int part) {
  (void)part;
  occupy(user);
}

static void *hold_all_cores(void *user) {
  tsri_parallel(tsri_cpu_count(), tsri_cpu_count(), hold, user);
  return NULL;
}

TEST(a_second_calling_thread_runs_alone_while_the_first_uses_all_cores) {
  int cores = tsri_cpu_count();
  if (cores < 2) SKIP("needs two cores");
  if (cores > 256) cores = 256;
  atomic_int released = 0;
  pthread_t first, ran_on[256];
  CHECK_EQ_INT(pthread_create(&first, NULL, hold_all_cores, &released), 0);
  tsri_sleep_ns(50000000);
  tsri_parallel(cores, cores, note_thread, ran_on);
  atomic_store(&released, 1);
  CHECK_EQ_INT(pthread_join(first, NULL), 0);
  for (int part = 0; part < cores; part++) CHECK(pthread_equal(ran_on[part], pthread_self()));
}

static uint64_t cpu_ns(void) {
  struct rusage used = {0};
  getrusage(RUSAGE_SELF, &used);
  return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * UINT64_C(1000000000) +
         (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000;
}

// Processor time, not elapsed time: so other programs on the machine do not matter.
TEST(idle_threads_sleep_after_microseconds) {
  enum { ROUNDS = 50 };
  CHECK(visits_each_once(4));
  tsri_sleep_ns(1000000);
  uint64_t before = cpu_ns();
  for (int i = 0; i < ROUNDS; i++) {
    CHECK(visits_each_once(2));
    tsri_sleep_ns(4000000);
  }
  uint64_t each = (cpu_ns() - before) / ROUNDS;
  CHECK(each < 1000000);  // a pool that spins until the next call would use 4 ms or more
}

// --- Where the system creates no thread ---------------------------------------------------------------------------------

static atomic_bool is_refusing;

// Replaces the system's pthread_create for the pool.
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*run)(void *), void *user) {
  int (*of_system)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *) = NULL;
  if (atomic_load(&is_refusing)) return EAGAIN;
  *(void **)&of_system = dlsym(RTLD_NEXT, "pthread_create");
  return of_system(thread, attr, run, user);
}

TEST(without_threads_the_caller_does_all_parts) {
  int before = tsri_parallel_workers(), parts = before + 3;
  atomic_store(&is_refusing, true);
  for (int round = 0; round < 10; round++) CHECK(visits_each_once(parts));
  CHECK(visits_each_once(TSRI_MOST_PARTS));
  CHECK_EQ_INT(tsri_parallel_workers(), before);
  atomic_store(&is_refusing, false);
  tsri_sleep_ns(UINT64_C(1100000000));  // the pool tries again after a second
  CHECK(visits_each_once(parts));
  CHECK(tsri_parallel_workers() > before);
}

// --- fork ---------------------------------------------------------------------------------------------------------------

// Runs `body` in a child process. Returns its exit status, or -1 if a signal ended it.
static int in_child(int (*body)(void)) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    alarm(60);  // ends a child that hangs
    _exit(body());
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

// When this returns, every worker has begun. The address sanitizer holds a lock while a thread begins, and a child
// forked at that moment would wait for the lock for ever.
static int use_workers(void) {
  return visits_each_once(5) && tsri_parallel_workers() > 0 && meets(tsri_parallel_workers() + 1) ? 0 : 1;
}

static int use_workers_in_a_grandchild(void) {
  int number = use_workers();
  return number ? number : in_child(use_workers);
}

TEST(after_fork_the_child_creates_threads_of_its_own) {
  if (has_thread_sanitizer()) SKIP("the thread sanitizer ends a forked process that creates threads");
  CHECK_EQ_INT(use_workers(), 0);
  for (int i = 0; i < 10; i++) {
    CHECK_EQ_INT(in_child(use_workers), 0);
    CHECK_EQ_INT(in_child(use_workers_in_a_grandchild), 0);
    CHECK_EQ_INT(use_workers(), 0);
  }
}

static int leave_by_exit(void) {
  int failed = use_workers();
  exit(failed);  // runs the destructors that unloading a library would run
}

TEST(a_forked_child_that_used_threads_can_exit) {
  if (has_thread_sanitizer()) SKIP("the thread sanitizer ends a forked process that creates threads");
  CHECK_EQ_INT(use_workers(), 0);
  CHECK_EQ_INT(in_child(leave_by_exit), 0);
}
