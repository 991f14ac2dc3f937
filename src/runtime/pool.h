// SPDX-License-Identifier: MIT
// Caching memory pool above the seam: one per open device.
//
// Backend buffers ("segments") are cut into blocks. A released block is kept in a free list for its size class and
// handed out again. Neighbouring free blocks are joined only when no free block fits. Segments are given back to the
// backend only when memory is short or tsri_pool_trim is called. Blocks are host records, because device memory may be
// unreadable from the host.
//
// A block may be given back while queued work still uses it. If its next user is on the same track (runtime/track.h), the new work is queued after the old, and
// nothing has to wait. If it is on another track, the new work waits on the device for the commands in the block's usage; to avoid such waits, the block is
// handed out to another track only if no other block fits and no new segment can be allocated. Segments must not be given back to the backend while work uses
// them, so `settle` (a wait for all tracks) is called first, and segments that were used again during the wait are kept.
//
// Threads: any, for every call but create and destroy.
#ifndef TSRI_POOL_H
#define TSRI_POOL_H

#include <tessera/memory.h>

#include "backends/backend.h"
#include "runtime/usage.h"

typedef struct tsri_pool tsri_pool;

// A range of a backend buffer. Callers read the first three fields; the rest belongs to the pool.
typedef struct tsri_block {
  tsri_buffer *buffer;
  size_t offset;  // in `buffer`; a multiple of the device's alignment and of the requested one
  size_t bytes;   // usable bytes, at least as many as requested
  struct tsri_segment *segment;
  struct tsri_block *previous, *next;          // neighbours in the segment, by offset
  struct tsri_block *bin_previous, *bin_next;  // neighbours in the free list of its size class
  bool is_free;
  tsri_usage usage;  // of its memory; belongs to the queue while the block is in use
} tsri_block;

typedef struct tsri_pool_desc {
  const tsri_backend *backend;
  tsri_device *device;
  struct tsr_device *owner;   // for the profiler; NULL: changes are not reported
  const char *device_name;    // for messages; borrowed, must outlive the pool
  size_t alignment;           // alignment of every block: the device's, a power of two
  uint64_t max_buffer_bytes;  // largest segment; 0: no limit
  uint64_t limit_bytes;       // most bytes the pool may hold; 0: no limit
  uint64_t initial_bytes;     // bytes to allocate in tsri_pool_create; 0: none. Ignored with own_buffers
  bool own_buffers;           // every block gets a separate segment
  // The device runs queued work at the same time if it uses different memory. Then a small block that was given back rests: it is handed out only after some
  // others, because work that writes to it would have to wait for the work that still uses it.
  bool overlaps;
  // Waits until queued work is done. It is called without the pool's lock, so it may give blocks back. NULL: there is
  // never queued work.
  tsr_status (*settle)(void *user);
  // refresh: finds out which queued commands have ended; called without the pool's lock. is_busy: whether work of the calling thread would have to wait for
  // another track before it uses memory with this usage; called with the lock. Both NULL: there is only one track.
  void (*refresh)(void *user);
  bool (*is_busy)(void *user, const tsri_usage *usage);
  void *user;
} tsri_pool_desc;

// Ownership: the caller destroys the pool.
// Errors:    TSR_ERR_OUT_OF_MEMORY (host record; `initial_bytes` above the limit or refused by the device). Other
//            statuses of buffer_create are returned unchanged. Then `*out_pool` is NULL.
tsr_status tsri_pool_create(const tsri_pool_desc *desc, tsri_pool **out_pool);

// All blocks must have been given back, and queued work must be done. `pool` may be NULL.
void tsri_pool_destroy(tsri_pool *pool);

// Takes a block of at least `bytes` (not 0). `alignment` is a power of two, or 0 for the device's.
//
// The block has at most an eighth more than `bytes` (and at most 2 MiB more, unless own_buffers is set), or less than
// one granule more (the device's alignment, or 64 bytes).
//
// Errors: TSR_ERR_OUT_OF_MEMORY, after trimming and a second try: "4.0 GiB asked of cpu, 1.2 GiB in
//         use, 1.5 GiB held (limit 2.0 GiB), 716.8 MiB free on the device", followed by the message of
//         buffer_create. Without a second try if `bytes` is above max_buffer_bytes, or the host has no
//         memory for a record. Other statuses of buffer_create, and those of `settle`, are returned
//         unchanged (TSR_ERR_DEVICE_LOST). Then `*out_block` is NULL.
tsr_status tsri_pool_take(tsri_pool *pool, size_t bytes, size_t alignment, tsri_block **out_block);

// Gives a block back; its memory may be handed out again at once. `block` must not be NULL. Giving a block back twice,
// or to another pool, fails an assertion.
void tsri_pool_give(tsri_pool *pool, tsri_block *block);

// Joins free neighbours and gives segments without a used block back to the backend. Returns the number of bytes given
// back; 0 also if `settle` failed, and then the last error says why.
uint64_t tsri_pool_trim(tsri_pool *pool);

void tsri_pool_get_stats(tsri_pool *pool, tsr_memory_stats *out_stats);

// The most memory in use during the two passes of a training step. A pass is a number: bit 0 is set in the backward pass, and the other bits
// number the step, in the order in which steps begin. 0: no pass.
typedef struct tsri_pool_peaks {
  uint64_t step;          // the step that the numbers below belong to; 0: there was none
  uint64_t start_bytes;   // in use when its first operator began
  uint64_t in_passes[2];  // most bytes in use during the forward and the backward pass
} tsri_pool_peaks;

// Memory that is taken from now on counts for this pass. The first pass of a newer step resets the peaks; a pass of an older step is ignored.
void tsri_pool_set_pass(tsri_pool *pool, uint64_t pass);

// Marks a block, which stays in use, as unused for now because a tape keeps it for reuse (is_spare), or as used again. Peaks do not count spare blocks.
void tsri_pool_set_spare(tsri_pool *pool, const tsri_block *block, bool is_spare);

void tsri_pool_get_peaks(tsri_pool *pool, tsri_pool_peaks *out_peaks);

// Whether every invariant of the pool's records holds. Visits every block: for assertions and tests.
bool tsri_pool_is_sound(tsri_pool *pool);

#endif
