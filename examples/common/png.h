// SPDX-License-Identifier: MIT
// Writes images as PNG files, which every viewer opens. Needs no other library.
#ifndef TESSERA_EXAMPLES_PNG_H
#define TESSERA_EXAMPLES_PNG_H

#include <stdbool.h>
#include <stddef.h>

// Whether a PNG can have this size: at least one pixel, and at most about 1 GiB of them.
bool png_takes(size_t width, size_t height, int channels);

// The bytes of a PNG file. Pixels are row by row from the top left, each of 1 byte (grey) or 3 bytes (red, green, blue).
//
// Ownership: caller frees the result. NULL if host memory is out, or png_takes says no.
unsigned char *png_encode(const unsigned char *pixels, size_t width, size_t height, int channels, size_t *out_bytes);

// Writes such a file. False after a message on standard error.
bool png_write(const char *path, const unsigned char *pixels, size_t width, size_t height, int channels);

#endif
