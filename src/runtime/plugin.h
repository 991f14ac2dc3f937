// SPDX-License-Identifier: MIT
// Backends in shared libraries, found in the folders of TESSERA_PLUGIN_PATH. Call all of these with the registry's lock
// held.
#ifndef TSRI_PLUGIN_H
#define TSRI_PLUGIN_H

#include "runtime/registry.h"

// Loads the new plug-ins in these folders (separated as in PATH; NULL: none). After this, only plug-ins of these
// folders are listed. A file that cannot be used becomes an entry with its reason, not an error. The same holds for a
// folder or file that somebody other than root and the user could change (platform/trust.h): nothing in it is loaded,
// and it is checked again by the next call.
//
// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_plugins_scan(const char *folders);

int tsri_plugins_count(void);
tsri_backend_entry *tsri_plugins_at(int index);

#endif
