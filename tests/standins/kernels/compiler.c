// SPDX-License-Identifier: MIT
#include "standins/kernels/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

int standin_run_program(char *const *arguments, const char *log_path) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  int code = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0) return code;
  int status = 0;
  while (waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) return errno;
  }
  return status;
}

// --- The server -----------------------------------------------------------------------------------------------------

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;  // protects what follows
static pid_t owner;                                       // the process that started the server; a fork starts its own
static int channel = -1;                                  // -1: there is none, compilers are started one by one

// The environment with the server's library in front of the compiler's. The caller frees the array.
static char **environment_of_server(void) {
  static char preload[] = "LD_PRELOAD=" STANDIN_SERVER;
  size_t count = 0, kept = 0;
  while (environ[count]) count++;
  char **copy = calloc(count + 2, sizeof *copy);
  if (!copy) abort();
  for (size_t i = 0; i < count; i++) {
    if (strncmp(environ[i], "LD_PRELOAD=", 11) != 0) copy[kept++] = environ[i];
  }
  copy[kept] = preload;
  return copy;
}

static bool receive(int *out_status) {
  ssize_t bytes = 0;
  do bytes = recv(channel, out_status, sizeof *out_status, 0);
  while (bytes < 0 && errno == EINTR);
  return bytes == (ssize_t)sizeof *out_status;
}

static void stop(void) {
  if (channel >= 0) (void)close(channel);
  channel = -1;
}

static void start(char *program) {
  int ends[2], status = 0;
  char *const arguments[] = {program, NULL};
  pid_t child = 0;
  stop();
  owner = getpid();
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 0);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  char **environment = environment_of_server();
  int code = posix_spawnp(&child, program, &actions, NULL, arguments, environment);
  posix_spawn_file_actions_destroy(&actions);
  free(environment);
  (void)close(ends[1]);
  channel = ends[0];
  if (code != 0 || !receive(&status)) stop();
}

// Returns whether the server has compiled; its status is in *out_status.
static bool ask(char *const *arguments, const char *log_path, int *out_status) {
  char request[STANDIN_MOST_REQUEST];
  size_t bytes = strlen(log_path) + 1;
  if (bytes > sizeof request) return false;
  memcpy(request, log_path, bytes);
  for (; *arguments; arguments++) {
    size_t more = strlen(*arguments) + 1;
    if (bytes + more > sizeof request) return false;
    memcpy(request + bytes, *arguments, more);
    bytes += more;
  }
  if (send(channel, request, bytes, MSG_NOSIGNAL) == (ssize_t)bytes && receive(out_status)) return true;
  stop();
  return false;
}

int standin_run_compiler(char *const *arguments, const char *log_path) {
  int status = 0;
  bool is_done = false;
  if (pthread_mutex_trylock(&lock) == 0) {  // another thread's compilation is not waited for
    if (owner != getpid()) start(arguments[0]);
    is_done = channel >= 0 && ask(arguments, log_path, &status);
    pthread_mutex_unlock(&lock);
  }
  return is_done ? status : standin_run_program(arguments, log_path);
}
