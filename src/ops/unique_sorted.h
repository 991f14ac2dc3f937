// SPDX-License-Identifier: MIT
// unique by kernels/op_unique.tk: a sort, and a few launches that number its values.
#ifndef TSRI_OPS_UNIQUE_SORTED_H
#define TSRI_OPS_UNIQUE_SORTED_H

#include <tessera/tensor.h>

// Computes what tsr_unique does for the contiguous list x (not bool): out_results get its values, the inverse, which is a list, and the counts. TSR_ERR_UNSUPPORTED,
// without a message: the device has no kernels for it. Waits for the device.
tsr_status tsri_unique_sorted(tsr_tensor *x, tsr_tensor *out_results[3]);

#endif
