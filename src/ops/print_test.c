// SPDX-License-Identifier: MIT
// Printed tensors: brackets, lines, axes that are cut, and the last line. tests/interop/print_numpy_test.py compares
// thousands with NumPy.
#include <tessera/tessera.h>

#include "core/alloc.h"
#include "support/test.h"

static tsr_device *open_cpu(void) {
  tsr_device *device = NULL;
  CHECK_OK(tsr_device_open(&(tsr_device_desc){.backend = "cpu"}, &device));
  return device;
}

// A tensor with elements 0, 1, 2, …, which the caller releases.
static tsr_tensor *counting(tsr_device *device, tsr_dtype dtype, tsr_shape shape) {
  static double numbers[4096];
  static unsigned char data[sizeof numbers];
  size_t count = 1;
  for (int i = 0; i < shape.rank; i++) count *= (size_t)shape.dims[i];
  for (size_t i = 0; i < count; i++) numbers[i] = (double)i;
  CHECK_OK(tsr_convert(dtype, data, TSR_F64, numbers, count));
  tsr_tensor *tensor = tsr_from_data(device, dtype, shape, data, count * tsr_dtype_bytes(dtype));
  CHECK_OK(tsr_error(tensor));
  return tensor;
}

// Takes over and releases `tensor`.
static void check_printed(tsr_tensor *tensor, const char *wanted) {
  static char text[8192];
  size_t bytes = 0;
  CHECK_OK(tsr_format(tensor, text, sizeof text, &bytes));
  CHECK_STR(text, wanted);
  CHECK_EQ_INT(bytes, strlen(wanted) + 1);
  tsr_release(tensor);
}

TEST(small_tensors_print_whole) {
  tsr_device *device = open_cpu();
  check_printed(counting(device, TSR_F32, TSR_SHAPE(3, 4)),
                "[[ 0.  1.  2.  3.]\n"
                " [ 4.  5.  6.  7.]\n"
                " [ 8.  9. 10. 11.]]\n"
                "f32 3x4 on cpu\n");
  check_printed(counting(device, TSR_I64, TSR_SHAPE(2, 2, 2)),
                "[[[0 1]\n"
                "  [2 3]]\n"
                "\n"
                " [[4 5]\n"
                "  [6 7]]]\n"
                "i64 2x2x2 on cpu\n");
  check_printed(counting(device, TSR_BOOL, TSR_SHAPE(2, 1)), "[[False]\n [ True]]\nbool 2x1 on cpu\n");
  tsr_device_release(device);
}

TEST(scalars_and_empty_tensors_print_on_one_line) {
  tsr_device *device = open_cpu();
  const double third = 1.0 / 3;
  check_printed(tsr_from_data(device, TSR_F64, TSR_SCALAR, &third, sizeof third),
                "0.3333333333333333\nf64 scalar on cpu\n");
  check_printed(tsr_from_data(device, TSR_F16, TSR_SHAPE(0), NULL, 0), "[]\nf16 [0] on cpu\n");
  check_printed(tsr_from_data(device, TSR_BF16, TSR_SHAPE(3, 0, 2), NULL, 0), "[]\nbf16 3x0x2 on cpu\n");
  tsr_device_release(device);
}

TEST(long_rows_wrap_at_75_characters) {
  tsr_device *device = open_cpu();
  check_printed(counting(device, TSR_I32, TSR_SHAPE(40)),
                "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
                " 24 25 26 27 28 29 30 31 32 33 34 35 36 37 38 39]\n"
                "i32 [40] on cpu\n");
  const double quarters[] = {100, 100.25, 100.5, 100.75, 101, 101.25, 101.5, 101.75,
                             102, 102.25, 102.5, 102.75, 103, 103.25, 103.5, 103.75};
  check_printed(tsr_from_data(device, TSR_F64, TSR_SHAPE(16), quarters, sizeof quarters),
                "[100.   100.25 100.5  100.75 101.   101.25 101.5  101.75 102.   102.25\n"
                " 102.5  102.75 103.   103.25 103.5  103.75]\n"
                "f64 [16] on cpu\n");
  tsr_device_release(device);
}

TEST(more_than_1000_elements_are_cut_to_the_edges) {
  tsr_device *device = open_cpu();
  check_printed(counting(device, TSR_I32, TSR_SHAPE(1001)), "[   0    1    2 ...  998  999 1000]\ni32 [1001] on cpu\n");
  check_printed(counting(device, TSR_I32, TSR_SHAPE(30, 40)),
                "[[   0    1    2 ...   37   38   39]\n"
                " [  40   41   42 ...   77   78   79]\n"
                " [  80   81   82 ...  117  118  119]\n"
                " ...\n"
                " [1080 1081 1082 ... 1117 1118 1119]\n"
                " [1120 1121 1122 ... 1157 1158 1159]\n"
                " [1160 1161 1162 ... 1197 1198 1199]]\n"
                "i32 30x40 on cpu\n");
  check_printed(counting(device, TSR_I32, TSR_SHAPE(2, 1, 600)),
                "[[[   0    1    2 ...  597  598  599]]\n"
                "\n"
                " [[ 600  601  602 ... 1197 1198 1199]]]\n"
                "i32 2x1x600 on cpu\n");
  tsr_device_release(device);
}

// These shapes are larger than any memory: they can be printed only if nothing but the edges is read.
TEST(a_tensor_larger_than_memory_prints_its_edges) {
  tsr_device *device = open_cpu();
  const float seven = 7;
  tsr_tensor *one = tsr_from_data(device, TSR_F32, TSR_SCALAR, &seven, sizeof seven);
  check_printed(tsr_expand(one, TSR_SHAPE(INT64_C(1) << 25, INT64_C(1) << 25)),
                "[[7. 7. 7. ... 7. 7. 7.]\n"
                " [7. 7. 7. ... 7. 7. 7.]\n"
                " [7. 7. 7. ... 7. 7. 7.]\n"
                " ...\n"
                " [7. 7. 7. ... 7. 7. 7.]\n"
                " [7. 7. 7. ... 7. 7. 7.]\n"
                " [7. 7. 7. ... 7. 7. 7.]]\n"
                "f32 33554432x33554432 on cpu\n");
  tsr_release(one);
  tsr_device_release(device);
}

TEST(a_failed_tensor_prints_its_error) {
  tsr_device *device = open_cpu();
  const float numbers[2] = {0};
  tsr_tensor *failed = tsr_from_data(device, TSR_F32, TSR_SHAPE(3), numbers, sizeof numbers);
  CHECK_STATUS(tsr_error(failed), TSR_ERR_SHAPE);
  char wanted[512];
  snprintf(wanted, sizeof wanted, "failed tensor: %s\n", tsr_last_error());
  check_printed(failed, wanted);
  tsr_device_release(device);
}

TEST(format_cuts_and_says_how_much_was_needed) {
  tsr_device *device = open_cpu();
  tsr_tensor *tensor = counting(device, TSR_I32, TSR_SHAPE(3));
  const char *whole = "[0 1 2]\ni32 [3] on cpu\n";
  size_t bytes = 0;
  CHECK_OK(tsr_format(tensor, NULL, 0, &bytes));
  CHECK_EQ_INT(bytes, strlen(whole) + 1);
  for (size_t room = 1; room <= bytes; room++) {
    char text[64];
    memset(text, 'x', sizeof text);
    CHECK_OK(tsr_format(tensor, text, room, NULL));
    CHECK_EQ_INT(strlen(text), room - 1);
    CHECK_BYTES(text, whole, room - 1);
    CHECK_EQ_INT(text[room], 'x');
  }
  tsr_release(tensor);
  tsr_device_release(device);
}

TEST(print_refuses_null_by_name) {
  char text[8] = "before";
  size_t bytes = 1;
  CHECK_STATUS(tsr_print(NULL, stderr), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("print: tensor is NULL");
  CHECK_STATUS(tsr_format(NULL, text, sizeof text, &bytes), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("format: tensor is NULL");
  CHECK_STR(text, "");
  CHECK_EQ_INT(bytes, 0);
  CHECK_STATUS(tsr_format(NULL, NULL, 5, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_LAST_ERROR_HAS("text is NULL with 5 bytes");
}

TEST(print_writes_what_format_gives) {
  tsr_device *device = open_cpu();
  tsr_tensor *tensor = counting(device, TSR_U8, TSR_SHAPE(2, 3));
  char formatted[128], printed[128];
  CHECK_OK(tsr_format(tensor, formatted, sizeof formatted, NULL));
  FILE *file = tmpfile();
  CHECK(file != NULL);
  CHECK_OK(tsr_print(tensor, file));
  rewind(file);
  printed[fread(printed, 1, sizeof printed - 1, file)] = 0;
  fclose(file);
  CHECK_STR(printed, formatted);
  tsr_release(tensor);
  tsr_device_release(device);
}

TEST(a_file_that_cannot_be_written_is_reported) {
  tsr_device *device = open_cpu();
  tsr_tensor *tensor = counting(device, TSR_U8, TSR_SHAPE(3));
  FILE *file = fopen("/dev/null", "r");
  CHECK(file != NULL);
  CHECK_STATUS(tsr_print(tensor, file), TSR_ERR_IO);
  CHECK_LAST_ERROR_HAS("only 0 of 22 bytes could be written");
  fclose(file);
  tsr_release(tensor);
  tsr_device_release(device);
}

// Every allocation fails once: the status is right, the text is empty, and (checked by a sanitizer) nothing leaks.
TEST(lack_of_memory_while_printing_is_a_status) {
  tsr_device *device = open_cpu();
  tsr_tensor *tensor = counting(device, TSR_F32, TSR_SHAPE(30, 40));
  static char text[4096];
  tsri_alloc_fail_at(UINT64_MAX, false);
  CHECK_OK(tsr_format(tensor, text, sizeof text, NULL));
  uint64_t requests = tsri_alloc_fail_at(0, false);
  CHECK(requests > 0);
  for (uint64_t nth = 1; nth <= requests; nth++) {
    tsri_alloc_fail_at(nth, false);
    tsr_status status = tsr_format(tensor, text, sizeof text, NULL);
    tsri_alloc_fail_at(0, false);
    CHECK_STATUS(status, TSR_ERR_OUT_OF_MEMORY);
    CHECK_STR(text, "");
  }
  tsr_release(tensor);
  tsr_device_release(device);
}

TEST(printing_inside_a_scope_leaves_nothing_in_it) {
  tsr_device *device = open_cpu();
  tsr_scope *scope = tsr_scope_begin(device);
  tsr_tensor *tensor = counting(device, TSR_F32, TSR_SHAPE(30, 40));
  static char inside[4096], outside[4096];
  CHECK_OK(tsr_format(tensor, inside, sizeof inside, NULL));
  tsr_tensor *kept = tsr_retain(tensor);
  CHECK_OK(tsr_scope_end(scope));
  CHECK_OK(tsr_format(kept, outside, sizeof outside, NULL));
  CHECK_STR(outside, inside);
  tsr_release(kept);
  tsr_device_release(device);
}

static void check_elements(tsr_tensor *tensor, int indent, bool has_commas, const char *wanted) {
  char text[1024];
  size_t bytes = 0;
  CHECK_OK(tsr_format_elements(tensor, indent, has_commas, text, sizeof text, &bytes));
  CHECK_STR(text, wanted);
  CHECK_EQ_INT(bytes, strlen(wanted) + 1);
  tsr_release(tensor);
}

TEST(elements_alone_are_laid_out_like_str_and_repr) {
  tsr_device *device = open_cpu();
  check_elements(counting(device, TSR_F32, TSR_SHAPE(2, 2)), 0, false, "[[0. 1.]\n [2. 3.]]");
  check_elements(counting(device, TSR_F32, TSR_SHAPE(2, 2)), 6, true, "[[0., 1.],\n       [2., 3.]]");
  check_elements(counting(device, TSR_F32, TSR_SCALAR), 0, false, "0.0");
  check_elements(counting(device, TSR_F32, TSR_SCALAR), 6, true, "0.");
  check_elements(tsr_ones(device, TSR_BOOL, TSR_SCALAR), 6, true, "True");
  check_elements(counting(device, TSR_I64, TSR_SHAPE(20)), 6, true,
                 "[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16,\n"
                 "       17, 18, 19]");
  tsr_device_release(device);
}

TEST(elements_of_failed_tensors_and_wide_indents_are_refused) {
  tsr_device *device = open_cpu();
  tsr_tensor *tensor = counting(device, TSR_F32, TSR_SHAPE(2)), *failed = tsr_reshape(tensor, TSR_SHAPE(3));
  size_t bytes = 1;
  CHECK_STATUS(tsr_format_elements(failed, 0, false, NULL, 0, &bytes), TSR_ERR_SHAPE);
  CHECK_EQ_INT(bytes, 0);
  CHECK_STATUS(tsr_format_elements(tensor, -1, false, NULL, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_format_elements(tensor, 41, false, NULL, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsr_format_elements(NULL, 0, false, NULL, 0, NULL), TSR_ERR_INVALID_ARGUMENT);
  tsr_release(failed);
  tsr_release(tensor);
  tsr_device_release(device);
}
