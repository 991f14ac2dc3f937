// SPDX-License-Identifier: MIT
// In the browser, each item of searchsorted searches for one value, so that the module has fewer kernels.
#include "ops/search_tree.h"

tsr_status tsri_search_tree(const tsri_kernel_run *run) {
  (void)run;
  return TSR_ERR_UNSUPPORTED;
}
