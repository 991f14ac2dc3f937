// SPDX-License-Identifier: MIT
// A WebAssembly module has one thread, so there are no workers: tsri_worker_create returns NULL, and nothing else is called.
#include "platform/worker.h"

#include <stddef.h>

const bool tsri_has_threads = false;

tsri_worker *tsri_worker_create(void) { return NULL; }
tsri_worker *tsri_worker_shared(void) { return NULL; }
void tsri_worker_destroy(tsri_worker *worker) { (void)worker; }

uint64_t tsri_worker_add(tsri_worker *worker, tsri_job *job) {
  (void)worker;
  job->run(job);
  return 0;
}

uint64_t tsri_worker_added(tsri_worker *worker) {
  (void)worker;
  return 0;
}

uint64_t tsri_worker_ended(tsri_worker *worker) {
  (void)worker;
  return 0;
}

bool tsri_worker_wait(tsri_worker *worker, uint64_t number, uint64_t timeout_ns) {
  (void)worker;
  (void)number;
  (void)timeout_ns;
  return true;
}
