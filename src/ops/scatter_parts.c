// SPDX-License-Identifier: MIT
#include "ops/scatter_parts.h"
#include "ops/scatter_exact.h"

enum { GROUP = 256, EACH = 8 };

// A part has so many elements that joining its sums with those of the other parts (some three operations in memory for each target) is less work than summing
// it.
bool tsri_scatter_parts_cut(const tsri_scatter *s, const tsri_scatter_sizes *z, tsri_parts_cut *out) {
  enum { BUSY = 528, LEAST_RANGE = 256, MOST_SLOTS = 1024, MOST_COPIES = 16, LEAST_ELEMENTS = 2 };
  int64_t most = tsri_scatter_exact_range(s->device), tile = (int64_t)GROUP * EACH;
  if (!tsri_scatter_is_exact(s, z) || z->size > most || z->n < tile * LEAST_ELEMENTS) return false;
  int64_t wanted = (z->outer * z->n + BUSY - 1) / BUSY, least = LEAST_ELEMENTS * z->size;
  int64_t length = wanted > least ? wanted : least;
  length = (length + tile - 1) / tile * tile;
  *out = (tsri_parts_cut){.parts = (z->n + length - 1) / length, .length = length, .range = LEAST_RANGE, .copies = 1};
  while (out->range < z->size) out->range *= 2;
  while (out->copies < MOST_COPIES && 2 * out->copies * out->range <= MOST_SLOTS) out->copies *= 2;
  return 3 * z->outer * out->parts * z->size < TSRI_CALL_MAX_ELEMENTS;
}

static tsr_status sum_parts(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_parts_cut *cut,
                            tsr_buffer *words) {
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_scatter", "scatter_parts",
      TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("I", run->input_dtypes[1]), TSRI_CONSTANT("RANGE", cut->range),
                TSRI_CONSTANT("COPIES", cut->copies), TSRI_CONSTANT("ONCE", cut->length <= (int64_t)GROUP * EACH),
                TSRI_CONSTANT("EACH", EACH), TSRI_CONSTANT("WG", GROUP)));
  tsri_scatter_pass_sources(run, z, run->dtype, &call);
  tsri_call_buffer(&call, "words", words, TSR_U32);
  tsri_call_word(&call, "rows", z->outer);
  tsri_call_word(&call, "parts", cut->parts);
  tsri_call_word(&call, "length", cut->length);
  tsri_call_word(&call, "room", tsri_scatter_exact_room(z->n));
  return tsri_call_many_groups(&call, z->outer * cut->parts);
}

static tsr_status join_parts(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_parts_cut *cut,
                             tsr_buffer *words) {
  enum { TARGETS = 8 };  // of a work-group: their words are read at once
  int64_t blocks = (z->size + TARGETS - 1) / TARGETS;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_scatter", "scatter_totals",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("Y", tsri_scatter_result(run, z)),
                           TSRI_CONSTANT("ALONE", z->is_alone), TSRI_CONSTANT("TARGETS", TARGETS)));
  tsri_scatter_pass_x(run, z, &call);
  tsri_call_buffer(&call, "words", words, TSR_U32);
  tsri_scatter_pass_result(run, z, &call);
  tsri_call_word(&call, "all", z->outer * blocks);
  tsri_call_word(&call, "blocks", blocks);
  tsri_call_word(&call, "parts", cut->parts);
  tsri_call_word(&call, "size", z->size);
  tsri_call_word(&call, "room", tsri_scatter_exact_room(z->n));
  return tsri_call_many_groups(&call, z->outer * blocks);
}

tsr_status tsri_scatter_parts_run(const tsri_kernel_run *run, const tsri_scatter_sizes *z, const tsri_parts_cut *cut) {
  tsr_buffer *words = NULL;
  tsr_status status = tsri_call_scratch(run->device, 3 * z->outer * cut->parts * z->size, TSR_U32, &words);
  if (status == TSR_OK) status = sum_parts(run, z, cut, words);
  if (status == TSR_OK) status = join_parts(run, z, cut, words);
  tsr_buffer_release(words);
  return status;
}
