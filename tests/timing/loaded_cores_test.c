// SPDX-License-Identifier: MIT
// How much slower the CPU device gets when other processes use every core.
//
// A neighbour on each core leaves us half of the machine, so twice the quiet time is what fairness costs; threads that wait for each
// other by spinning make it many times that. The bound is 2.5 times the quiet time. A loop on one thread that calls nothing is timed
// in turns with ours: where there is more than one neighbour per core (other programs on the machine), it shows how much more
// time everybody takes, and the bound grows with it.
#include <signal.h>
#include <sys/wait.h>
#include <tessera/tessera.h>
#include <unistd.h>

#include "platform/platform.h"
#include "support/test.h"

enum { MOST_NEIGHBOURS = 64, QUIET_TURNS = 10, LOADED_TURNS = 20, ATTEMPTS = 5, MAJORITY = 3 };

// --- What is timed ------------------------------------------------------------------------------------------------------

typedef struct network {
  tsr_device *device;
  tsr_tensor *x, *weights[3], *bias;
} network;

static void open_network(network *net) {
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &net->device));
  net->x = tsr_ones(net->device, TSR_F32, TSR_SHAPE(128, 256));
  net->bias = tsr_ones(net->device, TSR_F32, TSR_SHAPE(256));
  for (int i = 0; i < 3; i++) net->weights[i] = tsr_full(net->device, TSR_F32, TSR_SHAPE(256, 256), 0.001 * (i + 1));
}

static void close_network(network *net) {
  tsr_release(net->x);
  tsr_release(net->bias);
  for (int i = 0; i < 3; i++) tsr_release(net->weights[i]);
  tsr_device_release(net->device);
}

// Three layers, read at the end: a few launches that are worth two threads each.
static bool run_layers(void *user) {
  network *net = user;
  tsr_scope *scope = tsr_scope_begin(net->device);
  tsr_tensor *y = net->x;
  for (int i = 0; i < 3; i++) y = tsr_relu(tsr_add(tsr_matmul(y, net->weights[i]), net->bias));
  float sum = 0;
  bool is_good = tsr_read(tsr_sum(y, NULL, 0, false), &sum, sizeof sum) == TSR_OK;
  return tsr_scope_end(scope) == TSR_OK && is_good;
}

// Twenty short launches, one after the other.
static bool run_chain(void *user) {
  network *net = user;
  tsr_scope *scope = tsr_scope_begin(net->device);
  tsr_tensor *y = net->x;
  bool is_good = true;
  for (int i = 0; i < 20; i++) {
    y = tsr_exp(tsr_mul_scalar(y, 0.001));
    is_good = is_good && tsr_evaluate(y) == TSR_OK;
  }
  return tsr_scope_end(scope) == TSR_OK && is_good;
}

static bool run_plain_loop(void *user) {
  (void)user;
  volatile double sum = 0;
  for (int i = 0; i < 100000; i++) sum = sum + 0.5;
  return sum > 0;
}

// --- Neighbours ---------------------------------------------------------------------------------------------------------

typedef struct neighbours {
  pid_t pids[MOST_NEIGHBOURS];
  int count;
} neighbours;

static void start_neighbours(neighbours *n) {
  n->count = tsri_cpu_count() < MOST_NEIGHBOURS ? tsri_cpu_count() : MOST_NEIGHBOURS;
  fflush(NULL);
  for (int i = 0; i < n->count; i++) {
    n->pids[i] = fork();
    if (n->pids[i] != 0) continue;
    alarm(120);  // ends it even if the test was killed
    for (volatile unsigned spin = 0;; spin++) {
    }
  }
}

static void stop_neighbours(neighbours *n) {
  for (int i = 0; i < n->count; i++) {
    if (n->pids[i] < 0) continue;
    kill(n->pids[i], SIGKILL);
    waitpid(n->pids[i], NULL, 0);
  }
}

// --- Measuring ----------------------------------------------------------------------------------------------------------

typedef bool (*timed_work)(void *user);

// Runs of `work` that take about 20 ms.
static int rounds_for(timed_work work, void *user) {
  uint64_t best = UINT64_MAX;
  for (int i = 0; i < 10; i++) {
    uint64_t start = tsri_clock_ns();
    CHECK(work(user));
    uint64_t took = tsri_clock_ns() - start;
    if (took < best) best = took;
  }
  return (int)(20000000 / (best ? best : 1)) + 1;
}

typedef struct contest {
  timed_work work;
  network *net;
  int rounds, plain_rounds;
} contest;

static double time_rounds(timed_work work, void *user, int rounds) {
  uint64_t start = tsri_clock_ns();
  for (int i = 0; i < rounds; i++) CHECK(work(user));
  return (double)(tsri_clock_ns() - start);
}

// Both in turns; means, since what the system takes away comes in pieces of some milliseconds.
static void measure(const contest *c, int turns, double *out_ours, double *out_plain) {
  *out_ours = *out_plain = 0;
  for (int i = 0; i < turns; i++) {
    *out_ours += time_rounds(c->work, c->net, c->rounds) / turns;
    *out_plain += time_rounds(run_plain_loop, NULL, c->plain_rounds) / turns;
  }
}

// How many times the bound ours took, at most 1 if all is well.
static double excess(const contest *c) {
  double quiet = 0, quiet_plain = 0, loaded = 0, loaded_plain = 0;
  measure(c, QUIET_TURNS, &quiet, &quiet_plain);
  neighbours n;
  start_neighbours(&n);
  measure(c, LOADED_TURNS, &loaded, &loaded_plain);
  stop_neighbours(&n);
  double plain = loaded_plain / quiet_plain, bound = 2.5 * (plain > 2 ? plain / 2 : 1);
  printf("ours %.2f times the quiet time, a plain loop %.2f, bound %.2f\n", loaded / quiet, plain, bound);
  return loaded / quiet / bound;
}

static void check_beside_neighbours(timed_work work) {
  network net;
  open_network(&net);
  contest c = {work, &net, rounds_for(work, &net), rounds_for(run_plain_loop, NULL)};
  int good = 0;
  for (int i = 0; i < ATTEMPTS && good < MAJORITY; i++) good += excess(&c) <= 1;
  close_network(&net);
  CHECK_EQ_INT(good, MAJORITY);
}

TEST(layers_take_at_most_2_5_times_as_long_when_every_core_is_loaded) { check_beside_neighbours(run_layers); }

TEST(a_chain_of_small_launches_takes_at_most_2_5_times_as_long_when_every_core_is_loaded) {
  check_beside_neighbours(run_chain);
}
