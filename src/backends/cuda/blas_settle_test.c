// SPDX-License-Identifier: MIT
// Tests which of cuBLASLt's proposals runs. The fake library makes three, and the second one is the fastest.
#include <string.h>

#include "backends/common/contest.h"
#include "backends/cuda/blas_plan.h"
#include "backends/cuda/fixture.h"
#include "backends/cuda/settle.h"
#include "ops/product.h"

// LAUNCHES per measurement: one launch, and then ten in a row because one alone is too short to be timed (settle.c).
enum { SIDE = 64, PROPOSALS = 3, ROUNDS = 4, LAUNCHES = 1 + 10, FASTEST = 1 };
// After the rounds, the fastest proposal runs against the first one once more: TSRI_DUEL_TURNS turns of both.
enum { TIMED = (PROPOSALS * ROUNDS + 2 * TSRI_DUEL_TURNS) * LAUNCHES };

typedef struct setting {
  fixture f;
  tsri_native_op op;  // a product of two squares
  char folder[32];
} setting;

static void open_product(setting *setup) {
  setup->f = fixture_open();
  tsri_layout square = {.shape = TSR_SHAPE(SIDE, SIDE), .strides = {SIDE, 1}};
  const tsri_layout *layouts[] = {&square, &square};
  CHECK(tsri_product_describe(TSR_F32, square.shape, layouts, 2, 1, 0, &setup->op));
  tsri_product_op *p = &setup->op.is.product;
  tsri_place *places[] = {&p->a.at, &p->b.at, &p->y};
  for (int i = 0; i < 3; i++) places[i]->buffer = fixture_buffer(&setup->f, SIDE * SIDE * sizeof(float), NULL);
}

static void close_product(setting *setup) {
  const tsri_product_op *p = &setup->op.is.product;
  tsri_buffer *buffers[] = {p->a.at.buffer, p->b.at.buffer, p->y.buffer};
  for (int i = 0; i < 3; i++) setup->f.backend->buffer_destroy(setup->f.device, buffers[i]);
  fixture_close(&setup->f);
}

static void begin(setting *setup, int64_t timed_work) {
  strcpy(setup->folder, "/tmp/tessera-settle-XXXXXX");
  fixture_use_cache(setup->folder);
  tsri_cuda_timing = (cuda_timing){.least_work = timed_work, .longest_ns = UINT64_MAX};
  open_product(setup);
}

static void end(setting *setup) {
  close_product(setup);
  fixture_remove_cache(setup->folder);
}

// The number of products that one call runs.
static int products_of(setting *setup) {
  int before = fixture_fake->products;
  CHECK_OK(setup->f.backend->run_op(setup->f.queue, &setup->op));
  return fixture_fake->products - before;
}

TEST(a_small_product_takes_the_favourite_untimed) {
  setting setup;
  begin(&setup, SIDE * SIDE * SIDE + 1);
  CHECK_EQ_INT(products_of(&setup), 1);
  CHECK_EQ_INT(fixture_fake->last_proposal, 0);
  end(&setup);
}

TEST(a_large_product_runs_by_the_fastest_proposal_which_the_next_process_knows) {
  setting setup;
  begin(&setup, SIDE * SIDE * SIDE);
  CHECK_EQ_INT(products_of(&setup), TIMED + 1);
  CHECK_EQ_INT(fixture_fake->last_proposal, FASTEST);
  CHECK_EQ_INT(products_of(&setup), 1);
  CHECK_EQ_INT(fixture_fake->last_proposal, FASTEST);
  close_product(&setup);
  open_product(&setup);  // another device, with its own plans
  CHECK_EQ_INT(products_of(&setup), 1);
  CHECK_EQ_INT(fixture_fake->last_proposal, FASTEST);
  CHECK_EQ_INT(fixture_fake->live_events, 0);
  end(&setup);
}

TEST(what_adds_to_itself_runs_once_and_is_timed_when_it_no_longer_does) {
  setting setup;
  begin(&setup, 1);
  tsri_product_op *p = &setup.op.is.product;
  setup.op.parts = TSRI_PRODUCT_SCALED;
  p->beta = 1;
  p->c = p->a;
  p->c.at = p->y;
  CHECK_EQ_INT(products_of(&setup), 1);
  CHECK_EQ_INT(fixture_fake->last_proposal, 0);
  p->c.at = p->a.at;
  CHECK_EQ_INT(products_of(&setup), TIMED + 1);
  CHECK_EQ_INT(fixture_fake->last_proposal, FASTEST);
  fixture_wait(&setup.f);
  end(&setup);
}

TEST(nothing_is_timed_while_a_graph_is_recorded) {
  setting setup;
  tsri_graph *graph = NULL;
  begin(&setup, 1);
  CHECK_OK(setup.f.backend->graph_begin(setup.f.queue));
  CHECK_EQ_INT(products_of(&setup), 1);
  CHECK_OK(setup.f.backend->graph_end(setup.f.queue, &graph));
  CHECK_EQ_INT(products_of(&setup), TIMED + 1);
  setup.f.backend->graph_destroy(setup.f.device, graph);
  fixture_wait(&setup.f);
  end(&setup);
}

static bool has_one_key(const cuda_device *device, const blas_plan *plan, const char *text, const char *other) {
  tsri_cache_key a = tsri_cuda_blas_key(device, plan, text), b = tsri_cuda_blas_key(device, plan, other);
  return memcmp(&a, &b, sizeof a) == 0;
}

TEST(a_new_text_of_our_kernel_is_timed_anew_where_it_is_one_of_the_ways) {
  fixture f = fixture_open();
  const cuda_device *device = cuda_device_of(f.device);
  blas_plan plan;
  memset(&plan, 0, sizeof plan);
  CHECK(has_one_key(device, &plan, "old", "new"));
  plan.has_units = true;
  CHECK(has_one_key(device, &plan, "old", "old"));
  CHECK(!has_one_key(device, &plan, "old", "new"));
  fixture_close(&f);
}
