// SPDX-License-Identifier: MIT
// Fourier transforms of the CPU.
#ifndef TSRI_CPU_FFT_H
#define TSRI_CPU_FFT_H

#include "backends/cpu/cpu.h"

// Whether the CPU takes the operator: no prime factor of its length is above 61.
bool tsri_cpu_has_fft(const tsri_fft_op *op);

// Errors: TSR_ERR_OUT_OF_MEMORY.
tsr_status tsri_cpu_fft(cpu_device *device, tsr_dtype dtype, const tsri_fft_op *op);

#endif
