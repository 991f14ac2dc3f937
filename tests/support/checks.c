// SPDX-License-Identifier: MIT
// The comparisons of the CHECK macros, and the messages when they fail.
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>

#include "support/test.h"

void test_check_int(const char *file, int line, const char *what, intmax_t is, intmax_t wanted) {
  if (is == wanted) return;
  test_fail(file, line, "%s is %" PRIdMAX ", not %" PRIdMAX, what, is, wanted);
}

void test_check_uint(const char *file, int line, const char *what, uintmax_t is, uintmax_t wanted) {
  if (is == wanted) return;
  test_fail(file, line, "%s is %" PRIuMAX " (0x%" PRIxMAX "), not %" PRIuMAX " (0x%" PRIxMAX ")", what, is, is, wanted,
            wanted);
}

void test_check_near(const char *file, int line, const char *what, double is, double wanted, double bound) {
  if (is == wanted || (isnan(is) && isnan(wanted)) || fabs(is - wanted) <= bound) return;
  test_fail(file, line, "%s is %.17g, not %.17g (off by %g, allowed %g)", what, is, wanted, fabs(is - wanted), bound);
}

void test_check_str(const char *file, int line, const char *what, const char *is, const char *wanted) {
  if (is == wanted || (is && wanted && strcmp(is, wanted) == 0)) return;
  test_fail(file, line, "%s is\n  \"%s\", not\n  \"%s\"", what, is ? is : "(NULL)", wanted ? wanted : "(NULL)");
}

void test_check_has(const char *file, int line, const char *what, const char *text, const char *part) {
  if (text && part && strstr(text, part)) return;
  test_fail(file, line, "%s is\n  \"%s\", which lacks\n  \"%s\"", what, text ? text : "(NULL)", part ? part : "(NULL)");
}

void test_check_bytes(const char *file, int line, const char *what, const void *is, const void *wanted, size_t bytes) {
  const unsigned char *a = is, *b = wanted;
  if (bytes == 0 || memcmp(a, b, bytes) == 0) return;  // a loop over bytes takes a sanitizer long
  size_t i = 0;
  while (a[i] == b[i]) i++;
  test_fail(file, line, "%s differs at byte %zu of %zu: 0x%02x, not 0x%02x", what, i, bytes, a[i], b[i]);
}

void test_check_status(const char *file, int line, const char *what, tsr_status is, tsr_status wanted) {
  if (is == wanted) return;
  const char *text = tsr_last_error();
  test_fail(file, line, "%s is %s, not %s\n  last error: %s", what, tsr_status_name(is), tsr_status_name(wanted),
            text && *text ? text : "(none)");
}

uint32_t test_sample(uint32_t standard) {
  const char *text = getenv("TSR_TEST_SAMPLE");
  unsigned long given = text ? strtoul(text, NULL, 10) : 0;
  return given > 0 ? (uint32_t)given : standard;
}

bool test_is_sanitized(void) {
  const char *sanitizers = getenv("TSR_TEST_SANITIZE");
  return sanitizers && *sanitizers;
}

int64_t test_element_step(void) { return test_is_sanitized() ? 11 : 1; }

int test_rounds(int count) { return test_is_sanitized() ? count / 10 : count; }
