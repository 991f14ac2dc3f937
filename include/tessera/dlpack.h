// SPDX-License-Identifier: MIT
// DLPack: exchanges tensors with NumPy, PyTorch, JAX, … without a copy where possible.
//
// The two structs are those of DLPack's own header (ABI 1.x, and the unversioned one before it). They are only declared
// here, so this header and dlpack.h can be included together, in either order.
#ifndef TESSERA_DLPACK_H
#define TESSERA_DLPACK_H

#include <tessera/device.h>
#include <tessera/tensor.h>

struct DLManagedTensor;
struct DLManagedTensorVersioned;

// Exports a tensor to another library. Tensors on the CPU share their memory; others are copied to host memory.
//
// Ownership: the receiver calls the struct's `deleter` once, on any thread; the memory is valid until then.
// Errors:    those of tsr_read. TSR_ERR_UNSUPPORTED for read-only memory in the unversioned struct, which has no flag
//            for it. Then `*out_managed` is NULL.
TSR_API tsr_status tsr_to_dlpack(tsr_tensor *tensor, struct DLManagedTensor **out_managed);
TSR_API tsr_status tsr_to_dlpack_versioned(tsr_tensor *tensor, struct DLManagedTensorVersioned **out_managed);

// DLPack's device type (2: CUDA, 10: ROCm) and device number for the memory of a device. Devices whose memory other libraries cannot use have type 1, the host.
// Either pointer may be NULL.
TSR_API void tsr_device_dlpack(const tsr_device *device, int *out_type, int *out_id);

// As tsr_to_dlpack, without a copy to the host: a tensor on a CUDA or ROCm device is exported in the device's own memory. All work on it is done when this returns,
// so that the receiver can use it on any of its streams. The `deleter` waits for all work on the device, since work of the receiver may still be running.
//
// Errors: those of tsr_to_dlpack; TSR_ERR_UNSUPPORTED on devices whose memory other libraries cannot use (type 1 above).
TSR_API tsr_status tsr_to_dlpack_in_place(tsr_tensor *tensor, struct DLManagedTensor **out_managed);

// Imports another library's tensor. On a device that can use host memory (the CPU) its memory is used in place, with
// its strides, and its deleter is called when the last view is released, on the thread that releases it. On other
// devices it is copied, and its deleter is called before this returns. Memory of a CUDA or ROCm device is used in place on that device, after all work on it,
// also of other libraries, is done.
//
// Ownership: takes over `managed` on success; after a failure it still belongs to the caller. The result belongs to the
//            caller or to the open scope, like any tensor.
// Errors:    TSR_ERR_INVALID_ARGUMENT (NULL, another major version of the ABI, misaligned data), TSR_ERR_DTYPE,
//            TSR_ERR_SHAPE, TSR_ERR_UNSUPPORTED (memory that is neither on the host nor on `device`), TSR_ERR_OUT_OF_MEMORY. Then
//            `*out_tensor` is NULL.
TSR_API tsr_status tsr_from_dlpack(tsr_device *device, struct DLManagedTensor *managed, tsr_tensor **out_tensor);
TSR_API tsr_status tsr_from_dlpack_versioned(tsr_device *device, struct DLManagedTensorVersioned *managed,
                                             tsr_tensor **out_tensor);

#endif
