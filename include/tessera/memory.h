// SPDX-License-Identifier: MIT
// Each device's memory pool: what it holds, and giving memory back.
#ifndef TESSERA_MEMORY_H
#define TESSERA_MEMORY_H

#include <stdint.h>

#include <tessera/device.h>

typedef struct tsr_memory_stats {
  uint64_t in_use_bytes;  // handed out and not yet released
  uint64_t held_bytes;    // taken from the device: in use, and kept for reuse
  uint64_t peak_bytes;    // most that was ever in use at once
  uint64_t limit_bytes;   // most that may be held; 0 if there is no limit
  uint64_t allocations;   // requests served
  uint64_t hits;          // of these, served from memory already held
  uint64_t trims;         // times memory was given back to the device
} tsr_memory_stats;

// Errors: TSR_ERR_INVALID_ARGUMENT (NULL).
TSR_API tsr_status tsr_memory_get_stats(tsr_device *device, tsr_memory_stats *out_stats);

// Joins free neighbours and gives back to the device all that is not in use. `*out_bytes` (may be NULL)
// is how much that was.
//
// Threads: any.
TSR_API tsr_status tsr_memory_trim(tsr_device *device, uint64_t *out_bytes);

#endif
