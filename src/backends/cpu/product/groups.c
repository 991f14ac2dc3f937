// SPDX-License-Identifier: MIT
// Which tiles of groups a device uses.
#include "backends/cpu/product/groups.h"

#if TSRI_HAS_GROUPS
// The tiles of AMX take 64 bytes of k at once. Where k has a fraction of that, they would multiply zeros: other tiles do better,
// those of f32 included.
static bool is_shallow(tsr_dtype dtype, int64_t k) {
  enum { LEAST_BYTES = 16 };
  return k * (int64_t)tsr_dtype_bytes(dtype) < LEAST_BYTES;
}
#endif

const tsri_product_groups *tsri_product_groups_for(uint32_t units, tsr_dtype dtype, int64_t k) {
#if TSRI_HAS_GROUPS
  bool has_bytes = dtype == TSR_I8 || dtype == TSR_U8;
  if (is_shallow(dtype, k) && (!has_bytes || (units & TSRI_CPU_VNNI))) units &= ~(uint32_t)TSRI_CPU_AMX;
  if (dtype == TSR_BF16 && (units & TSRI_CPU_AMX)) return &tsri_product_bf16_amx;
  if (dtype == TSR_BF16 && (units & TSRI_CPU_BF16)) return &tsri_product_bf16_avx512;
  if (has_bytes && (units & TSRI_CPU_AMX)) return &tsri_product_bytes_amx;
  if (has_bytes && (units & TSRI_CPU_VNNI)) return &tsri_product_bytes_avx512;
#endif
  (void)units, (void)dtype, (void)k;
  return NULL;
}
