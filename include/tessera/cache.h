// SPDX-License-Identifier: MIT
// The folder in which built programs and measurements are kept between processes: $XDG_CACHE_HOME/tessera, or ~/.cache/tessera.
//
// All files may be deleted at any time: what is missing is built or measured again. The setting `cache_mb` limits the size of the folder; files that have not been
// used for the longest time are removed first. docs/configuration.md says more.
//
// Threads: any, and any number of processes.
#ifndef TESSERA_CACHE_H
#define TESSERA_CACHE_H

#include <stdint.h>

#include <tessera/export.h>
#include <tessera/status.h>

typedef struct tsr_cache_file {
  const char *name;  // "opencl-0123….bin"
  uint64_t bytes;
  double age_seconds;  // time since its last use, exact to a day
} tsr_cache_file;

typedef struct tsr_cache_list {
  const char *folder;           // empty if there is none
  const char *reason;           // why it is not used: others can write there, say; empty if it is used
  const tsr_cache_file *files;  // the one that was used last comes first
  int file_count;
  uint64_t bytes;        // of all files
  uint64_t limit_bytes;  // of the setting `cache_mb`; 0: nothing is kept
} tsr_cache_list;

// Lists the files of the cache.
//
// Ownership: caller releases with tsr_cache_list_release (which accepts NULL).
// Errors:    TSR_ERR_INVALID_ARGUMENT (NULL), TSR_ERR_CONFIG (a setting), TSR_ERR_OUT_OF_MEMORY. Then `*out_list` is NULL.
TSR_API tsr_status tsr_cache_list_load(tsr_cache_list **out_list);
TSR_API void tsr_cache_list_release(tsr_cache_list *list);

// Removes the files that have not been used for the longest time until at most `most_bytes` are left; 0 removes all. `*out_bytes` (may be NULL) is what was
// removed. Other processes go on with what they have loaded.
//
// Errors: TSR_ERR_CONFIG, TSR_ERR_OUT_OF_MEMORY, TSR_ERR_IO (a file could not be removed, or the folder is not used).
TSR_API tsr_status tsr_cache_trim(uint64_t most_bytes, uint64_t *out_bytes);

#endif
