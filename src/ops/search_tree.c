// SPDX-License-Identifier: MIT
// searchsorted by trees in shared memory (search_tree of kernels/op_search.tk): how the work is divided.
#include "ops/search_tree.h"

#include "core/error.h"
#include "graph/node.h"
#include "ops/operators.h"
#include "ops/promote.h"

// How the kernel divides the work; the fields are its parameters. depth 0: a search in the list itself is faster.
typedef struct search_cut {
  int64_t nodes, depth, step, part;
} search_cut;

static int64_t chunks_of(int64_t count, int64_t chunk) { return (count + chunk - 1) / chunk; }

// The tree of a work-group has at most half as many nodes as the group has values, so that filling it costs less than it saves. Below the tree, elements are read from the
// list, whose memory trees would take from the first-level cache; lists of more than MOST_BYTES need all of it.
static search_cut cut_of(const tsri_tuning *tuning, int64_t size, int64_t count, size_t element) {
  enum { TREE_BYTES = 8192, MOST_BYTES = 65536, ROUNDS = 8 };
  search_cut cut = {.nodes = TREE_BYTES / (int64_t)element};
  if (tuning->row_held == 0 || size * (int64_t)element > MOST_BYTES) return cut;
  int64_t round = tuning->item_group * tuning->item_rounds;
  cut.part = chunks_of(chunks_of(count, ROUNDS * tuning->matmul_tiles), round) * round;
  while ((2 << cut.depth) <= cut.nodes && (4 << cut.depth) <= cut.part && (1 << cut.depth) <= size) cut.depth++;
  cut.step = (size >> cut.depth) + 1;
  return cut;
}

tsr_status tsri_search_tree(const tsri_kernel_run *run) {
  const tsri_layout *list = &run->layouts[0], *values = &run->layouts[1];
  tsr_dtype dtype = run->input_dtypes[0], wide = tsri_accumulator(dtype);
  const tsri_tuning *tuning = tsri_call_tuning(run->device);
  search_cut cut = cut_of(tuning, list->count, values->count, tsr_dtype_bytes(wide));
  if (cut.depth == 0) return TSR_ERR_UNSUPPORTED;
  tsri_call call;
  tsri_call_init(
      &call, run->device, "op_search", "search_tree",
      TSRI_WITH(TSRI_TYPE("T", dtype), TSRI_TYPE("A", wide),
                TSRI_CONSTANT("RIGHT", TSRI_GIVEN(run->node, search)->right), TSRI_CONSTANT("NODES", cut.nodes),
                TSRI_CONSTANT("EACH", tuning->item_rounds), TSRI_CONSTANT("WG", tuning->item_group)));
  tsri_call_buffer(&call, "list", run->inputs[0], dtype);
  tsri_call_buffer(&call, "values", run->inputs[1], dtype);
  tsri_call_buffer(&call, "y", run->output, TSRI_INDEX_DTYPE);
  tsri_call_word(&call, "size", list->count);
  tsri_call_word(&call, "n", values->count);
  tsri_call_word(&call, "list_at", list->offset);
  tsri_call_word(&call, "values_at", values->offset);
  tsri_call_word(&call, "depth", cut.depth);
  tsri_call_word(&call, "step", cut.step);
  tsri_call_word(&call, "part", cut.part);
  return tsri_call_many_groups(&call, chunks_of(values->count, cut.part));
}
