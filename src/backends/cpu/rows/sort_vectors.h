// SPDX-License-Identifier: MIT
// Sorts items by AVX-512 vectors.
#ifndef TSRI_CPU_SORT_VECTORS_H
#define TSRI_CPU_SORT_VECTORS_H

#include "backends/cpu/rows/sort_items.h"

// Returns the fastest function for this sorter's items at a SIMD level (cpu.h): one by vectors, or sorter->sort. Parameters and result are those of
// tsri_item_sorter.sort.
typedef void *(*tsri_sort_items)(void *items, void *spare, int64_t n, int first_digit, int digits);
tsri_sort_items tsri_sort_items_for(const char *simd_level, const tsri_item_sorter *sorter);

// Whether rows of this many 4-byte items are sorted by vectors, which is faster than sorting many rows at a time (lines/sort_short.c).
bool tsri_sort_has_vectors(const char *simd_level, int64_t n);

#endif
