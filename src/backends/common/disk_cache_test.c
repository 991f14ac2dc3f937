// SPDX-License-Identifier: MIT
#include "backends/common/disk_cache.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utime.h>

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

// A temporary folder used as $XDG_CACHE_HOME; begin_with_folder returns the path of a cache file in it.
static char folder[64];

static char *begin_with_folder(void) {
  snprintf(folder, sizeof folder, "/tmp/tessera-cache-XXXXXX");
  CHECK(mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0);
  tsri_cache_key key = key_of("device", "text");
  return tsri_cache_path("some", &key);
}

static void end_with_folder(void) {
  char inner[80];
  snprintf(inner, sizeof inner, "%s/tessera", folder);
  chmod(folder, 0700);
  chmod(inner, 0700);
  rmdir(inner);
  CHECK(rmdir(folder) == 0);
}

TEST(a_file_that_is_not_regular_is_as_good_as_none_and_is_not_waited_for) {
  char *path = begin_with_folder();
  size_t bytes = 0;
  CHECK(mkfifo(path, 0600) == 0);
  CHECK(tsri_cache_load(path, &bytes) == NULL);
  CHECK(tsri_cache_store(path, "program", 7));  // replaces it
  char *data = tsri_cache_load(path, &bytes);
  CHECK_BYTES(data, "program", 7);
  tsri_free(data);
  CHECK(remove(path) == 0 && mkdir(path, 0700) == 0);
  CHECK(tsri_cache_load(path, &bytes) == NULL);
  CHECK(!tsri_cache_store(path, "program", 7));
  CHECK(rmdir(path) == 0);
  tsri_free(path);
  end_with_folder();
}

TEST(a_file_or_folder_that_others_can_write_is_not_used) {
  char *path = begin_with_folder();
  tsri_cache_key key = key_of("device", "text");
  size_t bytes = 0;
  CHECK(tsri_cache_store(path, "program", 7) && chmod(path, 0666) == 0);
  CHECK(tsri_cache_load(path, &bytes) == NULL);
  CHECK(remove(path) == 0);
  tsri_free(path);
  CHECK(chmod(folder, 0777) == 0);
  CHECK(tsri_cache_path("some", &key) == NULL);
  end_with_folder();
}

TEST(a_relative_cache_folder_is_ignored) {
  char *path = begin_with_folder();
  tsri_free(path);
  tsri_cache_key key = key_of("a", "b");
  setenv("HOME", folder, 1);
  setenv("XDG_CACHE_HOME", "relative", 1);
  path = tsri_cache_path("some", &key);
  CHECK_STR_HAS(path, folder);
  CHECK_STR_HAS(path, "/.cache/tessera/some-");
  CHECK(access("relative", F_OK) != 0);
  tsri_free(path);
  char inner[80];
  snprintf(inner, sizeof inner, "%s/.cache/tessera", folder);
  CHECK(rmdir(inner) == 0);
  inner[strlen(inner) - strlen("/tessera")] = 0;
  CHECK(rmdir(inner) == 0);
  end_with_folder();
}

TEST(files_that_a_killed_process_left_are_removed_after_an_hour) {
  snprintf(folder, sizeof folder, "/tmp/tessera-cache-XXXXXX");
  CHECK(mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0);
  char inner[80], old[128], young[128], other[128];
  snprintf(inner, sizeof inner, "%s/tessera", folder);
  snprintf(old, sizeof old, "%s/some-12.bin.new-34", inner);
  snprintf(young, sizeof young, "%s/some-12.bin.new-35", inner);
  snprintf(other, sizeof other, "%s/some-12.bin", inner);
  CHECK(mkdir(inner, 0700) == 0);
  const char *const files[] = {old, young, other};
  for (int i = 0; i < 3; i++) {
    FILE *file = fopen(files[i], "wb");
    CHECK(file != NULL && fclose(file) == 0);
    if (i != 1) CHECK(utime(files[i], &(struct utimbuf){.actime = 1, .modtime = 1}) == 0);
  }
  tsri_cache_key key = key_of("a", "b");
  tsri_free(tsri_cache_path("some", &key));
  CHECK(access(old, F_OK) != 0);
  CHECK(remove(young) == 0);  // a process may be writing it
  CHECK(remove(other) == 0);  // what was stored stays
  end_with_folder();
}

TEST(a_place_that_cannot_be_written_is_no_error) {
  CHECK(!tsri_cache_store("/no/such/folder/file", "x", 1));
  unsetenv("XDG_CACHE_HOME");
  unsetenv("HOME");
  tsri_cache_key key = key_of("a", "b");
  CHECK(tsri_cache_path("some", &key) == NULL);
}
