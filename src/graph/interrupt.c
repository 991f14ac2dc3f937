// SPDX-License-Identifier: MIT
#include "graph/interrupt.h"

#include <stddef.h>
#include <tessera/interrupt.h>

#include "core/error.h"
#include "platform/platform.h"

static TSRI_THREAD_LOCAL tsr_interrupt_fn asked;
static TSRI_THREAD_LOCAL void *asked_user;

void tsr_set_interrupt(tsr_interrupt_fn fn, void *user) {
  asked = fn;
  asked_user = user;
}

tsr_status tsri_interrupt_check(void) {
  if (!asked || !asked(asked_user)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_TIMEOUT, "the run was interrupted between two kernels");
}
