// SPDX-License-Identifier: MIT
// Choosing a device: the rules behind tsr_discover and tsr_device_open.
#ifndef TSRI_SELECT_H
#define TSRI_SELECT_H

#include "runtime/config.h"
#include "runtime/registry.h"

// The order of backends in force: tsr_set_priority's, else the configuration's. `order` has room for
// TSRI_MAX_BACKENDS. Under the registry's lock. Errors: those of tsri_registry_order.
tsr_status tsri_select_order(const tsri_config *config, int *order);

// Whether a device may be chosen without its backend being named.
bool tsri_select_is_automatic(const tsri_backend_entry *entry, const tsr_device_info *info);

// Whether tsr_device_open(NULL, …) would try this device, by the configured backend, index and required bytes.
bool tsri_select_is_wanted(const tsri_config *config, const tsri_backend_entry *entry, const tsr_device_info *info);

#endif
