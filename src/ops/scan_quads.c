// SPDX-License-Identifier: MIT
#include "ops/scan_quads.h"

enum { GROUP = 256 };

bool tsri_scan_has_quads(tsr_device *device) {
  return tsri_call_tuning(device)->scan_quads > 0 && device->limits.max_group_size >= GROUP &&
         tsri_call_subgroup(device, GROUP) > 0;
}

tsr_buffer *tsri_scan_bind_places(tsri_call *call, const tsri_scan_work *s) {
  tsr_buffer *unused = NULL;
  tsr_status status = s->places ? TSR_OK : tsri_call_scratch(s->device, 2, TSR_I32, &unused);
  if (status != TSR_OK && call->args.status == TSR_OK) call->args.status = status;
  tsri_call_buffer(call, "places", s->places ? s->places : unused, TSR_I32);
  return unused;
}

// Whether rows may begin or end within a quad (EDGES of the kernels).
static bool has_edges(const tsri_scan_work *s) { return s->n % 4 != 0; }

// Whether quads of x are read as vectors (WIDE of the kernels).
static bool is_wide(const tsri_scan_work *s) { return s->x_at % 4 == 0 && s->lines * s->n >= 4; }

// Quads per item: `most`, or half as many if sums have 8 bytes.
static int quads_of(const tsri_scan_work *s, int most) {
  return most > 1 && tsr_dtype_bytes(tsri_scan_state(s)) == 8 ? most / 2 : most;
}

// Quads per item for short rows, whose items need more registers: 10^6 rows of 40 f32 take 79.9 us with 2, 80.2 with 4 and 80.4 with 8 on CUDA, and 83.3, 85.4
// and 92.9 through Vulkan.
static int short_quads(const tsri_scan_work *s) {
  enum { MOST = 2 };
  int quads = tsri_call_tuning(s->device)->scan_quads;
  return quads_of(s, quads < MOST ? quads : MOST);
}

// Quads per item (ROUNDS) for a work-group that scans `length` elements: chosen so that few items are idle in the last tile. A tile costs as much as its quads
// and half a quad.
static int rounds_for(const tsri_scan_work *s, int64_t part, int group) {
  int64_t least = INT64_MAX, length = part + (has_edges(s) ? 3 : 0);
  int best = 1, most = quads_of(s, tsri_call_tuning(s->device)->scan_quads);
  for (int rounds = 1; rounds <= most; rounds++) {
    int64_t tile = (int64_t)group * 4 * rounds, cost = (length + tile - 1) / tile * (2 * rounds + 1);
    if (cost <= least) least = cost, best = rounds;
  }
  return best;
}

// What the parameters of all kernels begin with.
static void pass_rows(const tsri_scan_work *s, tsri_call *call) {
  tsri_call_buffer(call, "x", s->x, s->dtype);
  tsri_call_word(call, "n", s->n);
  tsri_call_word(call, "x_at", s->x_at);
}

static tsr_status launch_parts(const tsri_scan_work *s, const tsri_scan_parts *p, tsri_call *call) {
  pass_rows(s, call);
  tsri_call_word(call, "all_parts", s->lines * p->parts);
  tsri_call_word(call, "parts", p->parts);
  tsri_call_word(call, "length", p->length);
  return tsri_call_many_groups(call, s->lines * p->parts);
}

// Work-groups have at most as many items as have elements to scan.
static tsr_status scan_rows(const tsri_scan_work *s, const tsri_scan_parts *p, int size) {
  tsr_dtype state = tsri_scan_state(s);
  int group = size;
  while (group * 4 < p->length && group < GROUP) group *= 2;
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_row_quads",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", tsri_accumulator(s->dtype)), TSRI_TYPE("S", state),
                           TSRI_CONSTANT("OP", (int64_t)s->combination), TSRI_CONSTANT("EXCLUSIVE", s->is_exclusive),
                           TSRI_CONSTANT("OFFSETS", p->offsets != NULL), TSRI_CONSTANT("PLACES", s->places != NULL),
                           TSRI_CONSTANT("EDGES", has_edges(s)), TSRI_CONSTANT("WIDE", is_wide(s)),
                           TSRI_CONSTANT("ROUNDS", rounds_for(s, p->length, group)), TSRI_CONSTANT("SG", size),
                           TSRI_CONSTANT("WG", group)));
  tsri_call_buffer(&call, "offsets", p->offsets ? p->offsets : s->x, state);
  tsri_call_buffer(&call, "y", s->y, s->dtype);
  tsr_buffer *unused = tsri_scan_bind_places(&call, s);
  tsr_status status = launch_parts(s, p, &call);
  tsr_buffer_release(unused);
  return status;
}

// How many elements of complete rows fit into `quads` quads, even if the first row begins within a quad.
static int64_t whole_rows(const tsri_scan_work *s, int64_t quads) {
  return (quads * 4 - (has_edges(s) ? 3 : 0)) / s->n * s->n;
}

// Scans short rows, as many in each subgroup as fit. Items have twice as many quads if otherwise a quarter of them would be idle.
static tsr_status scan_short_rows(const tsri_scan_work *s, int size) {
  int rounds = short_quads(s), group = GROUP;
  int64_t count = s->lines * s->n, length = whole_rows(s, (int64_t)size * rounds);
  if (length < (int64_t)size * rounds * 3) length = whole_rows(s, (int64_t)size * (rounds *= 2));
  while (group > size && count < length * (group / size) * tsri_call_tuning(s->device)->scan_rows) group /= 2;
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_short_quads",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", tsri_accumulator(s->dtype)),
                           TSRI_TYPE("S", tsri_scan_state(s)), TSRI_CONSTANT("OP", (int64_t)s->combination),
                           TSRI_CONSTANT("EXCLUSIVE", s->is_exclusive), TSRI_CONSTANT("PLACES", s->places != NULL),
                           TSRI_CONSTANT("EDGES", has_edges(s)), TSRI_CONSTANT("WIDE", is_wide(s)),
                           TSRI_CONSTANT("ROUNDS", rounds), TSRI_CONSTANT("SG", size), TSRI_CONSTANT("WG", group)));
  pass_rows(s, &call);
  tsri_call_buffer(&call, "y", s->y, s->dtype);
  tsr_buffer *unused = tsri_scan_bind_places(&call, s);
  tsri_call_word(&call, "length", length);
  tsri_call_word(&call, "count", count);
  int64_t in_group = length * (group / size);
  tsr_status status = tsri_call_many_groups(&call, (count + in_group - 1) / in_group);
  tsr_buffer_release(unused);
  return status;
}

tsr_status tsri_scan_quads(const tsri_scan_work *s, const tsri_scan_parts *p) {
  if (!tsri_scan_has_quads(s->device)) return TSR_ERR_UNSUPPORTED;
  int size = tsri_call_subgroup(s->device, GROUP);
  bool is_short = p->parts == 1 && s->n <= (int64_t)size * 4 * short_quads(s);
  return is_short ? scan_short_rows(s, size) : scan_rows(s, p, size);
}

tsr_status tsri_scan_part_sums(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals) {
  if (!tsri_scan_has_quads(s->device)) return TSR_ERR_UNSUPPORTED;
  tsr_dtype state = tsri_scan_state(s);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_part_states",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", tsri_accumulator(s->dtype)), TSRI_TYPE("S", state),
                           TSRI_CONSTANT("OP", (int64_t)s->combination),
                           TSRI_CONSTANT("SG", tsri_call_subgroup(s->device, GROUP)), TSRI_CONSTANT("WG", GROUP)));
  tsri_call_buffer(&call, "totals", totals, state);
  return launch_parts(s, p, &call);
}
