// SPDX-License-Identifier: MIT
// Replaces single.c in web pages, which keeps the module small: all nodes except those of repeat.h are planned.
#include "graph/single.h"

bool tsri_single_describe(const tsri_node *node, tsri_single_form *out_form) {
  (void)node, (void)out_form;
  return false;
}

tsri_single *tsri_single_find(tsri_singles *singles, const tsri_single_form *form) {
  (void)singles, (void)form;
  return NULL;
}

tsr_status tsri_single_run(tsri_single *single, const tsri_single_form *form, tsr_buffer *const *outputs) {
  (void)single, (void)form, (void)outputs;
  return TSR_ERR_UNSUPPORTED;
}

void tsri_single_keep(tsri_singles *singles, const tsri_single_form *form, const tsri_steps *steps, bool is_all,
                      tsr_buffer *output) {
  (void)singles, (void)form, (void)steps, (void)is_all, (void)output;
}
