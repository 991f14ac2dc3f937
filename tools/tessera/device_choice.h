// SPDX-License-Identifier: MIT
// Selecting a device on the command line, the same for every command: `--device cuda`, `--device cuda:1`, `--backend
// cuda --device 1`, or parts of it. Names may be in capitals.
#ifndef TESSERA_TOOL_DEVICE_CHOICE_H
#define TESSERA_TOOL_DEVICE_CHOICE_H

#include <stdbool.h>
#include <tessera/device.h>

#include "options.h"

enum { DEVICE_TEXT_BYTES = TSR_NAME_BYTES + 16 };

typedef struct device_choice {
  const char *backend_text, *device_text;  // the values of --backend and --device; NULL: not given
  char backend[TSR_NAME_BYTES];            // in lower case; empty: any backend
  int index;                               // index of the device within the backend; -1: any
} device_choice;

// The two options, for a command's list of options. `choice` is a static device_choice; `without` says what the
// command uses if neither is given.
#define OPTION_DEVICE(choice, without)                                                                         \
  {                                                                                                            \
    .name = "device", .value_name = "DEVICE", .help = "a backend and perhaps a number, such as cpu or cuda:1", \
    .standard = without, .text = &(choice).device_text                                                         \
  }
#define OPTION_BACKEND(choice)                                                                               \
  {                                                                                                          \
    .name = "backend", .value_name = "B", .help = "the backend alone; --device may then be a number from 0", \
    .text = &(choice).backend_text                                                                           \
  }

// Reads the options' values. Returns EXIT_DONE, or EXIT_USAGE after a message that names `command`.
int device_choice_read(device_choice *choice, const char *command);

// Whether a backend or an index was given.
bool device_choice_is_made(const device_choice *choice);

// Whether the selection includes this device.
bool device_choice_takes(const device_choice *choice, const tsr_backend_report *backend, const tsr_device_info *device);

// Whether the selection names a backend that discovery does not list but that can be opened, such as null.
bool device_choice_is_unlisted(const device_choice *choice, const tsr_discovery *found);

// Returns EXIT_DONE if the selection includes a device of the report or is unlisted, otherwise EXIT_NO_DEVICE after a
// message.
int device_choice_check(const device_choice *choice, const tsr_discovery *found);

// Opens the selected device; the settings decide what the selection leaves open. Returns EXIT_DONE, or another exit
// code after a message: EXIT_NO_DEVICE if there is no such device.
int device_choice_open(const device_choice *choice, tsr_device **out_device);

// Opens exactly this device, ignoring the settings that select one. After a failure tsr_last_error() gives the reason.
tsr_status device_open_exactly(const char *backend, int index, tsr_device **out_device);

// Formats "cuda:1", as the options take it. `text` has DEVICE_TEXT_BYTES and is returned.
char *device_format(const char *backend, int index, char *text);

#endif
