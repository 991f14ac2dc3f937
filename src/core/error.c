// SPDX-License-Identifier: MIT
// Names and texts of statuses, and the last error of each thread.
#include "core/error.h"

#include <stdio.h>
#include <string.h>

#include "platform/platform.h"

static TSRI_THREAD_LOCAL tsri_error_record last_error;

static const char *const status_names[] = {
#define TSRI_X(name, text) "TSR_" #name,
    TSR_STATUSES(TSRI_X)
#undef TSRI_X
};

static const char *const status_texts[] = {
#define TSRI_X(name, text) text,
    TSR_STATUSES(TSRI_X)
#undef TSRI_X
};

static bool is_status(tsr_status status) { return (unsigned)status < TSR_STATUS_COUNT; }

const char *tsr_status_name(tsr_status status) { return is_status(status) ? status_names[status] : "TSR_ERR_?"; }

const char *tsr_status_text(tsr_status status) {
  return is_status(status) ? status_texts[status] : "a number that is no status";
}

const char *tsr_last_error(void) { return last_error.message; }

tsr_status tsr_last_error_status(void) { return last_error.status; }

const char *tsr_last_error_place(void) { return last_error.place; }

void tsr_clear_error(void) {
  last_error.status = TSR_OK;
  last_error.place[0] = 0;
  last_error.message[0] = 0;
}

void tsri_error_keep(tsri_error_record *out_kept) { *out_kept = last_error; }

void tsri_error_restore(const tsri_error_record *kept) { last_error = *kept; }

// Ends a message that was cut off with "…", and removes a partial UTF-8 character before it.
static void mark_cut(char *message) {
  size_t at = TSRI_ERROR_BYTES - 4;
  while (at > 0 && ((unsigned char)message[at] & 0xC0) == 0x80) at--;
  memcpy(message + at, "…", 4);
}

tsr_status tsri_fail_va(tsr_status status, const char *place, const char *format, va_list args) {
  char message[TSRI_ERROR_BYTES];  // a copy, because `args` may point into the old message
  int length = vsnprintf(message, sizeof message, format, args);
  if (length < 0) message[0] = 0;
  if (length >= (int)sizeof message) mark_cut(message);
  memcpy(last_error.message, message, strlen(message) + 1);
  snprintf(last_error.place, sizeof last_error.place, "%s", place);
  last_error.status = status;
  return status;
}

// The message without the name of an operator ("mul: ") in front of it.
static const char *after_name(const char *message) {
  size_t length = strspn(message, "abcdefghijklmnopqrstuvwxyz0123456789_");
  return length > 0 && strncmp(message + length, ": ", 2) == 0 ? message + length + 2 : message;
}

tsr_status tsri_fail_as(const char *caller, tsr_status status) {
  const char *message = last_error.message;
  size_t length = strlen(caller);
  if (strncmp(message, caller, length) == 0 && strncmp(message + length, ": ", 2) == 0) return status;
  bool is_mistake = status == TSR_ERR_SHAPE || status == TSR_ERR_DTYPE || status == TSR_ERR_INVALID_ARGUMENT;
  char place[sizeof last_error.place];
  memcpy(place, last_error.place, sizeof place);
  return tsri_fail(status, place, "%s: %s", caller, is_mistake ? after_name(message) : message);
}

tsr_status tsri_fail(tsr_status status, const char *place, const char *format, ...) {
  va_list args;
  va_start(args, format);
  tsri_fail_va(status, place, format, args);
  va_end(args);
  return status;
}
