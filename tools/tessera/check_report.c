// SPDX-License-Identifier: MIT
// Prints the results of `tessera check`, for people and as JSON, and the list of operators.
#include "check_report.h"

#include <inttypes.h>
#include <string.h>

#include "commands.h"
#include "report.h"

// --- Families ---------------------------------------------------------------------------------------------------------

static void add_tally(check_tally *sum, const check_tally *tally) {
  sum->cases += tally->cases;
  sum->passed += tally->passed;
  sum->failed += tally->failed;
  sum->gaps += tally->gaps;
  if (tally->worst.share > sum->worst.share) sum->worst = tally->worst;
}

// Whether this is the first operator of its family; a family's operators are not consecutive in the list.
static bool is_first_of_family(int op) {
  for (int i = 0; i < op; i++) {
    if (strcmp(check_op_at(i)->family, check_op_at(op)->family) == 0) return false;
  }
  return true;
}

static check_tally family_tally(const check_run *run, const char *family) {
  check_tally sum = {0};
  for (int i = 0; i < check_op_count(); i++) {
    if (strcmp(check_op_at(i)->family, family) == 0) add_tally(&sum, &run->tallies[i]);
  }
  return sum;
}

// --- For people -------------------------------------------------------------------------------------------------------

static void add_row(table *t, const char *name, const check_tally *tally, term_style style) {
  char worst[160] = "exact";
  const check_worst *w = &tally->worst;
  if (w->share > 0) {
    const char *unit = check_bounds[w->id].unit;  // only its first word is shown; JSON has all of it
    snprintf(worst, sizeof worst, "%.3g of %.3g %.*s", w->error, w->bound, (int)strcspn(unit, " "), unit);
  }
  table_cell(t, style, "%s", name);
  table_cell(t, style, "%" PRId64, tally->cases);
  table_cell(t, tally->failed ? TERM_BAD : style, "%" PRId64, tally->passed);
  table_cell(t, style, "%" PRId64, tally->gaps);
  table_cell(t, style, "%s", worst);
  table_cell(t, TERM_DIM, "%s", w->share > 0 ? w->at : "");
}

static void print_gaps(const check_run *run) {
  for (int i = 0; i < check_gap_count; i++) {
    const char *name = check_gaps[i].lacks ? check_gaps[i].lacks : check_gaps[i].pattern;
    if (!check_gap_applies(run, i)) continue;
    if (check_gap_is_stale(run, i)) {
      report_text("FAILED: the gap %s passes; delete it from check_bounds.c", name);
    } else if (run->gap_failed[i] > 0) {
      report_text("gap: %s: %s (%" PRId64 " cases)", name, check_gaps[i].reason, run->gap_failed[i]);
    }
  }
}

int check_print(const check_run *run, double seconds) {
  static const table_column columns[] = {
      {.heading = "Operators", .gap = 2},
      {.heading = "Cases", .gap = 2, .is_right = true},
      {.heading = "Passed", .gap = 2, .is_right = true},
      {.heading = "Gaps", .gap = 2, .is_right = true},
      {.heading = "Worst error", .gap = 2, .narrowest = 16},
      {.heading = "At", .narrowest = 18, .is_optional = true},
  };
  table t;
  check_tally total = {0};
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < check_op_count(); i++) {
    if (!is_first_of_family(i)) continue;
    check_tally sum = family_tally(run, check_op_at(i)->family);
    if (sum.cases > 0) add_row(&t, check_op_at(i)->family, &sum, TERM_PLAIN);
    add_tally(&total, &sum);
  }
  add_row(&t, "all", &total, TERM_BOLD);
  int exit_code = report_table(&t);
  print_gaps(run);
  report_text("%s:%d: %" PRId64 " of %" PRId64 " cases passed, %" PRId64 " failed, %" PRId64
              " in known gaps, seed %" PRIu64 ", %.1f s",
              run->backend, run->index, total.passed, total.cases, total.failed, total.gaps, run->options->seed,
              seconds);
  if (run->is_interrupted) {
    report_text("interrupted: %d of %d operators were reached, the last one perhaps not with all of its cases",
                run->op_number, run->op_count);
  }
  return exit_code;
}

// --- JSON -------------------------------------------------------------------------------------------------------------

static void write_tally(json_writer *json, const check_tally *tally) {
  json_int(json, "cases", tally->cases);
  json_int(json, "passed", tally->passed);
  json_int(json, "failed", tally->failed);
  json_int(json, "gaps", tally->gaps);
  json_begin_object(json, "worst");
  json_real(json, "share", tally->worst.share);
  json_real(json, "error", tally->worst.error);
  json_real(json, "bound", tally->worst.bound);
  json_text(json, "unit", tally->worst.share > 0 ? check_bounds[tally->worst.id].unit : NULL);
  json_text(json, "case", tally->worst.share > 0 ? tally->worst.at : NULL);
  json_end_object(json);
}

static void write_failures(json_writer *json, const check_run *run) {
  json_begin_array(json, "failures");
  for (const check_failure *failure = run->failures; failure; failure = failure->next) {
    char command[CHECK_ID_BYTES + 128];
    snprintf(command, sizeof command, "tessera check%s --device %s:%d --seed %" PRIu64 " --op '%s'",
             run->options->is_grad ? " --grad" : "", run->backend, run->index, run->options->seed, failure->id);
    json_begin_object(json, NULL);
    json_text(json, "case", failure->id);
    json_text(json, "inputs", failure->inputs);
    json_text(json, "message", failure->message);
    json_text(json, "command", command);
    json_end_object(json);
  }
  json_end_array(json);
}

static void write_gaps(json_writer *json, const check_run *run) {
  json_begin_array(json, "known_gaps");
  for (int i = 0; i < check_gap_count; i++) {
    if (!check_gap_applies(run, i)) continue;
    json_begin_object(json, NULL);
    json_text(json, "pattern", check_gaps[i].pattern);
    json_text(json, "lacks", check_gaps[i].lacks);
    json_int(json, "cases", run->gap_failed[i]);
    json_text(json, "reason", check_gaps[i].reason);
    json_bool(json, "stale", check_gap_is_stale(run, i));
    json_end_object(json);
  }
  json_end_array(json);
}

void check_write(json_writer *json, const check_run *run, double seconds) {
  tsr_device_info info = {0};
  bool is_known = tsr_device_get_info(run->device, &info) == TSR_OK;
  json_begin_object(json, NULL);
  json_text(json, "backend", run->backend);
  json_int(json, "index", run->index);
  json_text(json, "name", is_known ? info.name : NULL);
  json_bool(json, "ok", check_has_passed(run));
  json_bool(json, "interrupted", run->is_interrupted);
  json_real(json, "seconds", seconds);
  write_tally(json, &run->total);
  json_begin_array(json, "operators");
  for (int i = 0; i < check_op_count(); i++) {
    if (run->tallies[i].cases == 0) continue;
    json_begin_object(json, NULL);
    json_text(json, "name", check_op_at(i)->name);
    json_text(json, "family", check_op_at(i)->family);
    write_tally(json, &run->tallies[i]);
    json_end_object(json);
  }
  json_end_array(json);
  write_failures(json, run);
  write_gaps(json, run);
  json_end_object(json);
}

// --- The list ---------------------------------------------------------------------------------------------------------

static void format_dtypes(uint32_t dtypes, char *text, size_t bytes) {
  size_t used = 0;
  *text = '\0';
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    if (!(dtypes >> i & 1u)) continue;
    used += (size_t)snprintf(text + used, bytes - used, "%s%s", used ? " " : "", tsr_dtype_name((tsr_dtype)i));
  }
}

int check_print_list(const char *pattern) {
  static const table_column columns[] = {{.heading = "Operator", .gap = 2},
                                         {.heading = "Dtypes", .gap = 2, .narrowest = 8},
                                         {.heading = "Bound", .gap = 2},
                                         {.heading = "What it does", .narrowest = 24}};
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < check_op_count(); i++) {
    const check_op *op = check_op_at(i);
    char dtypes[96];
    if (!check_means(pattern, op)) continue;
    format_dtypes(op->dtypes, dtypes, sizeof dtypes);
    table_cell(&t, TERM_BOLD, "%s", op->name);
    table_cell(&t, TERM_PLAIN, "%s", op->dtypes == CHECK_ALL_TYPES ? "all" : dtypes);
    table_cell(&t, TERM_PLAIN, "%s", check_bounds[op->bound].name);
    table_cell(&t, TERM_PLAIN, "%s", op->text);
  }
  return report_table(&t);
}

static void write_op(json_writer *json, const check_op *op) {
  json_begin_object(json, NULL);
  json_text(json, "name", op->name);
  json_text(json, "family", op->family);
  json_text(json, "text", op->text);
  json_begin_array(json, "dtypes");
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    if (op->dtypes >> i & 1u) json_text(json, NULL, tsr_dtype_name((tsr_dtype)i));
  }
  json_end_array(json);
  json_text(json, "result", check_rule_text(op->rule));
  json_text(json, "bound", check_bounds[op->bound].name);
  json_end_object(json);
}

static void write_bound(json_writer *json, const check_bound *bound) {
  json_begin_object(json, NULL);
  json_text(json, "name", bound->name);
  json_real(json, "f64", bound->f64);
  json_real(json, "f32", bound->f32);
  json_real(json, "f32_elsewhere", bound->f32_elsewhere);
  json_real(json, "half", bound->half);
  json_real(json, "per_term", bound->per_term);
  json_text(json, "unit", bound->unit);
  json_text(json, "reason", bound->reason);
  json_end_object(json);
}

void check_write_list(json_writer *json, const char *pattern) {
  json_begin_object(json, NULL);
  json_begin_array(json, "operators");
  for (int i = 0; i < check_op_count(); i++) {
    if (check_means(pattern, check_op_at(i))) write_op(json, check_op_at(i));
  }
  json_end_array(json);
  json_begin_array(json, "bounds");
  for (int i = 0; i < CHECK_BOUND_COUNT; i++) write_bound(json, &check_bounds[i]);
  json_end_array(json);
  json_end_object(json);
}
