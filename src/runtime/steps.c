// SPDX-License-Identifier: MIT
#include "runtime/steps.h"

#include <string.h>

static _Thread_local tsri_steps *noting;  // NULL: steps are not noted

void tsri_steps_begin(tsri_steps *steps) {
  steps->count = steps->temporary_count = 0;
  steps->is_too_large = steps->was_declined = steps->is_provisional = false;
  noting = steps;
}

void tsri_steps_end(void) { noting = NULL; }

// The record of the next step; NULL if there are too many.
static tsri_step *next_step(const tsri_built *built) {
  if (noting->count++ >= TSRI_STEPS) return NULL;
  tsri_step *step = &noting->steps[noting->count - 1];
  step->built = built;
  step->temporary_count = noting->temporary_count;
  return step;
}

void tsri_steps_add_op(const tsri_native_op *op) {
  tsri_step *step = noting ? next_step(NULL) : NULL;
  if (step) step->is.op = *op;
}

void tsri_steps_add_launch(const tsri_built *built, const uint32_t groups[3], const tsri_argument *arguments,
                           const void *params, uint32_t whole_count, bool is_generated) {
  tsri_step *step = noting ? next_step(built) : NULL;
  if (noting && !is_generated && noting->was_declined) noting->is_provisional = true;
  if (!step) return;
  const tsri_kernel *kernel = built->kernel;
  tsri_step_launch *launch = &step->is.launch;
  if (kernel->buffer_count > TSRI_STEP_BUFFERS || kernel->params_bytes > sizeof launch->params) {
    noting->is_too_large = true;
    return;
  }
  launch->whole_count = whole_count;
  memcpy(launch->groups, groups, sizeof launch->groups);
  memcpy(launch->arguments, arguments, kernel->buffer_count * sizeof *arguments);
  memcpy(launch->params, params, kernel->params_bytes);
}

void tsri_steps_add_temporary(const tsr_buffer *buffer) {
  if (!noting || noting->temporary_count++ >= TSRI_STEP_TEMPORARIES) return;
  noting->temporaries[noting->temporary_count - 1] =
      (tsri_step_buffer){buffer, buffer->handle, buffer->offset, buffer->bytes};
}

void tsri_steps_decline(void) {
  if (noting) noting->was_declined = true;
}
