// SPDX-License-Identifier: MIT
// Random programs: making them from a seed, running them, and making a failing one small.
#ifndef TESSERA_ATTACK_ATTACK_H
#define TESSERA_ATTACK_ATTACK_H

#include "attack/world.h"

// Opens `backend`, lazy or eager, and a second device, on the CPU. False with the reason in tsr_last_error().
bool arena_open(arena *a, const char *backend, bool is_eager);
void arena_close(arena *a);

// Runs the program of a seed. True if the library and the model agreed; else what was found is on standard output: the
// seed, the smallest program that still fails, and how.
bool attack_run(const arena *a, uint64_t seed);

// As many programs at once as threads, all reading tensors made before by one of them.
bool attack_run_threads(const arena *a, uint64_t seed, int thread_count);

#endif
