// SPDX-License-Identifier: MIT
// The arguments of `tessera kernel run`: numbers for scalars, a short notation for buffers.
#include "kernel_arg.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "file.h"
#include "image.h"
#include "report.h"
#include "text.h"

#define ALLOWED_BUFFER   "[DTYPE:]SHAPE=CONTENTS, such as f32:4x3=arange, or @FILE"
#define ALLOWED_CONTENTS "zeros, ones, arange, rand, rand:SEED, numbers separated by commas, @FILE, or out"

enum { MOST_ELEMENT_BYTES = 8 };

// Limit for a pipe or a device, which may be endless, if no shape says how many bytes are wanted.
#define MOST_STREAM_BYTES ((size_t)1 << 30)

TEXT_FORMAT(2, 3)
static bool wrong(char *message, const char *format, ...) {
  va_list values;
  va_start(values, format);
  vsnprintf(message, KERNEL_ARG_MESSAGE_BYTES, format, values);
  va_end(values);
  return false;
}

static bool is_integer(tsr_dtype dtype) { return tsr_dtype_kind_of(dtype) != TSR_KIND_FLOAT; }

// --- Numbers --------------------------------------------------------------------------------------------------------

static bool parse_integer(const char *text, tsr_dtype dtype, int64_t *out_value, char *message) {
  if (dtype == TSR_BOOL && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)) {
    *out_value = text[0] == 't';
    return true;
  }
  const char *digits = text + (text[0] == '-' || text[0] == '+');
  bool is_hex = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
  char *end = NULL;
  errno = 0;
  *out_value = strtoll(text, &end, is_hex ? 16 : 10);
  bool is_number = isdigit((unsigned char)digits[0]) && *end == '\0';
  if (!is_number) return wrong(message, "takes a whole number, not '%s'", text);
  if (errno == ERANGE) return wrong(message, "'%s' is too large", text);
  return true;
}

static bool parse_real(const char *text, double *out_value, char *message) {
  char *end = NULL;
  *out_value = strtod(text, &end);
  bool is_number = text[0] != '\0' && !isspace((unsigned char)text[0]) && *end == '\0';
  return is_number || wrong(message, "takes a number, not '%s'", text);
}

static bool parse_scalar(const char *text, kernel_arg *arg, char *message) {
  int64_t integer = 0;
  double real = 0;
  if (is_integer(arg->param.dtype)) {
    if (!parse_integer(text, arg->param.dtype, &integer, message)) return false;
    arg->value = tsr_arg_int(integer);
  } else {
    if (!parse_real(text, &real, message)) return false;
    arg->value = tsr_arg_float(real);
  }
  return true;
}

// Reads one element of a list; an integer must fit exactly.
static bool put_number(const char *text, tsr_dtype dtype, void *to, char *message) {
  int64_t integer = 0, back = 0;
  double real = 0;
  if (!is_integer(dtype)) {
    return parse_real(text, &real, message) && tsr_convert(dtype, to, TSR_F64, &real, 1) == TSR_OK;
  }
  if (!parse_integer(text, dtype, &integer, message)) return false;
  tsr_convert(dtype, to, TSR_I64, &integer, 1);
  tsr_convert(TSR_I64, &back, dtype, to, 1);
  return back == integer || wrong(message, "'%s' does not fit %s", text, tsr_dtype_name(dtype));
}

// --- Contents -------------------------------------------------------------------------------------------------------

static size_t count_of(const kernel_arg *arg) { return arg->bytes / tsr_dtype_bytes(arg->param.dtype); }

static void put_real(kernel_arg *arg, size_t index, double value) {
  char *to = (char *)arg->data + index * tsr_dtype_bytes(arg->param.dtype);
  tsr_convert(arg->param.dtype, to, TSR_F64, &value, 1);
}

// splitmix64: the same seed gives the same numbers everywhere.
static uint64_t next_random(uint64_t *state) {
  uint64_t z = *state += 0x9E3779B97F4A7C15u;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
  z = (z ^ z >> 27) * 0x94D049BB133111EBu;
  return z ^ z >> 31;
}

// Fills with floats from 0 to below 1, integers from 0 to 99, or truth values.
static bool fill_random(kernel_arg *arg, const char *seed, char *message) {
  int64_t state = 0;
  if (seed && !parse_integer(seed, TSR_I64, &state, message)) return false;
  uint64_t bits = (uint64_t)state;
  tsr_dtype_kind kind = tsr_dtype_kind_of(arg->param.dtype);
  for (size_t i = 0; i < count_of(arg); i++) {
    double unit = (double)(next_random(&bits) >> 40) * 0x1p-24;
    put_real(arg, i, kind == TSR_KIND_FLOAT ? unit : kind == TSR_KIND_BOOL ? unit >= 0.5 : (double)(int)(unit * 100));
  }
  return true;
}

static bool fill_numbers(kernel_arg *arg, const char *text, char *message) {
  size_t count = count_of(arg), element = tsr_dtype_bytes(arg->param.dtype), given = 0;
  char number[64], spare[MOST_ELEMENT_BYTES] = {0};
  for (const char *at = text; at; given++) {
    size_t length = strcspn(at, ",");
    snprintf(number, sizeof number, "%.*s", (int)(length < sizeof number ? length : sizeof number - 1), at);
    char *to = given < count ? (char *)arg->data + given * element : spare;
    if (!put_number(number, arg->param.dtype, to, message)) return false;
    at = at[length] ? at + length + 1 : NULL;
  }
  for (size_t i = 1; given == 1 && i < count; i++) memcpy((char *)arg->data + i * element, arg->data, element);
  if (given == count || given == 1) return true;
  return wrong(message, "%zu numbers for %zu elements; give one for each, or one for all", given, count);
}

static bool fill_from_file(kernel_arg *arg, const char *path, char *message) {
  size_t bytes = 0;
  free(arg->data);
  arg->data = file_read(path, arg->bytes, &bytes);
  message[0] = '\0';
  if (!arg->data) return false;
  if (bytes == arg->bytes) return true;
  return wrong(message, "%s has %zu bytes, %zu elements of %s are %zu", path, bytes, count_of(arg),
               tsr_dtype_name(arg->param.dtype), arg->bytes);
}

// Whether the text begins with letters that cannot begin a number of this dtype.
static bool is_word(const char *text, tsr_dtype dtype) {
  bool is_number = dtype == TSR_BOOL
                       ? text[0] == 't' || text[0] == 'f'
                       : !is_integer(dtype) && (strncmp(text, "inf", 3) == 0 || strncmp(text, "nan", 3) == 0);
  return isalpha((unsigned char)text[0]) && !is_number;
}

static bool fill(kernel_arg *arg, const char *contents, char *message) {
  bool is_out = strcmp(contents, "out") == 0;
  if (is_out && arg->param.access != TSR_ACCESS_OUT) return wrong(message, "is read, so 'out' is not enough for it");
  if (is_out || strcmp(contents, "zeros") == 0) return true;  // the memory is already zero
  if (contents[0] == '@') return fill_from_file(arg, contents + 1, message);
  if (strcmp(contents, "rand") == 0) return fill_random(arg, NULL, message);
  if (strncmp(contents, "rand:", 5) == 0) return fill_random(arg, contents + 5, message);
  bool is_range = strcmp(contents, "arange") == 0;
  if (is_range || strcmp(contents, "ones") == 0) {
    for (size_t i = 0; i < count_of(arg); i++) put_real(arg, i, is_range ? (double)i : 1);
    return true;
  }
  if (is_word(contents, arg->param.dtype)) {
    return wrong(message, "'%s' is no contents; allowed: " ALLOWED_CONTENTS, contents);
  }
  return fill_numbers(arg, contents, message);
}

// --- Shape and dtype ------------------------------------------------------------------------------------------------

static bool parse_shape(const char *text, tsr_shape *out_shape, char *message) {
  *out_shape = (tsr_shape){0};
  const char *at = text;
  bool is_good = *at != '\0';
  while (is_good && *at) {
    char *end = NULL;
    errno = 0;
    long long size = isdigit((unsigned char)*at) ? strtoll(at, &end, 10) : -1;
    is_good = size >= 0 && errno == 0 && out_shape->rank < TSR_MAX_RANK && (*end == '\0' || (*end == 'x' && end[1]));
    if (!is_good) break;
    out_shape->dims[out_shape->rank++] = size;
    at = *end ? end + 1 : end;
  }
  return is_good || wrong(message, "'%s' is no shape; write up to %d sizes such as 16 or 4x3", text, TSR_MAX_RANK);
}

static bool check_dtype(const char *name, const kernel_arg *arg, char *message) {
  tsr_dtype dtype = arg->param.dtype;
  if (tsr_dtype_parse(name, &dtype) != TSR_OK) return wrong(message, "%s", tsr_last_error());
  return dtype == arg->param.dtype || wrong(message, "is %s, not %s", tsr_dtype_name(arg->param.dtype), name);
}

// Allocates zeroed memory for the shape.
static bool reserve(kernel_arg *arg, char *message) {
  int64_t count = 0;
  size_t element = tsr_dtype_bytes(arg->param.dtype);
  if (tsr_shape_count(arg->shape, &count) != TSR_OK) return wrong(message, "%s", tsr_last_error());
  bool is_countable = (uint64_t)count <= SIZE_MAX / element;
  arg->bytes = is_countable ? (size_t)count * element : 0;
  arg->data = is_countable ? calloc(arg->bytes ? arg->bytes : 1, 1) : NULL;
  return arg->data || wrong(message, "there is no memory for %lld elements of %s", (long long)count,
                            tsr_dtype_name(arg->param.dtype));
}

// Reads a file without a shape: as many elements as it has.
static bool parse_file(const char *path, kernel_arg *arg, char *message) {
  size_t element = tsr_dtype_bytes(arg->param.dtype);
  message[0] = '\0';
  arg->data = file_read(path, file_is_regular(path) ? SIZE_MAX : MOST_STREAM_BYTES, &arg->bytes);
  if (!arg->data) return false;
  if (arg->bytes % element != 0) {
    return wrong(message, "%s has %zu bytes, which is no number of %s", path, arg->bytes,
                 tsr_dtype_name(arg->param.dtype));
  }
  arg->shape = TSR_SHAPE((int64_t)(arg->bytes / element));
  return true;
}

// --- Output files ---------------------------------------------------------------------------------------------------

// The number of channels if the buffer holds an image: u8 of HEIGHTxWIDTH or HEIGHTxWIDTHx3. 0: it does not.
static int channels_of(const kernel_arg *arg) {
  const tsr_shape *shape = &arg->shape;
  if (arg->param.dtype != TSR_U8) return 0;
  if (shape->rank == 2) return 1;
  return shape->rank == 3 && shape->dims[2] == 3 ? 3 : 0;
}

static bool check_output(const kernel_arg *arg, char *message) {
  if (arg->param.access == TSR_ACCESS_IN) return wrong(message, "is only read: there is nothing to write to a file");
  if (arg->output[0] == '\0') return wrong(message, "'>' needs the name of a file");
  int channels = channels_of(arg);
  if (!image_is_name(arg->output) || image_takes(arg->output, channels)) return true;
  const char *ending = strrchr(arg->output, '.');
  const char *shapes = image_takes(arg->output, 1) ? "HEIGHTxWIDTH" : "HEIGHTxWIDTHx3";
  bool takes_both = image_takes(arg->output, 1) && image_takes(arg->output, 3);
  char text[TSR_SHAPE_TEXT_BYTES];
  return wrong(message, "%s takes u8 of shape %s%s, this is %s of %s", ending, shapes,
               takes_both ? " or HEIGHTxWIDTHx3" : "", tsr_dtype_name(arg->param.dtype),
               tsr_shape_format(arg->shape, text, sizeof text));
}

static bool parse_parts(char *text, kernel_arg *arg, char *message) {
  char *equals = strchr(text, '='), *shape = text;
  if (equals) *equals = '\0';
  char *colon = strchr(text, ':');
  if (colon) {
    *colon = '\0';
    shape = colon + 1;
    if (!check_dtype(text, arg, message)) return false;
  }
  if (!parse_shape(shape, &arg->shape, message)) return false;
  if (!equals && arg->param.access != TSR_ACCESS_OUT) {
    return wrong(message, "is read and needs its contents: " ALLOWED_BUFFER);
  }
  return reserve(arg, message) && (!equals || fill(arg, equals + 1, message));
}

static bool parse_buffer(const char *text, kernel_arg *arg, char *message) {
  const char *output = strchr(text, '>');
  size_t length = output ? (size_t)(output - text) : strlen(text);
  char *copy = malloc(length + 1);
  if (!copy) return wrong(message, "out of memory");
  memcpy(copy, text, length);
  copy[length] = '\0';
  bool is_good = copy[0] == '@' ? parse_file(copy + 1, arg, message) : parse_parts(copy, arg, message);
  free(copy);
  arg->output = output ? output + 1 : NULL;
  return is_good && (!output || check_output(arg, message));
}

bool kernel_arg_parse(const char *text, const tsr_kernel_param *param, kernel_arg *out_arg, char *message) {
  *out_arg = (kernel_arg){.param = *param};
  return param->access == TSR_ACCESS_NONE ? parse_scalar(text, out_arg, message) : parse_buffer(text, out_arg, message);
}

void kernel_arg_deinit(kernel_arg *arg) {
  tsr_release(arg->value.tensor);
  free(arg->data);
  *arg = (kernel_arg){0};
}

void kernel_arg_describe(const tsr_kernel_param *param, char *text, size_t text_bytes) {
  static const char *const words[] = {"", "in ", "out ", "inout "};
  snprintf(text, text_bytes, "%s%s %s%s", words[param->access], tsr_dtype_name(param->dtype), param->name,
           param->access == TSR_ACCESS_NONE ? "" : "[]");
}

bool kernel_arg_upload(kernel_arg *arg, tsr_device *device) {
  if (arg->param.access == TSR_ACCESS_NONE) return true;
  arg->value = tsr_arg_tensor(tsr_from_data(device, arg->param.dtype, arg->shape, arg->data, arg->bytes));
  return tsr_error(arg->value.tensor) == TSR_OK;
}

// --- Afterwards -----------------------------------------------------------------------------------------------------

static int write_output(const kernel_arg *arg) {
  if (tsr_read(arg->value.tensor, arg->data, arg->bytes) != TSR_OK) return report_error();
  bool is_written = false;
  if (image_is_name(arg->output)) {
    image_data picture = {arg->data, (size_t)arg->shape.dims[1], (size_t)arg->shape.dims[0], channels_of(arg)};
    is_written = image_write(arg->output, &picture);
  } else {
    is_written = file_write(arg->output, "", 0, arg->data, arg->bytes);
  }
  return is_written ? EXIT_DONE : EXIT_ERROR;
}

int kernel_arg_show(const kernel_arg *arg) {
  if (arg->param.access != TSR_ACCESS_OUT && arg->param.access != TSR_ACCESS_INOUT) return EXIT_DONE;
  if (arg->output) return write_output(arg);
  printf("%s:\n", arg->param.name);
  return tsr_print(arg->value.tensor, stdout) == TSR_OK ? EXIT_DONE : report_error();
}
