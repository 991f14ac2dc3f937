// SPDX-License-Identifier: MIT
// Products of bf16 and bytes with few rows and a matrix b whose columns are contiguous, such as the weights of a linear layer with one line for each output, by
// tiles that read whole cache lines of rows (AMX). The transposed product is computed: lines of b are the rows of tiles and are read in place, once. a, which
// is small, is packed in the way b is elsewhere.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum {
  CHUNK_BYTES = 1024,  // bytes of a line of b in one tile
  CACHE_LINE = 64,
  LEAST_DEPTH_BYTES = 256,
  LEAST_FLOAT_ROWS = 5,  // dots.c is faster with fewer rows
  MOST_LINES = 32,       // most rows of a tile
  MOST_SUMS = 32 * MOST_LINES
};

typedef struct group_lines {
  const tsri_product *p;
  int64_t blocks;   // blocks of lines of b, with tile_rows lines each
  int64_t columns;  // most columns of a part
  int parts;
  size_t chunk_bytes;          // bytes of packed a, for a chunk of k
  size_t a_bytes, part_bytes;  // bytes of scratch memory
} group_lines;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static int64_t pieces_of(int64_t size, int64_t piece) { return (size + piece - 1) / piece; }

bool tsri_product_has_group_lines(const tsri_product *p) {
  int64_t element = (int64_t)p->element, least_rows = p->has_integers ? 1 : LEAST_FLOAT_ROWS;
  return p->groups->unit * element == CACHE_LINE && p->m >= least_rows && p->m <= p->groups->tile_columns &&
         p->b.row == 1 && p->b.column > 1 && p->n >= p->groups->tile_rows && p->k * element >= LEAST_DEPTH_BYTES;
}

static group_lines look_at(const tsri_product *p) {
  int64_t rows = p->groups->tile_rows, width = p->groups->tile_columns, chunk = CHUNK_BYTES / (int64_t)p->element;
  group_lines d = {.p = p, .blocks = pieces_of(p->n, rows)};
  d.parts = (int)at_most(d.blocks, p->threads);
  d.columns = pieces_of(d.blocks, d.parts) * rows;
  d.chunk_bytes = (size_t)(width * CHUNK_BYTES);
  d.a_bytes = d.chunk_bytes * (size_t)pieces_of(p->k, chunk);
  d.part_bytes = (d.a_bytes + (size_t)(p->m * d.columns) * p->sum_bytes + 63) / 64 * 64;
  return d;
}

size_t tsri_product_group_lines_scratch_bytes(const tsri_product *p) {
  group_lines d = look_at(p);
  return d.part_bytes * (size_t)d.parts;
}

// Packs all of a, and returns its smallest magnitude (tsri_product_groups.least).
static uint32_t pack_a(const group_lines *d, char *to) {
  const tsri_product *p = d->p;
  const tsri_product_groups *groups = p->groups;
  int64_t element = (int64_t)p->element, chunk = CHUNK_BYTES / element;
  uint32_t least = TSRI_PRODUCT_NO_LEAST;
  for (int64_t k = 0; k < p->k; k += chunk, to += d->chunk_bytes) {
    int64_t depth = at_most(p->k - k, chunk), padded = pieces_of(depth, groups->unit) * groups->unit;
    groups->pack_b(to, p->m, depth, p->a.at + k * p->a.column * element, p->a.row, p->a.column);
    if (!groups->least) continue;
    uint32_t here = groups->least(to, 1, (size_t)(padded * groups->tile_columns) * p->element, 0);
    least = here < least ? here : least;
  }
  return least;
}

// A block of lines of b, and a chunk of k.
typedef struct line_chunk {
  const group_lines *d;
  const char *b, *a;  // addresses for the chunk; a is packed
  int64_t depth;
  float *sums;  // sums of the block: a tile
  bool adds, is_exact;
} line_chunk;

// Adds the products of `depth` elements along k (a multiple of the tiles' unit), from element `at` of the chunk on. Lines of b are at `b`, with strides of
// b_row and b_step bytes.
static void add_tile(const line_chunk *c, int64_t at, int64_t depth, const char *b, int64_t b_row, int64_t b_step) {
  const tsri_product *p = c->d->p;
  const tsri_product_groups *groups = p->groups;
  tsri_group_tile tile = {.rows = groups->tile_rows,
                          .columns = (int)p->m,
                          .k = depth,
                          .a = b,
                          .b = c->a + (size_t)(at * groups->tile_columns) * p->element,
                          .a_row = b_row,
                          .a_step = b_step,
                          .c = c->sums,
                          .c_step = groups->tile_columns,
                          .adds = c->adds || at > 0};
  (c->is_exact ? groups->exact_tile : groups->tile)(&tile);
}

// Adds a chunk. The part of k that is no multiple of the tiles' unit is packed, because the elements after it belong to the next line.
static void add_chunk(const line_chunk *c) {
  const tsri_product *p = c->d->p;
  const tsri_product_groups *groups = p->groups;
  int64_t step = p->b.column * (int64_t)p->element, whole = c->depth / groups->unit * groups->unit;
  char rest[MOST_LINES * CACHE_LINE];
  if (whole > 0) add_tile(c, 0, whole, c->b, step, groups->unit * (int64_t)p->element);
  if (whole == c->depth) return;
  groups->pack_a(rest, groups->tile_rows, c->depth - whole, c->b + whole * (int64_t)p->element, p->b.column, 1);
  add_tile(c, whole, groups->unit, rest, groups->packed_row, groups->packed_step);
}

// Computes the sums of a tile's lines, from `line` on, with all rows of a.
static void multiply_lines(const group_lines *d, int64_t line, const char *a, uint32_t least_a, float *sums) {
  const tsri_product *p = d->p;
  const tsri_product_groups *groups = p->groups;
  int64_t element = (int64_t)p->element, chunk = CHUNK_BYTES / element, step = p->b.column * element;
  line_chunk c = {.d = d, .sums = sums};
  for (int64_t k = 0; k < p->k; k += chunk, a += d->chunk_bytes) {
    c.b = p->b.at + line * step + k * element;
    c.a = a;
    c.depth = at_most(p->k - k, chunk);
    c.adds = k > 0;
    if (groups->least && !c.is_exact) {
      uint32_t least = groups->least(c.b, groups->tile_rows, (size_t)(c.depth * element), step);
      c.is_exact = tsri_product_may_flush(least_a, least);
    }
    add_chunk(&c);
  }
}

// Transposes the sums of the lines `first` to `last` - 1 of a block into `to`.
static void turn_sums(const group_lines *d, const float *sums, int64_t first, int64_t last, float *to) {
  int64_t width = d->p->groups->tile_columns;
  for (int64_t i = 0; i < d->p->m; i++) {
    for (int64_t line = first; line < last; line++) {
      memcpy(to + i * d->columns + line - first, sums + line * width + i,
             sizeof *to);  // memcpy, since it may be an integer
    }
  }
}

static void run_part(void *user, int part) {
  const group_lines *d = user;
  const tsri_product *p = d->p;
  int64_t rows = p->groups->tile_rows;
  int64_t first = d->blocks * part / d->parts * rows, last = at_most(p->n, d->blocks * (part + 1) / d->parts * rows);
  char *a = p->scratch + d->part_bytes * (size_t)part;
  float *sums = (float *)(void *)(a + d->a_bytes), tiles[MOST_SUMS];
  uint32_t least_a = pack_a(d, a);
  if (p->groups->begin) p->groups->begin();
  for (int64_t line = first; line < last; line += rows) {
    // A tile always has all its rows: the last tile may compute some lines again.
    int64_t from = at_most(line, p->n - rows);
    multiply_lines(d, from, a, least_a, tiles);
    turn_sums(d, tiles, line - from, at_most(last - from, rows), sums + line - first);
  }
  if (p->groups->end) p->groups->end();
  tsri_product_finish_columns(p, (char *)sums, d->columns, first, last);
}

void tsri_product_run_group_lines(const tsri_product *p) {
  group_lines d = look_at(p);
  tsri_parallel(p->threads, d.parts, run_part, &d);
}
