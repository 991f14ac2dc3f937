// SPDX-License-Identifier: MIT
// The pool's records, shared by pool.c, which maintains them, and pool_check.c, which checks them.
//
// Invariants whenever the lock is free:
// - The blocks of a segment lie end to end and their bytes add up to the segment's.
// - A block is in the free list of its size class if and only if it is free and does not rest.
// - Two free blocks are neighbours only in a segment marked `can_join`; after a trim, in none.
// - in_use_bytes and held_bytes are the sums over used blocks and over segments.
#ifndef TSRI_POOL_STATE_H
#define TSRI_POOL_STATE_H

#include "platform/platform.h"
#include "runtime/pool.h"
#include "runtime/pool_bins.h"

// How many small blocks rest at a time after they were given back; see tsri_pool_desc.overlaps.
enum { TSRI_RESTING_BLOCKS = 16 };

typedef struct tsri_segment {
  struct tsri_segment *previous, *next;  // in the pool's list, in no particular order
  const tsri_pool *pool;
  tsri_buffer *buffer;
  size_t bytes;
  size_t smallest_piece;  // smaller requests are served elsewhere, unless memory is short
  uint64_t last_given;    // value of tsri_pool.give_count when one of its blocks was last given back
  size_t used_count;      // blocks handed out
  bool can_join;          // may have two free blocks side by side
  tsri_block first;       // at offset 0; splitting and joining keep the left record
} tsri_segment;

// Block records are allocated in slabs, so that splitting seldom allocates. They are freed with the pool.
typedef struct tsri_record_slab {
  struct tsri_record_slab *next;
  tsri_block records[63];
} tsri_record_slab;

struct tsri_pool {
  tsri_pool_desc desc;
  size_t granule;
  size_t max_segment_bytes;
  size_t shared_segment_bytes;  // size of the segments that small requests share
  size_t most_slack;            // a block with more bytes than this beyond the request is split

  tsri_mutex lock;  // guards all fields below
  tsri_bins bins;
  tsri_block *resting[TSRI_RESTING_BLOCKS];  // a ring; NULL: no block
  unsigned next_resting;                     // the entry of the block that has rested longest
  tsri_segment *segments;
  tsri_block *spares;  // unused records, linked by bin_next; their `segment` is NULL
  size_t spare_count;
  tsri_record_slab *slabs;
  bool can_join;           // a segment may have two free blocks side by side
  uint64_t give_count;     // counts calls of tsri_pool_give, as a clock for tsri_segment.last_given
  uint64_t pending_bytes;  // being allocated by the backend now, while the lock is free
  tsr_memory_stats stats;
  uint64_t pass;  // the pass for which memory is being taken; see tsri_pool_set_pass
  tsri_pool_peaks peaks;
  uint64_t spare_bytes;  // bytes of blocks in use that are marked as spare; see tsri_pool_set_spare
};

// Whether a block and its neighbours have consistent offsets and links.
bool tsri_block_is_sound(const tsri_block *block);

// As tsri_pool_is_sound, with the lock held.
bool tsri_pool_is_sound_locked(const tsri_pool *pool);

#endif
