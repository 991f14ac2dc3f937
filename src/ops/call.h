// SPDX-License-Identifier: MIT
// Launches an embedded kernel from an operator. Buffers and scalars are given by their names in the kernel's parameter
// list.
//
//   tsri_call call;
//   tsri_call_init(&call, run->device, "op_index", "gather", TSRI_WITH(TSRI_TYPE("T", TSR_U32), TSRI_CONSTANT("RANK", 2)));
//   tsri_call_buffer(&call, "x", run->inputs[0], TSR_U32);
//   …
//   tsri_call_word(&call, "n", count);
//   tsr_status status = tsri_call_items(&call, count);
//
// The first failure is kept and returned by the launch; calls after it do nothing.
#ifndef TSRI_OPS_CALL_H
#define TSRI_OPS_CALL_H

#include "core/error.h"
#include "graph/arguments.h"
#include "graph/graph.h"
#include "graph/tuning.h"

// Kernels address elements by u32. The range above this limit is left for the work items by which a launch is rounded
// up.
#define TSRI_CALL_MAX_ELEMENTS ((int64_t)0xFF000000)

typedef struct tsri_call {
  tsr_device *device;
  const tsri_kernel_run *hooked;  // the run whose fused operators fill the kernel's hooks; NULL: none
  const tsri_built *built;
  tsri_arguments args;  // also holds the status of the call
} tsri_call;

// `args` are the kernel's compile-time arguments, written with TSRI_WITH (graph/graph.h).
void tsri_call_init(tsri_call *call, tsr_device *device, const char *file, const char *kernel,
                    const tsri_lang_arg *args, size_t arg_count);

// As tsri_call_init, for a kernel with hooks for the element-wise operators before and after it (graph/epilogue.h).
void tsri_call_init_hooked(tsri_call *call, const tsri_kernel_run *run, const char *file, const char *kernel,
                           const tsri_lang_arg *args, size_t arg_count);

// Binds a whole buffer, as elements of `dtype`. NULL, the buffer of an empty tensor, makes the call fail: an operator must return before it calls this for an
// empty tensor.
void tsri_call_buffer(tsri_call *call, const char *name, tsr_buffer *buffer, tsr_dtype dtype);

// Pass scalars: see tsri_arguments_word, tsri_arguments_real and tsri_arguments_words.
void tsri_call_word(tsri_call *call, const char *name, int64_t value);
void tsri_call_real(tsri_call *call, const char *name, double value);
void tsri_call_words(tsri_call *call, const char *stem, int first, const int64_t *values, int count);

// Launches `items` work items, in work-groups of the kernel's size in x, folded into y if there are many; or x * y * z
// work-groups. Launches nothing if a number is 0. Returns the first failure.
tsr_status tsri_call_items(tsri_call *call, int64_t items);

// As tsri_call_items, for a kernel whose items each process ROUNDS elements; ROUNDS is item_rounds of the tuning.
tsr_status tsri_call_rounds(tsri_call *call, int64_t items);
tsr_status tsri_call_groups(tsri_call *call, int64_t x, int64_t y, int64_t z);

// Launches at least `groups` work-groups, folded into x and y. The kernel numbers them group.y * groups.x + group.x and
// must check its bounds. tsri_call_fold only computes x and y.
tsr_status tsri_call_many_groups(tsri_call *call, int64_t groups);
void tsri_call_fold(const tsr_device *device, int64_t groups, int64_t *out_x, int64_t *out_y);

// Checks that kernels can address all elements of a view. Errors: TSR_ERR_UNSUPPORTED, with the numbers.
tsr_status tsri_call_check(const char *caller, const tsri_layout *layout);

// A dtype of the same size for copying elements bit by bit, if the device can store it, so that fewer kernel variants
// are built; else `dtype` itself.
tsr_dtype tsri_call_carrier(const tsr_device *device, tsr_dtype dtype);

// The device's tuning, which decides how kernels are shaped; all values are 0 if there is no memory for the device's graph. An operator may call this before it
// records anything.
const tsri_tuning *tsri_call_tuning(tsr_device *device);

// The parameter SG of kernels that exchange values within subgroups: the size of the subgroups in a work-group of
// `group` items. 0 if such exchanges are slow on the device, or the work-group is not a whole number of subgroups.
int tsri_call_subgroup(const tsr_device *device, int group);

// Allocates a temporary buffer. Release it after the launch has been queued.
tsr_status tsri_call_scratch(tsr_device *device, int64_t count, tsr_dtype dtype, tsr_buffer **out_buffer);

// Fills the run's output with 0.
tsr_status tsri_call_zero(const tsri_kernel_run *run);

#endif
