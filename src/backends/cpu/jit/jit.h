// SPDX-License-Identifier: MIT
// Machine code for runs of lane instructions.
//
// A run is a straight sequence of instructions that treat each lane for itself: loads of neighbouring elements, arithmetic,
// functions, stores. Compiled, it is one loop over vectors of lanes in which all values stay in registers. The interpreter
// calls it where the run begins, in place of the first instruction, and continues behind the run. Instructions outside of runs are interpreted, and so is a
// run that meets something unusual (a mask, elements that are not contiguous).
//
// Compiling starts from lane bytecode rather than from the checked kernel: there, loops, conditions and barriers have become sets of
// lanes, indices are taken apart, and the interpreter does the same instructions, so that both can be compared bit for bit
// and one can stand in for the other at every instruction.
#ifndef TSRI_CPU_JIT_H
#define TSRI_CPU_JIT_H

#include "backends/cpu/jit/convention.h"
#include "backends/cpu/jit/ir.h"
#include "backends/cpu/lanes/program.h"
#include "core/builder.h"

// Memory that a run reads or writes, one element after the other for each lane.
typedef enum jit_stream_kind {
  JIT_STREAM_IN,      // lane register `number`
  JIT_STREAM_OUT,     // lane register `number`
  JIT_STREAM_LOADED,  // what instruction `number`, a load, left in its register
  JIT_STREAM_LOAD,    // memory of instruction `number`, a load of elements narrower than their values
  JIT_STREAM_STORE,   // memory of instruction `number`, a store
  JIT_STREAM_BEYOND   // tells lanes for which the code's results do not count (jit_ir.beyond)
} jit_stream_kind;

typedef struct jit_stream {
  uint8_t kind, element_bytes;
  bool is_seen;  // LOADED: the run used the register before
  uint32_t number;
} jit_stream;

// An instruction of the run that is handled before the compiled code runs: one on scalars, which is executed, or a load or store, whose address is found. If the
// instruction changes a scalar that earlier instructions on lanes read, its old value is first copied to where the code reads it.
typedef struct jit_step {
  uint32_t insn;
  int16_t stream;  // -1: none
  uint16_t kept;   // where dst is copied to, behind the scalars, from 1; 0: it is not
} jit_step;

enum { JIT_MOST_CLOBBERS = 8 };

typedef struct jit_run {
  uint32_t first, count;  // instructions
  // Scalars that the run reads and then changes: they get their old values back if it is interpreted after all.
  uint32_t clobber_count, clobbers[JIT_MOST_CLOBBERS];
  uint32_t stream_count, step_count;
  jit_stream streams[JIT_MOST_STREAMS];
  jit_step *steps;
  bool is_left_out;  // too large: it is interpreted
  bool has_beyond;   // has a JIT_STREAM_BEYOND: if it tells of a lane, the whole run is interpreted
  bool loads_after_store;
  bool is_repeatable;  // doing lanes once more changes nothing: the run reads nothing that it writes
  bool shares_arrays;  // some array has more than one stream, a store among them
  // The code for one vector at a time; for wide_lanes, which may be more; and the same with stores past the caches (NULL: there
  // is none). Places in bytes from the beginning of all code.
  uint32_t wide_lanes;
  size_t at, wide_at, past_at;
  jit_code code, wide_code, past_code;
} jit_run;

struct lane_jit {
  void *memory;
  size_t bytes;
  uint32_t vector_lanes;
  uint32_t run_count;
  jit_run *runs;
  uint16_t *run_at;  // by instruction: number of the run that begins there, from 1; 0: none
  bool is_one_run;   // all that is done on lanes is one run, whose values stay in the processor's registers
};

// Compiles the program's runs for "avx2", "avx512" or "neon". NULL: nothing of it can be compiled, or not here; for lack of memory and
// where executable memory is forbidden, a line in the log says so. `listing` (NULL: none) gets the instructions as text, for
// any processor; such code is not there to be run.
//
// Ownership: caller releases it by tsri_jit_release, once no launch uses it.
struct lane_jit *tsri_jit_compile(const tsri_lanes_program *program, const char *simd, tsri_builder *listing);
void tsri_jit_release(struct lane_jit *jit);  // takes NULL

// Code for this level, compiled when it is first asked for; NULL if there is none. Any thread.
struct lane_jit *tsri_jit_for(const tsri_lanes_program *program, const char *simd);
// As tsri_jit_for, by the number of the level's slot in a program. tsri_jit_slot_of returns that number; -1: the level has no compiler.
struct lane_jit *tsri_jit_at(const tsri_lanes_program *program, int number);
int tsri_jit_slot_of(const char *simd);
void tsri_jit_drop(tsri_lanes_program *program);  // releases what tsri_jit_for made

// Executes the run that begins at `insn`. Returns its number of instructions; 0: the run must be interpreted, and nothing was done that interpreting it would not do again.
uint32_t tsri_jit_run(lane_exec *x, const lane_insn *insn);

// A loop of like rounds (lanes/rounds.c) whose body is a compiled run.
typedef struct jit_loop {
  const jit_run *run;
  jit_code code;  // for all lanes of a round
  uint32_t stream_count;
  void *streams[JIT_MOST_STREAMS];
  int64_t steps[JIT_MOST_STREAMS];  // bytes from a round to the next
} jit_loop;

// A load or store of the body: where the first lane's element is in the first round, and by how many bytes it moves each round.
typedef struct jit_access {
  const lane_insn *insn;
  char *memory;
  int64_t step;
} jit_access;

// tsri_jit_loop_begin: true if the instructions from `body` to `end` are one run and instructions on scalars; the elements of each access must be contiguous over the lanes.
// Then tsri_jit_loop_run executes some rounds (if has_whole_rounds), each call continuing after the one before, and tsri_jit_loop_tail executes one round for the first
// `lanes` lanes only.
bool tsri_jit_loop_begin(const lane_exec *x, const lane_insn *body, const lane_insn *end, const jit_access *accesses,
                         uint32_t access_count, bool has_whole_rounds, jit_loop *out);
void tsri_jit_loop_run(const lane_exec *x, jit_loop *loop, int64_t rounds);
void tsri_jit_loop_tail(const lane_exec *x, const jit_loop *loop, uint32_t lanes);

// Does a run for lanes 0 to n, n > 0, whose streams (jit_run) are found and do not overlap.
void tsri_jit_do_lanes(const lane_exec *x, const jit_run *run, void *const *streams, size_t n);

// Makes the operations of a run, its streams and steps. False: out of memory, or the run is too large (is_too_large).
bool tsri_jit_build(const tsri_lanes_program *program, const bool *is_external, jit_run *run, jit_ir *ir);
// Whether the instruction can be part of a run.
bool tsri_jit_can_build(const tsri_lanes_program *program, const lane_insn *insn, const struct jit_target *target);

// How often compiled runs were called, and how often one had to be interpreted instead. Of all programs, until now.
typedef struct jit_counts {
  uint64_t compiled, interpreted;
} jit_counts;
jit_counts tsri_jit_counts(void);
void tsri_jit_count(const lane_exec *x);  // adds what a thread has done in a launch

#endif
