// SPDX-License-Identifier: MIT
// Which parts of its environment a process may trust: variables that somebody else may have set, files and folders that
// somebody else may change. Like platform.h: one implementation per system, which includes no other header of ours.
#ifndef TSRI_TRUST_H
#define TSRI_TRUST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define TSRI_PATH_BYTES 4096  // longest resolved path

// Whether the process has rights that the user who started it does not have: a set-user-ID or set-group-ID program, or
// one with file capabilities. Environment and home folder are then controlled by a user who must not get these rights.
// The answer does not change while the process runs, even if it gives up the rights.
bool tsri_has_borrowed_rights(void);

// As getenv, but NULL for an empty variable, and NULL for every variable in a process with borrowed rights.
const char *tsri_environment(const char *name);

// Whether only root and the user of this process can change the file or folder at `path`: they own it and all folders
// above it, and no mode lets others write. A folder above it may let others write if it is sticky, like /tmp: there
// they cannot replace files they do not own. In a process with borrowed rights, the user who started it counts as one
// of the others.
//
// True: `resolved` is the path without symbolic links, which stays trusted; use it instead of `path`. False: `reason`
// names the file or folder that is not trusted, and what to do.
bool tsri_path_is_trusted(const char *path, char resolved[TSRI_PATH_BYTES], char *reason, size_t reason_bytes);

// Opens a regular file for reading if only root and this user can write it; otherwise NULL. Does not wait for a FIFO or
// a device at this path.
FILE *tsri_private_file_open(const char *path);

// Creates a file that only this user may read and write; NULL if a file or link with this name exists.
FILE *tsri_private_file_create(const char *path);

// Seconds since the file was last written; -1 if that cannot be determined, or it is not a regular file.
double tsri_file_age(const char *path);

// The size of a regular file. False if that cannot be determined.
bool tsri_file_bytes(const char *path, uint64_t *out_bytes);

// Sets the time at which the file was last written to now.
void tsri_file_touch(const char *path);

// Locks the folder against other processes that call this function, until tsri_folder_unlock or the end of this process. Negative: not locked, because the system
// cannot lock this folder, or another process has held the lock for a second. The caller then continues without the lock.
int tsri_folder_lock(const char *folder);
void tsri_folder_unlock(int lock);

#endif
