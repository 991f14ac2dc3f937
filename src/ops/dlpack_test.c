// SPDX-License-Identifier: MIT
// DLPack: what is exported and imported, who frees it when, and what is refused.
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "core/tensor.h"
#include "ops/dlpack_abi.h"
#include "support/devices.h"
#include "support/test.h"

// --- A tensor of another library -------------------------------------------------------------------------------------

// Both forms of the struct, with their memory. The deleters only count their calls: the test owns the record.
typedef struct foreign {
  struct DLManagedTensor plain;
  struct DLManagedTensorVersioned versioned;
  int64_t shape[9], strides[9];
  _Alignas(64) float data[64];
  int deleted;
} foreign;

static void delete_foreign(struct DLManagedTensor *self) { ((foreign *)self->manager)->deleted++; }
static void delete_foreign_versioned(struct DLManagedTensorVersioned *self) { ((foreign *)self->manager)->deleted++; }

// A tensor of f32 with elements 0, 1, 2, …, starting at element `first` of the data. `strides` NULL: row-major.
static void init_foreign(foreign *imported, int first, int ndim, const int64_t *shape, const int64_t *strides) {
  *imported = (foreign){0};
  for (int i = 0; i < 64; i++) imported->data[i] = (float)i;
  for (int i = 0; i < ndim; i++) {
    imported->shape[i] = shape[i];
    imported->strides[i] = strides ? strides[i] : 0;
  }
  dl_tensor tensor = {.data = imported->data + first,
                      .device = {DL_CPU, 0},
                      .ndim = ndim,
                      .dtype = {DL_FLOAT, 32, 1},
                      .shape = imported->shape,
                      .strides = strides ? imported->strides : NULL};
  imported->plain = (struct DLManagedTensor){.tensor = tensor, .manager = imported, .deleter = delete_foreign};
  imported->versioned = (struct DLManagedTensorVersioned){
      .version = {DL_MAJOR, DL_MINOR}, .manager = imported, .deleter = delete_foreign_versioned, .tensor = tensor};
}

#define FOREIGN(imported, first, ndim, shape, strides) \
  foreign imported;                                    \
  init_foreign(&(imported), first, ndim, shape, strides)

// Checks that the call fails, returns no tensor and leaves the managed one to the caller.
static void check_refused(tsr_device *device, foreign *imported, tsr_status wanted, const char *words) {
  tsr_tensor *tensor = (tsr_tensor *)imported;
  CHECK_STATUS(tsr_from_dlpack(device, &imported->plain, &tensor), wanted);
  CHECK_LAST_ERROR_HAS(words);
  CHECK(tensor == NULL);
  CHECK_EQ_INT(imported->deleted, 0);
}

// --- Exporting -------------------------------------------------------------------------------------------------------

TEST(every_dtype_has_its_dlpack_code) {
  static const struct {
    tsr_dtype dtype;
    int code, bits;
  } wanted[] = {
      {TSR_BOOL, 6, 8}, {TSR_U8, 1, 8},   {TSR_I8, 0, 8},   {TSR_I16, 0, 16},     {TSR_I32, 0, 32},
      {TSR_I64, 0, 64}, {TSR_U32, 1, 32}, {TSR_F16, 2, 16}, {TSR_BF16, 4, 16},    {TSR_F32, 2, 32},
      {TSR_F64, 2, 64}, {TSR_U16, 1, 16}, {TSR_U64, 1, 64}, {TSR_F8_E4M3, 10, 8}, {TSR_F8_E5M2, 12, 8},
  };
  CHECK_EQ_INT(sizeof wanted / sizeof wanted[0], TSR_DTYPE_COUNT);
  tsr_device *device = test_open("cpu");
  for (int i = 0; i < TSR_DTYPE_COUNT; i++) {
    tsr_tensor *tensor = tsr_ones(device, wanted[i].dtype, TSR_SHAPE(2, 3)), *back = NULL;
    struct DLManagedTensor *managed = NULL;
    CHECK_OK(tsr_to_dlpack(tensor, &managed));
    const dl_tensor *given = &managed->tensor;
    CHECK_EQ_INT(given->dtype.code, wanted[i].code);
    CHECK_EQ_INT(given->dtype.bits, wanted[i].bits);
    CHECK_EQ_INT(given->dtype.lanes, 1);
    CHECK_OK(tsr_from_dlpack(device, managed, &back));
    CHECK_EQ_INT(tsr_tensor_dtype(back), wanted[i].dtype);
    bool is_equal = false;
    CHECK_OK(tsr_equal(tensor, back, &is_equal));
    CHECK(is_equal);
    tsr_release(back);
    tsr_release(tensor);
  }
  tsr_device_release(device);
}

TEST(cpu_tensors_are_given_without_a_copy) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *tensor = tsr_arange(device, TSR_I32, 0, 6, 1), *grid = tsr_reshape(tensor, TSR_SHAPE(2, 3));
  struct DLManagedTensor *plain = NULL;
  struct DLManagedTensorVersioned *versioned = NULL;
  CHECK_OK(tsr_to_dlpack(grid, &plain));
  CHECK_OK(tsr_to_dlpack_versioned(grid, &versioned));
  CHECK(plain->tensor.data == tsr_buffer_host(tsri_tensor_buffer(tensor)));
  CHECK(versioned->tensor.data == plain->tensor.data);
  CHECK_EQ_UINT(plain->tensor.byte_offset, 0);
  CHECK_EQ_INT(plain->tensor.device.type, DL_CPU);
  CHECK_EQ_INT(plain->tensor.device.id, 0);
  CHECK_EQ_INT(plain->tensor.ndim, 2);
  CHECK_EQ_INT(plain->tensor.shape[0], 2);
  CHECK_EQ_INT(plain->tensor.shape[1], 3);
  CHECK_EQ_INT(plain->tensor.strides[0], 3);
  CHECK_EQ_INT(plain->tensor.strides[1], 1);
  CHECK_EQ_UINT(versioned->version.major, 1);
  CHECK_EQ_UINT(versioned->flags, 0);
  ((int32_t *)plain->tensor.data)[5] = 77;
  int32_t values[6];
  CHECK_OK(tsr_read(tensor, values, sizeof values));
  CHECK_EQ_INT(values[5], 77);
  plain->deleter(plain);
  versioned->deleter(versioned);
  tsr_release(grid);
  tsr_release(tensor);
  tsr_device_release(device);
}

TEST(views_are_given_with_their_strides) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *base = tsr_reshape(tsr_arange(device, TSR_I16, 0, 24, 1), TSR_SHAPE(4, 6));
  tsr_tensor *mirrored = tsr_flip(tsr_slice(base, 0, 1, TSR_END, 2), 1);
  tsr_tensor *wide = tsr_expand(tsr_slice(base, 1, 2, 3, 1), TSR_SHAPE(5, -1, 7));
  CHECK_OK(tsr_evaluate(base));
  int16_t *memory = tsr_buffer_host(tsri_tensor_buffer(base));
  struct DLManagedTensor *managed = NULL;
  CHECK_OK(tsr_to_dlpack(mirrored, &managed));
  CHECK(managed->tensor.data == memory + 6 + 5);
  CHECK_EQ_INT(managed->tensor.strides[0], 12);
  CHECK_EQ_INT(managed->tensor.strides[1], -1);
  managed->deleter(managed);
  CHECK_OK(tsr_to_dlpack(wide, &managed));
  CHECK(managed->tensor.data == memory + 2);
  CHECK_EQ_INT(managed->tensor.ndim, 3);
  CHECK_EQ_INT(managed->tensor.shape[0], 5);
  CHECK_EQ_INT(managed->tensor.strides[0], 0);
  CHECK_EQ_INT(managed->tensor.strides[1], 6);
  CHECK_EQ_INT(managed->tensor.strides[2], 0);
  managed->deleter(managed);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

static void empty_and_scalar_survive(tsr_device *device) {
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *base = tsr_arange(device, TSR_F64, 0, 4, 1);
  tsr_tensor *given[] = {tsr_zeros(device, TSR_F64, TSR_SHAPE(3, 0, 2)), tsr_full(device, TSR_F64, TSR_SCALAR, 2.5),
                         tsr_slice(base, 0, 2, 2, 1), tsr_squeeze(tsr_slice(base, 0, 3, TSR_END, 1), 0)};
  for (int i = 0; i < 4; i++) {
    struct DLManagedTensorVersioned *managed = NULL;
    tsr_tensor *back = NULL;
    bool is_equal = false;
    CHECK_OK(tsr_to_dlpack_versioned(given[i], &managed));
    CHECK_EQ_INT(managed->tensor.ndim, tsr_tensor_shape(given[i]).rank);
    CHECK((managed->tensor.data == NULL) == (tsr_tensor_count(given[i]) == 0));
    CHECK_OK(tsr_from_dlpack_versioned(device, managed, &back));
    CHECK_OK(tsr_equal(back, given[i], &is_equal));
    CHECK(is_equal);
  }
  CHECK_OK(tsr_scope_end(scope));
}
TEST(empty_and_scalar_tensors_survive_on_every_device) { test_on_every_device(empty_and_scalar_survive); }

TEST(given_memory_outlives_tensor_scope_and_device) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  struct DLManagedTensor *managed = NULL;
  CHECK_OK(tsr_to_dlpack(tsr_full(device, TSR_I64, TSR_SHAPE(1000), 41), &managed));
  CHECK_OK(tsr_scope_end(scope));
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK(stats.in_use_bytes >= 8000);
  tsr_device_retain(device);
  tsr_device_release(device);
  tsr_device_release(device);  // the export has a reference and keeps the device open
  int64_t *values = managed->tensor.data;
  for (int i = 0; i < 1000; i++) CHECK_EQ_INT(values[i], 41);
  values[999] = 1;
  managed->deleter(managed);
}

TEST(the_deleter_gives_the_memory_back_once) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *tensor = tsr_ones(device, TSR_F32, TSR_SHAPE(16));
  struct DLManagedTensor *first = NULL, *second = NULL;
  CHECK_OK(tsr_to_dlpack(tensor, &first));
  CHECK_OK(tsr_to_dlpack(tensor, &second));
  CHECK(first != second);
  tsr_release(tensor);
  tsr_memory_stats stats;
  first->deleter(first);
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK(stats.in_use_bytes >= 64);
  CHECK(((float *)second->tensor.data)[15] == 1.0f);
  second->deleter(second);
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
  tsr_device_release(device);
}

TEST(tensors_of_other_devices_are_given_as_a_host_copy) {
  tsr_device *device = test_open("null");
  tsr_tensor *base = tsr_arange(device, TSR_I32, 0, 6, 1), *view = tsr_flip(base, 0);
  struct DLManagedTensorVersioned *managed = NULL;
  CHECK_OK(tsr_to_dlpack_versioned(view, &managed));
  CHECK_EQ_UINT(managed->flags, DL_FLAG_IS_COPIED);
  CHECK_EQ_INT(managed->tensor.device.type, DL_CPU);
  CHECK_EQ_INT(managed->tensor.strides[0], 1);
  tsr_release(view);
  tsr_release(base);
  tsr_device_release(device);
  const int32_t *values = managed->tensor.data;
  for (int i = 0; i < 6; i++) CHECK_EQ_INT(values[i], 5 - i);
  managed->deleter(managed);
}

TEST(failed_tensors_and_null_are_not_given) {
  tsr_device *device = test_open("cpu");
  tsr_tensor *wrong = tsr_zeros(device, TSR_F32, TSR_SHAPE(-3)), *good = tsr_zeros(device, TSR_F32, TSR_SHAPE(3));
  struct DLManagedTensor *plain = (struct DLManagedTensor *)device;
  struct DLManagedTensorVersioned *versioned = (struct DLManagedTensorVersioned *)device;
  CHECK_STATUS(tsr_to_dlpack(wrong, &plain), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_to_dlpack_versioned(wrong, &versioned), TSR_ERR_SHAPE);
  CHECK(plain == NULL && versioned == NULL);
  CHECK_STATUS(tsr_to_dlpack(NULL, &plain), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_to_dlpack(good, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_to_dlpack_versioned(good, NULL), TSR_ERR_INVALID_ARGUMENT);
  tsr_release(wrong);
  tsr_release(good);
  tsr_device_release(device);
}

// --- Importing -------------------------------------------------------------------------------------------------------

TEST(host_memory_is_taken_where_it_lies) {
  tsr_device *device = test_open("cpu");
  FOREIGN(imported, 0, 2, ((int64_t[]){3, 4}), NULL);
  tsr_tensor *tensor = NULL;
  CHECK_OK(tsr_from_dlpack(device, &imported.plain, &tensor));
  CHECK(tsr_buffer_host(tsri_tensor_buffer(tensor)) == imported.data);
  CHECK_EQ_INT(tsr_tensor_shape(tensor).rank, 2);
  CHECK(tsr_tensor_is_contiguous(tensor));
  imported.data[11] = 99;
  float values[12];
  CHECK_OK(tsr_read(tensor, values, sizeof values));
  CHECK(values[11] == 99 && values[1] == 1);
  values[0] = -5;
  CHECK_OK(tsr_write(tensor, values, sizeof values));
  CHECK(imported.data[0] == -5);
  CHECK(imported.data[12] == 12);  // the element after the tensor is unchanged
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
  CHECK_EQ_INT(imported.deleted, 0);
  tsr_release(tensor);
  CHECK_EQ_INT(imported.deleted, 1);
  tsr_device_release(device);
}

TEST(the_owners_deleter_runs_with_the_last_view) {
  tsr_device *device = test_open("cpu");
  FOREIGN(imported, 0, 2, ((int64_t[]){4, 4}), NULL);
  tsr_tensor *tensor = NULL;
  CHECK_OK(tsr_from_dlpack_versioned(device, &imported.versioned, &tensor));
  tsr_tensor *view = tsr_slice(tensor, 0, 1, 2, 1), *again = tsr_transpose(view, 0, 1);
  struct DLManagedTensor *given = NULL;
  CHECK_OK(tsr_to_dlpack(again, &given));
  tsr_device_release(device);
  tsr_release(tensor);
  tsr_release(view);
  tsr_release(again);
  CHECK_EQ_INT(imported.deleted, 0);  // the memory was exported again and is still in use
  CHECK(((float *)given->tensor.data)[3] == 7);
  given->deleter(given);
  CHECK_EQ_INT(imported.deleted, 1);
}

TEST(a_tensor_taken_inside_a_scope_goes_with_it) {
  tsr_device *device = test_open("cpu");
  FOREIGN(imported, 0, 1, ((int64_t[]){4}), NULL);
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *tensor = NULL;
  CHECK_OK(tsr_from_dlpack(device, &imported.plain, &tensor));
  CHECK_EQ_INT(imported.deleted, 0);
  CHECK_OK(tsr_scope_end(scope));
  CHECK_EQ_INT(imported.deleted, 1);
  tsr_device_release(device);
}

TEST(a_managed_tensor_without_a_deleter_is_taken) {
  tsr_device *device = test_open("cpu");
  FOREIGN(imported, 0, 1, ((int64_t[]){4}), NULL);
  imported.plain.deleter = NULL;
  tsr_tensor *tensor = NULL;
  CHECK_OK(tsr_from_dlpack(device, &imported.plain, &tensor));
  tsr_release(tensor);
  tsr_device_release(device);
}

static void strides_and_offsets_are_followed(tsr_device *device) {
  tsr_tensor *tensor = NULL;
  float values[12];
  FOREIGN(stepped, 0, 2, ((int64_t[]){3, 2}), ((int64_t[]){2, 10}));
  stepped.plain.tensor.byte_offset = 5 * sizeof(float);
  CHECK_OK(tsr_from_dlpack(device, &stepped.plain, &tensor));
  CHECK_OK(tsr_read(tensor, values, 6 * sizeof values[0]));
  for (int i = 0; i < 6; i++) CHECK(values[i] == (float)(5 + i / 2 * 2 + i % 2 * 10));
  tsr_release(tensor);
  CHECK_EQ_INT(stepped.deleted, 1);

  FOREIGN(mirrored, 40, 2, ((int64_t[]){4, 3}), ((int64_t[]){-10, -2}));
  CHECK_OK(tsr_from_dlpack(device, &mirrored.plain, &tensor));
  CHECK_OK(tsr_read(tensor, values, sizeof values));
  for (int i = 0; i < 12; i++) CHECK(values[i] == (float)(40 - i / 3 * 10 - i % 3 * 2));
  tsr_release(tensor);
  CHECK_EQ_INT(mirrored.deleted, 1);

  FOREIGN(repeated, 7, 2, ((int64_t[]){4, 3}), ((int64_t[]){0, 1}));
  CHECK_OK(tsr_from_dlpack(device, &repeated.plain, &tensor));
  CHECK_OK(tsr_read(tensor, values, sizeof values));
  for (int i = 0; i < 12; i++) CHECK(values[i] == (float)(7 + i % 3));
  tsr_release(tensor);

  FOREIGN(scalar, 9, 0, NULL, NULL);
  scalar.plain.tensor.shape = NULL;
  CHECK_OK(tsr_from_dlpack(device, &scalar.plain, &tensor));
  CHECK_OK(tsr_read(tensor, values, sizeof values[0]));
  CHECK(values[0] == 9);
  tsr_release(tensor);

  FOREIGN(empty, 0, 2, ((int64_t[]){0, 3}), NULL);
  empty.plain.tensor.data = NULL;
  CHECK_OK(tsr_from_dlpack(device, &empty.plain, &tensor));
  CHECK_EQ_INT(tsr_tensor_count(tensor), 0);
  tsr_release(tensor);
  CHECK_EQ_INT(empty.deleted, 1);
}
TEST(strides_and_offsets_are_followed_on_every_device) { test_on_every_device(strides_and_offsets_are_followed); }

TEST(strides_of_axes_with_one_element_do_not_matter) {
  tsr_device *device = test_open("cpu");
  FOREIGN(imported, 0, 3, ((int64_t[]){1, 4, 1}), ((int64_t[]){INT64_MAX, 1, INT64_MIN}));
  tsr_tensor *tensor = NULL;
  CHECK_OK(tsr_from_dlpack(device, &imported.plain, &tensor));
  CHECK(tsr_tensor_is_contiguous(tensor));
  tsr_release(tensor);
  tsr_device_release(device);
}

TEST(read_only_memory_stays_read_only) {
  tsr_device *device = test_open("cpu");
  FOREIGN(imported, 0, 1, ((int64_t[]){4}), NULL);
  imported.versioned.flags = DL_FLAG_READ_ONLY;
  tsr_tensor *tensor = NULL;
  float values[4] = {9, 9, 9, 9};
  CHECK_OK(tsr_from_dlpack_versioned(device, &imported.versioned, &tensor));
  CHECK_STATUS(tsr_write(tensor, values, sizeof values), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("read-only");
  tsr_tensor *view = tsr_flip(tensor, 0);
  CHECK_STATUS(tsr_write(view, values, sizeof values), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_upload(tsri_tensor_buffer(view), 0, values, 4), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_fill(tsri_tensor_buffer(view), 0, 4, values, 4), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_buffer_copy(tsri_tensor_buffer(view), 0, tsri_tensor_buffer(view), 4, 4), TSR_ERR_INVALID_ARGUMENT);
  CHECK(imported.data[0] == 0 && imported.data[3] == 3);

  struct DLManagedTensor *plain = NULL;
  CHECK_STATUS(tsr_to_dlpack(view, &plain), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("tsr_to_dlpack_versioned");
  struct DLManagedTensorVersioned *versioned = NULL;
  CHECK_OK(tsr_to_dlpack_versioned(view, &versioned));
  CHECK_EQ_UINT(versioned->flags, DL_FLAG_READ_ONLY);
  versioned->deleter(versioned);

  tsr_tensor *copy = tsr_contiguous(view);  // new memory, which is writable
  CHECK_OK(tsr_write(copy, values, sizeof values));
  tsr_release(copy);
  tsr_release(view);
  tsr_release(tensor);
  CHECK_EQ_INT(imported.deleted, 1);
  tsr_device_release(device);
}

TEST(read_only_memory_copied_to_a_device_may_be_written) {
  tsr_device *device = test_open("null");
  FOREIGN(imported, 0, 1, ((int64_t[]){4}), NULL);
  imported.versioned.flags = DL_FLAG_READ_ONLY;
  tsr_tensor *tensor = NULL;
  float values[4] = {9, 9, 9, 9};
  CHECK_OK(tsr_from_dlpack_versioned(device, &imported.versioned, &tensor));
  CHECK_OK(tsr_write(tensor, values, sizeof values));
  CHECK(imported.data[0] == 0);
  tsr_release(tensor);
  tsr_device_release(device);
}

TEST(other_devices_copy_and_return_the_memory_at_once) {
  tsr_device *device = test_open("null");
  FOREIGN(imported, 0, 1, ((int64_t[]){6}), ((int64_t[]){3}));
  tsr_tensor *tensor = NULL;
  CHECK_OK(tsr_from_dlpack(device, &imported.plain, &tensor));
  CHECK_EQ_INT(imported.deleted, 1);
  memset(&imported, 0xFF, sizeof imported);
  CHECK(tsr_tensor_is_contiguous(tensor));
  float values[6];
  CHECK_OK(tsr_read(tensor, values, sizeof values));
  for (int i = 0; i < 6; i++) CHECK(values[i] == (float)(3 * i));
  tsr_release(tensor);
  tsr_device_release(device);
}

static void what_cannot_be_taken_is_refused(tsr_device *device) {
  const int64_t shape[] = {2, 3};
  FOREIGN(code, 0, 2, shape, NULL);
  code.plain.tensor.dtype.code = 5;  // complex
  check_refused(device, &code, TSR_ERR_DTYPE, "code 5 with 32 bits and 1 lanes");
  FOREIGN(bits, 0, 2, shape, NULL);
  bits.plain.tensor.dtype.bits = 8;
  check_refused(device, &bits, TSR_ERR_DTYPE, "8 bits");
  FOREIGN(lanes, 0, 2, shape, NULL);
  lanes.plain.tensor.dtype.lanes = 2;
  check_refused(device, &lanes, TSR_ERR_DTYPE, "2 lanes");
  FOREIGN(misaligned, 0, 2, shape, NULL);
  misaligned.plain.tensor.byte_offset = 2;
  check_refused(device, &misaligned, TSR_ERR_INVALID_ARGUMENT, "not aligned to the 4 bytes of a f32");
  FOREIGN(no_data, 0, 2, shape, NULL);
  no_data.plain.tensor.data = NULL;
  check_refused(device, &no_data, TSR_ERR_INVALID_ARGUMENT, "data is NULL");
  FOREIGN(no_shape, 0, 2, shape, NULL);
  no_shape.plain.tensor.shape = NULL;
  check_refused(device, &no_shape, TSR_ERR_INVALID_ARGUMENT, "shape is NULL");
  static const int32_t elsewhere[] = {2, 4, 7, 8, 10, 13, 14, 0, -1};  // CUDA, OpenCL, Vulkan, Metal, ROCm, …
  for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
    FOREIGN(far_away, 0, 2, shape, NULL);
    far_away.plain.tensor.device.type = elsewhere[i];
    far_away.plain.tensor.device.id = 77;  // not the device itself
    check_refused(device, &far_away, TSR_ERR_UNSUPPORTED, "takes host memory");
  }
}
TEST(what_cannot_be_taken_is_refused_and_stays_the_callers) { test_on_every_device(what_cannot_be_taken_is_refused); }

static void wrong_shapes_and_strides_are_refused(tsr_device *device) {
  FOREIGN(deep, 0, 9, ((int64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}), NULL);
  check_refused(device, &deep, TSR_ERR_SHAPE, "rank 9");
  FOREIGN(shallow, 0, 0, NULL, NULL);
  shallow.plain.tensor.ndim = -1;
  check_refused(device, &shallow, TSR_ERR_SHAPE, "rank -1");
  FOREIGN(negative, 0, 2, ((int64_t[]){2, -3}), NULL);
  check_refused(device, &negative, TSR_ERR_SHAPE, "-3");
  FOREIGN(huge, 0, 2, ((int64_t[]){INT64_MAX, 2}), NULL);
  check_refused(device, &huge, TSR_ERR_SHAPE, "more than 2^63-1");
  FOREIGN(large, 0, 1, ((int64_t[]){INT64_MAX / 2}), NULL);
  check_refused(device, &large, TSR_ERR_SHAPE, "more bytes than memory can address");
  static const int64_t strides[] = {INT64_MIN, INT64_MAX, INT64_MIN + 1, INT64_MAX / 8, INT64_MIN / 8};
  for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
    FOREIGN(far_apart, 0, 2, ((int64_t[]){2, 3}), ((int64_t[]){1, strides[i]}));
    check_refused(device, &far_apart, TSR_ERR_SHAPE, "on axis 1 reaches beyond memory");
  }
  FOREIGN(together, 0, 2, ((int64_t[]){2, 2}), ((int64_t[]){INT64_MAX / 10, INT64_MAX / 10}));
  check_refused(device, &together, TSR_ERR_SHAPE, "reaches beyond memory");
}
TEST(wrong_shapes_and_strides_are_refused) { test_on_every_device(wrong_shapes_and_strides_are_refused); }

TEST(another_major_version_is_refused) {
  tsr_device *device = test_open("cpu");
  static const uint32_t others[] = {0, 2, 99};
  for (int i = 0; i < 3; i++) {
    FOREIGN(imported, 0, 1, ((int64_t[]){4}), NULL);
    imported.versioned.version.major = others[i];
    tsr_tensor *tensor = (tsr_tensor *)device;
    CHECK_STATUS(tsr_from_dlpack_versioned(device, &imported.versioned, &tensor), TSR_ERR_INVALID_ARGUMENT);
    CHECK_LAST_ERROR_HAS("only 1.x is understood");
    CHECK(tensor == NULL);
    CHECK_EQ_INT(imported.deleted, 0);
  }
  FOREIGN(newer, 0, 1, ((int64_t[]){4}), NULL);
  newer.versioned.version.minor = 7;  // minor versions only add fields
  tsr_tensor *tensor = NULL;
  CHECK_OK(tsr_from_dlpack_versioned(device, &newer.versioned, &tensor));
  tsr_release(tensor);
  tsr_device_release(device);
}

TEST(null_arguments_are_statuses) {
  tsr_device *device = test_open("cpu");
  FOREIGN(imported, 0, 1, ((int64_t[]){4}), NULL);
  tsr_tensor *tensor = NULL;
  CHECK_STATUS(tsr_from_dlpack(device, NULL, &tensor), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_from_dlpack(device, &imported.plain, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_from_dlpack(NULL, &imported.plain, &tensor), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_from_dlpack_versioned(device, NULL, &tensor), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_from_dlpack_versioned(device, &imported.versioned, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_EQ_INT(imported.deleted, 0);
  tsr_device_release(device);
}

// --- Failing memory -----------------------------------------------------------------------------------------------

// Imports a tensor and exports it again. Whatever fails, the deleter runs once if the import succeeded, and never
// otherwise.
static tsr_status take_and_give(tsr_device *device, foreign *imported) {
  init_foreign(imported, 40, 2, (int64_t[]){4, 3}, (int64_t[]){-10, -2});
  tsr_scope *scope = tsr_scope_begin(device);
  if (!scope) return tsr_last_error_status();
  tsr_tensor *tensor = NULL;
  struct DLManagedTensorVersioned *given = NULL;
  tsr_status status = tsr_from_dlpack_versioned(device, &imported->versioned, &tensor);
  bool is_taken = status == TSR_OK;
  CHECK(is_taken == (tensor != NULL));
  if (is_taken) status = tsr_to_dlpack_versioned(tensor, &given);
  CHECK((status == TSR_OK) == (given != NULL));
  CHECK_OK(tsr_scope_end(scope));
  if (given) {
    CHECK(((float *)given->tensor.data)[0] == 40);
    given->deleter(given);
  }
  CHECK_EQ_INT(imported->deleted, is_taken);
  return status;
}

static void every_allocation_may_fail(tsr_device *device) {
  foreign imported;
  int failures = 0;
  for (uint64_t n = 1; n < 200; n++) {
    CHECK_OK(tsr_memory_trim(device, NULL));  // so that the pool has to allocate host memory, too
    tsri_alloc_fail_at(n, false);
    tsr_status status = take_and_give(device, &imported);
    uint64_t made = tsri_alloc_fail_at(0, false);
    if (status != TSR_OK) {
      CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
      failures++;
    }
    tsr_memory_stats stats;
    CHECK_OK(tsr_memory_get_stats(device, &stats));
    CHECK_EQ_UINT(stats.in_use_bytes, 0);
    if (made < n) {
      CHECK(failures >= 4);
      return;
    }
  }
  FAIL("the exchange never got through");
}
TEST(every_host_allocation_of_an_exchange_may_fail) { test_on_every_device(every_allocation_may_fail); }

static void sweep_device_faults(const char *backend, const char *kind, tsr_status wanted, int least) {
  foreign imported;
  for (int n = 1; n < 50; n++) {
    char faults[32];
    snprintf(faults, sizeof faults, "%s:%d", kind, n);
    tsr_device *device = test_open_with_faults(backend, faults);
    tsr_status status = take_and_give(device, &imported);
    tsr_device_release(device);
    if (status == TSR_OK) {
      CHECK(n - 1 >= least);
      return;
    }
    CHECK_STATUS(status, wanted);
  }
  FAIL("the exchange never got through");
}

TEST(every_copy_and_wait_of_an_exchange_may_fail) {
  sweep_device_faults("null", "copy", TSR_ERR_INTERNAL, 2);
  sweep_device_faults("null", "lost", TSR_ERR_DEVICE_LOST, 3);
  sweep_device_faults("cpu", "alloc", TSR_ERR_OUT_OF_MEMORY, 1);
  sweep_device_faults("cpu", "wait", TSR_ERR_TIMEOUT, 1);
}

// --- Shared memory ------------------------------------------------------------------------------------------------

static void check_sum(tsr_tensor *tensor, double wanted) {
  float values[4];
  double sum = 0;
  CHECK_OK(tsr_read(tensor, values, sizeof values));
  for (int i = 0; i < 4; i++) sum += values[i];
  CHECK_NEAR(sum, wanted, 0);
}

TEST(a_tensor_that_went_out_and_came_back_is_known_to_share_memory) {
  tsr_device *device = test_open("cpu"), *other = test_open("cpu");
  const float five[4] = {5, 5, 5, 5}, six[4] = {6, 6, 6, 6};
  for (int i = 0; i < 2; i++) {  // imported by the same device, and by another one
    tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(4)), *y = NULL;
    struct DLManagedTensor *managed = NULL;
    CHECK_OK(tsr_to_dlpack(x, &managed));
    CHECK_OK(tsr_from_dlpack(i == 0 ? device : other, managed, &y));
    tsr_tensor *apart = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
    CHECK(tsr_tensor_shares_memory(x, y) && tsr_tensor_shares_memory(y, x) && !tsr_tensor_shares_memory(x, apart));
    tsr_tensor *twice = tsr_add(y, y), *thrice = tsr_mul_scalar(x, 3);
    CHECK_OK(tsr_write(x, five, sizeof five));
    check_sum(twice, 8);  // the old elements, on which it was recorded
    check_sum(thrice, 12);
    tsr_tensor *negated = tsr_neg(x);
    CHECK_OK(tsr_write(y, six, sizeof six));
    check_sum(negated, -20);
    check_sum(x, 24);
    tsr_release(x), tsr_release(y), tsr_release(twice), tsr_release(thrice), tsr_release(negated), tsr_release(apart);
  }
  tsr_device_release(device), tsr_device_release(other);
}

TEST(host_memory_taken_twice_is_known_to_be_shared_where_it_overlaps) {
  tsr_device *device = test_open("cpu");
  FOREIGN(whole, 0, 1, ((const int64_t[]){8}), NULL);
  FOREIGN(part, 0, 1, ((const int64_t[]){4}), NULL);
  FOREIGN(rest, 0, 1, ((const int64_t[]){4}), NULL);
  part.plain.tensor.data = whole.data + 2;
  rest.plain.tensor.data = whole.data + 6;
  tsr_tensor *a = NULL, *b = NULL, *c = NULL;
  CHECK_OK(tsr_from_dlpack(device, &whole.plain, &a));
  CHECK_OK(tsr_from_dlpack(device, &part.plain, &b));
  CHECK_OK(tsr_from_dlpack(device, &rest.plain, &c));
  CHECK(tsr_tensor_shares_memory(a, b) && tsr_tensor_shares_memory(a, c) && !tsr_tensor_shares_memory(b, c));
  tsr_tensor *tail = tsr_slice(a, 0, 4, 8, 1), *sum = tsr_add_scalar(tail, 0);  // 4 5 6 7
  const float zeros[4] = {0};
  CHECK_OK(tsr_write(b, zeros, sizeof zeros));
  check_sum(sum, 22);
  check_sum(tail, 13);
  tsr_release(a), tsr_release(b), tsr_release(c), tsr_release(tail), tsr_release(sum);
  CHECK_EQ_INT(whole.deleted + part.deleted + rest.deleted, 3);
  tsr_device_release(device);
}

TEST(a_kernel_sees_an_input_as_it_was_though_its_output_shares_the_memory) {
  tsr_device *device = test_open("cpu");
  static const char text[] =
      "kernel turn<WG = 64>(in f32 x[], out f32 y[]) { if (global.x < 4) y[global.x] = x[3 - global.x]; }";
  tsr_kernel *kernel = NULL;
  CHECK_OK(tsr_kernel_build(&(tsr_kernel_desc){.source = text}, &kernel));
  FOREIGN(one, 0, 1, ((const int64_t[]){4}), NULL);
  FOREIGN(two, 0, 1, ((const int64_t[]){4}), NULL);
  two.plain.tensor.data = one.data;
  tsr_tensor *x = NULL, *y = NULL;
  CHECK_OK(tsr_from_dlpack(device, &one.plain, &x));
  CHECK_OK(tsr_from_dlpack(device, &two.plain, &y));
  CHECK_OK(tsr_kernel_launch(kernel, (tsr_grid){1, 1, 1}, (const tsr_arg[]){tsr_arg_tensor(x), tsr_arg_tensor(y)}, 2));
  float values[4];
  CHECK_OK(tsr_read(y, values, sizeof values));
  for (int i = 0; i < 4; i++) CHECK_NEAR(values[i], 3 - i, 0);
  tsr_release(x), tsr_release(y), tsr_kernel_release(kernel), tsr_device_release(device);
}

// --- Memory of a GPU -------------------------------------------------------------------------------------------------

static tsr_device *open_rocm(void) {
  const char *missing = test_use_rocm();
  if (missing) SKIP(missing);
  return test_open("rocm");
}

static void check_total(tsr_tensor *tensor, double wanted) {
  tsr_tensor *total = tsr_sum(tensor, NULL, 0, false);
  double found = 0;
  CHECK_OK(tsr_item(total, &found));
  CHECK(found == wanted);
  tsr_release(total);
}

TEST(memory_of_a_gpu_goes_out_and_comes_back_where_it_lies) {
  tsr_device *device = open_rocm();
  tsr_tensor *x = tsr_arange(device, TSR_F32, 0, 12, 1), *view = tsr_slice(x, 0, 3, 12, 2), *y = NULL;
  struct DLManagedTensor *managed = NULL;
  int type = 0, id = -1;
  tsr_device_dlpack(device, &type, &id);
  CHECK_EQ_INT(type, DL_ROCM);
  CHECK_EQ_INT(id, 0);
  CHECK_OK(tsr_to_dlpack_in_place(view, &managed));  // begins 12 bytes after the buffer does
  CHECK_EQ_INT(managed->tensor.device.type, DL_ROCM);
  CHECK_EQ_INT(managed->tensor.strides[0], 2);
  CHECK_OK(tsr_from_dlpack(device, managed, &y));
  CHECK(tsr_tensor_shares_memory(x, y));
  tsr_tensor *twice = tsr_add(x, x), *seven = tsr_full(device, TSR_F32, TSR_SCALAR, 7);
  CHECK_OK(tsr_assign(y, seven));
  check_total(twice, 132);  // the old elements, on which it was recorded
  check_total(y, 35);
  check_total(x, 66 - (3 + 5 + 7 + 9 + 11) + 35);
  tsr_release(x), tsr_release(view), tsr_release(twice), tsr_release(seven);
  check_total(y, 35);  // its memory is still there
  tsr_release(y);
  tsr_memory_stats stats;
  CHECK_OK(tsr_memory_get_stats(device, &stats));
  CHECK_EQ_UINT(stats.in_use_bytes, 0);
  tsr_device_release(device);
}

TEST(memory_of_a_gpu_is_taken_by_that_gpu_alone) {
  tsr_device *device = open_rocm(), *cpu = test_open("cpu");
  tsr_tensor *x = tsr_ones(device, TSR_F32, TSR_SHAPE(4)), *none = NULL;
  struct DLManagedTensor *managed = NULL;
  CHECK_OK(tsr_to_dlpack_in_place(x, &managed));
  CHECK_STATUS(tsr_from_dlpack(cpu, managed, &none), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("memory of device 0 of DLPack's type 10");
  managed->tensor.device.id = 5;
  CHECK_STATUS(tsr_from_dlpack(device, managed, &none), TSR_ERR_UNSUPPORTED);
  managed->deleter(managed);
  tsr_tensor *on_cpu = tsr_ones(cpu, TSR_F32, TSR_SHAPE(4));
  CHECK_STATUS(tsr_to_dlpack_in_place(on_cpu, &managed), TSR_ERR_UNSUPPORTED);
  CHECK_LAST_ERROR_HAS("no other library knows the memory of cpu");
  int type = 0, id = 0;
  tsr_device_dlpack(cpu, &type, &id);
  CHECK_EQ_INT(type, DL_CPU);
  tsr_release(x), tsr_release(on_cpu);
  tsr_device_release(device), tsr_device_release(cpu);
}
