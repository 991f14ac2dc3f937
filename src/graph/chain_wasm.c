// SPDX-License-Identifier: MIT
// Replaces chain.c and paired.c in web pages, where no backend has products with chains or sums of rows.
#include "graph/chain.h"
#include "graph/paired.h"

void tsri_chains_destroy(tsri_chains *chains) { (void)chains; }

bool tsri_chain_match(const tsri_plan *plan, const tsri_fusion *fusion, const tsri_value *product, tsri_matched *out) {
  (void)plan, (void)fusion, (void)product, (void)out;
  return false;
}

void tsri_paired_find(tsri_plan *plan) { (void)plan; }

tsr_status tsri_paired_run(const tsri_plan *plan, const tsri_fusion *product, const tsri_output *output,
                           const tsri_output *other) {
  (void)plan, (void)product, (void)output, (void)other;
  return TSR_ERR_UNSUPPORTED;
}
