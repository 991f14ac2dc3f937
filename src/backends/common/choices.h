// SPDX-License-Identifier: MIT
// What tuning has found out about a device, kept on disk beside built programs: for each kind of work, which way to do it is the fastest, and which ways give wrong results.
//
// One file per device, named by a hash of its hardware, its driver and the version of the library. Several processes may write it: each adds what it found to what the file has. A file that is
// damaged or was made by another version is not used, with one warning. Any thread.
#ifndef TSRI_CHOICES_H
#define TSRI_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/device.h>

enum { TSRI_CHOICE_WORK_BYTES = 320, TSRI_CHOICE_BYTES = 160 };

typedef struct tsri_choices tsri_choices;

typedef struct tsri_choice {
  char work[TSRI_CHOICE_WORK_BYTES];  // neither tabs nor line breaks
  char choice[TSRI_CHOICE_BYTES];     // "": the usual way
  double usual_us, chosen_us;
  bool is_bad;  // the choice failed or gave a wrong result: it is not tried again
} tsri_choice;

// Reads the file, if there is one. NULL: host memory is out.
tsri_choices *tsri_choices_open(const char *backend, const tsr_device_info *info);
void tsri_choices_close(tsri_choices *choices);  // takes NULL

// Whether a choice is known for this work; copies it to *out_choice.
bool tsri_choices_find(tsri_choices *choices, const char *work, tsri_choice *out_choice);

// Whether this choice is known to be bad for this work.
bool tsri_choices_is_bad(tsri_choices *choices, const char *work, const char *choice);

// Adds or replaces an entry and writes the file. A file that cannot be written is warned of once; the entry is then known to this process only.
void tsri_choices_put(tsri_choices *choices, const tsri_choice *choice);

size_t tsri_choices_count(tsri_choices *choices);

// A number that is different after every change of the entries.
uint64_t tsri_choices_version(const tsri_choices *choices);

// Copies the entry at `index`. False: there are fewer.
bool tsri_choices_at(tsri_choices *choices, size_t index, tsri_choice *out_choice);

// Forgets all entries and removes the file. False: there is one that cannot be removed.
bool tsri_choices_clear(tsri_choices *choices);

#endif
