// SPDX-License-Identifier: MIT
#include "backends/common/choices.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test.h"

static const tsr_device_info some_device = {.name = "a device", .driver = "1.0", .uuid = "1234", .compute_units = 2};
static char folder[] = "/tmp/tessera-choices-XXXXXX";

static void use_empty_cache(void) {
  strcpy(folder, "/tmp/tessera-choices-XXXXXX");
  CHECK(mkdtemp(folder) && setenv("XDG_CACHE_HOME", folder, 1) == 0);
}

static void remove_cache(void) {
  char command[80];
  snprintf(command, sizeof command, "chmod -R u+w %s && rm -r %s", folder, folder);
  CHECK_EQ_INT(system(command), 0);
}

static tsri_choices *open_some(void) {
  tsri_choices *choices = tsri_choices_open("some", &some_device);
  CHECK(choices != NULL);
  return choices;
}

static tsri_choice choice_of(const char *work, const char *choice, bool is_bad) {
  tsri_choice entry = {.usual_us = 10, .chosen_us = 7.5, .is_bad = is_bad};
  snprintf(entry.work, sizeof entry.work, "%s", work);
  snprintf(entry.choice, sizeof entry.choice, "%s", choice);
  return entry;
}

static void put(tsri_choices *choices, const char *work, const char *choice, bool is_bad) {
  tsri_choice entry = choice_of(work, choice, is_bad);
  tsri_choices_put(choices, &entry);
}

TEST(the_next_process_knows_what_was_put) {
  use_empty_cache();
  tsri_choices *first = open_some();
  put(first, "sum f32 64x64", "reduce_group=64", false);
  put(first, "sum f32 64x64", "native=0", true);
  put(first, "exp f32 64", "", false);
  tsri_choices_close(first);
  tsri_choices *next = open_some();
  tsri_choice found;
  CHECK_EQ_UINT(tsri_choices_count(next), 3);
  CHECK(tsri_choices_find(next, "sum f32 64x64", &found));
  CHECK_STR(found.choice, "reduce_group=64");
  CHECK_NEAR(found.usual_us, 10, 0.001);
  CHECK_NEAR(found.chosen_us, 7.5, 0.001);
  CHECK(tsri_choices_is_bad(next, "sum f32 64x64", "native=0"));
  CHECK(!tsri_choices_is_bad(next, "exp f32 64", "native=0"));
  CHECK(tsri_choices_find(next, "exp f32 64", &found) && found.choice[0] == 0);
  CHECK(!tsri_choices_find(next, "exp f64 64", &found));
  tsri_choices_close(next);
  remove_cache();
}

enum { PROCESSES = 4, WORKS = 50 };

static void put_works(int process) {
  tsri_choices *choices = open_some();
  for (int i = 0; i < WORKS; i++) {
    char work[40];
    snprintf(work, sizeof work, "work %d of %d", i, process);
    put(choices, work, "x=1", false);
  }
  tsri_choices_close(choices);
}

TEST(processes_that_write_at_once_lose_nothing) {
  use_empty_cache();
  for (int i = 0; i < PROCESSES; i++) {
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
      put_works(i);
      _exit(0);
    }
  }
  for (int i = 0; i < PROCESSES; i++) {
    int status = 1;
    CHECK(wait(&status) > 0);
    CHECK_EQ_INT(status, 0);
  }
  tsri_choices *all = open_some();
  CHECK_EQ_UINT(tsri_choices_count(all), PROCESSES * WORKS);
  tsri_choices_close(all);
  remove_cache();
}

TEST(two_writers_keep_what_the_other_has_put) {
  use_empty_cache();
  tsri_choices *one = open_some(), *two = open_some(), *three;
  tsri_choice found;
  put(one, "a", "x=1", false);
  put(two, "b", "x=2", false);
  three = open_some();
  CHECK(tsri_choices_find(three, "a", &found) && tsri_choices_find(three, "b", &found));
  tsri_choices_close(one);
  tsri_choices_close(two);
  tsri_choices_close(three);
  remove_cache();
}

TEST(another_device_driver_or_version_has_choices_of_its_own) {
  use_empty_cache();
  tsri_choices *choices = open_some(), *other;
  tsr_device_info newer = some_device;
  strcpy(newer.driver, "1.1");
  put(choices, "a", "x=1", false);
  other = tsri_choices_open("some", &newer);
  CHECK_EQ_UINT(tsri_choices_count(other), 0);
  tsri_choices_close(other);
  other = tsri_choices_open("others", &some_device);
  CHECK_EQ_UINT(tsri_choices_count(other), 0);
  tsri_choices_close(other);
  tsri_choices_close(choices);
  remove_cache();
}

static void in_the_file(const char *shell) {
  char command[200];
  snprintf(command, sizeof command, "cd %s/tessera && for f in choices-*.bin; do %s; done", folder, shell);
  CHECK_EQ_INT(system(command), 0);
}

TEST(a_damaged_file_is_not_used_and_replaced) {
  static const char *const damages[] = {"printf x >>$f", ": >$f", "truncate -s -3 $f", "printf 'no such file' >$f"};
  for (size_t i = 0; i < sizeof damages / sizeof damages[0]; i++) {
    use_empty_cache();
    tsri_choices *choices = open_some();
    put(choices, "a", "x=1", false);
    tsri_choices_close(choices);
    in_the_file(damages[i]);
    choices = open_some();
    put(choices, "b", "x=2", false);
    tsri_choices_close(choices);
    choices = open_some();
    tsri_choice found;
    CHECK(tsri_choices_find(choices, "b", &found));
    tsri_choices_close(choices);
    remove_cache();
  }
}

TEST(a_folder_that_cannot_be_written_costs_nothing_but_the_memory_of_it) {
  use_empty_cache();
  tsri_choices *choices = open_some();
  put(choices, "a", "x=1", false);
  CHECK_EQ_INT(chmod(folder, 0500), 0);
  in_the_file("chmod 500 .");
  tsri_choice found;
  put(choices, "b", "x=2", false);
  CHECK(tsri_choices_find(choices, "b", &found));
  tsri_choices_close(choices);
  remove_cache();
}

TEST(what_is_cleared_is_gone_from_disk) {
  use_empty_cache();
  tsri_choices *choices = open_some();
  put(choices, "a", "x=1", false);
  CHECK(tsri_choices_clear(choices));
  CHECK(tsri_choices_clear(choices));
  CHECK_EQ_UINT(tsri_choices_count(choices), 0);
  tsri_choices_close(choices);
  choices = open_some();
  CHECK_EQ_UINT(tsri_choices_count(choices), 0);
  tsri_choices_close(choices);
  remove_cache();
}
