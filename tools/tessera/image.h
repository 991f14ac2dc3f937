// SPDX-License-Identifier: MIT
// Writes images to files: PNG, and the plain formats PGM (grey) and PPM (colour).
#ifndef TESSERA_TOOL_IMAGE_H
#define TESSERA_TOOL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

// Pixels row by row from the top left, each of 1 byte (grey) or 3 bytes (red, green, blue).
typedef struct image_data {
  const unsigned char *pixels;
  size_t width, height;
  int channels;
} image_data;

// Whether the file name ends in .png, .pgm or .ppm.
bool image_is_name(const char *path);

// Whether a file of that name can have so many channels: .pgm has 1, .ppm 3, .png either.
bool image_takes(const char *path, int channels);

// Writes the image in the format given by the file name's ending. False after a message.
bool image_write(const char *path, const image_data *picture);

#endif
