// SPDX-License-Identifier: MIT
// Both ways are timed in turns, so that whatever else the machine does hits both. A row counts as slower only if it lost most turns, by more
// than a tuned way has to win by (src/graph/autotune.c), does so again with more turns, and against a second device that is not tuned: two devices
// opened alike differ by up to 15 % where a row takes some 15 us on a GPU, because the host's part does.
#include "bench_tuned.h"

#include <stdio.h>
#include <stdlib.h>
#include <tessera/tessera.h>

#include "bench_progress.h"
#include "bench_time.h"
#include "commands.h"
#include "json.h"
#include "report.h"

enum { TURNS = 15, MOST_TURNS = 45 };
static const double least_share = 0.8;  // of the turns, to be faster or slower
static const double least_ratio = 1.03;

typedef struct tuned_row {
  const bench_row *row;
  int64_t rows, cols;
  tsr_status status;
  char message[BENCH_MESSAGE_BYTES];
  double usual_ns, tuned_ns;  // medians
  double ratio;               // median of usual / tuned of each turn
  bool is_faster, is_slower;
} tuned_row;

typedef struct two_cases {
  bench_case usual, tuned;
  int steps;
} two_cases;

// Takes turns, and puts what they say into `r`.
static tsr_status take_turns(two_cases *c, int turns, tuned_row *r) {
  double usual[MOST_TURNS], tuned[MOST_TURNS], ratios[MOST_TURNS];
  int won = 0, lost = 0;
  for (int i = 0; i < turns; i++) {
    tsr_status status = bench_case_sample(i % 2 ? &c->tuned : &c->usual, c->steps, i % 2 ? &tuned[i] : &usual[i]);
    if (status == TSR_OK)
      status = bench_case_sample(i % 2 ? &c->usual : &c->tuned, c->steps, i % 2 ? &usual[i] : &tuned[i]);
    if (status != TSR_OK) return status;
    ratios[i] = usual[i] / tuned[i];
    won += ratios[i] > 1;
    lost += ratios[i] < 1;
  }
  bench_sort(usual, turns);
  bench_sort(tuned, turns);
  bench_sort(ratios, turns);
  r->usual_ns = bench_quantile(usual, turns, 0.5) / c->steps;
  r->tuned_ns = bench_quantile(tuned, turns, 0.5) / c->steps;
  r->ratio = bench_quantile(ratios, turns, 0.5);
  r->is_faster = won >= least_share * turns && r->ratio >= least_ratio;
  r->is_slower = lost >= least_share * turns && r->ratio <= 1 / least_ratio;
  return TSR_OK;
}

static tsr_status time_both(two_cases *c, tuned_row *r) {
  int steps = 0;
  tsr_status status = bench_choose_steps(&c->usual, &c->steps);
  if (status == TSR_OK) status = bench_choose_steps(&c->tuned, &steps);
  if (status == TSR_OK) status = take_turns(c, TURNS, r);
  if (status == TSR_OK && r->is_slower) status = take_turns(c, MOST_TURNS, r);
  return status;
}

static void time_against(const bench_plan *plan, tsr_device *usual, tsr_device *tuned, tuned_row *r) {
  static two_cases c;  // too large for the stack
  r->status = bench_case_init(&c.usual, r->row, usual, plan->dtype, r->rows, r->cols);
  tsr_status other = bench_case_init(&c.tuned, r->row, tuned, plan->dtype, r->rows, r->cols);
  if (r->status == TSR_OK) r->status = other;
  if (r->status == TSR_OK) r->status = time_both(&c, r);
  if (r->status != TSR_OK) snprintf(r->message, sizeof r->message, "%s", tsr_last_error());
  bench_case_deinit(&c.usual);
  bench_case_deinit(&c.tuned);
}

enum { USUAL, TUNED, USUAL_AGAIN, DEVICES };

static void time_row(const bench_plan *plan, tsr_device *const *devices, const bench_row *row, tuned_row *r) {
  *r = (tuned_row){.row = row, .rows = row->rows, .cols = row->cols};
  if (row->rows && plan->rows) r->rows = plan->rows, r->cols = plan->cols;
  time_against(plan, devices[USUAL], devices[TUNED], r);
  if (r->status == TSR_OK && r->is_slower) time_against(plan, devices[USUAL_AGAIN], devices[TUNED], r);
}

// --- Showing -----------------------------------------------------------------------------------------------------------

static const char *verdict_of(const tuned_row *r) { return r->is_slower ? "slower" : r->is_faster ? "faster" : "same"; }

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
    json_real(&json, "usual_ns", rows[i].usual_ns);
    json_real(&json, "tuned_ns", rows[i].tuned_ns);
    json_real(&json, "ratio", rows[i].ratio);
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
    table_cell(&t, TERM_PLAIN, "%s", bench_format_ns(r->usual_ns, time));
    table_cell(&t, TERM_BOLD, "%s", bench_format_ns(r->tuned_ns, time));
    table_cell(&t, TERM_PLAIN, "%.2f", r->ratio);
    table_cell(&t, r->is_slower ? TERM_BAD : TERM_PLAIN, "%s", verdict_of(r));
  }
  return report_table(&t);
}

// --- The command -------------------------------------------------------------------------------------------------------

static int open_with(const char *tune, const device_choice *wanted, tsr_device **out_device) {
  if (tsr_config_set("tune", tune) != TSR_OK) return report_error();
  int exit_code = device_choice_open(wanted, out_device);
  (void)tsr_config_set("tune", NULL);
  return exit_code;
}

static int judge(const tuned_row *rows, int count) {
  int exit_code = EXIT_DONE;
  for (int i = 0; i < count; i++) {
    bool is_lacking = rows[i].status == TSR_ERR_UNSUPPORTED || rows[i].status == TSR_ERR_DTYPE;
    if (rows[i].status != TSR_OK && !is_lacking) return EXIT_ERROR;
    if (rows[i].is_slower) exit_code = EXIT_NO;
  }
  return exit_code;
}

int bench_tuned_run(const bench_plan *plan, const device_choice *wanted, const bench_row *const *rows, int count,
                    bool as_json) {
  static const char *const settings[DEVICES] = {[USUAL] = "off", [TUNED] = "auto", [USUAL_AGAIN] = "off"};
  tsr_device *devices[DEVICES] = {NULL};
  tuned_row *all = calloc((size_t)count, sizeof *all);
  if (!all) return report_no_memory();
  int exit_code = EXIT_DONE, timed = 0;
  for (int i = 0; i < DEVICES && exit_code == EXIT_DONE; i++) exit_code = open_with(settings[i], wanted, &devices[i]);
  for (int i = 0; i < count && exit_code == EXIT_DONE; i++) {
    if (rows[i]->rows == 0) continue;  // what it costs to record and launch is not tuned
    bench_progress("%d of %d: %s", i + 1, count, rows[i]->name);
    time_row(plan, devices, rows[i], &all[timed++]);
  }
  bench_progress_end();
  if (exit_code == EXIT_DONE && as_json) write_json(all, timed);
  else if (exit_code == EXIT_DONE) exit_code = print_rows(all, timed);
  if (exit_code == EXIT_DONE) exit_code = judge(all, timed);
  for (int i = 0; i < DEVICES; i++) tsr_device_release(devices[i]);
  free(all);
  return exit_code;
}
