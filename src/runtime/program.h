// SPDX-License-Identifier: MIT
// A checked kernel built for one open device: emitted in its dialect, compiled, ready to launch.
#ifndef TSRI_RUNTIME_PROGRAM_H
#define TSRI_RUNTIME_PROGRAM_H

#include "lang/emit/emit.h"
#include "lang/ir/ir.h"
#include "runtime/buffer.h"
#include "runtime/device.h"

typedef struct tsri_built {
  const tsri_kernel *kernel;  // borrowed: outlives this
  tsri_program *program;
  tsri_emitted emitted;                // what the launcher must pass; its code has been freed
  size_t host_bytes;                   // about how much memory the driver keeps for it
  struct tsri_slicer *slicer;          // for launches that take long; NULL: they may
  struct tsri_long_loops *long_loops;  // for loops of more rounds than the driver does; NULL: it does any number
} tsri_built;

// A part of a buffer bound to a kernel's array.
typedef struct tsri_argument {
  tsr_buffer *buffer;
  size_t offset;  // bytes from the start of `buffer`
  uint64_t element_count;
} tsri_argument;

// `wide_unaligned`: buffers read several elements at a time may begin anywhere (emit.h).
//
// Errors: TSR_ERR_UNSUPPORTED (the device runs no kernels, or lacks something this one needs), TSR_ERR_BUILD,
//         TSR_ERR_OUT_OF_MEMORY. Then `*out_built` is empty.
tsr_status tsri_built_init(tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned, tsri_built *out_built);

// For tests: sees every kernel that is built, on any device. Set while nothing runs; NULL: nobody looks.
extern void (*tsri_built_watch)(const tsri_kernel *kernel);

// The same without what cuts long launches.
tsr_status tsri_built_compile(tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                              tsri_built *out_built);

// Takes an empty one too. No queued work uses it any more.
void tsri_built_deinit(tsr_device *device, tsri_built *built);

// Queues a launch: as many arguments as the kernel has buffers, and its parameter block. In checked mode it waits, and an
// index out of range is TSR_ERR_LAUNCH. No group count is 0. A launch that may take long is cut into several, which are
// waited for (slices.h).
tsr_status tsri_built_launch(tsr_device *device, const tsri_built *built, const uint32_t groups[3],
                             const tsri_argument *arguments, const void *params);

#endif
