// SPDX-License-Identifier: MIT
// What our files use of Apple's <string.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_STRING_H
#define STANDIN_DARWIN_STRING_H

#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
size_t strlen(const char *);
size_t strspn(const char *, const char *);
size_t strcspn(const char *, const char *);
char *strchr(const char *, int);
char *strrchr(const char *, int);
char *strstr(const char *, const char *);
char *strerror(int);

#endif
