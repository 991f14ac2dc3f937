// SPDX-License-Identifier: MIT
// Starts kernels. In a recorded graph, a kernel that itself waits for the kernels it depends on may be started before they have ended (programmatic dependent
// launch).
//
// Kernels of Tessera's language and those of units.cu, halves.cu, heads.cu and masks.cu begin with that wait on GPUs of compute capability 9.0 and later. The
// wait ends when the kernels before have ended and their writes are visible. Each of these has waited in the same way, or was started after its dependencies
// had ended; so all earlier kernels have ended, too. Therefore any kernel, also one of a library, may come before one that waits. Copies and fills may not: the
// driver has such edges only between kernels.
//
// Of the kernels that depend on one kernel, only the first recorded one is started early: if all were, a step of training took 13 µs longer on an H200.
#include "backends/cuda/cuda.h"

enum { MOST_EDGES = 64 };

// What the next node of a graph that is being recorded depends on.
typedef struct dependencies {
  cu_graph_node nodes[MOST_EDGES];
  cu_graph_edge edges[MOST_EDGES];
  size_t count;
} dependencies;

// Reads the dependencies. False: there are none, or too many.
static bool get_dependencies(const cuda_queue *queue, dependencies *found) {
  const cu_graph_node *nodes = NULL;
  int is_capturing = 0;
  found->count = 0;
  cu_result code = queue->cu->StreamGetCaptureInfo(queue->stream, &is_capturing, NULL, NULL, &nodes, &found->count);
  if (code != CU_SUCCESS || !is_capturing || found->count == 0 || found->count > MOST_EDGES) return false;
  for (size_t i = 0; i < found->count; i++) {
    found->nodes[i] = nodes[i];
    found->edges[i] = (cu_graph_edge){0};
  }
  return true;
}

static cu_result set_dependencies(const cuda_queue *queue, dependencies *wanted) {
  return queue->cu->StreamUpdateCaptureEdges(queue->stream, wanted->nodes, wanted->edges, wanted->count,
                                             CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

// Whether the node is a kernel on which no other node depends yet. The driver may refuse to tell if the node has programmatic edges.
static bool is_free_kernel(const tsri_cuda_api *cu, cu_graph_node node) {
  int type = 0;
  size_t dependents = 0;
  return cu->GraphNodeGetType(node, &type) == CU_SUCCESS && type == CU_GRAPH_NODE_IS_KERNEL &&
         cu->GraphNodeGetDependentNodes(node, NULL, &dependents) == CU_SUCCESS && dependents == 0;
}

// Lets the next kernel start before the kernels that it depends on have ended. False: it starts after them, as usual.
static bool allow_early_start(const cuda_queue *queue, dependencies *before) {
  const tsri_cuda_api *cu = queue->cu;
  bool has_kernel = false;
  if (!cu->StreamGetCaptureInfo || !cu->StreamUpdateCaptureEdges || !cu->GraphNodeGetType ||
      !cu->GraphNodeGetDependentNodes)
    return false;
  if (!get_dependencies(queue, before)) return false;
  for (size_t i = 0; i < before->count; i++) {
    if (!is_free_kernel(cu, before->nodes[i])) continue;
    before->edges[i] = (cu_graph_edge){.from_port = CU_EDGE_FROM_PROGRAMMATIC, .type = CU_EDGE_TYPE_PROGRAMMATIC};
    has_kernel = true;
  }
  return has_kernel && set_dependencies(queue, before) == CU_SUCCESS;
}

// The next node may be one that does not wait, so its dependencies become full ones again.
static void forbid_early_start(const cuda_queue *queue, dependencies *before) {
  for (size_t i = 0; i < before->count; i++) before->edges[i] = (cu_graph_edge){0};
  (void)set_dependencies(queue, before);
}

cu_result tsri_cuda_start_kernel(const cuda_queue *queue, const cuda_kernel_start *start, void **arguments) {
  const uint32_t *groups = start->groups, *items = start->items;
  dependencies before;
  bool is_early = start->waits && queue->is_recording && allow_early_start(queue, &before);
  cu_result code = queue->cu->LaunchKernel(start->function, groups[0], groups[1], groups[2], items[0], items[1],
                                           items[2], start->shared_bytes, queue->stream, arguments, NULL);
  if (is_early && code != CU_SUCCESS) forbid_early_start(queue, &before);
  return code;
}
