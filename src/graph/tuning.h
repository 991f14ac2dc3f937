// SPDX-License-Identifier: MIT
// How kernels are shaped for a device: work-group sizes, elements per work item, tiles (tuning.def).
#ifndef TSRI_TUNING_H
#define TSRI_TUNING_H

#include <stdint.h>

#include "runtime/device.h"

typedef struct tsri_tuning {
#define TSRI_TUNE(name, lanes, soft, gpu, tries, meaning) int name;
#include "graph/tuning.def"
} tsri_tuning;

typedef enum tsri_tuning_entry {
#define TSRI_TUNE(name, lanes, soft, gpu, tries, meaning) TSRI_ENTRY_##name,
#include "graph/tuning.def"
  TSRI_TUNING_ENTRIES
} tsri_tuning_entry;

// TSRI_TUNED(tuning, name): the entry's value. It notes that a launch has asked for the entry, in one bit for each, so that tuning tries other values of it. Entries that
// tuning never tries need no bit: they may come after the others.
enum { TSRI_TUNING_BITS = 64 };
#define TSRI_TUNED(tuning, name) (tsri_tuning_ask(TSRI_ENTRY_##name), (tuning)->name)
extern _Thread_local uint64_t tsri_tuning_asked;
static inline void tsri_tuning_ask(tsri_tuning_entry entry) {
  if ((int)entry < TSRI_TUNING_BITS) tsri_tuning_asked |= UINT64_C(1) << entry;
}

// The entries for launches on this device, which has a graph state: those of tsri_tuning_use if it was called.
const tsri_tuning *tsri_tuning_of(const tsr_device *device);

// From now on the calling thread shapes launches by `tuning`, which the caller keeps; NULL: by the device's own.
void tsri_tuning_use(const tsri_tuning *tuning);

// Sets the entries for the device's kind. For measurements, TSR_TUNE="name=value,…" in the environment changes them on
// GPUs and emulated GPUs; a list that is not valid is logged.
void tsri_tuning_init(const tsr_device *device, tsri_tuning *out_tuning);

// Changes entries by a list like that of TSR_TUNE. Returns false at the first invalid item; the items before it have
// been applied.
bool tsri_tuning_change(tsri_tuning *tuning, const char *changes);

// Writes the number-th list of changes that tuning tries for an entry, as "name=value" or a whole set; entries that are 0 are not tried. False: there are no more.
bool tsri_tuning_try(const tsri_tuning *tuning, tsri_tuning_entry entry, int number, char *out_changes, size_t bytes);

#endif
