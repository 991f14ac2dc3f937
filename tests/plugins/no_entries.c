// SPDX-License-Identifier: MIT
// A plug-in whose table lacks entries every backend needs.
#include <tessera/plugin/backend.h>

TSR_EXPORT const tsri_backend *tsr_plugin_backend(void);
TSR_EXPORT const tsri_backend *tsr_plugin_backend(void) {
  static const tsri_backend table = {
      .abi = TSRI_BACKEND_ABI, .table_bytes = sizeof(tsri_backend), .name = "no_entries", .title = "No entries"};
  return &table;
}
