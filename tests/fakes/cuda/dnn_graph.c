// SPDX-License-Identifier: MIT
// cuDNN's interface for graphs in the stand-in: operations are computed one after the other in f32, element by element; a tensor between two of them is rounded to its type. It has nothing for f16.
// Of its four proposals the first gives other bits each time and the second needs more memory than there is, so that neither may be taken. The third has matrix units, which round f32. A
// convolution takes less time by the fourth than by the third.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/dnn_api.h"
#include "fakes/cuda/stream.h"

#define EXPORT __attribute__((visibility("default")))

enum {
  RANK = 5,  // tensors of four axes have a fifth of size 1
  AXES = 3,  // of a convolution
  PROPOSALS = 4,
  MOST_OPERATIONS = 32,
  MOST_BOUND = 32,
  FIRST_GOOD = 2,
  NOT_SUPPORTED = 3000,
  BAD_PARAM = 2000,
  EXECUTION_FAILED = 5000
};

// One for all kinds of descriptors. What a link points at must live as long as it is used.
struct dnn_node_tag {
  int kind, type, mode, proposal, count;
  bool is_done, is_between, is_passed, has_axis;
  int64_t id, axis, dims[RANK], strides[RANK], dilation[AXES], stride[AXES], before[AXES];
  dnn_node way, x, b, t, y, graph;  // way: the description of an operation
  dnn_node operations[MOST_OPERATIONS];
  int64_t ids[MOST_BOUND];
  void *pointers[MOST_BOUND], *workspace;
  float *values;  // of a tensor while its graph runs, in the order of its axes
};

// The handle's stream comes first; dnn.c has the rest.
typedef struct any_handle {
  cu_stream stream;
} any_handle;

EXPORT int cudnnBackendCreateDescriptor(int kind, dnn_node *node) {
  *node = calloc(1, sizeof **node);
  if (!*node) return BAD_PARAM;
  (*node)->kind = kind;
  for (int i = 0; i < RANK; i++) (*node)->dims[i] = 1;
  for (int i = 0; i < AXES; i++) (*node)->dilation[i] = (*node)->stride[i] = 1;
  fake_count_plan(1);
  return DNN_SUCCESS;
}

EXPORT int cudnnBackendDestroyDescriptor(dnn_node node) {
  fake_count_plan(-1);
  free(node);
  return DNN_SUCCESS;
}

// Operands of a convolution or a gradient of one; y is what it computes.
static dnn_node *conv_link_of(dnn_node node, int attribute) {
  switch (attribute) {
    case DNN_OPERATION_CONV_FORWARD + DNN_CONV_WAY:
    case DNN_OPERATION_CONV_BY_INPUT + DNN_CONV_WAY:
    case DNN_OPERATION_CONV_BY_WEIGHT + DNN_CONV_WAY:
      return &node->way;
    case DNN_OPERATION_CONV_FORWARD + DNN_CONV_X:
    case DNN_OPERATION_CONV_BY_INPUT + DNN_CONV_Y:
    case DNN_OPERATION_CONV_BY_WEIGHT + DNN_CONV_X:
      return &node->x;
    case DNN_OPERATION_CONV_FORWARD + DNN_CONV_W:
    case DNN_OPERATION_CONV_BY_INPUT + DNN_CONV_W:
    case DNN_OPERATION_CONV_BY_WEIGHT + DNN_CONV_Y:
      return &node->b;
    case DNN_OPERATION_CONV_FORWARD + DNN_CONV_Y:
    case DNN_OPERATION_CONV_BY_INPUT + DNN_CONV_X:
    case DNN_OPERATION_CONV_BY_WEIGHT + DNN_CONV_W:
      return &node->y;
    default:
      return NULL;
  }
}

static dnn_node *link_of(dnn_node node, int attribute) {
  if (attribute >= DNN_OPERATION_CONV_FORWARD && attribute < DNN_OPERATION_POINTWISE) {
    return conv_link_of(node, attribute);
  }
  switch (attribute) {
    case DNN_OPERATION_POINTWISE:
    case DNN_OPERATION_MATMUL:
    case DNN_OPERATION_REDUCTION:
      return &node->way;
    case DNN_OPERATION_POINTWISE_X:
    case DNN_OPERATION_MATMUL_A:
    case DNN_OPERATION_REDUCTION_X:
    case DNN_OPERATION_RESHAPE_X:
      return &node->x;
    case DNN_OPERATION_POINTWISE_B:
    case DNN_OPERATION_MATMUL_B:
      return &node->b;
    case DNN_OPERATION_POINTWISE_T:
      return &node->t;
    case DNN_OPERATION_POINTWISE_Y:
    case DNN_OPERATION_MATMUL_C:
    case DNN_OPERATION_REDUCTION_Y:
    case DNN_OPERATION_RESHAPE_Y:
      return &node->y;
    case DNN_HEURISTICS_GRAPH:
    case DNN_PLAN_CONFIG:
      return &node->graph;
    default:
      return NULL;
  }
}

// Where the elements of an attribute are kept; NULL: nothing is done with them.
static void *place_of(dnn_node node, int attribute, size_t *out_bytes) {
  dnn_node *link = link_of(node, attribute);
  *out_bytes = link ? sizeof *link : sizeof(int64_t);
  if (link) return link;
  switch (attribute) {
    case DNN_TENSOR_DIMS:
      return node->dims;
    case DNN_TENSOR_STRIDES:
      return node->strides;
    case DNN_TENSOR_ID:
      return &node->id;
    case DNN_CONV_DILATIONS:
      return node->dilation;
    case DNN_CONV_STRIDES:
      return node->stride;
    case DNN_CONV_BEFORE:
      return node->before;
    case DNN_PACK_IDS:
      return node->ids;
    case DNN_POINTWISE_AXIS:
      return &node->axis;
    case DNN_PACK_POINTERS:
      return node->pointers;
    case DNN_PACK_WORKSPACE:
      return &node->workspace;
    case DNN_GRAPH_OPERATIONS:
      return node->operations;
    default:
      break;
  }
  *out_bytes = sizeof(int);
  switch (attribute) {
    case DNN_TENSOR_ELEMENTS:
      return &node->type;
    case DNN_POINTWISE_MODE:
    case DNN_REDUCTION_OPERATOR:
      return &node->mode;
    default:
      break;
  }
  *out_bytes = sizeof(bool);
  if (attribute == DNN_TENSOR_IS_VIRTUAL) return &node->is_between;
  return attribute == DNN_TENSOR_IS_BY_VALUE ? &node->is_passed : NULL;
}

EXPORT int cudnnBackendSetAttribute(dnn_node node, int attribute, int type, int64_t count, const void *elements) {
  size_t bytes = 0;
  void *place = place_of(node, attribute, &bytes);
  (void)type;
  if (node->is_done || count < 0 || count > MOST_BOUND) return BAD_PARAM;
  if (place) memcpy(place, elements, bytes * (size_t)count);
  if (attribute == DNN_GRAPH_OPERATIONS || attribute == DNN_PACK_IDS) node->count = (int)count;
  return DNN_SUCCESS;
}

static bool has_type(const struct dnn_node_tag *graph, int type) {
  for (int i = 0; i < graph->count; i++) {
    if (graph->operations[i]->x->type == type) return true;
  }
  return false;
}

EXPORT int cudnnBackendFinalize(dnn_node node) {
  node->is_done = true;
  return node->kind == DNN_HEURISTICS_NODE && has_type(node->graph, DNN_HALF) ? NOT_SUPPORTED : DNN_SUCCESS;
}

EXPORT int cudnnBackendGetAttribute(dnn_node node, int attribute, int type, int64_t most, int64_t *count,
                                    void *elements) {
  (void)type;
  *count = 1;
  dnn_node *nodes = elements;
  switch (attribute) {
    case DNN_HEURISTICS_RESULTS:
      *count = PROPOSALS;
      for (int i = 0; i < PROPOSALS && i < most; i++) {
        nodes[i]->proposal = i;
        nodes[i]->graph = node->graph;
      }
      return DNN_SUCCESS;
    case DNN_CONFIG_ENGINE:
      nodes[0]->proposal = node->proposal;
      nodes[0]->graph = node->graph;
      return DNN_SUCCESS;
    case DNN_ENGINE_NUMBER:
      *(int64_t *)elements = node->proposal;
      return DNN_SUCCESS;
    case DNN_ENGINE_NOTES:
      *count = node->proposal == 0 || (node->proposal == FIRST_GOOD && has_type(node->graph, DNN_FLOAT));
      *(int *)elements = node->proposal == 0 ? DNN_NOTE_NONDETERMINISTIC : DNN_NOTE_MATRIX_UNITS;
      return DNN_SUCCESS;
    case DNN_PLAN_WORKSPACE_BYTES:
      *(int64_t *)elements = node->graph->proposal >= FIRST_GOOD ? 1024 : INT64_MAX;
      return DNN_SUCCESS;
    default:
      return BAD_PARAM;
  }
}

// --- Running ---------------------------------------------------------------------------------------------------------

static int64_t count_of(const struct dnn_node_tag *t) {
  return t->dims[0] * t->dims[1] * t->dims[2] * t->dims[3] * t->dims[4];
}

static void unravel(const struct dnn_node_tag *t, int64_t at, int64_t *index) {
  for (int i = RANK - 1; i >= 0; i--) {
    index[i] = at % t->dims[i];
    at /= t->dims[i];
  }
}

static int64_t stored_at(const struct dnn_node_tag *t, int64_t at) {
  int64_t index[RANK], place = 0;
  unravel(t, at, index);
  for (int i = 0; i < RANK; i++) place += index[i] * t->strides[i];
  return place;
}

// The element of `t` for position `index` of `like`. An axis of t may be shorter: it has one element, or a factor fewer, as heads of keys are shared by several
// heads of queries.
static float element(const struct dnn_node_tag *t, const struct dnn_node_tag *like, const int64_t *index) {
  int64_t at = 0;
  for (int i = 0; i < RANK; i++) at = at * t->dims[i] + index[i] * t->dims[i] / like->dims[i];
  return t->values[at];
}

static float rounded(int type, float value) {
  uint32_t bits;
  if (type != DNN_BFLOAT16 || isnan(value)) return value;
  memcpy(&bits, &value, sizeof bits);
  bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000u;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void read_tensor(dnn_node t, const void *memory) {
  for (int64_t i = 0; i < count_of(t); i++) {
    int64_t at = stored_at(t, i);
    uint32_t bits =
        t->type == DNN_BFLOAT16 ? (uint32_t)((const uint16_t *)memory)[at] << 16 : ((const uint32_t *)memory)[at];
    memcpy(&t->values[i], &bits, sizeof bits);
  }
}

static void write_tensor(const struct dnn_node_tag *t, void *memory) {
  for (int64_t i = 0; i < count_of(t); i++) {
    uint32_t bits;
    memcpy(&bits, &t->values[i], sizeof bits);
    if (t->type == DNN_BFLOAT16) ((uint16_t *)memory)[stored_at(t, i)] = (uint16_t)(bits >> 16);
    else ((uint32_t *)memory)[stored_at(t, i)] = bits;
  }
}

static float apply(const struct dnn_node_tag *way, float x, float b, float t, const int64_t *index) {
  switch (way->mode) {
    case DNN_ADD:
      return x + b;
    case DNN_MUL:
      return x * b;
    case DNN_DIV:
      return x / b;
    case DNN_SUB:
      return x - b;
    case DNN_EXP:
      return expf(x);
    case DNN_LOG:
      return logf(x);
    case DNN_GREATER_EQUAL:
      return x >= b;
    case DNN_INDEX:
      return (float)index[way->axis];
    case DNN_SELECT:
      return t != 0 ? x : b;
    default:
      return x;
  }
}

static float product_at(const struct dnn_node_tag *o, const int64_t *index) {
  float sum = 0;
  for (int64_t k = 0; k < o->x->dims[3]; k++) {
    int64_t left[RANK] = {index[0], index[1], index[2], k}, right[RANK] = {index[0], 0, k, index[3]};
    right[1] = index[1] * o->b->dims[1] / o->y->dims[1];
    const float *a = o->x->values, *b = o->b->values;
    sum += a[((left[0] * o->x->dims[1] + left[1]) * o->x->dims[2] + left[2]) * o->x->dims[3] + k] *
           b[((right[0] * o->b->dims[1] + right[1]) * o->b->dims[2] + k) * o->b->dims[3] + right[3]];
  }
  return sum;
}

static void reduce(const struct dnn_node_tag *o) {
  bool is_max = o->way->mode == DNN_REDUCE_MAX;
  for (int64_t i = 0; i < count_of(o->y); i++) o->y->values[i] = is_max ? -INFINITY : 0;
  for (int64_t i = 0; i < count_of(o->x); i++) {
    int64_t index[RANK], at = 0;
    unravel(o->x, i, index);
    for (int j = 0; j < RANK; j++) at = at * o->y->dims[j] + index[j] * o->y->dims[j] / o->x->dims[j];
    float *to = &o->y->values[at];
    *to = is_max ? fmaxf(*to, o->x->values[i]) : *to + o->x->values[i];
  }
}

// The same elements with axes 2 and 3 exchanged, which is all that graphs here reshape.
static float turned_at(const struct dnn_node_tag *o, const int64_t *index) {
  return o->x->values[((index[0] * o->x->dims[1] + index[1]) * o->x->dims[2] + index[3]) * o->x->dims[3] + index[2]];
}

static bool is_conv(const struct dnn_node_tag *o) {
  return o->kind >= DNN_OPERATION_CONV_FORWARD_NODE && o->kind <= DNN_OPERATION_CONV_BY_INPUT_NODE;
}

// The element at [a, b, at[0], at[1], at[2]].
static int64_t place_in(const struct dnn_node_tag *t, int64_t a, int64_t b, const int64_t *at) {
  return (((a * t->dims[1] + b) * t->dims[2] + at[0]) * t->dims[3] + at[1]) * t->dims[4] + at[2];
}

// Where the kernel element `tap` of the window `at` is in x, [channel, axes]; false: in the padding.
static bool reaches(const struct dnn_node_tag *way, const struct dnn_node_tag *x, const int64_t *at, const int64_t *tap,
                    int64_t *out) {
  for (int i = 0; i < AXES; i++) {
    out[i] = at[2 + i] * way->stride[i] + tap[2 + i] * way->dilation[i] - way->before[i];
    if (out[i] < 0 || out[i] >= x->dims[2 + i]) return false;
  }
  return true;
}

// For each element of the forward convolution's result, all products that it is made of: each adds to the operand that is computed.
static void convolve(const struct dnn_node_tag *o) {
  bool is_by_input = o->kind == DNN_OPERATION_CONV_BY_INPUT_NODE,
       is_by_weight = o->kind == DNN_OPERATION_CONV_BY_WEIGHT_NODE;
  const struct dnn_node_tag *x = is_by_input ? o->y : o->x, *w = is_by_weight ? o->y : o->b,
                            *y = is_by_input    ? o->x
                                 : is_by_weight ? o->b
                                                : o->y,
                            *way = o->way;
  int64_t groups = x->dims[1] / w->dims[1], taps = count_of(w) / w->dims[0];
  for (int64_t i = 0; i < count_of(o->y); i++) o->y->values[i] = 0;
  for (int64_t i = 0; i < count_of(y); i++) {
    int64_t at[RANK], tap[RANK], in_x[AXES];
    unravel(y, i, at);
    for (int64_t t = 0; t < taps; t++) {
      unravel(w, t, tap);
      if (!reaches(way, x, at, tap, in_x)) continue;
      int64_t channel = at[1] / (y->dims[1] / groups) * w->dims[1] + tap[1];
      float *of_x = &x->values[place_in(x, at[0], channel, in_x)], *of_w = &w->values[at[1] * taps + t],
            *of_y = &y->values[i];
      if (is_by_input) *of_x += *of_w * *of_y;
      else if (is_by_weight) *of_w += *of_x * *of_y;
      else *of_y += *of_x * *of_w;
    }
  }
}

static void run_operation(const struct dnn_node_tag *o) {
  if (is_conv(o)) convolve(o);
  if (o->kind == DNN_OPERATION_REDUCTION_NODE) reduce(o);
  for (int64_t i = 0; i < count_of(o->y); i++) {
    int64_t index[RANK];
    unravel(o->y, i, index);
    float *to = &o->y->values[i];
    if (o->kind == DNN_OPERATION_MATMUL_NODE) *to = product_at(o, index);
    else if (o->kind == DNN_OPERATION_RESHAPE_NODE) *to = turned_at(o, index);
    else if (o->kind == DNN_OPERATION_POINTWISE_NODE) {
      *to = apply(o->way, element(o->x, o->y, index), o->b ? element(o->b, o->y, index) : 0,
                  o->t ? element(o->t, o->y, index) : 0, index);
    }
    *to = rounded(o->y->type, *to);
  }
}

static void *bound(const struct dnn_node_tag *pack, const struct dnn_node_tag *t) {
  for (int i = 0; i < pack->count && !t->is_between; i++) {
    if (pack->ids[i] == t->id) return pack->pointers[i];
  }
  return NULL;
}

// Every tensor of the graph, some of them several times.
static dnn_node tensor_of(dnn_node graph, int number) {
  dnn_node o = graph->operations[number / 4];
  return (dnn_node[]){o->x, o->b, o->t, o->y}[number % 4];
}

static int run_graph(dnn_node graph, dnn_node pack) {
  int code = DNN_SUCCESS;
  for (int i = 0; i < graph->count * 4; i++) {
    dnn_node t = tensor_of(graph, i);
    if (!t || t->values) continue;
    void *memory = bound(pack, t);
    if (!memory && !t->is_between) code = BAD_PARAM;
    t->values = calloc((size_t)count_of(t), sizeof(float));
    if (memory && t->values && i % 4 != 3) read_tensor(t, memory);
  }
  for (int i = 0; i < graph->count && code == DNN_SUCCESS; i++) {
    run_operation(graph->operations[i]);
    void *memory = bound(pack, graph->operations[i]->y);
    if (memory) write_tensor(graph->operations[i]->y, memory);
  }
  for (int i = 0; i < graph->count * 4; i++) {
    dnn_node t = tensor_of(graph, i);
    if (!t) continue;
    free(t->values);
    t->values = NULL;
  }
  return code;
}

// count_graph and count_convolution count a run, and return whether it is to fail (failing_graphs and failing_convolutions of fake_cuda).
static bool count_graph(void) {
  bool fails = fake_state()->failing_graphs > 0;
  if (fails) fake_state()->failing_graphs--;
  fake_spend(fake_state()->graph_us);
  fake_state()->graphs++;
  return fails;
}

static bool count_convolution(int proposal) {
  bool fails = fake_state()->failing_convolutions > 0;
  if (fails) fake_state()->failing_convolutions--;
  fake_spend(proposal == FIRST_GOOD ? 40 : 15);
  fake_state()->convolutions++;
  fake_state()->last_proposal = proposal;
  return fails;
}

// A run of a plan that was recorded. Numbers that the host passes are kept as they were then.
typedef struct recorded_run {
  dnn_node graph;
  struct dnn_node_tag pack;
  float passed[MOST_BOUND];
} recorded_run;

static void run_recorded(void *user) {
  recorded_run *run = user;
  (void)run_graph(run->graph, &run->pack);
}

static recorded_run *keep_run(dnn_node graph, const struct dnn_node_tag *pack) {
  recorded_run *run = calloc(1, sizeof *run);
  run->graph = graph;
  run->pack = *pack;
  for (int i = 0; i < graph->count * 4; i++) {
    dnn_node t = tensor_of(graph, i);
    for (int j = 0; t && t->is_passed && j < pack->count; j++) {
      if (pack->ids[j] != t->id) continue;
      run->passed[j] = *(const float *)pack->pointers[j];
      run->pack.pointers[j] = &run->passed[j];
    }
  }
  return run;
}

static int run_or_record(cu_stream stream, dnn_node graph, dnn_node pack) {
  recorded_run *run = keep_run(graph, pack);
  if (fake_record_call(stream, run_recorded, run)) return DNN_SUCCESS;
  free(run);
  fake_run_stream(stream);
  return fake_state()->is_idle ? DNN_SUCCESS : run_graph(graph, pack);
}

EXPORT int cudnnBackendExecute(dnn_handle handle, dnn_node plan, dnn_node pack) {
  if (!pack->workspace || !plan->is_done || !pack->is_done) return BAD_PARAM;
  if (fake_enter()) return EXECUTION_FAILED;
  fake_lock();
  dnn_node graph = plan->graph->graph;
  bool fails = is_conv(graph->operations[0]) ? count_convolution(plan->graph->proposal) : count_graph();
  int code = fails ? EXECUTION_FAILED : run_or_record(((any_handle *)handle)->stream, graph, pack);
  fake_unlock();
  return code;
}
