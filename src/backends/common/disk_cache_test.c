// SPDX-License-Identifier: MIT
#include "backends/common/disk_cache.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utime.h>

#include "backends/common/cache_folder.h"
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

// --- Limits, and what processes do to each other -------------------------------------------------------------------------

static char *path_for(int number) {
  char text[32];
  snprintf(text, sizeof text, "%d", number);
  tsri_cache_key key = key_of("file", text);
  return tsri_cache_path("some", &key);
}

static void remove_files(void) {
  char inner[80];
  uint64_t kept = 0;
  snprintf(inner, sizeof inner, "%s/tessera", folder);
  tsri_cache_remove_oldest(inner, 0, NULL, &kept);
  CHECK_EQ_UINT(kept, 0);
}

static int count_files(uint64_t *out_bytes) {
  char inner[80];
  tsri_cache_entries list;
  snprintf(inner, sizeof inner, "%s/tessera", folder);
  tsri_cache_entries_init(&list, inner);
  int count = list.count;
  *out_bytes = list.bytes;
  tsri_cache_entries_deinit(&list);
  return count;
}

TEST(the_oldest_files_go_first_when_the_limit_is_reached_and_use_makes_a_file_young) {
  static char data[1000];
  tsri_free(begin_with_folder());
  uint64_t before = tsri_cache_limit(), bytes = 0;
  tsri_cache_set_limit(16 * 1024);
  for (int i = 0; i < 10; i++) {
    char *path = path_for(i);
    CHECK(tsri_cache_store(path, data, sizeof data));
    CHECK(utime(path, &(struct utimbuf){.actime = 1000 + i, .modtime = 1000 + i}) == 0);
    tsri_free(path);
  }
  char *used = path_for(0), *unused = path_for(1);
  size_t size = 0;
  tsri_free(tsri_cache_load(used, &size));  // now the youngest
  for (int i = 10; i < 40; i++) {
    char *path = path_for(i);
    CHECK(tsri_cache_store(path, data, sizeof data));
    tsri_free(path);
    (void)count_files(&bytes);
    CHECK(bytes <= 16 * 1024);
  }
  CHECK(access(unused, F_OK) != 0);
  tsri_cache_set_limit(4 * 1024);
  char *last = path_for(99);
  CHECK(tsri_cache_store(last, data, sizeof data));
  CHECK(count_files(&bytes) <= 4 && access(last, F_OK) == 0);
  tsri_cache_set_limit(0);
  CHECK(path_for(1) == NULL);  // nothing is kept
  tsri_cache_set_limit(before);
  tsri_free(used);
  tsri_free(unused);
  tsri_free(last);
  remove_files();
  end_with_folder();
}

TEST(a_cache_of_another_version_is_as_good_as_none_and_is_replaced) {
  char *path = begin_with_folder();
  size_t bytes = 0;
  CHECK(tsri_cache_store(path, "program", 7));
  FILE *stream = fopen(path, "r+b");
  CHECK(stream != NULL && fwrite("TSRBIN9\n", 1, 8, stream) == 8 && fclose(stream) == 0);
  CHECK(tsri_cache_load(path, &bytes) == NULL);
  CHECK(tsri_cache_store(path, "program", 7));
  void *data = tsri_cache_load(path, &bytes);
  CHECK_EQ_UINT(bytes, 7);
  tsri_free(data);
  tsri_free(path);
  remove_files();
  end_with_folder();
}

// Files may not become larger than 8 KiB, so writing stops in the middle, as it does on a full disk.
TEST(a_full_disk_leaves_the_old_file_and_nothing_beside_it) {
  static char large[65536];
  char *path = begin_with_folder();
  size_t bytes = 0;
  uint64_t all = 0;
  CHECK(tsri_cache_store(path, "program", 7));
  pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {.rlim_cur = 8192, .rlim_max = 8192};
    bool is_set = setrlimit(RLIMIT_FSIZE, &limit) == 0;
    _exit(is_set && !tsri_cache_store(path, large, sizeof large) ? 0 : 1);
  }
  int status = 1;
  CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_EQ_INT(count_files(&all), 1);
  void *data = tsri_cache_load(path, &bytes);
  CHECK_EQ_UINT(bytes, 7);
  tsri_free(data);
  tsri_free(path);
  remove_files();
  end_with_folder();
}

TEST(a_process_killed_while_it_writes_leaves_a_whole_file_or_none) {
  static char large[1 << 20];
  memset(large, 7, sizeof large);
  char *path = begin_with_folder();
  for (int round = 0; round < 8; round++) {
    pid_t child = fork();
    if (child == 0) {
      for (;;) (void)tsri_cache_store(path, large, sizeof large);
    }
    usleep((useconds_t)(1000 + 3000 * round));
    CHECK(kill(child, SIGKILL) == 0 && waitpid(child, NULL, 0) == child);
    if (access(path, F_OK) != 0) continue;
    size_t bytes = 0;
    char *data = tsri_cache_load(path, &bytes);
    CHECK(data);
    CHECK_EQ_UINT(bytes, sizeof large);
    CHECK_EQ_INT(data[sizeof large - 1], 7);
    tsri_free(data);
  }
  tsri_free(path);
  remove_files();
  end_with_folder();
}

// Two processes store, load and trim the same few files: a load gives all of a file, or nothing.
static int use_files(int seed) {
  static char data[4096];
  for (int i = 0; i < 300; i++) {
    int number = (i * 7 + seed * 3) % 16;
    size_t bytes = 0;
    char *path = path_for(number);
    memset(data, number, sizeof data);
    if (i % 2 == 0) (void)tsri_cache_store(path, data, sizeof data);
    char *loaded = tsri_cache_load(path, &bytes);
    bool is_wrong = loaded && (bytes != sizeof data || memcmp(loaded, data, sizeof data) != 0);
    tsri_free(loaded);
    tsri_free(path);
    if (is_wrong) return 1;
  }
  return 0;
}

TEST(two_processes_use_one_cache_at_once) {
  tsri_free(begin_with_folder());
  uint64_t before = tsri_cache_limit();
  tsri_cache_set_limit(24 * 1024);
  pid_t children[2];
  for (int i = 0; i < 2; i++) {
    children[i] = fork();
    if (children[i] == 0) _exit(use_files(i));
  }
  for (int i = 0; i < 2; i++) {
    int status = 1;
    CHECK(waitpid(children[i], &status, 0) == children[i] && WIFEXITED(status));
    CHECK_EQ_INT(WEXITSTATUS(status), 0);
  }
  tsri_cache_set_limit(before);
  remove_files();
  end_with_folder();
}

TEST(a_home_that_cannot_be_written_is_no_error) {
  setenv("XDG_CACHE_HOME", "/proc/self", 1);
  tsri_cache_key key = key_of("a", "b");
  CHECK(tsri_cache_path("some", &key) == NULL);
  CHECK(!tsri_cache_store("/proc/self/tessera/some-1.bin", "x", 1));
}
