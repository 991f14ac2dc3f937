// SPDX-License-Identifier: MIT
// What our files use of Apple's <signal.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_SIGNAL_H
#define STANDIN_DARWIN_SIGNAL_H

typedef unsigned int sigset_t;
#define SIG_SETMASK 3
#define SIG_BLOCK   1
int sigfillset(sigset_t *);
int pthread_sigmask(int, const sigset_t *, sigset_t *);

#endif
