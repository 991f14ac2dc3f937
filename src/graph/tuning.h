// SPDX-License-Identifier: MIT
// How kernels are shaped for a device: work-group sizes, elements per work item, tiles (tuning.def).
#ifndef TSRI_TUNING_H
#define TSRI_TUNING_H

#include "runtime/device.h"

typedef struct tsri_tuning {
#define TSRI_TUNE(name, lanes, soft, gpu, meaning) int name;
#include "graph/tuning.def"
#undef TSRI_TUNE
} tsri_tuning;

// Sets the entries for the device's kind. For measurements, TSR_TUNE="name=value,…" in the environment changes them on
// GPUs and emulated GPUs; a list that is not valid is logged.
void tsri_tuning_init(const tsr_device *device, tsri_tuning *out_tuning);

// Changes entries by a list like that of TSR_TUNE. Returns false at the first invalid item; the items before it have
// been applied.
bool tsri_tuning_change(tsri_tuning *tuning, const char *changes);

#endif
