// SPDX-License-Identifier: MIT
// DLPack's structs, as its ABI defines them (1.x, and the unversioned form before it). The order, types and values of
// members are given by the ABI.
#ifndef TSRI_DLPACK_ABI_H
#define TSRI_DLPACK_ABI_H

#include <stdint.h>

enum { DL_MAJOR = 1, DL_MINOR = 0 };

typedef enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3, DL_ROCM = 10 } dl_device_type;

typedef enum {
  DL_INT = 0,
  DL_UINT = 1,
  DL_FLOAT = 2,
  DL_BFLOAT = 4,
  DL_BOOL = 6,
  DL_FLOAT8_E4M3FN = 10,
  DL_FLOAT8_E5M2 = 12
} dl_type_code;

// Bits of `flags`.
#define DL_FLAG_READ_ONLY UINT64_C(1)
#define DL_FLAG_IS_COPIED UINT64_C(2)

typedef struct dl_tensor {
  void *data;
  struct {
    int32_t type;  // dl_device_type
    int32_t id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code;  // dl_type_code
    uint8_t bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape;
  int64_t *strides;  // in elements; NULL: row-major
  uint64_t byte_offset;
} dl_tensor;

struct DLManagedTensor {
  dl_tensor tensor;
  void *manager;
  void (*deleter)(struct DLManagedTensor *self);
};

struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void *manager;
  void (*deleter)(struct DLManagedTensorVersioned *self);
  uint64_t flags;
  dl_tensor tensor;
};

#endif
