// SPDX-License-Identifier: MIT
// What our files use of Apple's <dirent.h>, to check their syntax elsewhere (tests/standins/README.md).
#ifndef STANDIN_DARWIN_DIRENT_H
#define STANDIN_DARWIN_DIRENT_H

typedef struct DIR DIR;
struct dirent {
  char d_name[1024];
};
DIR *opendir(const char *);
struct dirent *readdir(DIR *);
int closedir(DIR *);

#endif
