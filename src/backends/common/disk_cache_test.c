// SPDX-License-Identifier: MIT
#include "backends/common/disk_cache.h"

#include <stdlib.h>
#include <unistd.h>

#include "core/alloc.h"
#include "support/test.h"

static tsri_cache_key key_of(const char *a, const char *b) {
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, a);
  tsri_cache_key_add_text(&key, b);
  return key;
}

TEST(keys_differ_where_the_parts_or_their_cut_differ) {
  tsri_cache_key one = key_of("ab", "c"), same = key_of("ab", "c"), cut = key_of("a", "bc"), other = key_of("ab", "d");
  CHECK_BYTES(&one, &same, sizeof one);
  CHECK(memcmp(&one, &cut, sizeof one) != 0);
  CHECK(memcmp(&one, &other, sizeof one) != 0);
  CHECK(one.words[0] != one.words[1]);
}

TEST(what_was_stored_comes_back) {
  char folder[] = "/tmp/tessera-cache-XXXXXX";
  CHECK(mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0);
  tsri_cache_key key = key_of("device", "text");
  char *path = tsri_cache_path("some", &key);
  CHECK_STR_HAS(path, folder);
  CHECK_STR_HAS(path, "/tessera/some-");
  size_t bytes = 0;
  CHECK(tsri_cache_load(path, &bytes) == NULL);  // not there yet
  CHECK(tsri_cache_store(path, "program", 7));
  CHECK(tsri_cache_store(path, "other program", 13));  // replaces
  char *data = tsri_cache_load(path, &bytes);
  CHECK_EQ_UINT(bytes, 13);
  CHECK_BYTES(data, "other program", 13);
  tsri_free(data);
  remove(path);
  tsri_free(path);
  char inner[64];
  snprintf(inner, sizeof inner, "%s/tessera", folder);
  CHECK(rmdir(inner) == 0 && rmdir(folder) == 0);  // nothing else was left behind
}

TEST(a_damaged_file_is_as_good_as_none) {
  char path[] = "/tmp/tessera_cache_XXXXXX";
  CHECK(close(mkstemp(path)) == 0);
  size_t bytes = 0;
  CHECK(tsri_cache_load(path, &bytes) == NULL);  // empty
  CHECK(tsri_cache_store(path, "pipelines", 9));
  FILE *stream = fopen(path, "r+b");
  CHECK(stream != NULL && fseek(stream, -1, SEEK_END) == 0 && fputc('!', stream) == '!' && fclose(stream) == 0);
  CHECK(tsri_cache_load(path, &bytes) == NULL);
  CHECK(tsri_cache_store(path, "pipelines", 9) && truncate(path, 30) == 0);
  CHECK(tsri_cache_load(path, &bytes) == NULL);
  remove(path);
}

TEST(a_place_that_cannot_be_written_is_no_error) {
  CHECK(!tsri_cache_store("/no/such/folder/file", "x", 1));
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  tsri_cache_key key = key_of("a", "b");
  CHECK(tsri_cache_path("some", &key) == NULL);
}
