// SPDX-License-Identifier: MIT
// Records the steps in which an operator runs: native operators, launches of kernels, and the temporary buffers between them.
//
// The launch cache of single nodes (graph/single.h) repeats these steps for other buffers. Other work, such as fills and uploads, is not recorded here but
// still counts in the device's counters; from that the cache sees that the steps are incomplete, and does not store them.
#ifndef TSRI_RUNTIME_STEPS_H
#define TSRI_RUNTIME_STEPS_H

#include "runtime/program.h"

enum { TSRI_STEPS = 8, TSRI_STEP_BUFFERS = 8, TSRI_STEP_WORDS = 32, TSRI_STEP_TEMPORARIES = 8 };

// The launch of a kernel.
typedef struct tsri_step_launch {
  uint32_t groups[3];
  uint32_t whole_count;  // so many of the first arguments bind whole buffers, whatever their sizes
  tsri_argument arguments[TSRI_STEP_BUFFERS];
  uint64_t params[TSRI_STEP_WORDS];
} tsri_step_launch;

typedef struct tsri_step {
  const tsri_built *built;  // NULL: a native operator
  int temporary_count;      // temporary buffers that had been created before this step
  union {
    tsri_native_op op;
    tsri_step_launch launch;
  } is;
} tsri_step;

// Identifies a temporary buffer. `record` must not be dereferenced: the buffer may have been released since, and its record and memory reused.
typedef struct tsri_step_buffer {
  const tsr_buffer *record;
  const tsri_buffer *handle;
  size_t offset, bytes;
} tsri_step_buffer;

typedef struct tsri_steps {
  int count, temporary_count;  // may exceed the sizes of the arrays, in which later ones are missing
  bool is_too_large;           // a launch has more buffers or parameters than a step
  bool was_declined;           // the backend has declined a native operator of a kind that it offers
  bool is_provisional;         // kernels ran in place of such an operator, which the backend may take later
  tsri_step steps[TSRI_STEPS];
  tsri_step_buffer temporaries[TSRI_STEP_TEMPORARIES];
} tsri_steps;

// Notes in `steps` what the calling thread queues until tsri_steps_end.
void tsri_steps_begin(tsri_steps *steps);
void tsri_steps_end(void);

// Called where steps are queued. They do nothing unless the calling thread notes its steps. `is_generated`: a kernel that was generated for element-wise
// operators and reductions; false: an operator's own kernel, or a strided copy.
void tsri_steps_add_op(const tsri_native_op *op);
void tsri_steps_add_launch(const tsri_built *built, const uint32_t groups[3], const tsri_argument *arguments,
                           const void *params, uint32_t whole_count, bool is_generated);
void tsri_steps_add_temporary(const tsr_buffer *buffer);

// Called where the backend declines a native operator of a kind that it offers. A library may need a plan that is made only once a shape has come back often
// enough, so kernels that run in its place are not stored: the backend must be asked again.
void tsri_steps_decline(void);

#endif
