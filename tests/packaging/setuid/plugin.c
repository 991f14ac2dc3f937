// SPDX-License-Identifier: MIT
// Says with whose rights it was loaded: what must never be root's when somebody else chose the file.
#include <stdio.h>
#include <unistd.h>

__attribute__((constructor)) static void loaded(void) {
  fprintf(stderr, "PLUG-IN LOADED by user %d with the rights of user %d, group %d\n", (int)getuid(), (int)geteuid(),
          (int)getegid());
}
