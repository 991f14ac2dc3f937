// SPDX-License-Identifier: MIT
// Finds the first few elements of each sorted row without sorting the rest. A sorted list has the best elements so far. Each block of the row is first
// filtered, without branches, for elements that come before the last one of the list; in a long row these are few. They are then inserted. A list of up to
// TSRI_TOP_MOST elements is kept in an AVX-512 register (topk_vectors.h).
#include "backends/cpu/lines/lines.h"
#include "backends/cpu/lines/topk_vectors.h"
#include "backends/cpu/rows/sort_keys.h"
#include "platform/parallel.h"

enum { LONGEST_LIST = 64, BLOCK = 256, WORTH_A_THREAD = 1 << 14 };

// A sorted list of `keep` items. take: inserts those of `n` items (at most BLOCK) that belong into the list. write: gives their indices.
typedef struct best_list {
  union {
    uint64_t items[LONGEST_LIST];
    tsri_keyed_index keyed[LONGEST_LIST];
  } is;
  int64_t keep;
} best_list;

#define LESS_ITEM(a, b)  ((a) < (b))
#define LESS_KEYED(a, b) ((a).key < (b).key || ((a).key == (b).key && (a).index < (b).index))

// Items arrive in the order of their indices, so a later item never comes before an item of the list with an equal key.
#define DEFINE_TAKE(name, type, LESS)                                               \
  static void take_##name(type *list, int64_t keep, const type *items, int64_t n) { \
    type found[BLOCK], limit = list[keep - 1];                                      \
    int64_t count = 0;                                                              \
    for (int64_t i = 0; i < n; i++) {                                               \
      found[count] = items[i];                                                      \
      count += LESS(items[i], limit);                                               \
    }                                                                               \
    for (int64_t i = 0; i < count; i++) {                                           \
      int64_t at = keep - 1;                                                        \
      if (!LESS(found[i], list[at])) continue;                                      \
      for (; at > 0 && LESS(found[i], list[at - 1]); at--) list[at] = list[at - 1]; \
      list[at] = found[i];                                                          \
    }                                                                               \
  }
DEFINE_TAKE(items, uint64_t, LESS_ITEM)
DEFINE_TAKE(keyed, tsri_keyed_index, LESS_KEYED)

typedef struct top_rows {
  const tsri_sort_op *op;
  const tsri_sort_keys *keys, *plain;  // with and without an index
  const char *from;
  int32_t *to;
  size_t element;  // bytes
  int parts;
  bool has_vectors;
} top_rows;

bool tsri_cpu_has_topk(const tsri_sort_op *op) {
  bool is_few = op->keep > 0 && op->keep <= LONGEST_LIST;
  return op->wants_order && is_few && (op->keep < op->n || op->n <= TSRI_TOP_MOST);
}

static void search_row(const top_rows *w, int64_t row) {
  const tsri_sort_op *op = w->op;
  union {
    uint64_t items[BLOCK];
    tsri_keyed_index keyed[BLOCK];
  } block;
  best_list list = {.keep = op->keep};
  bool is_keyed = w->keys->sorter == &tsri_sorter_keyed_index;
  for (int64_t i = 0; i < op->keep; i++) {
    if (is_keyed) list.is.keyed[i] = (tsri_keyed_index){UINT64_MAX, UINT64_MAX};
    else list.is.items[i] = UINT64_MAX;
  }
  for (int64_t i = 0; i < op->n; i += BLOCK) {
    int64_t count = op->n - i < BLOCK ? op->n - i : BLOCK;
    w->keys->make(w->from + (size_t)(row * op->n + i) * w->element, count, i, op->is_descending, &block);
    if (is_keyed) take_keyed(list.is.keyed, op->keep, block.keyed, count);
    else take_items(list.is.items, op->keep, block.items, count);
  }
  w->keys->take(&list.is, op->keep, NULL, op->is_descending, w->to + row * op->keep);
}

// As search_row, with the list in a vector register. Keys have at most 32 bits.
static void search_row_by_vectors(const top_rows *w, int64_t row) {
  const tsri_sort_op *op = w->op;
  uint32_t keys[BLOCK];
  uint64_t list[TSRI_TOP_MOST];
  for (int64_t i = 0; i < TSRI_TOP_MOST; i++) list[i] = UINT64_MAX;
  for (int64_t i = 0; i < op->n; i += BLOCK) {
    int64_t count = op->n - i < BLOCK ? op->n - i : BLOCK;
    w->plain->make(w->from + (size_t)(row * op->n + i) * w->element, count, i, op->is_descending, keys);
    tsri_top_merge(list, keys, count, (uint32_t)i);
  }
  w->keys->take(list, op->keep, NULL, op->is_descending, w->to + row * op->keep);
}

// Searches the rows `first` to `last` - 1; keys of several short rows are computed together.
static void search_by_vectors(const top_rows *w, int64_t first, int64_t last) {
  const tsri_sort_op *op = w->op;
  uint32_t keys[BLOCK];
  int64_t at_a_time = BLOCK / op->n;
  for (int64_t row = first; row < last && at_a_time == 0; row++) search_row_by_vectors(w, row);
  for (int64_t row = first; row < last && at_a_time > 0; row += at_a_time) {
    int64_t rows = last - row < at_a_time ? last - row : at_a_time;
    w->plain->make(w->from + (size_t)(row * op->n) * w->element, rows * op->n, 0, op->is_descending, keys);
    tsri_top_of_rows(keys, rows, op->n, op->keep, w->to + row * op->keep);
  }
}

static void search_part(void *user, int part) {
  const top_rows *w = user;
  int64_t first = w->op->rows * part / w->parts, last = w->op->rows * (part + 1) / w->parts;
  if (w->has_vectors) search_by_vectors(w, first, last);
  for (int64_t row = first; row < last && !w->has_vectors; row++) search_row(w, row);
}

bool tsri_cpu_topk_has_vectors(const cpu_device *device, tsr_dtype dtype, int64_t keep) {
  bool has_short_keys = tsri_sort_keys_for(device->simd, dtype, false)->sorter == &tsri_sorter_u32;
  return has_short_keys && tsri_top_has_vectors(device->simd, keep);
}

void tsri_cpu_topk(const cpu_device *device, tsr_dtype dtype, const tsri_sort_op *op) {
  top_rows w = {.op = op,
                .keys = tsri_sort_keys_for(device->simd, dtype, true),
                .plain = tsri_sort_keys_for(device->simd, dtype, false),
                .from = tsri_cpu_place(op->from),
                .to = (int32_t *)(void *)tsri_cpu_place(op->to),
                .element = tsr_dtype_bytes(dtype),
                .has_vectors = tsri_cpu_topk_has_vectors(device, dtype, op->keep)};
  int threads = tsri_cpu_threads(device, (uint64_t)(op->rows * op->n / WORTH_A_THREAD));
  w.parts = tsri_cpu_parts(threads, (uint64_t)op->rows);
  tsri_parallel(threads, w.parts, search_part, &w);
}
