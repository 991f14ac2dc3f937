// SPDX-License-Identifier: MIT
// Everything that a run of `tessera demo` has found out, as JSON and as tables.
#include "demo_result.h"

#include <stdio.h>
#include <string.h>

#include "bench_time.h"
#include "device_choice.h"
#include "json.h"
#include "report.h"

const demo_training *demo_result_training(const demo_result *result) {
  const demo_training *last = result->attempt_count > 0 ? &result->attempts[result->attempt_count - 1] : NULL;
  return last && last->end != DEMO_FAILED ? last : NULL;
}

const demo_visit *demo_result_trained_on(const demo_result *result) {
  return &result->visits[result->attempt_visits[result->attempt_count - 1]];
}

// --- JSON -----------------------------------------------------------------------------------------------------------------

static const char *end_name(demo_end end) {
  static const char *const names[] = {"done", "time", "interrupted", "failed"};
  return names[end];
}

static void write_epochs(json_writer *json, const demo_training *t) {
  json_begin_array(json, "epochs");
  for (int i = 0; i < t->epoch_count; i++) {
    json_begin_object(json, NULL);
    json_real(json, "loss", t->epochs[i].loss);
    json_real(json, "accuracy", t->epochs[i].accuracy);
    json_int(json, "tried", t->epochs[i].tried);
    json_real(json, "seconds", t->epochs[i].seconds);
    json_end_object(json);
  }
  json_end_array(json);
}

static void write_memory(json_writer *json, const tsr_grad_memory *memory) {
  json_begin_object(json, "memory");
  json_uint(json, "start_bytes", memory->start_bytes);
  json_uint(json, "forward_bytes", memory->forward_bytes);
  json_uint(json, "backward_bytes", memory->backward_bytes);
  json_end_object(json);
}

static void write_attempt(json_writer *json, const demo_result *result, int number) {
  const demo_training *t = &result->attempts[number];
  const demo_visit *on = &result->visits[result->attempt_visits[number]];
  json_begin_object(json, NULL);
  json_text(json, "backend", on->backend);
  json_int(json, "index", on->index);
  json_text(json, "end", end_name(t->end));
  json_text(json, "status", tsr_status_name(t->status));
  json_text(json, "message", t->message);
  json_int(json, "steps", t->step_count);
  json_int(json, "batch", DEMO_BATCH);
  json_int(json, "kernels", t->kernels);
  json_int(json, "parameters", t->parameter_count);
  write_memory(json, &t->memory);
  json_real(json, "seconds", t->seconds);
  write_epochs(json, t);
  int tried = demo_tried_count(t);
  json_int(json, "tried", tried);
  json_int(json, "right", demo_right_count(t, result->digits));
  if (tried > 0) json_real(json, "accuracy", (double)demo_right_count(t, result->digits) / tried);
  else json_null(json, "accuracy");
  json_real(json, "accuracy_wanted", DEMO_ACCURACY);
  json_begin_array(json, "losses");
  for (int i = 0; i < t->step_count; i++) json_real(json, NULL, (double)t->losses[i]);
  json_end_array(json);
  json_end_object(json);
}

static void write_outcome(json_writer *json, const demo_visit *v, int number) {
  const demo_program *program = &demo_programs[number];
  const demo_outcome *o = &v->outcomes[number];
  json_begin_object(json, NULL);
  json_text(json, "name", program->name);
  json_text(json, "what", program->what);
  json_text(json, "status", tsr_status_name(o->status));
  json_text(json, "message", o->message);
  if (o->status == TSR_OK) {
    json_real(json, "first_ms", o->first_ns / 1e6);
    json_real(json, "again_ms", o->again_ns / 1e6);
    json_uint(json, "kernels", o->kernels);
    json_real(json, "difference", o->difference);
  }
  json_real(json, "bound", program->bound);
  json_text(json, "bound_reason", program->why);
  json_bool(json, "passed", demo_visit_has_passed(v, number));
  json_end_object(json);
}

static void write_visit(json_writer *json, const demo_visit *v) {
  json_begin_object(json, NULL);
  json_text(json, "backend", v->backend);
  json_int(json, "index", v->index);
  json_text(json, "name", v->device_name);
  json_bool(json, "software", v->is_software);
  json_bool(json, "skipped", v->is_skipped);
  json_text(json, "status", tsr_status_name(v->status));
  json_text(json, "message", v->message);
  json_begin_array(json, "programs");
  bool has_run = v->status == TSR_OK && !v->is_skipped;
  for (int i = 0; i < DEMO_PROGRAM_COUNT && has_run; i++) write_outcome(json, v, i);
  json_end_array(json);
  json_end_object(json);
}

static void write_absent(json_writer *json, const tsr_discovery *found) {
  json_begin_array(json, "absent");
  for (int b = 0; b < found->backend_count; b++) {
    if (found->backends[b].device_count > 0) continue;
    json_begin_object(json, NULL);
    json_text(json, "backend", found->backends[b].name);
    json_text(json, "reason", found->backends[b].reason);
    json_end_object(json);
  }
  json_end_array(json);
}

void demo_result_write_json(const demo_result *result) {
  json_writer json;
  json_init(&json, stdout);
  json_begin_object(&json, NULL);
  json_text(&json, "version", tsr_version());
  json_uint(&json, "seed", result->seed);
  json_real(&json, "seconds", result->seconds);
  json_begin_array(&json, "training");
  for (int i = 0; i < result->attempt_count; i++) write_attempt(&json, result, i);
  json_end_array(&json);
  json_begin_array(&json, "devices");
  for (int i = 0; i < result->visit_count; i++) write_visit(&json, &result->visits[i]);
  json_end_array(&json);
  write_absent(&json, result->found);
  json_text(&json, "image", result->image);
  json_end_object(&json);
  json_finish(&json);
}

// --- For people -------------------------------------------------------------------------------------------------------------

static void add_outcome(table *t, const demo_visit *v, int number) {
  char text[BENCH_TIME_TEXT_BYTES];
  const demo_outcome *o = &v->outcomes[number];
  table_cell(t, TERM_PLAIN, "%s", demo_programs[number].what);
  if (o->status != TSR_OK) {
    table_span(t, TERM_BAD, "%s", o->message);
    return;
  }
  table_cell(t, TERM_PLAIN, "%s", bench_format_ns(o->first_ns, text));
  table_cell(t, TERM_BOLD, "%s", bench_format_ns(o->again_ns, text));
  table_cell(t, TERM_PLAIN, "%llu", (unsigned long long)o->kernels);
  bool is_right = demo_visit_has_passed(v, number);
  if (strcmp(v->backend, "cpu") == 0 && o->difference == 0) table_cell(t, TERM_PLAIN, "%s", "reference");
  else table_cell(t, is_right ? TERM_GOOD : TERM_BAD, "%.1e%s", o->difference, is_right ? "" : ", too large");
}

static void add_visit(table *t, const demo_visit *v) {
  char place[DEVICE_TEXT_BYTES];
  table_cell(t, TERM_BOLD, "%s", device_format(v->backend, v->index, place));
  if (v->is_skipped) {
    table_span(t, TERM_DIM, "%s", v->message);
  } else if (v->status != TSR_OK) {
    table_span(t, TERM_BAD, "%s", v->message);
  } else {
    for (int i = 0; i < DEMO_PROGRAM_COUNT; i++) {
      if (i > 0) table_cell(t, TERM_PLAIN, "%s", "");
      add_outcome(t, v, i);
    }
  }
}

int demo_result_print_visits(const demo_result *result) {
  static const table_column columns[] = {
      {.heading = "Device", .gap = 2},
      {.heading = "Program", .gap = 2, .narrowest = 12},
      {.heading = "First run", .gap = 2, .is_right = true},
      {.heading = "Again", .gap = 2, .is_right = true},
      {.heading = "Kernels", .gap = 2, .is_right = true},
      {.heading = "Difference"},
  };
  table t;
  table_init(&t, columns, sizeof columns / sizeof columns[0]);
  for (int i = 0; i < result->visit_count; i++) add_visit(&t, &result->visits[i]);
  return report_table(&t);
}
