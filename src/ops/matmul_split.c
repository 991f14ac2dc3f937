// SPDX-License-Identifier: MIT
// Chooses how long sums are split, describes the product of all parts as a batch, and adds up the partial sums.
#include "ops/matmul_split.h"

#include "ops/promote.h"

bool tsri_matmul_can_split(const tsri_product_op *p, tsr_dtype dtype) {
  return tsri_dtype_is_float(dtype) && !tsri_dtype_is_f8(dtype) && p->alpha == 1 && p->beta == 0 && p->batch_rank <= 1;
}

static int64_t results_of(const tsri_product_op *p) { return p->m * p->n * (p->batch_rank > 0 ? p->batch_dims[0] : 1); }

// Splits sums if there are too few items to keep the device busy. Not if a part would have less than a few steps, nor if all steps take less time than a second
// launch. Example: 64 x 1000 with k of 4096 in f32 has 16 tiles, and a step of 16 products takes 0.9 us on an H200: 224 us through OpenCL, and 28 with split
// sums.
tsri_matmul_split tsri_matmul_split_choose(const tsr_device *device, const tsri_product_op *p, tsr_dtype dtype,
                                           int64_t items, int unit, double busy_share) {
  enum { ITEMS_PER_TILE = 512, LEAST_STEPS = 24, STEPS_OF_PART = 4, LEAST_PARTS = 4, MOST_SUMS = 1 << 24 };
  int64_t busy = (int64_t)(TSRI_TUNED(tsri_tuning_of(device), matmul_tiles) * ITEMS_PER_TILE * busy_share);
  int64_t steps = (p->k + unit - 1) / unit, parts = busy / items, most = steps / STEPS_OF_PART;
  if (parts > most) parts = most;
  if (parts > MOST_SUMS / results_of(p)) parts = MOST_SUMS / results_of(p);
  if (!tsri_matmul_can_split(p, dtype) || steps < LEAST_STEPS || parts < LEAST_PARTS)
    return (tsri_matmul_split){1, p->k};
  int64_t each = (steps + parts - 1) / parts;
  return (tsri_matmul_split){.parts = (steps + each - 1) / each, .depth = each * unit};
}

tsri_product_op tsri_matmul_split_product(const tsri_product_op *p, const tsri_matmul_split *split) {
  tsri_product_op q = *p;
  q.batch_rank = 2;
  q.batch_dims[1] = p->batch_rank > 0 ? p->batch_dims[0] : 1;
  q.a.batch[1] = p->batch_rank > 0 ? p->a.batch[0] : 0;
  q.b.batch[1] = p->batch_rank > 0 ? p->b.batch[0] : 0;
  q.batch_dims[0] = split->parts;
  q.a.batch[0] = split->depth * p->a.column;
  q.b.batch[0] = split->depth * p->b.row;
  return q;
}

// How many items share a result of the second launch: enough that none reads more than a few parts in sequence, unless there are many results anyway.
static int lanes_for(int64_t results, int64_t parts) {
  enum { PARTS_OF_ITEM = 4, MANY_ITEMS = 1 << 20, MOST_LANES = 16 };
  int lanes = 1;
  while (lanes * PARTS_OF_ITEM < parts && results * lanes * 2 <= MANY_ITEMS && lanes < MOST_LANES) lanes *= 2;
  return lanes;
}

tsr_status tsri_matmul_split_join(const tsri_kernel_run *run, const tsri_product_op *p, int64_t parts,
                                  tsr_buffer *sums) {
  enum { GROUP = 128 };
  int64_t count = results_of(p);
  int lanes = lanes_for(count, parts), each = GROUP / lanes;
  tsri_call call;
  tsri_call_init_hooked(
      &call, run, "op_conv_tiles", "join_splits",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)), TSRI_CONSTANT("BIAS", 0),
                TSRI_CONSTANT("LAST", 0), TSRI_CONSTANT("LANES", lanes), TSRI_CONSTANT("WG", GROUP)));
  tsri_call_buffer(&call, "parts", sums, tsri_accumulator(run->dtype));
  tsri_call_buffer(&call, "bias", run->inputs[0], run->dtype);  // a placeholder, not read
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "count", count);
  tsri_call_word(&call, "splits", parts);
  tsri_call_word(&call, "positions", 1);
  tsri_call_word(&call, "o2", p->n);
  tsri_call_word(&call, "b_at", 0);
  tsri_call_word(&call, "b_step", 0);
  tsri_call_word(&call, "out_channels", 1);
  return tsri_call_many_groups(&call, (count + each - 1) / each);
}
