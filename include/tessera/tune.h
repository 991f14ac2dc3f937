// SPDX-License-Identifier: MIT
// Tuning: which of several ways to compute the same is the fastest on a device.
//
// If the setting `tune` (TESSERA_TUNE) is quick or full, the first launch of each kind of work also runs other ways to compute it, with the same operands. The
// fastest way is used from then on and stored on disk for other programs. docs/tuning.md says what is tried.
#ifndef TESSERA_TUNE_H
#define TESSERA_TUNE_H

#include <stdbool.h>

#include <tessera/device.h>

// What is known about one kind of work. The texts are valid during the call of a tsr_tuned_function.
typedef struct tsr_tuned {
  const char *work;  // operators, dtypes and sizes rounded up to powers of two: "sum/2 f32 1024x64 to f32 1024"
  const char *
      choice;  // what differs from the usual way, such as "reduce_group=64"; empty: nothing, the usual way is the fastest
  double usual_us, chosen_us;
  bool is_bad;  // the choice failed or gave another result, and is not tried again
} tsr_tuned;

typedef void (*tsr_tuned_function)(void *context, const tsr_tuned *tuned);

// Calls `each` for everything that is known about the device, also from earlier runs of this and other programs.
//
// Threads: any. `each` must not call functions of this header.
// Errors:  TSR_ERR_INVALID_ARGUMENT (NULL), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_tuned_each(tsr_device *device, tsr_tuned_function each, void *context);

// Forgets everything that is known about the device, on disk too. If the setting `tune` is on, work is tuned again.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL), TSR_ERR_OUT_OF_MEMORY, TSR_ERR_UNAVAILABLE (the file cannot be removed).
TSR_API tsr_status tsr_tuned_clear(tsr_device *device);

#endif
