// SPDX-License-Identifier: MIT
// The part of cuDNN's binary interface that we use (versions 8 and 9), declared with our own types and constants as in cuda_api.h.
#ifndef TSRI_CUDA_DNN_API_H
#define TSRI_CUDA_DNN_API_H

#include <stddef.h>

#include "backends/cuda/cuda_api.h"

typedef struct dnn_handle_tag *dnn_handle;
typedef struct dnn_tensor_tag *dnn_tensor;
typedef struct dnn_filter_tag *dnn_filter;
typedef struct dnn_conv_tag *dnn_conv;

enum { DNN_SUCCESS = 0 };
enum { DNN_NCHW = 0, DNN_NHWC = 1 };                                      // orders of axes
enum { DNN_FLOAT = 0, DNN_HALF = 2, DNN_BFLOAT16 = 9 };                   // element types
enum { DNN_CROSS_CORRELATION = 1 };                                       // modes of a convolution
enum { DNN_DEFAULT_MATH = 0, DNN_TENSOR_OP_MATH = 1, DNN_FMA_MATH = 3 };  // arithmetic
enum { DNN_DETERMINISTIC = 1 };

// What cuDNN says about an algorithm; the same for all three directions.
typedef struct dnn_choice {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
} dnn_choice;

// Entry points of the three directions differ in their names and in what their operands are called, not in their types: of (x, w) -> y, (w, dy) -> dx and (x, dy) -> dw the
// inputs and the result are tensors, but for the filter.
#define CUDNN_ENTRY_POINTS(X)                                                                                    \
  X(Create, "cudnnCreate", (dnn_handle * handle))                                                                \
  X(Destroy, "cudnnDestroy", (dnn_handle handle))                                                                \
  X(SetStream, "cudnnSetStream", (dnn_handle handle, cu_stream stream))                                          \
  X(TensorCreate, "cudnnCreateTensorDescriptor", (dnn_tensor * tensor))                                          \
  X(TensorDestroy, "cudnnDestroyTensorDescriptor", (dnn_tensor tensor))                                          \
  X(TensorSet, "cudnnSetTensor4dDescriptor",                                                                     \
    (dnn_tensor tensor, int order, int type, int images, int channels, int rows, int columns))                   \
  X(FilterCreate, "cudnnCreateFilterDescriptor", (dnn_filter * filter))                                          \
  X(FilterDestroy, "cudnnDestroyFilterDescriptor", (dnn_filter filter))                                          \
  X(FilterSet, "cudnnSetFilter4dDescriptor",                                                                     \
    (dnn_filter filter, int type, int order, int out_channels, int channels, int rows, int columns))             \
  X(ConvCreate, "cudnnCreateConvolutionDescriptor", (dnn_conv * conv))                                           \
  X(ConvDestroy, "cudnnDestroyConvolutionDescriptor", (dnn_conv conv))                                           \
  X(ConvSet, "cudnnSetConvolution2dDescriptor",                                                                  \
    (dnn_conv conv, int pad_rows, int pad_columns, int stride_rows, int stride_columns, int dilation_rows,       \
     int dilation_columns, int mode, int compute_type))                                                          \
  X(ConvSetGroups, "cudnnSetConvolutionGroupCount", (dnn_conv conv, int groups))                                 \
  X(ConvSetMath, "cudnnSetConvolutionMathType", (dnn_conv conv, int math))                                       \
  X(ForwardFind, "cudnnGetConvolutionForwardAlgorithm_v7",                                                       \
    (dnn_handle handle, dnn_tensor x, dnn_filter w, dnn_conv conv, dnn_tensor y, int wanted, int *count,         \
     dnn_choice *choices))                                                                                       \
  X(ByInputFind, "cudnnGetConvolutionBackwardDataAlgorithm_v7",                                                  \
    (dnn_handle handle, dnn_filter w, dnn_tensor dy, dnn_conv conv, dnn_tensor dx, int wanted, int *count,       \
     dnn_choice *choices))                                                                                       \
  X(ByWeightFind, "cudnnGetConvolutionBackwardFilterAlgorithm_v7",                                               \
    (dnn_handle handle, dnn_tensor x, dnn_tensor dy, dnn_conv conv, dnn_filter dw, int wanted, int *count,       \
     dnn_choice *choices))                                                                                       \
  X(Forward, "cudnnConvolutionForward",                                                                          \
    (dnn_handle handle, const void *alpha, dnn_tensor x, const void *x_data, dnn_filter w, const void *w_data,   \
     dnn_conv conv, int algorithm, void *workspace, size_t workspace_bytes, const void *beta, dnn_tensor y,      \
     void *y_data))                                                                                              \
  X(ByInput, "cudnnConvolutionBackwardData",                                                                     \
    (dnn_handle handle, const void *alpha, dnn_filter w, const void *w_data, dnn_tensor dy, const void *dy_data, \
     dnn_conv conv, int algorithm, void *workspace, size_t workspace_bytes, const void *beta, dnn_tensor dx,     \
     void *dx_data))                                                                                             \
  X(ByWeight, "cudnnConvolutionBackwardFilter",                                                                  \
    (dnn_handle handle, const void *alpha, dnn_tensor x, const void *x_data, dnn_tensor dy, const void *dy_data, \
     dnn_conv conv, int algorithm, void *workspace, size_t workspace_bytes, const void *beta, dnn_filter dw,     \
     void *dw_data))                                                                                             \
  X(AddTensor, "cudnnAddTensor",                                                                                 \
    (dnn_handle handle, const void *alpha, dnn_tensor a, const void *a_data, const void *beta, dnn_tensor y,     \
     void *y_data))

#endif
