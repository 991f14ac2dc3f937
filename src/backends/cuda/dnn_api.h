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
typedef struct dnn_node_tag *dnn_node;  // any descriptor of the interface for graphs

enum { DNN_SUCCESS = 0 };
enum { DNN_NCHW = 0, DNN_NHWC = 1 };                                                      // orders of axes
enum { DNN_FLOAT = 0, DNN_HALF = 2, DNN_INT32 = 4, DNN_BFLOAT16 = 9, DNN_BOOLEAN = 11 };  // element types
enum { DNN_CROSS_CORRELATION = 1 };                                                       // modes of a convolution
enum { DNN_DEFAULT_MATH = 0, DNN_TENSOR_OP_MATH = 1 };                                    // arithmetic
enum { DNN_DETERMINISTIC = 1 };

// --- Graphs: descriptors of several kinds with attributes, each attribute an array of a type --------------------------

enum {
  DNN_POINTWISE_NODE = 0,
  DNN_CONV_NODE = 1,
  DNN_ENGINE_NODE = 2,
  DNN_CONFIG_NODE = 3,
  DNN_HEURISTICS_NODE = 4,
  DNN_PLAN_NODE = 5,
  DNN_OPERATION_CONV_FORWARD_NODE = 10,
  DNN_OPERATION_CONV_BY_WEIGHT_NODE = 11,
  DNN_OPERATION_CONV_BY_INPUT_NODE = 12,
  DNN_OPERATION_POINTWISE_NODE = 13,
  DNN_GRAPH_NODE = 15,
  DNN_PACK_NODE = 16,
  DNN_TENSOR_NODE = 17,
  DNN_MATMUL_NODE = 18,
  DNN_OPERATION_MATMUL_NODE = 19,
  DNN_REDUCTION_NODE = 21,
  DNN_OPERATION_REDUCTION_NODE = 22,
  DNN_OPERATION_RESHAPE_NODE = 31
};

enum {
  DNN_TYPE_HANDLE = 0,
  DNN_TYPE_ELEMENTS = 1,
  DNN_TYPE_BOOLEAN = 2,
  DNN_TYPE_INT64 = 3,
  DNN_TYPE_FLOAT = 4,
  DNN_TYPE_POINTER = 6,
  DNN_TYPE_CONV_MODE = 7,
  DNN_TYPE_HEURISTICS = 8,
  DNN_TYPE_NOTE = 11,
  DNN_TYPE_POINTWISE = 14,
  DNN_TYPE_NODE = 15,
  DNN_TYPE_REDUCTION = 18
};

enum {
  DNN_POINTWISE_MODE = 0,
  DNN_POINTWISE_PRECISION = 1,
  DNN_POINTWISE_AXIS = 9,
  DNN_CONV_PRECISION = 100,
  DNN_CONV_MODE = 101,
  DNN_CONV_DILATIONS = 102,
  DNN_CONV_STRIDES = 103,
  DNN_CONV_AFTER = 104,
  DNN_CONV_BEFORE = 105,
  DNN_CONV_AXES = 106,
  DNN_HEURISTICS_MODE = 200,
  DNN_HEURISTICS_GRAPH = 201,
  DNN_HEURISTICS_RESULTS = 202,
  DNN_CONFIG_ENGINE = 300,
  DNN_PLAN_HANDLE = 400,
  DNN_PLAN_CONFIG = 401,
  DNN_PLAN_WORKSPACE_BYTES = 402,
  DNN_OPERATION_CONV_FORWARD = 700,  // the first of six attributes: see dnn_conv_attribute
  DNN_OPERATION_CONV_BY_INPUT = 706,
  DNN_OPERATION_CONV_BY_WEIGHT = 712,
  DNN_OPERATION_POINTWISE = 750,
  DNN_OPERATION_POINTWISE_X = 751,
  DNN_OPERATION_POINTWISE_B = 752,
  DNN_OPERATION_POINTWISE_Y = 753,
  DNN_OPERATION_POINTWISE_T = 758,
  DNN_GRAPH_HANDLE = 800,
  DNN_GRAPH_OPERATIONS = 801,
  DNN_TENSOR_ALIGNMENT = 900,
  DNN_TENSOR_ELEMENTS = 901,
  DNN_TENSOR_DIMS = 902,
  DNN_TENSOR_STRIDES = 903,
  DNN_TENSOR_ID = 906,
  DNN_TENSOR_IS_VIRTUAL = 907,
  DNN_TENSOR_IS_BY_VALUE = 908,
  DNN_PACK_IDS = 1000,
  DNN_PACK_POINTERS = 1001,
  DNN_PACK_WORKSPACE = 1003,
  DNN_ENGINE_NUMBER = 1301,
  DNN_ENGINE_NOTES = 1303,
  DNN_MATMUL_PRECISION = 1500,
  DNN_OPERATION_MATMUL_A = 1520,
  DNN_OPERATION_MATMUL_B = 1521,
  DNN_OPERATION_MATMUL_C = 1522,
  DNN_OPERATION_MATMUL = 1523,
  DNN_REDUCTION_OPERATOR = 1600,
  DNN_REDUCTION_PRECISION = 1601,
  DNN_OPERATION_REDUCTION_X = 1610,
  DNN_OPERATION_REDUCTION_Y = 1611,
  DNN_OPERATION_REDUCTION = 1612,
  DNN_OPERATION_RESHAPE_X = 2200,
  DNN_OPERATION_RESHAPE_Y = 2201
};

// Attributes of an operation, counted from its first. The three tensors are w, x, y for a forward convolution, w, dx, dy for the gradient by x, and dw, x, dy for that by w.
typedef enum dnn_conv_attribute {
  DNN_CONV_ALPHA,
  DNN_CONV_BETA,
  DNN_CONV_WAY,
  DNN_CONV_W,
  DNN_CONV_X,
  DNN_CONV_Y
} dnn_conv_attribute;

enum { DNN_HEURISTICS_BY_MODEL = 3 };
// Notes by which cuDNN describes the arithmetic of an engine.
enum {
  DNN_NOTE_MATRIX_UNITS = 0,
  DNN_NOTE_ROUNDED_INPUTS = 1,
  DNN_NOTE_ROUNDED_SUMS = 2,
  DNN_NOTE_FFT = 3,
  DNN_NOTE_NONDETERMINISTIC = 4,
  DNN_NOTE_WINOGRAD = 5,
  DNN_NOTE_WINOGRAD_4 = 6,
  DNN_NOTE_WINOGRAD_6 = 7,
  DNN_NOTE_WINOGRAD_13 = 8
};
enum { DNN_REDUCE_ADD = 0, DNN_REDUCE_MAX = 3 };

typedef enum dnn_pointwise {
  DNN_ADD = 0,
  DNN_MUL = 1,
  DNN_DIV = 6,
  DNN_SUB = 9,
  DNN_EXP = 13,
  DNN_LOG = 15,
  DNN_IDENTITY = 21,
  DNN_GREATER_EQUAL = 303,
  DNN_INDEX = 501,
  DNN_SELECT = 601  // t ? x : b
} dnn_pointwise;

// cuDNN's record of an algorithm; the same for all three directions.
typedef struct dnn_choice {
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math;
  int reserved[3];
} dnn_choice;

// The three directions are (x, w) -> y, (w, dy) -> dx and (x, dy) -> dw. Their entry points have the same parameter types, except that the
// descriptor of w and dw is a dnn_filter and all other operands have a dnn_tensor.
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
  X(NodeCreate, "cudnnBackendCreateDescriptor", (int kind, dnn_node *node))                                      \
  X(NodeDestroy, "cudnnBackendDestroyDescriptor", (dnn_node node))                                               \
  X(NodeSet, "cudnnBackendSetAttribute",                                                                         \
    (dnn_node node, int attribute, int type, int64_t count, const void *elements))                               \
  X(NodeGet, "cudnnBackendGetAttribute",                                                                         \
    (dnn_node node, int attribute, int type, int64_t most, int64_t *count, void *elements))                      \
  X(NodeFinish, "cudnnBackendFinalize", (dnn_node node))                                                         \
  X(GraphRun, "cudnnBackendExecute", (dnn_handle handle, dnn_node plan, dnn_node pack))

enum { DNN_MAJOR_VERSION = 0, DNN_MINOR_VERSION = 1 };  // properties
#define CUDNN_OPTIONAL_ENTRY_POINTS(X) X(GetProperty, "cudnnGetProperty", (int property, int *value))

#endif
