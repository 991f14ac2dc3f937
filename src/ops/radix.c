// SPDX-License-Identifier: MIT
// Radix sorts by kernels/op_radix.tk. A row that fits into shared memory is sorted by one work-group; a longer one
// takes three launches for every eight bits. If only the first elements of long rows are wanted, the candidates are
// narrowed down step by step.
#include "ops/radix.h"
#include "ops/call.h"
#include "ops/promote.h"

// GROUP: items of a work-group. DIGITS: values of eight bits. MOST_SUMMED: up to this many tiles in a row, each tile sums the counts of all tiles of the row
// itself. FEW_TILES: only if there are at most this many tiles in all.
enum { GROUP = 256, DIGITS = 256, MOST_SUMMED = 16, FEW_TILES = 64 };

// --- Keys ------------------------------------------------------------------------------------------------------------

// Elements as op_radix.tk reads them. The names are those of its parameters.
typedef struct key_form {
  tsr_dtype carrier, key;
  int kind, width;
  int64_t inf;
} key_form;

static key_form form_of(tsr_dtype dtype) {
  static const tsr_dtype carriers[] = {[1] = TSR_U8, [2] = TSR_U16, [4] = TSR_U32, [8] = TSR_U64};
  size_t bytes = tsr_dtype_bytes(dtype);
  key_form form = {.carrier = carriers[bytes], .key = bytes == 8 ? TSR_U64 : TSR_U32, .width = (int)bytes * 8};
  if (tsri_dtype_is_float(dtype)) form.kind = 2;
  else if (tsr_dtype_kind_of(dtype) == TSR_KIND_INT) form.kind = 1;
  if (dtype == TSR_F32) form.inf = 0x7F800000;
  if (dtype == TSR_F64) form.inf = 0x7FF00000;
  if (dtype == TSR_BF16) form.inf = 0x7F80;
  if (dtype == TSR_F16) form.inf = 0x7C00;
  if (dtype == TSR_F8_E5M2) form.inf = 0x7C;
  if (dtype == TSR_F8_E4M3) form.inf = 0x7E;  // the largest number: it has no infinity
  return form;
}

// The compile-time arguments of op_radix.tk's kernels that describe keys.
#define KEY_ARGS(s, form)                                                                            \
  TSRI_TYPE("T", (form)->carrier), TSRI_TYPE("K", (form)->key), TSRI_CONSTANT("KIND", (form)->kind), \
      TSRI_CONSTANT("WIDTH", (form)->width), TSRI_CONSTANT("INF", (form)->inf),                      \
      TSRI_CONSTANT("DESCENDING", (s)->is_descending)

// Whether the subgroups of a work-group rank the digits of a tile, eight bits at a time (TEAMS in op_radix.tk): if `wanted`, and if the subgroup size is
// suitable.
static bool ranks_in_teams(const tsr_device *device, bool wanted, int group) {
  int subgroup = tsri_call_subgroup(device, group);
  return wanted && subgroup >= 4 && subgroup <= 32 && group <= subgroup * 8;
}

// Items of a work-group that sorts a tile of a long row: at most eight subgroups if these rank digits.
static int tile_group(tsr_device *device) {
  int few = tsri_call_subgroup(device, GROUP) * 8;
  return few < GROUP && ranks_in_teams(device, tsri_call_tuning(device)->radix_teams > 0, few) ? few : GROUP;
}

// Elements per item of a work-group that sorts a tile: fewer if shared memory is small or elements are large.
static int items_of(tsr_device *device, const key_form *form) {
  int items = tsri_call_tuning(device)->radix_items;
  if (form->key == TSR_U64 && items > 8) items = 8;
  const int others = GROUP * 8 + GROUP / 4 + GROUP * 2 + DIGITS;  // shared words of radix_move beside the tile
  while (items > 1 && (uint32_t)(items * GROUP * 33 / 32 + others) * sizeof(uint32_t) > device->limits.shared_bytes)
    items /= 2;
  return items;
}

bool tsri_radix_takes(const tsr_device *device, tsr_dtype dtype) {
  key_form form = form_of(dtype);
  const tsri_limits *limits = &device->limits;
  return (limits->dtype_storage >> form.carrier & 1u) && limits->max_group_size >= GROUP &&
         limits->shared_bytes >= 16384;
}

// --- Whole rows ------------------------------------------------------------------------------------------------------

int64_t tsri_radix_longest_row(tsr_device *device, tsr_dtype dtype) {
  key_form form = form_of(dtype);
  return (int64_t)GROUP * items_of(device, &form);
}

// Binds `buffer`, or `dummy` if it is NULL: every parameter of a kernel needs a buffer.
static void bind(tsri_call *call, const char *name, tsr_buffer *buffer, tsr_buffer *dummy, tsr_dtype dtype) {
  tsri_call_buffer(call, name, buffer ? buffer : dummy, dtype);
}

// How many of the lowest bits of keys may differ.
static int bits_of(const tsri_sort *s, const key_form *form) { return s->key_bits > 0 ? s->key_bits : form->width; }

// Sorts each row by as few items as possible: a subgroup or 32 items with 4 to 16 elements each; then more items; then more elements per item. Few items with
// many elements are faster, because an item has 8 counters however many elements it has: 10,000 rows of 1,000 f32 take 175 us with 16 elements per item on an
// H200, 199 with 8 and 244 with 4; through Vulkan 192, 220 and 293.
static tsr_status sort_whole_rows(const tsri_sort *s, const key_form *form, tsr_buffer *dummy) {
  enum { DENSE = 16 };
  bool wants_teams = tsri_call_tuning(s->device)->radix_teams > 1;
  int items = 4, group = s->device->limits.subgroup_size > 32 ? 64 : 32;
  while (group * items < s->n && items < DENSE) items *= 2;
  while (group * items < s->n && group < GROUP) group *= 2;
  while (group * items < s->n) items *= 2;
  tsri_call call;
  tsri_call_init(
      &call, s->device, "op_radix", "radix_rows",
      TSRI_WITH(KEY_ARGS(s, form), TSRI_CONSTANT("VALUES", s->values != NULL), TSRI_CONSTANT("ORDER", s->order != NULL),
                TSRI_CONSTANT("ITEMS", items), TSRI_CONSTANT("TEAMS", ranks_in_teams(s->device, wants_teams, group)),
                TSRI_CONSTANT("SG", tsri_call_subgroup(s->device, group)), TSRI_CONSTANT("WG", group)));
  tsri_call_buffer(&call, "x", s->x, form->carrier);
  bind(&call, "values", s->values, dummy, form->carrier);
  bind(&call, "order", s->order, dummy, TSR_I32);
  tsri_call_word(&call, "rows", s->rows);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, "keep", s->keep);
  tsri_call_word(&call, "bits", bits_of(s, form));
  tsri_call_word(&call, "x_at", s->x_at);
  return tsri_call_many_groups(&call, s->rows);
}

// --- Long rows: passes of eight bits ---------------------------------------------------------------------------------

typedef struct pass_plan {
  const tsri_sort *s;
  key_form form;
  int group, items;
  int64_t tiles, all_tiles;     // of a row, and of all rows
  int64_t chunk, chunks;        // tiles of a chunk, and chunks of a row; 0: the tiles sum their counts themselves
  tsr_buffer *counts, *before;  // counts of digits: of each tile, and of the tiles before it in its chunk
  tsr_buffer *totals, *starts;  // counts of digits of each chunk, and the index where its elements of a digit go
  tsr_buffer *dummy;
} pass_plan;

// Elements and indices between two passes.
typedef struct run_state {
  tsr_buffer *values, *order;
  int64_t at;  // first element of the values
} run_state;

static tsr_status count_digits(const pass_plan *p, const run_state *from, int shift) {
  tsri_call call;
  tsri_call_init(&call, p->s->device, "op_radix", "radix_count",
                 TSRI_WITH(KEY_ARGS(p->s, &p->form), TSRI_CONSTANT("ITEMS", p->items), TSRI_CONSTANT("WG", p->group)));
  tsri_call_buffer(&call, "x", from->values, p->form.carrier);
  tsri_call_buffer(&call, "counts", p->counts, TSR_U32);
  tsri_call_word(&call, "all_tiles", p->all_tiles);
  tsri_call_word(&call, "tiles", p->tiles);
  tsri_call_word(&call, "n", p->s->n);
  tsri_call_word(&call, "shift", shift);
  tsri_call_word(&call, "x_at", from->at);
  return tsri_call_many_groups(&call, p->all_tiles);
}

static tsr_status sum_counts(const pass_plan *p) {
  if (p->chunks == 0) return TSR_OK;
  tsri_call call;
  tsri_call_init(&call, p->s->device, "op_radix", "radix_chunks", NULL, 0);
  tsri_call_buffer(&call, "counts", p->counts, TSR_U32);
  tsri_call_buffer(&call, "before", p->before, TSR_U32);
  tsri_call_buffer(&call, "totals", p->totals, TSR_U32);
  tsri_call_word(&call, "all_chunks", p->s->rows * p->chunks);
  tsri_call_word(&call, "chunks", p->chunks);
  tsri_call_word(&call, "tiles", p->tiles);
  tsri_call_word(&call, "chunk", p->chunk);
  tsr_status status = tsri_call_many_groups(&call, p->s->rows * p->chunks);
  if (status != TSR_OK) return status;
  tsri_call_init(&call, p->s->device, "op_radix", "radix_starts",
                 TSRI_WITH(TSRI_CONSTANT("SG", tsri_call_subgroup(p->s->device, GROUP))));
  tsri_call_buffer(&call, "totals", p->totals, TSR_U32);
  tsri_call_buffer(&call, "starts", p->starts, TSR_U32);
  tsri_call_word(&call, "rows", p->s->rows);
  tsri_call_word(&call, "chunks", p->chunks);
  return tsri_call_many_groups(&call, p->s->rows);
}

static tsr_status move(const pass_plan *p, const run_state *from, const run_state *to, int shift) {
  bool wants_teams = tsri_call_tuning(p->s->device)->radix_teams > 0;
  tsri_call call;
  tsri_call_init(
      &call, p->s->device, "op_radix", "radix_move",
      TSRI_WITH(KEY_ARGS(p->s, &p->form), TSRI_CONSTANT("VALUES", to->values != NULL),
                TSRI_CONSTANT("ORDER", to->order ? (from->order ? 2 : 1) : 0), TSRI_CONSTANT("CHUNKED", p->chunks > 0),
                TSRI_CONSTANT("ITEMS", p->items),
                TSRI_CONSTANT("TEAMS", ranks_in_teams(p->s->device, wants_teams, p->group)),
                TSRI_CONSTANT("SG", tsri_call_subgroup(p->s->device, p->group)), TSRI_CONSTANT("WG", p->group)));
  tsri_call_buffer(&call, "x", from->values, p->form.carrier);
  bind(&call, "from", from->order, p->counts, TSR_I32);
  tsri_call_buffer(&call, "counts", p->chunks > 0 ? p->before : p->counts, TSR_U32);
  bind(&call, "starts", p->starts, p->counts, TSR_U32);
  bind(&call, "values", to->values, p->dummy, p->form.carrier);
  bind(&call, "order", to->order, p->dummy, TSR_I32);
  tsri_call_word(&call, "all_tiles", p->all_tiles);
  tsri_call_word(&call, "tiles", p->tiles);
  tsri_call_word(&call, "chunks", p->chunks);
  tsri_call_word(&call, "chunk", p->chunk);
  tsri_call_word(&call, "n", p->s->n);
  tsri_call_word(&call, "shift", shift);
  tsri_call_word(&call, "x_at", from->at);
  return tsri_call_many_groups(&call, p->all_tiles);
}

static tsr_status plan_passes(pass_plan *p) {
  const tsri_sort *s = p->s;
  int64_t tile = (int64_t)p->group * p->items;
  p->tiles = (s->n + tile - 1) / tile;
  p->all_tiles = p->tiles * s->rows;
  bool sums_itself = p->tiles <= MOST_SUMMED || p->all_tiles <= FEW_TILES;
  tsr_status status = tsri_call_scratch(s->device, p->all_tiles * DIGITS, TSR_U32, &p->counts);
  if (sums_itself || status != TSR_OK) return status;
  while (p->chunk * p->chunk < p->tiles) p->chunk++;
  p->chunks = (p->tiles + p->chunk - 1) / p->chunk;
  status = tsri_call_scratch(s->device, p->all_tiles * DIGITS, TSR_U32, &p->before);
  if (status == TSR_OK) status = tsri_call_scratch(s->device, s->rows * p->chunks * DIGITS, TSR_U32, &p->totals);
  if (status == TSR_OK) status = tsri_call_scratch(s->device, s->rows * p->chunks * DIGITS, TSR_U32, &p->starts);
  return status;
}

// Passes write alternately to two pairs of buffers, chosen so that the last pass writes to the caller's buffers.
static tsr_status run_passes(const pass_plan *p, int passes) {
  const tsri_sort *s = p->s;
  int64_t total = s->rows * s->n;
  tsr_buffer *scratch[3] = {NULL, NULL, NULL};
  tsr_status status = TSR_OK;
  if (passes > 1) status = tsri_call_scratch(s->device, total, p->form.carrier, &scratch[0]);
  if (status == TSR_OK && passes > 1 && s->order) status = tsri_call_scratch(s->device, total, TSR_I32, &scratch[1]);
  if (status == TSR_OK && passes > 2 && !s->values)
    status = tsri_call_scratch(s->device, total, p->form.carrier, &scratch[2]);
  const run_state places[2] = {{.values = s->values ? s->values : scratch[2], .order = s->order},
                               {.values = scratch[0], .order = scratch[1]}};
  run_state from = {.values = s->x, .at = s->x_at};
  for (int i = 0; i < passes && status == TSR_OK; i++) {
    run_state to = i + 1 < passes ? places[(passes - 1 - i) % 2] : (run_state){.values = s->values, .order = s->order};
    status = count_digits(p, &from, i * 8);
    if (status == TSR_OK) status = sum_counts(p);
    if (status == TSR_OK) status = move(p, &from, &to, i * 8);
    from = to;
  }
  for (int i = 0; i < 3; i++) tsr_buffer_release(scratch[i]);
  return status;
}

static tsr_status sort_long_rows(const tsri_sort *s, const key_form *form, tsr_buffer *dummy) {
  pass_plan plan = {
      .s = s, .form = *form, .group = tile_group(s->device), .items = items_of(s->device, form), .dummy = dummy};
  tsr_status status = plan_passes(&plan);
  if (status == TSR_OK) status = run_passes(&plan, (bits_of(s, form) + 7) / 8);
  tsr_buffer_release(plan.counts);
  tsr_buffer_release(plan.before);
  tsr_buffer_release(plan.totals);
  tsr_buffer_release(plan.starts);
  return status;
}

// --- The first elements of long rows ---------------------------------------------------------------------------------

int64_t tsri_radix_most_first(const tsr_device *device) { return device->limits.shared_bytes >= 32768 ? 1024 : 256; }

// The remaining candidates of each row: n elements from `at` on, and their indices in the complete row. `order` NULL: an element's index is its position.
typedef struct candidates {
  tsr_buffer *values, *order;
  int64_t n, at;
} candidates;

// Parameters of radix_first for a device. group: items of a work-group. most (MOST): candidates whose ranks it computes. list (LIST): entries of the list of
// elements and keys, as many as fit in shared memory beside the bins, the sums, a word for each item (for collectives) and three words for each of `most`.
// sample: keys that each item reads for a bound, 0: no sample.
typedef struct first_shape {
  int group, most, list, sample;
} first_shape;

// Chooses the sample, if the list has room for the elements that will be within the bound that the sample gives. These are about keep * length / SAMPLE, and
// more if an item hides some of its keys by reporting only its first. Their number varies by its 1 / sqrt(keep), since the bound is the sample's key number
// `keep`; the list gets room for five times that variation. A row with still more elements within the bound is read again.
static void shape_sample(const tsri_sort *s, int64_t length, first_shape *shape) {
  enum { SAMPLE = 4096, SHORTEST_LIST = 1024, STEP = 256 };
  int group = tsri_call_tuning(s->device)->sample_group;
  if (s->keep > group / 4) group = shape->group;
  if (length < 2 * SAMPLE || s->keep > group / 4) return;
  int64_t within = s->keep * length / SAMPLE, root = 1;
  within += within * s->keep / (2 * group);
  while ((root + 1) * (root + 1) <= s->keep) root++;
  int64_t list = (within + 5 * within / root + STEP - 1) / STEP * STEP;
  if (list < SHORTEST_LIST) list = SHORTEST_LIST;
  if (list > shape->list) return;
  shape->group = group;
  shape->sample = SAMPLE / group;
  shape->list = (int)list;
}

static first_shape shape_first(const tsri_sort *s, int64_t length) {
  enum { BINS = 2048, OTHERS = 64, LONGEST_LIST = 4096 };
  const tsri_limits *limits = &s->device->limits;
  first_shape shape = {.group = tsri_call_tuning(s->device)->select_group,
                       .most = s->keep <= 64    ? 64
                               : s->keep <= 256 ? 256
                                                : 1024,
                       .list = LONGEST_LIST};
  // Computing ranks of up to 1,024 candidates takes most of the time, so the work-group is larger: 1000 of 100 x 50257 takes 311 us on an H200 with work-groups
  // of 1,024, and 366 with 512.
  if (shape.most == 1024 && shape.group == 512) shape.group = 1024;
  if (shape.group > (int)limits->max_group_size) shape.group = (int)limits->max_group_size;
  int64_t room = (int64_t)limits->shared_bytes / 4 - BINS - OTHERS - 3 * shape.group - 3 * shape.most;
  while (shape.list > 1 && shape.list * 2 > room) shape.list /= 2;
  shape_sample(s, length, &shape);
  return shape;
}

static tsr_status choose_first(const tsri_sort *s, const key_form *form, const candidates *from, const candidates *to,
                               int64_t parts) {
  first_shape shape = shape_first(s, from->n / parts);
  tsri_call call;
  tsri_call_init(
      &call, s->device, "op_radix", "radix_first",
      TSRI_WITH(KEY_ARGS(s, form), TSRI_CONSTANT("INDEXED", from->order != NULL), TSRI_CONSTANT("MOST", shape.most),
                TSRI_CONSTANT("LIST", shape.list), TSRI_CONSTANT("SAMPLE", shape.sample),
                TSRI_CONSTANT("READS", tsri_call_tuning(s->device)->select_reads),
                TSRI_CONSTANT("AHEAD", tsri_call_tuning(s->device)->select_ahead),
                TSRI_CONSTANT("SG", tsri_call_subgroup(s->device, shape.group)), TSRI_CONSTANT("WG", shape.group)));
  tsri_call_buffer(&call, "x", from->values, form->carrier);
  bind(&call, "from", from->order, from->values, TSR_I32);
  tsri_call_buffer(&call, "values", to->values, form->carrier);
  tsri_call_buffer(&call, "order", to->order, TSR_I32);
  tsri_call_word(&call, "all_parts", s->rows * parts);
  tsri_call_word(&call, "parts", parts);
  tsri_call_word(&call, "n", from->n);
  tsri_call_word(&call, "keep", s->keep);
  tsri_call_word(&call, "x_at", from->at);
  return tsri_call_many_groups(&call, s->rows * parts);
}

// How many work-groups share a row of n elements: enough to keep the device busy, each with many more elements than are kept. With fewer than LEAST_PARTS
// parts, the additional launch that joins them costs more than it gains.
static int64_t parts_of(const tsri_sort *s, int64_t n) {
  enum { LEAST_PARTS = 8 };
  int64_t least = s->keep * 16 > 4096 ? s->keep * 16 : 4096, parts = tsri_call_tuning(s->device)->radix_parts / s->rows;
  if (parts > n / least) parts = n / least;
  return parts >= LEAST_PARTS ? parts : 1;
}

// Finds the first elements of each part of each row; then the first of these candidates, and so on until one part is left.
static tsr_status sort_first(const tsri_sort *s, const key_form *form) {
  candidates from = {.values = s->x, .n = s->n, .at = s->x_at};
  tsr_status status = TSR_OK;
  for (int64_t parts = 0; status == TSR_OK && parts != 1;) {
    parts = parts_of(s, from.n);
    candidates to = {.n = parts * s->keep};
    tsr_buffer *values = NULL, *order = NULL;
    if (parts > 1 || !s->values) status = tsri_call_scratch(s->device, s->rows * to.n, form->carrier, &values);
    if (status == TSR_OK && (parts > 1 || !s->order))
      status = tsri_call_scratch(s->device, s->rows * to.n, TSR_I32, &order);
    to.values = values ? values : s->values;
    to.order = order ? order : s->order;
    if (status == TSR_OK) status = choose_first(s, form, &from, &to, parts);
    if (from.order) {
      tsr_buffer_release(from.values);
      tsr_buffer_release(from.order);
    }
    from = to;
    if (parts != 1 && status == TSR_OK) continue;
    tsr_buffer_release(values);
    tsr_buffer_release(order);
  }
  return status;
}

tsr_status tsri_radix_sort(const tsri_sort *s) {
  key_form form = form_of(s->dtype);
  if (s->n > tsri_radix_longest_row(s->device, s->dtype) && s->keep < s->n) return sort_first(s, &form);
  tsr_buffer *dummy = NULL;
  tsr_status status = s->values && s->order ? TSR_OK : tsri_call_scratch(s->device, 2, TSR_U32, &dummy);
  if (status != TSR_OK) return status;
  bool fits = s->n <= tsri_radix_longest_row(s->device, s->dtype);
  status = fits ? sort_whole_rows(s, &form, dummy) : sort_long_rows(s, &form, dummy);
  tsr_buffer_release(dummy);
  return status;
}
