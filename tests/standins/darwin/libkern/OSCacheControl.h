// SPDX-License-Identifier: MIT
// What our files use of Apple's <libkern/OSCacheControl.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_LIBKERN_OSCACHECONTROL_H
#define STANDIN_DARWIN_LIBKERN_OSCACHECONTROL_H

#include <stddef.h>
void sys_icache_invalidate(void *, size_t);

#endif
