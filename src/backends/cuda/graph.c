// SPDX-License-Identifier: MIT
// Recorded graphs: the driver captures the stream's commands and later launches them as one unit.
#include "backends/cuda/cuda.h"
#include "core/alloc.h"

typedef struct cuda_graph {
  cu_graph_exec exec;
} cuda_graph;

tsr_status tsri_cuda_graph_begin(tsri_queue *queue) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  cu_result code = gpu_queue->cu->StreamBeginCapture(gpu_queue->stream, CU_STREAM_CAPTURE_RELAXED);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  gpu_queue->is_recording = code == CU_SUCCESS;
  return code == CU_SUCCESS ? TSR_OK : CUDA_FAIL(gpu_queue->device, code, TSR_ERR_INTERNAL, "recording a graph");
}

// Ends the capture and makes an executable graph. The captured graph itself is not needed afterwards.
static cu_result instantiate(cuda_queue *queue, cu_graph_exec *out_exec) {
  cu_graph graph = NULL;
  cu_result code = queue->cu->StreamEndCapture(queue->stream, &graph);
  if (code == CU_SUCCESS) code = queue->cu->GraphInstantiate(out_exec, graph, 0);
  if (graph) (void)queue->cu->GraphDestroy(graph);
  return code;
}

tsr_status tsri_cuda_graph_end(tsri_queue *queue, tsri_graph **out_graph) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  cuda_graph *graph = tsri_calloc(1, sizeof *graph);
  cu_graph_exec exec = NULL;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  gpu_queue->is_recording = false;
  cu_result code = instantiate(gpu_queue, &exec);
  bool is_ordered = tsri_cuda_steps_end(gpu_queue);
  if ((!graph || !is_ordered) && exec) (void)gpu_queue->cu->GraphExecDestroy(exec);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  if (!graph)
    return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "%s: no host memory for a graph's record", gpu_queue->device->name);
  if (code != CU_SUCCESS) {
    tsri_free(graph);
    return CUDA_FAIL(gpu_queue->device, code, TSR_ERR_INTERNAL, "building a graph of what was recorded");
  }
  if (!is_ordered) {
    tsri_free(graph);
    return TSR_ERR_UNSUPPORTED;
  }
  graph->exec = exec;
  *out_graph = (tsri_graph *)graph;
  return TSR_OK;
}

tsr_status tsri_cuda_graph_launch(tsri_queue *queue, tsri_graph *graph) {
  cuda_queue *gpu_queue = cuda_queue_of(queue);
  tsr_status status = tsri_cuda_begin(gpu_queue);
  if (status != TSR_OK) return status;
  bool was_pushed = tsri_cuda_enter(gpu_queue->device);
  cu_result code = gpu_queue->cu->GraphLaunch(((cuda_graph *)graph)->exec, gpu_queue->stream);
  tsri_cuda_leave(gpu_queue->device, was_pushed);
  return code == CU_SUCCESS ? TSR_OK : CUDA_FAIL(gpu_queue->device, code, TSR_ERR_LAUNCH, "launching a graph");
}

void tsri_cuda_graph_destroy(tsri_device *device, tsri_graph *graph) {
  cuda_graph *gpu_graph = (cuda_graph *)graph;
  bool was_pushed = tsri_cuda_enter(cuda_device_of(device));
  (void)cuda_device_of(device)->cu->GraphExecDestroy(gpu_graph->exec);
  tsri_cuda_leave(cuda_device_of(device), was_pushed);
  tsri_free(gpu_graph);
}
