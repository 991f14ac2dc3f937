// SPDX-License-Identifier: MIT
// Choosing a device: the rules of tsr_discover and tsr_device_open.
#ifndef TSRI_SELECT_H
#define TSRI_SELECT_H

#include "runtime/config.h"
#include "runtime/registry.h"

// The order of backends in force: that of tsr_set_priority, else that of the settings. `order` has room for
// TSRI_MAX_BACKENDS. Call with the registry's lock held. Errors: those of tsri_registry_order.
tsr_status tsri_select_order(const tsri_config *config, int *order);

// Whether a device may be chosen if the caller names no backend.
bool tsri_select_is_automatic(const tsri_backend_entry *entry, const tsr_device_info *info);

// Whether tsr_device_open(NULL, …) would try this device, judging by the configured backend, index and required bytes.
bool tsri_select_is_wanted(const tsri_config *config, const tsri_backend_entry *entry, const tsr_device_info *info);

#endif
