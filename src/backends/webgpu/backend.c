// SPDX-License-Identifier: MIT
// The WebGPU backend's table. Programs are WGSL (src/lang/emit/wgsl/wgsl.c).
#include "backends/webgpu/webgpu.h"

const tsri_backend tsri_webgpu_backend = {
    TSRI_TEXT_BACKEND(webgpu, "WebGPU", "wgsl"),
    .start = tsri_webgpu_start,
    .stop = tsri_webgpu_stop,
    TSRI_DRIVER_ENTRIES(webgpu),
};
