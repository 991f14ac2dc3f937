// SPDX-License-Identifier: MIT
// A plug-in with a name that no setting could hold; its entries must never be called.
#include <stddef.h>

#include <tessera/plugin/backend.h>

#define TRAP(entry) .entry = (void *)1
TSR_EXPORT const tsri_backend *tsr_plugin_backend(void);
TSR_EXPORT const tsri_backend *tsr_plugin_backend(void) {
  static const tsri_backend table = {.abi = TSRI_BACKEND_ABI,
                                     .table_bytes = sizeof(tsri_backend),
                                     .name = "Bad, Name",
                                     .title = "Bad name",
                                     TRAP(start),
                                     TRAP(device_count),
                                     TRAP(device_info),
                                     TRAP(device_open),
                                     TRAP(device_close),
                                     TRAP(buffer_create),
                                     TRAP(buffer_destroy),
                                     TRAP(queue_create),
                                     TRAP(queue_destroy),
                                     TRAP(queue_wait),
                                     TRAP(copy_in),
                                     TRAP(copy_out),
                                     TRAP(copy),
                                     TRAP(fill)};
  return &table;
}
