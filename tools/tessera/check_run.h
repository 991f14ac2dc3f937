// SPDX-License-Identifier: MIT
// A run of `tessera check` on one device: its options and results.
#ifndef TESSERA_TOOL_CHECK_RUN_H
#define TESSERA_TOOL_CHECK_RUN_H

#include "check.h"

#define CHECK_ID_BYTES 160

typedef struct check_options {
  uint64_t seed;
  check_level level;
  const char *pattern;  // matches operators, or cases as "operator/dtype/case"; NULL: all
  tsr_dtype dtype;      // TSR_DTYPE_COUNT: all
  uint64_t sample;      // one case in this many, and at least one per operator; 1: all
  uint64_t part,
      parts;      // runs every parts-th one of the selected cases, beginning with number `part` (from 1); 1 of 1: all
  bool is_quiet;  // failures are not printed immediately
  bool is_grad;   // gradients are compared in place of results (check_grad.h)
} check_options;

// The largest error, as a share of the bound.
typedef struct check_worst {
  double share, error, bound;
  check_bound_id id;
  char at[CHECK_ID_BYTES];
} check_worst;

typedef struct check_tally {
  int64_t cases, passed, failed, gaps;
  check_worst worst;
} check_tally;

typedef struct check_failure {
  char id[CHECK_ID_BYTES];
  char inputs[256];
  char message[512];
  struct check_failure *next;
} check_failure;

typedef struct check_memory check_memory;
typedef struct check_grad check_grad;

// Counts of what a device has done, which recording an operator must not increase.
typedef struct check_activity {
  uint64_t launches, transfers, allocations;
} check_activity;

struct check_run {
  const check_options *options;
  tsr_device *device;
  const char *backend;
  int index;
  int64_t fresh_at;  // number of cases when the device was opened
  bool is_eager;     // the device runs each operator when it is recorded

  const check_op *op;
  int op_number, op_count;  // the position of `op` among the operators that --op selects, from 1 on, and their number
  tsr_dtype dtype;
  check_tally *tally;  // of the current operator

  // Selecting cases of the operator.
  bool is_counting;          // only counts: no case runs
  uint64_t offered, picked;  // cases seen so far; the case that a sample must include
  uint64_t taken;            // cases of all operators, before dividing into parts

  // The current case.
  char id[CHECK_ID_BYTES];
  char inputs[256], message[512];
  bool has_failed;
  tsr_status status;  // of an operator or read that failed
  uint64_t random;
  check_activity idle;  // the device's counts after the last input was created; recording must not increase them
  bool is_idle;         // only recording has been allowed since then
  tsr_scope *scope;
  check_memory *memory;
  check_grad *grad;       // with --grad: the case's gradients
  const char *repeated;   // id of the only case to run, in a run that does not count (check_run_again); NULL: all
  uint64_t first_number;  // of the case's random sequence
  double probed[2];       // the weighted sum and its slope, stored by a repeated case (check_grad.c)
  check_memory *kept;     // memory of earlier cases whose waits timed out: the device may still use it

  // The results.
  check_tally *tallies;  // per operator, in the order of the list
  check_tally total;
  check_failure *failures, **last_failure;
  int64_t *gap_failed, *gap_passed;  // per gap
  bool is_interrupted;               // the user ended it before all cases had run

  double begin_ns, shown_ns;  // when the run began, and when check_progress last printed
};

// Runs the cases of all operators. False: memory is out.
bool check_run_all(check_run *run);
void check_run_deinit(check_run *run);  // call it after releasing the device

// Whether the gap applies to the run's device.
bool check_gap_applies(const check_run *run, int gap);
// Whether all cases of the gap passed.
bool check_gap_is_stale(const check_run *run, int gap);

bool check_has_passed(const check_run *run);

// --- For check_grad.c ---

// Makes a run that repeats the current case without counting it. The caller runs the operator's cases with it, then calls check_run_again_end.
check_run check_run_again(const check_run *run, check_grad *grad);
void check_run_again_end(check_run *again);

// Marks the case as failed; only the first failure is reported.
void check_mark_failed(check_run *run, const char *format, ...) TEXT_FORMAT(2, 3);
void check_mark_error(check_run *run, tsr_status status);

// Remembers an error that is within the bound, if none used more of its bound.
void check_note_worst(check_run *run, check_bound_id id, double error, double allowed);

// check_end_case ends the case and counts it; check_drop_case ends it without counting it.
void check_end_case(check_run *run);
void check_drop_case(check_run *run);

int check_op_count(void);
const check_op *check_op_at(int i);

// Whether --op selects this operator, or some of its cases.
bool check_means(const char *pattern, const check_op *op);

#endif
