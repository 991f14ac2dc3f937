// SPDX-License-Identifier: MIT
// Convolutions as cuDNN graphs of one operation. Running the plan of a graph takes the host less time than calling one of
// cuDNN's convolution functions, which search for a plan at every call.
#include "backends/cuda/dnn_graph.h"
#include "backends/cuda/dnn_plan.h"
#include "core/alloc.h"

enum { X_ID = 1, W_ID, Y_ID, MOST_PLANS = 6, ALIGNMENT = 16 };

// cuDNN's notes on arithmetic. NOT_DIRECT: transforms (Winograd, FFT), which also multiply elements outside of a window: an infinity there could make the
// result NaN, and errors are larger. NOT_EXACT: those and matrix units, which f32 without TF32 must not use.
enum {
  NOT_DIRECT = 1u << DNN_NOTE_FFT | 1u << DNN_NOTE_WINOGRAD | 1u << DNN_NOTE_WINOGRAD_4 | 1u << DNN_NOTE_WINOGRAD_6 |
               1u << DNN_NOTE_WINOGRAD_13,
  NOT_EXACT = NOT_DIRECT | 1u << DNN_NOTE_MATRIX_UNITS | 1u << DNN_NOTE_ROUNDED_INPUTS | 1u << DNN_NOTE_ROUNDED_SUMS
};

struct dnn_conv_graph {
  dnn_graph graph;
  dnn_proposal proposals[MOST_PLANS];
};

// A packed tensor of [outer, channels, axes], with channels last in memory or not.
static dnn_shape packed(const cuda_conv *conv, int64_t outer, int64_t channels, const int32_t *axes) {
  dnn_shape shape = {.dims = {outer, channels}, .rank = 2 + conv->axes};
  int64_t next = conv->is_last ? channels : 1;
  for (int i = conv->axes - 1; i >= 0; i--) {
    shape.dims[2 + i] = axes[CUDA_CONV_AXES - conv->axes + i];
    shape.strides[2 + i] = next;
    next *= shape.dims[2 + i];
  }
  shape.strides[1] = conv->is_last ? 1 : next;
  shape.strides[0] = conv->is_last ? next : next * channels;
  return shape;
}

static int type_of(int32_t dtype) { return dtype == TSR_F32 ? DNN_FLOAT : dtype == TSR_F16 ? DNN_HALF : DNN_BFLOAT16; }

void tsri_dnn_conv_graph_destroy(dnn_plan *plan) {
  if (!plan->graph) return;
  tsri_dnn_graph_deinit(&plan->graph->graph);
  tsri_free(plan->graph);
  plan->graph = NULL;
}

bool tsri_dnn_conv_graph(const cuda_dnn *dnn, bool allows_tf32, int64_t most_workspace, dnn_plan *plan) {
  const cuda_conv *conv = &plan->conv;
  dnn_conv_graph *made = tsri_calloc(1, sizeof *made);
  if (!made) return false;
  dnn_graph *graph = &made->graph;
  int type = type_of(conv->dtype);
  dnn_shape x = packed(conv, conv->images, conv->channels, conv->size),
            w = packed(conv, conv->out_channels, conv->channels / conv->groups, conv->kernel),
            y = packed(conv, conv->images, conv->out_channels, conv->windows);
  tsri_dnn_graph_init(graph, dnn);
  graph->refused_notes |= NOT_DIRECT;
  if (conv->dtype == TSR_F32 && !allows_tf32) {
    graph->refused_notes |= NOT_EXACT;
    graph->most_configs = DNN_MOST_CONFIGS;  // the first ones are those with matrix units
  }
  tsri_dnn_convolve(graph, conv, tsri_dnn_stored(graph, X_ID, type, &x), tsri_dnn_stored(graph, W_ID, type, &w),
                    tsri_dnn_stored(graph, Y_ID, type, &y));
  plan->graph = made;
  plan->proposal_count = tsri_dnn_graph_proposals(graph, most_workspace, made->proposals, MOST_PLANS);
  for (int i = 0; i < plan->proposal_count; i++) {
    plan->proposals[i] =
        (dnn_choice){.algorithm = (int)made->proposals[i].engine, .memory = (size_t)made->proposals[i].bytes};
  }
  if (plan->proposal_count == 0) tsri_dnn_conv_graph_destroy(plan);
  return plan->graph != NULL;
}

bool tsri_dnn_conv_graph_takes(const cuda_conv_memory *memory) {
  return (memory->x | memory->w | memory->y) % ALIGNMENT == 0;
}

int tsri_dnn_conv_graph_run(cuda_queue *queue, const dnn_plan *plan, int number, const cuda_conv_memory *memory) {
  cu_address workspace = tsri_cuda_take_workspace(queue, plan->proposals[number].memory);
  if (!workspace) return -1;
  const dnn_call call = {.graph = &plan->graph->graph,
                         .plan = plan->graph->proposals[number].plan,
                         .bindings = {{.id = X_ID, .at = (const void *)(uintptr_t)memory->x},
                                      {.id = W_ID, .at = (const void *)(uintptr_t)memory->w},
                                      {.id = Y_ID, .at = (const void *)(uintptr_t)memory->y}},
                         .count = 3,
                         .workspace = workspace,
                         .is_timed = !plan->is_settled};
  return tsri_dnn_graph_run(queue, &call);
}
