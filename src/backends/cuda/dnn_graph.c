// SPDX-License-Identifier: MIT
// Builds and runs graphs with cuDNN's backend interface.
#include "backends/cuda/dnn_graph.h"

#include <string.h>

#include "backends/cuda/dnn_plan.h"
#include "core/log.h"

enum { FIRST_BETWEEN = 100, ALIGNMENT = 16, MOST_NOTES = 16 };

dnn_shape tsri_dnn_packed(int64_t a, int64_t b, int64_t c, int64_t d) {
  return (dnn_shape){{a, b, c, d}, {b * c * d, c * d, d, 1}, DNN_RANK};
}

void tsri_dnn_graph_init(dnn_graph *graph, const cuda_dnn *dnn) {
  *graph = (dnn_graph){.dnn = dnn,
                       .code = DNN_SUCCESS,
                       .next_id = FIRST_BETWEEN,
                       .most_configs = DNN_FEW_CONFIGS,
                       .refused_notes = 1u << DNN_NOTE_NONDETERMINISTIC};
}

void tsri_dnn_graph_deinit(dnn_graph *graph) {
  tsri_dnn_replays_deinit(&graph->replays, graph->dnn->cu);
  while (graph->node_count > 0) graph->dnn->api.NodeDestroy(graph->nodes[--graph->node_count]);
  graph->plan = NULL;
}

// --- Nodes -----------------------------------------------------------------------------------------------------------

static dnn_node create(dnn_graph *graph, int kind) {
  dnn_node node = NULL;
  if (graph->code == DNN_SUCCESS && graph->node_count == DNN_MOST_NODES) graph->code = -1;
  if (graph->code == DNN_SUCCESS) graph->code = graph->dnn->api.NodeCreate(kind, &node);
  if (graph->code != DNN_SUCCESS) return NULL;
  graph->nodes[graph->node_count++] = node;
  return node;
}

static void set(dnn_graph *graph, dnn_node node, int attribute, int type, int64_t count, const void *elements) {
  if (graph->code == DNN_SUCCESS) graph->code = graph->dnn->api.NodeSet(node, attribute, type, count, elements);
}

static void set_node(dnn_graph *graph, dnn_node node, int attribute, dnn_node to) {
  set(graph, node, attribute, DNN_TYPE_NODE, 1, &to);
}

static void finish(dnn_graph *graph, dnn_node node) {
  if (graph->code == DNN_SUCCESS) graph->code = graph->dnn->api.NodeFinish(node);
}

static void finish_operation(dnn_graph *graph, dnn_node node) {
  finish(graph, node);
  if (graph->code == DNN_SUCCESS && graph->operation_count == DNN_MOST_OPERATIONS) graph->code = -1;
  if (graph->code == DNN_SUCCESS) graph->operations[graph->operation_count++] = node;
}

// --- Tensors ---------------------------------------------------------------------------------------------------------

static dnn_node tensor(dnn_graph *graph, int64_t id, int type, const dnn_shape *shape, int flag) {
  const int64_t alignment = ALIGNMENT;
  const bool is_set = true;
  dnn_node node = create(graph, DNN_TENSOR_NODE);
  set(graph, node, DNN_TENSOR_ALIGNMENT, DNN_TYPE_INT64, 1, &alignment);
  set(graph, node, DNN_TENSOR_ELEMENTS, DNN_TYPE_ELEMENTS, 1, &type);
  set(graph, node, DNN_TENSOR_DIMS, DNN_TYPE_INT64, shape->rank, shape->dims);
  set(graph, node, DNN_TENSOR_STRIDES, DNN_TYPE_INT64, shape->rank, shape->strides);
  set(graph, node, DNN_TENSOR_ID, DNN_TYPE_INT64, 1, &id);
  if (flag) set(graph, node, flag, DNN_TYPE_BOOLEAN, 1, &is_set);
  finish(graph, node);
  return node;
}

dnn_node tsri_dnn_stored(dnn_graph *graph, int64_t id, int type, const dnn_shape *shape) {
  return tensor(graph, id, type, shape, 0);
}

dnn_node tsri_dnn_between(dnn_graph *graph, int type, const dnn_shape *shape) {
  return tensor(graph, graph->next_id++, type, shape, DNN_TENSOR_IS_VIRTUAL);
}

dnn_node tsri_dnn_passed(dnn_graph *graph, int64_t id) {
  dnn_shape one = tsri_dnn_packed(1, 1, 1, 1);
  return tensor(graph, id, DNN_FLOAT, &one, DNN_TENSOR_IS_BY_VALUE);
}

// --- Operations ------------------------------------------------------------------------------------------------------

// Adds a pointwise operation. Pass NULL for `b` or `t`, or -1 for `axis`, if the mode does not use them.
static dnn_node pointwise(dnn_graph *graph, dnn_pointwise mode, int precision, int64_t axis, dnn_node x, dnn_node b,
                          dnn_node t, dnn_node y) {
  const int number = (int)mode;
  dnn_node way = create(graph, DNN_POINTWISE_NODE);
  set(graph, way, DNN_POINTWISE_MODE, DNN_TYPE_POINTWISE, 1, &number);
  set(graph, way, DNN_POINTWISE_PRECISION, DNN_TYPE_ELEMENTS, 1, &precision);
  if (axis >= 0) set(graph, way, DNN_POINTWISE_AXIS, DNN_TYPE_INT64, 1, &axis);
  finish(graph, way);
  dnn_node node = create(graph, DNN_OPERATION_POINTWISE_NODE);
  set_node(graph, node, DNN_OPERATION_POINTWISE, way);
  set_node(graph, node, DNN_OPERATION_POINTWISE_X, x);
  if (b) set_node(graph, node, DNN_OPERATION_POINTWISE_B, b);
  if (t) set_node(graph, node, DNN_OPERATION_POINTWISE_T, t);
  set_node(graph, node, DNN_OPERATION_POINTWISE_Y, y);
  finish_operation(graph, node);
  return y;
}

dnn_node tsri_dnn_unary(dnn_graph *graph, dnn_pointwise mode, dnn_node x, dnn_node y) {
  return pointwise(graph, mode, DNN_FLOAT, -1, x, NULL, NULL, y);
}

dnn_node tsri_dnn_binary(dnn_graph *graph, dnn_pointwise mode, dnn_node x, dnn_node b, dnn_node y) {
  return pointwise(graph, mode, DNN_FLOAT, -1, x, b, NULL, y);
}

dnn_node tsri_dnn_reduce(dnn_graph *graph, int operator, dnn_node x, dnn_node y) {
  const int precision = DNN_FLOAT;
  dnn_node way = create(graph, DNN_REDUCTION_NODE);
  set(graph, way, DNN_REDUCTION_OPERATOR, DNN_TYPE_REDUCTION, 1, &operator);
  set(graph, way, DNN_REDUCTION_PRECISION, DNN_TYPE_ELEMENTS, 1, &precision);
  finish(graph, way);
  dnn_node node = create(graph, DNN_OPERATION_REDUCTION_NODE);
  set_node(graph, node, DNN_OPERATION_REDUCTION, way);
  set_node(graph, node, DNN_OPERATION_REDUCTION_X, x);
  set_node(graph, node, DNN_OPERATION_REDUCTION_Y, y);
  finish_operation(graph, node);
  return y;
}

dnn_node tsri_dnn_multiply(dnn_graph *graph, dnn_node a, dnn_node b, dnn_node y) {
  const int precision = DNN_FLOAT;
  dnn_node way = create(graph, DNN_MATMUL_NODE);
  set(graph, way, DNN_MATMUL_PRECISION, DNN_TYPE_ELEMENTS, 1, &precision);
  finish(graph, way);
  dnn_node node = create(graph, DNN_OPERATION_MATMUL_NODE);
  set_node(graph, node, DNN_OPERATION_MATMUL, way);
  set_node(graph, node, DNN_OPERATION_MATMUL_A, a);
  set_node(graph, node, DNN_OPERATION_MATMUL_B, b);
  set_node(graph, node, DNN_OPERATION_MATMUL_C, y);
  finish_operation(graph, node);
  return y;
}

dnn_node tsri_dnn_reshape(dnn_graph *graph, dnn_node x, dnn_node y) {
  dnn_node node = create(graph, DNN_OPERATION_RESHAPE_NODE);
  set_node(graph, node, DNN_OPERATION_RESHAPE_X, x);
  set_node(graph, node, DNN_OPERATION_RESHAPE_Y, y);
  finish_operation(graph, node);
  return y;
}

// Creates the descriptor of the convolution's strides, dilations and padding.
static dnn_node conv_way(dnn_graph *graph, const cuda_conv *conv) {
  const int precision = DNN_FLOAT, mode = DNN_CROSS_CORRELATION;
  const int64_t axes = conv->axes, first = CUDA_CONV_AXES - axes;
  int64_t dilation[CUDA_CONV_AXES], stride[CUDA_CONV_AXES], before[CUDA_CONV_AXES];
  for (int64_t i = 0; i < axes; i++) {
    dilation[i] = conv->dilation[first + i];
    stride[i] = conv->stride[first + i];
    before[i] = conv->before[first + i];
  }
  dnn_node way = create(graph, DNN_CONV_NODE);
  set(graph, way, DNN_CONV_PRECISION, DNN_TYPE_ELEMENTS, 1, &precision);
  set(graph, way, DNN_CONV_MODE, DNN_TYPE_CONV_MODE, 1, &mode);
  set(graph, way, DNN_CONV_AXES, DNN_TYPE_INT64, 1, &axes);
  set(graph, way, DNN_CONV_DILATIONS, DNN_TYPE_INT64, axes, dilation);
  set(graph, way, DNN_CONV_STRIDES, DNN_TYPE_INT64, axes, stride);
  set(graph, way, DNN_CONV_BEFORE, DNN_TYPE_INT64, axes, before);
  set(graph, way, DNN_CONV_AFTER, DNN_TYPE_INT64, axes, before);
  finish(graph, way);
  return way;
}

void tsri_dnn_convolve(dnn_graph *graph, const cuda_conv *conv, dnn_node x, dnn_node w, dnn_node y) {
  static const struct {
    int kind, first;
  } directions[] = {[CUDA_CONV_FORWARD] = {DNN_OPERATION_CONV_FORWARD_NODE, DNN_OPERATION_CONV_FORWARD},
                    [CUDA_CONV_BY_INPUT] = {DNN_OPERATION_CONV_BY_INPUT_NODE, DNN_OPERATION_CONV_BY_INPUT},
                    [CUDA_CONV_BY_WEIGHT] = {DNN_OPERATION_CONV_BY_WEIGHT_NODE, DNN_OPERATION_CONV_BY_WEIGHT}};
  const float one = 1, zero = 0;
  int first = directions[conv->direction].first;
  dnn_node way = conv_way(graph, conv), node = create(graph, directions[conv->direction].kind);
  set(graph, node, first + DNN_CONV_ALPHA, DNN_TYPE_FLOAT, 1, &one);
  set(graph, node, first + DNN_CONV_BETA, DNN_TYPE_FLOAT, 1, &zero);
  set_node(graph, node, first + DNN_CONV_WAY, way);
  set_node(graph, node, first + DNN_CONV_W, w);
  set_node(graph, node, first + DNN_CONV_X, x);
  set_node(graph, node, first + DNN_CONV_Y, y);
  finish_operation(graph, node);
}

dnn_node tsri_dnn_lower_triangle(dnn_graph *graph, dnn_node x, dnn_node other, const dnn_shape *shape) {
  dnn_node row = pointwise(graph, DNN_INDEX, DNN_FLOAT, 2, x, NULL, NULL, tsri_dnn_between(graph, DNN_INT32, shape));
  dnn_node column = pointwise(graph, DNN_INDEX, DNN_FLOAT, 3, x, NULL, NULL, tsri_dnn_between(graph, DNN_INT32, shape));
  dnn_node is_kept = pointwise(graph, DNN_GREATER_EQUAL, DNN_BOOLEAN, -1, row, column, NULL,
                               tsri_dnn_between(graph, DNN_BOOLEAN, shape));
  return pointwise(graph, DNN_SELECT, DNN_FLOAT, -1, x, other, is_kept, tsri_dnn_between(graph, DNN_FLOAT, shape));
}

// --- Plans -----------------------------------------------------------------------------------------------------------

// Gives cuDNN's proposals for the graph, in its order of preference.
static int find_configs(dnn_graph *graph, dnn_node whole, dnn_node *configs) {
  const int mode = DNN_HEURISTICS_BY_MODEL;
  int64_t count = 0;
  dnn_node heuristics = create(graph, DNN_HEURISTICS_NODE);
  set_node(graph, heuristics, DNN_HEURISTICS_GRAPH, whole);
  set(graph, heuristics, DNN_HEURISTICS_MODE, DNN_TYPE_HEURISTICS, 1, &mode);
  finish(graph, heuristics);
  for (int i = 0; i < graph->most_configs; i++) configs[i] = create(graph, DNN_CONFIG_NODE);
  if (graph->code == DNN_SUCCESS) {
    graph->code = graph->dnn->api.NodeGet(heuristics, DNN_HEURISTICS_RESULTS, DNN_TYPE_NODE, graph->most_configs,
                                          &count, configs);
  }
  return graph->code != DNN_SUCCESS ? 0 : count < graph->most_configs ? (int)count : graph->most_configs;
}

// Whether a proposal has none of the graph's refused notes. *out_engine is cuDNN's number of the engine (its set of kernels).
static bool is_allowed(dnn_graph *graph, dnn_node config, int64_t *out_engine) {
  int notes[MOST_NOTES];
  int64_t count = 0;
  dnn_node engine = create(graph, DNN_ENGINE_NODE);
  if (graph->code != DNN_SUCCESS) return false;
  int code = graph->dnn->api.NodeGet(config, DNN_CONFIG_ENGINE, DNN_TYPE_NODE, 1, &count, &engine);
  if (code == DNN_SUCCESS) {
    code = graph->dnn->api.NodeGet(engine, DNN_ENGINE_NUMBER, DNN_TYPE_INT64, 1, &count, out_engine);
  }
  if (code == DNN_SUCCESS) {
    code = graph->dnn->api.NodeGet(engine, DNN_ENGINE_NOTES, DNN_TYPE_NOTE, MOST_NOTES, &count, notes);
  }
  for (int i = 0; code == DNN_SUCCESS && i < count; i++) {
    if (graph->refused_notes >> notes[i] & 1) return false;
  }
  return code == DNN_SUCCESS;
}

// Makes a plan of a proposal. False: it does not run on this GPU, or needs too much workspace; graph->code stays DNN_SUCCESS, so that the
// next proposal can be tried.
static bool try_config(dnn_graph *graph, dnn_node config, int64_t most_bytes, dnn_proposal *out) {
  int64_t count = 0;
  out->plan = create(graph, DNN_PLAN_NODE);
  if (graph->code != DNN_SUCCESS) return false;
  set(graph, out->plan, DNN_PLAN_HANDLE, DNN_TYPE_HANDLE, 1, &graph->dnn->handle);
  set_node(graph, out->plan, DNN_PLAN_CONFIG, config);
  finish(graph, out->plan);
  if (graph->code == DNN_SUCCESS) {
    graph->code = graph->dnn->api.NodeGet(out->plan, DNN_PLAN_WORKSPACE_BYTES, DNN_TYPE_INT64, 1, &count, &out->bytes);
  }
  bool is_good = graph->code == DNN_SUCCESS && out->bytes <= most_bytes;
  graph->code = DNN_SUCCESS;
  return is_good;
}

int tsri_dnn_graph_proposals(dnn_graph *graph, int64_t most_bytes, dnn_proposal *out, int most) {
  dnn_node configs[DNN_MOST_CONFIGS], whole = create(graph, DNN_GRAPH_NODE);
  set(graph, whole, DNN_GRAPH_HANDLE, DNN_TYPE_HANDLE, 1, &graph->dnn->handle);
  set(graph, whole, DNN_GRAPH_OPERATIONS, DNN_TYPE_NODE, graph->operation_count, graph->operations);
  finish(graph, whole);
  int count = find_configs(graph, whole, configs), found = 0;
  for (int i = 0; i < count && found < most; i++) {
    bool is_good =
        is_allowed(graph, configs[i], &out[found].engine) && try_config(graph, configs[i], most_bytes, &out[found]);
    if (is_good) found++;
  }
  return found;
}

bool tsri_dnn_graph_plan(dnn_graph *graph, int64_t most_bytes) {
  dnn_proposal first = {0};
  if (tsri_dnn_graph_proposals(graph, most_bytes, &first, 1) == 0) return false;
  graph->plan = first.plan;
  graph->workspace_bytes = first.bytes;
  return true;
}

// Queues the call directly through cuDNN (not by a recorded graph). Returns cuDNN's code.
static int launch(const void *context) {
  const dnn_call *call = context;
  const cuda_dnn *dnn = call->graph->dnn;
  int64_t ids[DNN_MOST_BINDINGS];
  const void *pointers[DNN_MOST_BINDINGS], *memory = (const void *)(uintptr_t)call->workspace;
  for (int i = 0; i < call->count; i++) {
    ids[i] = call->bindings[i].id;
    pointers[i] = call->bindings[i].at;
  }
  dnn_node pack = NULL;
  int code = dnn->api.NodeCreate(DNN_PACK_NODE, &pack);
  if (code != DNN_SUCCESS) return code;
  code = dnn->api.NodeSet(pack, DNN_PACK_IDS, DNN_TYPE_INT64, call->count, ids);
  if (code == DNN_SUCCESS) code = dnn->api.NodeSet(pack, DNN_PACK_POINTERS, DNN_TYPE_POINTER, call->count, pointers);
  if (code == DNN_SUCCESS) code = dnn->api.NodeSet(pack, DNN_PACK_WORKSPACE, DNN_TYPE_POINTER, 1, &memory);
  if (code == DNN_SUCCESS) code = dnn->api.NodeFinish(pack);
  if (code == DNN_SUCCESS) code = dnn->api.GraphRun(dnn->handle, call->plan, pack);
  dnn->api.NodeDestroy(pack);
  return code;
}

int tsri_dnn_graph_run(cuda_queue *queue, const dnn_call *call) {
  if (call->is_timed) return launch(call);
  dnn_run run = {.plan = call->plan, .workspace = call->workspace};
  for (int i = 0; i < call->count; i++) {
    const dnn_binding *binding = &call->bindings[i];
    if (binding->is_passed) memcpy(&run.operands[i], binding->at, sizeof(float));
    else run.operands[i] = (uintptr_t)binding->at;
  }
  return tsri_dnn_replay(&call->graph->replays, queue, &run, launch, call);
}
