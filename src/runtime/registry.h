// SPDX-License-Identifier: MIT
// The list of backends: built-in ones and plug-ins, each with its state.
#ifndef TSRI_REGISTRY_H
#define TSRI_REGISTRY_H

#include <tessera/device.h>

#include "backends/backend.h"
#include "runtime/config.h"

// Most backends and plug-ins that can be used at once.
#define TSRI_MAX_BACKENDS 64

typedef struct tsri_backend_entry {
  const char *name, *title;
  const tsri_backend *table;  // NULL: planned, or a plug-in that could not be loaded
  const char *plugin_path;    // NULL: built in
  bool is_hidden;             // opened when named, not listed
  bool is_started;
  tsr_status status;  // of loading and starting
  char reason[512];   // why it cannot be used, empty if it can
} tsri_backend_entry;

// Takes the registry for a while, with `config` for the backends to ask until it is given back: entries, and the backends' discovery entries, are used only between the two. Looks for
// plug-ins in config->plugin_path first, unless `backend` (NULL: any) is the name of a built-in one: nobody's code is
// loaded that cannot be meant.
//
// Errors: TSR_ERR_OUT_OF_MEMORY; then the lock is not held.
tsr_status tsri_registry_lock(const tsri_config *config, const char *backend);
void tsri_registry_unlock(void);

// The lock alone, without a look for plug-ins: for closing a device, which is never done while another is being found.
void tsri_registry_hold(void);

int tsri_registry_count(void);
tsri_backend_entry *tsri_registry_at(int index);
tsri_backend_entry *tsri_registry_find(const char *name);  // NULL if there is none
bool tsri_registry_is_built_in(const char *name);          // lower case; any thread, without the lock

// Starts the backend unless it has been; entry->status and entry->reason say how that went. A start that failed is
// tried again: a driver may have been installed meanwhile.
tsr_status tsri_registry_start(tsri_backend_entry *entry);

// "auto, cuda, …": the names one may give, for messages. Returns `text`.
char *tsri_registry_names(char *text, size_t text_bytes);

// Puts the indices of all entries into `order` (room for TSRI_MAX_BACKENDS), first those named in `priority` ("vulkan,cpu", or
// NULL), then the rest. `place` is where the list came from, for the message.
//
// Errors: TSR_ERR_CONFIG (a name that no backend has), TSR_ERR_UNSUPPORTED (more than TSRI_MAX_BACKENDS).
tsr_status tsri_registry_order(const char *priority, const char *place, int *order);

// A number for the place of an entry in that order: less means earlier. A built-in backend has the same one whether
// plug-ins were looked for or not.
int tsri_registry_rank(const char *priority, const tsri_backend_entry *entry);

#endif
