// SPDX-License-Identifier: MIT
// The log: one level that every call reads, and a lock under which lines are written one at a time.
#include "core/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "platform/platform.h"

enum { LINE_BYTES = 2048 };

static atomic_int active_level = TSR_LOG_OFF;

// Guards the variables below, and is held while a line is written.
static tsri_mutex lock = TSRI_MUTEX_INIT;
static bool is_set_by_code;
static tsr_log_fn receiver;
static void *receiver_user;

// True while this thread is inside the receiver. Lines that the receiver causes are dropped, because the lock is held.
static TSRI_THREAD_LOCAL bool is_writing;

static const char *const level_names[] = {
#define TSRI_X(name, lower, text) #lower,
    TSR_LOG_LEVELS(TSRI_X)
#undef TSRI_X
};

static int clamp_level(tsr_log_level level) {
  int number = (int)level;
  if (number < TSR_LOG_OFF) return TSR_LOG_OFF;
  return number < TSR_LOG_LEVEL_COUNT ? number : TSR_LOG_LEVEL_COUNT - 1;
}

void tsr_set_log(tsr_log_level level, tsr_log_fn fn, void *user) {
  tsri_mutex_lock(&lock);
  is_set_by_code = true;
  receiver = fn;
  receiver_user = user;
  atomic_store_explicit(&active_level, clamp_level(level), memory_order_relaxed);
  tsri_mutex_unlock(&lock);
}

void tsri_log_configure(tsr_log_level level) {
  tsri_mutex_lock(&lock);
  if (!is_set_by_code) atomic_store_explicit(&active_level, clamp_level(level), memory_order_relaxed);
  tsri_mutex_unlock(&lock);
}

bool tsri_log_wants(tsr_log_level level) {
  return (int)level > TSR_LOG_OFF && (int)level <= atomic_load_explicit(&active_level, memory_order_relaxed);
}

// Replaces control characters: a message stays one line, and text from outside cannot control the terminal.
static void blank_controls(char *line) {
  for (char *c = line; *c; c++) {
    if ((unsigned char)*c < 0x20 || *c == 0x7F) *c = ' ';
  }
}

// Ends a line that was cut off with "…", and removes a partial UTF-8 character before it.
static void mark_cut(char *line) {
  size_t at = LINE_BYTES - 4;
  while (at > 0 && ((unsigned char)line[at] & 0xC0) == 0x80) at--;
  memcpy(line + at, "…", 4);
}

static void write_line(tsr_log_level level, const char *line) {
  tsri_mutex_lock(&lock);
  if (tsri_log_wants(level)) {  // check again: it may have been switched off while we waited for the lock
    is_writing = true;
    if (receiver) {
      receiver(level, line, receiver_user);
    } else {
      fprintf(stderr, "tessera: %s: %s\n", level_names[level], line);
    }
    is_writing = false;
  }
  tsri_mutex_unlock(&lock);
}

void tsri_log(tsr_log_level level, const char *format, ...) {
  if (!tsri_log_wants(level) || is_writing) return;
  int saved_errno = errno;  // logging must not change the caller's errno
  char line[LINE_BYTES];
  va_list args;
  va_start(args, format);
  int length = vsnprintf(line, sizeof line, format, args);
  va_end(args);
  if (length >= 0) {
    if (length >= LINE_BYTES) mark_cut(line);
    blank_controls(line);
    write_line(level, line);
  }
  errno = saved_errno;
}
