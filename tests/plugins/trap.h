// SPDX-License-Identifier: MIT
// A table whose entries must never be called: for plug-ins that are refused by what the table says of itself.
#ifndef TESSERA_TEST_TRAP_H
#define TESSERA_TEST_TRAP_H

#include <stddef.h>

#include <tessera/plugin/backend.h>

#define TRAP(entry) .entry = (void *)1

// Exports a table with every entry that a backend must have, and those given behind its name and title.
#define TRAP_BACKEND(backend_name, backend_title, ...)                      \
  TSR_EXPORT const tsri_backend *tsr_plugin_backend(void);                  \
  TSR_EXPORT const tsri_backend *tsr_plugin_backend(void) {                 \
    static const tsri_backend table = {.abi = TSRI_BACKEND_ABI,             \
                                       .table_bytes = sizeof(tsri_backend), \
                                       .name = backend_name,                \
                                       .title = backend_title,              \
                                       TRAP(start),                         \
                                       TRAP(device_count),                  \
                                       TRAP(device_info),                   \
                                       TRAP(device_open),                   \
                                       TRAP(device_close),                  \
                                       TRAP(buffer_create),                 \
                                       TRAP(buffer_destroy),                \
                                       TRAP(queue_create),                  \
                                       TRAP(queue_destroy),                 \
                                       TRAP(queue_wait),                    \
                                       TRAP(copy_in),                       \
                                       TRAP(copy_out),                      \
                                       TRAP(copy),                          \
                                       TRAP(fill),                          \
                                       __VA_ARGS__};                        \
    return &table;                                                          \
  }

#endif
