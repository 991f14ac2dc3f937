// SPDX-License-Identifier: MIT
// The list of backends, built-in ones and plug-ins, each with its state.
#ifndef TSRI_REGISTRY_H
#define TSRI_REGISTRY_H

#include <tessera/device.h>

#include "backends/backend.h"
#include "runtime/config.h"

// Limit for backends and plug-ins together.
#define TSRI_MAX_BACKENDS 64

typedef struct tsri_backend_entry {
  const char *name, *title;
  const tsri_backend *table;  // NULL: planned, or a plug-in that could not be loaded
  const char *plugin_path;    // NULL: built in
  bool is_hidden;             // can be opened by name but is not listed
  bool is_started;
  tsr_status status;  // of loading and starting it
  char reason[512];   // why it cannot be used; empty if it can
} tsri_backend_entry;

// Locks the registry. Entries and the discovery functions of backends may be used only while it is locked; until
// tsri_registry_unlock, backends read their settings from `config`. First looks for plug-ins in config->plugin_path,
// unless `backend` (NULL: any) is the name of a built-in one: then no foreign code is loaded.
//
// Errors: TSR_ERR_OUT_OF_MEMORY; then the lock is not held.
tsr_status tsri_registry_lock(const tsri_config *config, const char *backend);
void tsri_registry_unlock(void);

// Only locks, without looking for plug-ins: for closing a device, which must not happen while another thread looks for
// devices.
void tsri_registry_hold(void);

int tsri_registry_count(void);
tsri_backend_entry *tsri_registry_at(int index);
tsri_backend_entry *tsri_registry_find(const char *name);  // NULL if there is none
bool tsri_registry_is_built_in(const char *name);          // in lower case; any thread, without the lock

// Starts the backend if it has not been started; sets entry->status and entry->reason. A start that failed is tried
// again, because a driver may have been installed since.
tsr_status tsri_registry_start(tsri_backend_entry *entry);

// Writes "auto, cuda, …", the names a caller may use, for messages. Returns `text`.
char *tsri_registry_names(char *text, size_t text_bytes);

// Fills `order` (room for TSRI_MAX_BACKENDS) with the indices of all entries: first those named in `priority`
// ("vulkan,cpu", or NULL), then the rest. `place` tells where the list came from, for messages.
//
// Errors: TSR_ERR_CONFIG (no backend has such a name), TSR_ERR_UNSUPPORTED (more than TSRI_MAX_BACKENDS).
tsr_status tsri_registry_order(const char *priority, const char *place, int *order);

// The entry's position in that order as a number: a lower one is earlier. A built-in backend has the same rank whether
// plug-ins were looked for or not.
int tsri_registry_rank(const char *priority, const tsri_backend_entry *entry);

#endif
