// SPDX-License-Identifier: MIT
// What our files use of Apple's <errno.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_ERRNO_H
#define STANDIN_DARWIN_ERRNO_H

int *__error(void);
#define errno  (*__error())
#define EINTR  4
#define ENOENT 2
#define ELOOP  62
#define EEXIST 17
#define EACCES 13

#define ETIMEDOUT   60
#define EWOULDBLOCK 35

#endif
