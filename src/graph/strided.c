// SPDX-License-Identifier: MIT
// Strided copies by kernels: orders and joins axes, and chooses the kernel and the number of launches.
#include "graph/strided.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "graph/arguments.h"
#include "graph/node.h"
#include "runtime/steps.h"

// --- Preparing ------------------------------------------------------------------------------------------------------

static int64_t absolute(int64_t value) { return value < 0 ? -value : value; }

// Sorts the axes by destination stride, the smallest last, so that writes are contiguous whatever the order of the axes
// was.
static void sort_axes(tsri_strided *strided) {
  for (int i = 1; i < strided->rank; i++) {
    for (int j = i; j > 0 && absolute(strided->to[j - 1]) < absolute(strided->to[j]); j--) {
      int64_t dim = strided->dims[j], from = strided->from[j], to = strided->to[j];
      strided->dims[j] = strided->dims[j - 1];
      strided->from[j] = strided->from[j - 1];
      strided->to[j] = strided->to[j - 1];
      strided->dims[j - 1] = dim;
      strided->from[j - 1] = from;
      strided->to[j - 1] = to;
    }
  }
}

static void join_axes(tsri_strided *strided) {
  int rank = 0;
  for (int i = 0; i < strided->rank; i++) {
    int64_t size = strided->dims[i];
    bool joins = rank > 0 && strided->from[rank - 1] == strided->from[i] * size &&
                 strided->to[rank - 1] == strided->to[i] * size;
    if (!joins) rank++;
    strided->dims[rank - 1] = joins ? strided->dims[rank - 1] * size : size;
    strided->from[rank - 1] = strided->from[i];
    strided->to[rank - 1] = strided->to[i];
  }
  strided->rank = rank;
}

// Whether pairs of units can be copied as units of twice the size: both sides are contiguous along the last axis, and
// all other strides and the offsets are even.
static bool is_paired(const tsri_strided *strided, int64_t from_at, int64_t to_at) {
  int last = strided->rank - 1;
  if (last < 0 || strided->from[last] != 1 || strided->to[last] != 1 || strided->dims[last] % 2 != 0) return false;
  bool is_even = from_at % 2 == 0 && to_at % 2 == 0;
  for (int i = 0; i < last; i++) is_even = is_even && strided->from[i] % 2 == 0 && strided->to[i] % 2 == 0;
  return is_even;
}

static void pair_units(tsri_strided *strided) {
  int last = strided->rank - 1;
  for (int i = 0; i < last; i++) {
    strided->from[i] /= 2;
    strided->to[i] /= 2;
  }
  strided->dims[last] /= 2;
  strided->unit *= 2;
}

// Whether rows of 8-byte elements can be copied in quads of 4-byte units (is_wide). A GPU loads and stores at most 16 bytes at a time. A quad of 8-byte units
// is stored in two halves, so that each store of a subgroup writes every other half of a sector of 32 bytes: flipping 13 x 559722 x 6 i64 along axis 0 takes
// 212 us so on an H200, and 175 in units of 4 bytes.
static bool is_faster_halved(const tsri_strided *strided, int64_t from_at, int64_t to_at) {
  return strided->unit == 8 && is_paired(strided, from_at, to_at);
}

// Copies each element of 8 bytes as two units of 4, which form an additional axis.
static void halve_units(tsri_strided *strided) {
  for (int i = 0; i < strided->rank; i++) {
    strided->from[i] *= 2;
    strided->to[i] *= 2;
  }
  strided->dims[strided->rank] = 2;
  strided->from[strided->rank] = strided->to[strided->rank] = 1;
  strided->rank++;
  strided->unit = 4;
}

// The axis whose elements begin where those of axis `near` end, by `strides`; -1: there is none.
static int next_axis(const tsri_strided *strided, const int64_t *strides, int near) {
  for (int i = 0; i < strided->rank; i++) {
    if (i != near && strides[i] == strides[near] * strided->dims[near]) return i;
  }
  return -1;
}

// Moves the axes in `order` (-1: none) behind all others.
static void move_last(tsri_strided *strided, const int order[4]) {
  tsri_strided all = *strided;
  int count = 0;
  for (int i = 0; i < all.rank + 4; i++) {
    int axis = i < all.rank ? i : order[i - all.rank];
    bool is_moved = i < all.rank && (i == order[0] || i == order[1] || i == order[2] || i == order[3]);
    if (is_moved || axis < 0) continue;
    strided->dims[count] = all.dims[axis];
    strided->from[count] = all.from[axis];
    strided->to[count++] = all.to[axis];
  }
}

// Chooses the axes of tiles that are transposed in shared memory, if that is faster: rows are those along which the source is contiguous, columns those along
// which the destination is. A side that one axis would not fill consists of two, if they follow each other.
//
// Small matrices with few rows stay in a core's cache, where reading single elements is fast; most of a tile would be empty.
static void find_turn(tsri_strided *strided) {
  enum { LEAST_SIDE = 8, NARROW = 16, CACHED_BYTES = 32 << 10, WHOLE_SIDE = 64 };
  int row = 0, col = strided->rank - 1;
  while (row < col && strided->from[row] != 1) row++;
  if (row >= col || strided->to[col] != 1) return;
  int64_t rows = strided->dims[row], cols = strided->dims[col];
  int far_row = rows < WHOLE_SIDE ? next_axis(strided, strided->from, row) : -1;
  int far_col = cols < WHOLE_SIDE ? next_axis(strided, strided->to, col) : -1;
  if (far_row == col) far_row = -1;
  if (far_col == row || (far_col == far_row && rows < cols)) far_col = -1;
  if (far_row == far_col) far_row = -1;
  if (far_row >= 0) rows *= strided->dims[far_row];
  if (far_col >= 0) cols *= strided->dims[far_col];
  if (rows < LEAST_SIDE || cols < LEAST_SIDE) return;
  if (rows < NARROW && rows * cols * (int64_t)strided->unit <= CACHED_BYTES) return;
  move_last(strided, (const int[]){far_row, row, far_col, col});
  strided->row_axes = far_row >= 0 ? 2 : 1;
  strided->col_axes = far_col >= 0 ? 2 : 1;
}

void tsri_strided_init(const tsri_layout *from, const tsri_layout *to, size_t element, size_t most_unit,
                       tsri_strided *out) {
  *out = (tsri_strided){.unit = element};
  for (int i = 0; i < from->shape.rank; i++) {
    if (from->shape.dims[i] == 1) continue;
    out->dims[out->rank] = from->shape.dims[i];
    out->from[out->rank] = from->strides[i];
    out->to[out->rank] = to->strides[i];
    out->rank++;
  }
  sort_axes(out);
  join_axes(out);
  if (out->unit > most_unit || is_faster_halved(out, from->offset, to->offset)) {
    halve_units(out);
    join_axes(out);
  }
  int64_t scale = (int64_t)(element / out->unit ? element / out->unit : 1);
  int64_t from_at = from->offset * scale, to_at = to->offset * scale;
  while (out->unit < 4 && is_paired(out, from_at, to_at)) {
    pair_units(out);
    from_at /= 2;
    to_at /= 2;
  }
  find_turn(out);
}

// The axis with the greatest distance between its first and last unit, in the source or the destination. `*out_reach`:
// the highest index on either side.
static int furthest(const tsri_strided *strided, const int64_t *sizes, int64_t *out_reach) {
  int axis = 0;
  int64_t most = 0, reach_from = 0, reach_to = 0;
  for (int i = 0; i < strided->rank; i++) {
    int64_t from = (sizes[i] - 1) * absolute(strided->from[i]), to = (sizes[i] - 1) * absolute(strided->to[i]);
    reach_from += from;
    reach_to += to;
    int64_t here = from > to ? from : to;
    if (here > most) {
      most = here;
      axis = i;
    }
  }
  *out_reach = reach_from > reach_to ? reach_from : reach_to;
  return axis;
}

void tsri_strided_pieces(const tsri_strided *strided, int64_t most, int64_t *out_sizes) {
  memcpy(out_sizes, strided->dims, sizeof strided->dims);
  int64_t reach = 0;
  for (int axis = furthest(strided, out_sizes, &reach); reach >= most; axis = furthest(strided, out_sizes, &reach)) {
    out_sizes[axis] = (out_sizes[axis] + 1) / 2;
  }
}

// --- Launching ------------------------------------------------------------------------------------------------------

// One launch: a piece of the copy.
typedef struct piece {
  tsr_device *device;
  const tsri_tuning *tuning;
  tsri_strided copy;  // dims are the sizes of the piece
  tsri_argument arguments[2];
  int64_t at[2];  // index of the piece's first unit in each binding
  const tsri_built *built;
  tsri_arguments args;
} piece;

static void put(piece *part, const char *name, int64_t value) { tsri_arguments_word(&part->args, name, value); }

static tsr_dtype carrier_of(size_t unit) {
  return unit == 1 ? TSR_U8 : unit == 2 ? TSR_I16 : unit == 4 ? TSR_U32 : TSR_I64;
}

// Binds one side (0 source, 1 destination) from its lowest unit on, rounded down to the alignment the device requires.
static void bind_side(piece *part, int side, tsr_buffer *buffer, int64_t first) {
  const int64_t *steps = side == 0 ? part->copy.from : part->copy.to;
  int64_t low = first, high = first, unit = (int64_t)part->copy.unit;
  for (int i = 0; i < part->copy.rank; i++) {
    int64_t reach = (part->copy.dims[i] - 1) * steps[i];
    if (reach < 0) low += reach;
    else high += reach;
  }
  const tsri_limits *limits = &part->device->limits;
  size_t alignment = limits->binding_alignment > 16 ? limits->binding_alignment : limits->buffer_alignment;
  size_t lowest = buffer->offset + (size_t)(low * unit), aligned = lowest / alignment * alignment;
  if (aligned < buffer->offset) aligned = buffer->offset;
  int64_t below = (int64_t)(lowest - aligned) / unit;
  part->at[side] = first - low + below;
  part->arguments[side] = (tsri_argument){
      .buffer = buffer, .offset = aligned - buffer->offset, .element_count = (uint64_t)(high - low + 1 + below)};
}

// Fetches the kernel and gives it both buffers. The caller gives it the remaining scalars.
static tsr_status begin(piece *part, const char *kernel, const tsri_lang_arg *args, size_t arg_count) {
  tsr_status status = tsri_embedded_kernel(part->device, "op_copy", kernel, args, arg_count, &part->built);
  if (status != TSR_OK) return status;
  tsri_arguments_init(&part->args, part->built->kernel);
  tsri_arguments_buffer(&part->args, "x", part->arguments[0]);
  tsri_arguments_buffer(&part->args, "y", part->arguments[1]);
  put(part, "x_at", part->at[0]);
  put(part, "y_at", part->at[1]);
  return TSR_OK;
}

static tsr_status launch(piece *part, uint64_t groups) {
  tsr_status status = tsri_arguments_check(&part->args);
  if (status != TSR_OK) return status;
  uint64_t most = part->device->limits.max_groups[0], y = (groups + most - 1) / most;
  uint32_t folded[3] = {(uint32_t)((groups + y - 1) / y), (uint32_t)y, 1};
  status = tsri_built_launch(part->device, part->built, folded, part->args.buffers, part->args.params);
  if (status == TSR_OK)
    tsri_steps_add_launch(part->built, folded, part->args.buffers, part->args.params, 0,
                          /*is_generated=*/false);
  return status;
}

// Passes the sizes and strides of the first `rank` axes as the kernel's axes slots - rank … slots - 1 of `total`; other
// axes get size 1. The kernel does not need the first size.
static void put_axes(piece *part, int rank, int slots, int total) {
  const tsri_strided *copy = &part->copy;
  int skipped = slots - rank;
  int64_t dims[TSR_MAX_RANK], from[TSR_MAX_RANK], to[TSR_MAX_RANK];
  for (int i = 0; i < total; i++) {
    bool is_there = i >= skipped && i < slots;
    dims[i] = is_there ? copy->dims[i - skipped] : 1;
    from[i] = is_there ? copy->from[i - skipped] : 0;
    to[i] = is_there ? copy->to[i - skipped] : 0;
  }
  tsri_arguments_words(&part->args, "d", 1, dims + 1, total - 1);
  tsri_arguments_words(&part->args, "a", 0, from, total);
  tsri_arguments_words(&part->args, "b", 0, to, total);
}

static int64_t chunks_of(int64_t count, int64_t size) { return (count + size - 1) / size; }

// How many units of a transposed tile are copied together as one 4-byte word. More than 1 only if sizes, strides and
// offsets are multiples of it.
static int turned_step(const piece *part) {
  const tsri_strided *copy = &part->copy;
  int col = copy->rank - 1, row = col - copy->col_axes, step = (int)(4 / copy->unit);
  if (step < 2) return 1;
  bool fits =
      copy->dims[col] % step == 0 && copy->dims[row] % step == 0 && part->at[0] % step == 0 && part->at[1] % step == 0;
  for (int i = 0; i < copy->rank; i++) {
    fits = fits && (i == row || copy->from[i] % step == 0) && (i == col || copy->to[i] % step == 0);
  }
  return fits ? step : 1;
}

// A tile of a transposing copy: its sides in units, units that an item moves at a time, and work items.
typedef struct turned_tile {
  int rows, cols, step, group;
} turned_tile;

// The smallest power of two that is not less than `length`, between 8 and `most`.
static int side_of(int64_t length, int most) {
  int side = 8;
  while (side < length && side < most) side *= 2;
  return side;
}

// A tile of `area` units: square, or longer on one side where the matrix is short on the other.
static turned_tile tile_of(int64_t rows, int64_t cols, int side, int area, int step, int group) {
  turned_tile tile = {.step = step};
  int longest = group * step;  // all items read one column, or write one row
  tile.cols = side_of(cols, side);
  tile.rows = side_of(rows, area / tile.cols < longest ? area / tile.cols : longest);
  tile.cols = side_of(cols, area / tile.rows < longest ? area / tile.rows : longest);
  area = tile.rows * tile.cols;
  tile.group = area / step < group ? area / step : group;
  return tile;
}

static int64_t tiles_of(const tsri_strided *copy, const turned_tile *tile, int64_t rows, int64_t cols) {
  int64_t tiles = chunks_of(rows, tile->rows) * chunks_of(cols, tile->cols);
  for (int i = 0; i < copy->rank - copy->row_axes - copy->col_axes; i++) tiles *= copy->dims[i];
  return tiles;
}

// Elements by which lines of a tile are longer in shared memory. A subgroup that writes rows of the result reads a column of the tile, or parts of several
// ones: from different banks, if neighbours of a column are an odd number of words apart, or as many as the parts have.
static int padding_of(const turned_tile *tile, int unit) {
  enum { SUBGROUP = 32, WORD = 4 };
  int writers = tile->cols / tile->step, parts = writers < SUBGROUP ? SUBGROUP / writers : 1;
  int words = parts * unit > WORD ? parts * unit / WORD : 1;
  return unit > WORD ? 1 : words * WORD / (tile->step * unit);
}

static tsr_status launch_turned(piece *part) {
  enum { BUSY = 1024 };  // tiles
  const tsri_strided *copy = &part->copy;
  int col = copy->rank - 1, row = col - copy->col_axes, side = TSRI_TUNED(part->tuning, copy_tile),
      group = side * TSRI_TUNED(part->tuning, copy_rows), step = turned_step(part), unit = (int)copy->unit;
  bool has_far_row = copy->row_axes == 2, has_far_col = copy->col_axes == 2;
  int64_t rows = copy->dims[row] * (has_far_row ? copy->dims[row - 1] : 1);
  int64_t cols = copy->dims[col] * (has_far_col ? copy->dims[col - 1] : 1);
  if ((size_t)(side * (side + 1)) * copy->unit > part->device->limits.shared_bytes) {
    side = 32;
    group = 256;
  }
  // A long tile is larger if its elements are narrow, so that an item reads as many words. Some devices keep each of them in a word of shared memory, where the
  // offsets of rows and columns are, too.
  int area = rows < side || cols < side ? side * side * step : side * side;
  while (area > side * side && (size_t)area * 5 > part->device->limits.shared_bytes) area /= 2;
  turned_tile tile = tile_of(rows, cols, side, area, step, group);
  if (tiles_of(copy, &tile, rows, cols) < BUSY) tile = tile_of(rows, cols, side, side * side, step, group);
  int64_t row_tiles = chunks_of(rows, tile.rows), tiles = tiles_of(copy, &tile, rows, cols);
  tsr_status status =
      begin(part, "copy_turned",
            TSRI_WITH(TSRI_TYPE("T", carrier_of(copy->unit)), TSRI_CONSTANT("ROWS", tile.rows),
                      TSRI_CONSTANT("COLS", tile.cols), TSRI_CONSTANT("STEP", step),
                      TSRI_CONSTANT("PAD", padding_of(&tile, unit)),
                      TSRI_CONSTANT("JOINED", has_far_row || has_far_col), TSRI_CONSTANT("WG", tile.group)));
  if (status != TSR_OK) return status;
  put(part, "rows", rows);
  put(part, "cols", cols);
  put(part, "x_col", copy->from[col]);
  put(part, "y_row", copy->to[row]);
  put(part, "near_rows", copy->dims[row]);
  put(part, "near_cols", copy->dims[col]);
  put(part, "x_far_row", has_far_row ? copy->from[row - 1] : 0);
  put(part, "y_far_row", has_far_row ? copy->to[row - 1] : 0);
  put(part, "x_far_col", has_far_col ? copy->from[col - 1] : 0);
  put(part, "y_far_col", has_far_col ? copy->to[col - 1] : 0);
  put(part, "tiles", tiles);
  put(part, "row_tiles", row_tiles);
  put(part, "col_tiles", chunks_of(cols, tile.cols));
  put_axes(part, copy->rank - copy->row_axes - copy->col_axes, 6, 6);
  return launch(part, (uint64_t)tiles);
}

// Whether both sides can be read and written four units at a time along the last axis.
static bool is_wide(const piece *part) {
  const tsri_strided *copy = &part->copy;
  int last = copy->rank - 1;
  bool fits = last >= 0 && TSRI_TUNED(part->tuning, fused_bytes) > 0 && copy->from[last] == 1 && copy->to[last] == 1 &&
              copy->dims[last] % 4 == 0 && part->at[0] % 4 == 0 && part->at[1] % 4 == 0;
  for (int i = 0; i < last; i++) fits = fits && copy->from[i] % 4 == 0 && copy->to[i] % 4 == 0;
  return fits;
}

// Kernels are built for 1, 2, 4 or 8 axes.
static int axes_of_kernel(int rank) { return rank <= 1 ? 1 : rank <= 2 ? 2 : rank <= 4 ? 4 : 8; }

static tsr_status launch_elements(piece *part) {
  const tsri_strided *copy = &part->copy;
  int group = TSRI_TUNED(part->tuning, item_group), rounds = TSRI_TUNED(part->tuning, item_rounds);
  int rank = axes_of_kernel(copy->rank);
  int64_t count = 1, wide = is_wide(part) ? 4 : 1;
  for (int i = 0; i < copy->rank; i++) count *= copy->dims[i];
  tsr_status status =
      begin(part, "copy_elements",
            TSRI_WITH(TSRI_TYPE("T", carrier_of(copy->unit)), TSRI_CONSTANT("RANK", rank),
                      TSRI_CONSTANT("WIDE", wide == 4), TSRI_CONSTANT("ROUNDS", rounds), TSRI_CONSTANT("WG", group)));
  if (status != TSR_OK) return status;
  put(part, "n", count);
  put_axes(part, copy->rank, rank, TSR_MAX_RANK);
  return launch(part, (uint64_t)((count / wide + group * rounds - 1) / (group * rounds)));
}

// A copy between interleaved and planar order, such as channels of an image (kernel copy_short of kernels/op_copy.tk). One side has short contiguous rows of up
// to 8 units; on the other side, unit i of each row is in plane i.
typedef struct short_rows {
  int axis;        // the axis along a row, that is across planes
  int next;        // the axis along a plane
  bool packs;      // true: the destination has the rows. false: the source has them
  int64_t planes;  // distance between planes, in units
  bool is_dense;   // rows follow each other without gaps
  bool is_wide;    // four rows can be copied at a time, in quads
} short_rows;

// Whether four rows at a time can be copied in aligned quads on both sides.
static bool is_wide_short(const piece *part, const short_rows *rows) {
  const tsri_strided *copy = &part->copy;
  bool fits = TSRI_TUNED(part->tuning, fused_bytes) > 0 && copy->unit < 8 && rows->is_dense &&
              copy->dims[rows->next] % 4 == 0 && rows->planes % 4 == 0 && part->at[0] % 4 == 0 && part->at[1] % 4 == 0;
  for (int i = 0; i < copy->rank; i++) {
    if (i != rows->axis && i != rows->next) fits = fits && copy->from[i] % 4 == 0 && copy->to[i] % 4 == 0;
  }
  return fits;
}

static bool find_short(const piece *part, short_rows *out) {
  enum { MOST = 8, LEAST_PLANE = 16 };
  const tsri_strided *copy = &part->copy;
  int from = -1, to = -1;  // the axes along which the source and the destination are contiguous
  for (int i = 0; i < copy->rank; i++) {
    if (copy->from[i] == 1) from = i;
    if (copy->to[i] == 1) to = i;
  }
  if (from < 0 || to < 0) return false;
  bool packs = copy->dims[to] <= MOST;
  *out = (short_rows){.axis = packs ? to : from, .next = packs ? from : to, .packs = packs};
  if (copy->dims[out->axis] > MOST || copy->dims[out->next] < LEAST_PLANE) return false;
  out->planes = packs ? copy->from[to] : copy->to[from];
  out->is_dense = (packs ? copy->to[from] : copy->from[to]) == copy->dims[out->axis];
  out->is_wide = is_wide_short(part, out);
  return true;
}

// Changes the axes of the copy to those of its rows: removes the axis along a row, and makes the axis along planes the last one, in steps of `each` rows.
static void leave_rows(tsri_strided *copy, const short_rows *rows, int64_t each) {
  tsri_strided all = *copy;
  int rank = 0;
  for (int i = 0; i <= all.rank; i++) {
    int axis = i < all.rank ? i : rows->next;
    if (i == rows->axis || i == rows->next) continue;
    int64_t step = axis == rows->next ? each : 1;
    copy->dims[rank] = all.dims[axis] / step;
    copy->from[rank] = all.from[axis] * step;
    copy->to[rank++] = all.to[axis] * step;
  }
  copy->rank = rank;
}

static tsr_status launch_short(piece *part, const short_rows *rows) {
  int64_t size = part->copy.dims[rows->axis], count = 1;
  int group = TSRI_TUNED(part->tuning, item_group);
  leave_rows(&part->copy, rows, rows->is_wide ? 4 : 1);
  const tsri_strided *copy = &part->copy;
  int rank = axes_of_kernel(copy->rank);
  for (int i = 0; i < copy->rank; i++) count *= copy->dims[i];
  tsr_status status = begin(
      part, "copy_short",
      TSRI_WITH(TSRI_TYPE("T", carrier_of(copy->unit)), TSRI_CONSTANT("RANK", rank), TSRI_CONSTANT("SHORT", size),
                TSRI_CONSTANT("WIDE", rows->is_wide), TSRI_CONSTANT("PACKS", rows->packs), TSRI_CONSTANT("WG", group)));
  if (status != TSR_OK) return status;
  put(part, "n", count);
  put(part, "step", rows->planes);
  put_axes(part, copy->rank, rank, TSR_MAX_RANK);
  return launch(part, (uint64_t)((count + group - 1) / group));
}

// Launches the piece whose first unit has the index places[i] on axis i and whose size is at most sizes[i].
static tsr_status launch_piece(const tsri_strided *copy, const int64_t *sizes, const int64_t *places, piece *part,
                               tsr_buffer *from, int64_t from_at, tsr_buffer *to, int64_t to_at) {
  part->copy = *copy;
  for (int i = 0; i < copy->rank; i++) {
    int64_t left = copy->dims[i] - places[i];
    part->copy.dims[i] = left < sizes[i] ? left : sizes[i];
    from_at += places[i] * copy->from[i];
    to_at += places[i] * copy->to[i];
  }
  bind_side(part, 0, from, from_at);
  bind_side(part, 1, to, to_at);
  short_rows rows;
  bool has_tiles = copy->col_axes > 0;
  if (find_short(part, &rows) && (rows.is_dense || !has_tiles)) return launch_short(part, &rows);
  return has_tiles ? launch_turned(part) : launch_elements(part);
}

tsr_status tsri_strided_kernels(const tsri_view *from, tsr_buffer *to, const tsri_layout *layout) {
  if (from->layout.count == 0) return TSR_OK;
  tsri_graph_state *state = NULL;
  tsr_status status = tsri_graph_state_for(to->device, &state);
  if (status != TSR_OK) return status;
  size_t element = tsr_dtype_bytes(from->dtype);
  bool has_i64 = to->device->limits.dtype_storage >> TSR_I64 & 1u;
  tsri_strided copy;
  tsri_strided_init(&from->layout, layout, element, has_i64 ? 8 : 4, &copy);
  if (copy.rank > TSR_MAX_RANK) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "copy: %s has no 64-bit integers to copy a view of %d axes with",
                     to->device->info.name, copy.rank);
  }
  int64_t sizes[TSR_MAX_RANK + 1], places[TSR_MAX_RANK + 1] = {0};
  tsri_strided_pieces(&copy, INT64_C(1) << 30, sizes);
  int64_t from_at = from->layout.offset * (int64_t)element / (int64_t)copy.unit;
  int64_t to_at = layout->offset * (int64_t)element / (int64_t)copy.unit;
  piece part = {.device = to->device, .tuning = tsri_tuning_of(to->device)};
  for (int axis = copy.rank; axis >= 0 && status == TSR_OK;) {
    status = launch_piece(&copy, sizes, places, &part, from->buffer, from_at, to, to_at);
    for (axis = copy.rank - 1; axis >= 0; axis--) {
      places[axis] += sizes[axis];
      if (places[axis] < copy.dims[axis]) break;
      places[axis] = 0;
    }
  }
  return status;
}
