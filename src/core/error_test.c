// SPDX-License-Identifier: MIT
// The last error: message, place, length, one per thread.
#include "core/error.h"

#include <pthread.h>

#include "support/test.h"

TEST(statuses_have_names_and_texts) {
  for (int i = 0; i < TSR_STATUS_COUNT; i++) {
    CHECK(strncmp(tsr_status_name((tsr_status)i), "TSR_", 4) == 0);
    CHECK(strlen(tsr_status_text((tsr_status)i)) > 3);
  }
  CHECK_STR(tsr_status_name(TSR_ERR_SHAPE), "TSR_ERR_SHAPE");
  CHECK_STR(tsr_status_name((tsr_status)-1), "TSR_ERR_?");
  CHECK_STR(tsr_status_name((tsr_status)999), "TSR_ERR_?");
}

TEST(failing_keeps_message_place_and_status) {
  CHECK_STATUS(TSRI_FAIL(TSR_ERR_IO, "disk %d of %s", 3, "four"), TSR_ERR_IO);
  CHECK_STR(tsr_last_error(), "disk 3 of four");
  CHECK_STATUS(tsr_last_error_status(), TSR_ERR_IO);
  CHECK_STR_HAS(tsr_last_error_place(), "error_test.c:");
  TSRI_FAIL(TSR_ERR_IO, "again: %s", tsr_last_error());
  CHECK_STR(tsr_last_error(), "again: disk 3 of four");
  tsr_clear_error();
  CHECK_STR(tsr_last_error(), "");
  CHECK_STATUS(tsr_last_error_status(), TSR_OK);
}

TEST(long_messages_are_cut_between_characters) {
  char text[4096];
  for (int shift = 0; shift < 3; shift++) {
    memset(text, 'x', sizeof text);
    for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3) memcpy(text + i, "€", 3);
    text[sizeof text - 1] = 0;
    TSRI_FAIL(TSR_ERR_IO, "%s", text);
    const char *message = tsr_last_error();
    size_t length = strlen(message);
    CHECK(length < TSRI_ERROR_BYTES && length > TSRI_ERROR_BYTES - 8);
    CHECK_STR(message + length - 3, "…");
    CHECK(message[length - 4] == 'x' || strncmp(message + length - 6, "€", 3) == 0);
  }
}

static void *fail_elsewhere(void *unused) {
  (void)unused;
  TSRI_FAIL(TSR_ERR_TIMEOUT, "elsewhere");
  return NULL;
}

TEST(each_thread_has_its_own_error) {
  pthread_t thread;
  TSRI_FAIL(TSR_ERR_IO, "here");
  CHECK(pthread_create(&thread, NULL, fail_elsewhere, NULL) == 0);
  CHECK(pthread_join(thread, NULL) == 0);
  CHECK_STR(tsr_last_error(), "here");
}
