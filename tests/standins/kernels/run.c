// SPDX-License-Identifier: MIT
// Launches: groups one after the other, the items of a group by turns.
//
// A fiber takes items one after the other, as a plain loop does, until one waits. It stays with that one, and the next fiber takes
// those that are left: a kernel without barriers needs no change of stacks at all. When every item waits or has ended, a wave whose
// items all wait at the same exchange goes on; when all items of the group wait at the same barrier, they go on. Anything else is
// a mistake in the kernel.
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "standins/kernels/fiber.h"
#include "standins/kernels/module.h"

typedef enum item_state { ITEM_ENDED, ITEM_RUNS, ITEM_AT_EXCHANGE, ITEM_AT_BARRIER } item_state;

typedef struct run_item {
  item_state state;
  uint32_t line;
  uint32_t exchanges;  // so far: they use two slots by turns
  standin_fiber *fiber;
} run_item;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // protects everything below

static standin_item now;
static const standin_launch *launch;
static uint32_t item_count, next_item;
static run_item items[STANDIN_MAX_ITEMS];
static standin_fiber fibers[STANDIN_MAX_ITEMS];
static standin_fiber *taker;  // the fiber that takes new items
static unsigned char slots[2][STANDIN_MAX_ITEMS + STANDIN_MAX_WAVE][STANDIN_SLOT_BYTES];

const standin_item *standin_current(void) { return &now; }

// --- In a fiber -----------------------------------------------------------------------------------------------------

static void become(uint32_t number) {
  const uint32_t *size = launch->local;
  now.number = number;
  now.local[0] = number % size[0];
  now.local[1] = number / size[0] % size[1];
  now.local[2] = number / size[0] / size[1];
  items[number].state = ITEM_RUNS;
}

static void take_items(void) {
  for (;;) {
    while (next_item < item_count) {
      uint32_t number = next_item++;
      items[number].fiber = taker;
      items[number].exchanges = 0;
      become(number);
      launch->kernel->call(launch->arguments, &now);
      items[number].state = ITEM_ENDED;
    }
    standin_fiber_yield();
  }
}

static void wait_as(item_state state, uint32_t line) {
  items[now.number].state = state;
  items[now.number].line = line;
  standin_fiber_yield();
}

static void wait_at_barrier(unsigned line) { wait_as(ITEM_AT_BARRIER, line); }

static const unsigned char *exchange(unsigned line, const void *value, unsigned bytes) {
  uint32_t number = now.number, turn = items[number].exchanges++ % 2;
  memcpy(slots[turn][number], value, bytes);
  wait_as(ITEM_AT_EXCHANGE, line);
  return slots[turn][number / now.wave * now.wave];
}

// --- The scheduler --------------------------------------------------------------------------------------------------

static const char *give_up(uint32_t a, uint32_t b, char *message, size_t bytes) {
  static const char *const states[] = {"has ended", "runs", "is at the exchange of line", "is at the barrier of line"};
  char where[2][80];
  const uint32_t pair[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    const run_item *item = &items[pair[i]];
    int used = snprintf(where[i], sizeof where[i], "item %u %s", pair[i], states[item->state]);
    if (item->state != ITEM_ENDED) snprintf(where[i] + used, sizeof where[i] - (size_t)used, " %u", item->line);
  }
  snprintf(message, bytes, "%s, group (%u, %u, %u): %s, but %s", launch->kernel->name, now.group[0], now.group[1],
           now.group[2], where[0], where[1]);
  for (uint32_t i = 0; i < item_count; i++) {
    if (items[i].state != ITEM_ENDED) standin_fiber_restart(items[i].fiber, take_items);
  }
  return message;
}

static bool is_same(const run_item *a, const run_item *b) {
  return a->state == b->state && (a->state == ITEM_ENDED || a->line == b->line);
}

static void go_on(uint32_t first, uint32_t end) {
  for (uint32_t i = first; i < end; i++) {
    become(i);
    standin_fiber_resume(items[i].fiber);
  }
}

// Lets the items of a wave go on until none of them waits for the others of the wave. Returns a message, or NULL.
static const char *run_wave(uint32_t first, uint32_t end, char *message, size_t bytes) {
  for (;;) {
    bool is_exchange = false;
    uint32_t other = first;
    for (uint32_t i = first; i < end; i++) {
      is_exchange |= items[i].state == ITEM_AT_EXCHANGE;
      if (other == first && !is_same(&items[i], &items[first])) other = i;
    }
    if (!is_exchange) return NULL;
    if (other != first) return give_up(first, other, message, bytes);
    go_on(first, end);
  }
}

static bool start_items(void) {
  next_item = 0;
  for (uint32_t i = 0; next_item < item_count; i++) {
    if (!fibers[i].stack && !standin_fiber_create(&fibers[i], take_items)) return false;
    taker = &fibers[i];
    standin_fiber_resume(taker);
  }
  return true;
}

// Returns a message, or NULL.
static const char *run_group(char *message, size_t bytes) {
  if (!start_items()) return "there is no memory for the stacks of the items";
  for (;;) {
    for (uint32_t first = 0; first < item_count; first += launch->wave) {
      uint32_t end = first + launch->wave < item_count ? first + launch->wave : item_count;
      const char *failed = run_wave(first, end, message, bytes);
      if (failed) return failed;
    }
    for (uint32_t i = 1; i < item_count; i++) {
      if (!is_same(&items[i], &items[0])) return give_up(0, i, message, bytes);
    }
    if (items[0].state == ITEM_ENDED) return NULL;
    go_on(0, item_count);
  }
}

static const char *run_groups(char *message, size_t bytes) {
  const char *failed = NULL;
  const uint32_t *n = launch->groups;
  const standin_shared shared = launch->kernel->module->shared;
  for (uint32_t z = 0; z < n[2] && !failed; z++) {
    for (uint32_t y = 0; y < n[1] && !failed; y++) {
      for (uint32_t x = 0; x < n[0] && !failed; x++) {
        now.group[0] = x, now.group[1] = y, now.group[2] = z;
        if (shared.end > shared.first) memset(shared.first, 0xff, (size_t)(shared.end - shared.first));
        failed = run_group(message, bytes);
      }
    }
  }
  return failed;
}

bool standin_run(const standin_launch *given, char *message, size_t message_bytes) {
  uint64_t count = (uint64_t)given->local[0] * given->local[1] * given->local[2];
  if (count == 0 || count > STANDIN_MAX_ITEMS || given->wave == 0 || given->wave > STANDIN_MAX_WAVE) {
    snprintf(message, message_bytes, "a group of %llu items in waves of %u", (unsigned long long)count, given->wave);
    return false;
  }
  pthread_mutex_lock(&lock);
  launch = given;
  item_count = (uint32_t)count;
  now.wave = given->wave;
  now.barrier = wait_at_barrier;
  now.exchange = exchange;
  for (int i = 0; i < 3; i++) now.groups[i] = given->groups[i], now.size[i] = given->local[i];
  const char *failed = run_groups(message, message_bytes);
  if (failed && failed != message) snprintf(message, message_bytes, "%s", failed);
  pthread_mutex_unlock(&lock);
  return !failed;
}
