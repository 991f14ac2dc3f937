// SPDX-License-Identifier: MIT
// DLPack: tensors to and from NumPy, PyTorch, JAX, … without a copy where memory allows.
//
// The two structs are those of DLPack's own header (ABI 1.x, and the unversioned one before it). They are only named here, so this
// header and dlpack.h can be included together, in either order.
#ifndef TESSERA_DLPACK_H
#define TESSERA_DLPACK_H

#include <tessera/device.h>
#include <tessera/tensor.h>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

// Gives the tensor's memory to another library. Tensors on the CPU are shared, not copied; others are copied to host memory.
//
// Ownership: the receiver calls the struct's `deleter` once, on any thread; the memory lives until then.
// Errors:    those of tsr_read. TSR_ERR_UNSUPPORTED if read-only memory meets the unversioned struct,
//            which cannot say so. Then `*out_managed` is NULL.
TSR_API tsr_status tsr_to_dlpack(tsr_tensor *tensor, struct DLManagedTensor **out_managed);
TSR_API tsr_status tsr_to_dlpack_versioned(tsr_tensor *tensor, struct DLManagedTensorVersioned **out_managed);

// Takes another library's tensor. On a device that can work in host memory (the CPU) it is used where it lies (strides kept), and
// its deleter runs when the last view is released, on the thread that releases it; on others it is copied and its deleter runs before
// the call returns.
//
// Ownership: `managed` is consumed if the call succeeds; if it fails it is still the caller's. The result is a
//            tensor like any other: the caller's, or the open scope's.
// Errors:    TSR_ERR_INVALID_ARGUMENT (NULL, an ABI of another major version, misaligned data),
//            TSR_ERR_DTYPE, TSR_ERR_SHAPE, TSR_ERR_UNSUPPORTED (memory that is not the host's),
//            TSR_ERR_OUT_OF_MEMORY. Then `*out_tensor` is NULL.
TSR_API tsr_status tsr_from_dlpack(tsr_device *device, struct DLManagedTensor *managed, tsr_tensor **out_tensor);
TSR_API tsr_status tsr_from_dlpack_versioned(tsr_device *device, struct DLManagedTensorVersioned *managed,
                                             tsr_tensor **out_tensor);

#endif
