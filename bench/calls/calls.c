// SPDX-License-Identifier: MIT
// Times an operator called from C, for bench/from_c.py.
//
// A call through ctypes takes longer than a small operator, and its time varies more. Python fills in a calls_work; a turn of
// calls_sample() then records the operator, runs it, waits for it and releases its results, as a C program would. calls_burst() waits
// after the last turn only.
//
// Functions of any signature are called through one type: pointers and integers in `arguments`, at most one double. On System V
// x86-64 and AAPCS64 integers and doubles are passed in registers of their own, so that their order does not matter.
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { ARGUMENTS = 6, RESULTS = 2 };

typedef void *operator_function(intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, intptr_t, double);

typedef struct calls_work {
  operator_function *function;
  int (*evaluate)(void *tensor);
  int (*synchronize)(void *device);
  void (*release)(void *tensor);
  void *device;
  intptr_t arguments[ARGUMENTS];  // the addresses of `results`, too, if the function returns tensors through pointers
  double number;
  int result_count;  // tensors that are returned through pointers; 0: the function returns one
  void *results[RESULTS];
} calls_work;

static int call_once(calls_work *work, bool waits) {
  const intptr_t *a = work->arguments;
  void *returned = work->function(a[0], a[1], a[2], a[3], a[4], a[5], work->number);
  int status = work->result_count ? (int)(intptr_t)returned : 0;
  int count = work->result_count ? work->result_count : 1;
  if (!work->result_count) work->results[0] = returned;
  for (int i = 0; i < count && status == 0; i++) status = work->evaluate(work->results[i]);
  if (status == 0 && waits) status = work->synchronize(work->device);
  for (int i = 0; i < count; i++) work->release(work->results[i]);
  return status;
}

static double now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

// The mean time of `count` calls in nanoseconds, or minus the status of the first call that fails.
double calls_sample(calls_work *work, long count);
double calls_sample(calls_work *work, long count) {
  double begin = now_ns();
  for (long i = 0; i < count; i++) {
    int status = call_once(work, true);
    if (status != 0) return -status;
  }
  return (now_ns() - begin) / (double)count;
}

// As calls_sample, for calls that are queued one after the other: with the time of one wait, after the last.
double calls_burst(calls_work *work, long count);
double calls_burst(calls_work *work, long count) {
  double begin = now_ns();
  int status = 0;
  for (long i = 0; i < count && status == 0; i++) status = call_once(work, false);
  if (status == 0) status = work->synchronize(work->device);
  return status != 0 ? -status : (now_ns() - begin) / (double)count;
}
