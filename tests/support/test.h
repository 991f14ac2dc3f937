// SPDX-License-Identifier: MIT
// The project's way to write tests: a thin layer over cmocka, or over a runner of our own (runner.h).
//
//   #include "support/test.h"
//
//   TEST(expand_refuses_a_smaller_shape) {
//     CHECK_STATUS(tsr_error(t), TSR_ERR_SHAPE);
//     CHECK_LAST_ERROR_HAS("axis 1: 3 and 4");
//   }
//
// A TEST registers itself, so adding one changes only one file. A CHECK that fails prints file, line and values, and
// ends the test. Checks evaluate their arguments once.
//
// Threads: use CHECK, SKIP and the other macros only on the thread that runs the test (they leave the test by
// longjmp). Other threads must hand their results to it.
#ifndef TESSERA_TEST_H
#define TESSERA_TEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tessera/status.h>

typedef struct test_case {
  const char *file;  // "core.shape" for src/core/shape_test.c; the build defines TEST_FILE for each test file
  const char *name;
  void (*run)(void);
  struct test_case *next;
} test_case;

// Called by TEST before main; `test` must never be freed.
void test_register(test_case *test);

// The functions behind the macros below. `what` is the text of the check in the source.
_Noreturn void test_fail(const char *file, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));
_Noreturn void test_skip(const char *sentence);
void test_check_int(const char *file, int line, const char *what, intmax_t is, intmax_t wanted);
void test_check_uint(const char *file, int line, const char *what, uintmax_t is, uintmax_t wanted);
void test_check_near(const char *file, int line, const char *what, double is, double wanted, double bound);
void test_check_str(const char *file, int line, const char *what, const char *is, const char *wanted);
void test_check_has(const char *file, int line, const char *what, const char *text, const char *part);
void test_check_bytes(const char *file, int line, const char *what, const void *is, const void *wanted, size_t bytes);
void test_check_status(const char *file, int line, const char *what, tsr_status is, tsr_status wanted);

// A long test runs one in so many of its cases: TSR_TEST_SAMPLE if it is set (1: all cases), otherwise `standard`.
uint32_t test_sample(uint32_t standard);

#define TEST(claim)                                                                     \
  static void test_##claim(void);                                                       \
  __attribute__((constructor)) static void register_##claim(void) {                     \
    static test_case record = {.file = TEST_FILE, .name = #claim, .run = test_##claim}; \
    test_register(&record);                                                             \
  }                                                                                     \
  static void test_##claim(void)

// Ends the test as skipped; the sentence says what is missing.
#define SKIP(sentence) test_skip(sentence)

// Fails the test at a place that must not be reached; the sentence says why.
#define FAIL(sentence) test_fail(__FILE__, __LINE__, "%s", sentence)

#define CHECK(condition)                                                                    \
  do {                                                                                      \
    if (!(condition)) test_fail(__FILE__, __LINE__, "CHECK(%s) does not hold", #condition); \
  } while (0)

// Any signed integers, and unsigned ones up to INT64_MAX.
#define CHECK_EQ_INT(is, wanted) test_check_int(__FILE__, __LINE__, #is, (intmax_t)(is), (intmax_t)(wanted))

// Unsigned integers; printed in decimal and hexadecimal.
#define CHECK_EQ_UINT(is, wanted) test_check_uint(__FILE__, __LINE__, #is, (uintmax_t)(is), (uintmax_t)(wanted))

// |is - wanted| <= bound; equal infinities pass, and so do two NaNs.
#define CHECK_NEAR(is, wanted, bound) \
  test_check_near(__FILE__, __LINE__, #is, (double)(is), (double)(wanted), (double)(bound))

// Strings; NULL equals only NULL.
#define CHECK_STR(is, wanted) test_check_str(__FILE__, __LINE__, #is, (is), (wanted))

// `text` contains `part`.
#define CHECK_STR_HAS(text, part) test_check_has(__FILE__, __LINE__, #text, (text), (part))

// The first `bytes` bytes are the same.
#define CHECK_BYTES(is, wanted, bytes) test_check_bytes(__FILE__, __LINE__, #is, (is), (wanted), (bytes))

// The call returned this status; if not, both names and the last error are printed.
#define CHECK_STATUS(call, wanted) test_check_status(__FILE__, __LINE__, #call, (call), (wanted))
#define CHECK_OK(call)             CHECK_STATUS(call, TSR_OK)

#define CHECK_LAST_ERROR_HAS(part) test_check_has(__FILE__, __LINE__, "tsr_last_error()", tsr_last_error(), (part))

// Whether this build has a sanitizer.
bool test_is_sanitized(void);

// The distance between elements that a test compares with a slow reference: 1 in the release build, which compares all elements, and 11 under a sanitizer,
// whose purpose is to check memory and threads.
int64_t test_element_step(void);

// How often to repeat a check with random numbers: `count` times, or a tenth of that under a sanitizer, which makes each ten times as slow and finds nothing new by repetition.
int test_rounds(int count);

#endif
