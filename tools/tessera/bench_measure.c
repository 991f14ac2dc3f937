// SPDX-License-Identifier: MIT
// Times one row of the benchmark.
//
// The limit is measured directly before and after the row, since other processes change what the machine can do.
#include "bench_measure.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench_time.h"

enum { LEAST_SAMPLES = 3, MOST_SAMPLES = 1000, USUAL_SAMPLES = 11 };
static const double least_sample_ns = 1e6;  // shorter samples would measure the clock
static const double least_waited_ns = 1e7;  // and those that end with a wait for a device would measure the wait

typedef struct samples {
  double ns[MOST_SAMPLES];  // per step
  int count;
} samples;

tsr_status bench_choose_steps(bench_case *c, int *out_steps) {
  double ns = 0;
  int most = c->row->most_steps ? c->row->most_steps : 1 << 20;
  double least = c->row->rows ? least_waited_ns : least_sample_ns;
  tsr_status status = bench_case_sample(c, 1, &ns);
  for (*out_steps = 1; status == TSR_OK; *out_steps *= 4) {
    if (*out_steps > most) *out_steps = most;
    status = bench_case_sample(c, *out_steps, &ns);
    if (ns >= least || *out_steps == most) break;
  }
  return status;
}

static bool is_enough(const bench_plan *plan, const samples *s, double spent_ns) {
  if (s->count >= MOST_SAMPLES) return true;
  if (plan->repeats) return (uint64_t)s->count >= plan->repeats;
  if (s->count < LEAST_SAMPLES) return false;
  return spent_ns >= plan->least_ns && (s->count >= USUAL_SAMPLES || spent_ns >= 4 * plan->least_ns);
}

static bool is_our_turn(void) {
  int c = getchar();
  while (c != EOF && c != '\n') c = getchar();
  return c == '\n';
}

// Prints "ready", then takes one sample for each input line and prints its nanoseconds, so that the reader can run
// another program in between. Each sample begins with a step that is not counted, since a GPU needs some time to
// switch processes.
static tsr_status take_turns(bench_case *c, int steps, samples *s) {
  printf("ready\n");
  fflush(stdout);
  while (s->count < MOST_SAMPLES && is_our_turn()) {
    double ns = 0;
    tsr_status status = bench_case_sample(c, 1, &ns);
    if (status == TSR_OK) status = bench_case_sample(c, steps, &ns);
    if (status != TSR_OK) return status;
    s->ns[s->count++] = ns / steps;
    printf("%.1f\n", ns / steps);
    fflush(stdout);
  }
  return TSR_OK;
}

static tsr_status take_samples(const bench_plan *plan, bench_case *c, int steps, samples *s) {
  double spent = 0;
  while (!is_enough(plan, s, spent)) {
    double ns = 0;
    tsr_status status = bench_case_sample(c, steps, &ns);
    if (status != TSR_OK) return status;
    s->ns[s->count++] = ns / steps;
    spent += ns;
  }
  return TSR_OK;
}

static void summarise(samples *s, bench_result *r) {
  bench_sort(s->ns, s->count);
  r->samples = s->count;
  r->best_ns = s->ns[0];
  r->low_ns = bench_quantile(s->ns, s->count, 0.25);
  r->median_ns = bench_quantile(s->ns, s->count, 0.5);
  r->high_ns = bench_quantile(s->ns, s->count, 0.75);
}

double bench_gb_s(const bench_result *r) { return r->median_ns > 0 ? r->bytes / r->median_ns : 0; }
double bench_gflop_s(const bench_result *r) { return r->median_ns > 0 ? r->flops / r->median_ns : 0; }

// Multiply-adds are measured in f32, in which f16 and bf16 are computed as well.
static bench_bound bound_of(const bench_row *row, tsr_dtype dtype) {
  bool is_f32 = dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
  return row->bound == BENCH_FMA && !is_f32 ? BENCH_NONE : row->bound;
}

static tsr_status measure_case(const bench_plan *plan, bench_case *c, bench_limits *limits, bench_result *r) {
  bench_bound bound = plan->takes_turns ? BENCH_NONE : bench_limit_of(limits, bound_of(c->row, c->dtype));
  r->bound = bound;
  size_t bytes = (size_t)(c->rows * c->cols) * tsr_dtype_bytes(c->dtype);
  samples *s = calloc(1, sizeof *s);
  if (!s) {
    snprintf(r->message, sizeof r->message, "out of memory");
    return TSR_ERR_OUT_OF_MEMORY;
  }
  tsr_status status = bench_choose_steps(c, &r->steps);
  double before = status == TSR_OK ? bench_limit_measure(limits, bound, bytes) : 0, ns = 0;
  if (status == TSR_OK)
    status = bench_case_sample(c, 1, &ns);  // the caches hold the limit's arrays now, so one step
                                            // is not counted
  if (status == TSR_OK) status = plan->takes_turns ? take_turns(c, r->steps, s) : take_samples(plan, c, r->steps, s);
  double after = status == TSR_OK ? bench_limit_measure(limits, bound, bytes) : 0;
  if (status == TSR_OK) summarise(s, r);
  free(s);
  r->bytes = c->bytes;
  r->flops = c->flops;
  r->limit = (before + after) / 2;
  double speed = bound == BENCH_FMA ? bench_gflop_s(r) : bench_gb_s(r);
  r->share = r->limit > 0 ? speed / r->limit : 0;
  return status;
}

static bench_result empty_result(const bench_plan *plan, const bench_row *row) {
  bench_result r = {.row = row, .rows = row->rows, .cols = row->cols, .dtype = row->rows ? plan->dtype : TSR_F32};
  if (row->rows && plan->rows) {
    r.rows = plan->rows;
    r.cols = plan->cols;
  }
  return r;
}

void bench_measure(const bench_plan *plan, const bench_row *row, bench_limits *limits, bench_result *out_result) {
  bench_result r = empty_result(plan, row);
  bench_case c;
  r.status = bench_case_init(&c, row, plan->device, plan->dtype, r.rows, r.cols);
  if (r.status == TSR_OK) r.status = measure_case(plan, &c, limits, &r);
  if (r.status != TSR_OK && !r.message[0]) snprintf(r.message, sizeof r.message, "%s", tsr_last_error());
  bench_case_deinit(&c);
  *out_result = r;
}
