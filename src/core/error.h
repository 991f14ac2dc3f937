// SPDX-License-Identifier: MIT
// The last error of each thread, and the macro that sets it.
#ifndef TSRI_ERROR_H
#define TSRI_ERROR_H

#include <stdarg.h>
#include <stdbool.h>

#include <tessera/status.h>

#if defined(__FILE_NAME__)
#define TSRI_FILE __FILE_NAME__
#else
#define TSRI_FILE __FILE__
#endif
#define TSRI_TEXT_OF(x)      #x
#define TSRI_LINE_TEXT(line) TSRI_TEXT_OF(line)
#define TSRI_PLACE           TSRI_FILE ":" TSRI_LINE_TEXT(__LINE__)

#if defined(__GNUC__)
#define TSRI_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#else
#define TSRI_PRINTF(format_index, first_arg)
#endif

// Size of the longest message, which ends in "…" if it was cut off.
#define TSRI_ERROR_BYTES 2048

// return TSRI_FAIL(TSR_ERR_SHAPE, "matmul: inner sizes differ, a is %s, b is %s", a, b);
#if defined(__clang_analyzer__)  // it sees one file at a time, so tell it what is returned
#define TSRI_FAIL(status, ...) (tsri_fail((status), TSRI_PLACE, __VA_ARGS__), (status))
#else
#define TSRI_FAIL(status, ...) tsri_fail((status), TSRI_PLACE, __VA_ARGS__)
#endif

// Stores message and place as this thread's last error and returns `status`. Arguments may point into the present
// message ("open: %s", tsr_last_error()).
tsr_status tsri_fail(tsr_status status, const char *place, const char *format, ...) TSRI_PRINTF(3, 4);
tsr_status tsri_fail_va(tsr_status status, const char *place, const char *format, va_list args) TSRI_PRINTF(3, 0);

// For an operator that calls other operators: makes this thread's last error, which one of those raised, an error of
// `caller`. A mistake in the arguments ("mul: shapes differ") gets the caller's name instead ("outer: shapes differ");
// an error of memory or a device ("opencl: …") gets the caller's name as an additional prefix. Returns `status`. Call
// it only after the operator's own inputs have been checked: the message of a failed input is passed on unchanged.
tsr_status tsri_fail_as(const char *caller, tsr_status status);

typedef struct tsri_error_record {
  tsr_status status;
  char place[64];
  char message[TSRI_ERROR_BYTES];
} tsri_error_record;

// A call that succeeds must not change this thread's last error, even if a step that it tried has failed. Such a call stores the error when it begins, and
// restores it when it ends.
void tsri_error_keep(tsri_error_record *out_kept);
void tsri_error_restore(const tsri_error_record *kept);

#endif
