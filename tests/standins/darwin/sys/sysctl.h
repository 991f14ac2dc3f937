// SPDX-License-Identifier: MIT
// What our files use of Apple's <sys/sysctl.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_SYS_SYSCTL_H
#define STANDIN_DARWIN_SYS_SYSCTL_H

#include <stddef.h>
int sysctlbyname(const char *, void *, size_t *, void *, size_t);

#endif
