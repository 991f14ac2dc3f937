// SPDX-License-Identifier: MIT
#include <tessera/tessera.h>

#include "backends/cpu/cpu.h"
#include "support/test.h"

TEST(long_fills_reach_their_end_and_go_no_further_on_several_threads) {
  enum { PATTERN = 8, BYTES = (5 << 20) + 24, BEFORE = 64 };
  static const unsigned char pattern[PATTERN] = {1, 2, 3, 4, 5, 6, 7, 8};
  for (int threads = 1; threads <= 3; threads++) {
    tsri_limits limits;
    tsri_open_options options = {.threads = threads, .native = "all"};
    tsri_device *device = NULL;
    tsri_queue *queue = NULL;
    tsri_buffer *buffer = NULL;
    CHECK_OK(tsri_cpu_device_open(0, &options, &limits, &device));
    CHECK_OK(tsri_cpu_queue_create(device, &queue));
    CHECK_OK(tsri_cpu_buffer_create(device, BEFORE + BYTES + 1, &buffer));
    unsigned char *memory = tsri_cpu_buffer_host(NULL, buffer);
    memset(memory, 9, BEFORE + BYTES + 1);
    CHECK_OK(tsri_cpu_fill(queue, buffer, BEFORE, BYTES, pattern, PATTERN));
    CHECK(memory[BEFORE - 1] == 9 && memory[BEFORE + BYTES] == 9);
    for (int i = 0; i < BYTES; i++) CHECK(memory[BEFORE + i] == pattern[i % PATTERN]);
    tsri_cpu_buffer_destroy(device, buffer);
    tsri_cpu_queue_destroy(queue);
    tsri_cpu_device_close(device);
  }
}
