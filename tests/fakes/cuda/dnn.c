// SPDX-License-Identifier: MIT
// cuDNN's part of the stand-in: convolutions of f32 and bf16 and their gradients, element by element. It has nothing for f16. Of its four proposals the first gives other bits each
// time and the second needs more memory than there is, so that neither may be taken; the last one is the fastest.
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/dnn_api.h"
#include "fakes/cuda/stream.h"

#define EXPORT __attribute__((visibility("default")))

enum { PROPOSALS = 4, NOT_SUPPORTED = 3000, BAD_PARAM = 2000, EXECUTION_FAILED = 5000 };
static const int proposal_us[PROPOSALS] = {1, 2, 40, 15};

struct dnn_handle_tag {
  cu_stream stream;
};

struct dnn_tensor_tag {
  int order, type, images, channels, rows, columns;
};

struct dnn_filter_tag {
  int order, type, out_channels, channels, rows, columns;
};

struct dnn_conv_tag {
  int pad[2], stride[2], dilation[2], groups, math;
};

static void *counted(size_t bytes) {
  fake_lock();
  fake_state()->live_plans++;
  fake_unlock();
  return calloc(1, bytes);
}

static int uncounted(void *object) {
  fake_lock();
  fake_state()->live_plans--;
  fake_unlock();
  free(object);
  return DNN_SUCCESS;
}

EXPORT int cudnnCreate(dnn_handle *handle) {
  if (fake_enter()) return EXECUTION_FAILED;
  *handle = counted(sizeof **handle);
  return DNN_SUCCESS;
}

EXPORT int cudnnGetProperty(int property, int *value) {
  int version = fake_state()->dnn_version;
  *value = property == DNN_MAJOR_VERSION ? version / 100 : version % 100;
  return DNN_SUCCESS;
}

EXPORT int cudnnDestroy(dnn_handle handle) { return uncounted(handle); }

EXPORT int cudnnSetStream(dnn_handle handle, cu_stream stream) {
  handle->stream = stream;
  return DNN_SUCCESS;
}

EXPORT int cudnnCreateTensorDescriptor(dnn_tensor *tensor) {
  *tensor = counted(sizeof **tensor);
  return DNN_SUCCESS;
}

EXPORT int cudnnDestroyTensorDescriptor(dnn_tensor tensor) { return uncounted(tensor); }

EXPORT int cudnnSetTensor4dDescriptor(dnn_tensor tensor, int order, int type, int images, int channels, int rows,
                                      int columns) {
  *tensor = (struct dnn_tensor_tag){order, type, images, channels, rows, columns};
  return DNN_SUCCESS;
}

EXPORT int cudnnCreateFilterDescriptor(dnn_filter *filter) {
  *filter = counted(sizeof **filter);
  return DNN_SUCCESS;
}

EXPORT int cudnnDestroyFilterDescriptor(dnn_filter filter) { return uncounted(filter); }

EXPORT int cudnnSetFilter4dDescriptor(dnn_filter filter, int type, int order, int out_channels, int channels, int rows,
                                      int columns) {
  *filter = (struct dnn_filter_tag){order, type, out_channels, channels, rows, columns};
  return DNN_SUCCESS;
}

EXPORT int cudnnCreateConvolutionDescriptor(dnn_conv *conv) {
  *conv = counted(sizeof **conv);
  (*conv)->groups = 1;
  return DNN_SUCCESS;
}

EXPORT int cudnnDestroyConvolutionDescriptor(dnn_conv conv) { return uncounted(conv); }

EXPORT int cudnnSetConvolution2dDescriptor(dnn_conv conv, int pad_rows, int pad_columns, int stride_rows,
                                           int stride_columns, int dilation_rows, int dilation_columns, int mode,
                                           int compute_type) {
  if (mode != DNN_CROSS_CORRELATION || compute_type != DNN_FLOAT) return BAD_PARAM;
  *conv = (struct dnn_conv_tag){{pad_rows, pad_columns},
                                {stride_rows, stride_columns},
                                {dilation_rows, dilation_columns},
                                conv->groups,
                                conv->math};
  return DNN_SUCCESS;
}

EXPORT int cudnnSetConvolutionGroupCount(dnn_conv conv, int groups) {
  conv->groups = groups;
  return DNN_SUCCESS;
}

EXPORT int cudnnSetConvolutionMathType(dnn_conv conv, int math) {
  conv->math = math;
  return DNN_SUCCESS;
}

// --- Proposals --------------------------------------------------------------------------------------------------------

static int windows_of(const struct dnn_conv_tag *conv, int axis, int size, int kernel) {
  int reach = (kernel - 1) * conv->dilation[axis] + 1;
  return (size + 2 * conv->pad[axis] - reach) / conv->stride[axis] + 1;
}

static int propose(dnn_tensor x, dnn_filter w, dnn_conv conv, dnn_tensor y, int wanted, int *count,
                   dnn_choice *choices) {
  *count = 0;
  if (x->type == DNN_HALF) return NOT_SUPPORTED;
  bool is_good = x->order == y->order && w->order == y->order && x->type == y->type && w->type == y->type &&
                 x->images == y->images && w->channels * conv->groups == x->channels &&
                 w->out_channels == y->channels && windows_of(conv, 0, x->rows, w->rows) == y->rows &&
                 windows_of(conv, 1, x->columns, w->columns) == y->columns;
  if (!is_good) return BAD_PARAM;
  for (; *count < wanted && *count < PROPOSALS; (*count)++) {
    choices[*count] = (dnn_choice){.algorithm = *count,
                                   .memory = *count == 1 ? (size_t)1 << 40 : 1024,
                                   .determinism = *count != 0,
                                   .math = conv->math};
  }
  return DNN_SUCCESS;
}

EXPORT int cudnnGetConvolutionForwardAlgorithm_v7(dnn_handle handle, dnn_tensor x, dnn_filter w, dnn_conv conv,
                                                  dnn_tensor y, int wanted, int *count, dnn_choice *choices) {
  (void)handle;
  return propose(x, w, conv, y, wanted, count, choices);
}

EXPORT int cudnnGetConvolutionBackwardDataAlgorithm_v7(dnn_handle handle, dnn_filter w, dnn_tensor dy, dnn_conv conv,
                                                       dnn_tensor dx, int wanted, int *count, dnn_choice *choices) {
  (void)handle;
  return propose(dx, w, conv, dy, wanted, count, choices);
}

EXPORT int cudnnGetConvolutionBackwardFilterAlgorithm_v7(dnn_handle handle, dnn_tensor x, dnn_tensor dy, dnn_conv conv,
                                                         dnn_filter dw, int wanted, int *count, dnn_choice *choices) {
  (void)handle;
  return propose(x, dw, conv, dy, wanted, count, choices);
}

// --- Elements ---------------------------------------------------------------------------------------------------------

static float load(int type, const void *memory, size_t at) {
  if (type == DNN_FLOAT) return ((const float *)memory)[at];
  uint32_t bits = (uint32_t)((const uint16_t *)memory)[at] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void store(int type, void *memory, size_t at, float value) {
  if (type == DNN_FLOAT) {
    ((float *)memory)[at] = value;
    return;
  }
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  ((uint16_t *)memory)[at] = (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static size_t place(int order, int outer, int channel, int row, int column, int channels, int rows, int columns) {
  if (order == DNN_NHWC) {
    return (((size_t)outer * (size_t)rows + (size_t)row) * (size_t)columns + (size_t)column) * (size_t)channels +
           (size_t)channel;
  }
  return (((size_t)outer * (size_t)channels + (size_t)channel) * (size_t)rows + (size_t)row) * (size_t)columns +
         (size_t)column;
}

// Which of the three operands the convolution computes from the other two: y, or the gradient of x or of w.
typedef enum result { TO_Y, TO_X, TO_W } result;

typedef struct operands {
  const struct dnn_tensor_tag *x, *y;
  const struct dnn_filter_tag *w;
  const struct dnn_conv_tag *conv;
  const void *x_data, *w_data, *y_data;
} operands;

static void add_products(const operands *o, result to, int image, int out, int row, int column, float *sums) {
  const struct dnn_filter_tag *w = o->w;
  int group = out / (w->out_channels / o->conv->groups);
  size_t y_at = place(o->y->order, image, out, row, column, o->y->channels, o->y->rows, o->y->columns);
  for (int c = 0; c < w->channels; c++) {
    for (int r = 0; r < w->rows; r++) {
      for (int s = 0; s < w->columns; s++) {
        int i = row * o->conv->stride[0] + r * o->conv->dilation[0] - o->conv->pad[0];
        int j = column * o->conv->stride[1] + s * o->conv->dilation[1] - o->conv->pad[1];
        if (i < 0 || j < 0 || i >= o->x->rows || j >= o->x->columns) continue;
        size_t x_at =
            place(o->x->order, image, group * w->channels + c, i, j, o->x->channels, o->x->rows, o->x->columns);
        size_t w_at = place(w->order, out, c, r, s, w->channels, w->rows, w->columns);
        if (to == TO_Y) sums[y_at] += load(w->type, o->x_data, x_at) * load(w->type, o->w_data, w_at);
        if (to == TO_X) sums[x_at] += load(w->type, o->y_data, y_at) * load(w->type, o->w_data, w_at);
        if (to == TO_W) sums[w_at] += load(w->type, o->x_data, x_at) * load(w->type, o->y_data, y_at);
      }
    }
  }
}

static size_t count_of(const operands *o, result to) {
  const struct dnn_tensor_tag *t = to == TO_X ? o->x : o->y;
  if (to == TO_W) return (size_t)o->w->out_channels * (size_t)o->w->channels * (size_t)(o->w->rows * o->w->columns);
  return (size_t)t->images * (size_t)t->channels * (size_t)(t->rows * t->columns);
}

static int convolve(dnn_handle handle, const operands *o, result to, int algorithm, const void *workspace,
                    size_t workspace_bytes, void *out) {
  if (!workspace || workspace_bytes != 1024) return BAD_PARAM;
  if (fake_enter()) return EXECUTION_FAILED;
  fake_lock();
  fake_run_stream(handle->stream);
  fake_spend(proposal_us[algorithm]);
  bool fails = fake_state()->failing_convolutions > 0;
  if (fails) fake_state()->failing_convolutions--;
  fake_state()->convolutions++;
  fake_state()->last_proposal = algorithm;
  float *sums = fails || fake_state()->is_idle ? NULL : calloc(count_of(o, to), sizeof *sums);
  for (int n = 0; n < o->y->images && sums; n++) {
    for (int k = 0; k < o->y->channels; k++) {
      for (int i = 0; i < o->y->rows * o->y->columns; i++) {
        add_products(o, to, n, k, i / o->y->columns, i % o->y->columns, sums);
      }
    }
  }
  for (size_t i = 0; sums && i < count_of(o, to); i++) store(o->w->type, out, i, sums[i]);
  free(sums);
  fake_unlock();
  return fails ? EXECUTION_FAILED : DNN_SUCCESS;
}

EXPORT int cudnnConvolutionForward(dnn_handle handle, const void *alpha, dnn_tensor x, const void *x_data, dnn_filter w,
                                   const void *w_data, dnn_conv conv, int algorithm, void *workspace,
                                   size_t workspace_bytes, const void *beta, dnn_tensor y, void *y_data) {
  (void)alpha, (void)beta;
  const operands o = {x, y, w, conv, x_data, w_data, NULL};
  return convolve(handle, &o, TO_Y, algorithm, workspace, workspace_bytes, y_data);
}

EXPORT int cudnnConvolutionBackwardData(dnn_handle handle, const void *alpha, dnn_filter w, const void *w_data,
                                        dnn_tensor dy, const void *dy_data, dnn_conv conv, int algorithm,
                                        void *workspace, size_t workspace_bytes, const void *beta, dnn_tensor dx,
                                        void *dx_data) {
  (void)alpha, (void)beta;
  const operands o = {dx, dy, w, conv, NULL, w_data, dy_data};
  return convolve(handle, &o, TO_X, algorithm, workspace, workspace_bytes, dx_data);
}

EXPORT int cudnnConvolutionBackwardFilter(dnn_handle handle, const void *alpha, dnn_tensor x, const void *x_data,
                                          dnn_tensor dy, const void *dy_data, dnn_conv conv, int algorithm,
                                          void *workspace, size_t workspace_bytes, const void *beta, dnn_filter dw,
                                          void *dw_data) {
  (void)alpha, (void)beta;
  const operands o = {x, dy, dw, conv, x_data, NULL, dy_data};
  return convolve(handle, &o, TO_W, algorithm, workspace, workspace_bytes, dw_data);
}
