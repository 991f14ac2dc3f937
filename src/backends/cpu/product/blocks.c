// SPDX-License-Identifier: MIT
// Matrix products from packed panels.
//
// For each block of k, threads first pack panels of both inputs, which resolves strides and dtypes. (bf16 and bytes are not converted if the processor has
// instructions that multiply groups of them.) Then threads take blocks of the result, tile by tile: a panel of a stays in the first-level cache, while the
// panels of a block of b, which fills half of the second-level cache, are read one after the other. Bias and activation are applied to a strip of the result
// right after its last block of k.
#include <string.h>

#include "backends/cpu/product/product.h"
#include "platform/parallel.h"

enum {
  K_BLOCK = TSRI_PRODUCT_K_BLOCK,
  BLOCK_COLUMNS = 512,      // of b, with K_BLOCK rows: 512 KiB of f32
  CHUNK = 2048,             // rows and columns of the result whose panels exist at the same time
  NARROW_CHUNK_ROWS = 512,  // the same if sums need separate memory
  PARTS_PER_THREAD = 4,
  FEW_PANELS = 4,
  COLUMNS_IN_PLACE = 512,  // most columns of b for which a is not packed: each row of a is then read only a few times
  LEAST_TILE = 14,         // least rows and columns, if panels have groups
  MOST_PANELS = (CHUNK + LEAST_TILE - 1) / LEAST_TILE
};

#if defined(__wasm__)
// The browser module does without prefetching, groups and division into cells.
enum { HAS_FETCH = 0, HAS_GROUPS = 0, HAS_THREADS = 0 };
#else
enum { HAS_FETCH = 1, HAS_GROUPS = 1, HAS_THREADS = 1 };
#endif

static const tsri_product_groups *groups_of(const tsri_product *p) { return HAS_GROUPS ? p->groups : NULL; }

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static int64_t chunks_of(int64_t size, int64_t chunk) { return (size + chunk - 1) / chunk; }

// A part of the result that `threads` threads compute, with scratch memory of its own.
typedef struct cell {
  int64_t first_row, last_row, first_column, last_column;
  int threads;
  char *scratch;
} cell;

// The state of multiplying one chunk of a cell by one block of k.
typedef struct chunk {
  const tsri_product *p;
  int threads;
  int64_t row, rows, column, columns, k, depth;
  size_t line_bytes;   // bytes of a line in a panel
  bool is_a_in_place;  // panels of a are not packed, except incomplete ones with groups
  char *a_panels, *b_panels;
  char *sums;  // address of the sums of the chunk's first element
  int64_t sums_step;
  bool is_first, is_last;
  int64_t a_panel_count, b_panel_count;
  bool is_thin;     // few panels of a: each thread packs a panel of b into its cache right before it multiplies by it
  bool is_a_late;   // a panel of a is packed right before its tiles, so that it is in the cache (pack_late)
  int64_t block_b;  // panels of b in a block of the result
  int64_t bands, column_blocks;  // blocks of the chunk, down and across
  int parts;
  // Panels of bf16: their smallest magnitudes (tsri_product_groups.least). is_exact of a panel of b: set from the first block of k in which a sum could be
  // flushed on, since later blocks add to these sums.
  uint32_t least_a[MOST_PANELS], least_b[MOST_PANELS];
  bool is_exact[MOST_PANELS];
} chunk;

static int tile_rows(const tsri_product *p) { return groups_of(p) ? groups_of(p)->tile_rows : p->kernels->tile_rows; }
static int tile_columns(const tsri_product *p) {
  return groups_of(p) ? groups_of(p)->tile_columns : p->kernels->tile_columns;
}

static int64_t k_block(const tsri_product *p) { return groups_of(p) ? groups_of(p)->k_block : K_BLOCK; }

// Bytes of an element in a panel with groups.
static size_t packed_bytes(const tsri_product *p) {
  return tsri_product_is_split(p) ? (size_t)groups_of(p)->packed_bytes : p->element;
}

// Bytes of `depth` elements along k in a panel.
static size_t line_bytes(const tsri_product *p, int64_t depth) {
  if (!groups_of(p)) return (size_t)depth * p->sum_bytes;
  return (size_t)(chunks_of(depth, groups_of(p)->unit) * groups_of(p)->unit) * packed_bytes(p);
}

// Rows of a chunk, in a cell with `rows` rows.
static int64_t chunk_rows(const tsri_product *p, int64_t rows) {
  return at_most(rows, p->is_narrow ? NARROW_CHUNK_ROWS : CHUNK);
}

static size_t panel_bytes(const tsri_product *p, int64_t lines, int width) {
  return (size_t)(chunks_of(lines, width) * width) * line_bytes(p, at_most(p->k, k_block(p)));
}

// Bytes of a cell's scratch memory: panels of a and b, and sums.
static size_t cell_bytes(const tsri_product *p, int64_t cell_rows, int64_t cell_columns) {
  int64_t rows = chunk_rows(p, cell_rows), columns = at_most(cell_columns, CHUNK);
  size_t bytes = panel_bytes(p, rows, tile_rows(p)) + panel_bytes(p, columns, tile_columns(p));
  return p->is_narrow ? bytes + (size_t)(rows * columns) * p->sum_bytes : bytes;
}

// --- Cells ----------------------------------------------------------------------------------------------------------------

// A division of the result into `down` x `across` cells, which consist of whole tiles.
typedef struct cells {
  const tsri_product *p;
  int down, across;
  int64_t a_panels, b_panels;  // of the whole result
  int64_t packed;              // rows and columns that all cells together pack
  size_t bytes;                // bytes of a cell's scratch memory
} cells;

// Whether each thread takes its own cells, with all of k. Then no thread waits for another or reads what another has packed, but some rows and columns are
// packed several times. That pays if a product is short, and for bf16, bytes and f16, because otherwise threads would share panels of only 512 rows, and mostly
// wait. On eight threads of a Xeon, 2048^3 takes 7.6 ms instead of 9.4 in bf16, 3.9 instead of 5.2 in i8, and 31 instead of 49 in f16.
static bool has_cells(const tsri_product *p) {
  const double most_work = 1 << 25;  // multiplications for each thread
  if (!HAS_THREADS || p->threads == 1 || p->quant) return false;
  return p->is_narrow || (double)p->m * (double)p->n * (double)p->k <= most_work * p->threads;
}

// Divides the result into `count` cells so that the fewest rows and columns are packed. One cell if there are too few panels.
static cells cut_into(const tsri_product *p, int count) {
  cells c = {.p = p, .down = 1, .across = 1};
  c.a_panels = chunks_of(p->m, tile_rows(p));
  c.b_panels = chunks_of(p->n, tile_columns(p));
  c.packed = INT64_MAX;
  for (int down = 1; down <= count; down++) {
    int across = count / down;
    int64_t packed = chunks_of(p->m, down) + chunks_of(p->n, across);
    if (down * across != count || down > c.a_panels || across > c.b_panels || packed >= c.packed) continue;
    c.packed = packed;
    c.down = down;
    c.across = across;
  }
  return c;
}

// Chooses two cells for each thread, so that a delayed thread leaves work to others; fewer if there are not enough tiles. For narrow elements, of which packing
// takes a larger share, one cell for each thread if it then packs some 30 % less: on 16 threads of a Xeon (4 x 4 cells instead of 4 x 8), 1000^3 takes 545 us
// instead of 616 in bf16, and 240 instead of 270 in i8. On eight threads (2 x 4 instead of 4 x 4) one cell each would be slower: 1022 instead of 969, and 818
// instead of 513.
static cells cut_cells(const tsri_product *p) {
  int count = has_cells(p) ? 2 * p->threads : 1;
  cells c = cut_into(p, count);
  while (HAS_THREADS && c.down * c.across < count) c = cut_into(p, count /= 2);
  if (HAS_THREADS && p->is_narrow && count == 2 * p->threads) {
    cells one = cut_into(p, p->threads);
    if (one.down * one.across == p->threads && 10 * one.packed <= 7 * 2 * c.packed) c = one;
  }
  size_t bytes = cell_bytes(p, at_most(p->m, chunks_of(c.a_panels, c.down) * tile_rows(p)),
                            at_most(p->n, chunks_of(c.b_panels, c.across) * tile_columns(p)));
  c.bytes = (bytes + 63) / 64 * 64;
  return c;
}

size_t tsri_product_scratch_bytes(const tsri_product *p) {
  cells c = cut_cells(p);
  return c.bytes * (size_t)(c.down * c.across);
}

static cell cell_at(const cells *c, int number) {
  const tsri_product *p = c->p;
  int64_t i = number / c->across, j = number % c->across, rows = tile_rows(p), columns = tile_columns(p);
  return (cell){.first_row = c->a_panels * i / c->down * rows,
                .last_row = at_most(p->m, c->a_panels * (i + 1) / c->down * rows),
                .first_column = c->b_panels * j / c->across * columns,
                .last_column = at_most(p->n, c->b_panels * (j + 1) / c->across * columns),
                .threads = c->down * c->across > 1 ? 1 : p->threads,
                .scratch = p->scratch + c->bytes * (size_t)number};
}

// --- Packing --------------------------------------------------------------------------------------------------------------

// As the kernels' pack, for elements that must be converted: one panel of `count` lines. Lines along k are converted a piece at a time, which the kernels' pack
// then transposes by whole vectors.
static void pack_narrow(const chunk *c, float *panel, int width, int64_t count, const char *from, int64_t line_step,
                        int64_t k_step) {
  enum { PIECE_OF_K = 64 };
  const tsri_product *p = c->p;
  if (line_step == 1) {
    if (count < width) memset(panel, 0, (size_t)(c->depth * width) * sizeof *panel);
    for (int64_t k = 0; k < c->depth; k++) {
      p->storage->load(panel + k * width, from + k * k_step * (int64_t)p->element, 1, (uint32_t)count);
    }
    return;
  }
  float lines[TSRI_PRODUCT_MOST_WIDTH * PIECE_OF_K];
  for (int64_t k = 0; k < c->depth; k += PIECE_OF_K) {
    int64_t length = at_most(c->depth - k, PIECE_OF_K);
    for (int64_t i = 0; i < count; i++) {
      const char *line = from + (i * line_step + k * k_step) * (int64_t)p->element;
      p->storage->load(lines + i * length, line, k_step, (uint32_t)length);
    }
    p->kernels->pack(panel + k * width, width, count, length, lines, length, 1);
  }
}

// Packs one panel of `count` columns of quantised weights, whose rows of blocks begin at `from`.
static void pack_quantised(const chunk *c, float *panel, int width, int64_t count, const char *from,
                           int64_t row_bytes) {
  const tsri_quant_rows *quant = c->p->quant;
  float line[K_BLOCK];
  if (count < width) memset(panel, 0, (size_t)(c->depth * width) * sizeof *panel);
  for (int64_t i = 0; i < count; i++) {
    quant->decode((const uint8_t *)from + i * row_bytes, c->k, c->depth, line);
    for (int64_t k = 0; k < c->depth; k++) panel[k * width + i] = line[k];
  }
}

// One of the two inputs to pack: `lines` lines along k, in panels of `width` lines.
typedef struct packing {
  char *panels;
  int width;
  bool is_a;
  int64_t lines, line_step, k_step;
  const char *from;
} packing;

// Packs the panels `first` to `last` - 1 for tiles of groups. Complete panels of a may be read in place instead.
static void pack_groups(chunk *c, const packing *in, int64_t first, int64_t last) {
  const tsri_product *p = c->p;
  const tsri_product_groups *groups = groups_of(p);
  int64_t line_step = in->line_step * (int64_t)p->element, whole = in->lines / in->width, packed = first;
  uint32_t *least = in->is_a ? c->least_a : c->least_b;
  size_t bytes = c->line_bytes * (size_t)in->width;
  for (; in->is_a && c->is_a_in_place && packed < last && packed < whole; packed++) {
    const char *rows = in->from + packed * in->width * line_step;
    if (groups->least) least[packed] = groups->least(rows, in->width, c->line_bytes, line_step);
  }
  if (packed == last) return;
  int64_t line = packed * in->width, lines = at_most(in->lines, last * in->width) - line;
  char *panels = in->panels + (size_t)packed * bytes;
  (in->is_a ? groups->pack_a : groups->pack_b)(panels, lines, c->depth, in->from + line * line_step, in->line_step,
                                               in->k_step);
  for (; groups->least && packed < last; packed++, panels += bytes) least[packed] = groups->least(panels, 1, bytes, 0);
}

// is_a_late, which is false at compile time if the build has no groups.
static bool packs_a_late(const chunk *c) { return tsri_product_is_split(c->p) && c->is_a_late; }

// Where panel `panel` of a is packed. Panels that are packed late share the memory of the first panel of their band, which one thread multiplies.
static char *panel_of_a(const chunk *c, int64_t panel) {
  int64_t place = panel;
  if (packs_a_late(c)) {
    int64_t band = ((panel + 1) * c->bands - 1) / c->a_panel_count;
    place = c->a_panel_count * band / c->bands;
  }
  return c->a_panels + (size_t)(place * tile_rows(c->p)) * c->line_bytes;
}

static void pack_late(chunk *c, const packing *a, int64_t panel) {
  const tsri_product_groups *groups = groups_of(c->p);
  int64_t line = panel * a->width;
  char *to = panel_of_a(c, panel);
  groups->pack_a(to, at_most(a->lines - line, a->width), c->depth,
                 a->from + line * a->line_step * (int64_t)c->p->element, a->line_step, a->k_step);
  c->least_a[panel] = groups->least(to, 1, c->line_bytes * (size_t)a->width, 0);
}

// Decides for the panels `first` to `last` - 1 of b which tiles must be computed by exact_tile, because bf16 instructions would flush small numbers to 0.
static void choose_tiles(chunk *c, int64_t first, int64_t last) {
  if (!groups_of(c->p) || !groups_of(c->p)->exact_tile) return;
  uint32_t least_a = TSRI_PRODUCT_NO_LEAST;
  for (int64_t i = 0; i < c->a_panel_count; i++) least_a = c->least_a[i] < least_a ? c->least_a[i] : least_a;
  for (int64_t j = first; j < last; j++) {
    c->is_exact[j] = (!c->is_first && c->is_exact[j]) || tsri_product_may_flush(least_a, c->least_b[j]);
  }
}

// Packs panels `first` to before `last`.
static void pack_panels(chunk *c, const packing *in, int64_t first, int64_t last) {
  const tsri_product *p = c->p;
  if (first >= last || (in->is_a && c->is_a_in_place && !groups_of(p))) return;
  if (groups_of(p)) {
    pack_groups(c, in, first, last);
    return;
  }
  int64_t line = first * in->width, lines = at_most(in->lines, last * in->width) - line;
  char *panels = in->panels + (size_t)line * c->line_bytes;
  if (p->quant && !in->is_a) {
    int64_t row_bytes = tsri_product_row_bytes(p);
    for (int64_t i = 0; i < lines; i += in->width) {
      pack_quantised(c, (float *)(void *)panels + i * c->depth, in->width, at_most(lines - i, in->width),
                     in->from + (line + i) * row_bytes, row_bytes);
    }
    return;
  }
  const char *from = in->from + line * in->line_step * (int64_t)p->element;
  if (!p->is_narrow) {
    p->kernels->pack(panels, in->width, lines, c->depth, from, in->line_step, in->k_step);
    return;
  }
  for (int64_t i = 0; i < lines; i += in->width) {
    pack_narrow(c, (float *)(void *)panels + i * c->depth, in->width, at_most(lines - i, in->width),
                from + i * in->line_step * (int64_t)p->element, in->line_step, in->k_step);
  }
}

static const char *element_at(const tsri_product *p, const tsri_product_matrix *matrix, int64_t row, int64_t column) {
  return matrix->at + (row * matrix->row + column * matrix->column) * (int64_t)p->element;
}

static packing packing_of_a(const chunk *c) {
  const tsri_product *p = c->p;
  const char *from = element_at(p, &p->a, c->row, c->k);
  return (packing){c->a_panels, tile_rows(p), true, c->rows, p->a.row, p->a.column, from};
}

static packing packing_of_b(const chunk *c) {
  const tsri_product *p = c->p;
  const char *from = p->quant ? p->b.at + c->column * tsri_product_row_bytes(p) : element_at(p, &p->b, c->k, c->column);
  return (packing){c->b_panels, tile_columns(p), false, c->columns, p->b.column, p->b.row, from};
}

// Packs part `part` of the panels of a, and of those of b.
static void pack_part(void *user, int part) {
  chunk *c = user;
  packing a = packing_of_a(c), b = packing_of_b(c);
  if (!packs_a_late(c)) {
    pack_panels(c, &a, c->a_panel_count * part / c->parts, c->a_panel_count * (part + 1) / c->parts);
  }
  pack_panels(c, &b, c->b_panel_count * part / c->parts, c->b_panel_count * (part + 1) / c->parts);
}

static int parts_for(const chunk *c, int64_t pieces) {
  return c->threads > 1 ? (int)at_most(pieces, (int64_t)c->threads * PARTS_PER_THREAD) : 1;
}

static void pack(chunk *c) {
  packing a = packing_of_a(c);
  c->parts = parts_for(c, c->a_panel_count + c->b_panel_count);
  if (c->is_thin) {
    pack_panels(c, &a, 0, c->a_panel_count);
    return;
  }
  tsri_parallel(c->threads, c->parts, pack_part, c);
  choose_tiles(c, 0, c->b_panel_count);
}

// --- Multiplying ------------------------------------------------------------------------------------------------------------

void tsri_product_add_sums(const tsri_product *p, char *to, const char *from, int64_t count) {
  if (p->sum_bytes == sizeof(double)) {
    for (int64_t j = 0; j < count; j++) ((double *)(void *)to)[j] += ((const double *)(const void *)from)[j];
  } else if (p->has_integers) {
    for (int64_t j = 0; j < count; j++) ((uint32_t *)(void *)to)[j] += ((const uint32_t *)(const void *)from)[j];
  } else {
    for (int64_t j = 0; j < count; j++) ((float *)(void *)to)[j] += ((const float *)(const void *)from)[j];
  }
}

enum { PIECE = 32 };  // bytes

// Makes the rows of a tile contiguous: moves the first `row_bytes` bytes of each row of `step_bytes` to directly after the row before. Copies in pieces; excess
// bytes are overwritten by the next row. A piece never reaches a row that has not been moved yet, since `row_bytes` is less than `step_bytes`, a multiple of
// the piece.
static void close_gaps(char *tile, int64_t rows, int64_t row_bytes, int64_t step_bytes) {
  for (int64_t i = 1; i < rows; i++) {
    const char *from = tile + i * step_bytes;
    char *to = tile + i * row_bytes;
    for (int64_t at = 0; at < row_bytes; at += PIECE) {
      char piece[PIECE];
      memcpy(piece, from + at, PIECE);
      memcpy(to + at, piece, PIECE);
    }
  }
}

void tsri_product_take_tile(const tsri_product *p, void *tile, char *sums, int64_t sums_step, int64_t rows,
                            int64_t columns, bool adds) {
  int64_t step = tile_columns(p), sum_bytes = (int64_t)p->sum_bytes;
  if (columns == sums_step && columns < step && step * sum_bytes % PIECE == 0) {
    close_gaps(tile, rows, columns * sum_bytes, step * sum_bytes);
    columns *= rows;
    rows = 1;
  }
  for (int64_t i = 0; i < rows; i++) {
    const char *from = (const char *)tile + i * step * sum_bytes;
    char *to = sums + i * sums_step * sum_bytes;
    if (adds) tsri_product_add_sums(p, to, from, columns);
    else memcpy(to, from, (size_t)(columns * sum_bytes));
  }
}

// Computes a tile by groups, into `sums` or into separate memory.
static void run_group_tile(const chunk *c, int64_t a_panel, int64_t b_panel, int rows, int64_t columns, void *to,
                           int64_t to_step, bool adds) {
  const tsri_product *p = c->p;
  const tsri_product_groups *groups = groups_of(p);
  bool is_in_place = c->is_a_in_place && rows == groups->tile_rows;
  int64_t row = a_panel * groups->tile_rows, element = (int64_t)p->element;
  tsri_group_tile tile = {.rows = rows,
                          .columns = (int)columns,
                          .k = (int64_t)(c->line_bytes / packed_bytes(p)),
                          .a = panel_of_a(c, a_panel),
                          .b = c->b_panels + (size_t)(b_panel * groups->tile_columns) * c->line_bytes,
                          .a_row = groups->packed_row,
                          .a_step = groups->packed_step,
                          .c = to,
                          .c_step = to_step,
                          .adds = adds};
  if (is_in_place) {
    tile.a = element_at(p, &p->a, c->row + row, c->k);
    tile.a_row = p->a.row * element;
    tile.a_step = groups->unit * element;
  }
  if (tsri_product_is_split(p)) {
    tsri_split_tile at = {
        c->row + row,       c->column + b_panel * groups->tile_columns, c->k, c->depth, c->least_a[a_panel],
        c->least_b[b_panel]};
    tsri_product_split_tile(p, &tile, &at);
    return;
  }
  (groups->least && c->is_exact[b_panel] ? groups->exact_tile : groups->tile)(&tile);
}

// Computes a tile of f32 or f64 from a panel of b and rows of a that are read in place.
static void run_tile_in_place(const chunk *c, int64_t row, int rows, int64_t columns, const char *b, char *to,
                              int64_t to_step, bool adds) {
  const tsri_product *p = c->p;
  int64_t step = tile_columns(p);
  for (int done = 0, now = 0; done < rows; done += now) {
    now = p->kernels->direct(rows - done, columns <= step / 2 ? 1 : 2, c->depth,
                             element_at(p, &p->a, c->row + row + done, c->k), p->a.row, p->a.column, b, step,
                             to + (size_t)(done * to_step) * p->sum_bytes, to_step, adds);
  }
}

static void run_tile(const chunk *c, int64_t a_panel, int64_t b_panel, int rows, int64_t columns, void *to,
                     int64_t to_step, bool adds) {
  const tsri_product *p = c->p;
  if (groups_of(p)) {
    run_group_tile(c, a_panel, b_panel, rows, columns, to, to_step, adds);
    return;
  }
  const char *b = c->b_panels + (size_t)(b_panel * tile_columns(p)) * c->line_bytes;
  if (c->is_a_in_place) {
    run_tile_in_place(c, a_panel * tile_rows(p), rows, columns, b, to, to_step, adds);
    return;
  }
  const char *a = c->a_panels + (size_t)(a_panel * tile_rows(p)) * c->line_bytes;
  p->kernels->tile(rows, c->depth, a, b, to, to_step, adds);
}

// Computes a tile, whose sums begin in row `sums_row` of the chunk's sums.
static void multiply_tile(const chunk *c, int64_t a_panel, int64_t b_panel, int64_t sums_row) {
  const tsri_product *p = c->p;
  int64_t row = a_panel * tile_rows(p), column = b_panel * tile_columns(p);
  int64_t rows = at_most(c->rows - row, tile_rows(p)), columns = at_most(c->columns - column, tile_columns(p));
  char *sums = c->sums + (size_t)(sums_row * c->sums_step + column) * p->sum_bytes;
  if (rows == tile_rows(p) && columns == tile_columns(p)) {
    run_tile(c, a_panel, b_panel, (int)rows, columns, sums, c->sums_step, !c->is_first);
  } else {
    double tile[TSRI_PRODUCT_MOST_TILE];
    run_tile(c, a_panel, b_panel, (int)rows, columns, tile, tile_columns(p), false);
    tsri_product_take_tile(p, tile, sums, c->sums_step, rows, columns, !c->is_first);
  }
}

// Prefetches part `share` of `shares` of the rows of panel `a_panel`, which tiles will read in place. A tile reads all its rows at the same time, and would
// otherwise wait for each cache line.
static void fetch_rows(const chunk *c, int64_t a_panel, int64_t share, int64_t shares) {
  const tsri_product *p = c->p;
  int64_t first = a_panel * tile_rows(p), rows = at_most(c->rows - first, tile_rows(p));
  int64_t begin = rows * share / shares, end = rows * (share + 1) / shares;
  p->kernels->fetch(element_at(p, &p->a, c->row + first + begin, c->k), end - begin, (int64_t)c->line_bytes,
                    p->a.row * (int64_t)p->element);
}

// While tile number `tile` of the chunk is multiplied, prefetches a part of the elements from which the next block of k will be packed, if their lines are
// contiguous.
static void fetch_next(const chunk *c, const packing *in, int64_t tile) {
  const tsri_product *p = c->p;
  int64_t tiles = c->a_panel_count * c->b_panel_count, element = (int64_t)p->element;
  int64_t depth = at_most(p->k + p->k_ahead - c->k - c->depth, c->depth);
  int64_t begin = depth * tile / tiles, end = depth * (tile + 1) / tiles;
  if (begin == end || in->line_step != 1) return;
  p->kernels->fetch(in->from + (c->depth + begin) * in->k_step * element, end - begin, in->lines * element,
                    in->k_step * element);
}

// After the last block of k: finishes and stores `rows` rows of the chunk from `row` on, whose sums begin in row `sums_row` of the chunk's sums.
static void finish_rows(const chunk *c, int64_t row, int64_t rows, int64_t sums_row, int64_t column, int64_t columns) {
  const tsri_product *p = c->p;
  if (tsri_product_is_plain(p)) return;
  // If nothing depends on the column, contiguous rows are finished as one long row: for short rows, the call takes longer than the work.
  if (columns == p->n && !p->bias && !p->is_scaled && rows * columns <= TSRI_PRODUCT_STRETCH) {
    columns *= rows;
    rows = 1;
  }
  float wide[TSRI_PRODUCT_STRETCH];
  const void *bias = tsri_product_widen(p, p->bias, c->column + column, columns, wide);
  for (int64_t i = 0; i < rows; i++) {
    char *sums = c->sums + (size_t)((sums_row + i) * c->sums_step + column) * p->sum_bytes;
    tsri_product_finish(p, sums, bias, (c->row + row + i) * p->n + c->column + column, columns);
  }
}

// Multiplies a block of the result: some panels of a by some panels of b.
static void multiply_part(void *user, int part) {
  chunk *c = user;
  const tsri_product *p = c->p;
  int64_t first_b = part % c->column_blocks * c->block_b, last_b = at_most(first_b + c->block_b, c->b_panel_count);
  int64_t band = part / c->column_blocks;
  int64_t first_a = c->a_panel_count * band / c->bands, last_a = c->a_panel_count * (band + 1) / c->bands;
  int64_t column = first_b * tile_columns(p);
  int64_t columns = at_most(c->columns, last_b * tile_columns(p)) - column;
  packing a = packing_of_a(c), b = packing_of_b(c);
  if (c->is_thin) {
    pack_panels(c, &b, first_b, last_b);
    choose_tiles(c, first_b, last_b);
  }
  // If k has only one block, sums in separate memory are converted right away. Then all panels of a use the memory of the first one's sums, which stays in the
  // cache.
  bool shares_sums = p->is_narrow && c->is_first && c->is_last;
  if (groups_of(p) && groups_of(p)->begin) groups_of(p)->begin();
  for (int64_t i = first_a; i < last_a; i++) {
    int64_t row = i * tile_rows(p), sums_row = shares_sums ? first_a * tile_rows(p) : row;
    if (packs_a_late(c)) pack_late(c, &a, i);
    for (int64_t j = first_b; j < last_b; j++) {
      if (HAS_FETCH && c->is_a_in_place && i + 1 < last_a) fetch_rows(c, i + 1, j - first_b, last_b - first_b);
      multiply_tile(c, i, j, sums_row);
      if (HAS_FETCH) fetch_next(c, &a, i * c->b_panel_count + j);
      if (HAS_FETCH) fetch_next(c, &b, i * c->b_panel_count + j);
    }
    if (c->is_last) finish_rows(c, row, at_most(c->rows - row, tile_rows(p)), sums_row, column, columns);
  }
  if (groups_of(p) && groups_of(p)->end) groups_of(p)->end();
}

static void multiply(chunk *c) {
  const tsri_product *p = c->p;
  int64_t most_b = BLOCK_COLUMNS / tile_columns(p);
  c->bands = 1;
  c->block_b = c->is_thin ? at_most(chunks_of(c->b_panel_count, parts_for(c, c->b_panel_count)), most_b) : most_b;
  c->column_blocks = chunks_of(c->b_panel_count, c->block_b);
  if (!c->is_thin) c->bands = chunks_of(parts_for(c, c->a_panel_count * c->column_blocks), c->column_blocks);
  tsri_parallel(c->threads, (int)(c->bands * c->column_blocks), multiply_part, c);
}

static bool is_a_in_place(const tsri_product *p) {
  if (p->n > COLUMNS_IN_PLACE) return false;
  if (tsri_product_is_split(p)) return false;
  if (groups_of(p)) return p->a.column == 1 && p->a.row > 0 && p->k % groups_of(p)->unit == 0;
  return !p->is_narrow && p->kernels->direct && tsri_product_lies_along_k(p);
}

static void run_chunk(const tsri_product *p, const cell *in, int64_t row, int64_t column) {
  int64_t most_rows = chunk_rows(p, in->last_row - in->first_row);
  int64_t most_columns = at_most(in->last_column - in->first_column, CHUNK);
  chunk c;
  c.p = p;
  c.threads = in->threads;
  c.row = row;
  c.column = column;
  c.rows = at_most(in->last_row - row, most_rows);
  c.columns = at_most(in->last_column - column, most_columns);
  c.a_panels = in->scratch;
  c.b_panels = c.a_panels + panel_bytes(p, most_rows, tile_rows(p));
  char *own_sums = c.b_panels + panel_bytes(p, most_columns, tile_columns(p));
  c.sums = p->is_narrow ? own_sums : p->c + (size_t)(row * p->n + column) * p->element;
  c.sums_step = p->is_narrow ? c.columns : p->n;
  c.a_panel_count = chunks_of(c.rows, tile_rows(p));
  c.b_panel_count = chunks_of(c.columns, tile_columns(p));
  c.is_thin = c.a_panel_count <= FEW_PANELS;
  c.is_a_late = tsri_product_is_split(p) && !c.is_thin && c.columns <= BLOCK_COLUMNS;
  c.is_a_in_place = is_a_in_place(p);
  for (c.k = 0; c.k < p->k; c.k += k_block(p)) {
    c.depth = at_most(p->k - c.k, k_block(p));
    c.line_bytes = line_bytes(p, c.depth);
    c.is_first = c.k == 0;
    c.is_last = c.k + c.depth == p->k;
    pack(&c);
    multiply(&c);
  }
}

static void run_cell(void *user, int number) {
  const cells *all = user;
  const tsri_product *p = all->p;
  cell in = cell_at(all, number);
  int64_t rows = chunk_rows(p, in.last_row - in.first_row);
  for (int64_t column = in.first_column; column < in.last_column; column += CHUNK) {
    for (int64_t row = in.first_row; row < in.last_row; row += rows) run_chunk(p, &in, row, column);
  }
}

void tsri_product_run(const tsri_product *p) {
  cells c = cut_cells(p);
  int count = c.down * c.across;
  tsri_parallel(count > 1 ? p->threads : 1, count, run_cell, &c);
}
