// SPDX-License-Identifier: MIT
// Copies, fills, events, waits and graphs of the ROCm backend.
#include "backends/common/queue_testing.h"
#include "backends/rocm/fixture.h"

static fixture open_with(const tsri_open_options *options) { return fixture_open_with("", options); }

QUEUE_TESTS(open_with, fixture_close, false)

TEST(a_wait_that_takes_too_long_is_a_status_and_the_work_goes_on) {
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
