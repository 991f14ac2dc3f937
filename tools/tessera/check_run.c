// SPDX-License-Identifier: MIT
// A run of `tessera check` on one device: runs the cases and collects the results.
#include "check_run.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench_time.h"
#include "check_grad.h"
#include "check_progress.h"
#include "commands.h"
#include "device_choice.h"
#include "interrupt.h"
#include "pattern.h"
#include "progress.h"
#include "report.h"
#include "term.h"

// --- Facts ------------------------------------------------------------------------------------------------------------

tsr_device *check_device(const check_run *run) { return run->device; }

bool check_takes_gradients(const check_run *run) { return run->grad != NULL; }

bool check_keeps_subnormals(const check_run *run) { return strcmp(run->backend, "cpu") == 0; }

// --- Memory and random numbers ----------------------------------------------------------------------------------------

struct check_memory {
  check_memory *next;
  max_align_t data[];
};

// Ends the program if memory is out: an incomplete case is useless.
void *check_alloc(check_run *run, size_t count, size_t bytes) {
  if (bytes > 0 && count > (SIZE_MAX - sizeof(check_memory)) / bytes) count = 0;
  check_memory *memory = calloc(1, sizeof *memory + count * bytes + 1);
  if (!memory) exit(report_no_memory());
  memory->next = run->memory;
  run->memory = memory;
  return memory->data;
}

// SplitMix64 (Steele et al., 2014).
static uint64_t scramble(uint64_t x) {
  x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
  x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
  return x ^ x >> 31;
}

uint64_t check_random(check_run *run, uint64_t limit) {
  run->random += UINT64_C(0x9E3779B97F4A7C15);
  uint64_t bits = scramble(run->random);
  return limit ? bits % limit : bits;
}

static uint64_t hash_text(const char *text) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001B3);
  return scramble(hash);
}

// --- Cases ------------------------------------------------------------------------------------------------------------

bool check_means(const char *pattern, const check_op *op) {
  char part[CHECK_ID_BYTES];
  if (!pattern) return true;
  while (pattern_next(&pattern, part, sizeof part)) {
    part[strcspn(part, "/")] = '\0';
    if (pattern_matches(part, op->name)) return true;
  }
  return false;
}

// Quick runs take a part of the cases, a different one for each dtype and operator.
static bool is_kept(const check_run *run, check_weight weight) {
  if (weight == CHECK_ALWAYS || run->options->level == CHECK_LARGE) return true;
  if (run->options->level == CHECK_USUAL) return weight != CHECK_HUGE;
  bool is_common = run->dtype == TSR_F32 || run->dtype == TSR_I32;
  uint64_t one_in = weight == CHECK_OFTEN ? (is_common ? 2 : 6) : weight == CHECK_HEAVY ? (is_common ? 4 : 16) : 0;
  return one_in && hash_text(run->id) % one_in == 0;
}

// The seed selects the sample. One case of each operator, also selected by the seed, is always included.
static bool is_sampled(check_run *run) {
  const check_options *options = run->options;
  uint64_t number = run->offered++;
  if (run->is_counting) return false;
  if (number != run->picked && (scramble(options->seed) ^ hash_text(run->id)) % options->sample != 0) return false;
  return run->taken++ % options->parts == options->part - 1;
}

// Whether the case matches --op. out_is_named: a single case was named, which then runs at every level.
static bool is_asked_for(const check_run *run, bool *out_is_named) {
  const char *list = run->options->pattern;
  char part[CHECK_ID_BYTES];
  bool is_asked = !list;
  *out_is_named = false;
  while (pattern_next(&list, part, sizeof part)) {
    bool is_case = strchr(part, '/') != NULL;
    if (!pattern_matches(part, is_case ? run->id : run->op->name)) continue;
    is_asked = true;
    *out_is_named = *out_is_named || is_case;
  }
  return is_asked;
}

static bool is_chosen(check_run *run, check_weight weight) {
  bool is_named = false;
  if (run->repeated) return strcmp(run->id, run->repeated) == 0;
  if (interrupt_is_noted()) return false;
  return is_asked_for(run, &is_named) && (is_named || is_kept(run, weight)) && is_sampled(run);
}

bool check_begin(check_run *run, check_weight weight, const char *format, ...) {
  char name[CHECK_ID_BYTES - 48];
  va_list values;
  va_start(values, format);
  vsnprintf(name, sizeof name, format, values);
  va_end(values);
  snprintf(run->id, sizeof run->id, "%s/%s/%s", run->op->name, tsr_dtype_name(run->dtype), name);
  if (!is_chosen(run, weight)) return false;
  run->inputs[0] = run->message[0] = '\0';
  run->has_failed = run->is_idle = false;
  run->status = TSR_OK;
  run->random = scramble(run->options->seed) ^ hash_text(run->id);
  run->scope = tsr_scope_begin(run->device);
  if (run->grad) check_grad_begin(run);
  check_progress_show(run);
  return true;
}

void check_note(check_run *run, const char *format, ...) {
  size_t used = strlen(run->inputs);
  if (used && used + 2 < sizeof run->inputs)
    used += (size_t)snprintf(run->inputs + used, sizeof run->inputs - used, ", ");
  va_list values;
  va_start(values, format);
  vsnprintf(run->inputs + used, sizeof run->inputs - used, format, values);
  va_end(values);
}

static void print_failure(check_run *run, const check_failure *failure) {
  enum { MOST = 25 };
  if (run->options->is_quiet || run->total.failed > MOST + 1) return;
  progress_end();
  if (run->total.failed == MOST + 1) {
    printf("… more failures; --json lists them all\n");
  } else {
    bool colour = term_has_colour();
    printf("%sFAILED%s %s\n  inputs %s\n  %s\n  again: tessera check%s --device %s:%d --seed %" PRIu64 " --op '%s'\n",
           term_begin(TERM_BAD, colour), term_end(TERM_BAD, colour), failure->id, failure->inputs, failure->message,
           run->options->is_grad ? " --grad" : "", run->backend, run->index, run->options->seed, failure->id);
  }
  fflush(stdout);  // a run that is killed has then said so
}

static void keep_failure(check_run *run) {
  check_failure *failure = calloc(1, sizeof *failure);
  if (!failure) exit(report_no_memory());
  memcpy(failure->id, run->id, sizeof failure->id);
  memcpy(failure->inputs, run->inputs, sizeof failure->inputs);
  memcpy(failure->message, run->message, sizeof failure->message);
  *run->last_failure = failure;
  run->last_failure = &failure->next;
  print_failure(run, failure);
}

bool check_gap_applies(const check_run *run, int i) {
  const check_gap *gap = &check_gaps[i];
  tsr_dtype dtype;
  if (gap->backend && strcmp(gap->backend, run->backend) != 0) return false;
  return !gap->lacks || (tsr_dtype_parse(gap->lacks, &dtype) == TSR_OK && !tsr_device_has_dtype(run->device, dtype));
}

// The gap that covers the case, or -1.
static int find_gap(const check_run *run) {
  for (int i = 0; i < check_gap_count; i++) {
    const char *lacks = check_gaps[i].lacks;
    if (!check_gap_applies(run, i) || !pattern_matches(check_gaps[i].pattern, run->id)) continue;
    if (!lacks) return i;
    bool is_refused = run->status == TSR_ERR_UNSUPPORTED && strstr(run->message, lacks);
    if (run->has_failed ? is_refused : strcmp(tsr_dtype_name(run->dtype), lacks) == 0) return i;
  }
  return -1;
}

static void count_case(check_run *run, check_tally *tally, int gap) {
  tally->cases++;
  if (!run->has_failed) tally->passed++;
  else if (gap >= 0) tally->gaps++;
  else tally->failed++;
}

static void free_memory(check_memory *memory) {
  while (memory) {
    check_memory *next = memory->next;
    free(memory);
    memory = next;
  }
}

// Frees the case's memory. If a wait timed out, the device may still use the memory, so it is kept.
static void let_go(check_run *run) {
  if (run->has_failed && tsr_device_synchronize(run->device) != TSR_OK) {
    check_memory **last = &run->kept;
    while (*last) last = &(*last)->next;
    *last = run->memory;
  } else {
    free_memory(run->memory);
  }
  run->memory = NULL;
}

void check_end_case(check_run *run) {
  int gap = find_gap(run);
  count_case(run, run->tally, gap);
  count_case(run, &run->total, gap);
  if (gap >= 0) (run->has_failed ? run->gap_failed : run->gap_passed)[gap]++;
  if (run->has_failed && gap < 0) keep_failure(run);
  tsr_scope_end(run->scope);
  let_go(run);
}

void check_drop_case(check_run *run) {
  tsr_scope_end(run->scope);
  // check_run_again_end frees a repeated case, because its caller still reads what the case stored.
  if (!run->repeated) let_go(run);
}

// Only the first failure of a case is reported.
void check_mark_failed(check_run *run, const char *format, ...) {
  if (run->has_failed) return;
  run->has_failed = true;
  va_list values;
  va_start(values, format);
  vsnprintf(run->message, sizeof run->message, format, values);
  va_end(values);
}

void check_mark_error(check_run *run, tsr_status status) {
  check_mark_failed(run, "%s: %s", tsr_status_name(status), tsr_last_error());
  run->status = status;
}

// Ends a case that has failed before there was a result to compare.
static void give_up_case(check_run *run) {
  if (run->grad) check_grad_end(run);
  if (run->repeated) check_drop_case(run);
  else check_end_case(run);
}

void check_call_failed(check_run *run, tsr_status status) {
  check_mark_error(run, status);
  give_up_case(run);
}

void check_fail(check_run *run, const char *format, ...) {
  char text[sizeof run->message];
  va_list values;
  va_start(values, format);
  vsnprintf(text, sizeof text, format, values);
  va_end(values);
  check_mark_failed(run, "%s", text);
  give_up_case(run);
}

void check_refused(check_run *run, tsr_tensor *result, tsr_status status) {
  if (run->grad) {  // there is nothing to take the gradient of
    check_grad_end(run);
    check_drop_case(run);
    return;
  }
  tsr_status is = tsr_error(result);
  if (is != status) check_mark_failed(run, "%s, but %s is wanted", tsr_status_name(is), tsr_status_name(status));
  check_end_case(run);
}

// --- Comparing --------------------------------------------------------------------------------------------------------

typedef struct comparison {
  check_run *run;
  const check_expected *wanted;
  check_bound_id bound;
  double allowed;   // from the table of bounds
  double roundoff;  // of the dtype of the computation
  int64_t wrong;    // number of wrong elements
  int64_t first;    // index of the first of them
  double first_error;
  check_value first_got;
} comparison;

// The error in ULP: 0 if equal; infinity if the bound is 0, if `wanted` is infinite, or if `got` is infinite with the other sign.
static double ulp_error(const comparison *c, double got, double wanted) {
  tsr_dtype dtype = c->wanted->dtype;
  if (isinf(wanted)) return got == wanted ? 0 : INFINITY;
  if (c->allowed == 0) return got == check_round(dtype, wanted) ? 0 : INFINITY;
  double ulp = check_ulp(dtype, wanted), most = check_max(dtype);
  if (isinf(got)) {  // infinity counts as the number after the largest one
    double beyond = (most - fabs(wanted)) / ulp + 1;
    return signbit(got) == signbit(wanted) ? fmax(beyond, 0) : INFINITY;
  }
  double limit = most + ulp / 2;  // larger values count as infinity
  return fabs(got - (fabs(wanted) > limit ? copysign(most + ulp, wanted) : wanted)) / ulp;
}

static double magnitude_error(const comparison *c, double got, double wanted, double magnitude) {
  tsr_dtype dtype = c->wanted->dtype;
  if (isinf(wanted)) return got == wanted ? 0 : INFINITY;
  double unit = c->roundoff * magnitude, half = 0.5 * check_ulp(dtype, wanted);
  if (isinf(got)) {  // correct if the largest permitted error reaches beyond the dtype's range
    bool may_overflow = fabs(wanted) + c->allowed * unit + half >= check_max(dtype) && signbit(got) == signbit(wanted);
    return may_overflow ? 0 : INFINITY;
  }
  double excess = fabs(got - wanted) - half;
  return excess <= 0 ? 0 : unit > 0 ? excess / unit : INFINITY;
}

// Whether the result may differ because the device flushes subnormal numbers to 0. It may flush before it rounds: then an inexact result that would be rounded
// up to the least normal number becomes 0 as well.
static bool may_flush(const comparison *c, double got, double wanted) {
  double least = check_min_normal(c->wanted->dtype == TSR_F64 ? TSR_F64 : TSR_F32);
  bool is_subnormal = fabs(wanted) < least || (fabs(wanted) == least && c->allowed > 0.5);
  return !check_keeps_subnormals(c->run) && is_subnormal && fabs(got) <= least;
}

static double real_error(const comparison *c, double got, double wanted, int64_t at) {
  bool is_beyond = !check_has_infinity(c->wanted->dtype) && isnan(got) && !isnan(wanted);
  if (is_beyond) got = copysign(INFINITY, wanted);  // a dtype without infinity has NaN in its place
  if (isnan(wanted) || isnan(got)) return isnan(wanted) && isnan(got) ? 0 : INFINITY;
  if (c->bound == CHECK_BITS && got == 0 && wanted == 0) return signbit(got) == signbit(wanted) ? 0 : INFINITY;
  if (may_flush(c, got, wanted)) return 0;
  if (got == 0 && c->wanted->may_vanish && c->wanted->may_vanish[at] && !check_keeps_subnormals(c->run)) return 0;
  if (c->wanted->magnitudes) return magnitude_error(c, got, wanted, c->wanted->magnitudes[at]);
  return ulp_error(c, got, wanted);
}

// The error as a share of the bound. Half an ULP counts as nothing, since a correctly rounded result may have that error.
static double used_share(const comparison *c, double error) {
  bool is_in_ulp = !c->wanted->magnitudes && c->allowed > 0.5;
  if (is_in_ulp && error > 0.5) return (error - 0.5) / (c->allowed - 0.5);
  return (is_in_ulp || c->allowed == 0.5 ? 0.001 : 1) * error / c->allowed;
}

static void keep_worst(check_run *run, check_worst found) {
  check_worst *worst = &run->tally->worst;
  if (found.share <= worst->share) return;
  *worst = found;
  memcpy(worst->at, run->id, sizeof worst->at);
}

static void note_worst(comparison *c, double error) {
  if (error == 0 || !isfinite(error)) return;
  keep_worst(c->run, (check_worst){.share = used_share(c, error), .error = error, .bound = c->allowed, .id = c->bound});
}

void check_note_worst(check_run *run, check_bound_id id, double error, double allowed) {
  keep_worst(run, (check_worst){.share = error / allowed, .error = error, .bound = allowed, .id = id});
}

static void compare_element(comparison *c, check_value got, int64_t at) {
  check_value wanted = c->wanted->values[at];
  double error = check_is_float(c->wanted->dtype) ? real_error(c, got.real, wanted.real, at)
                                                  : (got.whole == wanted.whole ? 0 : INFINITY);
  if (error <= c->allowed + 1e-6 * (c->allowed > 0)) {  // the tolerance allows for the rounding of the reference itself
    note_worst(c, error);
    return;
  }
  if (c->wrong++ > 0) return;
  c->first = at;
  c->first_error = error;
  c->first_got = got;
}

static void format_value(tsr_dtype dtype, check_value value, char *text, size_t bytes) {
  if (check_is_float(dtype)) snprintf(text, bytes, "%.17g", value.real);
  else snprintf(text, bytes, "%" PRId64, value.whole);
}

static void describe_wrong(comparison *c) {
  const check_expected *wanted = c->wanted;
  char where[128] = "[", got[40], want[40], size[96];
  int64_t index[TSR_MAX_RANK];
  size_t used = 1;
  check_unravel(wanted->shape, c->first, index);
  for (int i = 0; i < wanted->shape.rank; i++) {
    used += (size_t)snprintf(where + used, sizeof where - used, "%s%" PRId64, i ? ", " : "", index[i]);
  }
  format_value(wanted->dtype, c->first_got, got, sizeof got);
  format_value(wanted->dtype, wanted->values[c->first], want, sizeof want);
  snprintf(size, sizeof size, "; the error is %.4g %s, %.4g are allowed", c->first_error, check_bounds[c->bound].unit,
           c->allowed);
  check_mark_failed(c->run, "%" PRId64 " of %" PRId64 " elements are wrong; at %s] %s came out, %s is right%s",
                    c->wrong, wanted->count, where, got, want, isfinite(c->first_error) ? size : "");
}

static bool check_facts(check_run *run, const tsr_tensor *result, const check_expected *wanted) {
  char is[TSR_SHAPE_TEXT_BYTES], should[TSR_SHAPE_TEXT_BYTES];
  if (tsr_error(result) != TSR_OK) {
    check_mark_error(run, tsr_error(result));
  } else if (tsr_tensor_dtype(result) != wanted->dtype) {
    check_mark_failed(run, "the result is %s, not %s", tsr_dtype_name(tsr_tensor_dtype(result)),
                      tsr_dtype_name(wanted->dtype));
  } else if (!check_same_shape(tsr_tensor_shape(result), wanted->shape)) {
    check_mark_failed(run, "the result is %s, not %s", tsr_shape_format(tsr_tensor_shape(result), is, sizeof is),
                      tsr_shape_format(wanted->shape, should, sizeof should));
  }
  return !run->has_failed;
}

// f16, bf16 and f8 are computed in f32, if anything is computed.
static double working_roundoff(tsr_dtype dtype) { return check_roundoff(dtype == TSR_F64 ? TSR_F64 : TSR_F32); }

static void compare_result(check_run *run, tsr_tensor *result, const check_expected *wanted) {
  if (!check_facts(run, result, wanted)) return;
  size_t bytes = tsr_dtype_bytes(wanted->dtype), count = (size_t)wanted->count;
  unsigned char *data = check_alloc(run, count, bytes);
  if (tsr_read(result, data, count * bytes) != TSR_OK) {
    check_mark_error(run, tsr_last_error_status());
    return;
  }
  bool is_float = check_is_float(wanted->dtype);
  check_bound_id bound = is_float ? run->op->bound : CHECK_EXACT;
  comparison c = {.run = run, .wanted = wanted, .bound = bound, .roundoff = working_roundoff(wanted->dtype)};
  c.allowed = is_float ? check_allowed(bound, wanted->dtype, run->backend, wanted->terms) : 0;
  for (int64_t i = 0; i < wanted->count; i++)
    compare_element(&c, check_decode(wanted->dtype, data + (size_t)i * bytes), i);
  if (c.wrong) describe_wrong(&c);
}

// --- Nothing runs while recording ---------------------------------------------------------------------------------------

static check_activity activity_of(tsr_device *device) {
  tsr_device_counters counters = {0};
  tsr_memory_stats memory = {0};
  tsr_device_get_counters(device, &counters);
  tsr_memory_get_stats(device, &memory);
  return (check_activity){.launches = counters.launches,
                          .transfers = counters.uploads + counters.downloads + counters.fallbacks,
                          .allocations = memory.allocations};
}

void check_idle_begin(check_run *run) {
  run->idle = activity_of(run->device);
  run->is_idle = !run->is_eager;
}

void check_waits(check_run *run) { run->is_idle = false; }

static void check_idle_end(check_run *run) {
  if (!run->is_idle) return;
  run->is_idle = false;
  check_activity now = activity_of(run->device);
  if (now.launches == run->idle.launches && now.transfers == run->idle.transfers &&
      now.allocations == run->idle.allocations) {
    return;
  }
  check_mark_failed(
      run, "recording it ran %" PRIu64 " launches and %" PRIu64 " copies, and took memory %" PRIu64 " times",
      now.launches - run->idle.launches, now.transfers - run->idle.transfers, now.allocations - run->idle.allocations);
}

static bool runs_when_recorded(tsr_device *device) {
  tsr_tensor *x = tsr_zeros(device, TSR_F32, TSR_SHAPE(1));
  uint64_t before = activity_of(device).launches;
  tsr_release(tsr_neg(x));
  tsr_release(x);
  return activity_of(device).launches != before;
}

void check_part_result(check_run *run, tsr_tensor *result, const check_expected *wanted) {
  if (run->grad) {
    check_grad_add(run, result, wanted->terms);
    return;
  }
  check_idle_end(run);
  compare_result(run, result, wanted);
}

void check_result(check_run *run, tsr_tensor *result, const check_expected *wanted) {
  check_part_result(run, result, wanted);
  if (run->grad) check_grad_finish(run);
  else check_end_case(run);
}

// --- The run ----------------------------------------------------------------------------------------------------------

static bool init(check_run *run) {
  run->tallies = calloc((size_t)check_op_count(), sizeof *run->tallies);
  run->gap_failed = calloc((size_t)check_gap_count + 1, sizeof *run->gap_failed);
  run->gap_passed = calloc((size_t)check_gap_count + 1, sizeof *run->gap_passed);
  run->last_failure = &run->failures;
  run->is_eager = runs_when_recorded(run->device);
  run->begin_ns = run->shown_ns = bench_now_ns();
  return run->tallies && run->gap_failed && run->gap_passed;
}

// Kernels belong to their device. Opening a new device now and then keeps thousands of them from filling the memory.
static void refresh_device(check_run *run) {
  enum { CASES = 4000 };
  if (run->total.cases - run->fresh_at < CASES) return;
  tsr_device *device = NULL;
  device_open_exactly(run->backend, run->index, &device);
  if (!device) return;  // keep the old one
  tsr_device_release(run->device);
  run->device = device;
  run->fresh_at = run->total.cases;
}

static void offer_cases(check_run *run, const check_op *op) {
  run->offered = 0;
  for (int d = 0; d < TSR_DTYPE_COUNT; d++) {
    bool is_chosen = run->options->dtype == TSR_DTYPE_COUNT || run->options->dtype == (tsr_dtype)d;
    if (!is_chosen || (run->options->is_grad && !check_grad_concerns(op, (tsr_dtype)d))) continue;
    run->dtype = (tsr_dtype)d;
    op->run(run, op, run->dtype);
  }
}

static void run_op(check_run *run, const check_op *op, check_tally *tally) {
  refresh_device(run);
  run->op = op;
  run->tally = tally;
  run->is_counting = run->options->sample > 1;
  if (run->is_counting) {
    offer_cases(run, op);
    run->picked = run->offered ? (scramble(run->options->seed) ^ hash_text(op->name)) % run->offered : 0;
    run->is_counting = false;
  }
  offer_cases(run, op);
}

check_run check_run_again(const check_run *run, check_grad *grad) {
  check_run again = *run;
  again.grad = grad;
  again.repeated = run->id;
  again.memory = NULL;
  again.has_failed = false;
  return again;
}

void check_run_again_end(check_run *again) {
  free_memory(again->memory);
  again->memory = NULL;
}

bool check_run_all(check_run *run) {
  check_grad grad = {0};
  if (!init(run)) return false;
  if (run->options->is_grad) run->grad = &grad;
  for (int i = 0; i < check_op_count(); i++) run->op_count += check_means(run->options->pattern, check_op_at(i));
  for (int i = 0; i < check_op_count() && !interrupt_is_noted(); i++) {
    if (!check_means(run->options->pattern, check_op_at(i))) continue;
    run->op_number++;
    run_op(run, check_op_at(i), &run->tallies[i]);
  }
  progress_end();
  run->is_interrupted = interrupt_is_noted();
  run->grad = NULL;
  return true;
}

void check_run_deinit(check_run *run) {
  while (run->failures) {
    check_failure *failure = run->failures;
    run->failures = failure->next;
    free(failure);
  }
  free_memory(run->kept);
  free(run->tallies);
  free(run->gap_failed);
  free(run->gap_passed);
}

// Only a complete run can tell, since some of a gap's cases may pass.
bool check_gap_is_stale(const check_run *run, int gap) {
  const check_options *options = run->options;
  bool is_whole = !run->is_interrupted && !options->pattern && options->dtype == TSR_DTYPE_COUNT &&
                  options->sample == 1 && options->parts == 1;
  return is_whole && run->gap_passed[gap] > 0 && run->gap_failed[gap] == 0;
}

bool check_has_passed(const check_run *run) {
  for (int i = 0; i < check_gap_count; i++) {
    if (check_gap_is_stale(run, i)) return false;
  }
  return run->total.failed == 0 && !run->is_interrupted;
}
