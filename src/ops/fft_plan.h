// SPDX-License-Identifier: MIT
// How kernels/op_fft.tk transforms a line of n complex numbers: in which radices, by how many items, and how many lines a work-group takes.
#ifndef TSRI_OPS_FFT_PLAN_H
#define TSRI_OPS_FFT_PLAN_H

#include "runtime/device.h"

#if defined(__wasm__)  // web pages have no kernel for larger ones
enum { TSRI_FFT_LARGEST_RADIX = 13 };
#else
enum { TSRI_FFT_LARGEST_RADIX = 61 };
#endif
enum { TSRI_FFT_STAGES = 5 };

typedef struct tsri_fft_plan {
  int64_t n;
  int radices[TSRI_FFT_STAGES];  // their product is n; unused ones are 1
  int stages;
  int team;   // items that share a line
  int held;   // complex numbers that an item keeps in registers
  int lines;  // per work-group
  int coefs;  // numbers in the kernel's table of sines and cosines for the largest radix; 1 if it has none
} tsri_fft_plan;

// Plans transforms of lines whose elements are neighbours in memory, or (is_across) of lines whose corresponding elements are neighbours. False if a work-group
// of the device cannot hold such a line, or if n has a prime factor above TSRI_FFT_LARGEST_RADIX.
bool tsri_fft_plan_init(const tsr_device *device, tsr_dtype dtype, int64_t n, bool is_across, tsri_fft_plan *out_plan);

// Plans the first part of a long line: a transform whose length is the largest divisor of n up to sqrt(n) that a work-group can hold with is_across. False if
// there is none.
bool tsri_fft_plan_split(const tsr_device *device, tsr_dtype dtype, int64_t n, tsri_fft_plan *out_plan);

#endif
