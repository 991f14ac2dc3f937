// SPDX-License-Identifier: MIT
// In place of optim_trace.c: captures of web pages are not saved.
#include "train/optim.h"

void tsri_optim_trace(tsr_optim *optim) { (void)optim; }
