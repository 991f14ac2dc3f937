// SPDX-License-Identifier: MIT
// One row of x times weights of q8_0 or q4_0, by the kernel of kernels/op_quant_row.tk.
#include "ops/quant_row.h"

#include "graph/node.h"
#include "ops/call.h"
#include "ops/operators.h"
#include "ops/quant.h"

enum { PAIR = 64, MOST_ITEMS = 128 };  // elements of x per item; most items of a work-group

typedef struct quant_shape {
  int64_t n, pairs, words;  // rows of weights; pairs of blocks in each; words of a pair
  int64_t items, columns;   // of a work-group; a column of the result is a row of weights
} quant_shape;

static int64_t divided_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Work-group size: the smallest multiple of the subgroup size with which a row takes as few rounds as with MOST_ITEMS, and at least one item for each of `most`
// columns.
static int64_t items_of(const tsr_device *device, int64_t pairs, int64_t most) {
  int64_t subgroup = tsr_device_subgroup_size(device), step = subgroup > most ? subgroup : most;
  return divided_up(divided_up(pairs, divided_up(pairs, MOST_ITEMS)), step) * step;
}

// Columns per work-group: so many that all work-groups run at the same time, with RESIDENT items on a core, since an item has some 120 registers. An even
// number, because the kernel takes two rows of weights in turn. On an H200, q8_0 of 14336 x 4096 takes 21.0 us with the 14 columns of this rule, and 25.8,
// 26.6, 22.0 and 22.6 with 10, 12, 16 and 20.
static int64_t columns_of(const tsr_device *device, const quant_shape *r, int64_t most) {
  enum { RESIDENT = 512, MANY_CORES = 128 };
  int64_t cores = device->info.compute_units > 0 ? device->info.compute_units : MANY_CORES;
  int64_t columns = 2 * divided_up(r->n, 2 * cores * (RESIDENT / r->items));
  return columns < most ? columns : most;
}

// Bytes of shared memory: two rows of weights, and a sum for each item and column.
static uint64_t shared_bytes(const quant_shape *r) {
  return 4 * (uint64_t)(2 * r->items * r->words + r->columns * (r->items + 1) + r->items);
}

static bool shape_of(const tsri_kernel_run *run, quant_shape *out_shape) {
  const tsri_layout *x = &run->layouts[0], *w = &run->layouts[1];
  int64_t format = TSRI_GIVEN(run->node, quant)->format, k = x->shape.dims[x->shape.rank - 1];
  if (format != TSR_QUANT_Q8_0 && format != TSR_QUANT_Q4_0) return false;
  if (k == 0 || k % PAIR != 0 || x->count != k) return false;
  if (run->input_dtypes[0] == TSR_F64 || tsri_quant_carrier(w) != TSR_U32) return false;
  quant_shape r = {.n = w->shape.dims[0], .pairs = k / PAIR, .words = tsri_quant_formats[format].bytes / 2};
  int64_t most = TSRI_TUNED(tsri_tuning_of(run->device), quant_rows);
  if (most == 0) return false;
  most += most % 2;
  r.items = items_of(run->device, r.pairs, most);
  r.columns = columns_of(run->device, &r, most);
  *out_shape = r;
  bool is_busy = 4 * r.pairs >= 3 * r.items;  // at least three items in four have a pair
  return is_busy && shared_bytes(&r) <= run->device->limits.shared_bytes &&
         (uint64_t)r.items <= run->device->limits.max_group_size;
}

tsr_status tsri_quant_row(const tsri_kernel_run *run) {
  const tsri_layout *x = &run->layouts[0], *w = &run->layouts[1];
  quant_shape r;
  if (!shape_of(run, &r)) return TSR_ERR_UNSUPPORTED;
  bool is_wide = x->offset % 4 == 0, is_quads = r.pairs * r.words % 4 == 0 && w->offset % 16 == 0;
  tsri_lang_arg args[] = {
      TSRI_TYPE("T", run->input_dtypes[0]), TSRI_TYPE("A", TSR_F32),
      TSRI_TYPE("Y", run->dtype),           TSRI_CONSTANT("FORMAT", TSRI_GIVEN(run->node, quant)->format),
      TSRI_CONSTANT("HALVES", r.words),     TSRI_CONSTANT("FUSED", run->device->limits.has_exact_fma),
      TSRI_CONSTANT("WIDE", is_wide),       TSRI_CONSTANT("QUADS", is_quads),
      TSRI_CONSTANT("COLS", r.columns),     TSRI_CONSTANT("WG", r.items)};
  tsri_call call;
  tsri_call_init_hooked(&call, run, "op_quant_row", "product_pairs", args, sizeof args / sizeof args[0]);
  tsri_call_buffer(&call, "w", run->inputs[1], TSR_U32);
  tsri_call_buffer(&call, "x", run->inputs[0], run->input_dtypes[0]);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", r.n);
  tsri_call_word(&call, "k", r.pairs * PAIR);
  tsri_call_word(&call, "w_at", w->offset / 2);
  tsri_call_word(&call, "x_at", x->offset);
  tsri_call_word(&call, "exponent", TSRI_QUANT_EXPONENT);
  return tsri_call_many_groups(&call, divided_up(r.n, r.columns));
}
