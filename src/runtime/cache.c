// SPDX-License-Identifier: MIT
// <tessera/cache.h>: the cache folder as users see it.
#include <tessera/cache.h>

#include <string.h>

#include "backends/common/cache_folder.h"
#include "backends/common/disk_cache.h"
#include "core/alloc.h"
#include "core/error.h"
#include "runtime/config.h"

// The public list, and what its texts belong to.
typedef struct cache_listing {
  tsr_cache_list list;  // must be first
  tsri_cache_entries found;
  tsr_cache_file *files;
  char *folder;
  char reason[400];
} cache_listing;

static tsr_status no_memory(void) { return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "cache: no host memory for its list"); }

// Settings may have changed since a device was opened: resolving them sets the limit.
static tsr_status resolve(void) {
  tsri_config config;
  tsr_status status = tsri_config_resolve(&config);
  tsri_config_deinit(&config);
  return status;
}

static tsr_status fill(cache_listing *listing) {
  listing->folder = tsri_cache_folder(listing->reason, sizeof listing->reason);
  if (listing->folder && !listing->reason[0]) tsri_cache_entries_init(&listing->found, listing->folder);
  listing->files = tsri_calloc((size_t)listing->found.count + 1, sizeof *listing->files);
  if (!listing->files || listing->found.has_failed) return no_memory();
  for (int i = 0; i < listing->found.count; i++) {
    const tsri_cache_entry *entry = &listing->found.entries[i];
    listing->files[i] = (tsr_cache_file){entry->name, entry->bytes, entry->age};
  }
  listing->list = (tsr_cache_list){.folder = listing->folder ? listing->folder : "",
                                   .reason = listing->reason,
                                   .files = listing->files,
                                   .file_count = listing->found.count,
                                   .bytes = listing->found.bytes,
                                   .limit_bytes = tsri_cache_limit()};
  return TSR_OK;
}

tsr_status tsr_cache_list_load(tsr_cache_list **out_list) {
  if (!out_list) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "cache_list_load: out_list is NULL");
  *out_list = NULL;
  tsr_status status = resolve();
  if (status != TSR_OK) return status;
  cache_listing *listing = tsri_calloc(1, sizeof *listing);
  status = listing ? fill(listing) : no_memory();
  if (status == TSR_OK) *out_list = &listing->list;
  else tsr_cache_list_release(listing ? &listing->list : NULL);
  return status;
}

void tsr_cache_list_release(tsr_cache_list *list) {
  if (!list) return;
  cache_listing *listing = (cache_listing *)list;
  tsri_cache_entries_deinit(&listing->found);
  tsri_free(listing->files);
  tsri_free(listing->folder);
  tsri_free(listing);
}

tsr_status tsr_cache_trim(uint64_t most_bytes, uint64_t *out_bytes) {
  char reason[400] = "";
  uint64_t kept = 0;
  if (out_bytes) *out_bytes = 0;
  tsr_status status = resolve();
  if (status != TSR_OK) return status;
  char *folder = tsri_cache_folder(reason, sizeof reason);
  if (!folder || reason[0]) {
    status = TSRI_FAIL(TSR_ERR_IO, "cache_trim: %s", reason[0] ? reason : "there is no cache folder");
  } else {
    uint64_t removed = tsri_cache_remove_oldest(folder, most_bytes, NULL, &kept);
    if (out_bytes) *out_bytes = removed;
    if (kept > most_bytes) status = TSRI_FAIL(TSR_ERR_IO, "cache_trim: %s: some files could not be removed", folder);
  }
  tsri_free(folder);
  return status;
}
