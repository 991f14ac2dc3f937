// SPDX-License-Identifier: MIT
// Differences between webgpu.h libraries, tested without one: struct layouts that cannot be tried here are compared
// with those of the header.
#include "backends/webgpu/native.h"

#include <string.h>

#include "support/test.h"

static uint32_t word_at(const void *memory, size_t offset) {
  uint32_t word;
  memcpy(&word, (const char *)memory + offset, sizeof word);
  return word;
}

TEST(entries_of_layouts_have_an_array_size_from_wgpu_native_29_on) {
  const tsri_wgpu_library wgpu_native = {.array_sizes_since = 29u << 24}, dawn = {0};
  CHECK(!tsri_wgpu_has_array_sizes(&wgpu_native, 27u << 24 | 2u << 8));
  CHECK(tsri_wgpu_has_array_sizes(&wgpu_native, 29u << 24));
  CHECK(tsri_wgpu_has_array_sizes(&dawn, 0));
}

// In words of 8 bytes: next, binding, visibility, (array size,) then for the buffer: next, type and dynamic offset,
// minimum size.
TEST(a_layout_is_written_as_the_library_reads_it) {
  if (sizeof(void *) != 8) SKIP("offsets are those of 64-bit systems");
  for (int has_array_sizes = 0; has_array_sizes < 2; has_array_sizes++) {
    wgpu_layout_entries all;
    tsri_wgpu_put_layout(has_array_sizes, 2, (uint32_t[2]){1, 0}, 48, &all);
    size_t buffer = has_array_sizes ? 32 : 24, bytes = buffer + 24 + 16 + 24 + 24;
    const uint32_t types[] = {WGPU_BINDING_READ_ONLY, WGPU_BINDING_STORAGE, WGPU_BINDING_UNIFORM};
    for (uint32_t i = 0; i < 3; i++) {
      const char *entry = (const char *)&all + i * bytes;
      CHECK_EQ_UINT(word_at(entry, 8), i);
      CHECK_EQ_UINT(word_at(entry, 16), WGPU_STAGE_COMPUTE);
      CHECK_EQ_UINT(word_at(entry, buffer + 8), types[i]);
      CHECK_EQ_UINT(word_at(entry, buffer + 12), i == 2);
      CHECK_EQ_UINT(word_at(entry, buffer + 16), i == 2 ? 48 : 0);
    }
  }
}
