// SPDX-License-Identifier: MIT
// Copies, fills, events, waits and graphs of the ROCm backend.
#include <stdlib.h>

#include "backends/rocm/fixture.h"

#define SEAM_COPY_BYTES     (40 << 20) + 13
#define SEAM_SLOW_GROUPS    16
#define SEAM_SLOW_ROUNDS    20000
#define SEAM_MAY_LACK_TIMES false
#include "backends/common/seam_tests.inc"

// As the test of slow work above, but what takes its time is the stand-in's device, not the kernel.
TEST(a_wait_for_a_slow_device_ends_in_time) {
  fixture f = fixture_open_as("slow=30");
  static const uint32_t zeros[64], rounds = 10;
  fixture_kernel k = fixture_compile(&f, slow_kernel, NULL, "", false);
  tsri_buffer *buffer = fixture_buffer(&f, sizeof zeros, zeros);
  fixture_launch(&f, &k, 1, 1, 1, &(fixture_bound){buffer, sizeof zeros, 0}, &rounds);
  CHECK_STATUS(f.backend->queue_wait(f.queue, 1000000), TSR_ERR_TIMEOUT);
  CHECK_LAST_ERROR_HAS("did not finish");
  check_slow_work(&f, buffer, 64, rounds);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}

TEST(a_graph_repeats_a_launch_and_a_fill) {
  fixture f = fixture_open();
  static const char text[] = "kernel add(inout f64 x[], u32 n) { if (global.x < n) x[global.x] += 1.0; }\n";
  const uint32_t count = 5;
  double seen[8], value = 0.1;
  fixture_kernel k = fixture_compile(&f, text, NULL, "", false);
  tsri_buffer *buffer = fixture_buffer(&f, sizeof seen, NULL);
  tsri_graph *graph = NULL;
  CHECK_OK(f.backend->graph_begin(f.queue));
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, sizeof seen, &value, sizeof value));
  fixture_launch(&f, &k, 1, 1, 1, &(fixture_bound){buffer, sizeof seen, 0}, &count);
  fixture_launch(&f, &k, 1, 1, 1, &(fixture_bound){buffer, sizeof seen, 0}, &count);
  CHECK_OK(f.backend->graph_end(f.queue, &graph));
  for (int round = 0; round < 3; round++) {
    CHECK_OK(f.backend->graph_launch(f.queue, graph));
    fixture_read(&f, buffer, 0, seen, sizeof seen);
    for (int i = 0; i < 8; i++) CHECK_NEAR(seen[i], i < 5 ? 2.1 : 0.1, 1e-12);
    value = 7;
  }
  f.backend->graph_destroy(f.device, graph);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_discard(&f, &k);
  fixture_close(&f);
}
