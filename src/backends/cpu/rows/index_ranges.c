// SPDX-License-Identifier: MIT
// A stable partition of the additions by ranges of the result, a block of additions at a time. First, threads take chunks of the block, compute the place of
// each addition, and count the places in each range. From the counts follows where each chunk's additions for each range go. Then threads move them there, and
// finally threads take ranges. Chunks and the additions of a range keep the order of the indices, so additions to an element are made in that order.
#include "backends/cpu/rows/index_ranges.h"

#include "backends/cpu/rows/index_planes.h"
#include "platform/parallel.h"

enum {
  BLOCK = 1 << 21,  // additions that are moved at a time; limits the scratch memory
  LEAST_ADDITIONS = 1 << 17,
  LEAST_THREADS = 4,      // moving an addition takes about twice as long as executing it
  LEAST_RANGE = 1 << 10,  // elements
  MOST_RANGES = 255,
  RANGES_PER_THREAD = 2,
  MOST_CHUNKS = 256
};

static const uint32_t NOWHERE = UINT32_MAX;  // place for an index that is out of range

typedef struct grouping {
  const tsri_range_work *w;
  int64_t first, count;  // additions in this block
  int shift, ranges;     // place >> shift is the range's number; NOWHERE has the number `ranges`
  int chunks;
  uint32_t *places, *moved_places;
  char *moved_values;
  uint32_t (*starts)[MOST_RANGES + 1];  // [chunk][range]: number of additions, then position of the next one
} grouping;

static int64_t at_most(int64_t x, int64_t most) { return x < most ? x : most; }

static int64_t additions_of(const tsri_range_work *w) { return tsri_index_rows(w->by) * tsri_index_columns(w->by); }

// --- Places ---------------------------------------------------------------------------------------------------------------------

#define DEFINE_PLACES(name, index_type)                                                                   \
  static void places_##name(const void *user, const tsri_index_plane *p) {                                \
    const grouping *g = user;                                                                             \
    const tsri_index_plane plane = *p;                                                                    \
    const index_type *indices = (const index_type *)(const void *)plane.indices;                          \
    uint32_t *places = g->places + (plane.first - g->first);                                              \
    for (int64_t r = 0; r < plane.rows; r++, places += plane.row_length, indices += plane.index_row) {    \
      int64_t base = plane.base + r * plane.row;                                                          \
      for (int64_t c = 0; c < plane.columns; c++) {                                                       \
        int64_t index = (int64_t)indices[c], position = index < 0 ? index + plane.size : index;           \
        uint64_t place = (uint64_t)(base + c * plane.column) + (uint64_t)position * (uint64_t)plane.step; \
        places[c] = (uint64_t)position < (uint64_t)plane.size ? (uint32_t)place : NOWHERE;                \
      }                                                                                                   \
    }                                                                                                     \
  }
DEFINE_PLACES(u8, uint8_t)
DEFINE_PLACES(i8, int8_t)
DEFINE_PLACES(i16, int16_t)
DEFINE_PLACES(i32, int32_t)
DEFINE_PLACES(u32, uint32_t)
DEFINE_PLACES(i64, int64_t)

static const tsri_index_plane_fn places_of[TSR_DTYPE_COUNT] = {
    [TSR_U8] = places_u8,   [TSR_I8] = places_i8,   [TSR_I16] = places_i16,
    [TSR_I32] = places_i32, [TSR_U32] = places_u32, [TSR_I64] = places_i64,
};

// Computes the places of the additions `first` to `last` - 1, in row-major order: the end of a row, complete rows, the beginning of a row.
static void find_places(const grouping *g, int64_t first, int64_t last) {
  const tsri_indexing *by = g->w->by;
  const tsri_index_plane all = {.high = by->size};
  tsri_index_plane_fn run = places_of[by->index_dtype];
  int64_t columns = tsri_index_columns(by);
  while (first < last) {
    int64_t row = first / columns, column = first % columns, rows = (last - first) / columns;
    bool are_whole = column == 0 && rows > 0;
    int64_t end = are_whole ? columns : at_most(columns, column + last - first);
    tsri_index_planes(by, &all, row, row + (are_whole ? rows : 1), column, end, run, g);
    first += are_whole ? rows * columns : end - column;
  }
}

static int64_t chunk_begin(const grouping *g, int chunk) { return g->count * chunk / g->chunks; }

static int range_of(const grouping *g, uint32_t place) { return (int)at_most(place >> g->shift, g->ranges); }

static void count_chunk(void *user, int chunk) {
  const grouping *g = user;
  int64_t first = chunk_begin(g, chunk), last = chunk_begin(g, chunk + 1);
  uint32_t counts[MOST_RANGES + 1] = {0};
  find_places(g, g->first + first, g->first + last);
  for (int64_t i = first; i < last; i++) counts[range_of(g, g->places[i])]++;
  for (int k = 0; k <= g->ranges; k++) g->starts[chunk][k] = counts[k];
}

// --- Moving and adding ----------------------------------------------------------------------------------------------------------

// Replaces each count by the number of additions before: those of all lower ranges, and those of earlier chunks in the same range.
static void find_starts(const grouping *g) {
  uint32_t before = 0;
  for (int k = 0; k <= g->ranges; k++) {
    for (int chunk = 0; chunk < g->chunks; chunk++) {
      uint32_t count = g->starts[chunk][k];
      g->starts[chunk][k] = before;
      before += count;
    }
  }
}

#define MOVE(bits)                                                                              \
  do {                                                                                          \
    const uint##bits##_t *from = (const uint##bits##_t *)(const void *)g->w->source + g->first; \
    uint##bits##_t *to = (uint##bits##_t *)(void *)g->moved_values;                             \
    for (int64_t i = first; i < last; i++) {                                                    \
      uint32_t place = g->places[i], at = next[range_of(g, place)]++;                           \
      g->moved_places[at] = place;                                                              \
      to[at] = from[i];                                                                         \
    }                                                                                           \
  } while (0)

static void move_chunk(void *user, int chunk) {
  const grouping *g = user;
  int64_t first = chunk_begin(g, chunk), last = chunk_begin(g, chunk + 1);
  uint32_t next[MOST_RANGES + 1];
  for (int k = 0; k <= g->ranges; k++) next[k] = g->starts[chunk][k];
  if (g->w->element == 1) MOVE(8);
  else if (g->w->element == 2) MOVE(16);
  else if (g->w->element == 4) MOVE(32);
  else MOVE(64);
}

static void add_range(void *user, int range) {
  const grouping *g = user;
  const tsri_range_work *w = g->w;
  int64_t begin = g->starts[0][range];
  tsri_range_additions additions = {.first = (int64_t)range << g->shift,
                                    .last = at_most((int64_t)(range + 1) << g->shift, w->count),
                                    .count = g->starts[0][range + 1] - begin,
                                    .places = g->moved_places + begin,
                                    .values = g->moved_values + (size_t)begin * w->element,
                                    .is_first = g->first == 0,
                                    .is_last = g->first + g->count == additions_of(w)};
  w->add(w->user, &additions);
}

// --- The call -------------------------------------------------------------------------------------------------------------------

bool tsri_index_ranges_pay(const tsri_range_work *w, int64_t pieces) {
  return w->threads >= LEAST_THREADS && 2 * pieces <= w->threads && additions_of(w) >= LEAST_ADDITIONS &&
         w->count >= 2 * LEAST_RANGE && w->count < NOWHERE;
}

static int64_t most_additions(const tsri_range_work *w) { return at_most(additions_of(w), BLOCK); }

static int chunk_count(const tsri_range_work *w) { return (int)at_most(2 * w->threads, MOST_CHUNKS); }

size_t tsri_index_ranges_bytes(const tsri_range_work *w) {
  return (size_t)most_additions(w) * (w->element + 2 * sizeof(uint32_t)) +
         (size_t)chunk_count(w) * sizeof(uint32_t[MOST_RANGES + 1]);
}

// Divides the result into ranges of 2^shift elements, a few for each thread.
static void cut_ranges(grouping *g) {
  int64_t wanted = at_most((int64_t)RANGES_PER_THREAD * g->w->threads, MOST_RANGES), last = g->w->count - 1;
  while ((int64_t)1 << g->shift < LEAST_RANGE || last >> g->shift >= wanted) g->shift++;
  g->ranges = (int)(last >> g->shift) + 1;
}

void tsri_index_ranges(const tsri_range_work *w) {
  int64_t added = additions_of(w), most = most_additions(w);
  grouping g = {.w = w, .chunks = chunk_count(w)};
  cut_ranges(&g);
  g.starts = (uint32_t(*)[MOST_RANGES + 1])(void *)w->scratch;
  g.places = g.starts[g.chunks];
  g.moved_places = g.places + most;
  g.moved_values = (char *)(g.moved_places + most);
  for (; g.first < added; g.first += g.count) {
    g.count = at_most(most, added - g.first);
    tsri_parallel(w->threads, g.chunks, count_chunk, &g);
    find_starts(&g);
    tsri_parallel(w->threads, g.chunks, move_chunk, &g);
    tsri_parallel(w->threads, g.ranges, add_range, &g);
  }
}
