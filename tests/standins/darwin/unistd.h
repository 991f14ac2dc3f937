// SPDX-License-Identifier: MIT
// What our files use of Apple's <unistd.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_UNISTD_H
#define STANDIN_DARWIN_UNISTD_H

#include <stddef.h>
typedef unsigned int uid_t;
typedef unsigned int gid_t;
typedef int pid_t;
pid_t getpid(void);
uid_t getuid(void);
uid_t geteuid(void);
gid_t getgid(void);
gid_t getegid(void);
int issetugid(void);
int close(int);
int unlink(const char *);
long readlink(const char *, char *, size_t);

#endif
