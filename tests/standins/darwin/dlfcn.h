// SPDX-License-Identifier: MIT
// What our files use of Apple's <dlfcn.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_DLFCN_H
#define STANDIN_DARWIN_DLFCN_H

#define RTLD_NOW   2
#define RTLD_LOCAL 4
void *dlopen(const char *, int);
void *dlsym(void *, const char *);
int dlclose(void *);
char *dlerror(void);

#endif
