// SPDX-License-Identifier: MIT
// A run of `tessera check` on one device: what was asked for, what came out.
#ifndef TESSERA_TOOL_CHECK_RUN_H
#define TESSERA_TOOL_CHECK_RUN_H

#include "check.h"

#define CHECK_ID_BYTES 160

typedef struct check_options {
  uint64_t seed;
  check_level level;
  const char *pattern;  // of an operator, or of "operator/dtype/case"; NULL: all
  tsr_dtype dtype;      // TSR_DTYPE_COUNT: all
  bool shows_progress;
  uint64_t sample;       // one case in so many, and one of each operator; 1: all
  uint64_t part, parts;  // of what is left, every parts-th case from the part-th; 1 of 1: all
  bool is_quiet;         // failures are not printed as they come
} check_options;

// The largest error, as a share of what is allowed.
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

// What a device has done so far that recording an operator must not do.
typedef struct check_activity {
  uint64_t launches, transfers, allocations;
} check_activity;

struct check_run {
  const check_options *options;
  tsr_device *device;
  const char *backend;
  int index;
  int64_t fresh_at;  // cases when the device was opened
  bool is_eager;     // it runs each operator when it is recorded

  const check_op *op;
  tsr_dtype dtype;
  check_tally *tally;  // the operator's

  // Choosing cases of the operator.
  bool is_counting;          // no case runs
  uint64_t offered, picked;  // so many came by; the one that a sample has to have
  uint64_t taken;            // of all operators, before parts are made

  // The case.
  char id[CHECK_ID_BYTES];
  char inputs[256], message[512];
  bool has_failed;
  tsr_status status;  // of an operator or read that failed
  uint64_t random;
  check_activity idle;  // the device's when the last input was there: recording must not add to it
  bool is_idle;         // nothing but recording may have happened since
  tsr_scope *scope;
  check_memory *memory;
  check_memory *kept;  // of earlier cases whose waits ran out of time: the device may still use it

  // What came out.
  check_tally *tallies;  // by operator, in the order of the list
  check_tally total;
  check_failure *failures, **last_failure;
  int64_t *gap_failed, *gap_passed;  // by gap
  double last_progress;
};

// Goes through all operators. False: memory is out.
bool check_run_all(check_run *run);
void check_run_deinit(check_run *run);  // after its device was released

// Whether the gap is one of the run's device.
bool check_gap_applies(const check_run *run, int gap);
// Gaps whose cases all pass.
bool check_gap_is_stale(const check_run *run, int gap);

bool check_has_passed(const check_run *run);

int check_op_count(void);
const check_op *check_op_at(int i);

// Whether --op means this operator, or some of its cases.
bool check_means(const char *pattern, const check_op *op);

#endif
