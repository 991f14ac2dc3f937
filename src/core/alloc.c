// SPDX-License-Identifier: MIT
// Host memory with a fault switch, and arithmetic with overflow checks.
#include "core/alloc.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/platform.h"

static atomic_bool armed;
static atomic_bool fail_after;
static atomic_uint_fast64_t fail_at;
static atomic_uint_fast64_t request_count;

uint64_t tsri_alloc_fail_at(uint64_t nth, bool and_after) {
  uint64_t made = atomic_exchange(&request_count, 0);
  atomic_store(&fail_at, nth);
  atomic_store(&fail_after, and_after);
  atomic_store(&armed, nth != 0);
  return made;
}

static bool must_fail(void) {
  if (!atomic_load_explicit(&armed, memory_order_relaxed)) return false;
  uint64_t nth = atomic_fetch_add(&request_count, 1) + 1;
  uint64_t at = atomic_load(&fail_at);
  return nth == at || (nth > at && atomic_load(&fail_after));
}

void *tsri_malloc(size_t bytes) { return must_fail() ? NULL : malloc(bytes ? bytes : 1); }

void *tsri_calloc(size_t count, size_t bytes) {
  return must_fail() ? NULL : calloc(count ? count : 1, bytes ? bytes : 1);
}

void *tsri_realloc(void *memory, size_t bytes) { return must_fail() ? NULL : realloc(memory, bytes ? bytes : 1); }

void tsri_free(void *memory) { free(memory); }

char *tsri_strdup(const char *text) {
  size_t bytes = strlen(text) + 1;
  char *copy = tsri_malloc(bytes);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

char *tsri_format_text(const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  int length = vsnprintf(NULL, 0, format, args);
  va_end(args);
  char *text = length < 0 ? NULL : tsri_malloc((size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  return text;
}

enum { PAGE_BYTES = 4096, LARGE_PAGE_BYTES = 2 << 20 };

// Memory of several large pages begins at a large page: address translation would otherwise take a third of the time of
// reading a large array.
void *tsri_aligned_alloc(size_t bytes) {
  size_t page = bytes >= 2 * (size_t)LARGE_PAGE_BYTES ? LARGE_PAGE_BYTES : PAGE_BYTES;
  if (must_fail() || bytes > SIZE_MAX - page) return NULL;
  size_t rounded = (bytes + page - 1) / page * page;
#if defined(_WIN32)
  return _aligned_malloc(rounded, page);
#else
  void *memory = aligned_alloc(page, rounded ? rounded : page);
  if (memory && page == LARGE_PAGE_BYTES) tsri_prefer_large_pages(memory, rounded);
  return memory;
#endif
}

void tsri_aligned_free(void *memory) {
#if defined(_WIN32)
  _aligned_free(memory);
#else
  free(memory);
#endif
}

bool tsri_mul_size(size_t a, size_t b, size_t *out_product) {
  if (a != 0 && b > SIZE_MAX / a) return false;
  *out_product = a * b;
  return true;
}

bool tsri_add_size(size_t a, size_t b, size_t *out_sum) {
  if (b > SIZE_MAX - a) return false;
  *out_sum = a + b;
  return true;
}

bool tsri_mul_i64(int64_t a, int64_t b, int64_t *out_product) {
#if defined(__GNUC__)
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) return false;
  *out_product = product;
  return true;
#else
  if (a > 0 ? (b > INT64_MAX / a || b < INT64_MIN / a)
            : (a < -1 ? (b > INT64_MIN / a || b < INT64_MAX / a) : (a == -1 && b == INT64_MIN))) {
    return false;
  }
  *out_product = a * b;
  return true;
#endif
}

bool tsri_add_i64(int64_t a, int64_t b, int64_t *out_sum) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) return false;
  *out_sum = a + b;
  return true;
}
