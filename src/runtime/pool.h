// SPDX-License-Identifier: MIT
// Caching memory pool above the seam: one per open device.
//
// Backend buffers ("segments") are cut into blocks. A released block is kept, in a list for its
// size class, and handed out again; neighbours are joined only when nothing held fits, and segments
// given back only when memory is short or tsri_pool_trim is called. Blocks are host records: device
// memory may be unreadable from the host.
//
// Reuse is in queue order: a block may be given back while queued work still uses it, because its
// next user queues behind that work on the device's one queue. The backend's buffer_destroy must
// not run so early, so `settle` (a wait for the queue) is called before segments are given back,
// and a segment that was used again meanwhile stays.
//
// Threads: any, for every call but create and destroy.
#ifndef TSRI_POOL_H
#define TSRI_POOL_H

#include <tessera/memory.h>

#include "backends/backend.h"

typedef struct tsri_pool tsri_pool;

// A piece of a backend buffer. The caller reads the first three fields; the rest is the pool's.
typedef struct tsri_block {
  tsri_buffer *buffer;
  size_t offset;  // inside `buffer`; a multiple of the device's alignment and of the one asked for
  size_t bytes;   // usable: at least what was asked for
  struct tsri_segment *segment;
  struct tsri_block *previous, *next;          // neighbours in the segment, by offset
  struct tsri_block *bin_previous, *bin_next;  // in the free list of its class
  bool is_free;
} tsri_block;

typedef struct tsri_pool_desc {
  const tsri_backend *backend;
  tsri_device *device;
  const char *device_name;    // for messages; borrowed, outlives the pool
  size_t alignment;           // of every block: the device's, a power of two
  uint64_t max_buffer_bytes;  // largest segment; 0: no limit
  uint64_t limit_bytes;       // most that may be held; 0: no limit
  uint64_t initial_bytes;     // taken at once; 0: nothing. Of no effect with own_buffers
  bool own_buffers;           // each block gets a segment of its own
  // Waits until queued work is done; called without the pool's lock held, so it may give blocks
  // back. NULL: there is never queued work.
  tsr_status (*settle)(void *user);
  void *user;
} tsri_pool_desc;

// Ownership: caller destroys.
// Errors:    TSR_ERR_OUT_OF_MEMORY (host record; `initial_bytes` above the limit or refused by the
//            device). Other statuses of buffer_create come through. Then `*out_pool` is NULL.
tsr_status tsri_pool_create(const tsri_pool_desc *desc, tsri_pool **out_pool);

// All blocks have been given back and queued work is done. NULL is ignored.
void tsri_pool_destroy(tsri_pool *pool);

// A block of at least `bytes` (not 0); `alignment` is a power of two or 0.
//
// At most an eighth more than `bytes` is handed out (2 MiB at most, unless own_buffers is set), or
// less than one granule (the device's alignment, or 64 bytes).
//
// Errors: TSR_ERR_OUT_OF_MEMORY, after trimming and one more try: "4.0 GiB asked of cpu, 1.2 GiB in
//         use, 1.5 GiB held (limit 2.0 GiB), 716.8 MiB free on the device"; what the backend's
//         buffer_create said is at the end. At once if `bytes` is above max_buffer_bytes, or the host
//         has no memory for a record. Other statuses of buffer_create, and those of `settle`, come
//         through as they are (TSR_ERR_DEVICE_LOST). Then `*out_block` is NULL.
tsr_status tsri_pool_take(tsri_pool *pool, size_t bytes, size_t alignment, tsri_block **out_block);

// The block's memory may be handed out again at once. `block` is not NULL. Giving a block twice, or
// to a pool it is not from, is asserted against.
void tsri_pool_give(tsri_pool *pool, tsri_block *block);

// Joins free neighbours and gives segments without a used block back. Returns the bytes given back;
// 0 also if `settle` failed: the last error says why.
uint64_t tsri_pool_trim(tsri_pool *pool);

void tsri_pool_get_stats(tsri_pool *pool, tsr_memory_stats *out_stats);

// Whether every invariant of the pool's records holds. Looks at every block: for asserts and tests.
bool tsri_pool_is_sound(tsri_pool *pool);

#endif
