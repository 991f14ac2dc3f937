// SPDX-License-Identifier: MIT
// Kernels of a recorded graph that may begin before those that they depend on have ended.
#include "backends/cuda/fixture.h"

typedef struct kernels {
  fixture f;
  tsri_program *waiting, *other;
  tsri_buffer *buffer;
  tsri_graph *graph;
} kernels;

static tsri_code code_of(const char *name, const char *options) { return fixture_code(name, name, 0, 0, options); }

static kernels open_kernels(void) {
  kernels k = {.f = fixture_open()};
  k.waiting = fixture_build(&k.f, code_of("tsr_fake_waits", "-fmad=false -DTSR_WAITS"));
  k.other = fixture_build(&k.f, code_of("tsr_fake_other", "-fmad=false"));
  k.buffer = fixture_buffer(&k.f, 64, NULL);
  CHECK_OK(k.f.backend->graph_begin(k.f.queue));
  return k;
}

static void launch(const kernels *k, tsri_program *program) {
  CHECK_OK(k->f.backend->launch(k->f.queue, program, &(tsri_launch){.groups = {1, 1, 1}}));
}

static void fill(const kernels *k) {
  unsigned char one = 1;
  CHECK_OK(k->f.backend->fill(k->f.queue, k->buffer, 0, 64, &one, 1));
}

static void close_kernels(kernels *k) {
  CHECK_OK(k->f.backend->graph_end(k->f.queue, &k->graph));
  CHECK_OK(k->f.backend->graph_launch(k->f.queue, k->graph));
  CHECK_OK(k->f.backend->queue_wait(k->f.queue, UINT64_MAX));
  CHECK_EQ_INT(fixture_fake->wrong_edges, 0);
  k->f.backend->graph_destroy(k->f.device, k->graph);
  k->f.backend->program_destroy(k->f.device, k->waiting);
  k->f.backend->program_destroy(k->f.device, k->other);
  k->f.backend->buffer_destroy(k->f.device, k->buffer);
  fixture_close(&k->f);
}

TEST(a_kernel_that_waits_begins_early_after_any_kernel) {
  kernels k = open_kernels();
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 0);  // nothing stands before it
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 1);
  launch(&k, k.other);
  CHECK_EQ_INT(fixture_fake->early_edges, 1);  // it does not wait
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 2);
  close_kernels(&k);
}

TEST(a_kernel_begins_after_copies_and_fills_and_they_after_it) {
  kernels k = open_kernels();
  fill(&k);
  launch(&k, k.waiting);
  fill(&k);
  CHECK_OK(k.f.backend->copy(k.f.queue, k.buffer, 0, k.buffer, 32, 32));
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 0);
  close_kernels(&k);
}

TEST(each_edge_of_a_kernel_is_judged_by_itself) {
  kernels k = open_kernels();
  CHECK_OK(k.f.backend->graph_step(k.f.queue, NULL, 0));
  launch(&k, k.waiting);
  CHECK_OK(k.f.backend->graph_step(k.f.queue, NULL, 0));
  fill(&k);
  CHECK_OK(k.f.backend->graph_step(k.f.queue, NULL, 0));
  launch(&k, k.other);
  CHECK_OK(k.f.backend->graph_step(k.f.queue, (const int[]){0, 1, 2}, 3));
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 2);
  CHECK_OK(k.f.backend->graph_step(k.f.queue, (const int[]){0, 3}, 2));
  fill(&k);
  close_kernels(&k);
}

TEST(of_several_kernels_after_one_the_first_begins_early) {
  kernels k = open_kernels();
  CHECK_OK(k.f.backend->graph_step(k.f.queue, NULL, 0));
  launch(&k, k.waiting);
  for (int i = 1; i <= 3; i++) {
    CHECK_OK(k.f.backend->graph_step(k.f.queue, (const int[]){0}, 1));
    launch(&k, k.waiting);
    CHECK_EQ_INT(fixture_fake->early_edges, 1);
  }
  CHECK_OK(k.f.backend->graph_step(k.f.queue, (const int[]){0, 2, 3}, 3));
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 3);
  close_kernels(&k);
}

TEST(a_kernel_that_cannot_be_started_leaves_plain_edges) {
  kernels k = open_kernels();
  launch(&k, k.waiting);
  CHECK_STATUS(k.f.backend->launch(k.f.queue, k.waiting, &(tsri_launch){.groups = {0, 1, 1}}), TSR_ERR_LAUNCH);
  launch(&k, k.other);
  CHECK_EQ_INT(fixture_fake->early_edges, 0);
  close_kernels(&k);
}

TEST(a_driver_without_programmatic_edges_gets_plain_ones) {
  kernels k = open_kernels();
  tsri_cuda_api whole = tsri_cu;
  tsri_cu.StreamUpdateCaptureEdges = NULL;
  launch(&k, k.waiting);
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 0);
  close_kernels(&k);
  tsri_cu = whole;
}

// The compiler leaves the wait out of such code, also if the GPU could do it.
TEST(kernels_compiled_for_older_gpus_begin_late) {
  fixture_use_fake()->most_arch = 80;
  kernels k = open_kernels();
  launch(&k, k.waiting);
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 0);
  close_kernels(&k);
  fixture_fake->most_arch = 120;
}

TEST(queued_kernels_need_no_edges) {
  kernels k = open_kernels();
  CHECK_OK(k.f.backend->graph_end(k.f.queue, &k.graph));
  k.f.backend->graph_destroy(k.f.device, k.graph);
  launch(&k, k.waiting);
  launch(&k, k.waiting);
  CHECK_EQ_INT(fixture_fake->early_edges, 0);
  CHECK_OK(k.f.backend->graph_begin(k.f.queue));
  close_kernels(&k);
}
