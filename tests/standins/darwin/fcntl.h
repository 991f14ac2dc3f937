// SPDX-License-Identifier: MIT
// What our files use of Apple's <fcntl.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_FCNTL_H
#define STANDIN_DARWIN_FCNTL_H

#define O_RDONLY            0
#define O_WRONLY            1
#define O_CREAT             0x200
#define O_EXCL              0x800
#define O_NONBLOCK          4
#define O_NOFOLLOW          0x100
#define O_DIRECTORY         0x100000
#define O_CLOEXEC           0x1000000
#define AT_FDCWD            (-2)
#define AT_SYMLINK_NOFOLLOW 0x20
int open(const char *, int, ...);

#endif
