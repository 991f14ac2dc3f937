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

// --- Steps that may run side by side: the stand-in runs what was recorded last first, unless it depends on something -------------------------

TEST(a_step_runs_after_those_that_it_is_given) {
  fixture f = fixture_open();
  tsri_buffer *from = fixture_buffer(&f, 64, NULL), *to = fixture_buffer(&f, 64, NULL);
  unsigned char seen[64], one = 1, two = 2, three = 3;
  tsri_graph *graph = NULL;
  CHECK_OK(f.backend->graph_begin(f.queue));
  CHECK_OK(f.backend->graph_step(f.queue, NULL, 0));
  CHECK_OK(f.backend->fill(f.queue, from, 0, 64, &one, 1));
  CHECK_OK(f.backend->graph_step(f.queue, (const int[]){0}, 1));
  CHECK_OK(f.backend->copy(f.queue, to, 0, from, 0, 32));
  CHECK_OK(f.backend->graph_step(f.queue, (const int[]){1}, 1));
  CHECK_OK(f.backend->fill(f.queue, from, 0, 64, &two, 1));
  CHECK_OK(f.backend->graph_step(f.queue, NULL, 0));
  CHECK_OK(f.backend->fill(f.queue, to, 32, 32, &three, 1));
  CHECK_OK(f.backend->graph_end(f.queue, &graph));
  for (int i = 0; i < 2; i++) CHECK_OK(f.backend->graph_launch(f.queue, graph));
  fixture_read(&f, to, 0, seen, sizeof seen);
  for (int i = 0; i < 64; i++) CHECK_EQ_INT(seen[i], i < 32 ? 1 : 3);
  fixture_read(&f, from, 0, seen, sizeof seen);
  CHECK_EQ_INT(seen[0], 2);
  f.backend->graph_destroy(f.device, graph);
  f.backend->buffer_destroy(f.device, from);
  f.backend->buffer_destroy(f.device, to);
  fixture_close(&f);
}

TEST(steps_get_work_space_of_their_own_and_wait_for_it_when_it_is_used_up) {
  enum { HALF = CUDA_WORKSPACE_BYTES / 2 };
  fixture f = fixture_open();
  tsri_buffer *buffer = fixture_buffer(&f, 64, NULL);
  cuda_queue *queue = cuda_queue_of(f.queue);
  unsigned char seen[64], one = 1, two = 2, three = 3;
  tsri_graph *graph = NULL;
  bool was_pushed = tsri_cuda_enter(queue->device);
  CHECK_EQ_INT(tsri_cuda_workspace(queue), CU_SUCCESS);
  CHECK(tsri_cuda_take_workspace(queue, HALF) == queue->workspace);
  CHECK(tsri_cuda_take_workspace(queue, HALF) == queue->workspace);
  CHECK_OK(f.backend->graph_begin(f.queue));
  CHECK_OK(f.backend->graph_step(f.queue, NULL, 0));
  CHECK(tsri_cuda_take_workspace(queue, HALF) == queue->workspace);
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, 32, &one, 1));
  CHECK_OK(f.backend->graph_step(f.queue, NULL, 0));
  CHECK(tsri_cuda_take_workspace(queue, HALF) == queue->workspace + HALF);
  CHECK_OK(f.backend->fill(f.queue, buffer, 32, 32, &two, 1));
  CHECK_OK(f.backend->graph_step(f.queue, NULL, 0));
  CHECK(tsri_cuda_take_workspace(queue, HALF + 1) == queue->workspace);
  CHECK_OK(f.backend->fill(f.queue, buffer, 0, 64, &three, 1));
  CHECK_OK(f.backend->graph_end(f.queue, &graph));
  CHECK_OK(f.backend->graph_launch(f.queue, graph));
  fixture_read(&f, buffer, 0, seen, sizeof seen);
  CHECK_EQ_INT(seen[0], 3);
  CHECK_EQ_INT(seen[63], 3);
  tsri_cuda_leave(queue->device, was_pushed);
  f.backend->graph_destroy(f.device, graph);
  f.backend->buffer_destroy(f.device, buffer);
  fixture_close(&f);
}

TEST(a_driver_without_capture_dependencies_records_no_steps) {
  fixture f = fixture_open();
  tsri_graph *graph = NULL;
  tsri_cuda_api whole = tsri_cu;
  tsri_cu.StreamUpdateCaptureDependencies = NULL;
  CHECK_OK(f.backend->graph_begin(f.queue));
  CHECK_STATUS(f.backend->graph_step(f.queue, NULL, 0), TSR_ERR_UNSUPPORTED);
  CHECK_OK(f.backend->graph_end(f.queue, &graph));
  f.backend->graph_destroy(f.device, graph);
  tsri_cu = whole;
  fixture_close(&f);
}
