// SPDX-License-Identifier: MIT
// Overflow-checked arithmetic and the fault switch.
#include "core/alloc.h"

#include <string.h>

#include "support/test.h"

TEST(products_and_sums_that_do_not_fit_are_noticed) {
  static const int64_t values[] = {
      0, 1, -1, 2, -2, 3, INT64_MAX, INT64_MIN, INT64_MAX / 2, INT64_MIN / 2, 1LL << 32, -(1LL << 32)};
  const int count = (int)(sizeof values / sizeof values[0]);
  for (int i = 0; i < count; i++) {
    for (int j = 0; j < count; j++) {
      __int128 product = (__int128)values[i] * values[j], sum = (__int128)values[i] + values[j];
      int64_t result = 0;
      bool fits = product >= INT64_MIN && product <= INT64_MAX;
      CHECK(tsri_mul_i64(values[i], values[j], &result) == fits);
      if (fits) CHECK_EQ_INT(result, (int64_t)product);
      fits = sum >= INT64_MIN && sum <= INT64_MAX;
      CHECK(tsri_add_i64(values[i], values[j], &result) == fits);
      if (fits) CHECK_EQ_INT(result, (int64_t)sum);
    }
  }
  size_t size = 0;
  CHECK(!tsri_add_size(SIZE_MAX, 1, &size));
}

TEST(records_are_used_again_by_the_thread_that_freed_them) {
  enum { BYTES = 200, LARGE = 5000 };
  void *first = tsri_record_alloc(BYTES), *second = tsri_record_alloc(BYTES), *large = tsri_record_alloc(LARGE);
  CHECK(first && second && large);
  memset(first, 1, BYTES);
  memset(second, 2, BYTES);
  memset(large, 3, LARGE);
  tsri_record_free(large, LARGE);
  tsri_record_free(first, BYTES);
  tsri_record_free(second, BYTES);
  tsri_record_free(NULL, BYTES);
  void *third = tsri_record_alloc(BYTES - 3), *fourth = tsri_record_alloc(BYTES);  // the same class of sizes
  CHECK(third && fourth && third != fourth);
  memset(third, 4, BYTES);
  tsri_record_free(third, BYTES - 3);
  tsri_record_free(fourth, BYTES);
}

TEST(requests_for_records_fail_when_asked_even_if_one_is_at_hand) {
  tsri_record_free(tsri_record_alloc(100), 100);
  tsri_alloc_fail_at(1, false);
  void *record = tsri_record_alloc(100);
  tsri_alloc_fail_at(0, false);
  CHECK(!record);
}

TEST(a_thread_keeps_a_bounded_number_of_records) {
  enum { COUNT = 3000, BYTES = 1000 };
  static void *records[COUNT];
  for (int round = 0; round < 2; round++) {
    for (int i = 0; i < COUNT; i++) {
      records[i] = tsri_record_alloc(BYTES);
      CHECK(records[i] != NULL);
      memset(records[i], round, BYTES);
    }
    for (int i = 0; i < COUNT; i++) tsri_record_free(records[i], BYTES);
  }
}

TEST(the_nth_request_fails_and_the_next_does_not) {
  tsri_alloc_fail_at(2, false);
  void *first = tsri_malloc(1), *second = tsri_malloc(1), *third = tsri_calloc(1, 1);
  CHECK_EQ_UINT(tsri_alloc_fail_at(0, false), 3);
  CHECK(first && !second && third);
  tsri_free(first);
  tsri_free(third);
}

TEST(the_nth_request_and_all_after_it_fail_when_asked) {
  tsri_alloc_fail_at(1, true);
  void *first = tsri_malloc(1), *second = tsri_realloc(NULL, 4);
  char *text = tsri_strdup("x");
  tsri_alloc_fail_at(0, false);
  CHECK(!first && !second && !text);
}
