// SPDX-License-Identifier: MIT
// The Metal backend's table. Programs are text in Metal's shading language (src/lang/emit/c).
#include "backends/metal/metal.h"

const tsri_backend tsri_metal_backend = {
    TSRI_TEXT_BACKEND(metal, "Metal", "metal"),
    .start = tsri_metal_start,
    .stop = tsri_metal_stop,
    TSRI_DRIVER_ENTRIES(metal),
    .buffer_host = tsri_metal_buffer_host,
    .buffer_import = tsri_metal_buffer_import,
    .host_alloc = tsri_metal_host_alloc,
    .host_free = tsri_metal_host_free,
    .native_ops = tsri_metal_offers,
    .has_op = tsri_metal_has_op,
    .run_op = tsri_metal_run_op,
};
