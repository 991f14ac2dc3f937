// SPDX-License-Identifier: MIT
// Launching an embedded kernel from an operator: buffers and scalars by the names of the kernel's parameter list.
//
//   tsri_call call;
//   tsri_call_init(&call, run->device, "op_index", "gather", TSRI_WITH(TSRI_TYPE("T", TSR_U32), TSRI_CONSTANT("RANK", 2)));
//   tsri_call_buffer(&call, "x", run->inputs[0], TSR_U32);
//   …
//   tsri_call_word(&call, "n", count);
//   tsr_status status = tsri_call_items(&call, count);
//
// The first failure is kept and returned at the end; calls after it do nothing.
#ifndef TSRI_OPS_CALL_H
#define TSRI_OPS_CALL_H

#include "core/error.h"
#include "graph/arguments.h"
#include "graph/graph.h"

// Kernels address elements by u32. The rest up to 2^32 leaves room for the items that a launch is rounded up by.
#define TSRI_CALL_MAX_ELEMENTS ((int64_t)0xFF000000)

typedef struct tsri_call {
  tsr_device *device;
  const tsri_kernel_run *hooked;  // run whose epilogue fills the kernel's hooks; NULL: none
  const tsri_built *built;
  tsri_arguments args;  // with the status of the call
} tsri_call;

// `args`: the kernel's compile-time parameters, given with TSRI_WITH (graph/graph.h).
void tsri_call_init(tsri_call *call, tsr_device *device, const char *file, const char *kernel,
                    const tsri_lang_arg *args, size_t arg_count);

// The same for a kernel whose hooks take what comes before and after the operator (graph/epilogue.h).
void tsri_call_init_hooked(tsri_call *call, const tsri_kernel_run *run, const char *file, const char *kernel,
                           const tsri_lang_arg *args, size_t arg_count);

// A buffer, whole, as elements of `dtype`. NULL, which is what an empty tensor has, fails the call: operators return before.
void tsri_call_buffer(tsri_call *call, const char *name, tsr_buffer *buffer, tsr_dtype dtype);

// Scalars: see tsri_arguments_word, _real and _words.
void tsri_call_word(tsri_call *call, const char *name, int64_t value);
void tsri_call_real(tsri_call *call, const char *name, double value);
void tsri_call_words(tsri_call *call, const char *stem, int first, const int64_t *values, int count);

// Runs one item each for `items` (in groups of the kernel's size in x, folded into y where there are many), or so many
// groups. No items: nothing runs. Returns the first failure.
tsr_status tsri_call_items(tsri_call *call, int64_t items);
tsr_status tsri_call_groups(tsri_call *call, int64_t x, int64_t y, int64_t z);

// As many groups in x and y as make `groups`: the kernel numbers them group.y * groups.x + group.x and checks its
// bounds.
tsr_status tsri_call_many_groups(tsri_call *call, int64_t groups);
void tsri_call_fold(const tsr_device *device, int64_t groups, int64_t *out_x, int64_t *out_y);

// A view whose elements kernels can reach. Errors: TSR_ERR_UNSUPPORTED with the figures.
tsr_status tsri_call_check(const char *caller, const tsri_layout *layout);

// A dtype of the same size that is copied bit by bit, where the device stores it; few variants are then built.
tsr_dtype tsri_call_carrier(const tsr_device *device, tsr_dtype dtype);

// A buffer for the time of a launch: release it after queueing.
tsr_status tsri_call_scratch(tsr_device *device, int64_t count, tsr_dtype dtype, tsr_buffer **out_buffer);

// All elements of the run's output become 0.
tsr_status tsri_call_zero(const tsri_kernel_run *run);

#endif
