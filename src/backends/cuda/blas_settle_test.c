// SPDX-License-Identifier: MIT
// Which of cuBLASLt's proposals runs. Of the stand-in's three the second is the fastest.
#include "backends/cuda/fixture.h"

enum { SIDE = 64, PROPOSALS = 3, ROUNDS = 4, FASTEST = 1 };

typedef struct setting {
  fixture f;
  tsri_native_op op;  // a product of two squares
  char folder[32];
} setting;

static void open_product(setting *own) {
  own->f = fixture_open();
  own->op = (tsri_native_op){.name = "matmul", .input_count = 2, .alpha = 1, .beta = 1};
  tsri_operand *operands[] = {&own->op.inputs[0], &own->op.inputs[1], &own->op.output};
  for (int i = 0; i < 3; i++) {
    *operands[i] = (tsri_operand){.dtype = TSR_F32, .shape = TSR_SHAPE(SIDE, SIDE), .strides = {SIDE, 1}};
    operands[i]->buffer = fixture_buffer(&own->f, SIDE * SIDE * sizeof(float));
  }
}

static void close_product(setting *own) {
  const tsri_operand *operands[] = {&own->op.inputs[0], &own->op.inputs[1], &own->op.output};
  for (int i = 0; i < 3; i++) own->f.cu->buffer_destroy(own->f.device, operands[i]->buffer);
  fixture_close(&own->f);
}

static void begin(setting *own, int64_t timed_work) {
  strcpy(own->folder, "/tmp/tessera-settle-XXXXXX");
  fixture_use_cache(own->folder);
  tsri_cuda_timing = (cuda_timing){.least_work = timed_work, .longest_ns = UINT64_MAX};
  open_product(own);
}

static void end(setting *own) {
  close_product(own);
  fixture_remove_cache(own->folder);
}

// How many products one call makes.
static int products_of(setting *own) {
  int before = own->f.fake->products;
  CHECK_OK(own->f.cu->run_op(own->f.queue, &own->op));
  return own->f.fake->products - before;
}

TEST(a_small_product_takes_the_favourite_untimed) {
  setting own;
  begin(&own, SIDE * SIDE * SIDE + 1);
  CHECK_EQ_INT(products_of(&own), 1);
  CHECK_EQ_INT(own.f.fake->last_proposal, 0);
  end(&own);
}

TEST(a_large_product_runs_by_the_fastest_proposal_which_the_next_process_knows) {
  setting own;
  begin(&own, SIDE * SIDE * SIDE);
  CHECK_EQ_INT(products_of(&own), PROPOSALS * ROUNDS + 1);
  CHECK_EQ_INT(own.f.fake->last_proposal, FASTEST);
  CHECK_EQ_INT(products_of(&own), 1);
  CHECK_EQ_INT(own.f.fake->last_proposal, FASTEST);
  close_product(&own);
  open_product(&own);  // another device, with plans of its own
  CHECK_EQ_INT(products_of(&own), 1);
  CHECK_EQ_INT(own.f.fake->last_proposal, FASTEST);
  CHECK_EQ_INT(own.f.fake->live_events, 0);
  end(&own);
}

TEST(what_adds_to_itself_runs_once_and_is_timed_when_it_no_longer_does) {
  setting own;
  begin(&own, 1);
  own.op.name = "gemm";
  own.op.input_count = 3;
  own.op.inputs[2] = own.op.output;
  CHECK_EQ_INT(products_of(&own), 1);
  CHECK_EQ_INT(own.f.fake->last_proposal, 0);
  own.op.inputs[2] = own.op.inputs[0];
  CHECK_EQ_INT(products_of(&own), PROPOSALS * ROUNDS + 1);
  CHECK_EQ_INT(own.f.fake->last_proposal, FASTEST);
  fixture_wait(&own.f);
  end(&own);
}

TEST(nothing_is_timed_while_a_graph_is_recorded) {
  setting own;
  tsri_graph *graph = NULL;
  begin(&own, 1);
  CHECK_OK(own.f.cu->graph_begin(own.f.queue));
  CHECK_EQ_INT(products_of(&own), 1);
  CHECK_OK(own.f.cu->graph_end(own.f.queue, &graph));
  CHECK_EQ_INT(products_of(&own), PROPOSALS * ROUNDS + 1);
  own.f.cu->graph_destroy(own.f.device, graph);
  fixture_wait(&own.f);
  end(&own);
}
