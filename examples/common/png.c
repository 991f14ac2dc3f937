// SPDX-License-Identifier: MIT
// Writes images as PNG files: the chunks of the format, and a small compressor.
//
// The compressor is deflate (RFC 1951) in its simplest useful form: one block with the fixed codes, and for each place one candidate of
// an earlier place with the same three bytes, found in a table. Pictures with plain areas become ten times smaller.
#include "png.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
  CHUNK_EXTRA = 12,  // length, name and checksum around the data of a chunk
  IHDR_BYTES = 13,   // width, height, depth, colours, and three zeros
  ZLIB_EXTRA = 6,    // two bytes before the compressed data, a checksum after them
  PNG_EXTRA = 8 + 3 * CHUNK_EXTRA + IHDR_BYTES + ZLIB_EXTRA,
  MATCH_SHORTEST = 3,
  MATCH_LONGEST = 258,
  WINDOW = 32768,  // how far back a match may be
  TABLE_BITS = 15,
  END_OF_BLOCK = 256
};

// --- Deflate ----------------------------------------------------------------------------------------------------------------

typedef struct bit_writer {
  unsigned char *to;
  uint32_t bits;  // not written yet, the oldest in the lowest place
  int count;
} bit_writer;

static void put_bits(bit_writer *w, uint32_t value, int count) {
  w->bits |= value << w->count;
  for (w->count += count; w->count >= 8; w->count -= 8) {
    *w->to++ = (unsigned char)w->bits;
    w->bits >>= 8;
  }
}

// Codes of symbols are written from their highest bit on, unlike numbers.
static void put_code(bit_writer *w, uint32_t code, int count) {
  uint32_t turned = 0;
  for (int i = 0; i < count; i++) turned |= (code >> i & 1) << (count - 1 - i);
  put_bits(w, turned, count);
}

// The fixed code of a literal, the end of the block, or a length (RFC 1951, 3.2.6).
static void put_symbol(bit_writer *w, uint32_t symbol) {
  if (symbol < 144) put_code(w, 0x30 + symbol, 8);
  else if (symbol < 256) put_code(w, 0x190 + symbol - 144, 9);
  else if (symbol < 280) put_code(w, symbol - 256, 7);
  else put_code(w, 0xC0 + symbol - 280, 8);
}

// Lengths and distances are cut into ranges of doubling size, `per_size` of each size: the number of the range, then the place in it.
static uint32_t range_of(uint32_t value, int per_size_bits, int *out_extra_bits) {
  int extra = 0;
  while (value >> extra >= UINT32_C(2) << per_size_bits) extra++;
  *out_extra_bits = extra;
  return ((uint32_t)extra << per_size_bits) + (value >> extra);
}

static void put_match(bit_writer *w, uint32_t length, uint32_t distance) {
  int extra = 0;
  uint32_t rest = length - MATCH_SHORTEST, range = range_of(rest, 2, &extra);
  if (length == MATCH_LONGEST) {  // has a symbol of its own
    put_symbol(w, 285);
  } else {
    put_symbol(w, 257 + range);
    put_bits(w, rest & ((UINT32_C(1) << extra) - 1), extra);
  }
  rest = distance - 1;
  range = range_of(rest, 1, &extra);
  put_code(w, range, 5);
  put_bits(w, rest & ((UINT32_C(1) << extra) - 1), extra);
}

static uint32_t hash_of(const unsigned char *data) {
  uint32_t three = (uint32_t)data[0] | (uint32_t)data[1] << 8 | (uint32_t)data[2] << 16;
  return three * UINT32_C(2654435761) >> (32 - TABLE_BITS);
}

static size_t match_length(const unsigned char *a, const unsigned char *b, size_t most) {
  size_t length = 0;
  while (length < most && a[length] == b[length]) length++;
  return length;
}

// `last_places` has, for each hash, one more than the place where it was seen last; 0 if it was not. Returns the end.
static unsigned char *deflate(unsigned char *to, const unsigned char *data, size_t bytes, size_t *last_places) {
  bit_writer w = {.to = to};
  put_bits(&w, 1, 1);  // the last block
  put_bits(&w, 1, 2);  // fixed codes
  for (size_t at = 0; at < bytes;) {
    size_t most = bytes - at < MATCH_LONGEST ? bytes - at : MATCH_LONGEST, length = 0, distance = 0;
    if (most >= MATCH_SHORTEST) {
      size_t *last = &last_places[hash_of(data + at)];
      distance = *last ? at + 1 - *last : 0;
      if (distance > 0 && distance <= WINDOW) length = match_length(data + at - distance, data + at, most);
      *last = at + 1;
    }
    if (length >= MATCH_SHORTEST) {
      put_match(&w, (uint32_t)length, (uint32_t)distance);
      at += length;
    } else {
      put_symbol(&w, data[at++]);
    }
  }
  put_symbol(&w, END_OF_BLOCK);
  if (w.count > 0) put_bits(&w, 0, 8 - w.count);
  return w.to;
}

// --- Chunks -----------------------------------------------------------------------------------------------------------------

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

// Begins a chunk, whose data follow; end_chunk fills in its length.
static unsigned char *begin_chunk(unsigned char *to, const char *name) {
  memcpy(to + 4, name, 4);
  return to + 8;
}

// Ends the chunk with data from `data` to `end`. The checksum includes the name.
static unsigned char *end_chunk(unsigned char *data, unsigned char *end) {
  size_t bytes = (size_t)(end - data);
  put_32(data - 8, (uint32_t)bytes);
  return put_32(end, crc32_of(data - 4, bytes + 4));
}

// The rows in PNG's form: each is preceded by a byte for its filter; 0 means none.
static void put_rows(unsigned char *to, const unsigned char *pixels, size_t row_bytes, size_t height) {
  for (size_t y = 0; y < height; y++) {
    *to++ = 0;
    memcpy(to, pixels + y * row_bytes, row_bytes);
    to += row_bytes;
  }
}

bool png_takes(size_t width, size_t height, int channels) {
  size_t most = INT32_MAX;  // the largest number that the format permits
  return width > 0 && height > 0 && height <= most / 2 && width <= most / 3 &&
         1 + width * (size_t)channels <= most / 2 / height;
}

unsigned char *png_encode(const unsigned char *pixels, size_t width, size_t height, int channels, size_t *out_bytes) {
  if (!png_takes(width, height, channels)) return NULL;
  size_t row_bytes = width * (size_t)channels, bytes = (row_bytes + 1) * height;
  unsigned char *rows = malloc(bytes), *file = malloc(PNG_EXTRA + bytes + bytes / 8 + 8);  // a literal has up to 9 bits
  size_t *last_places = calloc((size_t)1 << TABLE_BITS, sizeof *last_places);
  if (rows && file && last_places) {
    put_rows(rows, pixels, row_bytes, height);
    memcpy(file, "\x89PNG\r\n\x1a\n", 8);
    unsigned char *data = begin_chunk(file + 8, "IHDR");
    unsigned char *end = put_32(put_32(data, (uint32_t)width), (uint32_t)height);
    memcpy(end, (unsigned char[]){8, channels == 3 ? 2 : 0, 0, 0, 0}, 5);  // 8 bits, colour or grey
    data = begin_chunk(end_chunk(data, end + 5), "IDAT");
    memcpy(data, (unsigned char[]){0x78, 0x01}, 2);  // deflate, window of 32 KiB; as a number, a multiple of 31
    end = put_32(deflate(data + 2, rows, bytes, last_places), adler32_of(rows, bytes));
    data = begin_chunk(end_chunk(data, end), "IEND");
    *out_bytes = (size_t)(end_chunk(data, data) - file);
  } else {
    free(file);
    file = NULL;
  }
  free(last_places);
  free(rows);
  return file;
}

bool png_write(const char *path, const unsigned char *pixels, size_t width, size_t height, int channels) {
  size_t bytes = 0;
  unsigned char *data = png_encode(pixels, width, height, channels, &bytes);
  FILE *file = data ? fopen(path, "wb") : NULL;
  bool is_written = file && fwrite(data, 1, bytes, file) == bytes;
  if (file) is_written = fclose(file) == 0 && is_written;
  if (!is_written) fprintf(stderr, "%s: %s\n", path, data ? strerror(errno) : "no memory for the image");
  free(data);
  return is_written;
}
