// SPDX-License-Identifier: MIT
// Strided copies by kernels: how axes are ordered and joined, which kernel does it, and in how many launches.
#include "graph/strided.h"

#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "graph/arguments.h"
#include "graph/node.h"

// --- The plan -------------------------------------------------------------------------------------------------------

static int64_t absolute(int64_t value) { return value < 0 ? -value : value; }

// Axes by the destination's steps, the smallest last: so writes run along memory, whatever the order of the axes was.
static void sort_axes(tsri_strided *own) {
  for (int i = 1; i < own->rank; i++) {
    for (int j = i; j > 0 && absolute(own->to[j - 1]) < absolute(own->to[j]); j--) {
      int64_t dim = own->dims[j], from = own->from[j], to = own->to[j];
      own->dims[j] = own->dims[j - 1];
      own->from[j] = own->from[j - 1];
      own->to[j] = own->to[j - 1];
      own->dims[j - 1] = dim;
      own->from[j - 1] = from;
      own->to[j - 1] = to;
    }
  }
}

static void join_axes(tsri_strided *own) {
  int rank = 0;
  for (int i = 0; i < own->rank; i++) {
    int64_t size = own->dims[i];
    bool joins = rank > 0 && own->from[rank - 1] == own->from[i] * size && own->to[rank - 1] == own->to[i] * size;
    if (!joins) rank++;
    own->dims[rank - 1] = joins ? own->dims[rank - 1] * size : size;
    own->from[rank - 1] = own->from[i];
    own->to[rank - 1] = own->to[i];
  }
  own->rank = rank;
}

// Whether two units are one of twice the size everywhere: both sides run along the last axis, in even steps.
static bool is_paired(const tsri_strided *own, int64_t from_at, int64_t to_at) {
  int last = own->rank - 1;
  if (last < 0 || own->from[last] != 1 || own->to[last] != 1 || own->dims[last] % 2 != 0) return false;
  bool is_even = from_at % 2 == 0 && to_at % 2 == 0;
  for (int i = 0; i < last; i++) is_even = is_even && own->from[i] % 2 == 0 && own->to[i] % 2 == 0;
  return is_even;
}

static void pair_units(tsri_strided *own) {
  int last = own->rank - 1;
  for (int i = 0; i < last; i++) {
    own->from[i] /= 2;
    own->to[i] /= 2;
  }
  own->dims[last] /= 2;
  own->unit *= 2;
}

// Elements of 8 bytes as two units of 4, on an axis of their own.
static void halve_units(tsri_strided *own) {
  for (int i = 0; i < own->rank; i++) {
    own->from[i] *= 2;
    own->to[i] *= 2;
  }
  own->dims[own->rank] = 2;
  own->from[own->rank] = own->to[own->rank] = 1;
  own->rank++;
  own->unit = 4;
}

// Moves the axis along which the source runs before the last, if tiles turned in shared memory pay there.
static void find_turn(tsri_strided *own) {
  enum { LEAST_SIDE = 8 };
  int last = own->rank - 1;
  if (own->rank < 2 || own->to[last] != 1 || own->from[last] == 1 || own->dims[last] < LEAST_SIDE) return;
  for (int i = 0; i < last; i++) {
    if (own->from[i] != 1 || own->dims[i] < LEAST_SIDE) continue;
    int64_t dim = own->dims[i], to = own->to[i];
    for (int j = i; j < last - 1; j++) {
      own->dims[j] = own->dims[j + 1];
      own->from[j] = own->from[j + 1];
      own->to[j] = own->to[j + 1];
    }
    own->dims[last - 1] = dim;
    own->from[last - 1] = 1;
    own->to[last - 1] = to;
    own->is_turned = true;
    return;
  }
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
  if (out->unit > most_unit) halve_units(out);
  join_axes(out);
  int64_t scale = (int64_t)(element / out->unit ? element / out->unit : 1);
  int64_t from_at = from->offset * scale, to_at = to->offset * scale;
  while (out->unit < 4 && is_paired(out, from_at, to_at)) {
    pair_units(out);
    from_at /= 2;
    to_at /= 2;
  }
  find_turn(out);
}

// The axis whose last element lies furthest from its first, on either side, among those of more than one.
static int furthest(const tsri_strided *own, const int64_t *sizes, int64_t *out_reach) {
  int axis = 0;
  int64_t most = 0, reach_from = 0, reach_to = 0;
  for (int i = 0; i < own->rank; i++) {
    int64_t from = (sizes[i] - 1) * absolute(own->from[i]), to = (sizes[i] - 1) * absolute(own->to[i]);
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

void tsri_strided_pieces(const tsri_strided *own, int64_t most, int64_t *out_sizes) {
  memcpy(out_sizes, own->dims, sizeof own->dims);
  int64_t reach = 0;
  for (int axis = furthest(own, out_sizes, &reach); reach >= most; axis = furthest(own, out_sizes, &reach)) {
    out_sizes[axis] = (out_sizes[axis] + 1) / 2;
  }
}

// --- Launching ------------------------------------------------------------------------------------------------------

// A launch in preparation: one piece of the copy.
typedef struct piece {
  tsr_device *device;
  const tsri_tuning *tuning;
  tsri_strided copy;  // with the piece's sizes
  tsri_argument arguments[2];
  int64_t at[2];  // of the piece's first unit in what is bound
  const tsri_built *built;
  tsri_arguments args;
} piece;

static void put(piece *own, const char *name, int64_t value) { tsri_arguments_word(&own->args, name, value); }

static tsr_dtype carrier_of(size_t unit) {
  return unit == 1 ? TSR_U8 : unit == 2 ? TSR_I16 : unit == 4 ? TSR_U32 : TSR_I64;
}

// Binds a side from its lowest unit, moved down to where the device allows a binding to begin.
static void bind_side(piece *own, int side, tsr_buffer *buffer, int64_t first) {
  const int64_t *steps = side == 0 ? own->copy.from : own->copy.to;
  int64_t low = first, high = first, unit = (int64_t)own->copy.unit;
  for (int i = 0; i < own->copy.rank; i++) {
    int64_t reach = (own->copy.dims[i] - 1) * steps[i];
    if (reach < 0) low += reach;
    else high += reach;
  }
  const tsri_limits *limits = &own->device->limits;
  size_t alignment = limits->binding_alignment > 16 ? limits->binding_alignment : limits->buffer_alignment;
  size_t lowest = buffer->offset + (size_t)(low * unit), aligned = lowest / alignment * alignment;
  if (aligned < buffer->offset) aligned = buffer->offset;
  int64_t below = (int64_t)(lowest - aligned) / unit;
  own->at[side] = first - low + below;
  own->arguments[side] = (tsri_argument){
      .buffer = buffer, .offset = aligned - buffer->offset, .element_count = (uint64_t)(high - low + 1 + below)};
}

// Fetches the kernel and binds both sides; its scalars follow.
static tsr_status begin(piece *own, const char *kernel, const char *defines) {
  tsr_status status = tsri_embedded_kernel(own->device, "op_copy", kernel, defines, &own->built);
  if (status != TSR_OK) return status;
  tsri_arguments_init(&own->args, own->built->kernel);
  tsri_arguments_buffer(&own->args, "x", own->arguments[0]);
  tsri_arguments_buffer(&own->args, "y", own->arguments[1]);
  put(own, "x_at", own->at[0]);
  put(own, "y_at", own->at[1]);
  return TSR_OK;
}

static tsr_status launch(piece *own, uint64_t groups) {
  tsr_status status = tsri_arguments_check(&own->args);
  if (status != TSR_OK) return status;
  uint64_t most = own->device->limits.max_groups[0], y = (groups + most - 1) / most;
  uint32_t folded[3] = {(uint32_t)((groups + y - 1) / y), (uint32_t)y, 1};
  return tsri_built_launch(own->device, own->built, folded, own->args.buffers, own->args.params);
}

// Sizes and steps of the first `rank` axes as the last of `slots`, in lists of `total`; the first size is not needed.
static void put_axes(piece *own, int rank, int slots, int total) {
  const tsri_strided *copy = &own->copy;
  int skipped = slots - rank;
  int64_t dims[TSR_MAX_RANK], from[TSR_MAX_RANK], to[TSR_MAX_RANK];
  for (int i = 0; i < total; i++) {
    bool is_there = i >= skipped && i < slots;
    dims[i] = is_there ? copy->dims[i - skipped] : 1;
    from[i] = is_there ? copy->from[i - skipped] : 0;
    to[i] = is_there ? copy->to[i - skipped] : 0;
  }
  tsri_arguments_words(&own->args, "d", 1, dims + 1, total - 1);
  tsri_arguments_words(&own->args, "a", 0, from, total);
  tsri_arguments_words(&own->args, "b", 0, to, total);
}

// Elements of a turned tile that go at a time, so that they fill a word: sizes, steps and places must be multiples of that.
static int turned_step(const piece *own) {
  const tsri_strided *copy = &own->copy;
  int last = copy->rank - 1, step = (int)(4 / copy->unit);
  if (step < 2) return 1;
  bool fits = copy->dims[last] % step == 0 && copy->dims[last - 1] % step == 0 && own->at[0] % step == 0 &&
              own->at[1] % step == 0;
  for (int i = 0; i < copy->rank; i++) {
    fits = fits && (i == last - 1 || copy->from[i] % step == 0) && (i == last || copy->to[i] % step == 0);
  }
  return fits ? step : 1;
}

static tsr_status launch_turned(piece *own) {
  const tsri_strided *copy = &own->copy;
  int last = copy->rank - 1, tile = own->tuning->copy_tile, rows = own->tuning->copy_rows, step = turned_step(own);
  if ((size_t)(tile * (tile + 1)) * copy->unit > own->device->limits.shared_bytes) {
    tile = 32;
    rows = 8;
  }
  rows *= step;
  int64_t row_tiles = (copy->dims[last - 1] + tile - 1) / tile, col_tiles = (copy->dims[last] + tile - 1) / tile;
  int64_t tiles = row_tiles * col_tiles;
  for (int i = 0; i < last - 1; i++) tiles *= copy->dims[i];
  char defines[64];
  snprintf(defines, sizeof defines, "T=%s TILE=%d ROWS=%d STEP=%d WG=%d WG_Y=%d",
           tsr_dtype_name(carrier_of(copy->unit)), tile, rows, step, tile / step, rows);
  tsr_status status = begin(own, "copy_turned", defines);
  if (status != TSR_OK) return status;
  put(own, "rows", copy->dims[last - 1]);
  put(own, "cols", copy->dims[last]);
  put(own, "x_step", copy->from[last]);
  put(own, "y_step", copy->to[last - 1]);
  put(own, "tiles", tiles);
  put(own, "row_tiles", row_tiles);
  put(own, "col_tiles", col_tiles);
  put_axes(own, last - 1, 6, 6);
  return launch(own, (uint64_t)tiles);
}

// Whether both sides can be read and written four units at a time along the last axis.
static bool is_wide(const piece *own) {
  const tsri_strided *copy = &own->copy;
  int last = copy->rank - 1;
  bool fits = last >= 0 && own->tuning->fused_bytes > 0 && copy->from[last] == 1 && copy->to[last] == 1 &&
              copy->dims[last] % 4 == 0 && own->at[0] % 4 == 0 && own->at[1] % 4 == 0;
  for (int i = 0; i < last; i++) fits = fits && copy->from[i] % 4 == 0 && copy->to[i] % 4 == 0;
  return fits;
}

static tsr_status launch_elements(piece *own) {
  enum { GROUP = 256 };
  const tsri_strided *copy = &own->copy;
  int rank = copy->rank <= 1 ? 1 : copy->rank <= 2 ? 2 : copy->rank <= 4 ? 4 : 8;
  int64_t count = 1, wide = is_wide(own) ? 4 : 1;
  for (int i = 0; i < copy->rank; i++) count *= copy->dims[i];
  char defines[64];
  snprintf(defines, sizeof defines, "T=%s RANK=%d WIDE=%d WG=%d", tsr_dtype_name(carrier_of(copy->unit)), rank,
           wide == 4, (int)GROUP);
  tsr_status status = begin(own, "copy_elements", defines);
  if (status != TSR_OK) return status;
  put(own, "n", count);
  put_axes(own, copy->rank, rank, TSR_MAX_RANK);
  return launch(own, (uint64_t)((count / wide + GROUP - 1) / GROUP));
}

// The piece whose first unit has these places on the axes.
static tsr_status launch_piece(const tsri_strided *copy, const int64_t *sizes, const int64_t *places, piece *own,
                               tsr_buffer *from, int64_t from_at, tsr_buffer *to, int64_t to_at) {
  own->copy = *copy;
  for (int i = 0; i < copy->rank; i++) {
    int64_t left = copy->dims[i] - places[i];
    own->copy.dims[i] = left < sizes[i] ? left : sizes[i];
    from_at += places[i] * copy->from[i];
    to_at += places[i] * copy->to[i];
  }
  bind_side(own, 0, from, from_at);
  bind_side(own, 1, to, to_at);
  return own->copy.is_turned ? launch_turned(own) : launch_elements(own);
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
  piece own = {.device = to->device, .tuning = &state->tuning};
  for (int axis = copy.rank; axis >= 0 && status == TSR_OK;) {
    status = launch_piece(&copy, sizes, places, &own, from->buffer, from_at, to, to_at);
    for (axis = copy.rank - 1; axis >= 0; axis--) {
      places[axis] += sizes[axis];
      if (places[axis] < copy.dims[axis]) break;
      places[axis] = 0;
    }
  }
  return status;
}
