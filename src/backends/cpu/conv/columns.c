// SPDX-License-Identifier: MIT
// Convolutions as products of weights and windows, summed over channels and kernel elements.
//
// Weights are packed into panels once, in chunks of WEIGHTS elements if there are many. Then threads take jobs; a job is a block of runs and some of the
// result's channels. For each block of lines, a job copies the boxes of its channels, packs the windows for one tile's columns after the other, and multiplies
// them by all panels of weights; its sums stay in scratch memory. After the last block of lines, bias and activation are applied and results are stored.
//
// With a stride of 1, windows of neighbouring positions are neighbours in the box, and tiles read them there without packing. The columns of a tile are then
// consecutive elements of a row of the box. The last ones belong to no position; their sums are dropped when results are stored.
#include <string.h>

#include "backends/cpu/conv/conv.h"
#include "core/error.h"
#include "platform/parallel.h"

enum {
  K_BLOCK = TSRI_PRODUCT_K_BLOCK,
  LEAST_COLUMNS = 128,  // of a block, even if there are few
  WEIGHTS = 1 << 22,    // elements of packed weights
  JOBS_PER_THREAD = 2,
  MOST_ROWS = 16,   // rows of a tile
  MOST_WIDTH = 32,  // columns of a tile
  SLACK = TSRI_PRODUCT_COPY_SLACK
};

typedef struct column_job {
  const tsri_conv_pass *pass;
  tsri_conv_blocks blocks;
  int64_t lines;          // channels * taps
  int64_t channel_block;  // channels of a block of lines; 1 if a channel has more than K_BLOCK taps
  int64_t tap_block;      // taps in a block of lines
  int64_t first_group, groups, first_out, out;  // of the chunk of weights; channels are counted within a group
  int64_t panels;                               // panels of a group in the chunk
  int64_t splits;                               // jobs that share a block of runs; each has some of the panels
  int64_t jobs;
  bool is_in_place;  // windows are read in the boxes, not packed
  int parts, pack_parts;
  char *weights, *scratch;
  size_t scratch_bytes;  // of each part: offsets, boxes, a panel of windows (or a row of results), sums
  size_t boxes_at, panel_at, sums_at;
} column_job;

// Bytes after the boxes that tiles may read where windows are read in place: less than a tile after the last window.
static size_t beyond_boxes(const tsri_conv_pass *pass) {
  return (size_t)(pass->kernels->tile_columns + pass->windows.span[TSRI_CONV_AXES - 1]) * pass->windows.sum_bytes;
}

// planes_of: number of planes of a block, each the positions along the last two axes. The next function: columns of the sums of a plane where windows are read
// in place, rounded up to whole tiles.
static int64_t planes_of(const tsri_conv_block *block) { return block->images * block->counts[0]; }
static int64_t plane_columns(const tsri_conv_pass *pass, const tsri_conv_block *block) {
  int64_t width = pass->kernels->tile_columns;
  return tsri_conv_chunks_of(block->counts[1] * block->pitch, width) * width;
}

static const char *element_at(const tsri_conv_pass *pass, const char *base, int64_t index) {
  return base + index * (int64_t)pass->windows.element;
}

// --- Weights ----------------------------------------------------------------------------------------------------------

// The distance between neighbouring taps in memory if it is constant; else 0.
static int64_t tap_step(const tsri_conv_pass *pass) {
  const int64_t *taps = pass->lines.taps;
  int64_t count = pass->windows.taps, step = count > 1 ? taps[1] - taps[0] : 1;
  for (int64_t t = 2; t < count; t++) {
    if (taps[t] - taps[t - 1] != step) return 0;
  }
  return step;
}

// Loads a line of weights from `at` on, converted to the type of the sums.
static void load_weights(const tsri_conv_pass *pass, const char *at, int64_t step, int64_t first, int64_t count,
                         void *line) {
  const tsri_lane_storage *storage = pass->windows.storage;
  if (step) storage->load(line, element_at(pass, at, pass->lines.taps[first]), step, (uint32_t)count);
  else storage->gather_64(line, at, pass->lines.taps + first, NULL, (uint32_t)count);
}

// Packs the panel of result channels `first` to `first` + `count` - 1 of a group.
static void pack_panel(const tsri_conv_pass *pass, const char *weights, int64_t first, int64_t count, char *to) {
  const tsri_conv_windows *w = &pass->windows;
  const tsri_conv_by_line *lines = &pass->lines;
  int width = pass->kernels->tile_rows;
  int64_t step = tap_step(pass), all = w->channels * w->taps;
  bool is_even = step != 0 && (w->channels == 1 || lines->channel == w->taps * step);
  if (is_even && !pass->is_narrow) {
    pass->kernels->pack(to, width, count, all, element_at(pass, weights, first * lines->out + lines->taps[0]),
                        lines->out, step);
    return;
  }
  double loaded[MOST_ROWS * K_BLOCK];
  for (int64_t c = 0; c < w->channels; c++) {
    for (int64_t t = 0; t < w->taps; t += K_BLOCK) {
      int64_t n = tsri_conv_at_most(w->taps - t, K_BLOCK);
      for (int64_t i = 0; i < count; i++) {
        load_weights(pass, element_at(pass, weights, (first + i) * lines->out + c * lines->channel), step, t, n,
                     (char *)loaded + (size_t)(i * n) * w->sum_bytes);
      }
      pass->kernels->pack(to + (size_t)((c * w->taps + t) * width) * w->sum_bytes, width, count, n, loaded, n, 1);
    }
  }
}

static size_t weight_panel_bytes(const column_job *job) {
  const tsri_conv_pass *pass = job->pass;
  return (size_t)(job->lines * pass->kernels->tile_rows) * pass->windows.sum_bytes;
}

static void pack_part(void *user, int part) {
  const column_job *job = user;
  const tsri_conv_pass *pass = job->pass;
  int64_t all = job->groups * job->panels, last = all * (part + 1) / job->pack_parts;
  for (int64_t i = all * part / job->pack_parts; i < last; i++) {
    int64_t group = job->first_group + i / job->panels, first = i % job->panels * pass->kernels->tile_rows;
    pack_panel(pass, element_at(pass, pass->lines.at, group * pass->w_group), job->first_out + first,
               tsri_conv_at_most(job->out - first, pass->kernels->tile_rows),
               job->weights + (size_t)i * weight_panel_bytes(job));
  }
}

// --- Results ----------------------------------------------------------------------------------------------------------

// Stores a row of sums (of one result channel and one block) in y.
static void store_row(const tsri_conv_pass *pass, const tsri_conv_block *block, char *y, const char *sums) {
  const tsri_conv_by_run *runs = &pass->runs;
  const tsri_conv_windows *w = &pass->windows;
  // Axes that are contiguous in y are stored as one.
  int64_t counts[1 + TSRI_CONV_AXES] = {block->images, block->counts[0], block->counts[1], block->counts[2]};
  int64_t steps[1 + TSRI_CONV_AXES] = {runs->image, runs->axes[0], runs->axes[1], runs->axes[2]};
  int64_t first = block->image * runs->image;
  for (int i = 0; i < TSRI_CONV_AXES; i++) first += block->first[i] * runs->axes[i];
  int64_t n = counts[TSRI_CONV_AXES], step = steps[TSRI_CONV_AXES];
  int axis = TSRI_CONV_AXES - 1;
  for (; axis >= 0 && (counts[axis] == 1 || n == 1 || steps[axis] == n * step); axis--) {
    if (n == 1) step = steps[axis];
    n *= counts[axis];
  }
  int64_t outer = block->columns / n;
  for (int64_t i = 0; i < outer; i++, sums += (size_t)n * w->sum_bytes) {
    int64_t rest = i, at = first;
    for (int j = axis; j >= 0; j--) {
      at += rest % counts[j] * steps[j];
      rest /= counts[j];
    }
    w->storage->store(y + at * (int64_t)w->element, sums, step, (uint32_t)n);
  }
}

// Applies bias and activation to `count` sums of a result channel. `channel` counts through all groups.
static void finish_sums(const tsri_conv_pass *pass, int64_t channel, char *sums, int64_t count) {
  enum { STRETCH = 256 };
  size_t bytes = pass->windows.sum_bytes;
  union {
    float f32[STRETCH];
    double f64[STRETCH];
  } addend;
  if (pass->bias) {
    union {
      float f32;
      double f64;
    } value;
    pass->windows.storage->load(&value, element_at(pass, pass->bias, channel * pass->bias_step), 1, 1);
    bool is_f64 = bytes == sizeof(double);
    for (int i = 0; i < STRETCH && is_f64; i++) addend.f64[i] = value.f64;
    for (int i = 0; i < STRETCH && !is_f64; i++) addend.f32[i] = value.f32;
  }
  bool is_plain = !pass->bias && pass->activation == TSRI_ACTIVATION_NONE;
  for (int64_t at = 0; !is_plain && at < count; at += STRETCH) {
    pass->kernels->finish(sums + (size_t)at * bytes, pass->bias ? &addend : NULL,
                          tsri_conv_at_most(count - at, STRETCH), pass->activation, pass->math);
  }
}

// Moves rows of `row_bytes`, which are `step_bytes` apart, next to each other. Copies in pieces: up to SLACK bytes beyond the last row are read and written.
static void join_rows(char *to, const char *from, int64_t rows, int64_t row_bytes, int64_t step_bytes) {
  for (int64_t i = 0; i < rows; i++, to += row_bytes, from += step_bytes) {
    for (int64_t at = 0; at < row_bytes; at += SLACK) memcpy(to + at, from + at, SLACK);
  }
}

// Finishes and stores the sums of one result channel. `row`: scratch memory for a row of results, used if windows are read in place.
static void finish_row(const column_job *job, const tsri_conv_block *block, int64_t channel, char *y, char *sums,
                       char *row) {
  const tsri_conv_pass *pass = job->pass;
  if (!job->is_in_place) {
    finish_sums(pass, channel, sums, block->columns);
    store_row(pass, block, y, sums);
    return;
  }
  int64_t bytes = (int64_t)pass->windows.sum_bytes, row_bytes = block->counts[2] * bytes;
  int64_t used = (block->counts[1] - 1) * block->pitch + block->counts[2];
  for (int64_t i = 0; i < planes_of(block); i++, sums += plane_columns(pass, block) * bytes) {
    finish_sums(pass, channel, sums, used);
    join_rows(row + i * block->counts[1] * row_bytes, sums, block->counts[1], row_bytes, block->pitch * bytes);
  }
  store_row(pass, block, y, row);
}

// --- Jobs -------------------------------------------------------------------------------------------------------------

// The state of a job that is running.
typedef struct column_work {
  const column_job *job;
  tsri_conv_windows windows;  // windows of the job's group
  tsri_conv_block block;
  int64_t first_panel, last_panel;
  const char *weights;  // of the group's first panel
  int64_t *places;
  char *boxes, *panel, *sums;
  int64_t sums_step;
} column_work;

// Multiplies the lines `first` to `first` + `depth` - 1 of one panel of windows by all panels of weights of the job. `places`: offsets of the lines; NULL: the
// lines of the panel are contiguous.
static void multiply_panel(const column_work *work, const char *panel, const int64_t *places, int64_t column,
                           int64_t first, int64_t depth) {
  const column_job *job = work->job;
  const tsri_product_kernels *kernels = job->pass->kernels;
  size_t bytes = work->windows.sum_bytes;
  for (int64_t i = work->first_panel; i < work->last_panel; i++) {
    const char *a = work->weights + (size_t)i * weight_panel_bytes(job) + (size_t)(first * kernels->tile_rows) * bytes;
    int64_t row = (i - work->first_panel) * kernels->tile_rows;
    int rows = (int)tsri_conv_at_most(job->out - i * kernels->tile_rows, kernels->tile_rows);
    char *sums = work->sums + (size_t)(row * work->sums_step + column) * bytes;
    if (places) kernels->tile_at(rows, depth, a, panel, places, sums, work->sums_step, first > 0);
    else kernels->tile(rows, depth, a, panel, sums, work->sums_step, first > 0);
  }
}

// Multiplies taps `tap` to `tap` + `taps` - 1 of channels `channel` to `channel` + `channels` - 1, whose boxes are filled.
static void multiply_lines(const column_work *work, int64_t channel, int64_t channels, int64_t tap, int64_t taps) {
  const tsri_conv_windows *w = &work->windows;
  const tsri_product_kernels *kernels = work->job->pass->kernels;
  int64_t width = kernels->tile_columns, line_bytes = width * (int64_t)w->sum_bytes;
  tsri_conv_copy copies[MOST_WIDTH];
  for (int64_t column = 0; column < work->block.columns; column += width) {
    int count =
        tsri_conv_copies(w, &work->block, column, tsri_conv_at_most(work->block.columns - column, width), copies);
    for (int64_t c = 0; c < channels; c++) {
      kernels->gather(work->panel + c * taps * line_bytes, line_bytes, taps,
                      work->boxes + (size_t)(c * work->block.plane) * w->sum_bytes, work->places + tap, copies, count);
    }
    multiply_panel(work, work->panel, NULL, column, channel * w->taps + tap, channels * taps);
  }
}

// As multiply_lines, reading windows directly in the boxes.
static void multiply_in_place(const column_work *work, int64_t channel, int64_t channels, int64_t tap, int64_t taps) {
  const tsri_conv_windows *w = &work->windows;
  const tsri_conv_block *block = &work->block;
  int64_t places[K_BLOCK], bytes = (int64_t)w->sum_bytes, columns = plane_columns(work->job->pass, block);
  for (int64_t c = 0; c < channels; c++) {
    for (int64_t t = 0; t < taps; t++) places[c * taps + t] = c * block->plane * bytes + work->places[tap + t];
  }
  for (int64_t i = 0; i < planes_of(block); i++) {
    int64_t row = (i / block->counts[0] * block->extent[0] + i % block->counts[0] * w->stride[0]) * block->extent[1];
    for (int64_t column = 0; column < columns; column += work->job->pass->kernels->tile_columns) {
      multiply_panel(work, work->boxes + (row * block->pitch + column) * bytes, places, i * columns + column,
                     channel * w->taps + tap, channels * taps);
    }
  }
}

static void multiply_block(const column_work *work) {
  const column_job *job = work->job;
  const tsri_conv_windows *w = &work->windows;
  if (job->lines == 0) {
    int64_t rows = (work->last_panel - work->first_panel) * job->pass->kernels->tile_rows;
    memset(work->sums, 0, (size_t)(rows * work->sums_step) * w->sum_bytes);
  }
  for (int64_t channel = 0; channel < w->channels; channel += job->channel_block) {
    int64_t channels = tsri_conv_at_most(w->channels - channel, job->channel_block);
    if (w->taps > 0) tsri_conv_fill(w, &work->block, channel, channels, work->boxes);
    // The last tile reads beyond the boxes. Clear that memory: products with denormal numbers in it would be slow.
    memset(work->boxes + (size_t)(channels * work->block.plane) * w->sum_bytes, 0, beyond_boxes(job->pass));
    for (int64_t tap = 0; tap < w->taps; tap += job->tap_block) {
      int64_t taps = tsri_conv_at_most(w->taps - tap, job->tap_block);
      (job->is_in_place ? multiply_in_place : multiply_lines)(work, channel, channels, tap, taps);
    }
  }
}

// Elements from one result channel's row of sums to the next.
static int64_t sums_step(const column_job *job, const tsri_conv_block *block) {
  int64_t width = job->pass->kernels->tile_columns;
  return job->is_in_place ? planes_of(block) * plane_columns(job->pass, block)
                          : tsri_conv_chunks_of(block->columns, width) * width;
}

static void run_job(const column_job *job, int64_t index, char *scratch) {
  const tsri_conv_pass *pass = job->pass;
  int64_t split = index % job->splits, at = index / job->splits, group = at / job->blocks.total;
  column_work work = {.job = job,
                      .windows = pass->windows,
                      .block = tsri_conv_block_at(&pass->windows, &job->blocks, at % job->blocks.total),
                      .first_panel = job->panels * split / job->splits,
                      .last_panel = job->panels * (split + 1) / job->splits,
                      .weights = job->weights + (size_t)(group * job->panels) * weight_panel_bytes(job),
                      .places = (int64_t *)(void *)scratch,
                      .boxes = scratch + job->boxes_at,
                      .panel = scratch + job->panel_at,
                      .sums = scratch + job->sums_at};
  group += job->first_group;
  work.windows.x = element_at(pass, pass->windows.x, group * pass->x_group);
  work.sums_step = sums_step(job, &work.block);
  tsri_conv_tap_places(&work.windows, &work.block, work.places);
  multiply_block(&work);
  int64_t first = work.first_panel * pass->kernels->tile_rows;
  int64_t last = tsri_conv_at_most(work.last_panel * pass->kernels->tile_rows, job->out);
  for (int64_t i = first; i < last; i++) {
    int64_t channel = job->first_out + i;
    char *y = pass->runs.at + (group * pass->y_group + channel * pass->runs.out) * (int64_t)pass->windows.element;
    finish_row(job, &work.block, group * pass->out + channel, y,
               work.sums + (size_t)((i - first) * work.sums_step) * pass->windows.sum_bytes, work.panel);
  }
}

static void run_part(void *user, int part) {
  const column_job *job = user;
  int64_t last = job->jobs * (part + 1) / job->parts;
  for (int64_t i = job->jobs * part / job->parts; i < last; i++) {
    run_job(job, i, job->scratch + (size_t)part * job->scratch_bytes);
  }
}

// --- The pass ---------------------------------------------------------------------------------------------------------

// Divides the weights into chunks: several groups, one group, or some result channels of one group.
static void cut_weights(column_job *job) {
  const tsri_conv_pass *pass = job->pass;
  int64_t width = pass->kernels->tile_rows, lines = job->lines < 1 ? 1 : job->lines;
  int64_t room = WEIGHTS / lines / width;  // panels
  if (room < 1) room = 1;
  job->panels = tsri_conv_at_most(tsri_conv_chunks_of(pass->out, width), room);
  job->out = tsri_conv_at_most(pass->out, job->panels * width);
  job->groups = job->out == pass->out ? tsri_conv_at_most(pass->groups, room / job->panels) : 1;
}

// Creates enough jobs for all threads: first by smaller blocks, then by several jobs for each block.
static void cut_jobs(column_job *job, int threads) {
  const tsri_conv_pass *pass = job->pass;
  int64_t wanted = threads > 1 ? (int64_t)threads * JOBS_PER_THREAD : 1, columns = TSRI_CONV_COLUMNS;
  job->blocks = tsri_conv_cut(&pass->windows, columns);
  while (job->blocks.total * job->groups < wanted && columns > LEAST_COLUMNS) {
    columns /= 2;
    job->blocks = tsri_conv_cut(&pass->windows, columns);
  }
  job->splits = tsri_conv_at_most(tsri_conv_chunks_of(wanted, job->blocks.total * job->groups), job->panels);
  job->jobs = job->blocks.total * job->groups * job->splits;
  job->parts = tsri_cpu_parts(threads, (uint64_t)job->jobs);
}

// Whether tiles read windows directly in the boxes. That is faster if few columns belong to no position, and if few panels of weights read each window, so that
// packing would not pay. With few lines, dropping the unused columns takes longer than packing. The limits were measured on Zen 4.
static bool is_in_place(const tsri_conv_pass *pass, const tsri_conv_block *block) {
  enum { FEW_PANELS = 3, LEAST_LINES = 32 };
  const tsri_conv_windows *w = &pass->windows;
  if (!pass->kernels->tile_at || w->stride[1] != 1 || w->stride[2] != 1) return false;
  return pass->out <= FEW_PANELS * pass->kernels->tile_rows && w->channels * w->taps >= LEAST_LINES &&
         4 * plane_columns(pass, block) <= 5 * block->counts[1] * block->counts[2];
}

static void measure_scratch(column_job *job) {
  const tsri_conv_windows *w = &job->pass->windows;
  const tsri_product_kernels *kernels = job->pass->kernels;
  tsri_conv_block block = tsri_conv_block_at(w, &job->blocks, 0);  // no other block is larger
  job->is_in_place = is_in_place(job->pass, &block);
  job->channel_block = w->taps < 1 || w->taps > K_BLOCK ? 1 : tsri_conv_at_most(w->channels, K_BLOCK / w->taps);
  job->tap_block = tsri_conv_at_most(w->taps, K_BLOCK);
  size_t boxes = (size_t)(job->channel_block * block.plane) * w->sum_bytes + beyond_boxes(job->pass);
  int64_t panel = job->is_in_place ? block.columns : job->channel_block * job->tap_block * kernels->tile_columns;
  int64_t rows = tsri_conv_chunks_of(job->panels, job->splits) * kernels->tile_rows;
  job->boxes_at = tsri_conv_aligned((size_t)w->taps * sizeof(int64_t));
  job->panel_at = job->boxes_at + tsri_conv_aligned(boxes + SLACK);
  job->sums_at = job->panel_at + tsri_conv_aligned((size_t)panel * w->sum_bytes + SLACK);
  job->scratch_bytes = job->sums_at + tsri_conv_aligned((size_t)(rows * sums_step(job, &block)) * w->sum_bytes + SLACK);
}

tsr_status tsri_conv_columns(cpu_device *device, const tsri_conv_pass *pass) {
  column_job job = {.pass = pass, .lines = pass->windows.channels * pass->windows.taps};
  int threads = tsri_conv_threads(device, pass);
  cut_weights(&job);
  cut_jobs(&job, threads);
  measure_scratch(&job);
  size_t weight_bytes = tsri_conv_aligned(weight_panel_bytes(&job) * (size_t)(job.groups * job.panels));
  job.weights = tsri_cpu_scratch(device, weight_bytes + job.scratch_bytes * (size_t)job.parts);
  if (!job.weights) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "conv: no host memory for its panels");
  job.scratch = job.weights + weight_bytes;
  int64_t chunk_groups = job.groups, chunk_out = job.out;
  int most_parts = job.parts;
  for (job.first_group = 0; job.first_group < pass->groups; job.first_group += chunk_groups) {
    for (job.first_out = 0; job.first_out < pass->out; job.first_out += chunk_out) {
      job.groups = tsri_conv_at_most(chunk_groups, pass->groups - job.first_group);
      job.out = tsri_conv_at_most(chunk_out, pass->out - job.first_out);
      job.panels = tsri_conv_chunks_of(job.out, pass->kernels->tile_rows);
      job.jobs = job.blocks.total * job.groups * job.splits;
      job.parts = (int)tsri_conv_at_most(most_parts, job.jobs);
      job.pack_parts = tsri_cpu_parts(threads, (uint64_t)(job.groups * job.panels));
      tsri_parallel(threads, job.pack_parts, pack_part, &job);
      tsri_parallel(threads, job.parts, run_part, &job);
    }
  }
  return TSR_OK;
}
