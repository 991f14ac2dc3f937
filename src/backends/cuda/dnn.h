// SPDX-License-Identifier: MIT
// Convolutions and their gradients by cuDNN. The library is opened at the first convolution that is large enough for it.
#ifndef TSRI_CUDA_DNN_H
#define TSRI_CUDA_DNN_H

#include "backends/cuda/cuda.h"

typedef enum cuda_conv_direction {
  CUDA_CONV_FORWARD,   // y from x and w
  CUDA_CONV_BY_INPUT,  // x from y and w: the gradient by x, which is also what a transposed convolution computes
  CUDA_CONV_BY_WEIGHT  // w from x and y: the gradient by w
} cuda_conv_direction;

enum { CUDA_CONV_AXES = 3 };

// A convolution over the last `axes` (two or three) of three axes, described in its forward direction; a missing first axis has size 1. x, w and y are packed,
// all with channels last or all with channels before the axes. This is the key of the stored plans and is compared as bytes, so it must have no padding.
typedef struct cuda_conv {
  int32_t direction, dtype, is_last, axes;
  int32_t images, groups, channels, out_channels;  // channels of all groups
  int32_t size[CUDA_CONV_AXES], kernel[CUDA_CONV_AXES], windows[CUDA_CONV_AXES];
  int32_t stride[CUDA_CONV_AXES], dilation[CUDA_CONV_AXES], before[CUDA_CONV_AXES];
} cuda_conv;

typedef struct cuda_conv_memory {
  cu_address x, w, y;
} cuda_conv_memory;

// Describes the operator for cuDNN. False: cuDNN cannot read or write the operands where they lie, or calling it is not worthwhile.
bool tsri_cuda_describe_conv(const cuda_device *device, const tsri_native_op *op, cuda_conv *out);

// Whether cuDNN is estimated to be faster than our own kernels.
bool tsri_cuda_conv_gains(const cuda_device *device, const cuda_conv *conv);

// Whether cuDNN is estimated to be faster with channels before the axes than with channels last and a copy of what it reads. `conv` has either order.
bool tsri_cuda_conv_prefers_first(const cuda_conv *conv);

// Whether operands with channels before the axes should not be copied to channels last, in which `conv` is: cuDNN has a plan for the former and is estimated to
// be faster by it, or our tiles are faster than that plan.
bool tsri_cuda_conv_keeps_order(cuda_device *device, const cuda_conv *conv);

// Whether our tiles may be faster than cuDNN, and read the operands as they are: cuDNN is then timed.
bool tsri_cuda_conv_has_rival(const cuda_conv *conv);

// Multiplications of the convolution.
double tsri_cuda_conv_work(const cuda_conv *conv);

// Whether cuDNN is there and has an algorithm for the convolution. Opens cuDNN and makes the plan if that has not happened yet.
bool tsri_cuda_has_conv(cuda_device *device, const cuda_conv *conv);

// Queues the convolution. The device's context must be current.
//
// Errors: TSR_ERR_UNSUPPORTED without a message if cuDNN is missing, cannot compute the convolution or has no memory for it. Tessera's own
// kernels then compute it.
tsr_status tsri_cuda_convolve(cuda_queue *queue, const cuda_conv *conv, const cuda_conv_memory *memory);

void tsri_cuda_dnn_close(cuda_device *device);

// Call before a stream of the device is destroyed.
void tsri_cuda_dnn_forget_stream(cuda_device *device, cu_stream stream);

// Convolutions with fewer multiplications are left to kernels. Tests change it.
extern int64_t tsri_cuda_least_conv;

// Library names to try, in order; the list ends with NULL. Tests replace it.
extern const char *const *tsri_cudnn_names;

#endif
