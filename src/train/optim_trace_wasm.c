// SPDX-License-Identifier: MIT
// Replaces optim_trace.c in web pages, where captures cannot be saved.
#include "train/optim.h"

void tsri_optim_trace(tsr_optim *optim) { (void)optim; }
