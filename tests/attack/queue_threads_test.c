// SPDX-License-Identifier: MIT
// Four threads on four queues of one device. Each performs random operations with
// its own tensors, and with one tensor that all threads read, on a random queue,
// and compares every result with a simple model. All elements of a tensor have
// the same bits, so the model of a tensor is one number.
//
//   TSR_TEST_ATTACK_SECONDS  how long it runs (6; 24 under the address sanitizer and 30 under that for threads: a minute in all)
//   TSR_TEST_SEED            seed of the first thread (1)
//   TSR_TEST_BACKEND         instead of the CPU
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/tessera.h>

#include "platform/platform.h"
#include "support/test.h"

enum { THREADS = 4, QUEUES = 4, TENSORS = 8, HOSTS = 3, ELEMENTS = 3000 };

typedef struct host_slot {
  uint32_t *memory;
  tsr_event *event;  // of a copy that may still use it; NULL: none
  bool is_read;      // the copy fills it, with `wanted`
  uint32_t wanted;
} host_slot;

typedef struct player {
  tsr_device *device;
  tsr_queue *const *queues;
  tsr_tensor *common;  // all threads read it; its elements are COMMON
  uint64_t random, until_ns;
  tsr_tensor *tensors[TENSORS];
  uint32_t values[TENSORS];
  host_slot hosts[HOSTS];
  atomic_int *failures;
  char problem[256];
} player;

enum { COMMON = 0x5A5A };

static uint32_t draw(player *p, uint32_t limit) {
  p->random = p->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(p->random >> 33) % limit;
}

static bool complain(player *p, const char *what) {
  if (!p->problem[0]) snprintf(p->problem, sizeof p->problem, "%s: %.180s", what, tsr_last_error());
  atomic_fetch_add(p->failures, 1);
  return false;
}

static bool is_ok(player *p, tsr_status status, const char *what) { return status == TSR_OK || complain(p, what); }

static bool compare(player *p, const uint32_t *is, uint32_t wanted, const char *what) {
  for (int i = 0; i < ELEMENTS; i++) {
    if (is[i] == wanted) continue;
    snprintf(p->problem, sizeof p->problem, "%s: element %d is %u, not %u", what, i, is[i], wanted);
    atomic_fetch_add(p->failures, 1);
    return false;
  }
  return true;
}

// Opens a scope on a random queue; NULL now and then: the device's first queue.
static tsr_scope *enter(player *p) { return draw(p, 5) ? tsr_scope_begin_on(p->queues[draw(p, QUEUES)]) : NULL; }

static tsr_queue *any_queue(player *p) { return draw(p, 6) ? p->queues[draw(p, QUEUES)] : NULL; }

// --- Host memory
// ------------------------------------------------------------------------------------------------------

static bool finish_copy(player *p, host_slot *slot) {
  if (!slot->event) return true;
  bool is_good = is_ok(p, tsr_event_wait(slot->event), "event_wait");
  tsr_event_release(slot->event);
  slot->event = NULL;
  return is_good && (!slot->is_read || compare(p, slot->memory, slot->wanted, "read_async"));
}

static host_slot *idle_slot(player *p) {
  host_slot *slot = &p->hosts[draw(p, HOSTS)];
  return finish_copy(p, slot) ? slot : NULL;
}

static bool write_some(player *p) {
  int at = (int)draw(p, TENSORS);
  host_slot *slot = idle_slot(p);
  if (!slot) return false;
  uint32_t value = draw(p, 1u << 30);
  for (int i = 0; i < ELEMENTS; i++) slot->memory[i] = value;
  slot->is_read = false;
  p->values[at] = value;
  return is_ok(p, tsr_write_async(any_queue(p), p->tensors[at], slot->memory, ELEMENTS * 4, &slot->event),
               "write_async");
}

static bool read_some(player *p) {
  int at = (int)draw(p, TENSORS);
  host_slot *slot = idle_slot(p);
  if (!slot) return false;
  memset(slot->memory, 0, ELEMENTS * 4);
  slot->is_read = true;
  slot->wanted = p->values[at];
  return is_ok(p, tsr_read_async(any_queue(p), p->tensors[at], slot->memory, ELEMENTS * 4, &slot->event), "read_async");
}

static bool read_now(player *p) {
  static _Thread_local uint32_t out[ELEMENTS];
  int at = (int)draw(p, TENSORS);
  return is_ok(p, tsr_read(p->tensors[at], out, sizeof out), "read") && compare(p, out, p->values[at], "read");
}

// --- Operators
// --------------------------------------------------------------------------------------------------------

// Makes a result that is never read: it is recorded, perhaps queued, and released.
static bool give_up(player *p) {
  tsr_scope *scope = enter(p);
  tsr_tensor *y = tsr_bitwise_xor(p->tensors[draw(p, TENSORS)], p->common);
  bool is_good = is_ok(p, tsr_error(y), "xor") && (draw(p, 2) || is_ok(p, tsr_evaluate(y), "evaluate"));
  if (!scope) tsr_release(y);
  tsr_scope_end(scope);
  return is_good;
}

static bool mix(player *p) {
  int a = (int)draw(p, TENSORS), b = (int)draw(p, TENSORS), to = (int)draw(p, TENSORS);
  bool has_common = draw(p, 2), runs = draw(p, 2);
  tsr_scope *scope = enter(p);
  tsr_tensor *ab = tsr_bitwise_xor(p->tensors[a], p->tensors[b]);
  tsr_tensor *y = has_common ? tsr_bitwise_xor(ab, p->common) : tsr_maximum(ab, p->tensors[a]);
  uint32_t xored = p->values[a] ^ p->values[b];
  uint32_t value = has_common ? xored ^ COMMON : xored > p->values[a] ? xored : p->values[a];
  if (scope) tsr_keep(y);
  bool is_good = is_ok(p, tsr_error(y), "mix") && (!runs || is_ok(p, tsr_evaluate(y), "evaluate"));
  if (!scope) tsr_release(ab);
  tsr_scope_end(scope);
  if (draw(p, 4) == 0 || !is_good) {  // released unread
    tsr_release(y);
    return is_good;
  }
  tsr_release(p->tensors[to]);
  p->tensors[to] = y;
  p->values[to] = value;
  return true;
}

static bool assign(player *p) {
  int to = (int)draw(p, TENSORS), from = (int)draw(p, TENSORS);
  tsr_scope *scope = enter(p);
  tsr_tensor *y = tsr_bitwise_xor(p->tensors[from], p->common);
  bool is_good = is_ok(p, tsr_assign(p->tensors[to], y), "assign");
  if (is_good) p->values[to] = p->values[from] ^ COMMON;
  if (is_good && draw(p, 2)) is_good = is_ok(p, tsr_evaluate(p->tensors[to]), "evaluate");
  if (!scope) tsr_release(y);
  tsr_scope_end(scope);
  return is_good;
}

// Counts down; once the count is 0 it returns true, which stops the run.
static bool is_over(void *left) { return (*(int *)left)-- <= 0; }

// Runs pending operators and stops after a random number of kernels. What is left runs when the tensor is read.
static bool cancel(player *p) {
  int to = (int)draw(p, TENSORS), from = (int)draw(p, TENSORS), left = (int)draw(p, 8);
  tsr_scope *scope = enter(p);
  tsr_tensor *once = tsr_bitwise_xor(p->tensors[from], p->common), *largest = tsr_max(once, NULL, 0, true);
  tsr_tensor *y = tsr_bitwise_xor(largest, p->tensors[to]);
  bool is_good = is_ok(p, tsr_error(y), "cancel") && is_ok(p, tsr_assign(p->tensors[to], y), "assign");
  if (is_good) p->values[to] ^= p->values[from] ^ COMMON;
  tsr_set_interrupt(is_over, &left);
  tsr_status status = tsr_evaluate(p->tensors[to]);
  tsr_set_interrupt(NULL, NULL);
  if (is_good && status != TSR_ERR_TIMEOUT) is_good = is_ok(p, status, "evaluate");
  if (!scope) {
    tsr_release(y);
    tsr_release(largest);
    tsr_release(once);
  }
  tsr_scope_end(scope);
  return is_good;
}

// Captures a computation, or discards it, and runs it on several queues after
// writing its input.
static bool capture(player *p) {
  uint32_t value = draw(p, 1u << 30);
  bool is_discarded = draw(p, 4) == 0, is_good = true;
  tsr_tensor *x = tsr_full_int(p->device, TSR_I32, TSR_SHAPE(ELEMENTS), 1);
  tsr_capture *step = NULL;
  host_slot *slot = idle_slot(p);
  if (!slot || !is_ok(p, tsr_error(x), "full") || !is_ok(p, tsr_capture_begin(p->device), "capture_begin"))
    return false;
  tsr_tensor *once = tsr_bitwise_xor(x, p->common), *y = tsr_bitwise_not(once);
  if (is_discarded) {
    is_good = is_ok(p, tsr_capture_end(NULL, 0, NULL), "capture_end");
  } else {
    is_good = is_ok(p, tsr_capture_end(&y, 1, &step), "capture_end");
  }
  for (int i = 0; i < ELEMENTS; i++) slot->memory[i] = value;
  slot->is_read = false;
  if (is_good && step) {
    is_good = is_ok(p, tsr_write_async(any_queue(p), x, slot->memory, ELEMENTS * 4, &slot->event), "write_async");
    for (uint32_t i = draw(p, 3); i < 3 && is_good; i++) {
      tsr_scope *scope = enter(p);
      is_good = is_ok(p, tsr_capture_run(step), "capture_run");
      tsr_scope_end(scope);
    }
    static _Thread_local uint32_t out[ELEMENTS];
    if (is_good && draw(p, 4)) {
      tsr_scope *scope = enter(p);
      is_good = is_ok(p, tsr_capture_run(step), "capture_run") && is_ok(p, tsr_read(y, out, sizeof out), "read") &&
                compare(p, out, ~(value ^ COMMON), "capture");
      tsr_scope_end(scope);
    }
  }
  tsr_capture_release(step);  // perhaps before its work has ended
  tsr_release(y);
  tsr_release(once);
  tsr_release(x);
  return is_good;
}

// --- Events and the device
// --------------------------------------------------------------------------------------------

static bool order(player *p) {
  tsr_event *event = NULL;
  bool is_good = is_ok(p, tsr_queue_record(p->queues[draw(p, QUEUES)], &event), "record") &&
                 is_ok(p, tsr_queue_await(p->queues[draw(p, QUEUES)], event), "await");
  tsr_event_release(event);
  return is_good;
}

static bool disturb(player *p) {
  tsr_queue *queue = NULL;
  uint32_t kind = draw(p, 8);
  if (kind == 0) return is_ok(p, tsr_memory_trim(p->device, NULL), "trim");
  if (kind == 1) return is_ok(p, tsr_device_synchronize(p->device), "synchronize");
  if (kind < 5) return is_ok(p, tsr_queue_wait(p->queues[draw(p, QUEUES)]), "queue_wait");
  bool is_good = is_ok(p, tsr_queue_create(p->device, &queue), "queue_create");
  tsr_queue_release(queue);
  return is_good;
}

static void *play(void *user) {
  player *p = user;
  static bool (*const steps[])(player * p) = {write_some, write_some, read_some, read_some, read_now,
                                              give_up,    mix,        mix,       mix,       assign,
                                              assign,     cancel,     capture,   order,     disturb};
  bool is_good = true;
  while (is_good && atomic_load(p->failures) == 0 && tsri_clock_ns() < p->until_ns) {
    is_good = steps[draw(p, sizeof steps / sizeof *steps)](p);
  }
  for (int i = 0; i < HOSTS && is_good; i++) is_good = finish_copy(p, &p->hosts[i]);
  return NULL;
}

// --- The test
// ---------------------------------------------------------------------------------------------------------

static double number_from(const char *name, double otherwise) {
  const char *text = getenv(name);
  return text && text[0] ? atof(text) : otherwise;
}

static void prepare(player *p) {
  for (int i = 0; i < TENSORS; i++) {
    p->values[i] = (uint32_t)i;
    p->tensors[i] = tsr_full_int(p->device, TSR_I32, TSR_SHAPE(ELEMENTS), i);
    CHECK_OK(tsr_error(p->tensors[i]));
  }
  for (int i = 0; i < HOSTS; i++) CHECK_OK(tsr_host_alloc(p->device, ELEMENTS * 4, (void **)&p->hosts[i].memory));
}

static void clean_up(player *p) {
  for (int i = 0; i < TENSORS; i++) tsr_release(p->tensors[i]);
  for (int i = 0; i < HOSTS; i++) {
    tsr_event_release(p->hosts[i].event);
    CHECK_OK(tsr_host_free(p->hosts[i].memory));
  }
}

#if defined(__SANITIZE_THREAD__)
static const double usual_seconds = 30;
#elif defined(__SANITIZE_ADDRESS__)
static const double usual_seconds = 24;
#else
static const double usual_seconds = 6;
#endif

// Runs four players for `seconds`. Meanwhile this thread calls `beside` again and again; NULL: it only waits.
static void play_on_four_queues(double seconds, void (*beside)(void)) {
  static player players[THREADS];
  const char *backend = getenv("TSR_TEST_BACKEND");
  tsr_device *device = NULL;
  tsr_queue *queues[QUEUES];
  pthread_t threads[THREADS];
  atomic_int failures = 0;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = backend ? backend : "cpu"}, &device));
  for (int i = 0; i < QUEUES; i++) CHECK_OK(tsr_queue_create(device, &queues[i]));
  tsr_tensor *common = tsr_full_int(device, TSR_I32, TSR_SHAPE(ELEMENTS), COMMON);
  uint64_t until = tsri_clock_ns() + (uint64_t)(seconds * 1e9);
  for (int i = 0; i < THREADS; i++) {
    players[i] = (player){.device = device,
                          .queues = queues,
                          .common = common,
                          .random = (uint64_t)number_from("TSR_TEST_SEED", 1) + (uint64_t)i,
                          .until_ns = until,
                          .failures = &failures};
    prepare(&players[i]);
  }
  for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, play, &players[i]) == 0);
  while (beside && atomic_load(&failures) == 0 && tsri_clock_ns() < until) beside();
  for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0);
  CHECK_OK(tsr_device_synchronize(device));
  for (int i = 0; i < THREADS; i++) {
    if (players[i].problem[0]) fprintf(stderr, "thread %d: %s\n", i, players[i].problem);
    clean_up(&players[i]);
  }
  tsr_release(common);
  for (int i = 0; i < QUEUES; i++) tsr_queue_release(queues[i]);
  tsr_device_release(device);
  CHECK_EQ_INT(atomic_load(&failures), 0);
}

TEST(four_threads_on_four_queues_agree_with_the_model) {
  play_on_four_queues(number_from("TSR_TEST_ATTACK_SECONDS", usual_seconds), NULL);
}

// A session of some milliseconds, with room for few records, so that some are dropped.
static void profile_a_while(void) {
  static int session;
  tsr_profile *profile = NULL;
  tsr_profile_summary summary;
  tsr_profile_record record;
  CHECK_OK(tsr_profile_begin(&(tsr_profile_desc){.record_limit = 1, .is_full = ++session % 2}));
  tsr_label_begin("session");
  tsri_sleep_ns((uint64_t)(session % 5) * 5000000);
  tsr_label_end();
  CHECK_OK(tsr_profile_end(&profile));
  CHECK_OK(tsr_profile_get_summary(profile, &summary));
  CHECK(summary.record_count > 0);
  for (int i = 0; i < summary.record_count; i++) CHECK_OK(tsr_profile_get_record(profile, i, &record));
  tsr_profile_release(profile);
}

TEST(profiles_begin_and_end_while_four_threads_use_four_queues) {
  play_on_four_queues(number_from("TSR_TEST_ATTACK_SECONDS", usual_seconds) / 3, profile_a_while);
}
