// SPDX-License-Identifier: MIT
// What our files use of Apple's <stdlib.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_STDLIB_H
#define STANDIN_DARWIN_STDLIB_H

#include <stddef.h>
void *malloc(size_t);
void *calloc(size_t, size_t);
void free(void *);
char *getenv(const char *);
char *realpath(const char *, char *);

#endif
