// SPDX-License-Identifier: MIT
// Recorded graphs: nothing runs during recording; each launch runs everything that was recorded.
#include "backends/cuda/fixture.h"

TEST(a_graph_repeats_what_was_recorded_on_the_present_bytes) {
  fixture f = fixture_open();
  tsri_buffer *from = fixture_buffer(&f, 64, NULL), *to = fixture_buffer(&f, 64, NULL);
  unsigned char ones[64], twos[64], seen[64], zero = 0;
  memset(ones, 1, sizeof ones);
  memset(twos, 2, sizeof twos);
  CHECK_OK(f.backend->fill(f.queue, to, 0, 64, &zero, 1));
  fixture_write(&f, from, 0, ones, sizeof ones);
  tsri_graph *graph = NULL;
  CHECK_OK(f.backend->graph_begin(f.queue));
  CHECK_OK(f.backend->copy(f.queue, to, 0, from, 0, 64));
  CHECK_OK(f.backend->graph_end(f.queue, &graph));
  fixture_read(&f, to, 0, seen, sizeof seen);
  CHECK_EQ_INT(seen[5], 0);  // the copy was recorded, not run
  CHECK_OK(f.backend->graph_launch(f.queue, graph));
  fixture_read(&f, to, 0, seen, sizeof seen);
  CHECK_BYTES(seen, ones, sizeof ones);
  fixture_write(&f, from, 0, twos, sizeof twos);
  CHECK_OK(f.backend->graph_launch(f.queue, graph));
  fixture_read(&f, to, 0, seen, sizeof seen);
  CHECK_BYTES(seen, twos, sizeof twos);
  f.backend->graph_destroy(f.device, graph);
  f.backend->buffer_destroy(f.device, from);
  f.backend->buffer_destroy(f.device, to);
  fixture_close(&f);
}

TEST(a_graph_keeps_fills_of_8_bytes_which_read_no_host_memory) {
  fixture f = fixture_open();
  enum { BYTES = 24 * 8 };
  tsri_buffer *to = fixture_buffer(&f, BYTES, NULL);
  double value = 0.1, seen[BYTES / 8], zero = 0;
  tsri_graph *graph = NULL;
  CHECK_OK(f.backend->graph_begin(f.queue));
  CHECK_OK(f.backend->fill(f.queue, to, 8, BYTES - 16, &value, sizeof value));
  CHECK_OK(f.backend->graph_end(f.queue, &graph));
  value = 7;
  CHECK_OK(f.backend->fill(f.queue, to, 0, BYTES, &zero, sizeof zero));
  CHECK_OK(f.backend->graph_launch(f.queue, graph));
  fixture_read(&f, to, 0, seen, sizeof seen);
  for (int i = 0; i < BYTES / 8; i++) CHECK(seen[i] == (i > 0 && i < BYTES / 8 - 1 ? 0.1 : 0));
  f.backend->graph_destroy(f.device, graph);
  f.backend->buffer_destroy(f.device, to);
  fixture_close(&f);
}
