// SPDX-License-Identifier: MIT
// The file of a saved capture; docs/captures.md describes it and says what may change in it.
//
// Numbers are little-endian. A header of 64 bytes is followed by the description, and that by the elements of leaves,
// each at a multiple of 64 bytes.
#ifndef TSRI_SAVED_FORMAT_H
#define TSRI_SAVED_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/builder.h"
#include "graph/trace.h"

enum {
  TSRI_SAVED_VERSION = 2,  // 1: without optimisers
  TSRI_SAVED_ALIGNMENT = 64,
  TSRI_SAVED_HEADER_BYTES = 64,
  TSRI_SAVED_MOST_NAME = 255,  // bytes of the name of an input or output
  TSRI_SAVED_EXPRESSION = 255  // in place of a body's number: the operator's expression follows
};

extern const char tsri_saved_magic[8];

typedef struct tsri_saved_header {
  uint32_t version;
  uint64_t file_bytes, description_bytes, checksum;
} tsri_saved_header;

// How the elements of a leaf come to be.
typedef enum tsri_saved_leaf {
  TSRI_SAVED_DATA,
  TSRI_SAVED_BLANK,
  TSRI_SAVED_FILLED,
  TSRI_SAVED_MEMBER  // as DATA, and a tensor of an optimiser
} tsri_saved_leaf;

// The first 32 bytes of the header are part of the checksum, and all that comes after the header. Blocks must have a multiple of 8 bytes,
// except for the last one.
uint64_t tsri_saved_checksum(uint64_t before, const void *data, size_t bytes);
#define TSRI_SAVED_CHECKSUM_START UINT64_C(0x9E3779B97F4A7C15)

// Writing. As for all of tsri_builder, failures show at the end.
void tsri_saved_put(tsri_builder *to, uint64_t value, int bytes);
void tsri_saved_put_text(tsri_builder *to, const char *text, size_t bytes);
void tsri_saved_put_header(tsri_builder *to, const tsri_saved_header *header);

// A position in the bytes of a file. Reading never goes beyond the end: missing bytes read as 0, and `is_short` is set.
typedef struct tsri_saved_reader {
  const unsigned char *at, *end;
  bool is_short;
} tsri_saved_reader;
uint64_t tsri_saved_take(tsri_saved_reader *from, int bytes);
uint32_t tsri_saved_take_u32(tsri_saved_reader *from);
int64_t tsri_saved_take_i64(tsri_saved_reader *from);
// Takes a text, which is not terminated by 0, of at most `most` bytes.
const char *tsri_saved_take_text(tsri_saved_reader *from, size_t most, size_t *out_bytes);
// As tsri_saved_take_text, copied to new memory and terminated by 0; a 0 inside the text is refused. The caller frees it with tsri_free. NULL: host memory is out, or the
// text is invalid.
char *tsri_saved_take_string(tsri_saved_reader *from, size_t most);
// Takes a number of items that take at least `least_bytes` each. If so many cannot fit into the rest of the file, returns 0 and sets `is_short`.
uint32_t tsri_saved_take_count(tsri_saved_reader *from, size_t least_bytes);

#endif
