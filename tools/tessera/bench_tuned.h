// SPDX-License-Identifier: MIT
// `tessera bench --tuned`: times each row with and without tuning, in turns.
#ifndef TESSERA_TOOL_BENCH_TUNED_H
#define TESSERA_TOOL_BENCH_TUNED_H

#include "bench_measure.h"
#include "device_choice.h"

// Times the rows on the device, opened with and without tuning, and prints a table. Returns an exit code: EXIT_NO if a row is slower with tuning.
int bench_tuned_run(const bench_plan *plan, const device_choice *wanted, const bench_row *const *rows, int count,
                    bool as_json);

#endif
