// SPDX-License-Identifier: MIT
// A plug-in of another ABI: everything but the number must be left alone.
#include <tessera/plugin/backend.h>

TSR_EXPORT const tsri_backend *tsr_plugin_backend(void);
TSR_EXPORT const tsri_backend *tsr_plugin_backend(void) {
  static const tsri_backend table = {
      .abi = TSRI_BACKEND_ABI + 41, .table_bytes = sizeof(tsri_backend), .name = "bad_abi"};
  return &table;
}
