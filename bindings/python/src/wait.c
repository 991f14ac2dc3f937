// SPDX-License-Identifier: MIT
// Waits that Ctrl-C can end.
//
// Python handles signals on its main thread, between instructions: while that thread is inside the library, Ctrl-C has no effect. So work that may take long is run by
// another thread, and the main thread waits for it with a lock, which a signal interrupts. The work then stops before its next kernel, in the background; it has its own
// references to the tensors.
//
// Starting a thread takes 30 to 90 us, as long as a kernel over some million elements, so short work runs on the main thread. The amount of work that was recorded
// since the last wait decides which work is short. A GPU is given its work without waiting for it, and does more of it in the same time than a CPU.
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "binding.h"

// Elements read and written by recorded work that a CPU does within about a tenth of a second: a gigabyte of float32. A GPU's memory is some 60 times as fast.
static const int64_t SHORT_WORK = INT64_C(1) << 28, SHORT_GPU_WORK = INT64_C(1) << 34;

static int64_t recorded;  // elements, since the last wait; guarded by the GIL
static unsigned long main_thread;

// Elements that one operator reads and writes in less time than it takes to give up the GIL and to take it again.
enum { INSTANT_WORK = 1 << 10 };
static bool
    had_long_work;  // an operator over more elements was noted: results may depend on it, so that reading them may take long

// The GIL keeps others away, so an atomic addition, which takes as long as a small operator, is not needed.
void tsrpy_note_elements(int64_t count) {
  if (recorded < TSRPY_UNKNOWN_WORK) recorded += count;
  if (count > INSTANT_WORK) had_long_work = true;
}

// One piece of work, shared by the thread that does it and the one that waits; the last of them frees it.
typedef struct job {
  atomic_int owners;
  PyThread_type_lock done;  // held until the work is done
  tsr_tensor *tensor;       // to compute; NULL: none
  tsr_device *device;       // to wait for; NULL: none
  atomic_bool is_given_up;  // nobody waits any more: stops before the next kernel
  tsr_status status;
  char text[1024];  // tsr_last_error of the thread that did the work
} job;

static void job_release(job *j) {
  if (atomic_fetch_sub(&j->owners, 1) > 1) return;
  tsr_release(j->tensor);
  tsr_device_release(j->device);
  PyThread_free_lock(j->done);
  free(j);
}

static bool is_given_up(void *given) { return atomic_load(&((job *)given)->is_given_up); }

// On a thread of its own, without the GIL.
static void job_run(void *given) {
  job *j = given;
  tsr_set_interrupt(is_given_up, j);
  if (j->tensor) j->status = tsr_evaluate(j->tensor);
  if (j->status == TSR_OK && j->device) j->status = tsr_device_synchronize(j->device);
  if (j->status != TSR_OK) strncpy(j->text, tsr_last_error(), sizeof j->text - 1);
  PyThread_release_lock(j->done);
  job_release(j);
}

static job *job_create(tsr_tensor *tensor, tsr_device *device) {
  job *j = calloc(1, sizeof *j);
  if (!j) return NULL;
  *j = (job){
      .owners = 2, .done = PyThread_allocate_lock(), .tensor = tsr_retain(tensor), .device = tsr_device_retain(device)};
  if (j->done) PyThread_acquire_lock(j->done, WAIT_LOCK);
  return j;
}

// Whether the work was done; false with an exception if it failed, or if a signal's handler raised one.
static bool job_wait(job *j) {
  for (;;) {
    PyLockStatus found;
    Py_BEGIN_ALLOW_THREADS found = PyThread_acquire_lock_timed(j->done, -1, /*intr_flag=*/1);
    Py_END_ALLOW_THREADS if (found == PY_LOCK_ACQUIRED) break;
    if (PyErr_CheckSignals() < 0) {
      atomic_store(&j->is_given_up, true);
      return false;
    }
  }
  PyThread_release_lock(j->done);
  if (j->status != TSR_OK) tsrpy_raise_text(j->status, j->text);
  return j->status == TSR_OK;
}

static bool wait_on_thread(tsr_tensor *tensor, tsr_device *device) {
  job *j = job_create(tensor, device);
  if (!j || !j->done) {
    free(j);
    return true;  // no memory for a thread's record: the caller waits by itself
  }
  if (PyThread_start_new_thread(job_run, j) == (unsigned long)-1) {
    PyThread_release_lock(j->done);
    atomic_store(&j->owners, 1);
    job_release(j);
    return true;
  }
  bool is_done = job_wait(j);
  job_release(j);
  return is_done;
}

// Whether the work that was recorded for the device since the last wait may take long. Sets the count back to 0.
static bool is_long(const tsr_device *device) {
  bool is_much = recorded > SHORT_WORK && (recorded > SHORT_GPU_WORK || !tsrpy_is_gpu(device));
  recorded = 0;
  return is_much && PyThread_get_thread_ident() == main_thread;
}

bool tsrpy_is_instant(const tsr_tensor *tensor) { return !had_long_work && tsrpy_is_cpu(tsr_tensor_device(tensor)); }

bool tsrpy_wait_tensor(tsr_tensor *tensor, bool until_done) {
  tsr_device *device = tsr_tensor_device(tensor);
  if (!until_done && recorded > SHORT_WORK && tsrpy_is_gpu(device)) return true;  // the next wait is the long one
  return !is_long(device) || wait_on_thread(tensor, until_done ? device : NULL);
}

bool tsrpy_wait_device(tsr_device *device) { return !is_long(device) || wait_on_thread(NULL, device); }

bool tsrpy_wait_init(void) {
  PyObject *threading = PyImport_ImportModule("threading");
  PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
  PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
  if (ident) main_thread = PyLong_AsUnsignedLongMask(ident);
  Py_XDECREF(threading);
  Py_XDECREF(thread);
  Py_XDECREF(ident);
  return ident != NULL;
}
