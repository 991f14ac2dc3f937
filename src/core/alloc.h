// SPDX-License-Identifier: MIT
// Host memory for the library's own records: malloc, with a switch for tests that fails the n-th request, so that every
// failure path can be run. Also arithmetic with overflow checks.
#ifndef TSRI_ALLOC_H
#define TSRI_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// As the C functions of the same name; NULL when memory is out or the fault switch fails the request.
void *tsri_malloc(size_t bytes);
void *tsri_calloc(size_t count, size_t bytes);
void *tsri_realloc(void *memory, size_t bytes);
void tsri_free(void *memory);
char *tsri_strdup(const char *text);
// Formats like printf, into newly allocated memory.
char *tsri_format_text(const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 1, 2)))
#endif
    ;

// As tsri_malloc and tsri_free, for records of which a program creates and frees many, such as nodes and tensors. Each thread keeps up to 1 MiB of the records
// that it frees and reuses them, which takes a third of the time of malloc and free. Pass the same `bytes` to both calls; any thread may free a record.
void *tsri_record_alloc(size_t bytes);
void tsri_record_free(void *memory, size_t bytes);  // takes NULL

// Memory for data, aligned to a page, so that an offset with some alignment gives an address with that alignment.
void *tsri_aligned_alloc(size_t bytes);
void tsri_aligned_free(void *memory);

// Fails the `nth` request from now on, counted from 1 over all threads, and with `and_after` all later ones. 0 switches
// it off. Returns how many requests were made since the last call.
uint64_t tsri_alloc_fail_at(uint64_t nth, bool and_after);

// Return false if the result overflows.
bool tsri_add_size(size_t a, size_t b, size_t *out_sum);
bool tsri_mul_i64(int64_t a, int64_t b, int64_t *out_product);
bool tsri_add_i64(int64_t a, int64_t b, int64_t *out_sum);

#endif
