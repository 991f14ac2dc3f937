// SPDX-License-Identifier: MIT
// Unit tests of the PNG writer: what it writes is read by a small inflater, written by the rules of the format. tests/cli reads the program's
// files with Python's zlib as well.
#include "support/test.h"

#include "png.c"  // NOLINT(bugprone-suspicious-include)

typedef struct bit_reader {
  const unsigned char *data;
  size_t at;  // in bits
} bit_reader;

static uint32_t take_bits(bit_reader *r, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; i++, r->at++) value |= (uint32_t)(r->data[r->at / 8] >> r->at % 8 & 1) << i;
  return value;
}

static uint32_t take_code(bit_reader *r, uint32_t code, int count) {
  for (int i = 0; i < count; i++) code = code << 1 | take_bits(r, 1);
  return code;
}

// The fixed codes have 7 bits up to 0010111, then 8 or 9.
static uint32_t take_symbol(bit_reader *r) {
  uint32_t code = take_code(r, 0, 7);
  if (code <= 0x17) return 256 + code;
  code = take_code(r, code, 1);
  if (code >= 0x30 && code <= 0xBF) return code - 0x30;
  if (code >= 0xC0 && code <= 0xC7) return 280 + code - 0xC0;
  return 144 + take_code(r, code, 1) - 0x190;
}

static size_t inflate(const unsigned char *data, unsigned char *out) {
  // The smallest length and distance of each range (RFC 1951, 3.2.5).
  static const uint16_t lengths[] = {3,  4,  5,  6,  7,  8,  9,  10, 11,  13,  15,  17,  19,  23, 27,
                                     31, 35, 43, 51, 59, 67, 83, 99, 115, 131, 163, 195, 227, 258};
  static const uint16_t distances[] = {1,    2,    3,    4,    5,    7,    9,    13,    17,    25,
                                       33,   49,   65,   97,   129,  193,  257,  385,   513,   769,
                                       1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
  bit_reader r = {data, 0};
  size_t used = 0;
  CHECK_EQ_INT(take_bits(&r, 3), 3);  // the last block, with fixed codes
  for (uint32_t symbol = take_symbol(&r); symbol != 256; symbol = take_symbol(&r)) {
    if (symbol < 256) {
      out[used++] = (unsigned char)symbol;
      continue;
    }
    uint32_t range = symbol - 257;
    uint32_t length = lengths[range] + (range < 8 || range == 28 ? 0 : take_bits(&r, (int)range / 4 - 1));
    uint32_t place = take_code(&r, 0, 5);
    uint32_t distance = distances[place] + (place < 4 ? 0 : take_bits(&r, (int)place / 2 - 1));
    CHECK(distance <= used);
    for (uint32_t i = 0; i < length; i++, used++) out[used] = out[used - distance];
  }
  return used;
}

static void check_round_trip(const unsigned char *data, size_t bytes) {
  unsigned char *packed = malloc(bytes + bytes / 8 + 16), *again = malloc(bytes + 300);
  size_t *places = calloc((size_t)1 << TABLE_BITS, sizeof *places);
  unsigned char *end = deflate(packed, data, bytes, places);
  CHECK((size_t)(end - packed) <= bytes + bytes / 8 + 8);
  CHECK_EQ_UINT(inflate(packed, again), bytes);
  CHECK_BYTES(again, data, bytes);
  free(places);
  free(again);
  free(packed);
}

TEST(what_was_compressed_comes_back) {
  enum { BYTES = 200000 };
  unsigned char *data = malloc(BYTES);
  uint32_t state = 1;
  for (int kind = 1; kind <= 256; kind *= 4) {  // from zeros alone to noise
    for (int i = 0; i < BYTES; i++) {
      state = state * 1664525 + 1013904223;
      data[i] = (unsigned char)((state >> 24) % (uint32_t)kind);
    }
    check_round_trip(data, BYTES);
  }
  for (size_t bytes = 0; bytes < 600; bytes++) check_round_trip(data, bytes);
  free(data);
}

TEST(repeated_rows_become_small) {
  enum { BYTES = 100000 };
  unsigned char *data = calloc(1, BYTES), *packed = malloc(BYTES);
  size_t *places = calloc((size_t)1 << TABLE_BITS, sizeof *places);
  CHECK(deflate(packed, data, BYTES, places) - packed < BYTES / 100);
  free(places);
  free(packed);
  free(data);
}

TEST(checksums_are_those_of_the_standard) {
  const unsigned char *digits =
      (const unsigned char *)"123456789";  // the check values that both algorithms are published with
  CHECK_EQ_UINT(crc32_of(digits, 9), 0xCBF43926);
  CHECK_EQ_UINT(adler32_of(digits, 9), 0x091E01DE);
}

TEST(images_that_no_png_can_hold_are_refused) {
  size_t bytes = 0;
  unsigned char pixel = 0;
  CHECK(png_takes(1, 1, 3));
  CHECK(!png_takes(0, 1, 1));
  CHECK(!png_takes(1, 0, 1));
  CHECK(!png_takes(1 << 20, 1 << 20, 3));
  CHECK(png_encode(&pixel, 0, 5, 1, &bytes) == NULL);
}
