// SPDX-License-Identifier: MIT
// What our files use of Apple's <TargetConditionals.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_TARGETCONDITIONALS_H
#define STANDIN_DARWIN_TARGETCONDITIONALS_H

#define TARGET_OS_MAC 1
#if defined(__ENVIRONMENT_IPHONE_OS_VERSION_MIN_REQUIRED__)
#define TARGET_OS_IPHONE 1
#define TARGET_OS_OSX    0
#else
#define TARGET_OS_IPHONE 0
#define TARGET_OS_OSX    1
#endif

#endif
