// SPDX-License-Identifier: MIT
// What our files use of Apple's <sys/file.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_SYS_FILE_H
#define STANDIN_DARWIN_SYS_FILE_H

#define LOCK_EX 2
#define LOCK_NB 4
int flock(int, int);

#endif
