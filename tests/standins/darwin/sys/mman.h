// SPDX-License-Identifier: MIT
// What our files use of Apple's <sys/mman.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_SYS_MMAN_H
#define STANDIN_DARWIN_SYS_MMAN_H

#include <stddef.h>
#define PROT_READ   1
#define PROT_WRITE  2
#define PROT_EXEC   4
#define MAP_PRIVATE 2
#define MAP_ANON    0x1000
#define MAP_JIT     0x0800
#define MAP_FAILED  ((void *)-1)
void *mmap(void *, size_t, int, int, int, long long);
int munmap(void *, size_t);
int mprotect(void *, size_t, int);

#endif
