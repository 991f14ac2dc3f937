// SPDX-License-Identifier: MIT
// Numbers and texts of the file, and its checksum.
#include "saved/format.h"

#include <string.h>

#include "core/alloc.h"

const char tsri_saved_magic[8] = {'T', 'S', 'R', 'C', 'A', 'P', '\n', 0x1A};

// Multiplication by an odd number and the shifted xor can both be undone, so two blocks that differ in one word never
// have the same sum.
static uint64_t mix(uint64_t sum, uint64_t word) {
  sum = (sum ^ word) * UINT64_C(0xFF51AFD7ED558CCD);
  return sum ^ sum >> 32;
}

static uint64_t word_at(const unsigned char *at, size_t bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes; i++) word |= (uint64_t)at[i] << 8 * i;
  return word;
}

uint64_t tsri_saved_checksum(uint64_t before, const void *data, size_t bytes) {
  const unsigned char *at = data;
  size_t words = bytes / 8, rest = bytes % 8;
  for (size_t i = 0; i < words; i++) before = mix(before, word_at(at + 8 * i, 8));
  return rest ? mix(before, word_at(at + 8 * words, rest)) : before;
}

// --- Writing ---------------------------------------------------------------------------------------------------------

void tsri_saved_put(tsri_builder *to, uint64_t value, int bytes) {
  char text[8];
  for (int i = 0; i < bytes; i++) text[i] = (char)(unsigned char)(value >> 8 * i);
  tsri_builder_put(to, text, (size_t)bytes);
}

void tsri_saved_put_text(tsri_builder *to, const char *text, size_t bytes) {
  tsri_saved_put(to, bytes, 4);
  if (bytes > 0) tsri_builder_put(to, text, bytes);
}

void tsri_saved_put_header(tsri_builder *to, const tsri_saved_header *header) {
  tsri_builder_put(to, tsri_saved_magic, sizeof tsri_saved_magic);
  tsri_saved_put(to, header->version, 4);
  tsri_saved_put(to, 0, 4);
  tsri_saved_put(to, header->file_bytes, 8);
  tsri_saved_put(to, header->description_bytes, 8);
  tsri_saved_put(to, header->checksum, 8);
  for (int i = 0; i < 3; i++) tsri_saved_put(to, 0, 8);
}

// --- Reading ---------------------------------------------------------------------------------------------------------

uint64_t tsri_saved_take(tsri_saved_reader *from, int bytes) {
  if (from->end - from->at < bytes) {
    from->is_short = true;
    from->at = from->end;
    return 0;
  }
  uint64_t value = word_at(from->at, (size_t)bytes);
  from->at += bytes;
  return value;
}

uint32_t tsri_saved_take_u32(tsri_saved_reader *from) { return (uint32_t)tsri_saved_take(from, 4); }

int64_t tsri_saved_take_i64(tsri_saved_reader *from) {
  uint64_t word = tsri_saved_take(from, 8);
  int64_t value = 0;
  memcpy(&value, &word, sizeof value);
  return value;
}

const char *tsri_saved_take_text(tsri_saved_reader *from, size_t most, size_t *out_bytes) {
  size_t bytes = tsri_saved_take_u32(from);
  if (bytes > most || bytes > (size_t)(from->end - from->at)) {
    from->is_short = true;
    bytes = 0;
  }
  const char *text = (const char *)from->at;
  from->at += bytes;
  *out_bytes = bytes;
  return text;
}

char *tsri_saved_take_string(tsri_saved_reader *from, size_t most) {
  size_t bytes = 0;
  const char *text = tsri_saved_take_text(from, most, &bytes);
  if (from->is_short || memchr(text, 0, bytes)) {
    from->is_short = true;
    return NULL;
  }
  char *copy = tsri_malloc(bytes + 1);
  if (!copy) return NULL;
  memcpy(copy, text, bytes);
  copy[bytes] = 0;
  return copy;
}

uint32_t tsri_saved_take_count(tsri_saved_reader *from, size_t least_bytes) {
  uint32_t count = tsri_saved_take_u32(from);
  if (count <= (size_t)(from->end - from->at) / least_bytes) return count;
  from->is_short = true;
  return 0;
}
