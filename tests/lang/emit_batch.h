// SPDX-License-Identifier: MIT
// Compiles many kernels as one program of a test device: starting its compiler costs more than compiling all the
// kernels.
#ifndef TESSERA_EMIT_BATCH_H
#define TESSERA_EMIT_BATCH_H

#include "lang/emit_device.h"

typedef struct emit_batch emit_batch;

// Emits the kernels and builds them as one program. A kernel that needs f64 is left out if `options` say that there is
// none. `options` NULL: the dialect's defaults. If the program does not build, each kernel is built alone, and the
// test fails with the text of the first one that does not build. The kernels are borrowed until emit_batch_release.
emit_batch *emit_batch_build(const emit_device *device, const tsri_emit_options *options, tsri_kernel *const *kernels,
                             uint32_t count);
void emit_batch_release(emit_batch *batch);

uint32_t emit_batch_built(const emit_batch *batch);  // without those left out

// Runs kernel `i`. Only the buffers, params (the kernel's own block) and groups of `launch` are read; the rest is
// filled in. Checked mode: `element_counts` and `report` (TSRI_EMIT_REPORT_WORDS words, zeroed); otherwise NULL.
// False: the kernel was left out.
bool emit_batch_run(const emit_batch *batch, uint32_t i, const emit_launch *launch, const uint64_t *element_counts,
                    uint32_t *report);

#endif
