// SPDX-License-Identifier: MIT
// Finds the fastest way to launch a fusion.
#include "graph/autotune.h"

#include <stdio.h>
#include <string.h>

#include "backends/common/choices.h"
#include "backends/common/contest.h"
#include "core/alloc.h"
#include "core/log.h"
#include "graph/launch.h"
#include "graph/node.h"
#include "graph/ways.h"
#include "platform/parallel.h"
#include "runtime/native_op.h"
#include "runtime/tape.h"

// Time limits of tuning: for one kind of work (one_ns) and for all kinds together (all_ns). rounds: rounds of a contest.
typedef struct limits {
  uint64_t one_ns, all_ns;
  int rounds;
} limits;
static const limits by_mode[] = {
    [TSRI_TUNE_MODE_QUICK] = {300000000, 10000000000, 2},
    [TSRI_TUNE_MODE_FULL] = {5000000000, UINT64_MAX, 5},
};

// The tuning that a launch used, stored by the hash of its fusion. The next launch with that hash uses it without writing the name of its kind of work and
// looking up that name.
typedef struct known_way {
  uint64_t version;  // version of the choices when this way was stored
  bool is_set, is_usual;
  tsri_tuning tuning;
} known_way;

// Known ways by the hash of their fusions. The lowest bits of the hash select the table.
enum { KNOWN_TABLES = 4 };
typedef struct known_table {
  tsri_ways ways;
  known_way places[TSRI_WAY_PLACES];
} known_table;

struct tsri_autotune {
  tsri_choices *choices;
  tsri_tune_mode mode;
  uint64_t spent_ns;
  uint64_t unusual_count;
  known_table known[KNOWN_TABLES];
};

tsri_autotune *tsri_autotune_create(const tsr_device *device) {
  if (device->tune == TSRI_TUNE_MODE_OFF) return NULL;
  tsri_autotune *tuner = tsri_calloc(1, sizeof *tuner);
  if (!tuner) return NULL;
  tuner->mode = device->tune;
  tuner->choices = tsri_choices_open(device->backend->name, &device->info);
  bool has_use = tuner->choices && (tuner->mode != TSRI_TUNE_MODE_AUTO || tsri_choices_count(tuner->choices) > 0);
  if (has_use) return tuner;
  tsri_autotune_destroy(tuner);
  return NULL;
}

void tsri_autotune_destroy(tsri_autotune *tuner) {
  if (!tuner) return;
  tsri_choices_close(tuner->choices);
  tsri_free(tuner);
}

uint64_t tsri_autotune_unusual(const tsri_autotune *tuner) { return tuner ? tuner->unusual_count : 0; }

bool tsri_autotune_is_on(const tsri_autotune *tuner) {
  return tuner && (tuner->mode == TSRI_TUNE_MODE_QUICK || tuner->mode == TSRI_TUNE_MODE_FULL);
}

tsri_choices *tsri_autotune_choices(const tsri_autotune *tuner) { return tuner->choices; }

// --- Launching by a choice ------------------------------------------------------------------------------------------------

typedef struct tuned_work {
  tsri_graph_state *state;
  tsr_device *device;
  const tsri_plan *plan;
  const tsri_fusion *fusion;
  tsr_buffer *const *outputs;
} tuned_work;

// Launches the fusion as `tuning` says. `*out_asked` (may be NULL) receives the entries that the launch asked for.
static tsr_status launch_by(const tuned_work *w, const tsri_tuning *tuning, uint64_t *out_asked) {
  tsri_tuning_use(tuning);
  tsri_native_allow(tuning->native != 0);
  tsri_parallel_limit(tuning->threads);
  tsri_tuning_asked = 0;
  tsr_status status = tsri_launch_fusion(w->state, w->plan, w->fusion, w->outputs);
  if (out_asked) *out_asked = tsri_tuning_asked | (uint64_t)tsri_native_was_taken() << TSRI_ENTRY_native;
  tsri_parallel_limit(0);
  tsri_native_allow(true);
  tsri_tuning_use(NULL);
  return status;
}

// As launch_by, with the usual tuning changed as `changes` says ("name=value,…"; empty: the usual way).
static tsr_status launch(const tuned_work *w, const char *changes, uint64_t *out_asked) {
  tsri_tuning tuning = w->state->tuning;
  return tsri_tuning_change(&tuning, changes) ? launch_by(w, &tuning, out_asked) : TSR_ERR_UNSUPPORTED;
}

// --- Timing ---------------------------------------------------------------------------------------------------------------

// Ways to do the work that are being timed.
typedef struct trial {
  const tuned_work *work;
  int times;        // launches per measurement: enough that the wait at the end hardly counts
  bool skips_plan;  // the usual way is launched without a plan
  int count;
  char changes[TSRI_MOST_CONTENDERS][TSRI_CHOICE_BYTES];
} trial;

static void spin(uint64_t ns) {
  uint64_t start = tsri_clock_ns();
  while (tsri_clock_ns() - start < ns) continue;
}

// Measures way `number` of the trial. The time includes planning, because launches of a program are planned, too: without planning, the device would wait for
// the host less often, and a way that takes more host time but less device time would seem faster than it is.
static double time_one(void *context, int number) {
  const trial *t = context;
  const char *changes = t->changes[number];
  tsri_tuning tuning = t->work->state->tuning;
  uint64_t plan_ns = t->skips_plan && !changes[0] ? 0 : t->work->state->plan_ns;
  if (!tsri_tuning_change(&tuning, changes)) return -1;
  uint64_t start = tsri_clock_ns();
  tsr_status status = TSR_OK;
  for (int i = 0; i < t->times && status == TSR_OK; i++) {
    spin(plan_ns);
    status = launch_by(t->work, &tuning, NULL);
  }
  if (status == TSR_OK) status = tsri_device_wait(t->work->device);
  return status == TSR_OK ? (double)(tsri_clock_ns() - start) / t->times : -1;
}

enum { LEAST_GAIN_PERCENT = 97 };  // of the time of the usual way; smaller gains are noise

// A search for the fastest way.
typedef struct way_search {
  tsri_autotune *tuner;
  const tuned_work *work;
  char name[TSRI_CHOICE_WORK_BYTES];
  char best[TSRI_CHOICE_BYTES];
  double usual_ns, best_ns;
  int times;
  bool skips_plan;
  uint64_t end_ns;
} way_search;

static tsri_contest contest_of(const way_search *s, trial *t, uint64_t longest_ns) {
  return (tsri_contest){.count = t->count,
                        .run = time_one,
                        .context = t,
                        .rounds = by_mode[s->tuner->mode].rounds,
                        .longest_ns = longest_ns,
                        .least_gain = LEAST_GAIN_PERCENT / 100.0};
}

static int hold(const way_search *s, trial *t) {
  double times[TSRI_MOST_CONTENDERS];
  uint64_t now = tsri_clock_ns();
  tsri_contest contest = contest_of(s, t, now < s->end_ns ? s->end_ns - now : 0);
  return tsri_contest_hold(&contest, times);
}

// Adds the best way so far with further changes, unless it is known to be bad or too long to be stored.
static void add_way(const way_search *s, trial *t, const char *changes) {
  if (t->count == TSRI_MOST_CONTENDERS) return;
  char *to = t->changes[t->count];
  const char *comma = s->best[0] && changes[0] ? "," : "";
  int length = snprintf(to, TSRI_CHOICE_BYTES, "%s%s%s", s->best, comma, changes);
  if (length < TSRI_CHOICE_BYTES && !tsri_choices_is_bad(s->tuner->choices, s->name, to)) t->count++;
}

static void add_thread_counts(const way_search *s, trial *t) {
  for (int threads = 1; threads < s->work->device->info.compute_units; threads *= 2) {
    char changes[32];
    snprintf(changes, sizeof changes, "threads=%d", threads);
    add_way(s, t, changes);
  }
}

// Tries other values of one entry beside the best way so far.
static void try_entry(way_search *s, tsri_tuning_entry entry) {
  trial t = {.work = s->work, .times = s->times, .skips_plan = s->skips_plan};
  char changes[TSRI_CHOICE_BYTES];
  tsri_tuning tuning = s->work->state->tuning;
  (void)tsri_tuning_change(&tuning, s->best);
  add_way(s, &t, "");
  for (int i = 0; tsri_tuning_try(&tuning, entry, i, changes, sizeof changes); i++) add_way(s, &t, changes);
  if (entry == TSRI_ENTRY_threads) add_thread_counts(s, &t);
  if (t.count < 2 || tsri_clock_ns() >= s->end_ns) return;
  int winner = hold(s, &t);
  if (winner > 0) memcpy(s->best, t.changes[winner], sizeof s->best);
}

// --- The search -----------------------------------------------------------------------------------------------------------

// Elements of a result that are compared: the first and the last ones.
enum { COMPARED_BYTES = 1 << 20 };

// Reads the beginning and the end of the first result. Returns the number of elements, 0 if they cannot be read.
static size_t read_result(const tuned_work *w, char *out) {
  const tsri_node *root = w->plan->nodes[w->fusion->root].node;
  size_t element = tsr_dtype_bytes(root->dtype), bytes = (size_t)root->count * element;
  size_t half = bytes < COMPARED_BYTES / 2 ? bytes : COMPARED_BYTES / 2;
  if (tsr_buffer_download(w->outputs[0], 0, out, half) != TSR_OK) return 0;
  if (tsr_buffer_download(w->outputs[0], bytes - half, out + half, half) != TSR_OK) return 0;
  return 2 * half / element;
}

// Whether the best way runs and gives the result of the usual one. The caller has just run the usual one.
static bool is_right(const way_search *s) {
  char *usual = tsri_malloc(2 * (size_t)COMPARED_BYTES), *other = usual ? usual + COMPARED_BYTES : NULL;
  const tsri_node *root = s->work->plan->nodes[s->work->fusion->root].node;
  size_t count = usual ? read_result(s->work, usual) : 0;
  bool is_good = count > 0 && launch(s->work, s->best, NULL) == TSR_OK && read_result(s->work, other) == count &&
                 tsri_results_agree(root->dtype, usual, other, count);
  tsri_free(usual);
  return is_good;
}

// Whether launches in the usual way skip planning: the launch cache of single.h does so for a single node that a native operator computes. Launches in other
// ways are always planned.
static bool skips_plan(const tuned_work *w) {
  uint64_t asked = 0;
  return w->plan->node_count == 1 && launch(w, "", &asked) == TSR_OK && (asked >> TSRI_ENTRY_native & 1u);
}

// Compares the best way with the usual way twice more, since the fastest of many ways may have won by noise. Unless it wins both times, the usual way stays.
static void confirm(way_search *s) {
  trial t = {.work = s->work, .times = s->times, .skips_plan = s->skips_plan, .count = 2};
  snprintf(t.changes[1], sizeof t.changes[1], "%s", s->best);
  tsri_contest contest = contest_of(s, &t, by_mode[s->tuner->mode].one_ns / 2);
  double usual_ns = time_one(&t, 0);
  tsri_duel duel = {usual_ns, usual_ns};
  bool is_faster = s->best[0] && tsri_contest_confirm(&contest, 1, &duel) && tsri_contest_confirm(&contest, 1, &duel);
  s->usual_ns = duel.first_ns;
  s->best_ns = is_faster ? duel.other_ns : duel.first_ns;
  if (!is_faster) s->best[0] = 0;
}

static void store(way_search *s, bool is_bad) {
  tsri_choice choice = {.usual_us = s->usual_ns * 1e-3, .chosen_us = s->best_ns * 1e-3, .is_bad = is_bad};
  memcpy(choice.work, s->name, sizeof choice.work);
  memcpy(choice.choice, s->best, sizeof choice.choice);
  tsri_choices_put(s->tuner->choices, &choice);
}

// Tries each entry of the tuning that a launch has asked for, including entries that only one of the tried ways asks
// for.
static void try_all(way_search *s) {
  uint64_t tried = 0, asked = 0;
  if (launch(s->work, s->best, &asked) != TSR_OK) return;
  if (tsri_device_is_cpu(s->work->device)) asked |= UINT64_C(1) << TSRI_ENTRY_threads;
  for (int entry = TSRI_ENTRY_threads; entry >= 0; entry--) {  // threads and native come first; no later entry is tried
    uint64_t bit = UINT64_C(1) << entry, more = 0;
    if (!(asked & bit) || tried & bit) continue;
    tried |= bit;
    try_entry(s, (tsri_tuning_entry)entry);
    if (launch(s->work, s->best, &more) == TSR_OK) asked |= more;
  }
}

// Tunes this kind of work. Afterwards the output buffers hold the results of whichever way ran last, so the caller launches the fusion once more.
static void tune(tsri_autotune *tuner, const tuned_work *w, const char *name) {
  enum { FAILED_WAYS = 3, MEASURED_NS = 1000000, MOST_TIMES = 64, SHORTEST_NS = 4000 };
  uint64_t start = tsri_clock_ns();
  way_search s = {.tuner = tuner, .work = w, .times = 1, .end_ns = start + by_mode[tuner->mode].one_ns};
  snprintf(s.name, sizeof s.name, "%s", name);
  s.skips_plan = skips_plan(w);
  trial usual = {.work = w, .times = 1, .skips_plan = s.skips_plan, .count = 1};
  (void)time_one(&usual, 0);  // builds its kernels
  double once = time_one(&usual, 0);
  if (once < 0) return;
  if (once < MEASURED_NS) s.times = once * MOST_TIMES < MEASURED_NS ? MOST_TIMES : (int)(MEASURED_NS / once) + 1;
  for (int attempt = 0; attempt < FAILED_WAYS; attempt++) {
    s.best[0] = 0;
    if (once >= SHORTEST_NS) try_all(&s);
    confirm(&s);
    if (launch(w, "", NULL) != TSR_OK) return;
    bool is_good = !s.best[0] || is_right(&s);
    store(&s, !is_good);
    if (is_good) break;
    tsri_log(TSR_LOG_WARN, "tuning: %s by %s gives a wrong result and is not used", s.name, s.best);
  }
  tuner->spent_ns += tsri_clock_ns() - start;
  tsri_log(TSR_LOG_INFO, "tuning: %s: %.1f us, %.1f us by \"%s\"", s.name, s.usual_ns * 1e-3, s.best_ns * 1e-3, s.best);
}

// Whether the work can be repeated and timed now: nothing is being captured, and there is time left.
static bool may_tune(const tsri_autotune *tuner, const tsri_plan *plan, const tsri_fusion *fusion) {
  const tsri_node *root = plan->nodes[fusion->root].node;
  return tsri_autotune_is_on(tuner) && root->count > 0 && !tsri_tape_now() &&
         tuner->spent_ns < by_mode[tuner->mode].all_ns;
}

// Whether the failure would happen in any way: the device is lost, memory is out, or the run was told to stop.
static bool is_the_devices(tsr_status status) {
  return status == TSR_ERR_DEVICE_LOST || status == TSR_ERR_OUT_OF_MEMORY || status == TSR_ERR_TIMEOUT;
}

static known_table *table_of(tsri_autotune *tuner, uint64_t hash) { return &tuner->known[hash % KNOWN_TABLES]; }

// The stored way for fusions with this hash; NULL if there is none, or if the choices have changed since.
static const known_way *find_way(tsri_autotune *tuner, uint64_t hash) {
  const known_table *table = table_of(tuner, hash);
  uint32_t place = tsri_ways_find(&table->ways, hash);
  const known_way *way = place < TSRI_WAY_PLACES ? &table->places[place] : NULL;
  return way && way->is_set && way->version == tsri_choices_version(tuner->choices) ? way : NULL;
}

// Stores the way for launches of fusions with this hash.
static void remember(tsri_autotune *tuner, const tuned_work *w, uint64_t hash, const char *changes) {
  known_table *table = table_of(tuner, hash);
  known_way *way = &table->places[tsri_ways_put(&table->ways, hash)];
  *way =
      (known_way){.version = tsri_choices_version(tuner->choices), .is_usual = !changes[0], .tuning = w->state->tuning};
  way->is_set = tsri_tuning_change(&way->tuning, changes);
}

// Called when a way that ran while tuning fails now: stores it as bad, makes the usual way the choice, and launches
// that.
static tsr_status give_up(tsri_autotune *tuner, const tuned_work *w, tsri_choice *choice, tsr_status status) {
  tsri_log(TSR_LOG_WARN, "tuning: %s by %s fails (%s) and is not used any more", choice->work, choice->choice,
           tsr_status_name(status));
  choice->is_bad = true;
  tsri_choices_put(tuner->choices, choice);
  choice->is_bad = false;
  choice->choice[0] = 0;
  choice->chosen_us = choice->usual_us;
  tsri_choices_put(tuner->choices, choice);
  return launch(w, "", NULL);
}

static tsr_status launch_by_choice(tsri_autotune *tuner, const tuned_work *w, uint64_t hash) {
  char name[TSRI_CHOICE_WORK_BYTES];
  tsri_choice choice = {.choice = ""};
  tsri_autotune_work(w->plan, w->fusion, name, sizeof name);
  bool is_known = tsri_choices_find(tuner->choices, name, &choice);
  if (!is_known && may_tune(tuner, w->plan, w->fusion)) {
    tune(tuner, w, name);
    (void)tsri_choices_find(tuner->choices, name, &choice);
  }
  bool is_settled = is_known || tuner->mode == TSRI_TUNE_MODE_AUTO;
  if (choice.choice[0] || !is_settled) tuner->unusual_count++;
  tsr_status status = launch(w, choice.choice, NULL);
  if (status == TSR_OK && is_settled) remember(tuner, w, hash, choice.choice);
  if (status == TSR_OK || !choice.choice[0] || is_the_devices(status)) return status;
  return give_up(tuner, w, &choice, status);
}

tsr_status tsri_autotune_launch(tsri_autotune *tuner, tsri_graph_state *state, const tsri_plan *plan,
                                const tsri_fusion *fusion, tsr_buffer *const *outputs) {
  if (!tuner) return tsri_launch_fusion(state, plan, fusion, outputs);
  uint64_t hash = tsri_autotune_hash(plan, fusion);
  const known_way *way = find_way(tuner, hash);
  if (way && way->is_usual) return tsri_launch_fusion(state, plan, fusion, outputs);
  tuned_work w = {state, plan->nodes[fusion->root].node->value.device, plan, fusion, outputs};
  if (way) {
    tsr_status status = launch_by(&w, &way->tuning, NULL);
    if (status == TSR_OK) tuner->unusual_count++;
    if (status == TSR_OK || is_the_devices(status)) return status;
  }
  return launch_by_choice(tuner, &w, hash);
}
