// SPDX-License-Identifier: MIT
// Running sums, products, extremes and logarithms of sums (scans), by one of these ways:
// - the device's native operator, for sums and products;
// - on GPUs, rows in tiles, or sums by subgroups: a work-group takes many short rows; or a row, which is read once; or a part of a row, whose start is the sum
//   of the parts before, computed by another launch or awaited (scan_once.h);
// - on GPUs, lines across rows: one item for each line, or for each part of a line if there are few lines;
// - otherwise one item per line if there are many lines or they are short; else long rows in blocks, whose sums are scanned in the same way.
// Comments say "sum" for all operations.
#include "ops/scan.h"
#include "core/error.h"
#include "graph/node.h"
#include "ops/autocast.h"
#include "ops/axes.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"
#include "ops/scan_columns.h"
#include "ops/scan_once.h"
#include "ops/scan_quads.h"
#include "runtime/native_op.h"

#include <tessera/ops.h>

// MANY_LINES: from this many lines on, one item per line keeps a device busy. SHORT_LINE: longest line that is called short. SHORT_COLUMN: longest column that
// a GPU scans without transposing it first. BLOCK: elements of a block of scan_blocks.
enum { MANY_LINES = 4096, SHORT_LINE = 1024, SHORT_COLUMN = 64, BLOCK_ITEMS = 8, BLOCK = 256 * BLOCK_ITEMS };

static const tsri_tuning *tuning_of(const tsri_scan_work *s) { return tsri_call_tuning(s->device); }

// Sets the strides of a contiguous x.
static void set_strides(tsri_scan_work *s) {
  s->x_inner = 1;
  s->x_step = s->inner;
  s->x_outer = s->inner * s->n;
}

// How many neighbouring lines an item scans: two for 16-bit elements on devices whose memory has 32-bit words, so that words are stored as a whole.
static int lines_at_once(const tsri_scan_work *s) {
  bool has_pairs = tsri_call_tuning(s->device)->row_pairs > 0 && tsr_dtype_bytes(s->dtype) == 2;
  return has_pairs && s->inner % 2 == 0 && s->x_at % 2 == 0 ? 2 : 1;
}

tsr_status tsri_scan_launch_lines(const tsri_scan_work *s, const tsri_scan_parts *p, int width, tsri_call *call) {
  enum { GROUP = 64 };  // WG of these kernels
  int64_t in_group = (int64_t)GROUP * width, blocks = (s->lines + in_group - 1) / in_group;
  tsri_call_buffer(call, "x", s->x, s->dtype);
  tsri_call_word(call, "lines", s->lines);
  tsri_call_word(call, "blocks", blocks);
  tsri_call_word(call, "parts", p->parts);
  tsri_call_word(call, "length", p->length);
  tsri_call_word(call, "n", s->n);
  tsri_call_word(call, "inner", s->inner);
  tsri_call_word(call, "x_at", s->x_at);
  return tsri_call_many_groups(call, blocks * p->parts);
}

// How many elements an item loads before it uses the first.
static int reads_at_once(const tsri_scan_work *s) { return tsri_call_tuning(s->device)->reduce_wide != 0 ? 16 : 1; }

static tsr_status launch_lines(const tsri_scan_work *s, const tsri_scan_parts *p) {
  tsr_status status = tsri_scan_columns(s, p);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  tsr_dtype wide = tsri_accumulator(s->dtype);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_lines",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", wide), TSRI_CONSTANT("OP", (int64_t)s->combination),
                           TSRI_CONSTANT("EXCLUSIVE", s->is_exclusive), TSRI_CONSTANT("OFFSETS", p->offsets != NULL),
                           TSRI_CONSTANT("AT_ONCE", reads_at_once(s)), TSRI_CONSTANT("WIDTH", lines_at_once(s))));
  tsri_call_buffer(&call, "offsets", p->offsets ? p->offsets : s->x, wide);
  tsri_call_buffer(&call, "y", s->y, s->dtype);
  return tsri_scan_launch_lines(s, p, lines_at_once(s), &call);
}

static tsr_status scan_lines(const tsri_scan_work *s) {
  return launch_lines(s, &(tsri_scan_parts){.parts = 1, .length = s->n});
}

static void pass_rows(const tsri_scan_work *s, int64_t blocks, tsri_call *call) {
  tsri_call_word(call, "rows", s->lines);
  tsri_call_word(call, "n", s->n);
  tsri_call_word(call, "blocks", blocks);
  tsri_call_word(call, "x_at", s->x_at);
}

// Computes the sum of every block into `totals`.
static tsr_status launch_totals(const tsri_scan_work *s, int64_t blocks, tsr_buffer *totals) {
  tsr_dtype wide = tsri_accumulator(s->dtype);
  tsri_call call;
  // Sums have a separate kernel, which uses group_sum. It has no parameter OP, which is the last in the list.
  bool is_sum = s->combination == TSRI_SCAN_SUM;
  const tsri_lang_arg args[] = {TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", wide), TSRI_CONSTANT("ITEMS", BLOCK_ITEMS),
                                TSRI_CONSTANT("OP", (int64_t)s->combination)};
  tsri_call_init(&call, s->device, "op_scan", is_sum ? "scan_sums" : "scan_totals", args, is_sum ? 3 : 4);
  tsri_call_buffer(&call, "x", s->x, s->dtype);
  tsri_call_buffer(&call, "totals", totals, wide);
  pass_rows(s, blocks, &call);
  return tsri_call_many_groups(&call, s->lines * blocks);
}

// Computes the running sums; `offsets` has the sum of everything before each block.
static tsr_status launch_blocks(const tsri_scan_work *s, int64_t blocks, tsr_buffer *offsets) {
  tsr_dtype wide = tsri_accumulator(s->dtype);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_blocks",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", wide), TSRI_CONSTANT("OP", (int64_t)s->combination),
                           TSRI_CONSTANT("EXCLUSIVE", s->is_exclusive), TSRI_CONSTANT("ITEMS", BLOCK_ITEMS)));
  tsri_call_buffer(&call, "x", s->x, s->dtype);
  tsri_call_buffer(&call, "offsets", offsets, wide);
  tsri_call_buffer(&call, "y", s->y, s->dtype);
  pass_rows(s, blocks, &call);
  return tsri_call_many_groups(&call, s->lines * blocks);
}

// Each level has 2048 times fewer elements than the one below, so three levels suffice for 2^32.
enum { MAX_LEVELS = 4 };

// Computes the sums of blocks, the sums of blocks of those, and so on until rows are short; scans these; and then adds the offsets back, level by level.
static tsr_status scan_rows(const tsri_scan_work *first) {
  tsri_scan_work levels[MAX_LEVELS] = {*first};
  int64_t blocks[MAX_LEVELS] = {0};
  int depth = 0;
  tsr_status status = TSR_OK;
  while (status == TSR_OK && levels[depth].n > SHORT_LINE && depth + 1 < MAX_LEVELS) {
    tsri_scan_work *s = &levels[depth];
    tsr_buffer *sums = NULL, *offsets = NULL;
    blocks[depth] = (s->n + BLOCK - 1) / BLOCK;
    tsr_dtype wide = tsri_accumulator(s->dtype);
    status = tsri_call_scratch(s->device, s->lines * blocks[depth], wide, &sums);
    if (status == TSR_OK) status = tsri_call_scratch(s->device, s->lines * blocks[depth], wide, &offsets);
    if (status == TSR_OK) status = launch_totals(s, blocks[depth], sums);
    levels[depth + 1] = (tsri_scan_work){.device = s->device,
                                         .x = sums,
                                         .y = offsets,
                                         .dtype = wide,
                                         .lines = s->lines,
                                         .n = blocks[depth],
                                         .inner = 1,
                                         .combination = s->combination,
                                         .is_exclusive = true};
    depth++;
    set_strides(&levels[depth]);
  }
  if (status == TSR_OK) status = scan_lines(&levels[depth]);
  for (int i = depth; i > 0; i--) {
    if (status == TSR_OK) status = launch_blocks(&levels[i - 1], blocks[i - 1], levels[i].y);
    tsr_buffer_release(levels[i].x);
    tsr_buffer_release(levels[i].y);
  }
  return status;
}

// --- Rows in tiles ---------------------------------------------------------------------------------------------------

enum { TILE_GROUP = 256 };

// Elements per item: as many as the tuning says, if shared memory holds the tile.
static int tile_items(const tsri_scan_work *s) {
  int items = tuning_of(s)->scan_items;
  size_t bytes = tsr_dtype_bytes(tsri_accumulator(s->dtype));
  if (bytes == 8 && items > 8) items = 8;
  while (items > 1 &&
         (size_t)(items * TILE_GROUP * 33 / 32 + TILE_GROUP * 2 + 1) * bytes + 16 > s->device->limits.shared_bytes)
    items /= 2;
  return items;
}

static void pass_parts(const tsri_scan_work *s, const tsri_scan_parts *p, tsri_call *call) {
  tsri_call_buffer(call, "x", s->x, s->dtype);
  tsri_call_word(call, "all_parts", s->lines * p->parts);
  tsri_call_word(call, "parts", p->parts);
  tsri_call_word(call, "length", p->length);
  tsri_call_word(call, "n", s->n);
  tsri_call_word(call, "x_at", s->x_at);
}

// Whether `length` neighbouring elements are stored as pairs: 16-bit elements on devices whose memory has 32-bit words.
static bool stores_pairs(const tsri_scan_work *s, int64_t length) {
  int least = tuning_of(s)->row_pairs;
  return least > 0 && length >= least && tsr_dtype_bytes(s->dtype) == 2;
}

// Work-groups have at most as many items as have elements to scan.
static tsr_status scan_parts(const tsri_scan_work *s, const tsri_scan_parts *p) {
  tsr_status status = tsri_scan_quads(s, p);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  int most = tile_items(s), items = most < 4 ? most : 4, group = 32;
  while (group * items < p->length && group < TILE_GROUP) group *= 2;
  while (group * items < p->length && items < most) items *= 2;
  tsr_dtype wide = tsri_accumulator(s->dtype);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_rows",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", wide), TSRI_CONSTANT("OP", (int64_t)s->combination),
                           TSRI_CONSTANT("EXCLUSIVE", s->is_exclusive), TSRI_CONSTANT("OFFSETS", p->offsets != NULL),
                           TSRI_CONSTANT("PAIRS", stores_pairs(s, p->length)), TSRI_CONSTANT("ITEMS", items),
                           TSRI_CONSTANT("SG", tsri_call_subgroup(s->device, group)), TSRI_CONSTANT("WG", group)));
  pass_parts(s, p, &call);
  tsri_call_buffer(&call, "offsets", p->offsets ? p->offsets : s->x, wide);
  tsri_call_buffer(&call, "y", s->y, s->dtype);
  return tsri_call_many_groups(&call, s->lines * p->parts);
}

static tsr_status scan_whole_rows(const tsri_scan_work *s) {
  return scan_parts(s, &(tsri_scan_parts){.parts = 1, .length = s->n});
}

// Scans short rows: as many as fit into a tile. Tiles are smaller if otherwise there would be too few to keep the device busy.
static tsr_status scan_short_rows(const tsri_scan_work *s) {
  tsr_status status = tsri_scan_quads(s, &(tsri_scan_parts){.parts = 1, .length = s->n});
  if (status != TSR_ERR_UNSUPPORTED) return status;
  int items = tile_items(s), group = TILE_GROUP;
  int64_t count = s->lines * s->n;
  while (group * items > 128 && group * items >= 4 * s->n && count < (int64_t)group * items * tuning_of(s)->scan_rows) {
    if (items > 4) items /= 2;
    else group /= 2;
  }
  int64_t length = group * items / s->n * s->n, tiles = (count + length - 1) / length;
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_short_rows",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", tsri_accumulator(s->dtype)),
                           TSRI_CONSTANT("OP", (int64_t)s->combination), TSRI_CONSTANT("EXCLUSIVE", s->is_exclusive),
                           TSRI_CONSTANT("PAIRS", stores_pairs(s, length)), TSRI_CONSTANT("ITEMS", items),
                           TSRI_CONSTANT("SG", tsri_call_subgroup(s->device, group)), TSRI_CONSTANT("WG", group)));
  tsri_call_buffer(&call, "x", s->x, s->dtype);
  tsri_call_buffer(&call, "y", s->y, s->dtype);
  tsri_call_word(&call, "tiles", tiles);
  tsri_call_word(&call, "length", length);
  tsri_call_word(&call, "count", count);
  tsri_call_word(&call, "n", s->n);
  tsri_call_word(&call, "x_at", s->x_at);
  return tsri_call_many_groups(&call, tiles);
}

static tsr_status sum_parts(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals) {
  tsr_status status = tsri_scan_part_sums(s, p, totals);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  tsr_dtype wide = tsri_accumulator(s->dtype);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_part_sums",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", wide), TSRI_CONSTANT("OP", (int64_t)s->combination),
                           TSRI_CONSTANT("SG", tsri_call_subgroup(s->device, TILE_GROUP))));
  pass_parts(s, p, &call);
  tsri_call_buffer(&call, "totals", totals, wide);
  return tsri_call_many_groups(&call, s->lines * p->parts);
}

// The three steps of a scan in parts: `sum` computes the sum of each part, `scan_sums` scans these, and `launch` scans the parts, starting from the results.
typedef struct part_steps {
  tsr_status (*sum)(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals);
  tsr_status (*scan_sums)(const tsri_scan_work *sums);
  tsr_status (*launch)(const tsri_scan_work *s, const tsri_scan_parts *p);
} part_steps;

static tsr_status run_parts(const tsri_scan_work *s, tsri_scan_parts p, const part_steps *steps) {
  tsr_dtype wide = tsri_scan_state(s);
  tsr_buffer *totals = NULL;
  p.parts = (s->n + p.length - 1) / p.length;
  tsr_status status = tsri_call_scratch(s->device, s->lines * p.parts, wide, &totals);
  if (status == TSR_OK) status = tsri_call_scratch(s->device, s->lines * p.parts, wide, &p.offsets);
  if (status == TSR_OK) status = steps->sum(s, &p, totals);
  if (status == TSR_OK) {
    tsri_scan_work sums = {.device = s->device,
                           .x = totals,
                           .y = p.offsets,
                           .lines = s->lines,
                           .n = p.parts,
                           .inner = 1,
                           .dtype = wide,
                           .combination = s->combination,
                           .is_exclusive = true};
    set_strides(&sums);
    status = steps->scan_sums(&sums);
  }
  if (status == TSR_OK) status = steps->launch(s, &p);
  tsr_buffer_release(totals);
  tsr_buffer_release(p.offsets);
  return status;
}

// Scans few long rows in parts.
static tsr_status scan_in_parts(const tsri_scan_work *s) {
  static const part_steps steps = {sum_parts, scan_whole_rows, scan_parts};
  int64_t tile = (int64_t)TILE_GROUP * tile_items(s), wanted = 2 * (int64_t)tuning_of(s)->row_parts / s->lines;
  int64_t share = s->n / (wanted > 0 ? wanted : 1);
  // A part has at least one tile, even if there are more parts than elements in a row.
  int64_t length = share > tile ? (share + tile - 1) / tile * tile : tile;
  return run_parts(s, (tsri_scan_parts){.length = length}, &steps);
}

// --- Lines across rows, in parts -------------------------------------------------------------------------------------

// LEAST_PART: least elements of a part. LEAST_LINE: least elements of a line that is divided. LEAST_INNER: least number of neighbouring lines, so that items
// read neighbouring elements.
enum { LEAST_PART = 64, LEAST_LINE = 512, LEAST_INNER = 32 };

// How many parts of each line keep the device busy, with one item each; 1: lines are not divided.
static int64_t parts_of_lines(tsr_device *device, int64_t lines, int64_t n, int64_t inner) {
  const tsri_tuning *tuning = tsri_call_tuning(device);
  if (inner < LEAST_INNER || n < LEAST_LINE || tuning->scan_items == 0) return 1;
  int64_t parts = tuning->column_items / lines, most = n / LEAST_PART;
  return parts > most ? most : parts > 1 ? parts : 1;
}

static tsr_status sum_line_parts(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals) {
  tsr_status status = tsri_scan_column_sums(s, p, totals);
  if (status != TSR_ERR_UNSUPPORTED) return status;
  tsr_dtype wide = tsri_accumulator(s->dtype);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_line_sums",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", wide), TSRI_CONSTANT("OP", (int64_t)s->combination),
                           TSRI_CONSTANT("AT_ONCE", reads_at_once(s)), TSRI_CONSTANT("WIDTH", lines_at_once(s))));
  tsri_call_buffer(&call, "totals", totals, wide);
  return tsri_scan_launch_lines(s, p, lines_at_once(s), &call);
}

// Scans the sums of parts: a row of sums for each line.
static tsr_status scan_line_sums(const tsri_scan_work *sums) {
  tsri_scan_work across = *sums;
  across.inner = sums->lines;
  set_strides(&across);
  return scan_lines(&across);
}

static tsr_status scan_lines_in_parts(const tsri_scan_work *s, int64_t parts) {
  // Where subgroups scan, the sums of a line's parts are neighbours, so that a work-group or a subgroup scans them.
  static const part_steps by_subgroups = {sum_line_parts, scan_whole_rows, launch_lines};
  static const part_steps by_items = {sum_line_parts, scan_line_sums, launch_lines};
  return run_parts(s, (tsri_scan_parts){.length = (s->n + parts - 1) / parts},
                   tsri_scan_has_quads(s->device) ? &by_subgroups : &by_items);
}

// --- The operator ----------------------------------------------------------------------------------------------------

static tsri_native_op native_op(tsr_dtype dtype) {
  return (tsri_native_op){.kind = TSRI_NATIVE_SCAN, .dtype = dtype, .result = dtype};
}

static bool is_native(tsri_scan_combination combination) { return combination <= TSRI_SCAN_PRODUCT; }

// Runs the device's native scan. Returns TSR_ERR_UNSUPPORTED, without a message, if it has none.
static tsr_status scan_native(const tsri_scan_work *s) {
  if (!is_native(s->combination)) return TSR_ERR_UNSUPPORTED;
  tsri_native_op op = native_op(s->dtype);
  op.is.scan = (tsri_scan_op){.outer = s->lines / s->inner,
                              .n = s->n,
                              .inner = s->inner,
                              .is_product = s->combination == TSRI_SCAN_PRODUCT,
                              .from.offset = (size_t)s->x_at * tsr_dtype_bytes(s->dtype)};
  tsri_place_bind(&op.is.scan.from, s->x);
  tsri_place_bind(&op.is.scan.to, s->y);
  return tsri_device_run_op(s->device, &op, (tsr_buffer *const[]){s->y, s->x}, 2);
}

static tsr_status scan_tiled_rows(const tsri_scan_work *s) {
  int64_t tile = (int64_t)TILE_GROUP * tile_items(s);
  if (s->n <= tile / 4) return scan_short_rows(s);
  bool is_busy = s->lines >= tuning_of(s)->scan_rows || s->n <= tile;
  if (is_busy) return scan_whole_rows(s);
  tsr_status status = tsri_scan_once(s);
  return status == TSR_ERR_UNSUPPORTED ? scan_in_parts(s) : status;
}

// The numbers of outer lines, of elements along the axis and of inner lines.
static tsr_shape in_three(const tsr_shape *shape, int axis) {
  tsr_shape three = TSR_SHAPE(1, shape->dims[axis], 1);
  for (int i = 0; i < shape->rank; i++) {
    if (i != axis) three.dims[i < axis ? 0 : 2] *= shape->dims[i];
  }
  return three;
}

// Describes the scan. False if the elements of x are not a whole number of steps apart.
static bool describe(const tsri_kernel_run *run, tsri_scan_work *s) {
  const tsri_scan_attributes *given = TSRI_GIVEN(run->node, scan);
  const tsri_layout *layout = &run->layouts[0];
  tsr_shape three = in_three(&layout->shape, (int)given->axis);
  *s = (tsri_scan_work){.device = run->device,
                        .x = run->inputs[0],
                        .y = run->output,
                        .places = run->output_count > 1 ? run->outputs[1] : NULL,
                        .lines = three.dims[0] * three.dims[2],
                        .n = three.dims[1],
                        .inner = three.dims[2],
                        .x_at = layout->offset,
                        .dtype = run->dtype,
                        .combination = (tsri_scan_combination)given->combination};
  bool is_log_sum = s->combination == TSRI_SCAN_LOG_SUM && tsri_accumulator(s->dtype) == TSR_F32;
  s->is_packed = s->combination >= TSRI_SCAN_FIRST_LARGEST || (is_log_sum && tsri_scan_has_quads(s->device));
  return tsri_scan_find_strides(layout, three, s);
}

tsr_status tsri_run_scan(const tsri_kernel_run *run) {
  const tsri_layout *layout = &run->layouts[0];
  if (layout->count == 0) return TSR_OK;
  const char *name = run->node->op->name;
  tsr_status status = tsri_call_check(name, layout);
  if (status != TSR_OK) return status;
  tsri_scan_work s;
  if (!describe(run, &s)) return TSRI_FAIL(TSR_ERR_INTERNAL, "%s: the input's lines have no strides", name);
  bool has_rows = tsri_layout_is_contiguous(layout) && (!s.is_packed || tsri_scan_has_quads(s.device));
  status = has_rows ? scan_native(&s) : TSR_ERR_UNSUPPORTED;
  if (status != TSR_ERR_UNSUPPORTED) return status;
  if (has_rows && s.inner == 1 && tuning_of(&s)->scan_items > 0) return scan_tiled_rows(&s);
  int64_t parts = parts_of_lines(s.device, s.lines, s.n, s.inner);
  if (parts > 1) return scan_lines_in_parts(&s, parts);
  bool is_plain = s.n <= SHORT_LINE || s.lines >= MANY_LINES || !has_rows;
  return is_plain || s.inner > 1 ? scan_lines(&s) : scan_rows(&s);
}

typedef struct scan_kind {
  const tsri_op *op;
  tsr_dtype dtype;
  tsri_scan_combination combination;
  bool is_native, wants_places;
} scan_kind;

// Gives the result, and if kind->wants_places is true the places in out[1]. x has the dtype of the result, and is contiguous unless tsri_scan_suits_view.
static void record(const scan_kind *kind, tsr_tensor *x, int axis, tsr_tensor **out) {
  const void *given = TSRI_GIVE(kind->op, scan, .axis = axis, .combination = kind->combination);
  tsr_status status = tsri_tensor_check(kind->op->name, x);
  if (status != TSR_OK) {
    for (int i = 0; i < 1 + kind->wants_places; i++) out[i] = tsri_tensor_fail(status);
  } else if (kind->wants_places) {
    tsri_result results[] = {{x->dtype, x->layout.shape}, {TSRI_INDEX_DTYPE, x->layout.shape}};
    tsri_record_kernel_results(kind->op, x->value->device, results, 2, &x, 1, given, out);
  } else {
    out[0] = tsri_record_kernel(kind->op, x->value->device, x->dtype, x->layout.shape, &x, 1, given);
  }
}

static void scan_both(const scan_kind *kind, tsr_tensor *x, int axis, tsr_tensor **out) {
  int rank = x->layout.shape.rank;
  int64_t n = x->layout.shape.dims[axis], lines = n ? x->layout.count / n : 0;
  tsr_shape three = in_three(&x->layout.shape, axis);
  // If there are few long lines across rows that are not divided into parts, transpose them first, so that several items can share a line.
  bool turns = axis != rank - 1 && n > SHORT_LINE && lines < MANY_LINES && !kind->is_native &&
               (lines == 0 || parts_of_lines(x->value->device, lines, n, three.dims[2]) == 1);
  bool reads_view = !turns && !kind->is_native && x->dtype == kind->dtype && tsri_scan_suits_view(x, three);
  tsr_tensor *cast = tsr_cast(x, kind->dtype), *turned = turns ? tsri_axis_to_end(cast, axis) : tsr_retain(cast);
  tsr_tensor *input = reads_view ? tsr_retain(turned) : tsr_contiguous(turned);
  record(kind, input, turns ? rank - 1 : axis, out);
  for (int i = 0; i < 1 + kind->wants_places && turns; i++) {
    out[i] = tsri_then(tsri_axis_from_end(out[i], axis), out[i]);
  }
  tsri_release_all((tsr_tensor *[]){cast, turned, input}, 3);
}

static tsr_tensor *scan_along(const void *user, tsr_tensor *x, int axis) {
  const scan_kind *kind = user;
  tsr_tensor *result = NULL;
  scan_both(kind, x, axis, &result);
  return tsri_tensor_named(kind->op->name, result);
}

tsr_tensor *tsri_scan_along(const tsri_op *op, tsr_tensor *x, int axis, tsr_dtype dtype,
                            tsri_scan_combination combination) {
  tsr_status status = tsri_tensor_check(op->name, x);
  if (status == TSR_OK) status = tsri_axis(op->name, axis, x->layout.shape.rank, &axis);
  if (status != TSR_OK) return tsri_tensor_fail(status);
  if (x->layout.shape.dims[axis] == 1) {
    return tsri_tensor_named(op->name, x->dtype == dtype ? tsr_copy(x) : tsr_cast(x, dtype));
  }
  tsri_native_op native = native_op(dtype);
  scan_kind kind = {op, dtype, combination, is_native(combination) && tsri_device_takes(x->value->device, &native),
                    false};
  bool is_in_order =
      kind.is_native || (tsri_call_tuning(x->value->device)->scan_items > 0 && tsri_suits_order(x, axis, SHORT_COLUMN));
  return is_in_order ? tsri_along_in_order(x, axis, scan_along, &kind) : scan_along(&kind, x, axis);
}

bool tsri_scan_finds_places(const tsr_tensor *x) {
  return tsri_scan_has_quads(x->value->device) && tsr_dtype_bytes(x->dtype) <= 4;
}

void tsri_scan_places(const tsri_op *op, tsr_tensor *x, int axis, bool is_max, tsr_tensor **out) {
  scan_kind kind = {op, x->dtype, is_max ? TSRI_SCAN_FIRST_LARGEST : TSRI_SCAN_FIRST_SMALLEST, false, true};
  scan_both(&kind, x, axis, out);
}

tsr_tensor *tsr_cumsum(tsr_tensor *x, int axis) {
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(cumsum), tsri_promote_sum(tsr_tensor_dtype(x)));
  return tsri_scan_along(TSRI_BODY(cumsum), x, axis, dtype, TSRI_SCAN_SUM);
}

tsr_tensor *tsr_cumprod(tsr_tensor *x, int axis) {
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(cumprod), tsri_promote_sum(tsr_tensor_dtype(x)));
  return tsri_scan_along(TSRI_BODY(cumprod), x, axis, dtype, TSRI_SCAN_PRODUCT);
}

tsr_tensor *tsr_logcumsumexp(tsr_tensor *x, int axis) {
  tsr_dtype dtype = tsri_autocast(TSRI_BODY(logcumsumexp), tsri_promote_float(tsr_tensor_dtype(x)));
  return tsri_scan_along(TSRI_BODY(logcumsumexp), x, axis, dtype, TSRI_SCAN_LOG_SUM);
}
