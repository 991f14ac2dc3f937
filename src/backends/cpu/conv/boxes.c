// SPDX-License-Identifier: MIT
// The matrix of windows of x (conv.h): which runs form a block, the box of x that a block covers, and the copies that pack a piece of the matrix.
#include <string.h>

#include "backends/cpu/conv/conv.h"

// --- Blocks -----------------------------------------------------------------------------------------------------------

// a * b, or TSRI_CONV_TOO_MANY if the product is larger than that.
static int64_t times(int64_t a, int64_t b) { return a > TSRI_CONV_TOO_MANY / b ? TSRI_CONV_TOO_MANY : a * b; }

static void measure(const tsri_conv_windows *w, tsri_conv_block *block) {
  block->columns = block->images;
  for (int i = 0; i < TSRI_CONV_AXES; i++) {
    block->columns *= block->counts[i];
    block->extent[i] = (block->counts[i] - 1) * w->stride[i] + w->span[i];
  }
  const int last = TSRI_CONV_AXES - 1;
  block->phases = tsri_conv_at_most(w->stride[last], w->span[last]);
  block->pitch = block->counts[last] + (w->span[last] - 1) / w->stride[last];
  block->plane = times(times(times(block->phases * block->images, block->pitch), block->extent[1]), block->extent[0]);
}

// Divides the runs into blocks: several images if they fit; else one image, or planes, rows, or parts of a row of one image.
tsri_conv_blocks tsri_conv_cut(const tsri_conv_windows *w, int64_t columns) {
  tsri_conv_blocks blocks = {.total = 1};
  const int64_t sizes[1 + TSRI_CONV_AXES] = {w->images, w->counts[0], w->counts[1], w->counts[2]};
  int64_t room = columns;
  for (int i = TSRI_CONV_AXES; i >= 0; i--) {
    int64_t parts = tsri_conv_chunks_of(sizes[i], room < 1 ? 1 : room);
    blocks.counts[i] = tsri_conv_chunks_of(sizes[i], parts);  // equal parts
    blocks.number[i] = tsri_conv_chunks_of(sizes[i], blocks.counts[i]);
    blocks.total *= blocks.number[i];
    room = blocks.number[i] > 1 ? 0 : room / sizes[i];
  }
  tsri_conv_block first = tsri_conv_block_at(w, &blocks, 0);  // no other block is larger
  blocks.most_columns = first.columns;
  blocks.most_plane = first.plane;
  return blocks;
}

tsri_conv_block tsri_conv_block_at(const tsri_conv_windows *w, const tsri_conv_blocks *blocks, int64_t index) {
  const int64_t sizes[1 + TSRI_CONV_AXES] = {w->images, w->counts[0], w->counts[1], w->counts[2]};
  int64_t first[1 + TSRI_CONV_AXES], counts[1 + TSRI_CONV_AXES];
  for (int i = TSRI_CONV_AXES; i >= 0; i--) {
    first[i] = index % blocks->number[i] * blocks->counts[i];
    counts[i] = tsri_conv_at_most(blocks->counts[i], sizes[i] - first[i]);
    index /= blocks->number[i];
  }
  tsri_conv_block block = {.image = first[0],
                           .images = counts[0],
                           .first = {first[1], first[2], first[3]},
                           .counts = {counts[1], counts[2], counts[3]}};
  measure(w, &block);
  return block;
}

// --- The box ----------------------------------------------------------------------------------------------------------

// As tsri_conv_chunks_of, but without a division in the common case: a stride of 1, or a short row.
static int64_t strides_of(int64_t size, int64_t stride) {
  return stride == 1 ? size : tsri_conv_chunks_of(size, stride);
}

// Fills one row of the box: element e of it is element `from` + e of x's row at `x`. NULL: zeros.
static void fill_row(const tsri_conv_windows *w, const tsri_conv_block *block, const char *x, int64_t from, char *to) {
  const int last = TSRI_CONV_AXES - 1;
  int64_t stride = w->stride[last], size = w->size[last], step = w->step[last];
  size_t bytes = w->sum_bytes;
  for (int64_t phase = 0; phase < block->phases; phase++, to += (size_t)block->pitch * bytes) {
    // Elements begin .. end - 1 of this phase lie inside x.
    int64_t first = from + phase, begin = first < 0 ? strides_of(-first, stride) : 0;
    int64_t end = first < size ? strides_of(size - first, stride) : 0;
    begin = tsri_conv_at_most(begin, block->pitch);
    end = x ? tsri_conv_at_most(end, block->pitch) : 0;
    if (end < begin) end = begin;
    memset(to, 0, (size_t)begin * bytes);
    if (end > begin) {
      w->storage->load(to + (size_t)begin * bytes, x + (first + begin * stride) * step * (int64_t)w->element,
                       stride * step, (uint32_t)(end - begin));
    }
    memset(to + (size_t)end * bytes, 0, (size_t)(block->pitch - end) * bytes);
  }
}

// Copies and zero fills of a few bytes, as in rows of small images, without a function call.
static inline void copy_bytes(char *to, const char *from, size_t bytes) {
  enum { PIECE = 32 };
  if (bytes < PIECE) {
    memcpy(to, from, bytes);
    return;
  }
  for (size_t at = 0; at + PIECE < bytes; at += PIECE) memcpy(to + at, from + at, PIECE);
  memcpy(to + bytes - PIECE, from + bytes - PIECE, PIECE);
}

static inline void clear_bytes(char *to, size_t bytes) {
  if (bytes == sizeof(float)) memset(to, 0, sizeof(float));
  else if (bytes == sizeof(double)) memset(to, 0, sizeof(double));
  else if (bytes > 0) memset(to, 0, bytes);
}

// As fill_row for a stride of 1 and elements that are contiguous in x and need no conversion.
static inline void copy_row(const tsri_conv_windows *w, const tsri_conv_block *block, const char *x, int64_t from,
                            char *to) {
  const int64_t pitch = block->pitch, bytes = (int64_t)w->sum_bytes;
  int64_t begin = tsri_conv_at_most(from < 0 ? -from : 0, pitch);
  int64_t end = x ? tsri_conv_at_most(w->size[TSRI_CONV_AXES - 1] - from, pitch) : begin;
  if (end < begin) end = begin;
  clear_bytes(to, (size_t)(begin * bytes));
  if (end > begin) copy_bytes(to + begin * bytes, x + (from + begin) * bytes, (size_t)((end - begin) * bytes));
  clear_bytes(to + end * bytes, (size_t)((pitch - end) * bytes));
}

// Fills row (e0, e1) of a box that begins at `from`. Rows between windows are not written.
static void fill_rows(const tsri_conv_windows *w, const tsri_conv_block *block, const char *x, const int64_t *from,
                      char *to) {
  size_t row_bytes = (size_t)(block->phases * block->pitch) * w->sum_bytes;
  const int last = TSRI_CONV_AXES - 1;
  bool is_copied = w->stride[last] == 1 && w->step[last] == 1 && w->element == w->sum_bytes;
  bool has_gaps = w->stride[0] > w->span[0] || w->stride[1] > w->span[1];
  for (int64_t e0 = 0; e0 < block->extent[0]; e0++) {
    for (int64_t e1 = 0; e1 < block->extent[1]; e1++, to += row_bytes) {
      if (has_gaps && (e0 % w->stride[0] >= w->span[0] || e1 % w->stride[1] >= w->span[1])) continue;
      int64_t i0 = from[0] + e0, i1 = from[1] + e1;
      bool is_inside = i0 >= 0 && i0 < w->size[0] && i1 >= 0 && i1 < w->size[1];
      const char *row = is_inside ? x + (i0 * w->step[0] + i1 * w->step[1]) * (int64_t)w->element : NULL;
      if (is_copied) copy_row(w, block, row, from[last], to);
      else fill_row(w, block, row, from[last], to);
    }
  }
}

void tsri_conv_fill(const tsri_conv_windows *w, const tsri_conv_block *block, int64_t channel, int64_t count,
                    char *planes) {
  int64_t from[TSRI_CONV_AXES];
  for (int i = 0; i < TSRI_CONV_AXES; i++) from[i] = block->first[i] * w->stride[i] + w->least[i];
  size_t box_bytes = (size_t)(block->plane / block->images) * w->sum_bytes;
  for (int64_t c = channel; c < channel + count; c++) {
    for (int64_t image = block->image; image < block->image + block->images; image++, planes += box_bytes) {
      fill_rows(w, block, w->x + (c * w->channel_step + image * w->image_step) * (int64_t)w->element, from, planes);
    }
  }
}

void tsri_conv_tap_places(const tsri_conv_windows *w, const tsri_conv_block *block, int64_t *out_places) {
  int64_t stride = w->stride[TSRI_CONV_AXES - 1];
  for (int64_t t = 0; t < w->taps; t++) {
    int64_t e[TSRI_CONV_AXES];
    for (int i = 0; i < TSRI_CONV_AXES; i++) e[i] = w->offsets[t][i] - w->least[i];
    int64_t row = (e[0] * block->extent[1] + e[1]) * block->phases + e[2] % stride;
    out_places[t] = (row * block->pitch + e[2] / stride) * (int64_t)w->sum_bytes;
  }
}

int tsri_conv_copies(const tsri_conv_windows *w, const tsri_conv_block *block, int64_t first, int64_t count,
                     tsri_conv_copy *copies) {
  int64_t rest = first, p2 = rest % block->counts[2], bytes = (int64_t)w->sum_bytes;
  rest /= block->counts[2];
  int64_t p1 = rest % block->counts[1];
  rest /= block->counts[1];
  int64_t p0 = rest % block->counts[0], image = rest / block->counts[0];
  int used = 0;
  for (int64_t done = 0; done < count;) {
    int64_t row = (image * block->extent[0] + p0 * w->stride[0]) * block->extent[1] + p1 * w->stride[1];
    int64_t from = (row * block->phases * block->pitch + p2) * bytes,
            n = tsri_conv_at_most(block->counts[2] - p2, count - done);
    tsri_conv_copy *before = &copies[used - 1];
    if (used > 0 && before->from + before->bytes == from) before->bytes += n * bytes;
    else copies[used++] = (tsri_conv_copy){.from = from, .to = done * bytes, .bytes = n * bytes};
    done += n;
    p2 = 0;
    if (++p1 < block->counts[1]) continue;
    p1 = 0;
    if (++p0 < block->counts[0]) continue;
    p0 = 0;
    image++;
  }
  return used;
}
