// SPDX-License-Identifier: MIT
// Writes images to files, in the format that the file's name asks for.
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "png.h"
#include "report.h"

static bool ends_with(const char *path, const char *ending) {
  const char *dot = strrchr(path, '.');
  return dot && strcmp(dot, ending) == 0;
}

bool image_is_name(const char *path) {
  return ends_with(path, ".png") || ends_with(path, ".pgm") || ends_with(path, ".ppm");
}

bool image_takes(const char *path, int channels) {
  if (channels == 1) return ends_with(path, ".png") || ends_with(path, ".pgm");
  return channels == 3 && (ends_with(path, ".png") || ends_with(path, ".ppm"));
}

static bool write_png(const char *path, const image_data *picture) {
  if (!png_takes(picture->width, picture->height, picture->channels)) {
    fprintf(stderr, "tessera: %s: a PNG has from 1 pixel to about 1 GiB of them, this one is %zu by %zu\n", path,
            picture->width, picture->height);
    return false;
  }
  size_t bytes = 0;
  unsigned char *file = png_encode(picture->pixels, picture->width, picture->height, picture->channels, &bytes);
  bool is_written = file && file_write(path, "", 0, file, bytes);
  if (!file) report_no_memory();
  free(file);
  return is_written;
}

bool image_write(const char *path, const image_data *picture) {
  if (ends_with(path, ".png")) return write_png(path, picture);
  char header[64];
  int header_bytes = snprintf(header, sizeof header, "P%c\n%zu %zu\n255\n", picture->channels == 1 ? '5' : '6',
                              picture->width, picture->height);
  size_t bytes = picture->width * picture->height * (size_t)picture->channels;
  return file_write(path, header, (size_t)header_bytes, picture->pixels, bytes);
}
