// SPDX-License-Identifier: MIT
// Chooses the tiles of kernels/op_attention_tiles.tk and launches them: attention, and its gradient.
#include "ops/attention_tiles.h"

#include "core/error.h"
#include "graph/node.h"
#include "ops/attention_native.h"
#include "ops/attention_products.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/promote.h"

#include <tessera/ops.h>

// The kernels have constants of the same names and values.
enum { SIDE = 16, PAD = 8, SHARERS = 4, SUMS_GROUP = 128 };

// With fewer queries most of a tile would be empty: one item per row of the result is faster.
enum { LEAST_QUERIES = 8 };

// Weights are stored as two bf16 numbers for the matrix units, with an error of 2^-18. In sums of at least this many
// terms that is less than the rounding errors of f32.
enum { LONG_ENOUGH = 64 };

// --- Choosing tiles --------------------------------------------------------------------------------------------------

// Tile sizes; the kernels' parameters have the same names.
typedef struct tiles {
  bool has_units;
  int element;  // bytes of an element in shared memory: 2 for fragments of 16 bits, else 4
  int rows, cols, items, subgroup_size;
  int split;  // subgroups that share 16 rows and divide the elements of a head; 1 without matrix units
  int64_t depth, size;
} tiles;

static int64_t round_up(int64_t a, int64_t b) { return (a + b - 1) / b * b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static bool has_fragments(const tsr_device *device, tsr_dtype dtype) {
  for (uint32_t i = 0; i < device->limits.fragment_count; i++) {
    const tsr_fragment_size *f = &device->limits.fragments[i];
    if (f->dtype == dtype && f->m == SIDE && f->n == SIDE && f->k == SIDE) return true;
  }
  return false;
}

// Bytes of shared memory that the kernel attention_tiles uses.
static int64_t forward_bytes(const tiles *t) {
  int64_t gap = t->element == 2 ? PAD : 4, score = t->rows * (t->cols + PAD), halves = t->element == 2 ? 2 : 1;
  int64_t kv = t->cols * (larger(t->depth, t->size) + PAD) * t->element;
  if (!t->has_units) return t->rows * (t->depth + gap) * t->element + kv + score * 4 + t->rows * 4 + 8;
  int64_t stage = t->rows * t->split * (SIDE + gap) * t->element;
  score = t->rows * (t->cols + gap);
  return larger(kv, stage) + score * (t->split * 4 + halves * t->element) + 64;
}

// Bytes of shared memory that the kernel attention_gradient uses.
static int64_t gradient_bytes(const tiles *t) {
  int64_t gap = t->element == 2 ? PAD : 4, score = t->rows * (t->cols + PAD);
  int64_t lines = t->cols + (t->has_units ? 0 : t->rows), both = t->depth + t->size + 2 * gap;
  return lines * both * t->element + score * (t->has_units ? 4 + t->element : 8) + t->cols * 8 + 64;
}

// Whether a subgroup can keep its 16 rows of `size` elements of the result (or of two gradients) in fragments.
static bool holds_sums(const tsr_device *device, int64_t depth, int64_t size, bool is_gradient) {
  int64_t most = device->limits.max_held_fragments;
  int64_t held = (is_gradient ? round_up(depth, SIDE) : 0) / SIDE + round_up(size, SIDE) / SIDE;
  return most == 0 || held <= most;
}

// Whether an item can also keep its part of the factors' rows in registers: a fragment takes FACTOR_WORDS of each item, and 8 words for each sum. Beyond
// MOST_WORDS, CUDA's compiler spills to memory.
static bool holds_factors(tsr_dtype dtype, int64_t depth, int64_t size, bool is_gradient) {
  enum { SUM_WORDS = 8, MOST_WORDS = 96 };
  int64_t factor_words = dtype == TSR_F32 ? 16 : 4;
  int64_t down = round_up(depth, SIDE) / SIDE, across = round_up(size, SIDE) / SIDE;
  int64_t words = is_gradient ? (down + across) * (factor_words + SUM_WORDS) : down * factor_words + across * SUM_WORDS;
  return (is_gradient && dtype != TSR_F32) || words <= MOST_WORDS;
}

static bool holds(const tsr_device *device, tsr_dtype dtype, int64_t depth, int64_t size, bool is_gradient) {
  return holds_sums(device, depth, size, is_gradient) && holds_factors(dtype, depth, size, is_gradient);
}

// Among how many subgroups the elements of a head are divided, so that each holds its part in fragments. 0: there is no such number. The gradient is not divided.
static int choose_split(const tsr_device *device, tsr_dtype dtype, int64_t depth, int64_t size, bool is_gradient) {
  enum { MOST_SPLIT = 4 };
  for (int split = 1; split <= (is_gradient ? 1 : MOST_SPLIT); split *= 2) {
    if (holds(device, dtype, (depth + split - 1) / split, (size + split - 1) / split, is_gradient)) return split;
  }
  return 0;
}

// Divides the elements of a head among more subgroups if there would be few items in a work-group, as far as they divide evenly.
static int widen_split(int rows, int split, int subgroup_size, int64_t depth, int64_t size) {
  enum { LEAST_ITEMS = 128, MOST_SPLIT = 4 };
  while (rows / SIDE * split * subgroup_size < LEAST_ITEMS && split < MOST_SPLIT && depth % (2 * SIDE * split) == 0 &&
         size % (2 * SIDE * split) == 0)
    split *= 2;
  return split;
}

// A shape of tiles, and the kernels that have it.
typedef struct tile_shape {
  bool has_units;
  int use, rows, cols;
} tile_shape;

enum { FORWARD = 1, GRADIENT = 2, BOTH = 3 };

// What a tile is chosen for. least_split: choose_split(); 0: without matrix units.
typedef struct tile_wish {
  const tsr_device *device;
  tsr_dtype dtype;
  int64_t depth, size, queries;
  int least_split;
  bool is_gradient;
} tile_wish;

// Describes the tile of a shape. False if it does not fit in shared memory or in the largest work-group, or with units has room for twice the queries.
static bool shape_tile(const tile_wish *w, const tile_shape *shape, tiles *out) {
  const tsri_limits *limits = &w->device->limits;
  bool has_units = w->least_split > 0;
  int subgroup_size = tsr_device_subgroup_size(w->device), split = w->least_split;
  if (shape->has_units != has_units || !(shape->use & (w->is_gradient ? GRADIENT : FORWARD))) return false;
  if (w->device->info.is_software && shape->rows > SIDE)
    return false;  // drivers in software compile large kernels for long
  if (has_units && !w->is_gradient) {
    if (shape->rows >= 2 * round_up(w->queries, SIDE)) return false;
    split = widen_split(shape->rows, split, subgroup_size, w->depth, w->size);
  }
  int unit = has_units ? SIDE * split : shape->cols;
  *out = (tiles){.has_units = has_units,
                 .element = has_units ? (int)tsr_dtype_bytes(w->dtype) : 4,
                 .rows = shape->rows,
                 .cols = shape->cols,
                 .items = has_units ? shape->rows / SIDE * split * subgroup_size : shape->rows * 4,
                 .subgroup_size = subgroup_size,
                 .split = has_units ? split : 1,
                 .depth = round_up(w->depth, unit),
                 .size = round_up(w->size, unit)};
  int team = out->items / out->rows;
  bool is_even = out->items % out->rows == 0 && out->cols % (team * 4) == 0 && team <= subgroup_size;
  int64_t bytes = w->is_gradient ? gradient_bytes(out) : forward_bytes(out);
  return is_even && bytes <= limits->shared_bytes && (uint32_t)out->items <= limits->max_group_size;
}

// How many items run on a core at a time if only its shared memory limits them.
static int64_t items_of_core(const tsr_device *device, const tiles *t) {
  enum { RESERVED = 1024 };  // by the driver, for each group
  int64_t groups = device->limits.core_shared_bytes / (forward_bytes(t) + RESERVED);
  return t->items * larger(groups, 1);
}

// Chooses the first of the shapes that fits, which is the largest but for the forward one with 64 columns: several groups with fewer columns are faster, unless the shared memory
// of a core has no room for them. Where a core has little, the shape with the most items on a core is taken, the largest of these.
static bool choose_among(const tile_wish *w, tiles *out) {
  static const tile_shape shapes[] = {{true, GRADIENT, 64, 64}, {true, FORWARD, 64, 32}, {true, BOTH, 32, 32},
                                      {true, FORWARD, 16, 32},  {true, BOTH, 16, 16},    {false, BOTH, 32, 32},
                                      {false, BOTH, 16, 16}},
                          large = {true, FORWARD, 64, 64};
  bool is_found = false, has_little = w->device->limits.core_shared_bytes > 0 && w->least_split > 0 && !w->is_gradient;
  if (has_little) is_found = shape_tile(w, &large, out);
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes && (has_little || !is_found); i++) {
    tiles t;
    if (!shape_tile(w, &shapes[i], &t)) continue;
    if (!is_found || items_of_core(w->device, &t) > items_of_core(w->device, out)) *out = t;
    is_found = true;
  }
  return is_found;
}

static bool choose(const tsr_device *device, tsr_dtype dtype, int64_t depth, int64_t size, int64_t queries,
                   int64_t keys, bool is_gradient, tiles *out) {
  if (!device->backend->dialect || device->limits.shared_bytes == 0 || tsr_device_subgroup_size(device) < SHARERS)
    return false;
  bool has_units = has_fragments(device, dtype) && depth + keys >= LONG_ENOUGH;
  tile_wish wish = {device, dtype, depth, size, queries, 0, is_gradient};
  if (has_units) wish.least_split = choose_split(device, dtype, depth, size, is_gradient);
  if (wish.least_split > 0 && choose_among(&wish, out)) return true;
  wish.least_split = 0;
  return choose_among(&wish, out);
}

int tsri_attention_extra(const tsri_attention_attributes *given) {
  int count = (given->mask != TSRI_MASK_NONE) + (given->has_slopes != 0) + (given->has_lengths != 0);
  if (count > 1) return TSRI_EXTRA_MANY;
  if (given->has_slopes) return TSRI_EXTRA_SLOPES;
  if (given->has_lengths) return TSRI_EXTRA_LENGTHS;
  if (given->mask == TSRI_MASK_NONE) return TSRI_EXTRA_NONE;
  return given->mask == TSRI_MASK_TRUTH ? TSRI_EXTRA_TRUTH : TSRI_EXTRA_ADDED;
}

static bool fits(const tsr_device *device, tsr_dtype dtype, const tsri_attention_attributes *given, tsr_shape q,
                 tsr_shape v, bool is_gradient) {
  tiles t;
  bool is_narrow = dtype == TSR_F32 || dtype == TSR_F16 || dtype == TSR_BF16;
  if (!is_narrow || given->has_blocks || tsri_attention_extra(given) == TSRI_EXTRA_MANY || tsri_device_is_cpu(device))
    return false;
  if (q.dims[2] < LEAST_QUERIES || given->keys == 0) return false;
  if (is_gradient && device->info.is_software) return false;  // llvmpipe compiles the kernel for half a minute
  if (choose(device, dtype, q.dims[3], v.dims[3], q.dims[2], given->keys, is_gradient, &t)) return true;
  return is_gradient && tsri_attention_gradient_by_products(device, dtype, given, q, v);
}

bool tsri_attention_fits_tiles(const tsr_device *device, tsr_dtype dtype, const tsri_attention_attributes *given,
                               tsr_shape q, tsr_shape v) {
  return fits(device, dtype, given, q, v, false);
}

bool tsri_attention_gradient_fits_tiles(const tsr_device *device, tsr_dtype dtype,
                                        const tsri_attention_attributes *given, tsr_shape q, tsr_shape v) {
  return fits(device, dtype, given, q, v, true);
}

// --- Launching -------------------------------------------------------------------------------------------------------

// A launch of attention_tiles or attention_gradient, for a node whose first inputs are those of the attention.
typedef struct launch {
  const tsri_kernel_run *run;
  const tsri_attention_attributes *given;
  tsr_dtype dtype;  // of q, k and v
  bool has_tiles;   // false: no tile fits, and products compute the gradient
  tiles tiles;
  int extra;
  bool is_wide;
  int64_t batch, heads, kv_heads, queries, depth, size;
} launch;

// Whether runs of `run` elements can be read by one load: all rows of `x` begin at multiples of a run.
static bool is_wide(const tsri_layout *x, int run) {
  bool fits = x->strides[3] == 1 && x->shape.dims[3] % run == 0 && x->offset % run == 0;
  for (int i = 0; i < 3; i++) fits = fits && x->strides[i] % run == 0;
  return fits;
}

static tsr_status begin(const tsri_kernel_run *run, bool is_gradient, launch *l) {
  const tsri_layout *q = &run->layouts[0], *k = &run->layouts[1], *v = &run->layouts[2];
  *l = (launch){.run = run,
                .given = TSRI_GIVEN(run->node, attention),
                .dtype = run->input_dtypes[0],
                .batch = q->shape.dims[0],
                .heads = q->shape.dims[1],
                .kv_heads = k->shape.dims[1],
                .queries = q->shape.dims[2],
                .depth = q->shape.dims[3],
                .size = v->shape.dims[3]};
  l->extra = tsri_attention_extra(l->given);
  tsr_status status = TSR_OK;
  for (int i = 0; i < run->input_count && status == TSR_OK; i++)
    status = tsri_call_check("attention", &run->layouts[i]);
  if (status != TSR_OK) return status;
  l->has_tiles = choose(run->device, l->dtype, l->depth, l->size, l->queries, l->given->keys, is_gradient, &l->tiles);
  if (!l->has_tiles && !is_gradient) return TSR_ERR_INTERNAL;
  int length = l->tiles.element == 2 ? 8 : 4;
  l->is_wide = is_wide(q, length) && is_wide(k, length) && is_wide(v, length);
  return TSR_OK;
}

// The dtype as which q, k and v are bound (the kernels' X): integers where bits are only copied.
static tsr_dtype carrier(const launch *l) {
  if (l->tiles.element == 4) return l->dtype;
  return l->is_wide ? TSR_U32 : TSR_I16;
}

// The arguments that both kernels take: types, tile sizes, and those for the extra input and the scalars.
#define TILE_PARAMETERS(l)                                                                            \
  TSRI_TYPE("F", (l)->tiles.has_units ? (l)->dtype : TSR_F16), TSRI_TYPE("X", carrier(l)),            \
      TSRI_TYPE("W", (l)->tiles.element == 2 ? TSR_U32 : TSR_F32),                                    \
      TSRI_CONSTANT("F32_UNITS", (l)->tiles.has_units && (l)->tiles.element == 4),                    \
      TSRI_TYPE("E", (l)->run->input_dtypes[(l)->extra ? 3 : 0]), TSRI_CONSTANT("EXTRA", (l)->extra), \
      TSRI_CONSTANT("CAPPED", (l)->given->softcap > 0), TSRI_CONSTANT("WIDE", (l)->is_wide),          \
      TSRI_CONSTANT("DEPTH", (l)->tiles.depth), TSRI_CONSTANT("SIZE", (l)->tiles.size),               \
      TSRI_CONSTANT("ROWS", (l)->tiles.rows), TSRI_CONSTANT("COLS", (l)->tiles.cols),                 \
      TSRI_CONSTANT("SG", (l)->tiles.subgroup_size), TSRI_CONSTANT("WG", (l)->tiles.items)

static void pass_tensor(tsri_call *call, const char *stem, const tsri_layout *layout) {
  char at[8] = {stem[0], '_', 'a', 't', 0};
  tsri_call_word(call, at, layout->offset);
  tsri_call_words(call, stem, 0, layout->strides, 4);
}

static void pass_common(tsri_call *call, const launch *l) {
  int extra = l->extra ? 3 : 0;
  const tsri_layout *layout = &l->run->layouts[extra];
  int64_t strides[4] = {0};
  for (int i = 0; i < layout->shape.rank && i < 4; i++) strides[i] = layout->strides[i];
  tsri_call_buffer(call, "extra", l->run->inputs[extra], l->run->input_dtypes[extra]);
  tsri_call_word(call, "e_at", layout->offset);
  tsri_call_words(call, "e", 0, strides, 4);
  tsri_call_word(call, "shared_by", l->heads / l->kv_heads);
  tsri_call_word(call, "queries", l->queries);
  tsri_call_word(call, "keys", l->given->keys);
  tsri_call_word(call, "depth", l->depth);
  tsri_call_word(call, "size", l->size);
  tsri_call_word(call, "is_causal", l->given->is_causal);
  tsri_call_word(call, "window", l->given->window);
  tsri_call_real(call, "scale", l->given->scale);
  tsri_call_real(call, "cap", l->given->softcap);
}

static int64_t tile_count(const launch *l, int64_t positions) {
  return round_up(positions, l->tiles.rows) / l->tiles.rows;
}

// Launches `spans` work-groups per tile of `positions` rows, for each head.
static tsr_status launch_tiles(tsri_call *call, const launch *l, int64_t positions, int64_t heads, int64_t spans) {
  int64_t count = tile_count(l, positions), total = count * heads * l->batch * spans;
  tsri_call_word(call, "total", total);
  tsri_call_word(call, "tiles", count);
  tsri_call_word(call, "heads", heads);
  return tsri_call_many_groups(call, total);
}

// Whether four neighbouring elements of a mask of numbers can be read at once: they are contiguous along the keys, and all lines begin at multiples of four.
static bool reads_mask_wide(const launch *l) {
  if (l->extra != TSRI_EXTRA_ADDED) return false;
  const tsri_layout *mask = &l->run->layouts[3];
  bool fits = mask->strides[3] == 1 && l->given->keys % 4 == 0 && mask->offset % 4 == 0;
  for (int i = 0; i < 3; i++) fits = fits && mask->strides[i] % 4 == 0;
  return fits;
}

// Launches attention_tiles. `spans` 1: y is the result, [batch, position, head, element]. More: the keys are divided into as many spans of `span` keys, and y gets parts.
static tsr_status attend(const launch *l, int64_t spans, int64_t span, tsr_buffer *y, tsr_buffer *lse) {
  const tsri_kernel_run *run = l->run;
  tsr_dtype stored = spans > 1 ? TSR_F32 : l->dtype;
  bool stores_quads = spans == 1 && l->size % 4 == 0;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_attention_tiles", "attention_tiles",
                 TSRI_WITH(TILE_PARAMETERS(l), TSRI_TYPE("T", stored), TSRI_CONSTANT("WIDE_Y", stores_quads),
                           TSRI_CONSTANT("SPLIT", l->tiles.split), TSRI_CONSTANT("PARTS", spans > 1),
                           TSRI_CONSTANT("WIDE_E", reads_mask_wide(l))));
  tsri_call_buffer(&call, "q", run->inputs[0], carrier(l));
  tsri_call_buffer(&call, "k", run->inputs[1], carrier(l));
  tsri_call_buffer(&call, "v", run->inputs[2], carrier(l));
  tsri_call_buffer(&call, "y", y, stored);
  tsri_call_buffer(&call, "lse", lse, TSR_F32);
  tsri_call_word(&call, "spans", spans);
  tsri_call_word(&call, "span", span);
  pass_tensor(&call, "q", &run->layouts[0]);
  pass_tensor(&call, "k", &run->layouts[1]);
  pass_tensor(&call, "v", &run->layouts[2]);
  pass_common(&call, l);
  return launch_tiles(&call, l, l->queries, l->heads, spans);
}

// Into how many spans the keys are divided so that about `attention_groups` work-groups keep the device busy. 1 if the logarithms of sums are wanted, which
// attention_join does not compute.
static int64_t choose_spans(const launch *l, int64_t *out_span) {
  enum { LEAST_STEPS = 4, MOST_SPANS = 64 };
  int64_t groups = tile_count(l, l->queries) * l->heads * l->batch, keys = l->given->keys;
  int64_t wanted = TSRI_TUNED(tsri_tuning_of(l->run->device), attention_groups) / groups;
  int64_t most = keys / (l->tiles.cols * LEAST_STEPS), spans = wanted < most ? wanted : most;
  if (l->run->output_count > 1 || spans < 2) return 1;
  if (spans > MOST_SPANS) spans = MOST_SPANS;
  *out_span = round_up((keys + spans - 1) / spans, l->tiles.cols);
  return (keys + *out_span - 1) / *out_span;
}

static tsr_status attend_in_spans(const launch *l, int64_t spans, int64_t span) {
  const tsri_kernel_run *run = l->run;
  int64_t rows = l->batch * l->queries * l->heads;
  tsr_buffer *parts = NULL, *filler = NULL;  // `filler` is bound in place of lse
  tsr_status status = tsri_call_scratch(run->device, rows * spans * (l->size + 2), TSR_F32, &parts);
  if (status == TSR_OK) status = tsri_call_scratch(run->device, 1, TSR_F32, &filler);
  if (status == TSR_OK) status = attend(l, spans, span, parts, filler);
  if (status == TSR_OK) status = tsri_attention_join(run, parts, rows, spans);
  tsr_buffer_release(parts);
  tsr_buffer_release(filler);
  return status;
}

tsr_status tsri_run_attention_tiles(const tsri_kernel_run *run) {
  launch l;
  int64_t span = 0;
  tsr_status status = tsri_attention_run_native_tiles(run);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = begin(run, false, &l);
  if (status != TSR_OK) return status;
  status = tsri_attention_run_products(run, l.tiles.has_units);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  int64_t spans = choose_spans(&l, &span);
  if (spans > 1) return attend_in_spans(&l, spans, span);
  tsr_buffer *lse = run->output_count > 1 ? tsr_buffer_retain(run->outputs[1]) : NULL;
  status = lse ? TSR_OK : tsri_call_scratch(run->device, l.batch * l.heads * l.queries, TSR_F32, &lse);
  if (status == TSR_OK) status = attend(&l, 1, 0, run->output, lse);
  tsr_buffer_release(lse);
  return status;
}

// --- Gradient --------------------------------------------------------------------------------------------------------

// A launch of the gradient. y, lse and g are indices of inputs after those of the attention.
typedef struct gradient {
  launch l;
  int y, lse, g;
  tsr_buffer *stats;  // lse, and the sums of y * g: f32, [2, batch, heads, queries]
} gradient;

// The layout of y or g, which are [batch, position, head, element], with its axes in the order of q, k and v.
static tsri_layout by_head(const tsri_layout *x) {
  tsri_layout turned;
  tsri_layout_permute(x, (const int[]){0, 2, 1, 3}, 4, &turned);
  return turned;
}

static tsr_status sum_rows(const gradient *s) {
  const launch *l = &s->l;
  int64_t rows = l->batch * l->heads * l->queries;
  tsri_layout y = by_head(&l->run->layouts[s->y]), g = by_head(&l->run->layouts[s->g]);
  tsri_call call;
  tsri_call_init(&call, l->run->device, "op_attention_tiles", "attention_sums",
                 TSRI_WITH(TSRI_TYPE("T", l->dtype), TSRI_CONSTANT("WIDE", is_wide(&y, 4) && is_wide(&g, 4)),
                           TSRI_CONSTANT("WG", SUMS_GROUP)));
  tsri_call_buffer(&call, "y", l->run->inputs[s->y], l->dtype);
  tsri_call_buffer(&call, "g", l->run->inputs[s->g], l->dtype);
  tsri_call_buffer(&call, "lse", l->run->inputs[s->lse], TSR_F32);
  tsri_call_buffer(&call, "stats", s->stats, TSR_F32);
  tsri_call_word(&call, "rows", rows);
  tsri_call_word(&call, "heads", l->heads);
  tsri_call_word(&call, "queries", l->queries);
  tsri_call_word(&call, "size", l->size);
  pass_tensor(&call, "y", &y);
  pass_tensor(&call, "g", &g);
  tsri_call_word(&call, "l_at", l->run->layouts[s->lse].offset);
  return tsri_call_many_groups(&call, (rows + SUMS_GROUP / SHARERS - 1) / (SUMS_GROUP / SHARERS));
}

static void pass_place(tsri_call *call, const char *at, const char *stem, const tsri_gradient_place *place) {
  tsri_call_word(call, at, place->offset);
  tsri_call_words(call, stem, 0, place->strides, 3);
}

// Launches the gradient of q (work-groups loop over the keys), or if is_by_keys the gradients of k and v (work-groups loop over the queries).
static tsr_status launch_gradient(const gradient *s, bool is_by_keys) {
  const launch *l = &s->l;
  const tsri_kernel_run *run = l->run;
  tsri_layout g = by_head(&run->layouts[s->g]);
  tsri_gradient_place first = tsri_attention_gradient_place(run, is_by_keys ? 1 : 0),
                      second = tsri_attention_gradient_place(run, 2);
  const int query_side[2] = {0, s->g}, key_side[2] = {1, 2};
  const int *rows = is_by_keys ? key_side : query_side, *columns = is_by_keys ? query_side : key_side;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_attention_tiles", "attention_gradient",
                 TSRI_WITH(TILE_PARAMETERS(l), TSRI_TYPE("T", l->dtype), TSRI_CONSTANT("KEYS", is_by_keys)));
  tsri_call_buffer(&call, "rows1", run->inputs[rows[0]], carrier(l));
  tsri_call_buffer(&call, "rows2", run->inputs[rows[1]], carrier(l));
  tsri_call_buffer(&call, "columns1", run->inputs[columns[0]], carrier(l));
  tsri_call_buffer(&call, "columns2", run->inputs[columns[1]], carrier(l));
  tsri_call_buffer(&call, "stats", s->stats, TSR_F32);
  tsri_call_buffer(&call, "d", run->outputs[first.output], l->dtype);
  pass_place(&call, "d_at", "d", &first);
  pass_place(&call, "h_at", "h", &second);
  tsri_call_word(&call, "stat_count", l->batch * l->heads * l->queries);
  pass_tensor(&call, "a", &run->layouts[rows[0]]);
  pass_tensor(&call, "b", is_by_keys ? &run->layouts[2] : &g);
  pass_tensor(&call, "c", &run->layouts[columns[0]]);
  pass_tensor(&call, "g", is_by_keys ? &g : &run->layouts[2]);
  pass_common(&call, l);
  return launch_tiles(&call, l, is_by_keys ? l->given->keys : l->queries, is_by_keys ? l->kv_heads : l->heads, 1);
}

static tsr_status compute_gradients(const gradient *s) {
  tsr_status status = tsri_attention_run_products_gradient(s->l.run, s->l.tiles.has_units, s->stats, s->g);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  if (!s->l.has_tiles)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY,
                     "attention: no memory for the scores of some heads, which its gradient stores");
  status = launch_gradient(s, false);
  return status == TSR_OK ? launch_gradient(s, true) : status;
}

static tsr_status run_gradient(const tsri_kernel_run *run) {
  gradient s;
  tsr_status status = tsri_attention_run_native_gradient(run);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  status = begin(run, true, &s.l);
  if (status != TSR_OK) return status;
  s.y = run->input_count - 3, s.lse = s.y + 1, s.g = s.y + 2;
  tsri_layout g = by_head(&run->layouts[s.g]);
  s.l.is_wide = s.l.is_wide && is_wide(&g, s.l.tiles.has_units ? 8 : 4);
  status = tsri_call_scratch(run->device, 2 * s.l.batch * s.l.heads * s.l.queries, TSR_F32, &s.stats);
  if (status != TSR_OK) return status;
  status = sum_rows(&s);
  if (status == TSR_OK) status = compute_gradients(&s);
  tsr_buffer_release(s.stats);
  return status;
}

const tsri_op tsri_op_attention_gradient = {.name = "attention",
                                            .kind = TSRI_OP_KERNEL,
                                            .is_for_device = true,
                                            .run = run_gradient,
                                            .attribute_set = TSRI_SET_attention,
                                            .attribute_bytes = sizeof(tsri_attention_attributes)};

void tsri_attention_gradient(tsr_tensor *const *inputs, int input_count, tsr_tensor *y, tsr_tensor *lse, tsr_tensor *g,
                             const tsri_attention_attributes *given, bool is_joined, tsr_tensor *out_gradients[3]) {
  enum { MOST = 9 };
  tsr_tensor *all[MOST];
  int count = 0;
  for (; count < input_count && count < MOST - 3; count++) all[count] = inputs[count];
  all[count++] = y;
  all[count++] = lse;
  all[count++] = g;
  tsri_attention_record_gradient(&tsri_op_attention_gradient, all, count, given, is_joined, true, out_gradients);
}
