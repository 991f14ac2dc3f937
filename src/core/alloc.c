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

// --- Records that are recycled ------------------------------------------------------------------------------------------

// With sanitizers, records are not reused: they must see each record being allocated and freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RECYCLES false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define RECYCLES false
#endif
#endif
#ifndef RECYCLES
#define RECYCLES true
#endif

// Spare records are kept in classes: class i has records of i * CLASS_BYTES bytes, for i up to CLASS_COUNT - 1. Larger records are not kept.
enum { CLASS_BYTES = 64, CLASS_COUNT = 17, MOST_KEPT_BYTES = 1 << 20 };

typedef struct spare_record {
  struct spare_record *next;
} spare_record;

typedef struct spare_records {
  spare_record *first[CLASS_COUNT];
  size_t room;  // how many more bytes may be kept; 0 before the thread has freed its first record, and once it ends
  bool has_started;  // whether release_spares will be called when the thread ends
} spare_records;

static TSRI_THREAD_LOCAL spare_records spares;

static void release_spares(void) {
  for (int i = 0; i < CLASS_COUNT; i++) {
    for (spare_record *record = spares.first[i], *next; record; record = next) {
      next = record->next;
      free(record);
    }
    spares.first[i] = NULL;
  }
  spares.room = 0;
}

static tsri_thread_end end_of_thread = {.release = release_spares};

static size_t class_of(size_t bytes) { return (bytes + CLASS_BYTES - 1) / CLASS_BYTES; }

void *tsri_record_alloc(size_t bytes) {
  size_t class = class_of(bytes);
  spare_records *kept = &spares;
  spare_record *record = class < CLASS_COUNT ? kept->first[class] : NULL;
  if (!record || atomic_load_explicit(&armed, memory_order_relaxed)) {
    return tsri_malloc(class < CLASS_COUNT ? class * CLASS_BYTES : bytes);
  }
  kept->first[class] = record->next;
  kept->room += class * CLASS_BYTES;
  return record;
}

// Frees a record that the thread does not keep: it is too large, or the thread has no room for it. A thread has no room before it frees its first record; this
// function then gives it room for the next ones.
static void free_or_start(spare_records *kept, void *memory) {
  if (RECYCLES && !kept->has_started) {
    kept->has_started = true;
    kept->room = MOST_KEPT_BYTES;
    tsri_thread_end_set(&end_of_thread, true);
  }
  free(memory);
}

void tsri_record_free(void *memory, size_t bytes) {
  size_t class = class_of(bytes), all = class * CLASS_BYTES;
  spare_records *kept = &spares;
  if (!memory || class >= CLASS_COUNT || kept->room < all) {
    free_or_start(kept, memory);
    return;
  }
  spare_record *record = memory;
  record->next = kept->first[class];
  kept->first[class] = record;
  kept->room -= all;
}

// --- Text ---------------------------------------------------------------------------------------------------------------

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

// --- Pages --------------------------------------------------------------------------------------------------------------

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

// --- Arithmetic ---------------------------------------------------------------------------------------------------------

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
