// SPDX-License-Identifier: MIT
// Divides an attention with few queries: the keys into spans, and the query rows that share a head of k and v into chunks.
#include "ops/attention_spans.h"

#include "graph/graph.h"
#include "graph/node.h"
#include "ops/call.h"

// MOST_HELD: runs of four elements of q, and as many of the result, that an item keeps in registers. MOST_SPLITS: parameter MOST of the kernel attention_join.
enum { ITEMS = 128, LARGEST_TEAM = 16, MOST_RUNS = 4, MOST_HELD = 8, MOST_SPLITS = 256 };

static int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

// Whether four neighbouring elements of a row can be read by one load: stride 1, and offset and strides that are multiples of 4.
static bool is_wide(const tsri_layout *x) {
  bool fits = x->strides[3] == 1 && x->shape.dims[3] % 4 == 0 && x->offset % 4 == 0;
  for (int i = 0; i < 3; i++) fits = fits && x->strides[i] % 4 == 0;
  return fits;
}

// Chooses the items of a team, and the runs of four elements per item, for rows of at most `widest` elements.
static bool shape_team(const tsr_device *device, int64_t widest, tsri_attention_spans *s) {
  int subgroup_size = tsr_device_subgroup_size(device);
  for (s->team = 4; s->team < LARGEST_TEAM && s->team < subgroup_size && s->team * 4 < widest;) s->team *= 2;
  s->runs = (int)quotient_up(widest, s->team * 4);
  return s->team <= subgroup_size && s->runs <= MOST_RUNS;
}

bool tsri_attention_divide(const tsri_kernel_run *run, tsri_attention_spans *s) {
  const tsri_layout *q = &run->layouts[0], *k = &run->layouts[1], *v = &run->layouts[2];
  const tsr_device *device = run->device;
  int64_t depth = q->shape.dims[3], size = v->shape.dims[3], keys = TSRI_GIVEN(run->node, attention)->keys;
  int64_t sharing = run->shape.dims[1] / k->shape.dims[1] * run->shape.dims[2];
  *s = (tsri_attention_spans){.items = ITEMS};
  if (run->dtype == TSR_F64 || device->limits.max_group_size < ITEMS) return false;
  if (device->info.is_software && run->dtype != TSR_F32)
    return false;  // their drivers compile such kernels for seconds
  if (!shape_team(device, depth > size ? depth : size, s)) return false;
  s->is_wide = is_wide(q) && is_wide(k) && is_wide(v);
  // Numbers of scores are powers of two, so that the items of a team share the scores of a step evenly.
  int most = device->info.is_software ? 2 : MOST_HELD / s->runs;
  for (s->rows = 1; s->rows < sharing && s->rows * 2 <= most;) s->rows *= 2;
  // Without wide loads, each element needs an address register: with four keys at a time, some GPUs run out of registers.
  s->unroll = device->info.is_software ? 1 : s->runs > 2 || !s->is_wide ? 2 : 4;
  s->chunks = quotient_up(sharing, s->rows);
  int64_t groups = run->shape.dims[0] * k->shape.dims[1] * s->chunks, step = ITEMS / s->team * s->unroll;
  int64_t wanted = quotient_up(TSRI_TUNED(tsri_tuning_of(run->device), attention_groups), groups);
  int64_t splits = smaller(smaller(wanted, MOST_SPLITS), quotient_up(keys, step));
  s->span = quotient_up(quotient_up(keys, splits), step) * step;
  s->splits = quotient_up(keys, s->span);
  s->groups = groups * s->splits;
  int64_t rows = run->shape.dims[0] * run->shape.dims[1] * run->shape.dims[2];
  return rows <= TSRI_CALL_MAX_ELEMENTS / (s->splits * (size + 2));
}
