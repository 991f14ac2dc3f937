// SPDX-License-Identifier: MIT
// Threads that do the same work at the same time, timed.
//
// Within a call the threads wait for each other at an atomic counter, not in the operating system, because waking a
// thread takes as long as several rounds.
#include "bench_threads.h"

#include "bench_time.h"

static void time_alone(int rounds, bench_work work, void *user, double *out_ns) {
  for (int i = 0; i < rounds; i++) {
    double start = bench_now_ns();
    work(user, 0, 1);
    out_ns[i] = bench_now_ns() - start;
  }
}

#if defined(_WIN32) || defined(__wasm__)
bool bench_time_rounds(int thread_count, int rounds, bench_work work, void *user, double *out_ns) {
  if (thread_count != 1) return false;
  time_alone(rounds, work, user, out_ns);
  return true;
}
#else
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

typedef struct member {
  struct team *team;
  int number;
  double start;  // start time of its part of this round
  pthread_t thread;
} member;

typedef struct team {
  int thread_count, rounds;
  bench_work work;
  void *user;
  double *out_ns;
  member *members;
  atomic_long arrived;    // number of arrivals at meetings so far, by all threads
  atomic_bool is_called;  // false: not all threads could be created
} team;

// Waits until all threads have arrived at this meeting; meetings are numbered from 1.
static void meet(team *t, long meeting) {
  enum { SPINS = 2000 };
  long wanted = meeting * t->thread_count;
  atomic_fetch_add(&t->arrived, 1);
  for (int i = 0; atomic_load(&t->arrived) < wanted && atomic_load(&t->is_called); i++) {
    if (i > SPINS) sched_yield();
  }
}

// The earliest start of a thread: the system may have delayed others.
static double first_start(const team *t) {
  double first = t->members[0].start;
  for (int i = 1; i < t->thread_count; i++) {
    if (t->members[i].start < first) first = t->members[i].start;
  }
  return first;
}

static void *run_member(void *user) {
  member *m = user;
  team *t = m->team;
  for (int i = 0; i < t->rounds && atomic_load(&t->is_called); i++) {
    meet(t, 2 * i + 1);
    m->start = bench_now_ns();
    t->work(t->user, m->number, t->thread_count);
    meet(t, 2 * i + 2);
    if (m->number == 0) t->out_ns[i] = bench_now_ns() - first_start(t);
  }
  return NULL;
}

static bool run_team(team *t) {
  member *members = t->members;
  int made = 1;
  for (; made < t->thread_count; made++) {
    members[made] = (member){.team = t, .number = made};
    if (pthread_create(&members[made].thread, NULL, run_member, &members[made]) != 0) break;
  }
  if (made < t->thread_count) atomic_store(&t->is_called, false);
  members[0] = (member){.team = t};
  run_member(&members[0]);
  for (int i = 1; i < made; i++) pthread_join(members[i].thread, NULL);
  return made == t->thread_count;
}

bool bench_time_rounds(int thread_count, int rounds, bench_work work, void *user, double *out_ns) {
  if (thread_count == 1) {
    time_alone(rounds, work, user, out_ns);
    return true;
  }
  member *members = calloc((size_t)thread_count, sizeof *members);
  if (!members) return false;
  team t = {
      .thread_count = thread_count, .rounds = rounds, .work = work, .user = user, .out_ns = out_ns, .members = members};
  atomic_init(&t.arrived, 0);
  atomic_init(&t.is_called, true);
  bool is_done = run_team(&t);
  free(members);
  return is_done;
}
#endif
