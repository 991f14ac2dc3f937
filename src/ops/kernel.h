// SPDX-License-Identifier: MIT
// The kernel record, shared by kernel.c, which builds it, and kernel_launch.c.
#ifndef TSRI_OPS_KERNEL_H
#define TSRI_OPS_KERNEL_H

#include <tessera/kernel.h>

#include "core/object.h"
#include "platform/platform.h"
#include "runtime/late.h"
#include "runtime/program.h"

// A kernel's program on one device.
typedef struct tsri_device_program {
  tsri_late late;
  tsr_device *device;  // one reference
  bool wide_unaligned;
  tsri_built built;
} tsri_device_program;

// The texts that a kernel was built from, so that a saved capture can build it again (src/saved). The struct owns all texts.
typedef struct tsri_kernel_text {
  char *source, *fills, *defines;  // defines: one per line; fills: NULL if there are none
  size_t source_bytes;
  bool is_checked;
} tsri_kernel_text;

// A launch of a kernel, without its tensors: args[i].tensor is NULL.
typedef struct tsri_kernel_launch {
  tsr_kernel *kernel;  // one reference
  tsr_grid grid;
  int arg_count;
  tsr_arg args[];
} tsri_kernel_launch;

struct tsr_kernel {
  tsri_object object;
  tsri_kernel_text text;
  tsri_kernel *ir;
  tsr_kernel_param *params;  // in the order of the parameter list; the names belong to `ir`
  int param_count;
  tsri_mutex lock;  // guards the two fields below
  tsri_device_program **programs;
  int program_count;
};

// Returns the kernel's program for `device`; builds it at the first call.
tsr_status tsri_kernel_program(tsr_kernel *kernel, tsr_device *device, bool wide_unaligned,
                               const tsri_built **out_built);

#endif
