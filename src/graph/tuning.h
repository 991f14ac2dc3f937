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

// TSRI_TUNED(tuning, name): the entry's value. It also sets the entry's bit in tsri_tuning_asked, by which tuning knows that a launch depends on the entry and
// tries other values of it. Entries whose values tuning never tries need no bit, so they may come after the first TSRI_TUNING_BITS.
enum { TSRI_TUNING_BITS = 64 };
#define TSRI_TUNED(tuning, name) (tsri_tuning_ask(TSRI_ENTRY_##name), (tuning)->name)
extern _Thread_local uint64_t tsri_tuning_asked;
static inline void tsri_tuning_ask(tsri_tuning_entry entry) {
  if ((int)entry < TSRI_TUNING_BITS) tsri_tuning_asked |= UINT64_C(1) << entry;
}

// The entries by which the calling thread shapes launches on this device, which has a graph state: the device's own, or those given to tsri_tuning_use.
const tsri_tuning *tsri_tuning_of(const tsr_device *device);

// From now on the calling thread shapes launches by `tuning`, which must stay valid until the next call. NULL: by the entries of each device.
void tsri_tuning_use(const tsri_tuning *tuning);

// Sets the entries for the device's kind. For measurements, TSR_TUNE="name=value,…" in the environment changes them on
// GPUs and emulated GPUs; a list that is not valid is logged.
void tsri_tuning_init(const tsr_device *device, tsri_tuning *out_tuning);

// Changes entries by a list like that of TSR_TUNE. Returns false at the first invalid item; the items before it have
// been applied.
bool tsri_tuning_change(tsri_tuning *tuning, const char *changes);

// Writes change number `number` (from 0) that tuning tries for an entry: "name=value", or the list of a TSRI_TUNE_SET. False if there is no such change; an
// entry whose present value is 0 has none.
bool tsri_tuning_try(const tsri_tuning *tuning, tsri_tuning_entry entry, int number, char *out_changes, size_t bytes);

#endif
