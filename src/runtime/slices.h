// SPDX-License-Identifier: MIT
// Cuts long launches into slices, so that no single submission keeps a device busy for too long.
//
// Most launches are short and known to be: their work is estimated from the number of work items, the parameters and
// the buffers, and multiplied by the time per unit of work that was measured for this program. Only a launch that may
// be long is cut, along its longest axis. Each slice is waited for, and its time determines the size of the next.
#ifndef TSRI_RUNTIME_SLICES_H
#define TSRI_RUNTIME_SLICES_H

#include <stdatomic.h>

#include "lang/lang.h"
#include "runtime/program.h"

typedef struct tsri_slicer {
  uint64_t limit_ns;    // longest time a slice should take
  double worth;         // launches with less work than this are never cut
  double round_steps;   // work of one item in one iteration of its outermost loop; 0: no loop
  bool wide_unaligned;  // as for tsri_built_init
  // Nanoseconds per unit of work (the bits of a float), measured in the last launch that was cut; 0: not measured yet.
  atomic_uint rate;
  tsri_mutex lock;      // guards the fields below
  tsri_kernel *kernel;  // the variant that can be launched in slices; NULL: not created yet
  tsri_built built;
} tsri_slicer;

// Sets `*out_slicer` to NULL, with TSR_OK, if launches on this device may take any time.
tsr_status tsri_slicer_create(const tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                              tsri_slicer **out_slicer);
void tsri_slicer_destroy(tsr_device *device, tsri_slicer *slicer);  // takes NULL

// An upper estimate of a launch's work, in steps of a work item, from its parameter block and the sizes of its buffers.
double tsri_slicer_work(const tsri_slicer *slicer, const tsri_kernel *kernel, const uint32_t groups[3],
                        const tsri_argument *arguments, const void *params);

// Whether to cut a launch of that much work.
bool tsri_slicer_cuts(const tsri_slicer *slicer, double work);

// The number of work-groups for the next slice, after `count` took `ns`: as many as take half the limit, but not many
// times `count`.
uint32_t tsri_slicer_next(uint32_t count, uint64_t ns, uint64_t limit_ns);

// Runs the launch in slices and waits for each. TSR_ERR_UNSUPPORTED if the kernel cannot be cut; then nothing has run.
tsr_status tsri_slicer_launch(tsr_device *device, tsri_slicer *slicer, const tsri_kernel *kernel,
                              const uint32_t groups[3], const tsri_argument *arguments, const void *params,
                              double work);

#endif
