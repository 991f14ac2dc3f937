// SPDX-License-Identifier: MIT
// Tests of the log.
//
// The first test needs a log level that no code has set yet, so it must stay first.
#include "core/log.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "support/test.h"

typedef struct heard {
  int count;
  tsr_log_level level;
  char line[4096];
} heard;

static void hear(tsr_log_level level, const char *line, void *user) {
  heard *h = user;
  h->count++;
  h->level = level;
  snprintf(h->line, sizeof h->line, "%s", line);
}

TEST(log_level_of_the_configuration_holds_until_code_sets_one) {
  CHECK(!tsri_log_wants(TSR_LOG_ERROR));
  tsri_log_configure(TSR_LOG_INFO);
  CHECK(tsri_log_wants(TSR_LOG_INFO));
  CHECK(!tsri_log_wants(TSR_LOG_PLAN));
  tsr_set_log(TSR_LOG_ERROR, NULL, NULL);
  tsri_log_configure(TSR_LOG_DEBUG);
  CHECK(tsri_log_wants(TSR_LOG_ERROR));
  CHECK(!tsri_log_wants(TSR_LOG_WARN));
}

TEST(log_function_hears_lines_up_to_the_level) {
  heard h = {0};
  tsr_set_log(TSR_LOG_WARN, hear, &h);
  tsri_log(TSR_LOG_INFO, "not wanted");
  CHECK_EQ_INT(h.count, 0);
  tsri_log(TSR_LOG_WARN, "moved %d bytes of %s", 12, "x");
  CHECK_EQ_INT(h.count, 1);
  CHECK_EQ_INT(h.level, TSR_LOG_WARN);
  CHECK_STR(h.line, "moved 12 bytes of x");
  tsri_log(TSR_LOG_ERROR, "worse");
  CHECK_EQ_INT(h.count, 2);
  tsr_set_log(TSR_LOG_OFF, hear, &h);
  tsri_log(TSR_LOG_ERROR, "not wanted");
  tsri_log(TSR_LOG_OFF, "never wanted");
  CHECK_EQ_INT(h.count, 2);
}

TEST(log_levels_out_of_range_are_taken_as_the_nearest) {
  heard h = {0};
  tsr_set_log((tsr_log_level)99, hear, &h);
  CHECK(tsri_log_wants(TSR_LOG_DEBUG));
  CHECK(!tsri_log_wants((tsr_log_level)TSR_LOG_LEVEL_COUNT));
  tsr_set_log((tsr_log_level)-1, hear, &h);
  CHECK(!tsri_log_wants(TSR_LOG_ERROR));
  CHECK(!tsri_log_wants((tsr_log_level)-1));
}

TEST(log_line_stays_one_line_and_a_long_one_is_cut_with_a_mark) {
  heard h = {0};
  tsr_set_log(TSR_LOG_INFO, hear, &h);
  tsri_log(TSR_LOG_INFO, "one\ntwo\r\x1b[31m");
  CHECK_STR(h.line, "one two  [31m");
  char long_text[5000];
  memset(long_text, 'x', sizeof long_text - 1);
  long_text[sizeof long_text - 1] = 0;
  tsri_log(TSR_LOG_INFO, "%s", long_text);
  CHECK(strlen(h.line) < 2048);
  CHECK_STR(h.line + strlen(h.line) - 3, "…");
  tsr_set_log(TSR_LOG_OFF, NULL, NULL);
}

TEST(log_leaves_errno_as_it_was) {
  heard h = {0};
  tsr_set_log(TSR_LOG_INFO, hear, &h);
  errno = EDOM;
  tsri_log(TSR_LOG_INFO, "%s", "x");
  CHECK_EQ_INT(errno, EDOM);
  tsr_set_log(TSR_LOG_OFF, NULL, NULL);
}

static void call_back(tsr_log_level level, const char *line, void *user) {
  hear(level, line, user);
  tsri_log(TSR_LOG_ERROR, "from within");
}

TEST(log_line_from_within_the_function_is_dropped) {
  heard h = {0};
  tsr_set_log(TSR_LOG_INFO, call_back, &h);
  tsri_log(TSR_LOG_INFO, "outer");
  CHECK_EQ_INT(h.count, 1);
  CHECK_STR(h.line, "outer");
  tsr_set_log(TSR_LOG_OFF, NULL, NULL);
}

TEST(log_without_a_function_goes_to_standard_error) {
  FILE *file = tmpfile();
  CHECK(file != NULL);
  fflush(stderr);
  int saved = dup(STDERR_FILENO);
  dup2(fileno(file), STDERR_FILENO);
  tsr_set_log(TSR_LOG_INFO, NULL, NULL);
  tsri_log(TSR_LOG_INFO, "moved to %s", "cpu");
  tsr_set_log(TSR_LOG_OFF, NULL, NULL);
  fflush(stderr);
  dup2(saved, STDERR_FILENO);
  close(saved);

  char text[128] = {0};
  rewind(file);
  size_t bytes = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  CHECK(bytes > 0);
  CHECK_STR(text, "tessera: info: moved to cpu\n");
}

enum { THREAD_COUNT = 8, LINE_COUNT = 2000 };

// Deliberately not atomic: the log calls the receiver one call at a time, which the thread sanitizer checks here.
static int lines_heard;

static void count_lines(tsr_log_level level, const char *line, void *user) {
  (void)level, (void)line, (void)user;
  lines_heard++;
}

static void *log_much(void *user) {
  int number = *(int *)user;
  for (int i = 0; i < LINE_COUNT; i++) {
    tsri_log(TSR_LOG_INFO, "thread %d, line %d", number, i);
    if (number == 0) tsr_set_log(i % 2 ? TSR_LOG_INFO : TSR_LOG_DEBUG, count_lines, NULL);
    if (number == 1) tsri_log_configure(TSR_LOG_OFF);
  }
  return NULL;
}

TEST(log_hears_every_line_of_many_threads) {
  pthread_t threads[THREAD_COUNT];
  int numbers[THREAD_COUNT];
  lines_heard = 0;
  tsr_set_log(TSR_LOG_INFO, count_lines, NULL);
  for (int i = 0; i < THREAD_COUNT; i++) {
    numbers[i] = i;
    CHECK_EQ_INT(pthread_create(&threads[i], NULL, log_much, &numbers[i]), 0);
  }
  for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
  tsr_set_log(TSR_LOG_OFF, NULL, NULL);
  CHECK_EQ_INT(lines_heard, THREAD_COUNT * LINE_COUNT);
}
