// SPDX-License-Identifier: MIT
// Steps of a recorded graph that may run at the same time: before each step, the stream's capture is told which graph nodes the step depends on.
//
// A step may consist of several nodes in a row, for example when a library launches two kernels. The nodes that end a step are the stream's
// dependencies after the step's last call.
//
// The queue's workspace is cut into slices, one per step that needs some, because two steps that run at the same time must not share it. When it is
// used up, the next slice is at the beginning again, and its step waits for the earlier steps that used this part.
#include <string.h>

#include "backends/cuda/cuda.h"
#include "core/alloc.h"

// Scratch memory that a step of the graph uses.
typedef struct scratch_use {
  cu_address begin, end;
  int step;
} scratch_use;

typedef struct nodes {
  cu_graph_node *list;
  int count, room;
} nodes;

struct cuda_steps {
  nodes ends;  // the nodes that end each step: those of step i are at first[i] to first[i + 1] - 1
  int *first;  // has room for `room` elements
  int count, room;
  nodes after;  // the nodes that the step being recorded depends on
  scratch_use *uses;
  int use_count, use_room;
  size_t workspace_used;
  bool has_failed;  // a dependency is missing: the graph must not run
};

// Makes room for one more element.
static bool grow(void **array, int count, int *room, size_t bytes) {
  if (count < *room) return true;
  int more = *room ? 2 * *room : 64;
  void *larger = tsri_calloc((size_t)more, bytes);
  if (!larger) return false;
  if (*room > 0) memcpy(larger, *array, (size_t)*room * bytes);
  tsri_free(*array);
  *array = larger;
  *room = more;
  return true;
}

static bool add_nodes(nodes *to, const cu_graph_node *list, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (!grow((void **)&to->list, to->count, &to->room, sizeof *to->list)) return false;
    to->list[to->count++] = list[i];
  }
  return true;
}

static bool add_ends(cuda_steps *steps, int step) {
  int first = steps->first[step];
  return add_nodes(&steps->after, steps->ends.list + first, (size_t)(steps->first[step + 1] - first));
}

// Notes the nodes that end the last step.
static bool close_step(cuda_queue *queue) {
  cuda_steps *steps = queue->steps;
  const cu_graph_node *list = NULL;
  size_t count = 0;
  int is_capturing = 0;
  if (steps->count == 0) return true;
  if (queue->cu->StreamGetCaptureInfo(queue->stream, &is_capturing, NULL, NULL, &list, &count) != CU_SUCCESS)
    return false;
  if (!is_capturing || !add_nodes(&steps->ends, list, count)) return false;
  steps->first[steps->count] = steps->ends.count;
  return true;
}

static bool set_dependencies(cuda_queue *queue) {
  cu_graph_node none = NULL, *list = queue->steps->after.list ? queue->steps->after.list : &none;
  return queue->cu->StreamUpdateCaptureDependencies(queue->stream, list, (size_t)queue->steps->after.count,
                                                    CU_STREAM_SET_CAPTURE_DEPENDENCIES) == CU_SUCCESS;
}

static bool begin_step(cuda_queue *queue, const int *after, int count) {
  if (!queue->steps) queue->steps = tsri_calloc(1, sizeof *queue->steps);
  cuda_steps *steps = queue->steps;
  if (!steps || !close_step(queue) ||
      !grow((void **)&steps->first, steps->count + 1, &steps->room, sizeof *steps->first)) {
    return false;
  }
  steps->after.count = 0;
  for (int i = 0; i < count; i++) {
    if (!add_ends(steps, after[i])) return false;
  }
  steps->count++;
  return set_dependencies(queue);
}

tsr_status tsri_cuda_graph_step(tsri_queue *queue, const int *after, int count) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  const tsri_cuda_api *cu = gpu_queue->cu;
  if (!cu->StreamGetCaptureInfo || !cu->StreamUpdateCaptureDependencies) return TSR_ERR_UNSUPPORTED;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  bool works = begin_step(gpu_queue, after, count);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return works ? TSR_OK : TSR_ERR_UNSUPPORTED;
}

bool tsri_cuda_steps_end(cuda_queue *queue) {
  cuda_steps *steps = queue->steps;
  if (!steps) return true;
  bool works = !steps->has_failed;
  tsri_free(steps->ends.list);
  tsri_free(steps->after.list);
  tsri_free(steps->first);
  tsri_free(steps->uses);
  tsri_free(steps);
  queue->steps = NULL;
  return works;
}

// --- Scratch memory ---------------------------------------------------------------------------------------------------------

// Makes the step that is being recorded wait for all earlier steps that use the range, and notes that this step uses it.
static bool order_use(cuda_queue *queue, cu_address begin, cu_address end) {
  cuda_steps *steps = queue->steps;
  int step = steps->count - 1, kept = 0;
  bool works = true, waits = false;
  for (int i = 0; i < steps->use_count; i++) {
    scratch_use use = steps->uses[i];
    bool is_shared = use.begin < end && begin < use.end && use.step != step;
    if (is_shared) works = works && add_ends(steps, use.step);
    waits |= is_shared;
    if (!is_shared || use.begin < begin || use.end > end) steps->uses[kept++] = use;
  }
  steps->use_count = kept;
  if (!works || !grow((void **)&steps->uses, kept, &steps->use_room, sizeof *steps->uses)) return false;
  steps->uses[steps->use_count++] = (scratch_use){begin, end, step};
  return !waits || set_dependencies(queue);
}

void tsri_cuda_use_scratch(cuda_queue *queue, cu_address at, size_t bytes) {
  if (queue->steps && bytes > 0 && !order_use(queue, at, at + bytes)) queue->steps->has_failed = true;
}

cu_address tsri_cuda_take_workspace(cuda_queue *queue, size_t bytes) {
  enum { ALIGNMENT = 256 };
  cuda_steps *steps = queue->steps;
  if (bytes > CUDA_WORKSPACE_BYTES) {
    cu_address large = tsri_cuda_large_workspace(queue, bytes);
    if (large) tsri_cuda_use_scratch(queue, large, bytes);
    return large;
  }
  if (!steps || bytes == 0) return queue->workspace;
  size_t whole = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  if (steps->workspace_used + whole > CUDA_WORKSPACE_BYTES) steps->workspace_used = 0;
  cu_address at = queue->workspace + steps->workspace_used;
  steps->workspace_used += whole;
  tsri_cuda_use_scratch(queue, at, bytes);
  return at;
}
