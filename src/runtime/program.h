// SPDX-License-Identifier: MIT
// A checked kernel built for one open device: emitted in its dialect, compiled, ready to launch.
#ifndef TSRI_RUNTIME_PROGRAM_H
#define TSRI_RUNTIME_PROGRAM_H

#include "lang/emit/emit.h"
#include "lang/ir/ir.h"
#include "runtime/buffer.h"
#include "runtime/device.h"

typedef struct tsri_built {
  const tsri_kernel *kernel;  // what was built: the caller's kernel, which outlives this record, or `lowered`
  tsri_kernel *lowered;       // made for this device; NULL: the kernel runs as it is
  tsri_program *program;
  tsri_command_name name;  // of the kernel
  tsri_emitted emitted;    // what a launch must pass; the code itself has been freed
  size_t host_bytes;       // estimate of the memory the driver keeps for the program
  // Splits launches that take long (slices.h); NULL: launches on this device may take any time.
  struct tsri_slicer *slicer;
  // Runs loops of more iterations than the driver allows; NULL: it has no limit, or the kernel has no loop.
  struct tsri_long_loops *long_loops;
} tsri_built;

// A part of a buffer bound to a kernel's array.
typedef struct tsri_argument {
  tsr_buffer *buffer;
  size_t offset;  // bytes from the start of `buffer`
  uint64_t element_count;
} tsri_argument;

// Builds the kernel for the device. With `wide_unaligned`, buffers that are read several elements at a time may begin
// at any element (emit.h).
//
// Errors: TSR_ERR_UNSUPPORTED (the device runs no kernels, or lacks something this one needs), TSR_ERR_BUILD,
//         TSR_ERR_OUT_OF_MEMORY. Then `*out_built` is empty.
tsr_status tsri_built_init(tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned, tsri_built *out_built);

// For tests: called for every kernel that is built, on any device. Set it while nothing runs; NULL: not called.
extern void (*tsri_built_watch)(const tsri_kernel *kernel);

// As tsri_built_init, without the slicer and long_loops: its launches are never cut.
tsr_status tsri_built_compile(tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                              tsri_built *out_built);

// Writes a kernel of one work item as text of a function in the device's dialect, which the backend puts into a kernel of its own (emit.h, as_function).
//
// Ownership: caller calls tsri_emitted_deinit. Errors: TSR_ERR_UNSUPPORTED (the device has no dialect of text, or lacks something), TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_built_function(tsr_device *device, const tsri_kernel *kernel, tsri_emitted *out_emitted);

// Frees the program. Accepts an empty one. No queued work may use it any more.
void tsri_built_deinit(tsr_device *device, tsri_built *built);

// The bytes of all buffers that a launch binds.
static inline uint64_t tsri_launch_bytes(const tsri_launch *launch) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < launch->buffer_count; i++) bytes += launch->buffers[i].bytes;
  return bytes;
}

// Queues a launch. `arguments` has one entry per buffer of the kernel, `params` is its parameter block, and no count in
// `groups` is 0. In checked mode it waits, and an index out of range is TSR_ERR_LAUNCH. A launch that may take long is
// cut into several, and each is waited for (slices.h, long_loops.h).
tsr_status tsri_built_launch(tsr_device *device, const tsri_built *built, const uint32_t groups[3],
                             const tsri_argument *arguments, const void *params);

#endif
