// SPDX-License-Identifier: MIT
#include "ops/scan_quads.h"
#include "ops/promote.h"

enum { GROUP = 256 };

// Whether rows may begin or end within a quad (EDGES of the kernels).
static bool has_edges(const tsri_quad_rows *rows) { return rows->n % 4 != 0; }

// Quads per item: `most`, or half as many if sums have 8 bytes.
static int quads_of(const tsri_quad_rows *rows, int most) {
  bool is_wide = tsr_dtype_bytes(tsri_accumulator(rows->dtype)) == 8;
  return most > 1 && is_wide ? most / 2 : most;
}

// Quads per item for short rows, whose items need more registers: 10^6 rows of 40 f32 take 79.9 us with 2, 80.2 with 4 and 80.4 with 8 on CUDA, and 83.3, 85.4
// and 92.9 through Vulkan.
static int short_quads(const tsri_quad_rows *rows) {
  enum { MOST = 2 };
  int quads = tsri_call_tuning(rows->device)->scan_quads;
  return quads_of(rows, quads < MOST ? quads : MOST);
}

// Quads per item (ROUNDS) for a work-group that scans `length` elements: chosen so that few items are idle in the last tile. A tile costs as much as its quads
// and half a quad.
static int rounds_for(const tsri_quad_rows *rows, int group) {
  int64_t least = INT64_MAX, length = rows->length + (has_edges(rows) ? 3 : 0);
  int best = 1, most = quads_of(rows, tsri_call_tuning(rows->device)->scan_quads);
  for (int rounds = 1; rounds <= most; rounds++) {
    int64_t tile = (int64_t)group * 4 * rounds, cost = (length + tile - 1) / tile * (2 * rounds + 1);
    if (cost <= least) least = cost, best = rounds;
  }
  return best;
}

// Work-groups have at most as many items as have elements to scan.
static tsr_status scan_rows(const tsri_quad_rows *rows, int size) {
  tsr_dtype wide = tsri_accumulator(rows->dtype);
  int group = size;
  while (group * 4 < rows->length && group < GROUP) group *= 2;
  tsri_call call;
  tsri_call_init(
      &call, rows->device, "op_scan_quads", "scan_row_quads",
      TSRI_WITH(TSRI_TYPE("T", rows->dtype), TSRI_TYPE("A", wide), TSRI_CONSTANT("EXCLUSIVE", rows->is_exclusive),
                TSRI_CONSTANT("OFFSETS", rows->offsets != NULL), TSRI_CONSTANT("EDGES", has_edges(rows)),
                TSRI_CONSTANT("ROUNDS", rounds_for(rows, group)), TSRI_CONSTANT("SG", size),
                TSRI_CONSTANT("WG", group)));
  tsri_call_buffer(&call, "x", rows->x, rows->dtype);
  tsri_call_buffer(&call, "offsets", rows->offsets ? rows->offsets : rows->x, wide);
  tsri_call_buffer(&call, "y", rows->y, rows->dtype);
  tsri_call_word(&call, "all_parts", rows->lines * rows->parts);
  tsri_call_word(&call, "parts", rows->parts);
  tsri_call_word(&call, "length", rows->length);
  tsri_call_word(&call, "n", rows->n);
  tsri_call_word(&call, "x_at", rows->x_at);
  return tsri_call_many_groups(&call, rows->lines * rows->parts);
}

// How many elements of complete rows fit into `quads` quads, even if the first row begins within a quad.
static int64_t whole_rows(const tsri_quad_rows *rows, int64_t quads) {
  return (quads * 4 - (has_edges(rows) ? 3 : 0)) / rows->n * rows->n;
}

// Scans short rows, as many in each subgroup as fit. Items have twice as many quads if otherwise a quarter of them would be idle.
static tsr_status scan_short_rows(const tsri_quad_rows *rows, int size) {
  int rounds = short_quads(rows), group = GROUP;
  int64_t count = rows->lines * rows->n, length = whole_rows(rows, (int64_t)size * rounds);
  if (length < (int64_t)size * rounds * 3) length = whole_rows(rows, (int64_t)size * (rounds *= 2));
  while (group > size && count < length * (group / size) * tsri_call_tuning(rows->device)->scan_rows) group /= 2;
  tsri_call call;
  tsri_call_init(&call, rows->device, "op_scan_quads", "scan_short_quads",
                 TSRI_WITH(TSRI_TYPE("T", rows->dtype), TSRI_TYPE("A", tsri_accumulator(rows->dtype)),
                           TSRI_CONSTANT("EXCLUSIVE", rows->is_exclusive), TSRI_CONSTANT("EDGES", has_edges(rows)),
                           TSRI_CONSTANT("ROUNDS", rounds), TSRI_CONSTANT("SG", size), TSRI_CONSTANT("WG", group)));
  tsri_call_buffer(&call, "x", rows->x, rows->dtype);
  tsri_call_buffer(&call, "y", rows->y, rows->dtype);
  tsri_call_word(&call, "length", length);
  tsri_call_word(&call, "count", count);
  tsri_call_word(&call, "n", rows->n);
  tsri_call_word(&call, "x_at", rows->x_at);
  int64_t in_group = length * (group / size);
  return tsri_call_many_groups(&call, (count + in_group - 1) / in_group);
}

tsr_status tsri_scan_quads(const tsri_quad_rows *rows) {
  int size = tsri_call_subgroup(rows->device, GROUP), most = tsri_call_tuning(rows->device)->scan_quads;
  bool fits = rows->parts == 1 || rows->lines == 1 || !has_edges(rows);  // parts must begin at a quad
  if (!fits || size == 0 || most == 0 || rows->x_at % 4 != 0 || rows->lines * rows->n < 4) return TSR_ERR_UNSUPPORTED;
  bool is_short = rows->parts == 1 && rows->n <= (int64_t)size * 4 * short_quads(rows);
  return is_short ? scan_short_rows(rows, size) : scan_rows(rows, size);
}
