// SPDX-License-Identifier: MIT
// Whether the run in progress on this thread is to stop (<tessera/interrupt.h>).
#ifndef TSRI_GRAPH_INTERRUPT_H
#define TSRI_GRAPH_INTERRUPT_H

#include <tessera/status.h>

// Asks the function that the calling thread has set (<tessera/interrupt.h>). TSR_OK: go on. TSR_ERR_TIMEOUT: the function wants the run to stop.
tsr_status tsri_interrupt_check(void);

#endif
