// SPDX-License-Identifier: MIT
// What our files use of Apple's <stdio.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_STDIO_H
#define STANDIN_DARWIN_STDIO_H

#include <stdarg.h>
#include <stddef.h>
typedef struct FILE FILE;
extern FILE *stderr;
int snprintf(char *, size_t, const char *, ...);
int vsnprintf(char *, size_t, const char *, va_list);
int fprintf(FILE *, const char *, ...);
FILE *fdopen(int, const char *);
FILE *fopen(const char *, const char *);
int fclose(FILE *);

#endif
