// SPDX-License-Identifier: MIT
// Opens cuDNN and computes convolutions with it.
#include "backends/cuda/dnn.h"

#include <stdio.h>
#include <string.h>

#include "backends/cuda/dnn_plan.h"
#include "core/alloc.h"
#include "core/log.h"

#if defined(_WIN32)
static const char *const library_names[] = {"cudnn64_9.dll", "cudnn64_8.dll", NULL};
#else
static const char *const library_names[] = {"libcudnn.so.9", "libcudnn.so.8", "/usr/local/cuda/lib64/libcudnn.so",
                                            NULL};
#endif
const char *const *tsri_cudnn_names = library_names;

// --- Opening ----------------------------------------------------------------------------------------------------------

#define TSRI_ENTRY(entry, exported, parameters) {exported, offsetof(cuda_dnn, api.entry)},
static const tsri_entry_point entries[] = {CUDNN_ENTRY_POINTS(TSRI_ENTRY) TSRI_OPTIONAL_ENTRIES,
                                           CUDNN_OPTIONAL_ENTRY_POINTS(TSRI_ENTRY){NULL, 0}};
#undef TSRI_ENTRY

// The version of cuDNN: 919 for 9.19, or 0 if it is not known.
static int version_of(const cuda_dnn *dnn) {
  int major = 0, minor = 0;
  if (!dnn->api.GetProperty || dnn->api.GetProperty(DNN_MAJOR_VERSION, &major) != DNN_SUCCESS ||
      dnn->api.GetProperty(DNN_MINOR_VERSION, &minor) != DNN_SUCCESS)
    return 0;
  return major * 100 + minor;
}

static cuda_dnn *open_dnn(const cuda_device *device) {
  char trail[600] = "";
  cuda_dnn *dnn = tsri_calloc(1, sizeof *dnn);
  if (!dnn) return NULL;
  if (!tsri_cuda_open_library(tsri_cudnn_names, entries, dnn, trail, sizeof trail)) {
    tsri_log(TSR_LOG_INFO, "cuda: convolutions and attention run without cuDNN (%s)", trail);
  } else {
    int code = dnn->api.Create(&dnn->handle);
    if (code == DNN_SUCCESS) {
      dnn->cu = device->cu;
      dnn->masks.version = version_of(dnn);
      tsri_mutex_init(&dnn->lock);
      return dnn;
    }
    tsri_log(TSR_LOG_WARN, "cuda: cuDNN does not start on %s (code %d)", device->name, code);
  }
  tsri_free(dnn);
  return NULL;
}

cuda_dnn *tsri_cuda_dnn_of(cuda_device *device) {
  tsri_mutex_lock(&device->library_lock);
  if (!device->dnn && !device->dnn_has_failed) {
    device->dnn = open_dnn(device);
    device->dnn_has_failed = !device->dnn;
  }
  cuda_dnn *dnn = device->dnn;
  tsri_mutex_unlock(&device->library_lock);
  return dnn;
}

void tsri_cuda_dnn_close(cuda_device *device) {
  cuda_dnn *dnn = device->dnn;
  if (!dnn) return;
  bool was_pushed = tsri_cuda_enter(device);
  for (int i = 0; i < DNN_PLAN_SLOTS; i++) tsri_cuda_dnn_destroy_plan(dnn, &dnn->plans[i]);
  for (int i = 0; i < DNN_ATTENTION_SLOTS; i++) tsri_cuda_dnn_destroy_attention(dnn->attentions[i]);
  tsri_cuda_masks_deinit(device, &dnn->masks);
  dnn->api.Destroy(dnn->handle);
  tsri_cuda_leave(device, was_pushed);
  tsri_mutex_deinit(&dnn->lock);
  tsri_free(dnn);
  device->dnn = NULL;
}

void tsri_cuda_dnn_forget_stream(cuda_device *device, cu_stream stream) {
  tsri_mutex_lock(&device->library_lock);
  cuda_dnn *dnn = device->dnn;
  tsri_mutex_unlock(&device->library_lock);
  if (!dnn) return;
  tsri_mutex_lock(&dnn->lock);
  if (dnn->stream == stream) dnn->stream = NULL;
  tsri_mutex_unlock(&dnn->lock);
}

bool tsri_cuda_has_conv(cuda_device *device, const cuda_conv *conv) {
  bool was_pushed = tsri_cuda_enter(device), has_it = false;
  cuda_dnn *dnn = tsri_cuda_dnn_of(device);
  if (dnn) {
    tsri_mutex_lock(&dnn->lock);
    has_it = !tsri_cuda_dnn_plan(dnn, device, conv)->is_impossible;
    tsri_mutex_unlock(&dnn->lock);
  }
  tsri_cuda_leave(device, was_pushed);
  return has_it;
}

bool tsri_cuda_conv_keeps_order(cuda_device *device, const cuda_conv *conv) {
  if (!conv->is_last || !tsri_cuda_conv_prefers_first(conv)) return false;
  cuda_conv first = *conv;
  first.is_last = false;
  bool was_pushed = tsri_cuda_enter(device), keeps_it = false;
  cuda_dnn *dnn = tsri_cuda_dnn_of(device);
  if (dnn) {
    tsri_mutex_lock(&dnn->lock);
    const dnn_plan *plan = tsri_cuda_dnn_plan(dnn, device, &first);
    keeps_it = !plan->is_impossible || plan->is_outdone;
    tsri_mutex_unlock(&dnn->lock);
  }
  tsri_cuda_leave(device, was_pushed);
  return keeps_it;
}

// --- Convolutions -----------------------------------------------------------------------------------------------------

// A convolution that is being launched.
typedef struct launched_conv {
  cuda_queue *queue;
  const cuda_dnn *dnn;
  dnn_plan *plan;
  const cuda_conv_memory *memory;
} launched_conv;

static int launch_function(const launched_conv *l, const dnn_choice *choice) {
  static const float one = 1, zero = 0;
  const cuda_dnn *dnn = l->dnn;
  const dnn_plan *plan = l->plan;
  void *x = (void *)(uintptr_t)l->memory->x, *w = (void *)(uintptr_t)l->memory->w, *y = (void *)(uintptr_t)l->memory->y,
       *workspace = (void *)(uintptr_t)tsri_cuda_take_workspace(l->queue, choice->memory);
  switch (plan->conv.direction) {
    case CUDA_CONV_FORWARD:
      return dnn->api.Forward(dnn->handle, &one, plan->x, x, plan->w, w, plan->operation, choice->algorithm, workspace,
                              choice->memory, &zero, plan->y, y);
    case CUDA_CONV_BY_INPUT:
      return dnn->api.ByInput(dnn->handle, &one, plan->w, w, plan->y, y, plan->operation, choice->algorithm, workspace,
                              choice->memory, &zero, plan->x, x);
    default:
      return dnn->api.ByWeight(dnn->handle, &one, plan->x, x, plan->y, y, plan->operation, choice->algorithm, workspace,
                               choice->memory, &zero, plan->w, w);
  }
}

// Sets the descriptor's math mode to that of a proposal, unless it has it already: the call costs as much as a launch.
static int use_math(const cuda_dnn *dnn, dnn_plan *plan, int math) {
  if (plan->math == math) return DNN_SUCCESS;
  plan->math = math;
  return dnn->api.ConvSetMath(plan->operation, math);
}

int tsri_cuda_dnn_use_stream(cuda_dnn *dnn, cu_stream stream) {
  if (dnn->stream == stream) return DNN_SUCCESS;
  int code = dnn->api.SetStream(dnn->handle, stream);
  dnn->stream = code == DNN_SUCCESS ? stream : NULL;
  return code;
}

// Queues the convolution by proposal `number`. The signature is that of cuda_proposals.launch.
static bool launch(void *context, int number) {
  const launched_conv *l = context;
  const dnn_choice *choice = &l->plan->proposals[number];
  int code = l->plan->graph ? tsri_dnn_conv_graph_run(l->queue, l->plan, number, l->memory)
                            : use_math(l->dnn, l->plan, choice->math);
  if (code == DNN_SUCCESS && !l->plan->graph) code = launch_function(l, choice);
  if (code != DNN_SUCCESS) tsri_log(TSR_LOG_DEBUG, "cuda: a convolution by cuDNN failed (code %d)", code);
  return code == DNN_SUCCESS;
}

// Microseconds that our tiles (src/ops/conv_tiles.c) are estimated to take: some 18 TFLOP/s on an H200, if the channels of a group fill a tile.
static double tiles_us(const cuda_conv *conv) {
  enum { ROWS = 16 };
  const double per_us = 9e6, launch_us = 8;
  int32_t made = (conv->direction == CUDA_CONV_BY_INPUT ? conv->channels : conv->out_channels) / conv->groups;
  int32_t rows = (made + ROWS - 1) / ROWS * ROWS;
  return launch_us + tsri_cuda_conv_work(conv) / per_us * rows / made;
}

// Finds the fastest proposal. If even that takes clearly longer than our tiles are estimated to, the convolution becomes impossible by cuDNN.
static void settle(cuda_queue *queue, dnn_plan *plan, launched_conv *launched) {
  const double CLEARLY = 1.5;
  plan->is_settled = (plan->proposal_count == 1 && !tsri_cuda_conv_has_rival(&plan->conv)) ||
                     tsri_cuda_conv_work(&plan->conv) < (double)tsri_cuda_timing.least_work;
  if (plan->is_settled) return;
  tsri_cache_key key;
  tsri_cache_key_init(&key);
  tsri_cache_key_add_text(&key, queue->device->name);
  tsri_cache_key_add(&key, &plan->conv, sizeof plan->conv);
  for (int i = 0; i < plan->proposal_count; i++) {
    const int parts[] = {plan->proposals[i].algorithm, plan->proposals[i].math};
    tsri_cache_key_add(&key, parts, sizeof parts);
  }
  char operation[128];
  const cuda_conv *conv = &plan->conv;
  snprintf(operation, sizeof operation,
           "cudnn convolution of %lld images, %lld to %lld channels, kernel %lld x %lld x %lld",
           (long long)conv->images, (long long)conv->channels, (long long)conv->out_channels,
           (long long)conv->kernel[0], (long long)conv->kernel[1], (long long)conv->kernel[2]);
  const cuda_proposals proposals = {plan->proposal_count, launch, launched};
  double us = 0;
  plan->is_settled = tsri_cuda_settle(queue, operation, &key, &proposals, true, &plan->chosen, &us);
  plan->is_outdone = tsri_cuda_conv_has_rival(&plan->conv) && us > CLEARLY * tiles_us(&plan->conv);
}

tsr_status tsri_cuda_convolve(cuda_queue *queue, const cuda_conv *conv, const cuda_conv_memory *memory) {
  cuda_dnn *dnn = tsri_cuda_dnn_of(queue->device);
  if (!dnn || tsri_cuda_workspace(queue) != CU_SUCCESS) return TSR_ERR_UNSUPPORTED;
  tsri_mutex_lock(&dnn->lock);
  dnn_plan *plan = tsri_cuda_dnn_plan(dnn, queue->device, conv);
  bool is_placed = !plan->graph || tsri_dnn_conv_graph_takes(memory);
  bool is_good = !plan->is_impossible && is_placed && tsri_cuda_dnn_use_stream(dnn, queue->stream) == DNN_SUCCESS;
  if (is_good) {
    launched_conv launched = {queue, dnn, plan, memory};
    if (!plan->is_settled) settle(queue, plan, &launched);
    is_good = !plan->is_outdone && launch(&launched, plan->chosen);
    plan->is_impossible = !is_good;
  }
  tsri_mutex_unlock(&dnn->lock);
  return is_good ? TSR_OK : TSR_ERR_UNSUPPORTED;
}
