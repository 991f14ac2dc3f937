// SPDX-License-Identifier: MIT
// Tuning: the first launch of each kind of work tries other ways to do it (values of tuning.def, native operators and kernels, numbers of threads) with its own
// operands, and keeps the fastest for this process and on disk (backends/common/choices.h).
//
// A kind of work is a fusion's operators, dtypes and layouts, with sizes rounded up to powers of two. The winner's result is compared with that of the usual way; a way that
// fails or gives another result is stored as bad and not tried again.
#ifndef TSRI_AUTOTUNE_H
#define TSRI_AUTOTUNE_H

#include "graph/plan.h"

typedef struct tsri_autotune tsri_autotune;

// Reads what is stored for the device. NULL: nothing is to be tuned and nothing is stored, or host memory is out.
tsri_autotune *tsri_autotune_create(const tsr_device *device);
void tsri_autotune_destroy(tsri_autotune *tuner);  // takes NULL

// The choices that are stored for the device. Any thread.
struct tsri_choices *tsri_autotune_choices(const tsri_autotune *tuner);

// As tsri_launch_fusion, by the fastest way that is known; finds it first where that is asked for. Call with the graph's lock held. `tuner` may be NULL.
tsr_status tsri_autotune_launch(tsri_autotune *tuner, tsri_graph_state *state, const tsri_plan *plan,
                                const tsri_fusion *fusion, tsr_buffer *const *outputs);

// How many launches so far used another way than the usual one, or are still being timed and may use another way next time. `tuner` may be NULL.
uint64_t tsri_autotune_unusual(const tsri_autotune *tuner);

// Whether kinds of work that are not known yet may be timed. `tuner` may be NULL.
bool tsri_autotune_is_on(const tsri_autotune *tuner);

// A hash of the fusion's operators, dtypes and layouts: fusions with equal ones are of the same kind of work. Takes a tenth of the time of the name.
uint64_t tsri_autotune_hash(const tsri_plan *plan, const tsri_fusion *fusion);

// Writes the name of the fusion's kind of work.
void tsri_autotune_work(const tsri_plan *plan, const tsri_fusion *fusion, char *out, size_t bytes);

// Whether `count` elements of two results agree: integers and bool exactly, floats within what another order of sums changes, NaN with NaN.
bool tsri_results_agree(tsr_dtype dtype, const void *a, const void *b, size_t count);

#endif
