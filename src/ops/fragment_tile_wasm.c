// SPDX-License-Identifier: MIT
// Web pages have no kernels for matrix units.
#include "ops/fragment_tile.h"

int tsri_fragment_tile_items(const tsri_fragment_tile *tile) {
  (void)tile;
  return 0;
}

size_t tsri_fragment_tile_shared_bytes(const tsri_fragment_tile *tile) {
  (void)tile;
  return 0;
}

int tsri_fragment_tile_run(const tsri_fragment_tile *tile) {
  (void)tile;
  return 1;
}

bool tsri_fragment_tile_choose(const tsr_device *device, const tsri_product_op *product, tsr_dtype dtype,
                               tsri_fragment_tile *out_tile) {
  (void)device, (void)product, (void)dtype, (void)out_tile;
  return false;
}
