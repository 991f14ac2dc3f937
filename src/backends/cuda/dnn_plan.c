// SPDX-License-Identifier: MIT
// Descriptors and algorithms of cuDNN for a convolution, kept in a table so that a repeated convolution reuses them.
#include "backends/cuda/dnn_plan.h"

#include <string.h>

#include "core/log.h"

static int type_of(int32_t dtype) { return dtype == TSR_F32 ? DNN_FLOAT : dtype == TSR_F16 ? DNN_HALF : DNN_BFLOAT16; }

// Creates a tensor of four axes for cuDNN's functions. Of three spatial axes, the first two are joined; operands are packed, so the elements are the same.
static int make_tensor(const cuda_dnn *dnn, const cuda_conv *conv, int images, int channels, const int32_t *size,
                       dnn_tensor *out) {
  int code = dnn->api.TensorCreate(out);
  if (code != DNN_SUCCESS) return code;
  return dnn->api.TensorSet(*out, conv->is_last ? DNN_NHWC : DNN_NCHW, type_of(conv->dtype), images, channels,
                            size[0] * size[1], size[2]);
}

static int make_filter(const cuda_dnn *dnn, const cuda_conv *conv, dnn_filter *out) {
  int code = dnn->api.FilterCreate(out);
  if (code != DNN_SUCCESS) return code;
  return dnn->api.FilterSet(*out, type_of(conv->dtype), conv->is_last ? DNN_NHWC : DNN_NCHW, conv->out_channels,
                            conv->channels / conv->groups, conv->kernel[1], conv->kernel[2]);
}

// Sums are f32, and f32 is rounded to TF32.
static int make_operation(const cuda_dnn *dnn, const cuda_conv *conv, dnn_conv *out, int *out_math) {
  int math = conv->dtype != TSR_F32 ? DNN_TENSOR_OP_MATH : DNN_DEFAULT_MATH;
  *out_math = math;
  int code = dnn->api.ConvCreate(out);
  if (code == DNN_SUCCESS) {
    code = dnn->api.ConvSet(*out, conv->before[1], conv->before[2], conv->stride[1], conv->stride[2], conv->dilation[1],
                            conv->dilation[2], DNN_CROSS_CORRELATION, DNN_FLOAT);
  }
  if (code == DNN_SUCCESS && conv->groups > 1) code = dnn->api.ConvSetGroups(*out, conv->groups);
  return code == DNN_SUCCESS ? dnn->api.ConvSetMath(*out, math) : code;
}

static int ask(const cuda_dnn *dnn, const dnn_plan *plan, int *out_count, dnn_choice *choices) {
  switch (plan->conv.direction) {
    case CUDA_CONV_FORWARD:
      return dnn->api.ForwardFind(dnn->handle, plan->x, plan->w, plan->operation, plan->y, CUDA_MOST_PROPOSALS,
                                  out_count, choices);
    case CUDA_CONV_BY_INPUT:
      return dnn->api.ByInputFind(dnn->handle, plan->w, plan->y, plan->operation, plan->x, CUDA_MOST_PROPOSALS,
                                  out_count, choices);
    default:
      return dnn->api.ByWeightFind(dnn->handle, plan->x, plan->y, plan->operation, plan->w, CUDA_MOST_PROPOSALS,
                                   out_count, choices);
  }
}

// Fills plan->proposals with the algorithms that run here, give the same bits each time and fit into the workspace, in cuDNN's order of preference.
static int find_proposals(const cuda_dnn *dnn, dnn_plan *plan) {
  dnn_choice found[CUDA_MOST_PROPOSALS];
  int count = 0, code = ask(dnn, plan, &count, found);
  if (code != DNN_SUCCESS) return code;
  for (int i = 0; i < count && i < CUDA_MOST_PROPOSALS; i++) {
    bool is_good = found[i].status == DNN_SUCCESS && found[i].determinism == DNN_DETERMINISTIC &&
                   found[i].memory <= CUDA_WORKSPACE_BYTES;
    if (is_good) plan->proposals[plan->proposal_count++] = found[i];
  }
  return plan->proposal_count > 0 ? DNN_SUCCESS : -1;
}

void tsri_cuda_dnn_destroy_plan(const cuda_dnn *dnn, dnn_plan *plan) {
  tsri_dnn_conv_graph_destroy(plan);
  dnn_tensor tensors[] = {plan->x, plan->y};
  for (int i = 0; i < 2; i++) {
    if (tensors[i]) dnn->api.TensorDestroy(tensors[i]);
  }
  if (plan->w) dnn->api.FilterDestroy(plan->w);
  if (plan->operation) dnn->api.ConvDestroy(plan->operation);
  memset(plan, 0, sizeof *plan);
}

// Prepares calls of cuDNN's function for the convolution.
static int make_function(const cuda_dnn *dnn, dnn_plan *plan) {
  const cuda_conv *conv = &plan->conv;
  int code = make_filter(dnn, conv, &plan->w);
  if (code == DNN_SUCCESS) code = make_operation(dnn, conv, &plan->operation, &plan->math);
  return code == DNN_SUCCESS ? find_proposals(dnn, plan) : code;
}

static void make_plan(const cuda_dnn *dnn, const cuda_conv *conv, bool allows_tf32, int64_t most_workspace,
                      dnn_plan *plan) {
  tsri_cuda_dnn_destroy_plan(dnn, plan);
  plan->is_used = true;
  plan->conv = *conv;
  int code = make_tensor(dnn, conv, conv->images, conv->channels, conv->size, &plan->x);
  if (code == DNN_SUCCESS) {
    code = make_tensor(dnn, conv, conv->images, conv->out_channels, conv->windows, &plan->y);
  }
  // cuDNN's functions take two axes, and may transform f32 (Winograd's algorithm, FFT) even if they may not use matrix units. So f32 without TF32 has only graphs.
  bool has_function = conv->axes == 2 && (conv->dtype != TSR_F32 || allows_tf32);
  bool has_graph = code == DNN_SUCCESS && tsri_dnn_conv_graph(dnn, allows_tf32, most_workspace, plan);
  if (code == DNN_SUCCESS && !has_graph) code = has_function ? make_function(dnn, plan) : -1;
  plan->is_impossible = code != DNN_SUCCESS;
  if (plan->is_impossible) tsri_log(TSR_LOG_DEBUG, "cuda: cuDNN has nothing for a convolution (code %d)", code);
}

dnn_plan *tsri_cuda_dnn_plan(cuda_dnn *dnn, const cuda_device *device, const cuda_conv *conv) {
  dnn_plan *plan = &dnn->plans[dnn_slot_of(conv, sizeof *conv, DNN_PLAN_SLOTS)];
  if (!plan->is_used || memcmp(&plan->conv, conv, sizeof *conv) != 0) {
    make_plan(dnn, conv, device->allows_tf32, tsri_cuda_most_workspace(device), plan);
  }
  return plan;
}
