// SPDX-License-Identifier: MIT
// In place of steps.c: the browser module has no launch cache of single nodes (graph/single_wasm.c), so nothing is recorded.
#include "runtime/steps.h"

void tsri_steps_begin(tsri_steps *steps) { (void)steps; }

void tsri_steps_end(void) {}

void tsri_steps_add_op(const tsri_native_op *op) { (void)op; }

void tsri_steps_add_launch(const tsri_built *built, const uint32_t groups[3], const tsri_argument *arguments,
                           const void *params, uint32_t whole_count, bool is_generated) {
  (void)built, (void)groups, (void)arguments, (void)params, (void)whole_count, (void)is_generated;
}

void tsri_steps_add_temporary(const tsr_buffer *buffer) { (void)buffer; }

void tsri_steps_decline(void) {}
