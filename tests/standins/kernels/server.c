// SPDX-License-Identifier: MIT
// A library that is loaded into clang (LD_PRELOAD) and makes it a server: most of what a small kernel takes to compile is
// clang's own start, so one process starts once and forks for each compilation.
//
// Standard input is a socket. A request is one message of strings that each end with a 0: the file for messages, then the
// arguments. The answer is the status of the process as waitpid gives it. The server sends a 0 when it is ready, and ends
// when nobody is left at the other end.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "standins/kernels/compiler.h"

typedef int (*main_fn)(int argc, char **argv, char **environment);
typedef int (*start_fn)(main_fn, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

static main_fn compiler_main;

static int compile(char *request, size_t bytes, char **environment) {
  char *arguments[STANDIN_MOST_ARGUMENTS + 1];
  int count = 0;
  for (char *at = request + strlen(request) + 1; at < request + bytes && count < STANDIN_MOST_ARGUMENTS;
       at += strlen(at) + 1)
    arguments[count++] = at;
  arguments[count] = NULL;
  int log = open(request, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  if (log < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0) return 1;
  return compiler_main(count, arguments, environment);
}

static int answer(char *request, size_t bytes, char **environment) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) _exit(compile(request, bytes, environment));  // without the destructors of clang's objects
  if (child < 0) return errno;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return status;
}

static int serve(int argc, char **argv, char **environment) {
  static char request[STANDIN_MOST_REQUEST + 1];
  int status = 0;
  (void)argc, (void)argv;
  while (send(0, &status, sizeof status, MSG_NOSIGNAL) == (ssize_t)sizeof status) {
    ssize_t bytes = recv(0, request, STANDIN_MOST_REQUEST, 0);
    if (bytes <= 0) break;
    request[bytes] = '\0';
    status = answer(request, (size_t)bytes, environment);
  }
  return 0;
}

// Takes the place of the C library's function that calls main.
int __libc_start_main(main_fn given, int argc, char **argv, void (*init)(void), void (*finish)(void),
                      void (*rtld_finish)(void), void *stack_end);
int __libc_start_main(main_fn given, int argc, char **argv, void (*init)(void), void (*finish)(void),
                      void (*rtld_finish)(void), void *stack_end) {
  start_fn start = NULL;
  void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");
  memcpy(&start, &symbol, sizeof start);
  compiler_main = given;
  (void)unsetenv("LD_PRELOAD");
  return start(serve, argc, argv, init, finish, rtld_finish, stack_end);
}
