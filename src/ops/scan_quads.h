// SPDX-License-Identifier: MIT
// Scans of rows by subgroups, which read quads of neighbouring elements. Not part of the browser module (scan_quads_wasm.c).
#ifndef TSRI_OPS_SCAN_QUADS_H
#define TSRI_OPS_SCAN_QUADS_H

#include "ops/scan_work.h"

// Whether subgroups scan on this device. Then tsri_scan_quads takes every work, and only there sums may be packed.
bool tsri_scan_has_quads(tsr_device *device);

// Scans contiguous rows (s->inner is 1). Returns TSR_ERR_UNSUPPORTED, without a message, if subgroups do not scan on the device.
tsr_status tsri_scan_quads(const tsri_scan_work *s, const tsri_scan_parts *p);

// Computes the sum of each part, where subgroups scan.
tsr_status tsri_scan_part_sums(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals);

// Binds the kernel's parameter `places`, to a temporary buffer if there are none. The caller releases the result after the launch.
tsr_buffer *tsri_scan_bind_places(tsri_call *call, const tsri_scan_work *s);

#endif
