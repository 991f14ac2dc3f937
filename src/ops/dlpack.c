// SPDX-License-Identifier: MIT
// DLPack: exports and imports tensors, in both forms of the ABI.
#include <tessera/dlpack.h>

#include <string.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/strided.h"
#include "core/tensor.h"
#include "graph/graph.h"
#include "graph/transfer.h"
#include "ops/dlpack_abi.h"
#include "ops/packed.h"
#include "runtime/buffer.h"
#include "runtime/sharing.h"
#include "runtime/stage.h"

// --- dtypes -------------------------------------------------------------------------------------------------------

static const struct {
  uint8_t code, bits;
} dl_dtypes[TSR_DTYPE_COUNT] = {
    [TSR_BOOL] = {DL_BOOL, 8},
    [TSR_U8] = {DL_UINT, 8},
    [TSR_I8] = {DL_INT, 8},
    [TSR_I16] = {DL_INT, 16},
    [TSR_I32] = {DL_INT, 32},
    [TSR_I64] = {DL_INT, 64},
    [TSR_U32] = {DL_UINT, 32},
    [TSR_F16] = {DL_FLOAT, 16},
    [TSR_BF16] = {DL_BFLOAT, 16},
    [TSR_F32] = {DL_FLOAT, 32},
    [TSR_F64] = {DL_FLOAT, 64},
    [TSR_U16] = {DL_UINT, 16},
    [TSR_U64] = {DL_UINT, 64},
    [TSR_F8_E4M3] = {DL_FLOAT8_E4M3FN, 8},
    [TSR_F8_E5M2] = {DL_FLOAT8_E5M2, 8},
};

static tsr_status dtype_from_dl(const dl_tensor *tensor, tsr_dtype *out_dtype) {
  for (int i = 0; i < TSR_DTYPE_COUNT && tensor->dtype.lanes == 1; i++) {
    if (dl_dtypes[i].code == tensor->dtype.code && dl_dtypes[i].bits == tensor->dtype.bits) {
      *out_dtype = (tsr_dtype)i;
      return TSR_OK;
    }
  }
  return TSRI_FAIL(TSR_ERR_DTYPE, "from_dlpack: no dtype for code %d with %d bits and %d lanes", tensor->dtype.code,
                   tensor->dtype.bits, tensor->dtype.lanes);
}

// --- Exporting -------------------------------------------------------------------------------------------------------

// Both forms of the struct and everything they point to; only one of the two is given to the receiver.
typedef struct export_record {
  struct DLManagedTensor plain;
  struct DLManagedTensorVersioned versioned;
  tsr_buffer *buffer;  // NULL if the elements were copied
  void *copy;          // a staging buffer of `device` (runtime/stage.h)
  tsr_device *device;  // one reference if there is a copy, or if the receiver has device memory; else NULL
  bool is_on_device;   // the receiver has device memory
  int64_t shape[TSR_MAX_RANK], strides[TSR_MAX_RANK];
} export_record;

// Releases everything an export holds. If the receiver has device memory, first waits for the device: the pool could reuse the released buffer while the
// receiver's queued work still uses it.
static void destroy_export(export_record *record, tsr_status status) {
  if (record->is_on_device) (void)record->device->backend->sharing->settle(record->device->handle);
  tsr_buffer_release(record->buffer);
  tsri_stage_release(record->device, record->copy, status);
  tsr_device_release(record->device);
  tsri_free(record);
}

static void delete_plain(struct DLManagedTensor *self) { destroy_export(self->manager, TSR_OK); }
static void delete_versioned(struct DLManagedTensorVersioned *self) { destroy_export(self->manager, TSR_OK); }

// Copies the elements, row-major, from a device whose memory the host cannot address to a staging buffer.
static tsr_status copy_elements(const tsr_tensor *tensor, export_record *record) {
  size_t bytes = (size_t)tensor->layout.count * tsr_dtype_bytes(tensor->dtype);
  record->device = tsr_device_retain(tensor->value->device);
  record->copy = tsri_stage_create(bytes);
  if (!record->copy) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "to_dlpack: no host memory for %zu bytes", bytes);
  tsri_view view = tsri_view_of(tensor);
  return tsri_read_elements(&view, record->copy);
}

// Shares the tensor's memory with the receiver if the host can address it, else copies it. `*out_data` is the address of the first element.
static tsr_status share_or_copy(const tsr_tensor *tensor, export_record *record, tsri_layout *out_layout,
                                void **out_data) {
  void *host = NULL;
  tsr_status status = tsri_buffer_map(tsri_tensor_buffer(tensor), &host);
  if (status != TSR_OK) return status;
  *out_layout = tensor->layout;
  if (host) {
    record->buffer = tsr_buffer_retain(tsri_tensor_buffer(tensor));
    tsri_sharing_add(record->buffer, host);
    *out_data = (char *)host + tensor->layout.offset * (int64_t)tsr_dtype_bytes(tensor->dtype);
    return TSR_OK;
  }
  status = tsri_layout_init("to_dlpack", tensor->layout.shape, tensor->dtype, out_layout, NULL);
  if (status == TSR_OK) status = copy_elements(tensor, record);
  *out_data = record->copy;
  return status;
}

void tsr_device_dlpack(const tsr_device *device, int *out_type, int *out_id) {
  int type = DL_CPU, id = 0;
  bool is_shared = tsri_device_check("device_dlpack", device) == TSR_OK && device->backend->sharing;
  if (is_shared) device->backend->sharing->describe(device->handle, &type, &id);
  if (out_type) *out_type = type;
  if (out_id) *out_id = id;
}

// Shares the device memory with the receiver, after waiting for all work on the device.
static tsr_status share_on_device(const tsr_tensor *tensor, export_record *record, tsri_layout *out_layout,
                                  void **out_data) {
  tsr_buffer *buffer = tsri_tensor_buffer(tensor);
  tsr_device *device = buffer->device;
  const tsri_device_sharing *sharing = device->backend->sharing;
  *out_layout = tensor->layout;
  if (!sharing) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "to_dlpack: no other library knows the memory of %s; tsr_to_dlpack copies it",
                     device->backend->name);
  }
  tsr_status status = tsri_device_wait(device);
  if (status != TSR_OK || !buffer->handle) return status;
  char *first = (char *)sharing->address_of(device->handle, buffer->handle) + buffer->offset;
  record->device = tsr_device_retain(device);
  record->is_on_device = true;
  record->buffer = tsr_buffer_retain(buffer);
  tsri_sharing_add(buffer, first);
  *out_data = first + tensor->layout.offset * (int64_t)tsr_dtype_bytes(tensor->dtype);
  return TSR_OK;
}

static tsr_status describe(const tsr_tensor *tensor, bool in_place, export_record *record, dl_tensor *out) {
  tsri_layout layout;
  void *data = NULL;
  int type = DL_CPU, id = 0;
  tsr_status status = (in_place ? share_on_device : share_or_copy)(tensor, record, &layout, &data);
  if (status != TSR_OK) return status;
  if (in_place) tsr_device_dlpack(tensor->value->device, &type, &id);
  memcpy(record->shape, layout.shape.dims, sizeof record->shape);
  memcpy(record->strides, layout.strides, sizeof record->strides);
  *out = (dl_tensor){
      .data = layout.count ? data : NULL,
      .device = {type, id},
      .ndim = layout.shape.rank,
      .dtype = {dl_dtypes[tensor->dtype].code, dl_dtypes[tensor->dtype].bits, 1},
      .shape = record->shape,
      .strides = record->strides,
  };
  return TSR_OK;
}

static tsr_status export_tensor(tsr_tensor *tensor, bool in_place, bool is_out_null, export_record **out_record,
                                dl_tensor *out) {
  tsr_status status = tsri_tensor_check("to_dlpack", tensor);
  if (status == TSR_OK) status = tsri_graph_before_write(tensor);  // the receiver may write to this memory
  if (status != TSR_OK) return status;
  if (is_out_null) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "to_dlpack: out_managed is NULL");
  export_record *record = tsri_calloc(1, sizeof *record);
  if (!record) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "to_dlpack: no host memory for its record");
  status = describe(tensor, in_place, record, out);
  if (status != TSR_OK) {
    destroy_export(record, status);
    return status;
  }
  *out_record = record;
  return TSR_OK;
}

// --- Packed tensors ------------------------------------------------------------------------------------------------------

// Tensors of i4 and u4 are exchanged as packed bytes, in a description that counts elements of 4 bits.

static bool is_packed(const tsr_tensor *tensor) {
  return tsri_tensor_is_usable(tensor) && tsri_dtype_is_packed(tensor->dtype);
}

static void describe_packed(const tsr_tensor *tensor, dl_tensor *described) {
  int last = described->ndim - 1;
  described->dtype.code = tensor->dtype == TSR_I4 ? DL_INT : DL_UINT;
  described->dtype.bits = 4;
  described->shape[last] = tensor->packed_last;
  for (int i = 0; i < last; i++) described->strides[i] *= 2;
}

// Converts a description of 4-bit elements to one of the bytes. `shape` and `strides` are storage for the new description. Rows must begin at a byte.
static tsr_status bytes_from_packed(const dl_tensor *tensor, dl_tensor *out, int64_t *shape, int64_t *strides) {
  int rank = tensor->ndim;
  if (rank < 1 || rank > TSR_MAX_RANK || !tensor->shape) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "from_dlpack: a tensor of 4-bit integers has 1 to %d axes, not %d", TSR_MAX_RANK,
                     rank);
  }
  int last = rank - 1;
  tsr_shape given = tsr_shape_make(rank, tensor->shape), stored;
  tsr_status status = tsri_packed_shape("from_dlpack", given, &stored);
  if (status != TSR_OK) return status;
  int64_t step = stored.dims[last] * 2;
  bool has_one_row = true;
  for (int i = last - 1; i >= 0; i--) has_one_row = has_one_row && given.dims[i] == 1;
  bool is_whole =
      tensor->strides ? tensor->strides[last] == 1 || given.dims[last] <= 1 : has_one_row || given.dims[last] % 2 == 0;
  for (int i = last; i >= 0; i--) {
    shape[i] = stored.dims[i];
    strides[i] = i == last ? 1 : tensor->strides ? tensor->strides[i] / 2 : step / 2;
    is_whole = is_whole && (i == last || !tensor->strides || tensor->strides[i] % 2 == 0 || given.dims[i] <= 1);
    if (i < last && !tsri_mul_i64(step, given.dims[i] ? given.dims[i] : 1, &step)) is_whole = false;
  }
  if (!is_whole) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED, "from_dlpack: rows of 4-bit integers must begin at a byte and leave no gaps");
  }
  *out = *tensor;
  out->dtype.code = DL_UINT;
  out->dtype.bits = 8;
  out->shape = shape;
  out->strides = strides;
  return TSR_OK;
}

static tsr_status export_plain(tsr_tensor *tensor, bool in_place, struct DLManagedTensor **out_managed) {
  if (is_packed(tensor)) {
    tsr_tensor *bytes = tsri_packed_bytes(tensor);
    tsr_status exported = export_plain(bytes, in_place, out_managed);
    if (exported == TSR_OK) describe_packed(tensor, &(*out_managed)->tensor);
    tsr_release(bytes);
    return exported;
  }
  export_record *record = NULL;
  dl_tensor described = {0};
  if (out_managed) *out_managed = NULL;
  tsr_status status = tsri_tensor_check("to_dlpack", tensor);
  if (status == TSR_OK) status = tsri_graph_run(tensor);
  if (status != TSR_OK) return status;
  if (tsri_tensor_buffer(tensor)->is_read_only) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "to_dlpack: the memory is read-only, which only tsr_to_dlpack_versioned can say");
  }
  status = export_tensor(tensor, in_place, !out_managed, &record, &described);
  if (status != TSR_OK) return status;
  record->plain = (struct DLManagedTensor){.tensor = described, .manager = record, .deleter = delete_plain};
  *out_managed = &record->plain;
  return TSR_OK;
}

tsr_status tsr_to_dlpack(tsr_tensor *tensor, struct DLManagedTensor **out_managed) {
  return export_plain(tensor, false, out_managed);
}

tsr_status tsr_to_dlpack_in_place(tsr_tensor *tensor, struct DLManagedTensor **out_managed) {
  return export_plain(tensor, true, out_managed);
}

tsr_status tsr_to_dlpack_versioned(tsr_tensor *tensor, struct DLManagedTensorVersioned **out_managed) {
  if (is_packed(tensor)) {
    tsr_tensor *bytes = tsri_packed_bytes(tensor);
    tsr_status exported = tsr_to_dlpack_versioned(bytes, out_managed);
    if (exported == TSR_OK) describe_packed(tensor, &(*out_managed)->tensor);
    tsr_release(bytes);
    return exported;
  }
  export_record *record = NULL;
  dl_tensor described = {0};
  if (out_managed) *out_managed = NULL;
  tsr_status status = export_tensor(tensor, false, !out_managed, &record, &described);
  if (status != TSR_OK) return status;
  uint64_t flags = record->buffer && record->buffer->is_read_only ? DL_FLAG_READ_ONLY : 0;
  if (record->copy) flags |= DL_FLAG_IS_COPIED;
  record->versioned = (struct DLManagedTensorVersioned){.version = {DL_MAJOR, DL_MINOR},
                                                        .manager = record,
                                                        .deleter = delete_versioned,
                                                        .flags = flags,
                                                        .tensor = described};
  *out_managed = &record->versioned;
  return TSR_OK;
}

// Alignment of the addresses at which devices' buffers begin, in bytes.
enum { ALIGNMENT = 256 };

// --- Importing -------------------------------------------------------------------------------------------------------

static void release_plain(void *user) {
  struct DLManagedTensor *managed = user;
  if (managed->deleter) managed->deleter(managed);
}

static void release_versioned(void *user) {
  struct DLManagedTensorVersioned *managed = user;
  if (managed->deleter) managed->deleter(managed);
}

// The tensor to import, in either form of the ABI.
typedef struct import_source {
  const dl_tensor *tensor;
  bool is_read_only;
  void (*release)(void *user);
  void *managed;
} import_source;

// Gives the layout of the imported tensor. Checks that offsets of all elements fit into int64_t, as later view arithmetic assumes.
static tsr_status import_layout(const dl_tensor *tensor, tsr_dtype dtype, tsri_layout *out) {
  if (tensor->ndim > 0 && !tensor->shape) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_dlpack: shape is NULL");
  tsr_shape shape = tsr_shape_make(tensor->ndim, tensor->shape);
  tsr_status status = tsri_layout_init("from_dlpack", shape, dtype, out, NULL);
  if (status != TSR_OK || !tensor->strides) return status;
  int64_t element = (int64_t)tsr_dtype_bytes(dtype), reach = 0;
  for (int i = 0; i < shape.rank; i++) {
    int64_t span = 0, stride = tensor->strides[i];
    if (shape.dims[i] <= 1) continue;
    if (stride == INT64_MIN || !tsri_mul_i64(stride < 0 ? -stride : stride, shape.dims[i], &span) ||
        !tsri_mul_i64(span, element, &span) || !tsri_add_i64(reach, span, &reach)) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "from_dlpack: stride %lld on axis %d reaches beyond memory", (long long)stride,
                       i);
    }
    out->strides[i] = stride;
  }
  return TSR_OK;
}

static bool is_on_host(const import_source *source) {
  int32_t type = source->tensor->device.type;
  return type == DL_CPU || type == DL_CUDA_HOST;
}

// Whether the elements are in the device's own memory, so that they can be imported without a copy.
static bool is_on_device(tsr_device *device, const import_source *source) {
  int type = DL_CPU, id = 0;
  tsr_device_dlpack(device, &type, &id);
  return type != DL_CPU && source->tensor->device.type == type && source->tensor->device.id == id;
}

static tsr_status check_source(tsr_device *device, const import_source *source, tsr_dtype dtype) {
  const dl_tensor *tensor = source->tensor;
  if (!is_on_host(source) && !is_on_device(device, source)) {
    return TSRI_FAIL(TSR_ERR_UNSUPPORTED,
                     "from_dlpack: memory of device %d of DLPack's type %d; %s takes host memory (1 and 3)%s",
                     (int)tensor->device.id, (int)tensor->device.type, device->backend->name,
                     device->backend->sharing ? " and its own" : "");
  }
  uintptr_t address = (uintptr_t)tensor->data + (uintptr_t)tensor->byte_offset;
  if (address % tsr_dtype_bytes(dtype) != 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_dlpack: data is not aligned to the %zu bytes of a %s",
                     tsr_dtype_bytes(dtype), tsr_dtype_name(dtype));
  }
  return TSR_OK;
}

// Wraps the host memory of the imported tensor in a buffer, without a copy. The buffer starts at the lowest element, since strides may be negative.
static tsr_status take_in_place(tsr_device *device, const import_source *source, tsr_dtype dtype, tsri_layout *layout,
                                tsr_buffer **out_buffer) {
  int64_t low = 0, high = 0, element = (int64_t)tsr_dtype_bytes(dtype);
  tsri_layout_span(layout, &low, &high);
  size_t bytes = layout->count ? (size_t)((high - low + 1) * element) : 0;
  char *first = bytes ? (char *)source->tensor->data + source->tensor->byte_offset : NULL;
  tsr_status status = tsri_buffer_import(device, first ? first + low * element : NULL, bytes, source->release,
                                         source->managed, out_buffer);
  if (status != TSR_OK) return status;
  (*out_buffer)->is_read_only = source->is_read_only;
  layout->offset = -low;
  return TSR_OK;
}

// As take_in_place, for memory of the device itself. Kernels rely on the alignment of the device's own buffers, so the
// buffer begins at an aligned address before the lowest element.
static tsr_status adopt(tsr_device *device, const import_source *source, tsr_dtype dtype, tsri_layout *layout,
                        tsr_buffer **out_buffer) {
  int64_t low = 0, high = 0, element = (int64_t)tsr_dtype_bytes(dtype);
  tsr_status status = device->backend->sharing->settle(device->handle);
  if (status != TSR_OK) return status;
  tsri_layout_span(layout, &low, &high);
  uintptr_t lowest = (uintptr_t)source->tensor->data + (uintptr_t)source->tensor->byte_offset;
  lowest += (uintptr_t)(low * element);
  size_t before = lowest % ALIGNMENT, bytes = layout->count ? (size_t)((high - low + 1) * element) + before : 0;
  status = tsri_buffer_adopt(device, bytes ? (void *)(lowest - before) : NULL, bytes, source->release, source->managed,
                             out_buffer);
  if (status != TSR_OK) return status;
  (*out_buffer)->is_read_only = source->is_read_only;
  layout->offset = -low + (int64_t)before / element;
  return TSR_OK;
}

// Copies the elements. They are packed on the host first, so that a single upload is enough.
static tsr_status take_by_copy(tsr_device *device, const import_source *source, tsr_dtype dtype, tsri_layout *layout,
                               tsr_buffer **out_buffer) {
  tsri_layout packed;
  size_t bytes = 0;
  tsr_status status = tsri_layout_init("from_dlpack", layout->shape, dtype, &packed, &bytes);
  void *stage = status == TSR_OK ? tsri_stage_create(bytes) : NULL;
  if (!stage) return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "from_dlpack: no host memory for a stage of %zu bytes", bytes);
  if (bytes > 0) {
    const char *first = (const char *)source->tensor->data + source->tensor->byte_offset;
    tsri_strided_copy(stage, &packed, first, layout, tsr_dtype_bytes(dtype));
  }
  status = tsr_buffer_create(device, bytes, 0, out_buffer);
  if (status == TSR_OK) status = tsr_buffer_upload(*out_buffer, 0, stage, bytes);
  tsri_stage_release(device, stage, status);
  if (status != TSR_OK) {
    tsr_buffer_release(*out_buffer);
    return status;
  }
  *layout = packed;
  return TSR_OK;
}

static tsr_status take(tsr_device *device, const import_source *source, tsr_tensor **out_tensor);

static tsr_status take_packed(tsr_device *device, const import_source *source, tsr_tensor **out_tensor) {
  const dl_tensor *given = source->tensor;
  int64_t shape[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  dl_tensor bytes;
  tsr_status status = bytes_from_packed(given, &bytes, shape, strides);
  if (status != TSR_OK) return status;
  tsr_dtype dtype = given->dtype.code == DL_INT ? TSR_I4 : TSR_U4;
  int64_t last = given->shape[given->ndim - 1];
  import_source of_bytes = *source;
  of_bytes.tensor = &bytes;
  status = take(device, &of_bytes, out_tensor);
  if (status != TSR_OK) return status;
  *out_tensor = tsri_packed_of(*out_tensor, dtype, last);
  return tsr_error(*out_tensor);
}

static tsr_status take(tsr_device *device, const import_source *source, tsr_tensor **out_tensor) {
  bool is_half_byte = source->tensor->dtype.bits == 4 && source->tensor->dtype.lanes == 1 &&
                      (source->tensor->dtype.code == DL_INT || source->tensor->dtype.code == DL_UINT);
  if (is_half_byte) return take_packed(device, source, out_tensor);
  tsr_dtype dtype = TSR_F32;
  tsri_layout layout;
  tsr_buffer *buffer = NULL;
  tsr_status status = tsri_device_check("from_dlpack", device);
  if (status == TSR_OK) status = dtype_from_dl(source->tensor, &dtype);
  if (status == TSR_OK) status = import_layout(source->tensor, dtype, &layout);
  if (status == TSR_OK && layout.count > 0) {
    if (!source->tensor->data) status = TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_dlpack: data is NULL");
    else status = check_source(device, source, dtype);
  }
  if (status != TSR_OK) return status;
  bool is_adopted = layout.count > 0 && is_on_device(device, source);
  bool in_place = is_adopted || device->backend->buffer_import != NULL;
  if (in_place) status = (is_adopted ? adopt : take_in_place)(device, source, dtype, &layout, &buffer);
  if (!is_adopted && (!in_place || status == TSR_ERR_UNSUPPORTED)) {
    in_place = false;
    status = take_by_copy(device, source, dtype, &layout, &buffer);
  }
  if (status != TSR_OK) return status;

  // From here on a failure must release the memory without calling the owner's deleter.
  tsr_buffer *kept = tsr_buffer_retain(buffer);
  tsr_tensor *tensor = tsri_tensor_create(buffer, dtype, &layout);
  status = tsr_error(tensor);
  if (status == TSR_OK) *out_tensor = tensor;
  else {
    kept->release_foreign = NULL;
    tsr_release(tensor);
  }
  tsr_buffer_release(kept);
  if (status == TSR_OK && !in_place) source->release(source->managed);
  return status;
}

tsr_status tsr_from_dlpack(tsr_device *device, struct DLManagedTensor *managed, tsr_tensor **out_tensor) {
  if (!managed || !out_tensor)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_dlpack: %s is NULL", managed ? "out_tensor" : "managed");
  *out_tensor = NULL;
  import_source source = {.tensor = &managed->tensor, .release = release_plain, .managed = managed};
  return take(device, &source, out_tensor);
}

tsr_status tsr_from_dlpack_versioned(tsr_device *device, struct DLManagedTensorVersioned *managed,
                                     tsr_tensor **out_tensor) {
  if (!managed || !out_tensor)
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_dlpack: %s is NULL", managed ? "out_tensor" : "managed");
  *out_tensor = NULL;
  if (managed->version.major != DL_MAJOR) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "from_dlpack: ABI version %u.%u, only %d.x is understood",
                     managed->version.major, managed->version.minor, DL_MAJOR);
  }
  import_source source = {.tensor = &managed->tensor,
                          .is_read_only = (managed->flags & DL_FLAG_READ_ONLY) != 0,
                          .release = release_versioned,
                          .managed = managed};
  return take(device, &source, out_tensor);
}
