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

struct tsr_kernel {
  tsri_object object;
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
