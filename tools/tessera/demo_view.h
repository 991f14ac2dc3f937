// SPDX-License-Identifier: MIT
// What `tessera demo` shows of its training: a bar while it runs, a line per epoch, and digits as characters.
#ifndef TESSERA_TOOL_DEMO_VIEW_H
#define TESSERA_TOOL_DEMO_VIEW_H

#include "demo_train.h"

// For demo_training_desc. The bar is shown on a terminal only; the lines are printed in any case.
void demo_view_step(const demo_training *training, int steps);
void demo_view_epoch(const demo_training *training, int steps);

// Prints some unseen digits side by side, with what the network reads; misread ones, if there are any, are among them.
void demo_view_digits(const demo_training *training, const demo_digits *digits);

#endif
