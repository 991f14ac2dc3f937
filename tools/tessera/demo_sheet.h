// SPDX-License-Identifier: MIT
// The picture of `tessera demo`: digits with what the network read in them, and how it learned.
#ifndef TESSERA_TOOL_DEMO_SHEET_H
#define TESSERA_TOOL_DEMO_SHEET_H

#include "demo_train.h"

// `path` ends in .png or .ppm; `device` is the name of the device it was trained on. False after a message.
bool demo_sheet_write(const char *path, const demo_training *training, const demo_digits *digits, const char *device);

#endif
