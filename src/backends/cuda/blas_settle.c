// SPDX-License-Identifier: MIT
// Finds the fastest way to compute a product: one of cuBLASLt's proposals, or our own kernel.
//
// cuBLASLt orders its proposals by a model of the GPU. On an H200 its first proposal is 3 to 5 % slower than another
// of the first eight, for 16-bit products from 2048^3 on.
#include "backends/cuda/blas_plan.h"
#include "backends/cuda/own_texts.h"
#include "backends/cuda/settle.h"

#include <stdio.h>

_Static_assert((int)BLAS_WAYS <= (int)CUDA_MOST_PROPOSALS, "all ways can be timed");

static bool is_worth_it(const blas_plan *plan) {
  const cuda_product *p = &plan->product;
  double inner = (double)(p->a.is_transposed ? p->a.rows : p->a.cols);
  double work = (double)p->batch * (double)p->d.rows * (double)p->d.cols * inner;
  // Our own kernel can be much faster than the library for small products, so these are timed as well.
  int64_t least = plan->has_units ? tsri_cuda_timing.least_work / 8 : tsri_cuda_timing.least_work;
  return blas_way_count(plan) > 1 && work >= (double)least;
}

tsri_cache_key tsri_cuda_blas_key(const cuda_device *device, const blas_plan *plan, const char *units_text) {
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, device->name);
  tsri_cache_key_add(&key, &plan->product, sizeof plan->product);
  tsri_cache_key_add(&key, &device->allows_tf32, sizeof device->allows_tf32);
  tsri_cache_key_add(&key, &plan->has_units, sizeof plan->has_units);
  if (plan->has_units) tsri_cache_key_add_text(&key, units_text);
  for (int i = 0; i < plan->proposal_count; i++) {
    tsri_cache_key_add(&key, &plan->proposals[i].algorithm, sizeof plan->proposals[i].algorithm);
  }
  return key;
}

// A product that is being timed.
typedef struct timed_product {
  cuda_queue *queue;
  cuda_blas *blas;
  const blas_plan *plan;
  const cuda_product_memory *memory;
} timed_product;

static bool launch(void *context, int number) {
  const timed_product *timed = context;
  return tsri_cuda_blas_launch(timed->queue, timed->blas, timed->plan, timed->memory, number) == LT_SUCCESS;
}

void tsri_cuda_blas_settle(cuda_queue *queue, cuda_blas *blas, blas_plan *plan, const cuda_product_memory *memory) {
  if (!is_worth_it(plan)) {
    plan->is_settled = true;
    return;
  }
  timed_product timed = {queue, blas, plan, memory};
  const cuda_proposals proposals = {blas_way_count(plan), launch, &timed};
  char operation[128];
  const cuda_product *p = &plan->product;
  snprintf(operation, sizeof operation, "%s product of %lld x %lld x %lld, batch %lld", blas->library->title,
           (long long)p->d.rows, (long long)p->d.cols, (long long)(p->a.is_transposed ? p->a.rows : p->a.cols),
           (long long)p->batch);
  tsri_cache_key key = tsri_cuda_blas_key(queue->device, plan, (const char *)tsri_cuda_units_text);
  bool adds_to_itself = plan->product.has_c && memory->c == memory->d;
  plan->is_settled = tsri_cuda_settle(queue, operation, &key, &proposals, !adds_to_itself, &plan->chosen, NULL);
}
