// SPDX-License-Identifier: MIT
// What a process may believe of its surroundings: variables that somebody else may have set, files and folders that
// somebody else may change. Like platform.h: one implementation per system, includes nothing of ours.
#ifndef TSRI_TRUST_H
#define TSRI_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TSRI_PATH_BYTES 4096  // longest resolved path

// Whether the process runs with rights that the user who started it does not have: a set-user-ID or set-group-ID
// program, or one with file capabilities. Environment and home folder are then in the hands of somebody who must not
// get these rights. The answer stays the same while the process runs, also after it has given the rights up.
bool tsri_has_borrowed_rights(void);

// getenv, but NULL for a variable that is empty, and NULL for every variable in a process with borrowed rights.
const char *tsri_environment(const char *name);

// Whether nobody but root and the user of this process can change the file or folder at `path`: both own it and all
// folders above it, and no mode lets others write. A folder above it may let others write if it is sticky, like /tmp:
// there they cannot replace what they do not own. In a process with borrowed rights the user who started it is one of
// the others.
//
// True: `resolved` is the path without links, which stays trusted; use it in place of `path`.
// False: `reason` says which file or folder is the obstacle, and what to do.
bool tsri_path_is_trusted(const char *path, char resolved[TSRI_PATH_BYTES], char *reason, size_t reason_bytes);

// Opens a regular file for reading that nobody but root and this user can write; NULL for everything else. A FIFO or
// a device at this path is not waited for.
FILE *tsri_private_file_open(const char *path);

// Creates a file that only this user may read and write; NULL if there is one already, or a link.
FILE *tsri_private_file_create(const char *path);

// Seconds since the file was last written; -1 if it cannot be asked, or is not a regular file.
double tsri_file_age(const char *path);

#endif
