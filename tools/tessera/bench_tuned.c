// SPDX-License-Identifier: MIT
// Times each row with and without tuning, in turns, so that other work of the machine affects both. A row that seems slower with tuning is timed again on more devices,
// three without tuning and three with it, because even two devices that were opened in the same way differ: by up to 15 % where a row takes some 15 us on a GPU. The
// row is reported as slower only if each device with tuning is slower than each one without, by more than the margin by which a tuned way has to win
// (src/graph/autotune.c). By chance that happens once in twenty times for a row that seems slower.
#include "bench_tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tessera/tessera.h>

#include "bench_judge.h"
#include "bench_time.h"
#include "commands.h"
#include "json.h"
#include "progress.h"
#include "report.h"

enum { TURNS = 15, GROUP = 3, DEVICES = 2 * GROUP };

typedef struct tuned_row {
  const bench_row *row;
  int64_t rows, cols;
  tsr_status status;
  char message[BENCH_MESSAGE_BYTES];
  bench_verdict verdict;
} tuned_row;

// Devices that take turns. The even ones are not tuned, the odd ones are.
typedef struct contest {
  const bench_plan *plan;
  int count;
  tsr_device *devices[DEVICES];
  bench_case cases[DEVICES];
  int steps;
  double ns[DEVICES][TURNS];
} contest;

// --- Timing ------------------------------------------------------------------------------------------------------------

static int open_with(const char *tune, const device_choice *wanted, tsr_device **out_device) {
  if (tsr_config_set("tune", tune) != TSR_OK) return report_error();
  int exit_code = device_choice_open(wanted, out_device);
  (void)tsr_config_set("tune", NULL);
  return exit_code;
}

static int open_devices(contest *c, const device_choice *wanted) {
  int exit_code = EXIT_DONE;
  for (int i = 0; i < c->count && exit_code == EXIT_DONE; i++) {
    exit_code = open_with(i % 2 ? "auto" : "off", wanted, &c->devices[i]);
  }
  return exit_code;
}

static void close_devices(contest *c) {
  for (int i = 0; i < c->count; i++) tsr_device_release(c->devices[i]);
}

// Times `steps` steps on each device, TURNS times. The order rotates, so that each device is the first one equally often.
static tsr_status take_turns(contest *c) {
  for (int turn = 0; turn < TURNS; turn++) {
    for (int i = 0; i < c->count; i++) {
      int number = (turn + i) % c->count;
      tsr_status status = bench_case_sample(&c->cases[number], c->steps, &c->ns[number][turn]);
      if (status != TSR_OK) return status;
      c->ns[number][turn] /= c->steps;
    }
  }
  return TSR_OK;
}

static tsr_status time_cases(contest *c, tuned_row *r) {
  int steps = 0;
  tsr_status status = TSR_OK;
  for (int i = 0; i < c->count && status == TSR_OK; i++) {
    status = bench_case_init(&c->cases[i], r->row, c->devices[i], c->plan->dtype, r->rows, r->cols);
    if (status == TSR_OK) status = bench_choose_steps(&c->cases[i], i ? &steps : &c->steps);
  }
  return status == TSR_OK ? take_turns(c) : status;
}

// Times the row on all devices of the contest.
static void hold(contest *c, tuned_row *r) {
  memset(c->cases, 0, sizeof c->cases);
  r->status = time_cases(c, r);
  if (r->status != TSR_OK) snprintf(r->message, sizeof r->message, "%s", tsr_last_error());
  for (int i = 0; i < c->count; i++) bench_case_deinit(&c->cases[i]);
}

// Compares the two groups of devices by the medians of each device's times.
static bench_verdict judge_devices(contest *c) {
  double usual[GROUP], tuned[GROUP];
  for (int i = 0; i < GROUP; i++) {
    bench_sort(c->ns[2 * i], TURNS);
    bench_sort(c->ns[2 * i + 1], TURNS);
    usual[i] = bench_quantile(c->ns[2 * i], TURNS, 0.5);
    tuned[i] = bench_quantile(c->ns[2 * i + 1], TURNS, 0.5);
  }
  return bench_judge_devices(usual, tuned, GROUP);
}

static void time_again(contest *c, const device_choice *wanted, tuned_row *r) {
  *c = (contest){.plan = c->plan, .count = DEVICES};
  bool is_open = open_devices(c, wanted) ==
                 EXIT_DONE;  // if the devices cannot be opened, the verdict of the first two devices stands
  if (is_open) hold(c, r);
  if (is_open && r->status == TSR_OK) r->verdict = judge_devices(c);
  close_devices(c);
}

static void time_row(contest *two, contest *all, const device_choice *wanted, const bench_row *row, tuned_row *r) {
  const bench_plan *plan = two->plan;
  *r = (tuned_row){.row = row, .rows = row->rows, .cols = row->cols};
  if (row->rows && plan->rows) r->rows = plan->rows, r->cols = plan->cols;
  hold(two, r);
  if (r->status == TSR_OK) r->verdict = bench_judge_turns(two->ns[0], two->ns[1], TURNS);
  if (r->status == TSR_OK && r->verdict.is_slower) time_again(all, wanted, r);
}

// --- Showing -----------------------------------------------------------------------------------------------------------

static const char *verdict_of(const tuned_row *r) {
  return r->verdict.is_slower ? "slower" : r->verdict.is_faster ? "faster" : "same";
}

static void write_json(const tuned_row *rows, int count) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_begin_array(&json, "rows");
  for (int i = 0; i < count; i++) {
    json_begin_object(&json, NULL);
    json_text(&json, "name", rows[i].row->name);
    json_int(&json, "rows", rows[i].rows);
    json_int(&json, "cols", rows[i].cols);
    json_text(&json, "status", tsr_status_name(rows[i].status));
    json_real(&json, "usual_ns", rows[i].verdict.usual_ns);
    json_real(&json, "tuned_ns", rows[i].verdict.tuned_ns);
    json_real(&json, "ratio", rows[i].verdict.ratio);
    json_real(&json, "noise", rows[i].verdict.noise);
    json_text(&json, "verdict", verdict_of(&rows[i]));
    json_end_object(&json);
  }
  json_end_array(&json);
  json_end_object(&json);
  json_finish(&json);
}

static int print_rows(const tuned_row *rows, int count) {
  static const table_column columns[] = {{.heading = "Row", .gap = 2},
                                         {.heading = "Size", .gap = 2, .is_right = true},
                                         {.heading = "Usual", .gap = 2, .is_right = true},
                                         {.heading = "Tuned", .gap = 2, .is_right = true},
                                         {.heading = "Times", .gap = 2, .is_right = true},
                                         {.heading = "Noise", .gap = 2, .is_right = true},
                                         {.heading = "Tuned is"}};
  char time[BENCH_TIME_TEXT_BYTES];
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < count; i++) {
    const tuned_row *r = &rows[i];
    table_cell(&t, TERM_PLAIN, "%s", r->row->name);
    table_cell(&t, TERM_PLAIN, "%lldx%lld", (long long)r->rows, (long long)r->cols);
    if (r->status != TSR_OK) {
      table_span(&t, TERM_BAD, "%s", r->message);
      continue;
    }
    table_cell(&t, TERM_PLAIN, "%s", bench_format_ns(r->verdict.usual_ns, time));
    table_cell(&t, TERM_BOLD, "%s", bench_format_ns(r->verdict.tuned_ns, time));
    table_cell(&t, TERM_PLAIN, "%.2f", r->verdict.ratio);
    table_cell(&t, TERM_PLAIN, "%.2f", r->verdict.noise);
    table_cell(&t, r->verdict.is_slower ? TERM_BAD : TERM_PLAIN, "%s", verdict_of(r));
  }
  return report_table(&t);
}

// --- The command -------------------------------------------------------------------------------------------------------

static int judge(const tuned_row *rows, int count) {
  int exit_code = EXIT_DONE;
  for (int i = 0; i < count; i++) {
    bool is_lacking = rows[i].status == TSR_ERR_UNSUPPORTED || rows[i].status == TSR_ERR_DTYPE;
    if (rows[i].status != TSR_OK && !is_lacking) return EXIT_ERROR;
    if (rows[i].verdict.is_slower) exit_code = EXIT_NO;
  }
  return exit_code;
}

int bench_tuned_run(const bench_plan *plan, const device_choice *wanted, const bench_row *const *rows, int count,
                    bool as_json) {
  static contest two, all;  // too large for the stack
  two = (contest){.plan = plan, .count = 2};
  all = (contest){.plan = plan};
  tuned_row *results = calloc((size_t)count, sizeof *results);
  if (!results) return report_no_memory();
  int exit_code = open_devices(&two, wanted), timed = 0;
  for (int i = 0; i < count && exit_code == EXIT_DONE; i++) {
    if (rows[i]->rows == 0) continue;  // rows without a size time recording and launching, which is not tuned
    progress_show("%d of %d: %s", i + 1, count, rows[i]->name);
    time_row(&two, &all, wanted, rows[i], &results[timed++]);
  }
  progress_end();
  if (exit_code == EXIT_DONE && as_json) write_json(results, timed);
  else if (exit_code == EXIT_DONE) exit_code = print_rows(results, timed);
  if (exit_code == EXIT_DONE) exit_code = judge(results, timed);
  close_devices(&two);
  free(results);
  return exit_code;
}
