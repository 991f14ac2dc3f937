// SPDX-License-Identifier: MIT
// What our files use of Apple's <sys/stat.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_SYS_STAT_H
#define STANDIN_DARWIN_SYS_STAT_H

#include <time.h>
#include <unistd.h>
typedef unsigned short mode_t;
struct stat {
  mode_t st_mode;
  uid_t st_uid;
  gid_t st_gid;
  long long st_size;
  struct timespec st_mtimespec;
};
int utimensat(int, const char *, const struct timespec[2], int);
#define st_mtime   st_mtimespec.tv_sec
#define S_IFMT     0170000
#define S_ISREG(m) (((m)&S_IFMT) == 0100000)
#define S_ISDIR(m) (((m)&S_IFMT) == 0040000)
#define S_ISLNK(m) (((m)&S_IFMT) == 0120000)
#define S_IWGRP    020
#define S_IWOTH    02
#define S_ISVTX    01000
#define S_IRUSR    0400
#define S_IWUSR    0200
int stat(const char *, struct stat *);
int lstat(const char *, struct stat *);
int fstat(int, struct stat *);

#endif
