// SPDX-License-Identifier: MIT
// Shared by the files of native convolution.
//
// A convolution is computed as a matrix product. One factor consists of windows of x; its rows are called *lines* and its columns *runs*. Element (line, run)
// is the element of x at
//
// channel of the line, image of the run, position of the run * stride + offset of the line
//
// or 0 beyond the borders of x. The matrix is never stored as a whole: pieces of it are packed for the tiles of the product (product/product.h). boxes.c first
// copies a box of x with zeros around it, so that a line of a piece consists of few copies of whole vectors.
//
// columns.c multiplies weights by windows and sums over lines: runs are images and positions of the result; lines are channels and kernel elements. sums.c
// multiplies windows by weights and sums over runs: lines are images and positions of the result. It is for results with few positions and large kernels, such
// as gradients by weights.
#ifndef TSRI_CPU_CONV_H
#define TSRI_CPU_CONV_H

#include "backends/cpu/product/product.h"

enum { TSRI_CONV_COLUMNS = 1024 };  // the most runs in a block

#define TSRI_CONV_TOO_MANY ((int64_t)1 << 40)  // a limit on numbers of elements

static inline int64_t tsri_conv_at_most(int64_t x, int64_t most) { return x < most ? x : most; }
static inline int64_t tsri_conv_chunks_of(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }
static inline size_t tsri_conv_aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The matrix of windows. Steps are in elements of x.
typedef struct tsri_conv_windows {
  const char *x;
  size_t element, sum_bytes;         // bytes of an element of x, and of a sum; packed elements have the type of sums
  const tsri_lane_storage *storage;  // of x
  int64_t size[TSRI_CONV_AXES], step[TSRI_CONV_AXES];  // spatial axes of x
  int64_t channels, channel_step;                      // of lines
  int64_t taps;  // lines of each channel; a tap is a kernel element (or a position, in sums.c)
  const int64_t (*offsets)[TSRI_CONV_AXES];  // offset of each tap, which may lie outside x
  int64_t least[TSRI_CONV_AXES],
      span[TSRI_CONV_AXES];                                // the smallest offset, and the size of the range of offsets
  int64_t images, image_step;                              // images of the runs
  int64_t counts[TSRI_CONV_AXES], stride[TSRI_CONV_AXES];  // positions of the runs, and the distance in x between them
} tsri_conv_windows;

// A range of `columns` runs in row-major order: some images, or some positions of one image.
typedef struct tsri_conv_block {
  int64_t image, images, first[TSRI_CONV_AXES], counts[TSRI_CONV_AXES], columns;
  // The box of x that the block's windows cover, in elements. A row of the box is stored as `phases` rows of `pitch` elements, so that elements whose positions
  // differ by the stride are neighbours.
  int64_t extent[TSRI_CONV_AXES], phases, pitch,
      plane;  // plane: elements of a channel, of all images; at most TSRI_CONV_TOO_MANY
} tsri_conv_block;

// A copy of `bytes` from offset `from` to offset `to` (both in bytes). It may be rounded up to whole vectors.
typedef tsri_product_copy tsri_conv_copy;

// Blocks of at most `columns` runs.
typedef struct tsri_conv_blocks {
  int64_t counts[1 + TSRI_CONV_AXES];  // runs of a block: images, and positions of each axis
  int64_t number[1 + TSRI_CONV_AXES];  // blocks
  int64_t total, most_columns, most_plane;
} tsri_conv_blocks;

tsri_conv_blocks tsri_conv_cut(const tsri_conv_windows *w, int64_t columns);
tsri_conv_block tsri_conv_block_at(const tsri_conv_windows *w, const tsri_conv_blocks *blocks, int64_t index);

// Copies the boxes of `count` channels from `channel` on to `planes`.
void tsri_conv_fill(const tsri_conv_windows *w, const tsri_conv_block *block, int64_t channel, int64_t count,
                    char *planes);

// Gives the offset, in bytes, of the first element of each tap in the plane of a channel.
void tsri_conv_tap_places(const tsri_conv_windows *w, const tsri_conv_block *block, int64_t *out_places);

// Lists the copies that pack `count` runs of a block, from run `first` on; returns their number. `copies` has room for `count`.
int tsri_conv_copies(const tsri_conv_windows *w, const tsri_conv_block *block, int64_t first, int64_t count,
                     tsri_conv_copy *copies);

// A tensor whose axes are result channels and lines. Steps are in elements.
typedef struct tsri_conv_by_line {
  char *at;
  int64_t out, channel;
  const int64_t *taps;  // offset of each tap
} tsri_conv_by_line;

// A tensor whose axes are result channels and runs.
typedef struct tsri_conv_by_run {
  char *at;
  int64_t out, image, axes[TSRI_CONV_AXES];
} tsri_conv_by_run;

// A product, repeated for each of `groups` groups of channels. sums_lines: by columns.c, with weights by line and results by run; else by sums.c, with weights
// by run and results by line.
typedef struct tsri_conv_pass {
  const tsri_product_kernels *kernels;
  const tsri_lane_math *math;
  bool is_narrow;                             // f16, bf16: elements are converted to f32 for sums
  int64_t groups, x_group, w_group, y_group;  // steps, in elements
  int64_t out;                                // result channels in a group
  tsri_conv_windows windows;
  tsri_conv_by_line lines;
  tsri_conv_by_run runs;
  const char *bias;  // NULL: none
  int64_t bias_step;
  tsri_activation activation;
} tsri_conv_pass;

// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_conv_columns(cpu_device *device, const tsri_conv_pass *pass);
tsr_status tsri_conv_sums(cpu_device *device, const tsri_conv_pass *pass);

// Multiplications and additions of a pass that are worth a thread.
static inline double tsri_conv_work(const tsri_conv_pass *pass) {
  const tsri_conv_windows *w = &pass->windows;
  double runs = (double)w->images * (double)w->counts[0] * (double)w->counts[1] * (double)w->counts[2];
  return 2.0 * runs * (double)pass->groups * (double)w->channels * (double)w->taps * (double)(pass->out + 8);
}

int tsri_conv_threads(const cpu_device *device, const tsri_conv_pass *pass);

// tsri_cpu_has_conv: whether op.c computes the operator. tsri_cpu_conv: computes it. Errors: TSR_ERR_OUT_OF_MEMORY.
bool tsri_cpu_has_conv(const tsri_conv_op *op);
tsr_status tsri_cpu_conv(cpu_device *device, const tsri_native_op *op);

#endif
