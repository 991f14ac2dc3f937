// SPDX-License-Identifier: MIT
// Memory of intermediate results is given back while the plan that computed them still runs, and no sooner.
#include <string.h>
#include <tessera/tessera.h>

#include "support/devices.h"
#include "support/test.h"

enum { COUNT = 1 << 16, BYTES = COUNT * 4, LINKS = 20 };

static tsr_memory_stats memory(tsr_device *device) {
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  return stats;
}

static tsr_tensor *start(tsr_device *device) {
  tsr_tensor *x = tsr_rand(device, TSR_F32, TSR_SHAPE(256, COUNT / 256), 1);
  CHECK_OK(tsr_evaluate(x));
  return x;
}

// A kernel of its own, with a small result.
static tsr_tensor *link_to(tsr_tensor *x) {
  tsr_tensor *sum = tsr_cumsum(x, 0), *y = tsr_mul_scalar(sum, 1.0 / 256);
  tsr_release(sum);
  return y;
}

// Records LINKS kernels, each of which reads the result of the one before. The result of kernel `held` stays a tensor, in `*out_held`; -1: none.
static tsr_tensor *chain(tsr_tensor *x, int held, tsr_tensor **out_held) {
  tsr_tensor *y = tsr_retain(x);
  for (int i = 0; i < LINKS; i++) {
    tsr_tensor *next = link_to(y);
    if (i == held) *out_held = next;
    if (i - 1 != held || i == 0) tsr_release(y);
    y = next;
  }
  return y;
}

TEST(a_chain_of_kernels_in_one_plan_needs_two_results_at_a_time) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *x = start(device), *y = chain(x, -1, NULL);
  uint64_t before = memory(device).in_use_bytes;
  CHECK_EQ_UINT(before, BYTES);
  CHECK_OK(tsr_evaluate(y));
  CHECK_EQ_UINT(memory(device).peak_bytes, before + 2 * BYTES);
  CHECK_EQ_UINT(memory(device).in_use_bytes, before + BYTES);
  tsr_release(x);
  tsr_release(y);
  CHECK_EQ_UINT(memory(device).in_use_bytes, 0);
  tsr_device_release(device);
}

static float ends[2][COUNT], middles[2][COUNT];

TEST(what_somebody_holds_keeps_its_memory) {
  for (int is_held = 0; is_held < 2; is_held++) {
    tsr_device *device = test_open("cpu");
    tsr_tensor *middle = NULL, *x = start(device), *y = chain(x, is_held ? 7 : -1, &middle);
    if (!is_held) {
      middle = tsr_retain(x);
      for (int i = 0; i <= 7; i++) {
        tsr_tensor *next = link_to(middle);
        tsr_release(middle);
        middle = next;
      }
    }
    CHECK_OK(tsr_read(y, ends[is_held], BYTES));
    CHECK_OK(tsr_read(middle, middles[is_held], BYTES));
    tsr_release(x);
    tsr_release(y);
    tsr_release(middle);
    CHECK_EQ_UINT(memory(device).in_use_bytes, 0);
    tsr_device_release(device);
  }
  CHECK(memcmp(ends[0], ends[1], BYTES) == 0 && memcmp(middles[0], middles[1], BYTES) == 0);
}

// The second of two equal nodes is read when nothing refers to the first any more.
TEST(an_equal_node_finds_the_memory_of_the_first) {
  for (int is_merged = 0; is_merged < 2; is_merged++) {
    tsr_device *device = test_open("cpu");
    tsr_tensor *x = start(device), *first = link_to(x), *again = link_to(x);
    if (!is_merged) CHECK_OK(tsr_evaluate(again));
    tsr_tensor *far = chain(first, -1, NULL), *sum = NULL;
    tsr_release(first);
    sum = tsr_add(far, again);
    tsr_release(far);
    tsr_release(again);
    CHECK_OK(tsr_read(sum, ends[is_merged], BYTES));
    tsr_release(sum);
    tsr_release(x);
    CHECK_EQ_UINT(memory(device).in_use_bytes, 0);
    tsr_device_release(device);
  }
  CHECK(memcmp(ends[0], ends[1], BYTES) == 0);
}
