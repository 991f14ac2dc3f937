// SPDX-License-Identifier: MIT
// The pool's records, shared by pool.c, which keeps them, and pool_check.c, which looks them over.
//
// Invariants whenever the lock is free:
// - The blocks of a segment lie end to end and their bytes add up to the segment's.
// - A block is in a free list, that of its class, exactly if it is free.
// - Two free blocks are neighbours only in a segment marked `can_join`; after a trim, in none.
// - in_use_bytes and held_bytes are the sums over used blocks and over segments.
#ifndef TSRI_POOL_STATE_H
#define TSRI_POOL_STATE_H

#include "platform/platform.h"
#include "runtime/pool.h"
#include "runtime/pool_bins.h"

typedef struct tsri_segment {
  struct tsri_segment *previous, *next;  // in the pool, in no order
  const tsri_pool *pool;
  tsri_buffer *buffer;
  size_t bytes;
  size_t smallest_piece;  // requests below it are served elsewhere, unless memory is short
  uint64_t last_given;    // tsri_pool.give_count when a block of it was last given back
  size_t used_count;      // blocks handed out
  bool can_join;          // may have free neighbours
  tsri_block first;       // at offset 0: splitting and joining both keep the record on the left
} tsri_segment;

// Block records come in slabs, so that splitting seldom asks the host for memory. They stay until
// the pool goes.
typedef struct tsri_record_slab {
  struct tsri_record_slab *next;
  tsri_block records[63];
} tsri_record_slab;

struct tsri_pool {
  tsri_pool_desc desc;
  size_t granule;
  size_t max_segment_bytes;
  size_t shared_segment_bytes;  // for small requests
  size_t most_slack;            // bytes a block may have beyond what was asked before it is split

  tsri_mutex lock;  // over all that follows
  tsri_bins bins;
  tsri_segment *segments;
  tsri_block *spares;  // records without a block, linked by bin_next; `segment` is NULL in them
  size_t spare_count;
  tsri_record_slab *slabs;
  bool can_join;           // some segment may have free neighbours
  uint64_t give_count;     // a clock for "was it used since?"
  uint64_t pending_bytes;  // being asked of the backend now, with the lock open
  tsr_memory_stats stats;
};

// Whether a block and its neighbours agree on where they lie.
bool tsri_block_is_sound(const tsri_block *block);

// tsri_pool_is_sound with the lock already held.
bool tsri_pool_is_sound_locked(const tsri_pool *pool);

#endif
