// SPDX-License-Identifier: MIT
// Sorts by insertion (a few items), by merging (some), and by radix (many).
#include "backends/cpu/rows/sort_items.h"

#include <string.h>

// RUN: items that are sorted by insertion. LEAST_FOR_A_DIGIT: items per digit from which radix sort is faster than merging.
enum { RUN = 24, LEAST_FOR_A_DIGIT = 96 };

#define NAME(x)     x##_u32
#define ITEM        uint32_t
#define LESS(a, b)  ((a) < (b))
#define DIGIT(x, i) ((x) >> (8 * (i)) & 255)
#include "sort_items.inc"
#undef NAME
#undef ITEM

#define NAME(x) x##_u64
#define ITEM    uint64_t
#include "sort_items.inc"
#undef NAME
#undef ITEM
#undef LESS
#undef DIGIT

#define NAME(x)     x##_keyed_index
#define ITEM        tsri_keyed_index
#define LESS(a, b)  ((a).key < (b).key || ((a).key == (b).key && (a).index < (b).index))
#define DIGIT(x, i) ((x).key >> (8 * (i)) & 255)
#include "sort_items.inc"

const tsri_item_sorter tsri_sorter_u32 = {sizeof(uint32_t), sort_u32, merge_part_u32};
const tsri_item_sorter tsri_sorter_u64 = {sizeof(uint64_t), sort_u64, merge_part_u64};
const tsri_item_sorter tsri_sorter_keyed_index = {sizeof(tsri_keyed_index), sort_keyed_index, merge_part_keyed_index};
