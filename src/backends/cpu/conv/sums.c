// SPDX-License-Identifier: MIT
// Convolutions as products of windows and weights, summed over runs, which are channels and kernel elements: for kernels that are larger than the result, as in
// gradients by weights.
//
// Threads take jobs; a job has some lines, some of the result's channels, and a range of blocks of runs. For each block, it packs the windows of its lines and
// the weights, and adds their product to its sums. If there are few lines, the blocks are divided into several ranges, whose sums are added in order. The
// ranges depend only on the shape, so results have the same bits on any number of threads.
#include <string.h>

#include "backends/cpu/conv/conv.h"
#include "core/error.h"
#include "platform/parallel.h"

enum {
  COLUMNS = 512,      // runs in a block
  LINES = 256,        // lines of a job
  OUT = 512,          // result channels of a job
  JOBS = 32,          // wanted number; more than most machines have threads
  PARTIAL = 1 << 21,  // limit on the elements of the sums of all ranges
  LINE_PAD = 16,      // elements between lines, so that these do not share few sets of a cache
  MOST_WIDTH = 32,    // columns of a tile
  SLACK = TSRI_PRODUCT_COPY_SLACK
};

typedef struct sum_job {
  const tsri_conv_pass *pass;
  tsri_conv_blocks blocks;
  int64_t channel_block, tap_block;  // lines of a job: taps of one channel, or all taps of some channels
  int64_t line_jobs, tap_jobs, out_jobs, ranges, jobs;
  int64_t out_block, padded;  // result channels of a job, and elements of a row of sums
  int parts, finish_parts;
  char *partial;  // sums of all jobs if there are several ranges; else NULL, and sums are in a job's scratch memory
  char *scratch;
  size_t sum_bytes;      // of a job's sums
  size_t scratch_bytes;  // of each part: offsets, copies, boxes, windows, weights, sums
  size_t copies_at, boxes_at, windows_at, weights_at, sums_at;
} sum_job;

// The part of the result that a job computes.
typedef struct sum_place {
  int64_t group, channel, channels, tap, taps, out, outs, range;
} sum_place;

static sum_place place_of(const sum_job *job, int64_t index) {
  const tsri_conv_pass *pass = job->pass;
  const tsri_conv_windows *w = &pass->windows;
  sum_place p = {.range = index % job->ranges};
  index /= job->ranges;
  p.out = index % job->out_jobs * job->out_block;
  index /= job->out_jobs;
  p.tap = index % job->tap_jobs * job->tap_block;
  index /= job->tap_jobs;
  p.channel = index % job->line_jobs * job->channel_block;
  p.group = index / job->line_jobs;
  p.outs = tsri_conv_at_most(job->out_block, pass->out - p.out);
  p.taps = tsri_conv_at_most(job->tap_block, w->taps - p.tap);
  p.channels = tsri_conv_at_most(job->channel_block, w->channels - p.channel);
  return p;
}

// --- Packing ----------------------------------------------------------------------------------------------------------

// Packs `lines` lines of `count` f16 or bf16 weights, from `from` on, as one panel of the type of sums.
static void pack_narrow(const tsri_conv_pass *pass, const char *from, int64_t lines, int64_t count, char *to) {
  enum { AT_A_TIME = 128 };
  const tsri_conv_by_run *runs = &pass->runs;
  int width = pass->kernels->tile_columns;
  int64_t element = (int64_t)pass->windows.element;
  float loaded[MOST_WIDTH * AT_A_TIME];
  for (int64_t at = 0; at < count; at += AT_A_TIME) {
    int64_t n = tsri_conv_at_most(count - at, AT_A_TIME);
    for (int64_t i = 0; i < lines; i++) {
      pass->windows.storage->load(loaded + i * n, from + (i * runs->out + at * runs->axes[2]) * element, runs->axes[2],
                                  (uint32_t)n);
    }
    pass->kernels->pack(to + (size_t)(at * width) * sizeof(float), width, lines, n, loaded, n, 1);
  }
}

// Packs the weights for one row of a block's runs, `count` of them, from row `at` of each panel on.
static void pack_row(const sum_job *job, const char *from, int64_t outs, int64_t at, int64_t count, char *weights) {
  const tsri_conv_pass *pass = job->pass;
  const tsri_conv_by_run *runs = &pass->runs;
  int width = pass->kernels->tile_columns;
  for (int64_t out = 0; out < outs; out += width) {
    int64_t lines = tsri_conv_at_most(outs - out, width);
    char *to = weights + (size_t)(out * job->blocks.most_columns + at * width) * pass->windows.sum_bytes;
    const char *source = from + out * runs->out * (int64_t)pass->windows.element;
    if (pass->is_narrow) pack_narrow(pass, source, lines, count, to);
    else pass->kernels->pack(to, width, lines, count, source, runs->out, runs->axes[2]);
  }
}

// Rows that are contiguous in the weights are packed together.
static void pack_weights(const sum_job *job, const tsri_conv_block *block, const sum_place *p, char *weights) {
  const tsri_conv_pass *pass = job->pass;
  const tsri_conv_by_run *runs = &pass->runs;
  int64_t counts[1 + TSRI_CONV_AXES] = {block->images, block->counts[0], block->counts[1], block->counts[2]};
  int64_t steps[1 + TSRI_CONV_AXES] = {runs->image, runs->axes[0], runs->axes[1], runs->axes[2]};
  int64_t first = p->group * pass->w_group + p->out * runs->out + block->image * runs->image;
  for (int i = 0; i < TSRI_CONV_AXES; i++) first += block->first[i] * runs->axes[i];
  int64_t n = counts[TSRI_CONV_AXES];
  int axis = TSRI_CONV_AXES - 1;
  for (; axis >= 0 && (counts[axis] == 1 || steps[axis] == n * steps[TSRI_CONV_AXES]); axis--) n *= counts[axis];
  for (int64_t i = 0; i < block->columns / n; i++) {
    int64_t rest = i, at = first;
    for (int j = axis; j >= 0; j--) {
      at += rest % counts[j] * steps[j];
      rest /= counts[j];
    }
    pack_row(job, runs->at + at * (int64_t)pass->windows.element, p->outs, i * n, n, weights);
  }
}

// --- Jobs -------------------------------------------------------------------------------------------------------------

// sums = windows * weights for the first block, sums += windows * weights for the others.
static void multiply(const sum_job *job, const sum_place *p, int64_t depth, const char *windows, int64_t line_step,
                     const char *weights, char *sums, bool adds) {
  const tsri_product_kernels *kernels = job->pass->kernels;
  int width = kernels->tile_columns;
  int64_t lines = p->channels * p->taps;
  size_t bytes = job->pass->windows.sum_bytes;
  for (int64_t out = 0; out < p->outs; out += width) {
    const char *b = weights + (size_t)(out * job->blocks.most_columns) * bytes;
    int vectors = p->outs - out <= width / 2 ? 1 : 2;
    for (int64_t line = 0, done = 0; line < lines; line += done) {
      done = kernels->direct((int)tsri_conv_at_most(lines - line, kernels->tile_rows), vectors, depth,
                             windows + (size_t)(line * line_step) * bytes, line_step, 1, b, width,
                             sums + (size_t)(line * job->padded + out) * bytes, job->padded, adds);
    }
  }
}

static int64_t line_step_of(const sum_job *job) { return job->blocks.most_columns + LINE_PAD; }

static void add_blocks(const sum_job *job, const sum_place *p, char *scratch, char *sums) {
  const tsri_conv_pass *pass = job->pass;
  tsri_conv_windows w = pass->windows;
  int64_t *places = (int64_t *)(void *)scratch, step = line_step_of(job);
  tsri_conv_copy *copies = (tsri_conv_copy *)(void *)(scratch + job->copies_at);
  char *boxes = scratch + job->boxes_at, *windows = scratch + job->windows_at, *weights = scratch + job->weights_at;
  w.x += p->group * pass->x_group * (int64_t)w.element;
  int64_t first = job->blocks.total * p->range / job->ranges, last = job->blocks.total * (p->range + 1) / job->ranges;
  for (int64_t i = first; i < last; i++) {
    tsri_conv_block block = tsri_conv_block_at(&w, &job->blocks, i);
    tsri_conv_fill(&w, &block, p->channel, p->channels, boxes);
    tsri_conv_tap_places(&w, &block, places);
    int count = tsri_conv_copies(&w, &block, 0, block.columns, copies);
    for (int64_t c = 0; c < p->channels; c++) {
      pass->kernels->gather(windows + (size_t)(c * p->taps * step) * w.sum_bytes, step * (int64_t)w.sum_bytes, p->taps,
                            boxes + (size_t)(c * block.plane) * w.sum_bytes, places + p->tap, copies, count);
    }
    pack_weights(job, &block, p, weights);
    multiply(job, p, block.columns, windows, step, weights, sums, i > first);
  }
}

// Applies bias and activation to the sums of a job, and stores them in the result's dtype.
static void finish(const sum_job *job, const sum_place *p, char *sums) {
  const tsri_conv_pass *pass = job->pass;
  const tsri_conv_by_line *lines = &pass->lines;
  size_t bytes = pass->windows.sum_bytes;
  int64_t element = (int64_t)pass->windows.element;
  double bias[OUT];
  if (pass->bias) {
    pass->windows.storage->load(bias, pass->bias + (p->group * pass->out + p->out) * pass->bias_step * element,
                                pass->bias_step, (uint32_t)p->outs);
  }
  for (int64_t c = 0; c < p->channels; c++) {
    for (int64_t t = 0; t < p->taps; t++, sums += (size_t)job->padded * bytes) {
      int64_t at =
          p->group * pass->y_group + (p->channel + c) * lines->channel + lines->taps[p->tap + t] + p->out * lines->out;
      pass->kernels->finish(sums, pass->bias ? bias : NULL, p->outs, pass->activation, pass->math);
      pass->windows.storage->store(lines->at + at * element, sums, lines->out, (uint32_t)p->outs);
    }
  }
}

static void run_part(void *user, int part) {
  const sum_job *job = user;
  char *scratch = job->scratch + (size_t)part * job->scratch_bytes;
  int64_t last = job->jobs * (part + 1) / job->parts;
  for (int64_t i = job->jobs * part / job->parts; i < last; i++) {
    sum_place p = place_of(job, i);
    char *sums = job->partial ? job->partial + (size_t)i * job->sum_bytes : scratch + job->sums_at;
    add_blocks(job, &p, scratch, sums);
    if (!job->partial) finish(job, &p, sums);
  }
}

// Adds up the sums of a job's ranges, in order.
static void finish_part(void *user, int part) {
  const sum_job *job = user;
  const tsri_conv_pass *pass = job->pass;
  int64_t all = job->jobs / job->ranges, last = all * (part + 1) / job->finish_parts;
  for (int64_t i = all * part / job->finish_parts; i < last; i++) {
    char *sums = job->partial + (size_t)(i * job->ranges) * job->sum_bytes;
    sum_place p = place_of(job, i * job->ranges);
    for (int64_t range = 1; range < job->ranges; range++) {
      pass->kernels->finish(sums, sums + (size_t)range * job->sum_bytes, p.channels * p.taps * job->padded,
                            TSRI_ACTIVATION_NONE, pass->math);
    }
    finish(job, &p, sums);
  }
}

// --- The pass ---------------------------------------------------------------------------------------------------------

static void cut(sum_job *job) {
  const tsri_conv_pass *pass = job->pass;
  const tsri_conv_windows *w = &pass->windows;
  int width = pass->kernels->tile_columns;
  job->blocks = tsri_conv_cut(w, COLUMNS);
  job->channel_block = w->taps > LINES ? 1 : tsri_conv_at_most(w->channels, LINES / w->taps);
  job->tap_block = tsri_conv_at_most(w->taps, LINES);
  job->out_block = tsri_conv_at_most(pass->out, OUT);
  job->padded = tsri_conv_chunks_of(job->out_block, width) * width;
  job->line_jobs = tsri_conv_chunks_of(w->channels, job->channel_block);
  job->tap_jobs = tsri_conv_chunks_of(w->taps, job->tap_block);
  job->out_jobs = tsri_conv_chunks_of(pass->out, job->out_block);
  int64_t places = pass->groups * job->line_jobs * job->tap_jobs * job->out_jobs;
  int64_t sums = job->channel_block * job->tap_block * job->padded;
  job->sum_bytes = tsri_conv_aligned((size_t)sums * w->sum_bytes);
  job->ranges = tsri_conv_at_most(tsri_conv_chunks_of(JOBS, places), job->blocks.total);
  job->ranges = tsri_conv_at_most(job->ranges, 1 + PARTIAL / (sums * places));
  job->jobs = places * job->ranges;
}

static void measure_scratch(sum_job *job) {
  const tsri_conv_windows *w = &job->pass->windows;
  int64_t lines = job->channel_block * job->tap_block;
  job->copies_at = tsri_conv_aligned((size_t)w->taps * sizeof(int64_t));
  job->boxes_at = job->copies_at + tsri_conv_aligned((size_t)job->blocks.most_columns * sizeof(tsri_conv_copy));
  job->windows_at =
      job->boxes_at + tsri_conv_aligned((size_t)(job->channel_block * job->blocks.most_plane) * w->sum_bytes + SLACK);
  job->weights_at = job->windows_at + tsri_conv_aligned((size_t)(lines * line_step_of(job)) * w->sum_bytes + SLACK);
  job->sums_at = job->weights_at + tsri_conv_aligned((size_t)(job->padded * job->blocks.most_columns) * w->sum_bytes);
  job->scratch_bytes = job->sums_at + (job->ranges > 1 ? 0 : job->sum_bytes);
}

tsr_status tsri_conv_sums(cpu_device *device, const tsri_conv_pass *pass) {
  sum_job job = {.pass = pass};
  int threads = tsri_conv_threads(device, pass);
  cut(&job);
  measure_scratch(&job);
  job.parts = tsri_cpu_parts(threads, (uint64_t)job.jobs);
  size_t partial_bytes = job.ranges > 1 ? job.sum_bytes * (size_t)job.jobs : 0;
  char *memory = tsri_cpu_scratch(device, partial_bytes + job.scratch_bytes * (size_t)job.parts);
  if (!memory) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "conv: no host memory for its panels");
  if (job.ranges > 1) job.partial = memory;
  job.scratch = memory + partial_bytes;
  tsri_parallel(threads, job.parts, run_part, &job);
  if (!job.partial) return TSR_OK;
  job.finish_parts = tsri_cpu_parts(threads, (uint64_t)(job.jobs / job.ranges));
  tsri_parallel(threads, job.finish_parts, finish_part, &job);
  return TSR_OK;
}
