// SPDX-License-Identifier: MIT
// The memory pool with a test backend that counts its buffers and fails on request.
#include "runtime/pool.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/alloc.h"
#include "core/error.h"
#include "runtime/pool_state.h"
#include "support/test.h"

#define KIB ((size_t)1 << 10)
#define MIB ((size_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

// --- The backend ---------------------------------------------------------------------------------

struct tsri_buffer {
  size_t bytes;
  unsigned char *memory;  // NULL unless the test wants real memory
};

struct tsri_device {
  atomic_int created, live;
  atomic_uint_fast64_t live_bytes;
  uint64_t capacity;  // more is out of memory; 0: no limit
  int fail_nth;       // which buffer_create fails, counted from 1; 0: none
  tsr_status fail_status;
  bool has_memory;
  int settle_count;
  tsr_status settle_status;
  void (*on_settle)(struct tsri_device *device);
  void (*on_create)(struct tsri_device *device);
  tsri_pool *pool;
  tsri_block *held_by_test;
};

static tsr_status fake_buffer_create(tsri_device *device, size_t bytes, tsri_buffer **out_buffer) {
  int nth = atomic_fetch_add(&device->created, 1) + 1;
  if (device->on_create) device->on_create(device);
  if (nth == device->fail_nth) return TSRI_FAIL(device->fail_status, "fake 2: told to fail");
  uint64_t total = atomic_fetch_add(&device->live_bytes, bytes) + bytes;
  if (device->capacity != 0 && total > device->capacity) {
    atomic_fetch_sub(&device->live_bytes, bytes);
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "fake 1: device is full");
  }
  tsri_buffer *buffer = calloc(1, sizeof *buffer);
  if (!buffer) abort();
  buffer->bytes = bytes;
  if (device->has_memory && !(buffer->memory = malloc(bytes))) abort();
  atomic_fetch_add(&device->live, 1);
  *out_buffer = buffer;
  return TSR_OK;
}

static void fake_buffer_destroy(tsri_device *device, tsri_buffer *buffer) {
  atomic_fetch_sub(&device->live_bytes, buffer->bytes);
  atomic_fetch_sub(&device->live, 1);
  free(buffer->memory);
  free(buffer);
}

static tsr_status fake_memory_info(tsri_device *device, uint64_t *out_free, uint64_t *out_total) {
  *out_total = device->capacity;
  *out_free = device->capacity - device->live_bytes;
  return TSR_OK;
}

static const tsri_backend fake_backend = {.abi = TSRI_BACKEND_ABI,
                                          .name = "fake",
                                          .memory_info = fake_memory_info,
                                          .buffer_create = fake_buffer_create,
                                          .buffer_destroy = fake_buffer_destroy};

static tsr_status fake_settle(void *user) {
  tsri_device *device = user;
  device->settle_count++;
  if (device->on_settle) device->on_settle(device);
  if (device->settle_status != TSR_OK) TSRI_FAIL(device->settle_status, "fake 3: wait failed");
  return device->settle_status;
}

static tsri_pool_desc describe(tsri_device *device) {
  return (tsri_pool_desc){.backend = &fake_backend,
                          .device = device,
                          .device_name = "fake:0",
                          .alignment = 64,
                          .settle = fake_settle,
                          .user = device};
}

static tsri_pool *open_pool(tsri_device *device, const tsri_pool_desc *desc) {
  tsri_pool *pool = NULL;
  CHECK_OK(tsri_pool_create(desc, &pool));
  device->pool = pool;
  return pool;
}

static tsri_pool *open_plain_pool(tsri_device *device) {
  tsri_pool_desc desc = describe(device);
  return open_pool(device, &desc);
}

static void close_pool(tsri_device *device, tsri_pool *pool) {
  CHECK(tsri_pool_is_sound(pool));
  tsri_pool_destroy(pool);
  CHECK_EQ_INT(device->live, 0);
  CHECK_EQ_INT(device->live_bytes, 0);
}

static tsri_block *take_aligned(tsri_pool *pool, size_t bytes, size_t alignment) {
  tsri_block *block = NULL;
  CHECK_OK(tsri_pool_take(pool, bytes, alignment, &block));
  CHECK(block->bytes >= bytes);
  CHECK(block->offset + block->bytes <= block->buffer->bytes);
  return block;
}

static tsri_block *take(tsri_pool *pool, size_t bytes) { return take_aligned(pool, bytes, 0); }

static void is_refused(tsri_pool *pool, size_t bytes, tsr_status wanted) {
  tsri_block *block = (tsri_block *)pool;  // anything but NULL
  CHECK_STATUS(tsri_pool_take(pool, bytes, 0, &block), wanted);
  CHECK(block == NULL);
  CHECK(tsri_pool_is_sound(pool));
}

static tsr_memory_stats stats_of(tsri_pool *pool) {
  tsr_memory_stats stats;
  tsri_pool_get_stats(pool, &stats);
  return stats;
}

// --- Reuse ---------------------------------------------------------------------------------------

TEST(a_block_given_back_is_handed_out_again) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_block *first = take(pool, 4 * MIB);
  tsri_pool_give(pool, first);
  tsri_block *second = take(pool, 4 * MIB - 1000);
  CHECK(second == first);
  CHECK_EQ_INT(device.created, 1);
  tsri_pool_give(pool, second);
  close_pool(&device, pool);
}

TEST(an_eighth_more_than_asked_is_the_most_handed_out) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  for (int round = 0; round < 2; round++) {  // first from new segments, then from what is left of them
    for (size_t bytes = 1; bytes < 300 * MIB; bytes += 1 + bytes / 9) {
      tsri_block *block = take(pool, bytes);
      size_t slack = block->bytes - bytes;
      CHECK(slack < 64 || (slack <= bytes / 8 && slack <= 2 * MIB));
      tsri_pool_give(pool, block);
    }
  }
  close_pool(&device, pool);
}

TEST(small_requests_share_a_segment) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_block *blocks[8];
  for (int i = 0; i < 8; i++) blocks[i] = take(pool, 256 * KIB);
  CHECK_EQ_INT(device.created, 1);
  CHECK_EQ_UINT(stats_of(pool).held_bytes, 2 * MIB);
  for (int i = 0; i < 8; i++) CHECK_EQ_UINT(blocks[i]->offset, (size_t)i * 256 * KIB);
  for (int i = 0; i < 8; i++) tsri_pool_give(pool, blocks[i]);
  close_pool(&device, pool);
}

TEST(the_smallest_free_block_that_fits_is_taken) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_block *large = take(pool, 32 * MIB), *middle = take(pool, 20 * MIB), *small = take(pool, 12 * MIB);
  tsri_pool_give(pool, small);
  tsri_pool_give(pool, middle);
  tsri_pool_give(pool, large);
  CHECK(take(pool, 19 * MIB) == middle);
  CHECK(take(pool, 11 * MIB) == small);
  tsri_pool_give(pool, middle);
  tsri_pool_give(pool, small);
  close_pool(&device, pool);
}

TEST(within_a_class_the_smallest_is_taken) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_block *small = take(pool, 66 * MIB), *large = take(pool, 70 * MIB);  // sizes from 64 to 72 MiB are one class
  tsri_pool_give(pool, small);
  tsri_pool_give(pool, large);  // now the first in the free list
  CHECK(take(pool, 66 * MIB) == small);
  CHECK(take(pool, 68 * MIB) == large);
  CHECK_EQ_UINT(large->bytes, 70 * MIB);  // the 2 MiB left over are too little to split off
  tsri_pool_give(pool, small);
  tsri_pool_give(pool, large);
  close_pool(&device, pool);
}

// --- Splitting and joining -----------------------------------------------------------------------

TEST(a_large_block_is_split_and_the_rest_kept) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_pool_give(pool, take(pool, 16 * MIB));
  tsri_block *left = take(pool, 4 * MIB), *right = take(pool, 12 * MIB);
  CHECK_EQ_INT(device.created, 1);
  CHECK(left->buffer == right->buffer);
  CHECK_EQ_UINT(left->bytes + right->bytes, 16 * MIB);
  tsri_pool_give(pool, left);
  tsri_pool_give(pool, right);
  close_pool(&device, pool);
}

TEST(free_neighbours_are_joined_when_nothing_else_fits) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_pool_give(pool, take(pool, 16 * MIB));
  tsri_block *parts[4];
  for (int i = 0; i < 4; i++) parts[i] = take(pool, 4 * MIB);
  tsri_pool_give(pool, parts[2]);
  tsri_pool_give(pool, parts[0]);
  tsri_pool_give(pool, parts[1]);
  tsri_block *joined = take(pool, 12 * MIB);
  CHECK_EQ_INT(device.created, 1);
  CHECK_EQ_UINT(joined->offset, 0);
  CHECK_EQ_UINT(joined->bytes, 12 * MIB);
  tsri_pool_give(pool, joined);
  tsri_pool_give(pool, parts[3]);
  close_pool(&device, pool);
}

TEST(a_small_block_does_not_pin_a_big_segment) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_pool_give(pool, take(pool, 64 * MIB));
  tsri_block *small = take(pool, KIB), *middle = take(pool, 3 * MIB);
  CHECK_EQ_INT(device.created, 3);
  CHECK_EQ_UINT(tsri_pool_trim(pool), 64 * MIB);
  tsri_pool_give(pool, small);
  tsri_pool_give(pool, middle);
  close_pool(&device, pool);
}

// --- Limit and shortage --------------------------------------------------------------------------

TEST(the_limit_refuses_with_the_figures) {
  tsri_device device = {.capacity = 8 * GIB};
  tsri_pool_desc desc = describe(&device);
  desc.limit_bytes = 2 * GIB;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_block *block = take(pool, GIB + GIB / 2);
  is_refused(pool, GIB, TSR_ERR_OUT_OF_MEMORY);
  CHECK_STR(tsr_last_error(),
            "1.0 GiB asked of fake:0, 1.5 GiB in use, 1.5 GiB held (limit 2.0 GiB), "
            "6.5 GiB free on the device");
  CHECK_EQ_INT(device.created, 1);
  tsri_block *fitting = take(pool, GIB / 2);  // the pool is still usable
  CHECK_EQ_UINT(stats_of(pool).held_bytes, 2 * GIB);
  tsri_pool_give(pool, fitting);
  tsri_pool_give(pool, block);
  close_pool(&device, pool);
}

TEST(kept_memory_makes_way_when_the_limit_is_reached) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.limit_bytes = 100 * MIB;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_pool_give(pool, take(pool, 40 * MIB));
  tsri_block *block = take(pool, 80 * MIB);
  CHECK_EQ_INT(device.settle_count, 1);
  CHECK_EQ_UINT(stats_of(pool).held_bytes, 80 * MIB);
  CHECK_EQ_UINT(stats_of(pool).trims, 1);
  tsri_pool_give(pool, block);
  close_pool(&device, pool);
}

TEST(a_limit_below_a_shared_segment_still_serves_small_requests) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.limit_bytes = MIB;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_block *block = take(pool, 100 * KIB);
  CHECK(stats_of(pool).held_bytes <= MIB);
  tsri_pool_give(pool, block);
  close_pool(&device, pool);
}

TEST(a_big_segment_in_use_is_cut_for_a_small_request_rather_than_failing) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.limit_bytes = 64 * MIB;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_pool_give(pool, take(pool, 64 * MIB));
  tsri_block *half = take(pool, 32 * MIB);
  tsri_block *small = take(pool, KIB);
  CHECK(small->buffer == half->buffer);
  CHECK_EQ_INT(device.settle_count, 0);  // nothing can be trimmed, so it does not wait
  tsri_pool_give(pool, half);
  tsri_pool_give(pool, small);
  CHECK_EQ_UINT(tsri_pool_trim(pool), 64 * MIB);
  close_pool(&device, pool);
}

TEST(a_trim_that_frees_too_little_is_followed_by_cutting_what_is_held) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.limit_bytes = 65 * MIB + 512 * KIB;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_pool_give(pool, take(pool, 64 * MIB));
  tsri_block *half = take(pool, 32 * MIB);
  tsri_pool_give(pool, take(pool, MIB + 512 * KIB));
  tsri_block *block = take(pool, 3 * MIB);
  CHECK(block->buffer == half->buffer);
  CHECK_EQ_INT(device.live, 1);
  tsri_pool_give(pool, half);
  tsri_pool_give(pool, block);
  close_pool(&device, pool);
}

static void take_during_create(tsri_device *device) {
  device->on_create = NULL;
  tsri_block *block = NULL;
  CHECK_STATUS(tsri_pool_take(device->pool, 8 * MIB, 0, &block), TSR_ERR_OUT_OF_MEMORY);
}

TEST(memory_on_its_way_counts_towards_the_limit) {
  tsri_device device = {.on_create = take_during_create};  // takes a block meanwhile, as another thread would
  tsri_pool_desc desc = describe(&device);
  desc.limit_bytes = 10 * MIB;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_pool_give(pool, take(pool, 8 * MIB));
  CHECK_EQ_INT(device.created, 1);
  close_pool(&device, pool);
}

TEST(out_of_memory_is_tried_again_after_a_trim) {
  tsri_device device = {.capacity = 100 * MIB};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_pool_give(pool, take(pool, 60 * MIB));
  tsri_block *block = take(pool, 90 * MIB);
  CHECK_EQ_INT(device.settle_count, 1);
  CHECK_EQ_INT(device.created, 3);
  CHECK_EQ_INT(device.live, 1);
  tsri_pool_give(pool, block);
  close_pool(&device, pool);
}

TEST(a_passing_failure_of_the_backend_is_not_seen) {
  tsri_device device = {.fail_nth = 1, .fail_status = TSR_ERR_OUT_OF_MEMORY};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_pool_give(pool, take(pool, KIB));
  CHECK_EQ_INT(device.created, 2);
  close_pool(&device, pool);
}

TEST(the_message_ends_with_what_the_backend_said) {
  tsri_device device = {.capacity = 100 * MIB};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_block *block = take(pool, 60 * MIB);
  is_refused(pool, 50 * MIB, TSR_ERR_OUT_OF_MEMORY);
  CHECK_STR(tsr_last_error(),
            "50.0 MiB asked of fake:0, 60.0 MiB in use, 60.0 MiB held, 40.0 MiB free on the "
            "device: fake 1: device is full");
  CHECK_EQ_INT(device.created, 3);  // buffer_create was tried twice
  tsri_pool_give(pool, block);
  close_pool(&device, pool);
}

TEST(other_failures_of_the_backend_come_through) {
  tsri_device device = {.fail_nth = 1, .fail_status = TSR_ERR_DEVICE_LOST};
  tsri_pool *pool = open_plain_pool(&device);
  is_refused(pool, KIB, TSR_ERR_DEVICE_LOST);
  CHECK_STR(tsr_last_error(), "fake 2: told to fail");
  CHECK_EQ_INT(device.settle_count, 0);
  close_pool(&device, pool);
}

TEST(a_wait_that_fails_comes_through_and_nothing_is_given_back) {
  tsri_device device = {.capacity = 10 * MIB, .settle_status = TSR_ERR_TIMEOUT};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_pool_give(pool, take(pool, 8 * MIB));
  is_refused(pool, 9 * MIB, TSR_ERR_TIMEOUT);
  CHECK_STR(tsr_last_error(), "fake 3: wait failed");
  CHECK_EQ_UINT(tsri_pool_trim(pool), 0);
  CHECK_EQ_INT(device.live, 1);
  close_pool(&device, pool);
}

static void give_during_settle(tsri_device *device) {
  if (device->held_by_test) tsri_pool_give(device->pool, device->held_by_test);
  device->held_by_test = NULL;
}

TEST(what_is_given_back_during_the_wait_serves_the_request) {
  tsri_device device = {.on_settle = give_during_settle};
  tsri_pool_desc desc = describe(&device);
  desc.limit_bytes = 10 * MIB;
  tsri_pool *pool = open_pool(&device, &desc);
  device.held_by_test = take(pool, 8 * MIB);
  tsri_block *block = take(pool, 8 * MIB);
  CHECK_EQ_INT(device.created, 1);
  tsri_pool_give(pool, block);
  close_pool(&device, pool);
}

static void use_during_settle(tsri_device *device) {
  tsri_block *block = NULL;
  if (tsri_pool_take(device->pool, 8 * MIB, 0, &block) == TSR_OK) tsri_pool_give(device->pool, block);
}

TEST(a_segment_used_again_during_the_wait_is_not_given_back) {
  tsri_device device = {.on_settle = use_during_settle};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_pool_give(pool, take(pool, 8 * MIB));
  CHECK_EQ_UINT(tsri_pool_trim(pool), 0);  // its new work was queued after the wait began
  CHECK_EQ_INT(device.live, 1);
  device.on_settle = NULL;
  CHECK_EQ_UINT(tsri_pool_trim(pool), 8 * MIB);
  close_pool(&device, pool);
}

TEST(more_than_the_largest_buffer_is_refused_at_once) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.max_buffer_bytes = 2 * GIB - 4;  // a limit that is not a multiple of anything
  tsri_pool *pool = open_pool(&device, &desc);
  is_refused(pool, 2 * GIB - 3, TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("no buffer there can be above 2.0 GiB");
  is_refused(pool, SIZE_MAX, TSR_ERR_OUT_OF_MEMORY);
  CHECK_EQ_INT(device.created, 0);
  tsri_block *largest = take(pool, 2 * GIB - 4);
  CHECK_EQ_UINT(largest->bytes, 2 * GIB - 4);
  tsri_pool_give(pool, largest);
  CHECK(take(pool, 2 * GIB - 4) == largest);
  tsri_pool_give(pool, largest);
  close_pool(&device, pool);
}

TEST(segments_stay_within_a_small_largest_buffer) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.max_buffer_bytes = 1000;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_block *blocks[3];
  for (int i = 0; i < 3; i++) blocks[i] = take(pool, 30 + 480 * (size_t)i);
  for (int i = 0; i < 3; i++) CHECK(blocks[i]->buffer->bytes <= 1000);
  for (int i = 0; i < 3; i++) tsri_pool_give(pool, blocks[i]);
  close_pool(&device, pool);
}

// --- Trim, initial size, statistics --------------------------------------------------------------

TEST(trim_gives_back_what_is_not_in_use) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  CHECK_EQ_UINT(tsri_pool_trim(pool), 0);
  CHECK_EQ_INT(device.settle_count, 0);
  tsri_block *kept = take(pool, 8 * MIB), *small = take(pool, KIB), *gone = take(pool, 4 * MIB);
  tsri_pool_give(pool, gone);
  tsri_pool_give(pool, small);
  CHECK_EQ_UINT(tsri_pool_trim(pool), 6 * MIB);
  CHECK_EQ_INT(device.settle_count, 1);
  CHECK_EQ_INT(device.live, 1);
  CHECK_EQ_UINT(tsri_pool_trim(pool), 0);
  CHECK_EQ_UINT(stats_of(pool).trims, 1);
  tsri_pool_give(pool, kept);
  close_pool(&device, pool);
}

TEST(trim_joins_free_neighbours_in_what_stays) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_block *parts[4];
  for (int i = 0; i < 4; i++) parts[i] = take(pool, 512 * KIB);
  for (int i = 1; i < 4; i++) tsri_pool_give(pool, parts[i]);
  CHECK_EQ_UINT(tsri_pool_trim(pool), 0);
  CHECK_EQ_UINT(parts[0]->next->bytes, 1536 * KIB);
  CHECK(parts[0]->next->next == NULL);
  tsri_pool_give(pool, parts[0]);
  close_pool(&device, pool);
}

TEST(the_initial_size_is_taken_at_once_and_serves_every_size) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.initial_bytes = desc.limit_bytes = 100 * MIB;
  desc.max_buffer_bytes = 64 * MIB;
  tsri_pool *pool = open_pool(&device, &desc);
  CHECK_EQ_INT(device.created, 2);
  CHECK_EQ_UINT(stats_of(pool).held_bytes, 100 * MIB);
  tsri_block *small = take(pool, 100), *middle = take(pool, 3 * MIB), *large = take(pool, 60 * MIB);
  CHECK_EQ_INT(device.created, 2);
  CHECK_EQ_UINT(stats_of(pool).hits, 3);
  tsri_pool_give(pool, small);
  tsri_pool_give(pool, middle);
  tsri_pool_give(pool, large);
  close_pool(&device, pool);
}

TEST(an_initial_size_that_cannot_be_had_fails_the_creation) {
  tsri_device device = {.capacity = 100 * MIB};
  tsri_pool_desc desc = describe(&device);
  tsri_pool *pool = (tsri_pool *)&device;  // anything but NULL
  desc.max_buffer_bytes = 64 * MIB;
  desc.initial_bytes = 120 * MIB;
  CHECK_STATUS(tsri_pool_create(&desc, &pool), TSR_ERR_OUT_OF_MEMORY);
  CHECK(pool == NULL);
  CHECK_STR(tsr_last_error(), "initial pool of 120.0 MiB on fake:0: fake 1: device is full");
  CHECK_EQ_INT(device.live, 0);
  desc.limit_bytes = 110 * MIB;
  CHECK_STATUS(tsri_pool_create(&desc, &pool), TSR_ERR_OUT_OF_MEMORY);
  CHECK_LAST_ERROR_HAS("above the limit of 110.0 MiB");
}

TEST(statistics_count_every_request) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.limit_bytes = 32 * MIB;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_block *a = take(pool, 4 * MIB), *b = take(pool, 8 * MIB);
  tsri_pool_give(pool, a);
  a = take(pool, 4 * MIB);
  tsri_pool_give(pool, b);
  is_refused(pool, 30 * MIB, TSR_ERR_OUT_OF_MEMORY);  // gives b's segment back
  tsr_memory_stats is = stats_of(pool);
  CHECK_EQ_UINT(is.in_use_bytes, 4 * MIB);
  CHECK_EQ_UINT(is.held_bytes, 4 * MIB);
  CHECK_EQ_UINT(is.peak_bytes, 12 * MIB);
  CHECK_EQ_UINT(is.limit_bytes, 32 * MIB);
  CHECK_EQ_UINT(is.allocations, 3);
  CHECK_EQ_UINT(is.hits, 1);
  CHECK_EQ_UINT(is.trims, 1);
  tsri_pool_give(pool, a);
  close_pool(&device, pool);
}

// --- Alignment, own buffers ----------------------------------------------------------------------

TEST(an_alignment_above_the_devices_is_honoured) {
  tsri_device device = {0};
  tsri_pool *pool = open_plain_pool(&device);
  tsri_block *first = take(pool, 100), *aligned = take_aligned(pool, 100, 4096);
  CHECK(aligned->buffer == first->buffer);
  CHECK_EQ_UINT(aligned->offset, 4096);
  tsri_block *between = take(pool, 2048);  // the bytes before the aligned block stay usable
  CHECK_EQ_UINT(between->offset, first->bytes);
  tsri_pool_give(pool, aligned);
  CHECK(take_aligned(pool, 100, 4096) == aligned);
  tsri_block *large = take_aligned(pool, 5 * MIB, 4 * MIB);
  CHECK_EQ_UINT(large->offset % (4 * MIB), 0);
  tsri_block *wide = take_aligned(pool, 100, (size_t)1 << (sizeof(size_t) * 8 - 1));
  CHECK_EQ_UINT(wide->offset, 0);
  tsri_block *all[] = {first, aligned, between, large, wide};
  for (int i = 0; i < 5; i++) tsri_pool_give(pool, all[i]);
  close_pool(&device, pool);
}

TEST(offsets_are_multiples_of_the_devices_alignment) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.alignment = 512;
  tsri_pool *pool = open_pool(&device, &desc);
  tsri_block *blocks[20];
  for (size_t i = 0; i < 20; i++) {
    blocks[i] = take(pool, 1 + 333 * i);
    CHECK_EQ_UINT(blocks[i]->offset % 512, 0);
  }
  for (size_t i = 0; i < 20; i++) tsri_pool_give(pool, blocks[i]);
  close_pool(&device, pool);
}

TEST(with_own_buffers_no_two_blocks_share_one) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.own_buffers = true;
  desc.initial_bytes = 16 * MIB;
  tsri_pool *pool = open_pool(&device, &desc);
  CHECK_EQ_INT(device.created, 0);
  tsri_block *a = take(pool, 100), *b = take(pool, 100), *large = take(pool, 10 * MIB);
  CHECK(a->buffer != b->buffer);
  CHECK_EQ_UINT(a->buffer->bytes, 128);
  tsri_pool_give(pool, a);
  tsri_pool_give(pool, large);
  CHECK(take(pool, 128) == a);
  tsri_block *c = take(pool, 5 * MIB);  // a buffer of twice the size is not used for it
  CHECK(c != large);
  CHECK_EQ_UINT(c->offset, 0);
  CHECK(take_aligned(pool, 10 * MIB - 5, 8192) == large);
  tsri_block *all[] = {a, b, c, large};
  for (int i = 0; i < 4; i++) tsri_pool_give(pool, all[i]);
  CHECK_EQ_UINT(tsri_pool_trim(pool), 256 + 15 * MIB);
  close_pool(&device, pool);
}

// --- Misuse --------------------------------------------------------------------------------------

#ifndef NDEBUG
// Runs `misuse` in a child process. Returns true if an assertion stopped it.
static bool aborts(void (*misuse)(tsri_pool *pool, tsri_pool *other), tsri_pool *pool, tsri_pool *other) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    signal(SIGABRT, SIG_DFL);
    if (!freopen("/dev/null", "w", stderr)) _exit(2);
    misuse(pool, other);
    _exit(0);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void give_twice(tsri_pool *pool, tsri_pool *other) {
  (void)other;
  tsri_block *block = NULL;
  if (tsri_pool_take(pool, 100, 0, &block) != TSR_OK) return;
  tsri_pool_give(pool, block);
  tsri_pool_give(pool, block);
}

static void give_elsewhere(tsri_pool *pool, tsri_pool *other) {
  tsri_block *block = NULL;
  if (tsri_pool_take(pool, 100, 0, &block) == TSR_OK) tsri_pool_give(other, block);
}

static void give_after_it_was_joined(tsri_pool *pool, tsri_pool *other) {
  (void)other;
  tsri_block *pair[2] = {0};
  for (int i = 0; i < 2; i++) {
    if (tsri_pool_take(pool, MIB, 0, &pair[i]) != TSR_OK) return;
  }
  for (int i = 0; i < 2; i++) tsri_pool_give(pool, pair[i]);
  tsri_block *joined = NULL;
  if (tsri_pool_take(pool, 2 * MIB, 0, &joined) == TSR_OK) tsri_pool_give(pool, pair[1]);
}

TEST(giving_back_what_is_not_taken_is_an_assert) {
  tsri_device device = {0}, other_device = {0};
  tsri_pool *pool = open_plain_pool(&device), *other = open_plain_pool(&other_device);
  CHECK(aborts(give_twice, pool, other));
  CHECK(aborts(give_elsewhere, pool, other));
  CHECK(aborts(give_after_it_was_joined, pool, other));
  close_pool(&device, pool);
  close_pool(&other_device, other);
}
#endif

// --- Failing host memory -------------------------------------------------------------------------

// Takes and gives blocks in every way that allocates host memory. False if any request failed.
static bool run_scenario(tsri_device *device) {
  tsri_pool_desc desc = describe(device);
  desc.initial_bytes = 4 * MIB;
  tsri_pool *pool = NULL;
  if (tsri_pool_create(&desc, &pool) != TSR_OK) return false;
  tsri_block *blocks[200] = {0};
  bool all = true;
  for (size_t i = 0; i < 200; i++) {
    size_t bytes = i % 5 == 0 ? 3 * MIB : 50 * KIB;
    tsr_status status = tsri_pool_take(pool, bytes, i % 7 == 0 ? 65536 : 0, &blocks[i]);
    all = all && status == TSR_OK;
    if (status != TSR_OK && status != TSR_ERR_OUT_OF_MEMORY) abort();
    if ((status == TSR_OK) != (blocks[i] != NULL)) abort();
  }
  if (!tsri_pool_is_sound(pool)) abort();
  for (size_t i = 0; i < 200; i++) {
    if (blocks[i]) tsri_pool_give(pool, blocks[i]);
  }
  tsri_alloc_fail_at(0, false);
  tsri_block *after = NULL;  // the pool is still usable
  if (tsri_pool_take(pool, 20 * MIB, 0, &after) != TSR_OK) abort();
  tsri_pool_give(pool, after);
  tsri_pool_trim(pool);
  tsri_pool_destroy(pool);
  return all;
}

TEST(every_failing_host_allocation_is_survived) {
  for (int and_after = 0; and_after < 2; and_after++) {
    bool all = false;
    uint64_t nth = 0;
    while (!all && nth < 1000) {
      tsri_device device = {0};
      tsri_alloc_fail_at(++nth, and_after);
      all = run_scenario(&device);
      tsri_alloc_fail_at(0, false);
      CHECK_EQ_INT(device.live, 0);
      if (!all) CHECK_STATUS(tsr_last_error_status(), TSR_ERR_OUT_OF_MEMORY);
      if (!all) CHECK_LAST_ERROR_HAS("no host memory");
    }
    CHECK(all && nth > 40);
  }
}

// --- Soak ----------------------------------------------------------------------------------------

enum { LIVE_MOST = 400, SOAK_STEPS = 100000 };

// Live blocks, sorted by buffer and offset: a simple interval set.
typedef struct model {
  tsri_block *live[LIVE_MOST];
  size_t count;
  uint64_t bytes, peak, taken;
} model;

static bool is_before(const tsri_block *a, const tsri_block *b) {
  if (a->buffer != b->buffer) return (uintptr_t)a->buffer < (uintptr_t)b->buffer;
  return a->offset < b->offset;
}

static bool are_apart(const tsri_block *a, const tsri_block *b) {
  return a->buffer != b->buffer || a->offset + a->bytes <= b->offset;
}

static void model_add(model *m, tsri_block *block) {
  size_t at = m->count;
  while (at > 0 && is_before(block, m->live[at - 1])) at--;
  if (at > 0) CHECK(are_apart(m->live[at - 1], block));
  if (at < m->count) CHECK(are_apart(block, m->live[at]));
  for (size_t i = m->count; i > at; i--) m->live[i] = m->live[i - 1];
  m->live[at] = block;
  m->count++;
  m->taken++;
  m->bytes += block->bytes;
  if (m->bytes > m->peak) m->peak = m->bytes;
}

static tsri_block *model_remove(model *m, size_t at) {
  tsri_block *block = m->live[at];
  m->count--;
  for (size_t i = at; i < m->count; i++) m->live[i] = m->live[i + 1];
  m->bytes -= block->bytes;
  return block;
}

static uint32_t random_next(uint64_t *state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (uint32_t)(*state >> 33);
}

// Sizes up to 16 MiB; every order of magnitude is equally likely.
static size_t random_bytes(uint64_t *state) {
  size_t top = (size_t)1 << random_next(state) % 24;
  return top + random_next(state) % top;
}

static void soak_take(tsri_pool *pool, model *m, uint64_t *random) {
  size_t bytes = random_bytes(random);
  size_t alignment = random_next(random) % 8 == 0 ? (size_t)1 << random_next(random) % 16 : 0;
  tsri_block *block = NULL;
  tsr_status status = tsri_pool_take(pool, bytes, alignment, &block);
  if (status == TSR_ERR_OUT_OF_MEMORY) {
    CHECK(block == NULL);
    return;
  }
  CHECK_OK(status);
  CHECK(block->bytes >= bytes && block->offset + block->bytes <= block->buffer->bytes);
  CHECK(block->offset % 64 == 0 && (alignment == 0 || block->offset % alignment == 0));
  model_add(m, block);
}

static void soak(const tsri_pool_desc *desc, tsri_device *device, uint64_t seed) {
  tsri_pool *pool = open_pool(device, desc);
  model m = {.count = 0};
  uint64_t random = seed;
  for (int step = 0; step < SOAK_STEPS; step++) {
    bool is_growing = step / 500 % 2 == 0;  // alternates between filling and draining
    bool takes = random_next(&random) % 10 < (is_growing ? 7u : 3u);
    if (takes && m.count < LIVE_MOST) soak_take(pool, &m, &random);
    else if (m.count > 0) tsri_pool_give(pool, model_remove(&m, random_next(&random) % m.count));
    if (step % 1000 == 999) tsri_pool_trim(pool);
    if (step % 100 == 0) CHECK(tsri_pool_is_sound(pool));
    tsr_memory_stats is = stats_of(pool);
    CHECK(is.in_use_bytes == m.bytes && is.peak_bytes == m.peak && is.allocations == m.taken);
    CHECK(is.held_bytes == device->live_bytes && is.held_bytes >= is.in_use_bytes);
    CHECK(desc->limit_bytes == 0 || is.held_bytes <= desc->limit_bytes);
  }
  CHECK(stats_of(pool).hits > stats_of(pool).allocations / 4);
  while (m.count > 0) tsri_pool_give(pool, model_remove(&m, 0));
  tsri_pool_trim(pool);
  CHECK_EQ_UINT(stats_of(pool).held_bytes, 0);
  close_pool(device, pool);
}

TEST(no_two_live_blocks_overlap_in_a_long_random_run) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  soak(&desc, &device, 1);
}

TEST(no_two_live_blocks_overlap_when_memory_is_short) {
  tsri_device device = {.capacity = 150 * MIB};
  tsri_pool_desc desc = describe(&device);
  desc.initial_bytes = 30 * MIB;
  soak(&desc, &device, 2);
  desc.limit_bytes = 100 * MIB;
  soak(&desc, &device, 3);
}

TEST(own_buffers_last_through_a_long_random_run) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.own_buffers = true;
  desc.limit_bytes = 200 * MIB;
  soak(&desc, &device, 4);
}

TEST(resting_blocks_last_through_a_long_random_run) {
  tsri_device device = {.capacity = 150 * MIB};
  tsri_pool_desc desc = describe(&device);
  desc.overlaps = true;
  soak(&desc, &device, 6);
  desc.limit_bytes = 100 * MIB;
  soak(&desc, &device, 7);
}

// --- Threads -------------------------------------------------------------------------------------

enum { THREADS = 8, THREAD_STEPS = 4000, THREAD_LIVE = 16 };

typedef struct worker {
  pthread_t thread;
  tsri_pool *pool;
  uint64_t random;
  unsigned char tag;
  int failures;  // failed checks; read after the thread has ended
  int refusals;
} worker;

static bool is_marked(const tsri_block *block, unsigned char tag) {
  const unsigned char *memory = block->buffer->memory + block->offset;
  return memory[0] == tag && memory[block->bytes - 1] == tag;
}

// Writes both ends of each block it takes: if two threads had the same block, that would be a data race.
static void worker_take(worker *w, tsri_block **slot) {
  size_t bytes = random_bytes(&w->random) / 4 + 1;
  tsr_status status = tsri_pool_take(w->pool, bytes, 0, slot);
  if (status == TSR_ERR_OUT_OF_MEMORY) w->refusals++;
  else if (status != TSR_OK) w->failures++;
  if (status != TSR_OK) return;
  unsigned char *memory = (*slot)->buffer->memory + (*slot)->offset;
  memory[0] = memory[(*slot)->bytes - 1] = w->tag;
}

static void worker_give(worker *w, tsri_block **slot) {
  if (!is_marked(*slot, w->tag)) w->failures++;
  tsri_pool_give(w->pool, *slot);
  *slot = NULL;
}

static void *run_worker(void *user) {
  worker *w = user;
  tsri_block *live[THREAD_LIVE] = {0};
  for (int step = 0; step < THREAD_STEPS; step++) {
    tsri_block **slot = &live[random_next(&w->random) % THREAD_LIVE];
    if (*slot) worker_give(w, slot);
    else worker_take(w, slot);
    if (step % 500 == 499) tsri_pool_trim(w->pool);
  }
  for (int i = 0; i < THREAD_LIVE; i++) {
    if (live[i]) worker_give(w, &live[i]);
  }
  return NULL;
}

static tsr_status settle_nothing(void *user) {
  (void)user;
  return TSR_OK;
}

static void run_workers(uint64_t limit_bytes) {
  tsri_device device = {.has_memory = true};
  tsri_pool_desc desc = describe(&device);
  desc.settle = settle_nothing;
  desc.limit_bytes = limit_bytes;
  tsri_pool *pool = open_pool(&device, &desc);
  worker workers[THREADS];
  for (int i = 0; i < THREADS; i++) {
    workers[i] = (worker){.pool = pool, .random = (uint64_t)i + 1, .tag = (unsigned char)(i + 1)};
    CHECK_EQ_INT(pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) pthread_join(workers[i].thread, NULL);
  for (int i = 0; i < THREADS; i++) {
    CHECK_EQ_INT(workers[i].failures, 0);
    if (limit_bytes == 0) CHECK_EQ_INT(workers[i].refusals, 0);
  }
  CHECK_EQ_UINT(stats_of(pool).in_use_bytes, 0);
  CHECK(limit_bytes == 0 || stats_of(pool).held_bytes <= limit_bytes);
  close_pool(&device, pool);
}

TEST(eight_threads_share_a_pool) { run_workers(0); }

TEST(eight_threads_share_a_pool_that_is_too_small) { run_workers(12 * MIB); }

// --- Blocks that rest ------------------------------------------------------------------------------

TEST(small_blocks_rest_before_they_are_handed_out_again) {
  for (int own_buffers = 0; own_buffers < 2; own_buffers++) {
    tsri_device device = {0};
    tsri_pool_desc desc = describe(&device);
    desc.overlaps = true;
    desc.own_buffers = own_buffers != 0;
    tsri_pool *pool = open_pool(&device, &desc);
    tsri_block *first = take(pool, 4000);
    tsri_pool_give(pool, first);
    CHECK_EQ_UINT(stats_of(pool).in_use_bytes, 0);
    for (int i = 0; i < TSRI_RESTING_BLOCKS; i++) {
      tsri_block *block = take(pool, 4000);
      CHECK(block != first);
      tsri_pool_give(pool, block);
      CHECK(tsri_pool_is_sound(pool));
    }
    int created = device.created;
    for (int i = 0; i < 3 * TSRI_RESTING_BLOCKS; i++) tsri_pool_give(pool, take(pool, 4000));
    CHECK_EQ_INT(device.created, created);  // there are enough by now
    tsri_block *large = take(pool, MIB);
    tsri_pool_give(pool, large);
    CHECK(take(pool, MIB) == large);  // large ones do not rest
    tsri_pool_give(pool, large);
    tsri_pool_trim(pool);
    CHECK_EQ_UINT(stats_of(pool).held_bytes, 0);
    close_pool(&device, pool);
  }
}

TEST(blocks_do_not_rest_when_memory_is_short) {
  tsri_device device = {0};
  tsri_pool_desc desc = describe(&device);
  desc.overlaps = desc.own_buffers = true;
  desc.limit_bytes = 10 * 4096;
  tsri_pool *pool = open_pool(&device, &desc);
  for (int i = 0; i < 100; i++) tsri_pool_give(pool, take(pool, 4096));
  CHECK_EQ_INT(device.created, 10);
  CHECK_EQ_INT(device.settle_count, 0);
  tsri_pool_give(pool, take(pool, 5 * 4096));  // gives the others back to the device
  CHECK(stats_of(pool).held_bytes <= desc.limit_bytes);
  close_pool(&device, pool);
}
