// SPDX-License-Identifier: MIT
// What a run of `tessera check` says on standard error while it runs.
#include "check_progress.h"

#include <inttypes.h>
#include <stdio.h>

#include "bench_time.h"
#include "progress.h"

#define TERMINAL_NS 1e8
#define LOG_NS      5e9

void check_progress_show(check_run *run) {
  bool is_terminal = progress_has_terminal();
  double now = bench_now_ns();
  if (now - run->shown_ns < (is_terminal ? TERMINAL_NS : LOG_NS)) return;
  run->shown_ns = now;
  char text[256];
  snprintf(text, sizeof text, "%s:%d: %" PRId64 " cases, %" PRId64 " failed, operator %d of %d: %s", run->backend,
           run->index, run->total.cases, run->total.failed, run->op_number, run->op_count, run->id);
  if (is_terminal) progress_show("%s", text);
  else fprintf(stderr, "%s, %.0f s\n", text, (now - run->begin_ns) * 1e-9);
}
