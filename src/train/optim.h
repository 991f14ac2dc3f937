// SPDX-License-Identifier: MIT
// The record of an optimiser, and its table of settings.
//
// The kernel (kernels/op_optim.tk) reads all settings from device memory, so that a captured step follows tsr_optim_set_rate.
#ifndef TSRI_TRAIN_OPTIM_H
#define TSRI_TRAIN_OPTIM_H

#include "train/params.h"

#include <tessera/optim.h>

// Entries of the table, as in the kernel.
typedef enum tsri_optim_entry {
  TSRI_OPTIM_RATE,
  TSRI_OPTIM_BETA1,
  TSRI_OPTIM_REST1,  // 1 - beta1, rounded once
  TSRI_OPTIM_LOG1,   // log(beta1)
  TSRI_OPTIM_BETA2,
  TSRI_OPTIM_REST2,
  TSRI_OPTIM_LOG2,
  TSRI_OPTIM_EPS,
  TSRI_OPTIM_MOMENTUM,
  TSRI_OPTIM_NESTEROV,
  TSRI_OPTIM_SCHEDULE,
  TSRI_OPTIM_WARMUP,
  TSRI_OPTIM_PERIOD,
  TSRI_OPTIM_GAMMA,  // or the least factor of a cosine or a line
  TSRI_OPTIM_CLIP_VALUE,
  TSRI_OPTIM_CLIP_NORM,
  TSRI_OPTIM_GROWTH,
  TSRI_OPTIM_BACKOFF,
  TSRI_OPTIM_INTERVAL,
  TSRI_OPTIM_GROUPS  // weight decay and rate factor of each group follow
} tsri_optim_entry;

enum { TSRI_OPTIM_M, TSRI_OPTIM_V, TSRI_OPTIM_MASTER, TSRI_OPTIM_STATES };

struct tsr_optim {
  tsri_object object;
  tsr_params *params;  // one reference
  tsr_optim_kind kind;
  bool clips_norm, scales;
  tsr_dtype accumulator;                  // of its state: f32, or f64 for f64
  tsr_params *states[TSRI_OPTIM_STATES];  // NULL: this kind of optimiser has no such state
  tsr_buffer *spares[TSRI_OPTIM_STATES];  // bound to the kernel in place of a state that is not there
  tsr_buffer *table;                      // u32
  // u32. For each work-group of the update: a step number, a loss scale (bits of an f32) and a number of steps without infinity or NaN. After that, partial
  // sums. All work-groups have the same numbers; the host reads those of the first one.
  tsr_buffer *work;
  tsr_tensor *scale;                     // the part of `work` with the first loss scale; NULL: losses are not scaled
  int rounds;                            // rounds of each work item of the update (optim_rounds of tuning.def)
  int64_t group_count;                   // work-groups
  int64_t marks_at;                      // index in `table`
  int64_t scales_at, good_at, parts_at;  // indices in `work`
};

// The most partial sums of a norm.
enum { TSRI_OPTIM_PARTS = 1024 };

// The settings of an optimiser in the form of its table, but independent of the layout of the parameters in memory.
typedef struct tsri_optim_form {
  tsr_optim_kind kind;
  bool clips_norm, scales;
  float first_scale;                 // of the loss
  float numbers[TSRI_OPTIM_GROUPS];  // by tsri_optim_entry
  int group_count;
  float *groups;       // weight decay and rate factor of each group
  uint32_t *group_of;  // the group of each tensor of the set
} tsri_optim_form;
void tsri_optim_form_deinit(tsri_optim_form *form);

// Replaces zeros by the usual values of the kind, checks all numbers, and makes a form of them.
tsr_status tsri_optim_settle(const tsr_params *params, const tsr_optim_desc *given, tsri_optim_form *out_form);

// Makes the table and sets `table` and `marks_at`.
tsr_status tsri_optim_make_table(tsr_optim *optim, const tsri_optim_form *form);

// Creates an optimiser of this form, whose numbers and groups are checked.
tsr_status tsri_optim_create(tsr_params *params, const tsri_optim_form *form, tsr_optim **out_optim);

tsr_status tsri_optim_check(const char *caller, const tsr_optim *optim);

// Sets the number that each work-group has in `work`: the elements from index `at` on, one for each work-group, become `word`.
tsr_status tsri_optim_fill_work(const tsr_optim *optim, int64_t at, uint32_t word);

// The tensors that a step reads and writes, in order: values and gradients of the set, then each state that the optimiser keeps, each with all tensors of
// the set; last the loss scale, if there is one. Returns their number; `out_tensors`, with room for tsri_optim_most_tensors, are borrowed.
int tsri_optim_tensors(const tsr_optim *optim, tsr_tensor **out_tensors);
static inline size_t tsri_optim_most_tensors(const tsr_optim *optim) {
  return (size_t)(2 + TSRI_OPTIM_STATES) * (size_t)optim->params->count + 1;
}

// Adds a step of the optimiser to the trace of the calling thread's capture, so that the capture can be saved.
void tsri_optim_trace(tsr_optim *optim);

#endif
