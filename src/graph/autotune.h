// SPDX-License-Identifier: MIT
// Tuning: the first launch of each kind of work times several ways to do it (other values of tuning.def, native operators or kernels, numbers of threads) with
// the operands of that launch. The fastest way is stored for this process and on disk (backends/common/choices.h).
//
// A kind of work consists of a fusion's operators, dtypes and layouts, with sizes rounded up to powers of two. The result of the fastest way is compared with
// that of the usual way; a way that fails or gives another result is stored as bad and not tried again.
#ifndef TSRI_AUTOTUNE_H
#define TSRI_AUTOTUNE_H

#include "graph/plan.h"

typedef struct tsri_autotune tsri_autotune;

// Reads the choices that are stored for the device. NULL: tuning is off and no choices are stored, or host memory is out.
tsri_autotune *tsri_autotune_create(const tsr_device *device);
void tsri_autotune_destroy(tsri_autotune *tuner);  // takes NULL

// The choices that are stored for the device. Any thread.
struct tsri_choices *tsri_autotune_choices(const tsri_autotune *tuner);

// As tsri_launch_fusion, in the fastest known way. If tuning is on and the kind of work is new, first finds that way. Call with the graph's lock held. `tuner`
// may be NULL.
tsr_status tsri_autotune_launch(tsri_autotune *tuner, tsri_graph_state *state, const tsri_plan *plan,
                                const tsri_fusion *fusion, tsr_buffer *const *outputs);

// Number of launches so far that did not use the usual way, or whose kind of work is still being timed and may use another way next time. `tuner` may be NULL.
uint64_t tsri_autotune_unusual(const tsri_autotune *tuner);

// Whether kinds of work for which no choice is stored yet may be timed. `tuner` may be NULL.
bool tsri_autotune_is_on(const tsri_autotune *tuner);

// A hash of the fusion's operators, dtypes and layouts: fusions with equal hashes are of the same kind of work. Computing the hash takes a tenth of the time of
// writing the name (tsri_autotune_work).
uint64_t tsri_autotune_hash(const tsri_plan *plan, const tsri_fusion *fusion);

// Writes the name of the fusion's kind of work.
void tsri_autotune_work(const tsri_plan *plan, const tsri_fusion *fusion, char *out, size_t bytes);

// Whether `count` elements of two results agree. Integers and bool must be equal; floats may differ by as much as adding in another order changes them; NaN
// agrees with NaN.
bool tsri_results_agree(tsr_dtype dtype, const void *a, const void *b, size_t count);

#endif
