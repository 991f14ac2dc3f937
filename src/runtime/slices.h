// SPDX-License-Identifier: MIT
// Long launches in slices, so that no single submission keeps a device busy for longer than it should be.
//
// Most launches are short and known to be: their work is estimated from the number of items, the parameters and the
// buffers, and compared with how long this program took before. Only a launch that may be long is cut along its longest
// side; each slice is waited for, and its time says how large the next may be.
#ifndef TSRI_RUNTIME_SLICES_H
#define TSRI_RUNTIME_SLICES_H

#include <stdatomic.h>

#include "lang/lang.h"
#include "runtime/program.h"

typedef struct tsri_slicer {
  uint64_t limit_ns;    // longest that a slice should take
  double worth;         // work below which nobody looks at the time
  double round_steps;   // of an item in one round of its outermost loop; 0: it has none
  bool wide_unaligned;  // as the program was built
  atomic_uint rate;     // ns per unit of work as float bits, measured in the last launch that was cut; 0: not yet
  tsri_mutex lock;      // of what follows
  tsri_kernel *kernel;  // the one that can be launched in slices; NULL: not made yet
  tsri_built built;
} tsri_slicer;

// NULL, with TSR_OK, where launches may take any time.
tsr_status tsri_slicer_create(const tsr_device *device, const tsri_kernel *kernel, bool wide_unaligned,
                              tsri_slicer **out_slicer);
void tsri_slicer_destroy(tsr_device *device, tsri_slicer *slicer);  // takes NULL

// What a launch may cost at most, in steps of an item, from its parameter block and its buffers' elements.
double tsri_slicer_work(const tsri_slicer *slicer, const tsri_kernel *kernel, const uint32_t groups[3],
                        const tsri_argument *arguments, const void *params);

// Whether a launch of that much work is to be cut.
bool tsri_slicer_cuts(const tsri_slicer *slicer, double work);

// How many groups may come next, after `count` took `ns`: half the limit's worth, and not many times as many.
uint32_t tsri_slicer_next(uint32_t count, uint64_t ns, uint64_t limit_ns);

// Runs the launch in slices and waits for each. TSR_ERR_UNSUPPORTED: the kernel cannot be cut, and nothing has run.
tsr_status tsri_slicer_launch(tsr_device *device, tsri_slicer *slicer, const tsri_kernel *kernel,
                              const uint32_t groups[3], const tsri_argument *arguments, const void *params,
                              double work);

#endif
