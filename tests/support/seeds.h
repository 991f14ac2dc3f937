// SPDX-License-Identifier: MIT
// Stores files that tests make as seeds of a fuzzer: with TSR_TEST_SEEDS=tests/fuzz/corpus/saved, tests of saved captures copy their files there.
#ifndef TSR_TEST_SEEDS_H
#define TSR_TEST_SEEDS_H

#include <stdio.h>
#include <stdlib.h>

// Copies the file at `path` to `name` in the folder TSR_TEST_SEEDS, if that variable is set.
static inline void test_keep_seed(const char *path, const char *name) {
  const char *folder = getenv("TSR_TEST_SEEDS");
  char target[512], bytes[4096];
  if (!folder) return;
  snprintf(target, sizeof target, "%s/%s", folder, name);
  FILE *from = fopen(path, "rb"), *to = fopen(target, "wb");
  for (size_t count; from && to && (count = fread(bytes, 1, sizeof bytes, from)) > 0;) fwrite(bytes, 1, count, to);
  if (from) fclose(from);
  if (to) fclose(to);
}

#endif
