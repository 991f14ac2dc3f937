// SPDX-License-Identifier: MIT
// What the files of native convolution share.
//
// A convolution is a product of matrices, one of which consists of windows of x. Its rows are *lines* and its columns *runs*. Element (line, run) is an element of x at
//
//   channel of the line, image of the run, position of the run * stride + offset of the line
//
// or 0 beyond the borders of x. The matrix is never stored: pieces of it are packed for the tiles of the product (product/product.h). boxes.c first copies a box of x with
// zeros around it, so that a line of a piece is a few copies of whole vectors.
//
// columns.c multiplies weights by windows and sums over lines: images and positions of the result are runs, channels and kernel elements are lines. sums.c multiplies windows by
// weights and sums over runs: images and positions of the result are lines. It is for results with few positions and large kernels, such as gradients by weights.
#ifndef TSRI_CPU_CONV_H
#define TSRI_CPU_CONV_H

#include "backends/cpu/product/product.h"

enum { TSRI_CONV_COLUMNS = 1024 };  // runs of a block at most

#define TSRI_CONV_TOO_MANY ((int64_t)1 << 40)  // elements

static inline int64_t tsri_conv_at_most(int64_t x, int64_t most) { return x < most ? x : most; }
static inline int64_t tsri_conv_chunks_of(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }
static inline size_t tsri_conv_aligned(size_t bytes) { return (bytes + 63) / 64 * 64; }

// The matrix of windows. Steps are in elements of x.
typedef struct tsri_conv_windows {
  const char *x;
  size_t element, sum_bytes;         // bytes of an element of x, and of a sum, which packed elements are
  const tsri_lane_storage *storage;  // of x
  int64_t size[TSRI_CONV_AXES], step[TSRI_CONV_AXES];  // spatial axes of x
  int64_t channels, channel_step;                      // of lines
  int64_t taps;                                        // lines of each channel
  const int64_t (*offsets)[TSRI_CONV_AXES];            // of each tap: may lie outside of x
  int64_t least[TSRI_CONV_AXES],
      span[TSRI_CONV_AXES];    // the smallest offset, and how many offsets there may be from there on
  int64_t images, image_step;  // of runs
  int64_t counts[TSRI_CONV_AXES], stride[TSRI_CONV_AXES];  // positions of runs, and their distance in x
} tsri_conv_windows;

// A range of runs: some images, or some positions of one image. `columns` runs in row-major order.
typedef struct tsri_conv_block {
  int64_t image, images, first[TSRI_CONV_AXES], counts[TSRI_CONV_AXES], columns;
  // The box of x that its windows cover, in elements. A row of it is `phases` rows of `pitch` elements: elements whose places differ by the stride are neighbours.
  int64_t extent[TSRI_CONV_AXES], phases, pitch,
      plane;  // plane: elements of a channel, of all images; at most TSRI_CONV_TOO_MANY
} tsri_conv_block;

// One copy: `bytes` from `from` to `to`, both in bytes. As many as fill whole vectors may be copied.
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

// Where each tap begins in the plane of a channel, in bytes.
void tsri_conv_tap_places(const tsri_conv_windows *w, const tsri_conv_block *block, int64_t *out_places);

// Copies that make `count` runs of a block from number `first` on; returns how many there are. `copies` has room for `count`.
int tsri_conv_copies(const tsri_conv_windows *w, const tsri_conv_block *block, int64_t first, int64_t count,
                     tsri_conv_copy *copies);

// A tensor that is indexed by result channels and lines. Steps are in elements.
typedef struct tsri_conv_by_line {
  char *at;
  int64_t out, channel;
  const int64_t *taps;  // the place of each tap
} tsri_conv_by_line;

// A tensor that is indexed by result channels and runs.
typedef struct tsri_conv_by_run {
  char *at;
  int64_t out, image, axes[TSRI_CONV_AXES];
} tsri_conv_by_run;

// One product, for each of `groups` groups of channels: of columns.c if `sums_lines`, with weights by line and results by run; else of sums.c, with weights by run and results
// by line.
typedef struct tsri_conv_pass {
  const tsri_product_kernels *kernels;
  const tsri_lane_math *math;
  bool is_narrow;                             // elements are not sums: f16, bf16
  int64_t groups, x_group, w_group, y_group;  // steps, in elements
  int64_t out;                                // result channels of a group
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

// The operator, and whether it is one that is done here (op.c). Errors: TSR_ERR_OUT_OF_MEMORY.
bool tsri_cpu_has_conv(const tsri_conv_op *op);
tsr_status tsri_cpu_conv(cpu_device *device, const tsri_native_op *op);

#endif
