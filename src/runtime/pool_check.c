// SPDX-License-Identifier: MIT
// Checks the pool's records against the invariants of pool_state.h, one function each.
#include "runtime/pool_state.h"

typedef struct tally {
  uint64_t held_bytes, used_bytes;
  size_t free_count;
} tally;

bool tsri_block_is_sound(const tsri_block *block) {
  const tsri_block *left = block->previous, *right = block->next;
  size_t end = block->offset + block->bytes;
  if (left ? left->next != block || left->offset + left->bytes != block->offset
           : block != &block->segment->first || block->offset != 0) {
    return false;
  }
  return right ? right->previous == block && right->offset == end : end == block->segment->bytes;
}

static bool links_are_sound(const tsri_segment *segment, const tsri_block *block) {
  if (block->segment != segment || block->buffer != segment->buffer) return false;
  if (block->bytes == 0 || !tsri_block_is_sound(block)) return false;
  bool free_pair = block->is_free && block->next && block->next->is_free;
  return !free_pair || (segment->can_join && segment->pool->can_join);
}

static bool segment_is_sound(const tsri_segment *segment, tally *sum) {
  size_t bytes = 0, used_count = 0;
  for (const tsri_block *block = &segment->first; block; block = block->next) {
    if (!links_are_sound(segment, block)) return false;
    bytes += block->bytes;
    if (block->is_free) {
      sum->free_count++;
    } else {
      sum->used_bytes += block->bytes;
      used_count++;
    }
  }
  sum->held_bytes += segment->bytes;
  return bytes == segment->bytes && used_count == segment->used_count;
}

// Every listed block is free and in its class. The number of blocks that are listed or rest equals the number of free ones, so all are
// listed but those that rest.
static bool bins_are_sound(const tsri_pool *pool, size_t free_count) {
  const tsri_bins *bins = &pool->bins;
  size_t listed = 0;
  for (int i = 0; i < TSRI_RESTING_BLOCKS; i++) {
    if (pool->resting[i] && !pool->resting[i]->is_free) return false;
    listed += pool->resting[i] != NULL;
  }
  for (unsigned bin = 0; bin < TSRI_BIN_COUNT; bin++) {
    bool marked = bins->filled[bin / 64] >> bin % 64 & 1;
    if (marked != (bins->first[bin] != NULL)) return false;
    const tsri_block *previous = NULL;
    for (const tsri_block *block = bins->first[bin]; block; block = block->bin_next) {
      if (!block->is_free || tsri_bins_class(bins, block->bytes) != bin) return false;
      if (block->bin_previous != previous || ++listed > free_count) return false;
      previous = block;
    }
  }
  return listed == free_count;
}

static bool spares_are_sound(const tsri_pool *pool) {
  size_t count = 0;
  for (const tsri_block *spare = pool->spares; spare; spare = spare->bin_next) {
    if (spare->segment || ++count > pool->spare_count) return false;
  }
  return count == pool->spare_count;
}

bool tsri_pool_is_sound_locked(const tsri_pool *pool) {
  tally sum = {0};
  for (const tsri_segment *segment = pool->segments; segment; segment = segment->next) {
    if (segment->next && segment->next->previous != segment) return false;
    if (segment->pool != pool || !segment_is_sound(segment, &sum)) return false;
  }
  const tsr_memory_stats *stats = &pool->stats;
  return sum.held_bytes == stats->held_bytes && sum.used_bytes == stats->in_use_bytes &&
         stats->peak_bytes >= stats->in_use_bytes && stats->hits <= stats->allocations &&
         bins_are_sound(pool, sum.free_count) && spares_are_sound(pool);
}

bool tsri_pool_is_sound(tsri_pool *pool) {
  tsri_mutex_lock(&pool->lock);
  bool sound = tsri_pool_is_sound_locked(pool);
  tsri_mutex_unlock(&pool->lock);
  return sound;
}
