// SPDX-License-Identifier: MIT
// Writes images to files. A PNG is written without compression, in stored blocks of deflate: the file is as large as
// the pixels, but the writer is short.
#include "image.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "file.h"
#include "report.h"

enum {
  STORED_MOST = 65535,                                       // bytes in one stored block
  STORED_HEADER = 5,                                         // its kind, its length, and the inverted length
  CHUNK_EXTRA = 12,                                          // length, name and checksum around the data of a chunk
  IHDR_BYTES = 13,                                           // width, height, depth, colours, and three zeros
  ZLIB_EXTRA = 6,                                            // two bytes before the blocks, a checksum after them
  PNG_EXTRA = 8 + 3 * CHUNK_EXTRA + IHDR_BYTES + ZLIB_EXTRA  // everything but the blocks
};

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

// --- PNG ----------------------------------------------------------------------------------------------------------------

static unsigned char *put_32(unsigned char *to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) *to++ = (unsigned char)(value >> shift);
  return to;
}

static uint32_t crc32_of(const unsigned char *data, size_t bytes) {
  uint32_t crc = UINT32_MAX;
  for (size_t i = 0; i < bytes; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xEDB88320) : 0);
  }
  return ~crc;
}

static uint32_t adler32_of(const unsigned char *data, size_t bytes) {
  uint32_t low = 1, high = 0;
  for (size_t i = 0; i < bytes; i++) {
    low = (low + data[i]) % 65521;
    high = (high + low) % 65521;
  }
  return high << 16 | low;
}

// Begins a chunk; its data follow.
static unsigned char *begin_chunk(unsigned char *to, const char *name, size_t bytes) {
  to = put_32(to, (uint32_t)bytes);
  memcpy(to, name, 4);
  return to + 4;
}

// Ends a chunk whose `bytes` of data are before `end`. The checksum includes the name.
static unsigned char *end_chunk(unsigned char *end, size_t bytes) {
  return put_32(end, crc32_of(end - bytes - 4, bytes + 4));
}

static size_t row_bytes(const image_data *picture) { return 1 + picture->width * (size_t)picture->channels; }

// Writes the rows in PNG's form: each is preceded by a byte for its filter; 0 means none.
static void put_rows(unsigned char *to, const image_data *picture) {
  size_t bytes = row_bytes(picture) - 1;
  for (size_t y = 0; y < picture->height; y++) {
    *to++ = 0;
    memcpy(to, picture->pixels + y * bytes, bytes);
    to += bytes;
  }
}

static unsigned char *put_blocks(unsigned char *to, const unsigned char *data, size_t bytes) {
  for (size_t at = 0; at < bytes; at += STORED_MOST) {
    size_t length = bytes - at < STORED_MOST ? bytes - at : STORED_MOST;
    *to++ = at + length == bytes;  // whether it is the last block
    *to++ = (unsigned char)length;
    *to++ = (unsigned char)(length >> 8);
    *to++ = (unsigned char)~length;
    *to++ = (unsigned char)(~length >> 8);
    memcpy(to, data + at, length);
    to += length;
  }
  return to;
}

// `to` has room for PNG_EXTRA and the blocks. `rows` are `bytes` made by put_rows. Returns the end.
static unsigned char *put_png(unsigned char *to, const image_data *picture, const unsigned char *rows, size_t bytes,
                              size_t block_bytes) {
  memcpy(to, "\x89PNG\r\n\x1a\n", 8);
  to = begin_chunk(to + 8, "IHDR", IHDR_BYTES);
  to = put_32(put_32(to, (uint32_t)picture->width), (uint32_t)picture->height);
  memcpy(to, (unsigned char[]){8, picture->channels == 3 ? 2 : 0, 0, 0, 0}, 5);  // 8 bits, colour or grey
  to = end_chunk(to + 5, IHDR_BYTES);

  to = begin_chunk(to, "IDAT", ZLIB_EXTRA + block_bytes);
  *to++ = 0x78;  // deflate with a window of 32 KiB
  *to++ = 0x01;  // makes the two bytes a multiple of 31
  to = put_32(put_blocks(to, rows, bytes), adler32_of(rows, bytes));
  to = end_chunk(to, ZLIB_EXTRA + block_bytes);
  return end_chunk(begin_chunk(to, "IEND", 0), 0);
}

static bool write_png(const char *path, const image_data *picture) {
  size_t most = INT32_MAX;  // the largest number that the format permits
  bool is_possible = picture->width > 0 && picture->height > 0 && picture->height <= most / 2 &&
                     picture->width <= most / 3 && row_bytes(picture) <= most / 2 / picture->height;
  if (!is_possible) {
    fprintf(stderr, "tessera: %s: a PNG has from 1 pixel to about 1 GiB of them, this one is %zu by %zu\n", path,
            picture->width, picture->height);
    return false;
  }
  size_t bytes = row_bytes(picture) * picture->height;
  size_t block_bytes = bytes + (bytes + STORED_MOST - 1) / STORED_MOST * STORED_HEADER;
  unsigned char *rows = malloc(bytes), *file = malloc(PNG_EXTRA + block_bytes);
  bool is_written = rows && file;
  if (is_written) {
    put_rows(rows, picture);
    unsigned char *end = put_png(file, picture, rows, bytes, block_bytes);
    is_written = file_write(path, "", 0, file, (size_t)(end - file));
  } else {
    report_no_memory();
  }
  free(rows);
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
