// SPDX-License-Identifier: MIT
// Streams and events of the stand-in. What is queued waits until someone waits for it.
#include "fakes/cuda/stream.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { MOST_DEPENDENCIES = 64 };

// The operations of a graph on which the next one that is recorded depends.
typedef struct dependencies {
  struct operation *list[MOST_DEPENDENCIES];
  bool is_early[MOST_DEPENDENCIES];  // the edge is programmatic
  size_t count;
} dependencies;

typedef struct operation {
  struct operation *next;
  dependencies after;  // in a graph
  bool is_queued;      // in a graph that is being launched
  size_t dependents;   // operations of the graph that depend on this one
  enum { COPY, SET, EVENT, AXPY, HOST, CRASH, ENDLESS, NOTHING, WAITS } kind;
  char *to;
  const char *from;
  void *staged;  // freed afterwards
  void *owned;   // freed with the graph
  size_t bytes, count;
  unsigned value;
  cu_event event;
  unsigned recorded;  // EVENT: the how many-th record of `event` this is
  float scale;
  void (*function)(void *);  // HOST: called with `user`
  void *user;
} operation;

struct cu_event_tag {
  int queued;               // times that it is recorded in streams and has not happened
  unsigned recorded;        // times that it was recorded: the latest counts
  bool pending;             // the latest has not happened
  cu_stream stream;         // of the latest
  unsigned long long when;  // number of the operation it was
};

struct cu_stream_tag {
  cu_stream next;
  operation *first, **last;
  cu_graph recording;  // NULL: what is queued runs
};

struct cu_graph_tag {
  operation *first, **last;
  dependencies now;
};

struct cu_graph_exec_tag {
  operation *first;
};

struct cu_module_tag {
  char *text;
};

struct cu_function_tag {
  char name[64];
};

static cu_stream streams;
static unsigned long long clock_now;

void fake_spend(int microseconds) { clock_now += (unsigned long long)microseconds; }

// --- Running --------------------------------------------------------------------------------------------------------------

// Of an idle device: only what the host may look at, such as counts, is there.
static bool is_left_out(const operation *op) {
  enum { FEW_BYTES = 65536 };
  return fake_state()->is_idle && op->bytes * (op->kind == SET ? op->count : 1) > FEW_BYTES;
}

static void run_set(const operation *op) {
  size_t width = op->bytes;
  for (size_t i = 0; i < op->count; i++) memcpy(op->to + i * width, &op->value, width);
}

static void run_axpy(const operation *op) {
  const float *x = (const float *)(const void *)op->from;
  float *y = (float *)(void *)op->to;
  for (size_t i = 0; i < op->count; i++) y[i] += op->scale * x[i];
}

// The first operation; false if there is none, or it never ends.
static bool run_one(cu_stream stream) {
  operation *op = stream->first;
  if (!op || op->kind == ENDLESS) return false;
  stream->first = op->next;
  if (!stream->first) stream->last = &stream->first;
  bool works = fake_state()->sticky_code == 0 && !is_left_out(op);
  clock_now++;
  if (op->kind == COPY && works) memmove(op->to, op->from, op->bytes);
  if (op->kind == SET && works) run_set(op);
  if (op->kind == AXPY && works) run_axpy(op);
  if (op->kind == HOST) op->function(op->user);
  if (op->kind == CRASH) fake_state()->sticky_code = CU_ILLEGAL_ADDRESS;
  if (op->kind == EVENT) {
    op->event->queued--;
    if (op->recorded == op->event->recorded) {
      op->event->pending = false;
      op->event->when = clock_now;
    }
  }
  free(op->staged);
  free(op);
  return true;
}

void fake_run_stream(cu_stream stream) {
  while (run_one(stream)) {
  }
}

void fake_run_all(void) {
  for (cu_stream stream = streams; stream; stream = stream->next) fake_run_stream(stream);
}

static void count_early(const operation *op) {
  for (size_t i = 0; i < op->after.count; i++) {
    if (!op->after.is_early[i]) continue;
    if (op->kind == WAITS) fake_state()->early_edges++;
    else fake_state()->wrong_edges++;
  }
}

static void add(cu_stream stream, operation op) {
  operation *copy = malloc(sizeof *copy);
  *copy = op;
  copy->next = NULL;
  if (stream->recording) {
    copy->after = stream->recording->now;
    for (size_t i = 0; i < copy->after.count; i++) copy->after.list[i]->dependents++;
    count_early(copy);
    stream->recording->now = (dependencies){.list = {copy}, .count = 1};
    *stream->recording->last = copy;
    stream->recording->last = &copy->next;
    return;
  }
  *stream->last = copy;
  stream->last = &copy->next;
}

bool fake_record_call(cu_stream stream, void (*function)(void *), void *user) {
  if (!stream->recording) return false;
  add(stream, (operation){.kind = HOST, .function = function, .user = user, .owned = user});
  return true;
}

// --- Streams ----------------------------------------------------------------------------------------------------------------

EXPORT int cuStreamCreate(cu_stream *stream, unsigned flags) {
  (void)flags;
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  *stream = calloc(1, sizeof **stream);
  (*stream)->last = &(*stream)->first;
  (*stream)->next = streams;
  streams = *stream;
  fake_state()->live_streams++;
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuStreamDestroy_v2(cu_stream stream) {
  fake_lock();
  for (operation *op = stream->first; op; op = op->next) {
    if (op->kind == ENDLESS) op->kind = SET, op->count = 0;  // the program goes, and so does the kernel
  }
  fake_run_stream(stream);
  for (cu_stream *link = &streams; *link; link = &(*link)->next) {
    if (*link != stream) continue;
    *link = stream->next;
    break;
  }
  free(stream);
  fake_state()->live_streams--;
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuStreamSynchronize(cu_stream stream) {
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  fake_run_stream(stream);
  code = fake_state()->sticky_code;
  fake_unlock();
  return code;
}

// Each call runs one operation of the stream.
EXPORT int cuStreamQuery(cu_stream stream) {
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  (void)run_one(stream);
  code = fake_state()->sticky_code;
  if (code == CU_SUCCESS && stream->first) code = CU_NOT_READY;
  fake_unlock();
  return code;
}

// --- Graphs -----------------------------------------------------------------------------------------------------------------

EXPORT int cuStreamBeginCapture_v2(cu_stream stream, int mode) {
  (void)mode;
  int code = fake_enter();
  if (code) return code;
  cu_graph graph = calloc(1, sizeof *graph);
  graph->last = &graph->first;
  stream->recording = graph;
  return CU_SUCCESS;
}

EXPORT int cuStreamEndCapture(cu_stream stream, cu_graph *graph) {
  int code = fake_enter();
  *graph = stream->recording;
  stream->recording = NULL;
  return code;
}

EXPORT int cuGraphInstantiateWithFlags(cu_graph_exec *exec, cu_graph graph, unsigned long long flags) {
  (void)flags;
  int code = fake_enter();
  if (code) return code;
  *exec = calloc(1, sizeof **exec);
  (*exec)->first = graph->first;
  graph->first = NULL;
  return CU_SUCCESS;
}

EXPORT int cuStreamGetCaptureInfo_v2(cu_stream stream, int *is_capturing, unsigned long long *id, cu_graph *graph,
                                     const cu_graph_node **nodes, size_t *count) {
  (void)id, (void)graph;
  int code = fake_enter();
  if (code) return code;
  *is_capturing = stream->recording != NULL;
  if (!stream->recording) return CU_SUCCESS;
  *nodes = (const cu_graph_node *)(void *)stream->recording->now.list;
  *count = stream->recording->now.count;
  return CU_SUCCESS;
}

EXPORT int cuStreamUpdateCaptureDependencies(cu_stream stream, cu_graph_node *nodes, size_t count, unsigned flags) {
  int code = fake_enter();
  if (code) return code;
  if (!stream->recording || flags != CU_STREAM_SET_CAPTURE_DEPENDENCIES || count > MOST_DEPENDENCIES) {
    return CU_INVALID_VALUE;
  }
  dependencies *now = &stream->recording->now;
  *now = (dependencies){.count = count};
  for (size_t i = 0; i < count; i++) now->list[i] = (operation *)(void *)nodes[i];
  return CU_SUCCESS;
}

// What a library does is recorded as a call, which stands for a kernel of it.
EXPORT int cuGraphNodeGetType(cu_graph_node node, int *type) {
  const operation *op = (const operation *)(const void *)node;
  bool is_kernel = op->kind == AXPY || op->kind == CRASH || op->kind == ENDLESS || op->kind == NOTHING ||
                   op->kind == WAITS || (op->kind == HOST && op->owned);
  *type = is_kernel ? CU_GRAPH_NODE_IS_KERNEL : 1;
  return CU_SUCCESS;
}

EXPORT int cuGraphNodeGetDependentNodes(cu_graph_node node, cu_graph_node *nodes, size_t *count) {
  *count = ((const operation *)(const void *)node)->dependents;
  return nodes ? CU_INVALID_VALUE : CU_SUCCESS;
}

EXPORT int cuStreamUpdateCaptureDependencies_v2(cu_stream stream, cu_graph_node *nodes, const cu_graph_edge *edges,
                                                size_t count, unsigned flags) {
  int code = cuStreamUpdateCaptureDependencies(stream, nodes, count, flags);
  for (size_t i = 0; i < count && code == CU_SUCCESS; i++) {
    int type = 0;
    cuGraphNodeGetType(nodes[i], &type);
    bool is_early = edges[i].type == CU_EDGE_TYPE_PROGRAMMATIC;
    if (is_early != (edges[i].from_port == CU_EDGE_FROM_PROGRAMMATIC)) code = CU_INVALID_VALUE;
    if (is_early && type != CU_GRAPH_NODE_IS_KERNEL) code = CU_INVALID_VALUE;
    stream->recording->now.is_early[i] = is_early;
  }
  return code;
}

static bool is_ready(const operation *op) {
  if (op->is_queued) return false;
  for (size_t i = 0; i < op->after.count; i++) {
    if (!op->after.list[i]->is_queued) return false;
  }
  return true;
}

// Of all operations that may run next, the one that was recorded last: where a dependency is missing, an operation runs too early.
static operation *next_ready(cu_graph_exec exec) {
  operation *found = NULL;
  for (operation *op = exec->first; op; op = op->next) {
    if (is_ready(op)) found = op;
  }
  return found;
}

EXPORT int cuGraphLaunch(cu_graph_exec exec, cu_stream stream) {
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  for (operation *op = exec->first; op; op = op->next) op->is_queued = false;
  for (operation *op = next_ready(exec); op; op = next_ready(exec)) {
    op->is_queued = true;
    add(stream, *op);
  }
  fake_unlock();
  return CU_SUCCESS;
}

static void free_operations(operation *op) {
  while (op) {
    operation *next = op->next;
    free(op->owned);
    free(op);
    op = next;
  }
}

EXPORT int cuGraphExecDestroy(cu_graph_exec exec) {
  free_operations(exec->first);
  free(exec);
  return CU_SUCCESS;
}

EXPORT int cuGraphDestroy(cu_graph graph) {
  free_operations(graph->first);
  free(graph);
  return CU_SUCCESS;
}

// --- Events -------------------------------------------------------------------------------------------------------------------

EXPORT int cuEventCreate(cu_event *event, unsigned flags) {
  (void)flags;
  int code = fake_enter();
  if (code) return code;
  *event = calloc(1, sizeof **event);
  fake_lock();
  fake_state()->live_events++;
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuEventDestroy_v2(cu_event event) {
  fake_lock();
  if (event->pending && event->stream) fake_run_stream(event->stream);
  if (event->queued > 0) fake_run_all();
  fake_state()->live_events--;
  fake_unlock();
  free(event);
  return CU_SUCCESS;
}

EXPORT int cuEventRecord(cu_event event, cu_stream stream) {
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  event->queued++;
  event->pending = true;
  event->stream = stream;
  add(stream, (operation){.kind = EVENT, .event = event, .recorded = ++event->recorded});
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuEventQuery(cu_event event) {
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  code = event->pending ? CU_NOT_READY : CU_SUCCESS;
  if (event->pending) (void)run_one(event->stream);
  fake_unlock();
  return code;
}

static void run_to(cu_event event) {
  while (event->pending && run_one(event->stream)) {
  }
}

EXPORT int cuEventSynchronize(cu_event event) {
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  run_to(event);
  code = fake_state()->sticky_code;
  fake_unlock();
  return code;
}

EXPORT int cuStreamWaitEvent(cu_stream stream, cu_event event, unsigned flags) {
  (void)flags;
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  if (event->stream != stream) run_to(event);
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuEventElapsedTime(float *ms, cu_event from, cu_event to) {
  int code = fake_enter();
  if (code) return code;
  if (!from->stream || !to->stream) return 400;
  *ms = (float)(to->when - from->when) * 0.001f;  // each operation takes a microsecond
  return from->pending || to->pending ? CU_NOT_READY : CU_SUCCESS;
}

// --- Copies and fills -------------------------------------------------------------------------------------------------------------

EXPORT int cuMemcpyHtoDAsync_v2(cu_address to, const void *from, size_t bytes, cu_stream stream) {
  int code = fake_enter();
  if (code) return code;
  operation op = {.kind = COPY, .to = (char *)(uintptr_t)to, .from = from, .bytes = bytes};
  fake_lock();
  // A graph would read pageable memory again at each launch, when it may be something else.
  if (!fake_is_device(to, bytes) || (stream->recording && !fake_is_pinned(from))) {
    code = CU_INVALID_VALUE;
  } else {
    if (!fake_is_pinned(from)) {
      op.staged = malloc(bytes);
      memcpy(op.staged, from, bytes);
      op.from = op.staged;
      if (bytes > 64 << 10) fake_state()->blocking_copies++;
    }
    add(stream, op);
  }
  fake_unlock();
  return code;
}

EXPORT int cuMemcpyDtoHAsync_v2(void *to, cu_address from, size_t bytes, cu_stream stream) {
  int code = fake_enter();
  if (code) return code;
  operation op = {.kind = COPY, .to = to, .from = (const char *)(uintptr_t)from, .bytes = bytes};
  fake_lock();
  if (!fake_is_device(from, bytes)) code = CU_INVALID_VALUE;
  else add(stream, op);
  if (code == CU_SUCCESS && !fake_is_pinned(to)) {
    fake_run_stream(stream);
    fake_state()->blocking_copies++;
  }
  fake_unlock();
  return code;
}

EXPORT int cuMemcpyDtoDAsync_v2(cu_address to, cu_address from, size_t bytes, cu_stream stream) {
  int code = fake_enter();
  if (code) return code;
  cu_address distance = to > from ? to - from : from - to;
  fake_lock();
  if (!fake_is_device(to, bytes) || !fake_is_device(from, bytes) || distance < bytes) code = CU_INVALID_VALUE;
  else
    add(stream,
        (operation){.kind = COPY, .to = (char *)(uintptr_t)to, .from = (char *)(uintptr_t)from, .bytes = bytes});
  fake_unlock();
  return code;
}

EXPORT int cuMemcpyPeerAsync(cu_address to, cu_context to_context, cu_address from, cu_context from_context,
                             size_t bytes, cu_stream stream) {
  if (!to_context || !from_context) return CU_INVALID_CONTEXT;
  return cuMemcpyDtoDAsync_v2(to, from, bytes, stream);
}

static int add_set(cu_address to, unsigned value, size_t width, size_t count, cu_stream stream) {
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  if (to % width != 0 || !fake_is_device(to, width * count)) code = CU_INVALID_VALUE;
  else
    add(stream, (operation){.kind = SET, .to = (char *)(uintptr_t)to, .value = value, .bytes = width, .count = count});
  fake_unlock();
  return code;
}

EXPORT int cuMemsetD8Async(cu_address to, unsigned char value, size_t count, cu_stream stream) {
  return add_set(to, value, 1, count, stream);
}

EXPORT int cuMemsetD16Async(cu_address to, unsigned short value, size_t count, cu_stream stream) {
  return add_set(to, value, 2, count, stream);
}

EXPORT int cuMemsetD32Async(cu_address to, unsigned value, size_t count, cu_stream stream) {
  return add_set(to, value, 4, count, stream);
}

// The function must not call the driver, as that of the real one.
EXPORT int cuLaunchHostFunc(cu_stream stream, void (*function)(void *), void *user) {
  int code = fake_enter();
  if (code) return code;
  fake_lock();
  add(stream, (operation){.kind = HOST, .function = function, .user = user});
  fake_unlock();
  return CU_SUCCESS;
}

// --- Programs ------------------------------------------------------------------------------------------------------------------

// An image is the text that the stand-in's compiler was given.
EXPORT int cuModuleLoadData(cu_module *module, const void *image) {
  int code = fake_enter();
  if (code) return code;
  if (strncmp(image, "fake image:", 11) != 0) return CU_INVALID_IMAGE;
  *module = malloc(sizeof **module);
  (*module)->text = strdup(image);
  fake_lock();
  fake_state()->live_modules++;
  fake_unlock();
  return CU_SUCCESS;
}

EXPORT int cuModuleUnload(cu_module module) {
  free(module->text);
  free(module);
  fake_lock();
  fake_state()->live_modules--;
  fake_unlock();
  return CU_SUCCESS;
}

enum { FUNCTION_AXPY, FUNCTION_CRASH, FUNCTION_ENDLESS, FUNCTION_WAITS, FUNCTION_OTHER };

static struct cu_function_tag functions[] = {
    {"tsr_fake_axpy"}, {"tsr_fake_crash"}, {"tsr_fake_endless"}, {"tsr_fake_waits"}, {"any other"}};

EXPORT int cuModuleGetFunction(cu_function *function, cu_module module, const char *name) {
  if (!strstr(module->text, name)) return CU_NOT_FOUND;
  size_t at = 0;
  while (at < FUNCTION_OTHER && strcmp(functions[at].name, name) != 0) at++;
  *function = &functions[at];
  return CU_SUCCESS;
}

EXPORT int cuFuncGetAttribute(int *value, int attribute, cu_function function) {
  (void)function;
  *value = attribute == CU_FUNCTION_MAX_THREADS ? 1024 : 0;
  return CU_SUCCESS;
}

EXPORT int cuFuncSetAttribute(cu_function function, int attribute, int value) {
  (void)function;
  if (attribute != CU_FUNCTION_MOST_SHARED_BYTES || value <= 0) return CU_INVALID_VALUE;
  return fake_state()->shared_code;
}

EXPORT int cuTensorMapEncodeTiled(cu_tensor_map *map, int dtype, uint32_t rank, void *address, const uint64_t *sizes,
                                  const uint64_t *steps, const uint32_t *box, const uint32_t *box_steps, int interleave,
                                  int swizzle, int promotion, int fill) {
  (void)box_steps, (void)interleave, (void)swizzle, (void)promotion, (void)fill;
  enum { ALIGNMENT = 16, MOST_IN_BOX = 256 };
  *map = (cu_tensor_map){{0}};
  bool is_known = dtype == CU_TENSOR_OF_F16 || dtype == CU_TENSOR_OF_BF16 || dtype == CU_TENSOR_OF_TF32;
  if (!is_known || (uintptr_t)address % ALIGNMENT) return CU_INVALID_VALUE;
  for (uint32_t i = 0; i < rank; i++) {
    if (sizes[i] == 0 || box[i] == 0 || box[i] > MOST_IN_BOX) return CU_INVALID_VALUE;
    if (i > 0 && (steps[i - 1] == 0 || steps[i - 1] % ALIGNMENT)) return CU_INVALID_VALUE;
  }
  return CU_SUCCESS;
}

typedef struct axpy_params {
  uint32_t count;
  float scale;
} axpy_params;

EXPORT int cuLaunchKernel(cu_function function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                          unsigned block_y, unsigned block_z, unsigned shared_bytes, cu_stream stream, void **params,
                          void **extra) {
  (void)shared_bytes;
  (void)extra;
  int code = fake_enter();
  if (code) return code;
  if (!grid_x || !grid_y || !grid_z || !block_x || !block_y || !block_z) return CU_INVALID_VALUE;
  operation op = {.kind = NOTHING};
  if (function == &functions[FUNCTION_CRASH]) op.kind = CRASH;
  if (function == &functions[FUNCTION_ENDLESS]) op.kind = ENDLESS;
  if (function == &functions[FUNCTION_WAITS]) op.kind = WAITS;
  if (function == &functions[FUNCTION_AXPY]) {
    axpy_params given;
    memcpy(&given, params[2], sizeof given);
    op = (operation){.kind = AXPY, .count = given.count, .scale = given.scale};
    memcpy(&op.from, params[0], sizeof op.from);
    memcpy(&op.to, params[1], sizeof op.to);
  }
  fake_lock();
  fake_state()->launches++;
  add(stream, op);
  fake_unlock();
  return CU_SUCCESS;
}
