// SPDX-License-Identifier: MIT
// Sorts many short arrays at once by a sorting network, on one thread.
#ifndef TSRI_CPU_NETWORK_LINES_H
#define TSRI_CPU_NETWORK_LINES_H

#include <stdint.h>

enum { TSRI_NETWORK_ROWS = 16 };

// Sorts the TSRI_NETWORK_ROWS columns of a matrix of `n` rows: keys[i * TSRI_NETWORK_ROWS + r] is key i of array r.
typedef void (*tsri_network_sort)(uint32_t *keys, int64_t n);

// Returns the function; `simd`: a result of tsri_cpu_simd_level.
tsri_network_sort tsri_network_sort_for(const char *simd);

#endif
