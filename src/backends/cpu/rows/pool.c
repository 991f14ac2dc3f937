// SPDX-License-Identifier: MIT
// Pooling of f32, f64, f16 and bf16. Threads take blocks of rows of windows, and process many windows at a time. For maxima and sums, the rows of x that belong
// to a row of windows are first combined element by element into one row. For the index of the largest element, the elements of the windows are visited in
// order. The gradient of max_pool adds each window's gradient to its largest element, window by window; threads take whole planes, so that the order of
// additions is fixed.
#include "backends/cpu/rows/pool.h"

#include <math.h>
#include <string.h>

#include "backends/cpu/lanes/isa.h"
#include "backends/cpu/rows/pool_lines.h"
#include "core/error.h"
#include "platform/parallel.h"

enum { LAST = TSRI_CONV_AXES - 1, BLOCK = 2048 };  // elements of x's rows per block of windows
enum { SLACK = 64 };                               // bytes after rows that are copied by whole vectors

typedef struct pool_job {
  const tsri_pool_op *op;
  const tsri_pool_lines *lines;
  const tsri_lane_storage *storage;  // conversions of x
  size_t element, bytes;             // bytes of an element of x, and in the dtype of the computation
  bool is_wide;                      // x has the dtype of the computation
  bool
      is_even;  // all windows are inside x, and rows of windows are as long as rows of x, so that several rows can be treated as one
  bool has_steps;  // is_even, and the rows of x that windows read have a constant distance: a block is loaded at once
  // has_steps, every element of a plane is in exactly one window, and axis 0 of x has one element: cover_block handles windows over two axes.
  bool is_cover;
  bool has_pairs;  // is_cover by windows two elements wide, and x, y and g have no gaps
  const char *x, *g;
  char *y;
  int64_t rows, block, blocks;  // rows of windows in a plane, and in a block; blocks of a plane
  int64_t pieces;               // tasks: blocks of all planes, or planes
  int parts;
  int64_t *offsets;  // offset of each tap in the plane of x, from the first element of its window
  char *scratch;
  size_t scratch_bytes;  // bytes of each part
  size_t rows_at, counts_at, taps_at, spread_at, plane_at;
} pool_job;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static size_t aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t floor_quotient(int64_t a, int64_t b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

static bool finds(const tsri_pool_op *op) { return op->kind == TSRI_POOL_PLACE || op->kind == TSRI_POOL_GRADIENT; }

// --- A block of windows -----------------------------------------------------------------------------------------------

// The block that a part works on: `count` rows of windows, from row `first` of a plane on.
typedef struct pool_block {
  const pool_job *job;
  const char *x;  // address of the plane
  int64_t first, count;
  char *best;     // a result for each window
  char *rows;     // rows of x, contiguous
  char *counts;   // for means: number of elements of each window along the last axis
  int32_t *taps;  // tap of the largest element of each window
  char *spread;   // is_cover: gradients of the elements of the block's windows, by row of a window
} pool_block;

static int64_t window_along(const pool_block *block, int axis, int64_t row) {
  int64_t number = block->first + row, width = block->job->op->windows[1];
  return axis == 0 ? number / width : number % width;
}

// Position along an axis of element k of the windows in row number `row` of the block.
static int64_t place_along(const pool_block *block, int axis, int64_t row, int64_t k) {
  const tsri_pool_op *op = block->job->op;
  return window_along(block, axis, row) * op->stride[axis] + k * op->dilation[axis] - op->before[axis];
}

// Combines the elements of the block's rows of x with the windows that they belong to. `tap`: number of a window's first element.
static void take_rows(const pool_block *block, int64_t tap) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  int64_t stride = op->stride[LAST];
  for (int64_t k = 0; k < op->kernel[LAST]; k++) {
    // Windows first to end - 1 have their element k inside x, at window * stride + offset.
    int64_t offset = k * op->dilation[LAST] - op->before[LAST], first = offset < 0 ? (stride - 1 - offset) / stride : 0;
    int64_t end = at_most(floor_quotient(op->size[LAST] - 1 - offset, stride) + 1, op->windows[LAST]);
    if (job->is_even) end = block->count * op->windows[LAST];
    if (first >= end) continue;
    char *best = block->best + (size_t)first * job->bytes;
    const char *source = block->rows + (first * stride + offset) * (int64_t)job->bytes;
    if (op->kind == TSRI_POOL_LARGEST) job->lines->largest(best, source, stride, end - first);
    else if (op->kind == TSRI_POOL_MEAN) job->lines->add(best, source, stride, end - first);
    else job->lines->find(best, block->taps + first, source, stride, end - first, (int32_t)(tap + k));
  }
}

// Loads row (t0, t1) of x as row number `row` of the block: stores it if is_first, else combines it with the row stored there.
static void load_row(const pool_block *block, int64_t row, int64_t t0, int64_t t1, bool is_first) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  int64_t n = op->size[LAST], step = op->x_axes[LAST];
  const char *from = block->x + (t0 * op->x_axes[0] + t1 * op->x_axes[1]) * (int64_t)job->element;
  char *to = block->rows + (size_t)(row * n) * job->bytes,
       *loaded = block->rows + (size_t)(job->block * n) * job->bytes;
  if (is_first) {
    job->storage->load(to, from, step, (uint32_t)n);
    return;
  }
  if (!job->is_wide || step != 1) {
    job->storage->load(loaded, from, step, (uint32_t)n);
    from = loaded;
  }
  (op->kind == TSRI_POOL_MEAN ? job->lines->add : job->lines->largest)(to, from, 1, n);
}

// Address of row (k0, k1) of the block's first windows. Only if has_steps.
static const char *first_row(const pool_block *block, int64_t k0, int64_t k1) {
  const tsri_pool_op *op = block->job->op;
  int64_t t0 = place_along(block, 0, 0, k0), t1 = place_along(block, 1, 0, k1);
  return block->x + (t0 * op->x_axes[0] + t1 * op->x_axes[1]) * (int64_t)block->job->element;
}

static int64_t row_step(const tsri_pool_op *op) { return op->stride[1] * op->x_axes[1]; }

// Loads the first two rows of all windows at once, or the only row.
static void load_two_rows(const pool_block *block) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  int64_t n = op->size[LAST];
  const char *a = first_row(block, 0, 0);
  if (op->kernel[1] == 1) {
    job->lines->copy_rows(block->rows, a, n, block->count, row_step(op));
  } else {
    (op->kind == TSRI_POOL_MEAN ? job->lines->add_rows : job->lines->largest_rows)(
        block->rows, a, first_row(block, 0, 1), n, block->count, row_step(op));
  }
}

// Loads row (k0, k1) of all windows. False: it is outside x.
static bool load_rows(const pool_block *block, int64_t k0, int64_t k1, bool is_first) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  if (job->has_steps && is_first) {
    job->lines->copy_rows(block->rows, first_row(block, k0, k1), op->size[LAST], block->count, row_step(op));
    return true;
  }
  for (int64_t i = 0; i < block->count; i++) {
    int64_t t0 = place_along(block, 0, i, k0), t1 = place_along(block, 1, i, k1);
    if (t0 < 0 || t0 >= op->size[0] || t1 < 0 || t1 >= op->size[1])
      return false;  // possible only if the block is one row
    load_row(block, i, t0, t1, is_first);
  }
  return true;
}

// Computes the windows of a block: results in block->best, and the taps of the largest elements in block->taps.
static void run_block(const pool_block *block) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  int64_t windows = block->count * op->windows[LAST];
  bool is_first = true;
  job->lines->fill(block->best, op->kind == TSRI_POOL_MEAN ? 0 : -INFINITY, windows);
  for (int64_t i = 0; finds(op) && i < windows; i++) block->taps[i] = -1;
  bool has_two = job->has_steps && !finds(op);
  if (has_two) {
    load_two_rows(block);
    is_first = false;
  }
  for (int64_t k0 = 0; k0 < op->kernel[0]; k0++) {
    for (int64_t k1 = has_two && k0 == 0 ? 2 : 0; k1 < op->kernel[1]; k1++) {
      if (!load_rows(block, k0, k1, is_first || finds(op))) continue;
      is_first = false;
      if (finds(op)) take_rows(block, (k0 * op->kernel[1] + k1) * op->kernel[LAST]);
    }
  }
  if (!finds(op) && !is_first) take_rows(block, 0);
}

// --- Results ----------------------------------------------------------------------------------------------------------

// Number of elements of window `window` along an axis: those inside x and, if padding counts, those in the padding.
static int64_t elements_of(const tsri_pool_op *op, int axis, int64_t window) {
  int64_t before = op->before[axis], limit = before + op->size[axis], count = 0;
  if (op->counts_padding) limit += op->after[axis];
  for (int64_t k = 0; k < op->kernel[axis]; k++) {
    int64_t at = window * op->stride[axis] + k * op->dilation[axis];
    if ((op->counts_padding || at >= before) && at < limit) count++;
  }
  return count;
}

// Offset in the plane of x of the first element of the first window in row number `row` of the block.
static int64_t plane_at(const pool_block *block, int64_t row) {
  const tsri_pool_op *op = block->job->op;
  return (place_along(block, 0, row, 0) * op->size[1] + place_along(block, 1, row, 0)) * op->size[LAST] -
         op->before[LAST];
}

// Offset in y or g of the first window in row number `row` of the block.
static int64_t result_at(const pool_block *block, int64_t plane, int64_t row) {
  const tsri_pool_op *op = block->job->op;
  return plane / op->channels * op->y_image + plane % op->channels * op->y_channel +
         window_along(block, 0, row) * op->y_axes[0] + window_along(block, 1, row) * op->y_axes[1];
}

static void store_places(const pool_block *block, int64_t row, int64_t at) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  int64_t n = op->windows[LAST], base = plane_at(block, row);
  const int32_t *taps = block->taps + row * n;
  int32_t *to = (int32_t *)(void *)job->y + at;
  for (int64_t i = 0; i < n; i++) {
    to[i * op->y_axes[LAST]] = taps[i] < 0 ? -1 : (int32_t)(base + i * op->stride[LAST] + job->offsets[taps[i]]);
  }
}

// Whether rows of windows are contiguous in y or g.
static bool has_rows_together(const tsri_pool_op *op) {
  return op->windows[0] == 1 && op->y_axes[LAST] == 1 && op->y_axes[1] == op->windows[LAST];
}

static void store_block(const pool_block *block, int64_t plane) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  int64_t n = op->windows[LAST];
  if (op->kind == TSRI_POOL_LARGEST && has_rows_together(op)) {
    char *to = job->y + result_at(block, plane, 0) * (int64_t)job->element;
    job->storage->store(to, block->best, 1, (uint32_t)(block->count * n));
    return;
  }
  for (int64_t i = 0; i < block->count; i++) {
    int64_t at = result_at(block, plane, i);
    char *best = block->best + (size_t)(i * n) * job->bytes;
    if (op->kind == TSRI_POOL_MEAN) {
      int64_t others = elements_of(op, 0, window_along(block, 0, i)) * elements_of(op, 1, window_along(block, 1, i));
      job->lines->divide(best, block->counts, (double)others, n);
    }
    if (op->kind == TSRI_POOL_PLACE) store_places(block, i, at);
    else job->storage->store(job->y + at * (int64_t)job->element, best, op->y_axes[LAST], (uint32_t)n);
  }
}

// Adds the gradients of the block's windows to the plane `to`.
static void spread_block(const pool_block *block, int64_t plane, char *to) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  int64_t n = op->windows[LAST];
  for (int64_t i = 0; i < block->count; i++) {
    job->storage->load(block->best, job->g + result_at(block, plane, i) * (int64_t)job->element, op->y_axes[LAST],
                       (uint32_t)n);
    job->lines->spread(to + plane_at(block, i) * (int64_t)job->bytes, block->taps + i * n, job->offsets,
                       op->stride[LAST], block->best, n);
  }
}

// As spread_block, if every element of the plane is in exactly one window: all elements are written, not added to.
static void cover_block(const pool_block *block, int64_t plane, char *to) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  int64_t n = op->windows[LAST], windows = block->count * n, row = op->size[LAST], part = job->block * row;
  for (int64_t i = 0; i < block->count; i += has_rows_together(op) ? block->count : 1) {
    const char *g = job->g + result_at(block, plane, i) * (int64_t)job->element;
    job->storage->load(block->best + (size_t)(i * n) * job->bytes, g, op->y_axes[LAST],
                       (uint32_t)(has_rows_together(op) ? windows : n));
  }
  for (int64_t k = 0; k < op->kernel[1]; k++) {
    job->lines->spread_windows(block->spread + (size_t)(k * part) * job->bytes, block->taps, block->best, windows,
                               (int32_t)(k * op->kernel[LAST]), op->kernel[LAST]);
  }
  job->lines->join_rows(to + (size_t)(block->first * op->stride[1] * row) * job->bytes, block->spread, row,
                        block->count, op->kernel[1], part);
}

// --- Parts ------------------------------------------------------------------------------------------------------------

static pool_block begin_part(const pool_job *job, int part) {
  char *scratch = job->scratch + (size_t)part * job->scratch_bytes;
  pool_block block = {.job = job,
                      .best = scratch,
                      .rows = scratch + job->rows_at,
                      .counts = scratch + job->counts_at,
                      .taps = (int32_t *)(void *)(scratch + job->taps_at),
                      .spread = scratch + job->spread_at};
  for (int64_t i = 0; job->op->kind == TSRI_POOL_MEAN && i < job->op->windows[LAST]; i++) {
    job->lines->fill(block.counts + (size_t)i * job->bytes, (double)elements_of(job->op, LAST, i), 1);
  }
  return block;
}

static void begin_block(pool_block *block, int64_t plane, int64_t number) {
  const pool_job *job = block->job;
  const tsri_pool_op *op = job->op;
  block->x =
      job->x + (plane / op->channels * op->x_image + plane % op->channels * op->x_channel) * (int64_t)job->element;
  block->first = number * job->block;
  block->count = at_most(job->block, job->rows - block->first);
}

static void run_part(void *user, int part) {
  const pool_job *job = user;
  pool_block block = begin_part(job, part);
  int64_t last = job->pieces * (part + 1) / job->parts;
  for (int64_t i = job->pieces * part / job->parts; i < last; i++) {
    begin_block(&block, i / job->blocks, i % job->blocks);
    run_block(&block);
    store_block(&block, i / job->blocks);
  }
}

static void spread_part(void *user, int part) {
  const pool_job *job = user;
  const tsri_pool_op *op = job->op;
  pool_block block = begin_part(job, part);
  int64_t last = job->pieces * (part + 1) / job->parts, plane_size = op->size[0] * op->size[1] * op->size[LAST];
  for (int64_t plane = job->pieces * part / job->parts; plane < last; plane++) {
    char *y = job->y + (size_t)(plane * plane_size) * job->element;
    char *to = job->is_wide ? y : job->scratch + (size_t)part * job->scratch_bytes + job->plane_at;
    if (!job->is_cover) memset(to, 0, (size_t)plane_size * job->bytes);
    for (int64_t i = 0; i < job->blocks; i++) {
      begin_block(&block, plane, i);
      run_block(&block);
      (job->is_cover ? cover_block : spread_block)(&block, plane, to);
    }
    if (!job->is_wide) job->storage->store(y, to, 1, (uint32_t)plane_size);
  }
}

// Processes rows of windows two elements wide, of all planes in order.
static void pairs_part(void *user, int part) {
  const pool_job *job = user;
  const tsri_pool_op *op = job->op;
  int64_t n = op->windows[LAST], height = op->kernel[1], first = job->pieces * part / job->parts;
  int64_t rows = job->pieces * (part + 1) / job->parts - first;
  size_t window_row = (size_t)n * job->bytes, x_row = window_row * 2 * (size_t)height;
  const char *x = job->x + (size_t)first * x_row;
  if (op->kind == TSRI_POOL_LARGEST) {
    job->lines->largest_pairs(job->y + (size_t)first * window_row, x, n, rows, height);
  } else {
    job->lines->spread_pairs(job->y + (size_t)first * x_row, x, job->g + (size_t)first * window_row, n, rows, height);
  }
}

// --- The operator -----------------------------------------------------------------------------------------------------

static bool are_rows_even(const tsri_pool_op *op) {
  int64_t reach = (op->kernel[LAST] - 1) * op->dilation[LAST];
  bool is_even =
      op->windows[LAST] * op->stride[LAST] == op->size[LAST] && reach < op->stride[LAST] && op->before[LAST] == 0;
  for (int i = 0; i < LAST; i++) {
    int64_t last = (op->windows[i] - 1) * op->stride[i] + (op->kernel[i] - 1) * op->dilation[i];
    is_even = is_even && op->before[i] == 0 && last < op->size[i];
  }
  return is_even;
}

// Whether windows are adjacent along an axis and fill it.
static bool fills_axis(const tsri_pool_op *op, int axis) {
  return op->kernel[axis] == op->stride[axis] && op->dilation[axis] == 1 && op->before[axis] == 0 &&
         op->windows[axis] * op->stride[axis] == op->size[axis];
}

// Whether planes of x, and of y or g, are contiguous.
static bool has_planes_together(const tsri_pool_op *op) {
  int64_t size = op->size[1] * op->size[LAST], windows = op->windows[1] * op->windows[LAST];
  return op->x_axes[1] == op->size[LAST] && op->x_channel == size && op->x_image == size * op->channels &&
         has_rows_together(op) && op->y_channel == windows && op->y_image == windows * op->channels;
}

static void measure(pool_job *job) {
  const tsri_pool_op *op = job->op;
  bool has_plane = op->kind == TSRI_POOL_GRADIENT && !job->is_wide;
  job->rows = op->windows[0] * op->windows[1];
  job->is_even = are_rows_even(op);
  job->has_steps = job->is_even && job->is_wide && op->x_axes[LAST] == 1 && op->windows[0] == 1;
  job->is_cover = job->has_steps && op->size[0] == 1 && fills_axis(op, 1) && fills_axis(op, LAST);
  job->has_pairs = job->is_cover && op->kernel[LAST] == 2 && has_planes_together(op) && job->lines->spread_pairs &&
                   (op->kind == TSRI_POOL_LARGEST || op->kind == TSRI_POOL_GRADIENT);
  job->block = job->is_even && op->size[LAST] < BLOCK ? at_most(BLOCK / op->size[LAST], job->rows) : 1;
  job->blocks = (job->rows + job->block - 1) / job->block;
  size_t windows = (size_t)(job->block * op->windows[LAST]), size = (size_t)op->size[LAST];
  job->rows_at = aligned(windows * job->bytes);
  job->counts_at = job->rows_at + aligned((size_t)(job->block + 1) * size * job->bytes + SLACK);
  job->taps_at = job->counts_at + aligned((size_t)op->windows[LAST] * job->bytes);
  job->spread_at = job->taps_at + aligned(windows * sizeof(int32_t));
  job->plane_at = job->spread_at;
  if (job->is_cover && op->kind == TSRI_POOL_GRADIENT) {
    job->plane_at += aligned((size_t)(op->kernel[1] * job->block) * size * job->bytes + SLACK);
  }
  job->scratch_bytes =
      job->plane_at + (has_plane ? aligned((size_t)(op->size[0] * op->size[1]) * size * job->bytes) : 0);
}

static void list_offsets(const pool_job *job) {
  const tsri_pool_op *op = job->op;
  int64_t *at = job->offsets;
  for (int64_t k0 = 0; k0 < op->kernel[0]; k0++) {
    for (int64_t k1 = 0; k1 < op->kernel[1]; k1++) {
      int64_t row = k0 * op->dilation[0] * op->size[1] + k1 * op->dilation[1];
      for (int64_t k2 = 0; k2 < op->kernel[LAST]; k2++) *at++ = row * op->size[LAST] + k2 * op->dilation[LAST];
    }
  }
}

tsr_status tsri_cpu_pool(cpu_device *device, tsr_dtype dtype, const tsri_pool_op *op) {
  enum { WORTH_A_THREAD = 1 << 15 };  // elements of windows
  tsr_dtype wide = dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  bool is_gradient = op->kind == TSRI_POOL_GRADIENT;
  int64_t planes = op->images * op->channels, taps = op->kernel[0] * op->kernel[1] * op->kernel[LAST];
  pool_job job = {.op = op,
                  .lines = tsri_pool_lines_for(device->simd, wide),
                  .storage = &tsri_cpu_engine(device)->isa->storage[dtype],
                  .element = tsr_dtype_bytes(dtype),
                  .bytes = tsr_dtype_bytes(wide),
                  .is_wide = dtype == wide,
                  .x = tsri_cpu_place(op->x),
                  .g = is_gradient ? tsri_cpu_place(op->g) : NULL,
                  .y = tsri_cpu_place(op->y)};
  measure(&job);
  job.pieces = job.has_pairs ? planes * job.rows : is_gradient ? planes : planes * job.blocks;
  double work = (double)planes * (double)job.rows * (double)op->windows[LAST] * (double)taps;
  int threads = tsri_cpu_threads(device, (uint64_t)(work / WORTH_A_THREAD));
  job.parts = tsri_cpu_parts(threads, (uint64_t)job.pieces);
  size_t offset_bytes = finds(op) ? aligned((size_t)taps * sizeof(int64_t)) : 0;
  char *memory = tsri_cpu_scratch(device, offset_bytes + job.scratch_bytes * (size_t)job.parts);
  if (!memory) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "pool: no host memory for its rows");
  job.offsets = (int64_t *)(void *)memory;
  job.scratch = memory + offset_bytes;
  if (finds(op)) list_offsets(&job);
  tsri_parallel(threads, job.parts, job.has_pairs ? pairs_part : is_gradient ? spread_part : run_part, &job);
  return TSR_OK;
}

// Whether the CPU has the operator. Indices must fit in i32. Every element of every window is visited, even in the padding, so windows with far more elements
// than x are left to kernels.
bool tsri_cpu_has_pool(const tsri_pool_op *op) {
  enum { MOST_TAPS = 1 << 24 };
  int64_t plane = 1, taps = 1;
  for (int i = 0; i < TSRI_CONV_AXES; i++) {
    if (op->kernel[i] > 2 * op->size[i] + 1024 || plane > INT32_MAX / op->size[i] || taps > MOST_TAPS / op->kernel[i])
      return false;
    plane *= op->size[i];
    taps *= op->kernel[i];
  }
  return true;
}
