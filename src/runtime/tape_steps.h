// SPDX-License-Identifier: MIT
// Private to tape.c and tape_graph.c: what a tape consists of.
#ifndef TSRI_RUNTIME_TAPE_STEPS_H
#define TSRI_RUNTIME_TAPE_STEPS_H

#include "runtime/tape.h"

typedef enum step_kind { STEP_LAUNCH, STEP_FILL, STEP_COPY, STEP_OP, STEP_CALL } step_kind;

typedef struct tape_step {
  step_kind kind;
  tsri_profile_context context;
  bool is_explained;  // tsri_tape_explain_begin
  union {
    struct {
      tsri_program *program;
      tsri_launch launch;
      void *memory;  // bindings and parameters of `launch`
      const char *name;
    } launch;
    struct {
      tsri_binding to;
      size_t pattern_bytes;
      unsigned char pattern[8];
    } fill;
    tsri_binding copy[2];  // to, from
    struct {
      tsri_native_op *op;
      tsri_binding *memory;  // what it reads and writes, in the allocation of `op`
      uint32_t count;
    } op;
    struct {
      void *work;  // one of the tape's objects
      tsri_tape_call call;
    } call;
  } is;
} tape_step;

// A buffer that can be used again on the tape, and the number of steps the tape had when the buffer was given back.
typedef struct tape_spare {
  tsr_buffer *buffer;
  int step;
} tape_spare;

typedef struct tape_object {
  void *object;
  void (*release)(void *object);
} tape_object;

struct tsri_tape {
  tsri_late late;
  tsr_device *device;
  uint64_t id;
  tsri_tape *next_open;
  tsri_mutex lock;      // guards all below while the tape is open
  tsr_status status;    // TSR_ERR_OUT_OF_MEMORY if a step could not be added
  const char *refused;  // a step that cannot be repeated; NULL: none
  tape_step *steps;
  int step_count, step_room;
  tape_object *objects;
  int object_count, object_room;
  tsr_buffer **written;  // their references are in `objects`
  int written_count, written_room;
  tape_spare *spares;  // references to their buffers are in `objects`
  int spare_count, spare_room;
  uint64_t small_spare_bytes;  // of those among them that are small (tape.c)
  void *trace;
  void (*destroy_trace)(void *trace);
  tsri_tape_memory temporaries;
  // The backend's graphs, one for each track it was played on: a graph uses the queue's own scratch memory. NULL: not made yet, or not supported.
  tsri_graph *graphs[TSRI_MAX_TRACKS];
  int launch_count;  // of the last graph that was made: fewer than steps where operators share a launch
  bool graph_failed;
  uint32_t listed;  // the profiler's text of the steps; 0: not made yet
  bool has_calls;
};

// Queues one step. The device is locked.
tsr_status tsri_tape_play_step(tsr_device *device, tsri_queue *queue, const tape_step *step);

// Makes the backend's graph of the steps, unless `*graph` is there already. `*graph` stays NULL if the backend has no graphs or recording one failed: the steps are then
// queued one by one. The device is locked.
void tsri_tape_make_graph(tsri_tape *tape, tsri_queue *queue, tsri_graph **graph);

#endif
