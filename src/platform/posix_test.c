// SPDX-License-Identifier: MIT
// Locks, clock, shared libraries and folders, on the system that runs the tests.
#include <pthread.h>
#include <unistd.h>

#include "platform/platform.h"
#include "support/test.h"

enum { THREAD_COUNT = 4, ADDITIONS = 20000 };

typedef struct counter {
  tsri_mutex mutex;
  long value;
} counter;

static void *add_many(void *user) {
  counter *shared = user;
  for (int i = 0; i < ADDITIONS; i++) {
    tsri_mutex_lock(&shared->mutex);
    shared->value++;
    tsri_mutex_unlock(&shared->mutex);
  }
  return NULL;
}

TEST(mutex_loses_no_addition_between_threads) {
  counter shared = {.value = 0};
  tsri_mutex_init(&shared.mutex);
  pthread_t threads[THREAD_COUNT];
  for (int i = 0; i < THREAD_COUNT; i++) CHECK_EQ_INT(pthread_create(&threads[i], NULL, add_many, &shared), 0);
  for (int i = 0; i < THREAD_COUNT; i++) CHECK_EQ_INT(pthread_join(threads[i], NULL), 0);
  tsri_mutex_deinit(&shared.mutex);
  CHECK_EQ_INT(shared.value, THREAD_COUNT * ADDITIONS);
}

static void *add_slowly(void *user) {
  counter *shared = user;
  for (int i = 0; i < 10; i++) {
    tsri_mutex_lock(&shared->mutex);
    long before = shared->value;
    tsri_sleep_ns(300000);  // so that the others go to sleep
    shared->value = before + 1;
    tsri_mutex_unlock(&shared->mutex);
  }
  return NULL;
}

TEST(threads_that_sleep_until_a_mutex_is_free_are_all_woken) {
  counter shared = {.value = 0};
  tsri_mutex_init(&shared.mutex);
  pthread_t threads[THREAD_COUNT];
  for (int i = 0; i < THREAD_COUNT; i++) CHECK_EQ_INT(pthread_create(&threads[i], NULL, add_slowly, &shared), 0);
  for (int i = 0; i < THREAD_COUNT; i++) CHECK_EQ_INT(pthread_join(threads[i], NULL), 0);
  tsri_mutex_deinit(&shared.mutex);
  CHECK_EQ_INT(shared.value, THREAD_COUNT * 10);
}

TEST(a_sleep_takes_at_least_its_time_on_the_clock) {
  uint64_t before = tsri_clock_ns();
  tsri_sleep_ns(2000000);
  CHECK(tsri_clock_ns() - before >= 2000000);
}

TEST(a_missing_library_is_reported_in_the_loaders_words) {
  char reason[256] = "";
  CHECK(tsri_library_open("libtessera-no-such-library.so.9", reason, sizeof reason) == NULL);
  CHECK_STR_HAS(reason, "libtessera-no-such-library.so.9");
  char tiny[4] = "";
  CHECK(tsri_library_open("libtessera-no-such-library.so.9", tiny, sizeof tiny) == NULL);
  CHECK_EQ_INT(strlen(tiny), 3);
  CHECK(tsri_library_open("libtessera-no-such-library.so.9", NULL, 0) == NULL);
  tsri_library_close(NULL);
}

TEST(a_library_gives_its_symbols_and_null_for_others) {
#if defined(__APPLE__)
  const char *name = "libSystem.B.dylib";
#else
  const char *name = "libm.so.6";
#endif
  char reason[256] = "unchanged";
  tsri_library *library = tsri_library_open(name, reason, sizeof reason);
  if (!library) SKIP("the mathematics library has another name on this system");
  CHECK_STR(reason, "");
  CHECK(tsri_library_symbol(library, "cos") != NULL);
  CHECK(tsri_library_symbol(library, "no_such_symbol_in_it") == NULL);
  tsri_library_close(library);
}

static void count_named(const char *name, void *user) {
  int *counts = user;
  counts[strcmp(name, "one.so") == 0 ? 0 : strcmp(name, "two") == 0 ? 1 : 2]++;
}

TEST(a_folder_lists_each_name_once_without_dots) {
  char folder[] = "/tmp/tessera-folder-XXXXXX", path[64];
  CHECK(mkdtemp(folder) != NULL);
  const char *const names[] = {"one.so", "two"};
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fclose(file);
  }
  int counts[3] = {0};
  bool is_read = tsri_folder_each(folder, count_named, counts);
  for (int i = 0; i < 2; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  rmdir(folder);
  CHECK(is_read);
  CHECK_EQ_INT(counts[0], 1);
  CHECK_EQ_INT(counts[1], 1);
  CHECK_EQ_INT(counts[2], 0);
  CHECK(!tsri_folder_each(folder, count_named, counts));
}

TEST(this_machine_has_a_core_and_memory) {
  CHECK(tsri_cpu_count() >= 1);
  uint64_t total = 0, free_bytes = 0;
  tsri_memory_size(&total, &free_bytes);
  CHECK(total > 0);
  CHECK(free_bytes <= total);
  char name[128] = "unchanged";
  tsri_cpu_name(name, sizeof name);
  CHECK(strcmp(name, "unchanged") != 0);
  char tiny[3];
  tsri_cpu_name(tiny, sizeof tiny);
  CHECK(strlen(tiny) < sizeof tiny);
}
