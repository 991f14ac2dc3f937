// SPDX-License-Identifier: MIT
// Formats byte counts for people.
#ifndef TSRI_BYTES_TEXT_H
#define TSRI_BYTES_TEXT_H

#include <stdint.h>

typedef struct tsri_bytes_text {
  char text[16];
} tsri_bytes_text;

// "0 B", "1023 B", "1.5 GiB": one decimal, rounded to nearest, a point in every locale. Returned by
// value, so that one printf can hold several: printf("%s", tsri_format_bytes(n).text).
tsri_bytes_text tsri_format_bytes(uint64_t bytes);

#endif
