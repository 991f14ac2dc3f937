// SPDX-License-Identifier: MIT
// Trust in variables, files and folders on POSIX systems, by owner and mode. Access control lists need no extra check:
// if one grants write access, the group bits of the mode show it.
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include "platform/trust.h"

// Asks the kernel where it has an answer: that includes file capabilities, and is the state when the program started.
bool tsri_has_borrowed_rights(void) {
#if defined(__linux__)
  if (getauxval(AT_SECURE)) return true;
#else
  if (issetugid()) return true;
#endif
  return getuid() != geteuid() || getgid() != getegid();
}

const char *tsri_environment(const char *name) {
  const char *value = tsri_has_borrowed_rights() ? NULL : getenv(name);
  return value && *value ? value : NULL;
}

// In a process with borrowed rights, an effective user equal to the real one is the user who started it, who is not
// trusted.
static bool is_trusted_owner(uid_t owner) {
  if (owner == 0) return true;
  return owner == geteuid() && (!tsri_has_borrowed_rights() || geteuid() != getuid());
}

// Writes the reason, cut to `reason_bytes`.
static void say(char *reason, size_t reason_bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void say(char *reason, size_t reason_bytes, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vsnprintf(reason, reason_bytes, format, args);
  va_end(args);
}

static bool check_facts(const struct stat *facts, const char *path, bool is_above, char *reason, size_t reason_bytes) {
  const char *kind = S_ISDIR(facts->st_mode) ? "folder" : "file";
  unsigned mode = (unsigned)facts->st_mode & 07777u;
  if (!is_trusted_owner(facts->st_uid)) {
    say(reason, reason_bytes, "the %s %s belongs to user %ld, who is neither root nor the user of this process", kind,
        path, (long)facts->st_uid);
    return false;
  }
  bool is_sticky_above = is_above && (mode & S_ISVTX);
  if ((mode & (S_IWGRP | S_IWOTH)) && !is_sticky_above) {
    say(reason, reason_bytes, "the %s %s can be written by others (mode %04o; chmod go-w ends that)", kind, path, mode);
    return false;
  }
  return true;
}

static bool check_at(const char *path, bool is_above, char *reason, size_t reason_bytes) {
  struct stat facts;
  if (lstat(path, &facts) == 0) return check_facts(&facts, path, is_above, reason, reason_bytes);
  say(reason, reason_bytes, "%s: %s", path, strerror(errno));
  return false;
}

bool tsri_path_is_trusted(const char *path, char resolved[TSRI_PATH_BYTES], char *reason, size_t reason_bytes) {
  char *real = realpath(path, NULL);
  size_t length = real ? strlen(real) : 0;
  if (!real || length >= TSRI_PATH_BYTES) {
    say(reason, reason_bytes, "%s: %s", path, real ? "the path is too long" : strerror(errno));
    free(real);
    return false;
  }
  memcpy(resolved, real, length + 1);
  free(real);
  bool is_trusted = check_at("/", length > 1, reason, reason_bytes);
  for (size_t i = 1; i <= length && is_trusted && length > 1; i++) {
    if (resolved[i] != '/' && resolved[i] != 0) continue;
    char after = resolved[i];
    resolved[i] = 0;
    is_trusted = check_at(resolved, after != 0, reason, reason_bytes);
    resolved[i] = after;
  }
  return is_trusted;
}

// With O_NONBLOCK, opening a FIFO that nobody writes to returns at once; for a regular file it has no effect.
FILE *tsri_private_file_open(const char *path) {
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
  if (file < 0) return NULL;
  struct stat facts;
  char reason[64];
  bool is_private =
      fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && check_facts(&facts, "", false, reason, sizeof reason);
  FILE *stream = is_private ? fdopen(file, "rb") : NULL;
  if (!stream) close(file);
  return stream;
}

FILE *tsri_private_file_create(const char *path) {
  int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) return NULL;
  FILE *stream = fdopen(file, "wb");
  if (!stream) {
    close(file);
    unlink(path);
  }
  return stream;
}

double tsri_file_age(const char *path) {
  struct stat facts;
  if (lstat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) return -1;
#if defined(__APPLE__)
  const struct timespec written = facts.st_mtimespec;
#else
  const struct timespec written = facts.st_mtim;
#endif
  struct timespec now = {0};
  (void)clock_gettime(CLOCK_REALTIME, &now);
  double age = difftime(now.tv_sec, written.tv_sec) + (double)(now.tv_nsec - written.tv_nsec) * 1e-9;
  return age > 0 ? age : 0;
}

bool tsri_file_bytes(const char *path, uint64_t *out_bytes) {
  struct stat facts;
  if (lstat(path, &facts) != 0 || !S_ISREG(facts.st_mode)) return false;
  *out_bytes = (uint64_t)facts.st_size;
  return true;
}

void tsri_file_touch(const char *path) { (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); }

// Polls with a time limit instead of waiting: another process that is stopped while it holds the lock must not block this one.
int tsri_folder_lock(const char *folder) {
  enum { TRIES = 1000 };
  const struct timespec millisecond = {.tv_nsec = 1000000};
  int file = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < TRIES && file >= 0; i++) {
    if (flock(file, LOCK_EX | LOCK_NB) == 0) return file;
    if (errno != EWOULDBLOCK && errno != EINTR) break;
    (void)nanosleep(&millisecond, NULL);
  }
  if (file >= 0) close(file);
  return -1;
}

void tsri_folder_unlock(int lock) {
  if (lock >= 0) close(lock);
}
