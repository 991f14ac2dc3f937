// SPDX-License-Identifier: MIT
// In place of jit/ in the browser: WebAssembly has no memory that a program can both write and execute, so kernels are interpreted, and there are no listings
// of machine code.
#include "backends/cpu/jit/jit.h"
#include "backends/cpu/jit/print.h"
#include "core/error.h"

int tsri_jit_slot_of(const char *simd) {
  (void)simd;
  return -1;
}

struct lane_jit *tsri_jit_at(const tsri_lanes_program *program, int slot) {
  (void)program, (void)slot;
  return NULL;
}

void tsri_jit_drop(tsri_lanes_program *program) { (void)program; }

uint32_t tsri_jit_run(lane_exec *x, const lane_insn *insn) {
  (void)x, (void)insn;
  return 0;
}

bool tsri_jit_loop_begin(const lane_exec *x, const lane_insn *body, const lane_insn *end, const jit_access *accesses,
                         uint32_t access_count, bool has_whole_rounds, jit_loop *out) {
  (void)x, (void)body, (void)end, (void)accesses, (void)access_count, (void)has_whole_rounds, (void)out;
  return false;
}

void tsri_jit_loop_run(const lane_exec *x, jit_loop *loop, int64_t rounds) { (void)x, (void)loop, (void)rounds; }

void tsri_jit_loop_tail(const lane_exec *x, const jit_loop *loop, uint32_t lanes) { (void)x, (void)loop, (void)lanes; }

void tsri_jit_count(const lane_exec *x) { (void)x; }

const char *const tsri_jit_dialects[] = {NULL};

tsr_status tsri_jit_print(const void *words, size_t bytes, const char *dialect, char **out_text) {
  (void)words, (void)bytes;
  *out_text = NULL;
  return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "kernel_emit: WebAssembly has no compiler for '%s'", dialect);
}
