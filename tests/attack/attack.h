// SPDX-License-Identifier: MIT
// Random programs: generates them from a seed, runs them, and reduces a failing one.
#ifndef TESSERA_ATTACK_ATTACK_H
#define TESSERA_ATTACK_ATTACK_H

#include "attack/world.h"

// Opens `backend`, lazy or eager, and a second device, on the CPU. False: the reason is in tsr_last_error().
bool arena_open(arena *a, const char *backend, bool is_eager);
void arena_close(arena *a);

// Runs the program of a seed. True if library and model agree; otherwise prints the seed, the smallest program that
// still fails, and the error.
bool attack_run(const arena *a, uint64_t seed);

// Runs one program per thread at the same time; all of them read tensors that one of them made before.
bool attack_run_threads(const arena *a, uint64_t seed, int thread_count);

#endif
