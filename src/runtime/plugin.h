// SPDX-License-Identifier: MIT
// Backends in shared libraries, found in the folders of TESSERA_PLUGIN_PATH. Used under the registry's lock.
#ifndef TSRI_PLUGIN_H
#define TSRI_PLUGIN_H

#include "runtime/registry.h"

// Loads what is new in these folders (separated as PATH is; NULL: none). From then on only plug-ins of these folders count.
// A file that cannot be used becomes an entry with its reason: no error here. So does a folder or file that others than
// root and the user could change (platform/trust.h): nothing in it is loaded, and it is looked at again next time.
//
// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_plugins_scan(const char *folders);

int tsri_plugins_count(void);
tsri_backend_entry *tsri_plugins_at(int index);

#endif
