// SPDX-License-Identifier: MIT
// Accesses of two or four consecutive elements per lane: all parts in one pass.
#include <string.h>

#include "backends/cpu/lanes/program.h"

// The address of the first lane's elements, if those of the other lanes follow it; else NULL.
static char *wide_place(lane_exec *x, const lane_insn *insn, uint32_t wide) {
  void **reg = x->work->reg;
  if (x->set.mask || x->set.n == 0) return NULL;
  lane_affine affine;
  tsri_lanes_affine(x, insn->form, reg[insn->b], reg[insn->c], reg[insn->d], reg[insn->e], &affine);
  if (!affine.is_exact || !affine.is_linear || affine.step[0] != (int64_t)wide) return NULL;
  if (x->set.n == 1 || affine.base % (int64_t)wide != 0) return NULL;
  return x->work->arrays[insn->a].memory + affine.base * (int64_t)sizeof(uint32_t);
}

bool tsri_lanes_load_wide(lane_exec *x, const lane_insn *insn) {
  uint32_t wide = TSRI_LANE_WIDE_OF(insn->flags);
  const char *from = wide_place(x, insn, wide);
  if (!from) return false;
  uint32_t *parts[4];
  for (uint32_t i = 0; i < wide; i++) {
    uint32_t dst = insn[i].dst;
    x->work->reg[dst] = x->work->home[dst];
    parts[i] = x->work->reg[dst];
  }
  x->isa->split(parts, (const uint32_t *)(const void *)from, wide, x->set.n);
  return true;
}

// Non-temporal stores go through a buffer, in short bursts as in strip.c.
static void stream_wide(const lane_exec *x, char *to, uint32_t *const parts[4], uint32_t wide) {
  enum { BURST = 32 };
  uint32_t joined[BURST * 4];
  for (uint32_t at = 0; at < x->set.n; at += BURST) {
    uint32_t n = x->set.n - at < BURST ? x->set.n - at : BURST;
    uint32_t *here[4];
    for (uint32_t i = 0; i < wide; i++) here[i] = parts[i] + at;
    x->isa->join(joined, here, wide, n);
    size_t element = wide * sizeof(uint32_t);
    x->isa->stream(to + at * element, joined, n * element);
  }
}

bool tsri_lanes_store_wide(lane_exec *x, const lane_insn *insn) {
  uint32_t wide = TSRI_LANE_WIDE_OF(insn->flags);
  char *to = wide_place(x, insn, wide);
  if (!to) return false;
  uint32_t *parts[4];
  for (uint32_t i = 0; i < wide; i++) parts[i] = x->work->reg[insn[i].dst];
  if (x->work->arrays[insn->a].is_streamed) {
    stream_wide(x, to, parts, wide);
  } else {
    x->isa->join((uint32_t *)(void *)to, parts, wide, x->set.n);
  }
  return true;
}
