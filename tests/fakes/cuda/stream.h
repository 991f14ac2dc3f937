// SPDX-License-Identifier: MIT
// Inside the stand-in: what its files share. Functions marked (locked) are called with the lock held.
#ifndef TESSERA_FAKE_CUDA_STREAM_H
#define TESSERA_FAKE_CUDA_STREAM_H

#include <stdbool.h>

#include "backends/cuda/cuda_api.h"
#include "fakes/cuda/fake.h"

fake_cuda *fake_state(void);
void fake_lock(void);
void fake_unlock(void);

// CU_INVALID_CONTEXT if none is current, else the device's sticky code.
cu_result fake_enter(void);

bool fake_is_pinned(const void *memory);                // (locked)
bool fake_is_device(cu_address address, size_t bytes);  // (locked)
void fake_run_all(void);                                // (locked) everything queued
void fake_run_stream(cu_stream stream);                 // (locked)
void fake_spend(int microseconds);                      // (locked) of the device's time

// (locked) If the stream is being recorded, adds a call of the function to its graph, which frees `user`. False: it is not.
bool fake_record_call(cu_stream stream, void (*function)(void *user), void *user);

// Counts handles, descriptors and other objects of cuBLASLt and cuSOLVER that were created (1) or destroyed (-1).
void fake_count_plan(int step);

#endif
