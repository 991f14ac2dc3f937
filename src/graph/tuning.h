// SPDX-License-Identifier: MIT
// How kernels are shaped for a device: group sizes, elements per item, tiles (tuning.def).
#ifndef TSRI_TUNING_H
#define TSRI_TUNING_H

#include "runtime/device.h"

typedef struct tsri_tuning {
#define TSRI_TUNE(name, lanes, soft, gpu, meaning) int name;
#include "graph/tuning.def"
#undef TSRI_TUNE
} tsri_tuning;

// The entries for the device's kind. TSR_TUNE="name=value,…" in the environment changes those of GPUs and emulated ones, for measuring;
// what is no good there is logged and passed over.
void tsri_tuning_init(const tsr_device *device, tsri_tuning *out_tuning);

// Changes entries as TSR_TUNE does. False, with `tuning` changed up to there, at the first that is no good.
bool tsri_tuning_change(tsri_tuning *tuning, const char *changes);

#endif
