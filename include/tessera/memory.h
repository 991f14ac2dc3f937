// SPDX-License-Identifier: MIT
// The memory pool of each device: its statistics, and giving memory back.
#ifndef TESSERA_MEMORY_H
#define TESSERA_MEMORY_H

#include <stdint.h>

#include <tessera/device.h>

typedef struct tsr_memory_stats {
  uint64_t in_use_bytes;  // in buffers that have not been released
  uint64_t held_bytes;    // allocated from the device: in use, or kept for reuse
  uint64_t peak_bytes;    // highest value of in_use_bytes
  uint64_t limit_bytes;   // limit of held_bytes; 0: no limit
  uint64_t allocations;   // requests served
  uint64_t hits;          // requests served from memory that was already held
  uint64_t trims;         // how often memory was given back to the device
} tsr_memory_stats;

// Errors: TSR_ERR_INVALID_ARGUMENT (NULL).
TSR_API tsr_status tsr_memory_get_stats(tsr_device *device, tsr_memory_stats *out_stats);

// Waits for the device, joins free neighbouring blocks and gives all memory that is not in use back to the device.
// `*out_bytes` (may be NULL) is the number of bytes given back.
//
// Threads: any.
// Errors:  those of tsr_device_synchronize.
TSR_API tsr_status tsr_memory_trim(tsr_device *device, uint64_t *out_bytes);

#endif
