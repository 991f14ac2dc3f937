// SPDX-License-Identifier: MIT
// Failed tensors, properties, wrong calls, use after release.
#include <tessera/tensor.h>

#include "core/alloc.h"
#include "core/error.h"
#include "core/tensor.h"
#include "support/devices.h"
#include "support/test.h"

TEST(a_failure_is_passed_on_with_its_first_message) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *wrong = tsr_reshape(tsr_zeros(device, TSR_F32, TSR_SHAPE(4)), TSR_SHAPE(5));
  tsr_tensor *after = tsr_to(tsr_contiguous(tsr_flip(tsr_squeeze_all(wrong), 7)), device);
  tsr_clear_error();
  CHECK_STATUS(tsr_error(after), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("reshape: [4] has 4 elements, [5] has 5");
  float values[4];
  CHECK_STATUS(tsr_read(after, values, sizeof values), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_write(after, values, sizeof values), TSR_ERR_SHAPE);
  CHECK_EQ_INT(tsr_tensor_count(after), 0);
  CHECK_EQ_INT(tsr_tensor_shape(after).rank, 0);
  CHECK(tsr_tensor_device(after) == NULL);
  CHECK(!tsr_tensor_is_contiguous(after));
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(null_is_answered_and_never_followed) {
  CHECK_STATUS(tsr_error(NULL), TSR_ERR_INVALID_ARGUMENT);
  tsr_tensor *made[] = {tsr_reshape(NULL, TSR_SHAPE(1)),
                        tsr_transpose(NULL, 0, 1),
                        tsr_permute(NULL, NULL, 0),
                        tsr_slice(NULL, 0, 0, 1, 1),
                        tsr_expand(NULL, TSR_SHAPE(1)),
                        tsr_squeeze(NULL, 0),
                        tsr_unsqueeze(NULL, 0),
                        tsr_squeeze_all(NULL),
                        tsr_flip(NULL, 0),
                        tsr_contiguous(NULL),
                        tsr_to(NULL, NULL),
                        tsr_zeros(NULL, TSR_F32, TSR_SCALAR),
                        tsr_from_data(NULL, TSR_F32, TSR_SCALAR, NULL, 4),
                        tsr_arange(NULL, TSR_F32, 0, 1, 1),
                        tsr_eye(NULL, TSR_F32, 2, 2, 0)};
  for (size_t i = 0; i < sizeof made / sizeof made[0]; i++) {
    CHECK_STATUS(tsr_error(made[i]), TSR_ERR_INVALID_ARGUMENT);
    CHECK_LAST_ERROR_HAS("is NULL");
    tsr_release(made[i]);
  }
  CHECK(tsr_retain(NULL) == NULL);
  tsr_release(NULL);
  CHECK_EQ_INT(tsr_tensor_count(NULL), 0);
  CHECK_EQ_INT(tsr_tensor_stride(NULL, 0), 0);
  CHECK_STATUS(tsr_read(NULL, NULL, 0), TSR_ERR_INVALID_ARGUMENT);
}

TEST(wrong_dtypes_sizes_and_byte_counts_say_what_is_allowed) {
  tsr_device *device = test_open("cpu");
  tsr_scope *scope = tsr_scope_begin(device);
  float values[6] = {0};
  CHECK_STATUS(tsr_error(tsr_zeros(device, (tsr_dtype)77, TSR_SHAPE(1))), TSR_ERR_DTYPE);
  CHECK_LAST_ERROR_HAS("zeros: 77 is no dtype; 0 to 14 are, and the packed ones, 64 and 65");
  CHECK_STATUS(tsr_error(tsr_zeros(device, TSR_F32, TSR_SHAPE(2, -3))), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_error(tsr_zeros(device, TSR_F64, TSR_SHAPE(1LL << 40, 1LL << 40))), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_error(tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 3), values, 20)), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("20 bytes given, 2x3 of f32 are 24");
  CHECK_STATUS(tsr_error(tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 3), NULL, 24)), TSR_ERR_INVALID_ARGUMENT);
  tsr_tensor *good = tsr_from_data(device, TSR_F32, TSR_SHAPE(2, 3), values, 24);
  CHECK_STATUS(tsr_read(good, values, 23), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_read(good, NULL, 24), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_write(good, values, 25), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_error(tsr_arange(device, TSR_F32, 0, 1, 0)), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_error(tsr_arange(device, TSR_F32, 0, 1e300, 1e-300)), TSR_ERR_SHAPE);
  CHECK_STATUS(tsr_error(tsr_eye(device, TSR_F32, -1, 4, 0)), TSR_ERR_SHAPE);
  CHECK_OK(tsr_scope_end(scope));
  tsr_device_release(device);
}

TEST(use_after_release_is_a_status_in_debug_builds) {
#ifdef NDEBUG
  SKIP("release builds do not keep released objects aside to notice this");
#else
  tsr_device *device = test_open("cpu");
  tsr_tensor *tensor = tsr_ones(device, TSR_F32, TSR_SHAPE(4));
  tsr_release(tensor);
  CHECK_STATUS(tsr_error(tensor), TSR_ERR_RELEASED);
  CHECK_LAST_ERROR_HAS("was released before this call");
  tsr_tensor *view = tsr_flip(tensor, 0);
  CHECK_STATUS(tsr_error(view), TSR_ERR_RELEASED);
  tsr_release(view);
  tsr_release(tensor);  // a second release is detected and logged, and does no harm
  tsr_buffer *buffer = NULL;
  CHECK_OK(tsr_buffer_create(device, 16, 0, &buffer));
  tsr_buffer_release(buffer);
  CHECK_STATUS(tsr_buffer_upload(buffer, 0, "x", 1), TSR_ERR_RELEASED);
  tsr_device_release(device);
  CHECK_STATUS(tsr_device_synchronize(device), TSR_ERR_RELEASED);
#endif
}

TEST(without_host_memory_even_for_a_failure_one_stands_ready) {
  tsr_device *device = test_open("cpu");
  tsri_alloc_fail_at(1, true);
  tsr_tensor *a = tsr_ones(device, TSR_F32, TSR_SHAPE(4)), *b = tsr_retain(a);
  tsri_alloc_fail_at(0, false);
  CHECK_STATUS(tsr_error(a), TSR_ERR_OUT_OF_MEMORY);
  tsr_release(a);
  tsr_release(b);
  tsr_release(b);
  CHECK_STATUS(tsr_error(b), TSR_ERR_OUT_OF_MEMORY);
  tsr_device_release(device);
}

TEST(a_failed_tensor_remembers_where_it_failed) {
  TSRI_FAIL(TSR_ERR_SHAPE, "reshape: sizes differ");
  char place[64];
  snprintf(place, sizeof place, "%s", tsr_last_error_place());
  CHECK_STR_HAS(place, "tensor_test.c:");
  tsr_tensor *first = tsri_tensor_fail(TSR_ERR_SHAPE);
  TSRI_FAIL(TSR_ERR_DTYPE, "something else, elsewhere");
  CHECK(strcmp(place, tsr_last_error_place()) != 0);
  CHECK_STATUS(tsr_error(first), TSR_ERR_SHAPE);
  CHECK_STR(tsr_last_error(), "reshape: sizes differ");
  CHECK_STR(tsr_last_error_place(), place);

  tsr_clear_error();  // tensors made from it fail with the same error
  CHECK_STATUS(tsri_tensor_check("neg", first), TSR_ERR_SHAPE);
  tsr_tensor *second = tsri_tensor_fail(TSR_ERR_SHAPE);
  tsr_clear_error();
  CHECK_STATUS(tsr_error(second), TSR_ERR_SHAPE);
  CHECK_STR(tsr_last_error_place(), place);
  tsr_release(second);
  tsr_release(first);
}
