// SPDX-License-Identifier: MIT
// What our files use of Apple's <pthread.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_PTHREAD_H
#define STANDIN_DARWIN_PTHREAD_H

#include <stddef.h>
#include <time.h>
typedef struct pthread *pthread_t;
typedef unsigned long pthread_key_t;
typedef struct pthread_mutex {
  long sig;
  char opaque[56];
} pthread_mutex_t;
typedef struct pthread_cond {
  long sig;
  char opaque[40];
} pthread_cond_t;
typedef struct pthread_attr {
  long sig;
  char opaque[56];
} pthread_attr_t;
typedef struct pthread_once {
  long sig;
  char opaque[8];
} pthread_once_t;
#define PTHREAD_MUTEX_INITIALIZER \
  {                               \
    0x32AAABA7, { 0 }             \
  }
#define PTHREAD_COND_INITIALIZER \
  {                              \
    0x3CB0B1BB, { 0 }            \
  }
#define PTHREAD_ONCE_INIT \
  {                       \
    0x30B1BCBA, { 0 }     \
  }
int pthread_mutex_init(pthread_mutex_t *, const void *);
int pthread_mutex_destroy(pthread_mutex_t *);
int pthread_mutex_lock(pthread_mutex_t *);
int pthread_mutex_trylock(pthread_mutex_t *);
int pthread_mutex_unlock(pthread_mutex_t *);
typedef struct pthread_condattr_t {
  long opaque[2];
} pthread_condattr_t;
int pthread_condattr_init(pthread_condattr_t *);
int pthread_condattr_destroy(pthread_condattr_t *);
int pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
pthread_t pthread_self(void);
int pthread_equal(pthread_t, pthread_t);
int pthread_cond_init(pthread_cond_t *, const pthread_condattr_t *);
int pthread_cond_destroy(pthread_cond_t *);
int pthread_cond_wait(pthread_cond_t *, pthread_mutex_t *);
int pthread_cond_signal(pthread_cond_t *);
int pthread_cond_broadcast(pthread_cond_t *);
int pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int pthread_join(pthread_t, void **);
int pthread_detach(pthread_t);
int pthread_once(pthread_once_t *, void (*)(void));
int pthread_atfork(void (*)(void), void (*)(void), void (*)(void));
int pthread_key_create(pthread_key_t *, void (*)(void *));
int pthread_key_delete(pthread_key_t);
int pthread_setspecific(pthread_key_t, const void *);
int pthread_sigmask(int, const unsigned int *, unsigned int *);
void pthread_jit_write_protect_np(int);
int pthread_attr_init(pthread_attr_t *);
int pthread_attr_destroy(pthread_attr_t *);
int pthread_attr_setstacksize(pthread_attr_t *, size_t);

#endif
