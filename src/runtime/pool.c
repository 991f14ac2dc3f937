// SPDX-License-Identifier: MIT
// Caching memory pool: taking, giving back, joining, growing and trimming.
//
// A request is rounded up to its size class and served by the first of these that succeeds: the smallest free block that fits and that no other track still
// uses; the same after joining free neighbours; a new segment from the backend; a resting block; a block that another track still uses; a new segment after a
// wait and a trim. A block larger than needed is split, and the rest stays free.
//
// Requests up to 1 MiB share segments of 2 MiB; a larger request gets a segment of its own size. A small block must not keep a big segment from being given
// back, so a segment above 2 MiB is split only for requests of at least a sixteenth of it. There are two exceptions: segments of `initial_bytes` are split for
// any request, and so is any segment when the request would fail otherwise. The second exception can tie a big segment to a small block, but only until that
// block is given back: other small requests do not use the rest of it.
//
// The core decides when to wait (`settle`), and the backend where memory comes from. pool_bins.c has the free lists, pool_state.h states the invariants, and
// pool_check.c checks them.
#include "runtime/pool.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/log.h"
#include "runtime/bytes_text.h"
#include "runtime/pool_state.h"
#include "runtime/profile.h"

enum {
  // Drivers commonly map this much at once, so smaller segments would save nothing.
  SHARED_SEGMENT_BYTES = 2 << 20,
  // Limit for rounding up: an eighth of 10 GiB would be too much.
  MOST_STEP_BYTES = 2 << 20,
  PIECES_PER_SEGMENT = 16,
  // How many blocks of a class are compared to find the smallest; bounds the time of a hit.
  SCAN_BLOCKS = 8,
  // Larger blocks do not rest: their commands run so long that they gain little from running at the same time as others.
  MOST_RESTING_BYTES = 64 << 10
};

typedef struct request {
  size_t asked;
  size_t bytes;         // rounded up to its size class
  size_t alignment;     // at least the granule
  bool is_last_resort;  // the request fails otherwise: ignore tsri_segment.smallest_piece
  bool takes_busy;      // blocks that another track still uses are accepted
  bool found_busy;      // a block was passed over because another track still uses it
  tsr_status status;    // the failure, if the outcome is FAILED
} request;

typedef enum outcome {
  TAKEN,
  NO_ROOM,  // no free block fits, and the limit or the backend allows no new segment
  FAILED    // request.status and the last error say why; trying again would not help
} outcome;

// --- Block records -------------------------------------------------------------------------------

static void recycle_record(tsri_pool *pool, tsri_block *record) {
  record->segment = NULL;  // is_free stays set, so that giving it back again fails an assertion
  record->is_free = true;
  record->bin_next = pool->spares;
  pool->spares = record;
  pool->spare_count++;
}

// Ensures that there are `count` (a few) unused records.
static bool reserve_records(tsri_pool *pool, size_t count) {
  if (pool->spare_count >= count) return true;
  tsri_record_slab *slab = tsri_calloc(1, sizeof *slab);
  if (!slab) return false;
  slab->next = pool->slabs;
  pool->slabs = slab;
  for (size_t i = sizeof slab->records / sizeof slab->records[0]; i-- > 0;) {
    recycle_record(pool, &slab->records[i]);
  }
  return true;
}

// --- Splitting and joining -----------------------------------------------------------------------

// Splits `block` after `bytes` and returns the right part. Neither is in a free list. The caller has reserved a record.
static tsri_block *split(tsri_pool *pool, tsri_block *block, size_t bytes) {
  assert(bytes > 0 && bytes < block->bytes && bytes % pool->granule == 0);
  tsri_block *right = pool->spares;
  pool->spares = right->bin_next;
  pool->spare_count--;
  *right = (tsri_block){.buffer = block->buffer,
                        .offset = block->offset + bytes,
                        .bytes = block->bytes - bytes,
                        .segment = block->segment,
                        .previous = block,
                        .next = block->next,
                        .is_free = true,
                        .usage = block->usage};
  if (right->next) right->next->previous = right;
  block->next = right;
  block->bytes = bytes;
  return right;
}

static void absorb_next(tsri_pool *pool, tsri_block *block) {
  tsri_block *right = block->next;
  tsri_bins_remove(&pool->bins, right);
  tsri_usage_join(&block->usage, &right->usage);
  block->bytes += right->bytes;
  block->next = right->next;
  if (block->next) block->next->previous = block;
  recycle_record(pool, right);
}

static void join_segment(tsri_pool *pool, tsri_segment *segment) {
  for (tsri_block *block = &segment->first; block; block = block->next) {
    if (!block->is_free || !block->next || !block->next->is_free) continue;
    tsri_bins_remove(&pool->bins, block);
    while (block->next && block->next->is_free) absorb_next(pool, block);
    tsri_bins_insert(&pool->bins, block);
  }
  segment->can_join = false;
}

// If blocks rest in this pool, starts the rest of a small block that was given back. Returns the block whose rest is over and which may be handed out; NULL:
// none.
static tsri_block *rest(tsri_pool *pool, tsri_block *block) {
  if (!pool->desc.overlaps || block->bytes > MOST_RESTING_BYTES) return block;
  tsri_block **place = &pool->resting[pool->next_resting++ % TSRI_RESTING_BLOCKS], *rested = *place;
  *place = block;
  return rested;
}

// Ends the rest of all blocks, because memory is short, or because neighbours are joined or segments given back. False if there was none.
static bool end_rest(tsri_pool *pool) {
  bool is_any = false;
  for (int i = 0; i < TSRI_RESTING_BLOCKS; i++) {
    tsri_block *block = pool->resting[i];
    pool->resting[i] = NULL;
    if (block) tsri_bins_insert(&pool->bins, block);
    is_any |= block != NULL;
  }
  return is_any;
}

// False if there was nothing to join.
static bool join_neighbours(tsri_pool *pool) {
  if (!pool->can_join) return false;
  end_rest(pool);
  for (tsri_segment *segment = pool->segments; segment; segment = segment->next) {
    if (segment->can_join) join_segment(pool, segment);
  }
  pool->can_join = false;
  assert(tsri_pool_is_sound_locked(pool));
  return true;
}

// --- Finding a free block ------------------------------------------------------------------------

static size_t bytes_to_alignment(const tsri_block *block, size_t alignment) {
  return (0 - block->offset) & (alignment - 1);
}

// Whether a block of `bytes` may be handed out whole for a request of `asked` bytes.
static bool is_snug(const tsri_pool *pool, size_t bytes, size_t asked) {
  size_t slack = asked / 8;
  if (slack > pool->most_slack) slack = pool->most_slack;
  if (slack < pool->granule - 1) slack = pool->granule - 1;
  return bytes - asked <= slack;
}

static bool fits(const tsri_pool *pool, const tsri_block *block, const request *wanted) {
  size_t head = bytes_to_alignment(block, wanted->alignment);
  if (block->bytes < head || block->bytes - head < wanted->bytes) return false;
  if (pool->desc.own_buffers) return is_snug(pool, block->bytes, wanted->asked);
  return wanted->bytes >= block->segment->smallest_piece || wanted->is_last_resort;
}

// Whether the block must be skipped because queued work still uses it; notes in `wanted` that there was one.
static bool note_busy(const tsri_pool *pool, const tsri_block *block, request *wanted) {
  if (wanted->takes_busy || !pool->desc.is_busy || !pool->desc.is_busy(pool->desc.user, &block->usage)) return false;
  wanted->found_busy = true;
  return true;
}

static tsri_block *smallest_in_bin(const tsri_pool *pool, unsigned bin, request *wanted) {
  tsri_block *best = NULL;
  size_t scanned = 0;
  for (tsri_block *block = pool->bins.first[bin]; block; block = block->bin_next) {
    if (fits(pool, block, wanted) && (!best || block->bytes < best->bytes) && !note_busy(pool, block, wanted)) {
      best = block;
      if (best->bytes == wanted->bytes) break;
    }
    if (++scanned == SCAN_BLOCKS && !wanted->is_last_resort) break;
  }
  return best;
}

static tsri_block *find_free(const tsri_pool *pool, request *wanted) {
  unsigned bin = tsri_bins_next(&pool->bins, tsri_bins_class(&pool->bins, wanted->bytes));
  while (bin < TSRI_BIN_COUNT) {
    tsri_block *block = smallest_in_bin(pool, bin, wanted);
    if (block) return block;
    bin = tsri_bins_next(&pool->bins, bin + 1);
  }
  return NULL;
}

// --- Taking --------------------------------------------------------------------------------------

static outcome host_memory_out(const tsri_pool *pool, request *wanted) {
  wanted->status = TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s asked of %s: no host memory for the pool's record of it",
                             tsri_format_bytes(wanted->asked).text, pool->desc.device_name);
  return FAILED;
}

static void count_pass(tsri_pool *pool) {
  tsri_pool_peaks *peaks = &pool->peaks;
  if (pool->pass == 0 || pool->pass >> 1 != peaks->step) return;
  uint64_t *peak = &peaks->in_passes[pool->pass & 1u], bytes = pool->stats.in_use_bytes - pool->spare_bytes;
  if (*peak < bytes) *peak = bytes;
}

static void count_taken(tsri_pool *pool, const tsri_block *block, bool is_hit) {
  tsr_memory_stats *stats = &pool->stats;
  stats->in_use_bytes += block->bytes;
  if (tsri_profiling() && pool->desc.owner) tsri_profile_memory(pool->desc.owner, stats->in_use_bytes, block->bytes);
  if (stats->peak_bytes < stats->in_use_bytes) stats->peak_bytes = stats->in_use_bytes;
  stats->allocations++;
  stats->hits += is_hit;
  count_pass(pool);
}

// Hands out `block`, which is free and fits. The bytes before the alignment and after the requested size stay free.
static outcome take_block(tsri_pool *pool, tsri_block *block, request *wanted, bool is_hit, tsri_block **out_block) {
  size_t head = bytes_to_alignment(block, wanted->alignment);
  size_t body = block->bytes - head;
  bool has_tail = body - wanted->bytes >= pool->granule && !is_snug(pool, body, wanted->asked);
  if (!reserve_records(pool, (size_t)(head != 0) + has_tail)) return host_memory_out(pool, wanted);

  tsri_bins_remove(&pool->bins, block);
  if (head != 0) {
    tsri_block *aligned = split(pool, block, head);
    tsri_bins_insert(&pool->bins, block);
    block = aligned;
  }
  if (has_tail) tsri_bins_insert(&pool->bins, split(pool, block, wanted->bytes));
  block->is_free = false;
  block->segment->used_count++;
  count_taken(pool, block, is_hit);
  assert(tsri_block_is_sound(block));
  *out_block = block;
  return TAKEN;
}

static outcome take_held(tsri_pool *pool, request *wanted, tsri_block **out_block) {
  tsri_block *block = find_free(pool, wanted);
  if (!block && join_neighbours(pool)) block = find_free(pool, wanted);
  return block ? take_block(pool, block, wanted, /*is_hit=*/true, out_block) : NO_ROOM;
}

// --- Segments ------------------------------------------------------------------------------------

// How much more the limit allows. Buffers that are being created count as created.
static uint64_t headroom(const tsri_pool *pool) {
  uint64_t limit = pool->desc.limit_bytes;
  uint64_t taken = pool->stats.held_bytes + pool->pending_bytes;
  if (limit == 0) return UINT64_MAX;
  return taken < limit ? limit - taken : 0;
}

// Size of a new segment for the request; 0 if the limit does not allow one.
static size_t segment_bytes_for(const tsri_pool *pool, const request *wanted) {
  uint64_t room = headroom(pool);
  size_t shared = pool->shared_segment_bytes;
  if (!pool->desc.own_buffers && wanted->bytes <= shared / 2 && shared <= room) return shared;
  return wanted->bytes <= room ? wanted->bytes : 0;
}

// `segment` must be zeroed. It gets one free block.
static void add_segment(tsri_pool *pool, tsri_segment *segment, tsri_buffer *buffer, size_t bytes) {
  segment->pool = pool;
  segment->buffer = buffer;
  segment->bytes = bytes;
  segment->smallest_piece = bytes <= pool->shared_segment_bytes ? 0 : bytes / PIECES_PER_SEGMENT;
  segment->first = (tsri_block){.buffer = buffer, .bytes = bytes, .segment = segment, .is_free = true};
  segment->next = pool->segments;
  if (segment->next) segment->next->previous = segment;
  pool->segments = segment;
  pool->stats.held_bytes += bytes;
  tsri_bins_insert(&pool->bins, &segment->first);
}

static void remove_segment(tsri_pool *pool, tsri_segment *segment) {
  for (tsri_block *block = &segment->first, *next; block; block = next) {
    next = block->next;
    if (block->is_free) tsri_bins_remove(&pool->bins, block);
    if (block != &segment->first) recycle_record(pool, block);
  }
  if (segment->previous) segment->previous->next = segment->next;
  else pool->segments = segment->next;
  if (segment->next) segment->next->previous = segment->previous;
  pool->stats.held_bytes -= segment->bytes;
  pool->desc.backend->buffer_destroy(pool->desc.device, segment->buffer);
  tsri_free(segment);
}

// Allocates a segment from the backend and takes the block from it. Unlocks during buffer_create, which may take long.
// On NO_ROOM, `said` is the backend's message, or empty if the limit did not allow a segment.
static outcome take_new(tsri_pool *pool, request *wanted, char said[TSRI_ERROR_BYTES], tsri_block **out_block) {
  said[0] = 0;
  size_t bytes = segment_bytes_for(pool, wanted);
  if (bytes == 0) return NO_ROOM;
  tsri_segment *segment = tsri_calloc(1, sizeof *segment);
  if (!segment) return host_memory_out(pool, wanted);

  tsri_buffer *buffer = NULL;
  pool->pending_bytes += bytes;
  tsri_mutex_unlock(&pool->lock);
  uint64_t start_ns = tsri_profile_clock();
  wanted->status = pool->desc.backend->buffer_create(pool->desc.device, bytes, &buffer);
  if (start_ns && pool->desc.owner) {
    tsri_profile_host(pool->desc.owner, start_ns,
                      &(tsri_profile_work){.kind = TSR_PROFILE_ALLOCATION, .name = "allocation", .bytes = bytes});
  }
  tsri_mutex_lock(&pool->lock);
  pool->pending_bytes -= bytes;

  if (wanted->status != TSR_OK) {
    tsri_free(segment);
    if (wanted->status != TSR_ERR_OUT_OF_MEMORY) return FAILED;
    snprintf(said, TSRI_ERROR_BYTES, "%s", tsr_last_error());
    return NO_ROOM;
  }
  add_segment(pool, segment, buffer, bytes);
  tsri_log(TSR_LOG_DEBUG, "pool: took %s from %s, %s held", tsri_format_bytes(bytes).text, pool->desc.device_name,
           tsri_format_bytes(pool->stats.held_bytes).text);
  return take_block(pool, &segment->first, wanted, /*is_hit=*/false, out_block);
}

// --- Giving memory back to the device ------------------------------------------------------------

static bool has_idle_segment(const tsri_pool *pool) {
  for (const tsri_segment *segment = pool->segments; segment; segment = segment->next) {
    if (segment->used_count == 0) return true;
  }
  return false;
}

// Unlocks while waiting, so blocks may be taken and given back meanwhile. The wait covers the work of all blocks whose
// segment has last_given <= `*out_mark`.
static tsr_status settle_unlocked(tsri_pool *pool, uint64_t *out_mark) {
  *out_mark = pool->give_count;
  if (!pool->desc.settle) return TSR_OK;
  tsri_mutex_unlock(&pool->lock);
  tsr_status status = pool->desc.settle(pool->desc.user);
  tsri_mutex_lock(&pool->lock);
  return status;
}

// Keeps the lock during buffer_destroy, so that the next request finds the memory free.
static uint64_t release_idle_segments(tsri_pool *pool, uint64_t mark) {
  uint64_t held_before = pool->stats.held_bytes;
  end_rest(pool);
  for (tsri_segment *segment = pool->segments, *next; segment; segment = next) {
    next = segment->next;
    if (segment->used_count == 0 && segment->last_given <= mark) remove_segment(pool, segment);
  }
  join_neighbours(pool);
  assert(!pool->can_join && tsri_pool_is_sound_locked(pool));

  uint64_t given_back = held_before - pool->stats.held_bytes;
  if (given_back != 0) {
    pool->stats.trims++;
    tsri_log(TSR_LOG_DEBUG, "pool: gave %s back to %s, %s held", tsri_format_bytes(given_back).text,
             pool->desc.device_name, tsri_format_bytes(pool->stats.held_bytes).text);
  }
  return given_back;
}

// The last try before failing: any segment may be split for the request.
static outcome take_any_held(tsri_pool *pool, request *wanted, tsri_block **out_block) {
  wanted->is_last_resort = true;
  outcome result = take_held(pool, wanted, out_block);
  wanted->is_last_resort = false;
  return result;
}

// Tries again, accepting blocks that another track still uses. This comes before any wait.
static outcome take_busy(tsri_pool *pool, request *wanted, tsri_block **out_block) {
  wanted->takes_busy = true;
  return wanted->found_busy ? take_held(pool, wanted, out_block) : NO_ROOM;
}

static outcome take_rested(tsri_pool *pool, request *wanted, tsri_block **out_block) {
  return end_rest(pool) ? take_held(pool, wanted, out_block) : NO_ROOM;
}

// Tries again after asking the device which commands have ended: blocks that were passed over may be free by now. Unlocks while it asks.
static outcome take_refreshed(tsri_pool *pool, request *wanted, tsri_block **out_block) {
  if (!wanted->found_busy) return NO_ROOM;
  tsri_mutex_unlock(&pool->lock);
  pool->desc.refresh(pool->desc.user);
  tsri_mutex_lock(&pool->lock);
  return take_held(pool, wanted, out_block);
}

static outcome take_after_trim(tsri_pool *pool, request *wanted, char said[TSRI_ERROR_BYTES], tsri_block **out_block) {
  // If every segment has a used block, a trim cannot help, and splitting any of them keeps no further segment from
  // being given back. So there is no need to wait for the device.
  if (!has_idle_segment(pool)) {
    outcome result = take_any_held(pool, wanted, out_block);
    if (result != NO_ROOM) return result;
  }

  uint64_t mark = 0;
  wanted->status = settle_unlocked(pool, &mark);
  if (wanted->status != TSR_OK) return FAILED;
  outcome result = take_held(pool, wanted, out_block);  // other threads may have given blocks back
  if (result != NO_ROOM) return result;
  release_idle_segments(pool, mark);
  result = take_new(pool, wanted, said, out_block);
  return result == NO_ROOM ? take_any_held(pool, wanted, out_block) : result;
}

// --- Errors --------------------------------------------------------------------------------------

static tsr_status out_of_memory(tsri_pool *pool, const request *wanted, const char *said) {
  tsr_memory_stats stats;
  tsri_pool_get_stats(pool, &stats);
  char limit[40] = "", device_free[48] = "";
  if (stats.limit_bytes != 0) {
    snprintf(limit, sizeof limit, " (limit %s)", tsri_format_bytes(stats.limit_bytes).text);
  }
  uint64_t free_bytes = 0, total_bytes = 0;
  const tsri_backend *backend = pool->desc.backend;
  if (backend->memory_info && backend->memory_info(pool->desc.device, &free_bytes, &total_bytes) == TSR_OK) {
    snprintf(device_free, sizeof device_free, ", %s free on the device", tsri_format_bytes(free_bytes).text);
  }
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s asked of %s, %s in use, %s held%s%s%s%s",
                   tsri_format_bytes(wanted->asked).text, pool->desc.device_name,
                   tsri_format_bytes(stats.in_use_bytes).text, tsri_format_bytes(stats.held_bytes).text, limit,
                   device_free, said[0] ? ": " : "", said);
}

// --- The pool ------------------------------------------------------------------------------------

static size_t smaller(size_t a, uint64_t b) { return b < a ? (size_t)b : a; }

static tsr_status take_initial(tsri_pool *pool) {
  const tsri_pool_desc *desc = &pool->desc;
  if (desc->limit_bytes != 0 && desc->initial_bytes > desc->limit_bytes) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "initial pool of %s on %s is above the limit of %s",
                     tsri_format_bytes(desc->initial_bytes).text, desc->device_name,
                     tsri_format_bytes(desc->limit_bytes).text);
  }
  while (pool->stats.held_bytes < desc->initial_bytes) {
    size_t bytes = smaller(pool->max_segment_bytes, desc->initial_bytes - pool->stats.held_bytes);
    bytes = smaller(tsri_bins_round(&pool->bins, bytes, pool->granule), headroom(pool));
    bytes = smaller(bytes, pool->max_segment_bytes);
    tsri_segment *segment = tsri_calloc(1, sizeof *segment);
    if (!segment) {
      return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for the pool of %s", desc->device_name);
    }
    tsri_buffer *buffer = NULL;
    tsr_status status = desc->backend->buffer_create(desc->device, bytes, &buffer);
    if (status != TSR_OK) {
      tsri_free(segment);
      return TSRI_FAIL(status, "initial pool of %s on %s: %s", tsri_format_bytes(desc->initial_bytes).text,
                       desc->device_name, tsr_last_error());
    }
    add_segment(pool, segment, buffer, bytes);
    segment->smallest_piece = 0;
  }
  return TSR_OK;
}

tsr_status tsri_pool_create(const tsri_pool_desc *desc, tsri_pool **out_pool) {
  *out_pool = NULL;
  tsri_pool *pool = tsri_calloc(1, sizeof *pool);
  if (!pool) {
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "no host memory for the pool of %s", desc->device_name);
  }
  pool->desc = *desc;
  tsri_mutex_init(&pool->lock);
  tsri_bins_init(&pool->bins, desc->alignment);
  pool->granule = tsri_bins_granule(&pool->bins);
  // At most half the address space, so that the sum of two sizes cannot overflow.
  pool->max_segment_bytes = smaller(PTRDIFF_MAX, desc->max_buffer_bytes ? desc->max_buffer_bytes : UINT64_MAX);
  pool->shared_segment_bytes = smaller(SHARED_SEGMENT_BYTES, pool->max_segment_bytes) & ~(pool->granule - 1);
  pool->most_slack = desc->own_buffers ? SIZE_MAX : MOST_STEP_BYTES;
  pool->stats.limit_bytes = desc->limit_bytes;

  tsr_status status = desc->own_buffers ? TSR_OK : take_initial(pool);
  if (status != TSR_OK) {
    tsri_pool_destroy(pool);
    return status;
  }
  *out_pool = pool;
  return TSR_OK;
}

void tsri_pool_destroy(tsri_pool *pool) {
  if (!pool) return;
  assert(tsri_pool_is_sound_locked(pool));
  assert(pool->stats.in_use_bytes == 0);
  end_rest(pool);
  while (pool->segments) remove_segment(pool, pool->segments);
  while (pool->slabs) {
    tsri_record_slab *slab = pool->slabs;
    pool->slabs = slab->next;
    tsri_free(slab);
  }
  tsri_mutex_deinit(&pool->lock);
  tsri_free(pool);
}

// Called when no free block fits. The lock is held on entry and released on return.
static tsr_status take_missed(tsri_pool *pool, request *wanted, tsri_block **out_block) {
  char said[TSRI_ERROR_BYTES] = "";
  outcome result = take_refreshed(pool, wanted, out_block);
  if (result == NO_ROOM) result = take_new(pool, wanted, said, out_block);
  if (result == NO_ROOM) result = take_rested(pool, wanted, out_block);
  if (result == NO_ROOM) result = take_busy(pool, wanted, out_block);
  if (result == NO_ROOM) result = take_after_trim(pool, wanted, said, out_block);
  tsri_mutex_unlock(&pool->lock);
  if (result == NO_ROOM) return out_of_memory(pool, wanted, said);
  return result == FAILED ? wanted->status : TSR_OK;
}

static tsr_status too_large(tsri_pool *pool, size_t bytes) {
  char said[64];
  snprintf(said, sizeof said, "no buffer there can be above %s", tsri_format_bytes(pool->max_segment_bytes).text);
  return out_of_memory(pool, &(request){.asked = bytes}, said);
}

tsr_status tsri_pool_take(tsri_pool *pool, size_t bytes, size_t alignment, tsri_block **out_block) {
  assert(bytes != 0 && (alignment & (alignment - 1)) == 0);
  *out_block = NULL;
  if (bytes > pool->max_segment_bytes) return too_large(pool, bytes);
  size_t most_step = pool->granule > MOST_STEP_BYTES ? pool->granule : MOST_STEP_BYTES;
  request wanted = {
      .asked = bytes,
      .bytes = smaller(tsri_bins_round(&pool->bins, bytes, most_step), pool->max_segment_bytes),
      .alignment = alignment > pool->granule ? alignment : pool->granule,
  };

  tsri_mutex_lock(&pool->lock);
  outcome result = take_held(pool, &wanted, out_block);
  if (result == NO_ROOM) return take_missed(pool, &wanted, out_block);
  tsri_mutex_unlock(&pool->lock);
  return result == FAILED ? wanted.status : TSR_OK;
}

void tsri_pool_give(tsri_pool *pool, tsri_block *block) {
  tsri_mutex_lock(&pool->lock);
  tsri_segment *segment = block->segment;
  assert(segment && segment->pool == pool && "the block is not from this pool");
  assert(!block->is_free && "the block was given back before");
  assert(tsri_block_is_sound(block));

  block->is_free = true;
  segment->used_count--;
  segment->last_given = ++pool->give_count;
  pool->stats.in_use_bytes -= block->bytes;
  if (tsri_profiling() && pool->desc.owner) tsri_profile_memory(pool->desc.owner, pool->stats.in_use_bytes, 0);
  tsri_block *rested = rest(pool, block);
  if (rested) tsri_bins_insert(&pool->bins, rested);
  if ((block->previous && block->previous->is_free) || (block->next && block->next->is_free)) {
    segment->can_join = true;
    pool->can_join = true;
  }
  tsri_mutex_unlock(&pool->lock);
}

uint64_t tsri_pool_trim(tsri_pool *pool) {
  tsri_mutex_lock(&pool->lock);
  uint64_t mark = 0, given_back = 0;
  bool is_settled = !has_idle_segment(pool) || settle_unlocked(pool, &mark) == TSR_OK;
  if (is_settled) given_back = release_idle_segments(pool, mark);
  else join_neighbours(pool);
  tsri_mutex_unlock(&pool->lock);
  return given_back;
}

void tsri_pool_get_stats(tsri_pool *pool, tsr_memory_stats *out_stats) {
  tsri_mutex_lock(&pool->lock);
  *out_stats = pool->stats;
  tsri_mutex_unlock(&pool->lock);
}

void tsri_pool_set_pass(tsri_pool *pool, uint64_t pass) {
  tsri_mutex_lock(&pool->lock);
  pool->pass = pass;
  if (pass >> 1 > pool->peaks.step) {
    pool->peaks = (tsri_pool_peaks){.step = pass >> 1, .start_bytes = pool->stats.in_use_bytes - pool->spare_bytes};
  }
  count_pass(pool);
  tsri_mutex_unlock(&pool->lock);
}

void tsri_pool_set_spare(tsri_pool *pool, const tsri_block *block, bool is_spare) {
  tsri_mutex_lock(&pool->lock);
  pool->spare_bytes = is_spare ? pool->spare_bytes + block->bytes : pool->spare_bytes - block->bytes;
  count_pass(pool);
  tsri_mutex_unlock(&pool->lock);
}

void tsri_pool_get_peaks(tsri_pool *pool, tsri_pool_peaks *out_peaks) {
  tsri_mutex_lock(&pool->lock);
  *out_peaks = pool->peaks;
  tsri_mutex_unlock(&pool->lock);
}
