// SPDX-License-Identifier: MIT
// Printing tensors: the elements laid out like NumPy's str(), and a line with dtype, shape and device.
//
// print_shown.c reads the elements that are shown, print_number.c formats single elements; this file writes brackets
// and lines.
#include <string.h>
#include <tessera/ops.h>

#include "core/alloc.h"
#include "core/builder.h"
#include "core/dtype.h"
#include "core/error.h"
#include "ops/print_number.h"
#include "ops/print_shown.h"

enum { LINE_WIDTH = 75 };

typedef struct layout {
  const tsri_shown *shown;
  tsri_number_format format;
  tsri_builder *text;
  size_t column;  // characters on the present line so far
} layout;

static void put_word(tsri_builder *text, const char *word) { tsri_builder_put(text, word, strlen(word)); }

// Removes trailing spaces.
static void trim(tsri_builder *text) {
  while (text->bytes > 0 && text->text[text->bytes - 1] == ' ') text->text[--text->bytes] = 0;
}

static const void *element_at(const layout *l, size_t index) {
  return l->shown->data + index * tsr_dtype_bytes(l->shown->dtype);
}

// Starts a new line if the word would not leave room for the closing brackets, unless it is the first word of its line.
static void put_in_row(layout *l, const char *word, size_t length) {
  size_t indent = (size_t)l->shown->shape.rank;  // one column per opening bracket
  if (l->column + length > LINE_WIDTH - indent && l->column > indent) {
    trim(l->text);
    put_word(l->text, "\n");
    tsri_builder_repeat(l->text, ' ', indent);
    l->column = indent;
  }
  tsri_builder_put(l->text, word, length);
  l->column += length;
}

static void put_gap(layout *l) {
  put_word(l->text, " ");
  l->column++;
}

static void put_row(layout *l, size_t first) {
  int axis = l->shown->shape.rank - 1;
  l->column = (size_t)l->shown->shape.rank;
  for (int64_t i = 0; i < l->shown->shape.dims[axis]; i++) {
    char number[TSRI_NUMBER_BYTES];
    if (i > 0) put_gap(l);
    if (i == TSRI_SHOWN_EDGE && l->shown->is_cut[axis]) {
      put_in_row(l, "...", 3);
      put_gap(l);
    }
    int length = tsri_number_write(&l->format, element_at(l, first + (size_t)i), number);
    put_in_row(l, number, (size_t)length);
  }
}

// Separates the items of an axis, with more blank lines the more axes there are inside it.
static void put_item_break(layout *l, int axis) {
  tsri_builder_repeat(l->text, '\n', (size_t)(l->shown->shape.rank - axis - 1));
  tsri_builder_repeat(l->text, ' ', (size_t)axis + 1);
}

// Writes the `count` elements from number `first` on, which are all elements inside this axis.
static void put_axis(layout *l, int axis, size_t first, size_t count) {
  const tsr_shape *shape = &l->shown->shape;
  put_word(l->text, "[");
  if (axis == shape->rank - 1) {
    put_row(l, first);
  } else {
    size_t inner = count / (size_t)shape->dims[axis];
    for (int64_t i = 0; i < shape->dims[axis]; i++) {
      if (i > 0) put_item_break(l, axis);
      if (i == TSRI_SHOWN_EDGE && l->shown->is_cut[axis]) {
        put_word(l->text, "...");
        put_item_break(l, axis);
      }
      put_axis(l, axis + 1, first + (size_t)i * inner, inner);
    }
  }
  put_word(l->text, "]");
}

static void put_elements(tsri_builder *text, const tsri_shown *shown) {
  if (shown->count == 0) {
    put_word(text, "[]");
    return;
  }
  if (shown->shape.rank == 0) {
    char number[TSRI_NUMBER_BYTES];
    int length = tsri_number_write_alone(shown->dtype, shown->data, number);
    tsri_builder_put(text, number, (size_t)length);
    return;
  }
  layout l = {.shown = shown, .text = text};
  tsri_number_format_init(&l.format, shown->dtype, shown->data, shown->count);
  put_axis(&l, 0, 0, shown->count);
}

// Writes "f32 4x3 on cpu".
static void put_facts(tsri_builder *text, const tsr_tensor *tensor) {
  char shape[TSR_SHAPE_TEXT_BYTES];
  put_word(text, tsr_dtype_name(tsr_tensor_dtype(tensor)));
  put_word(text, " ");
  put_word(text, tsr_shape_format(tsr_tensor_shape(tensor), shape, sizeof shape));
  put_word(text, " on ");
  put_word(text, tsr_device_backend(tsr_tensor_device(tensor)));
}

static tsr_status put_tensor(tsri_builder *text, tsr_tensor *tensor) {
  if (tsr_error(tensor) != TSR_OK) {
    put_word(text, "failed tensor: ");
    put_word(text, tsr_last_error());
  } else {
    tsri_shown shown = {0};
    tsr_dtype dtype = tsr_tensor_dtype(tensor);
    tsr_tensor *wide =
        tsri_dtype_is_packed(dtype) ? tsr_cast(tensor, dtype == TSR_I4 ? TSR_I8 : TSR_U8) : tsr_retain(tensor);
    tsr_status status = tsr_error(wide);
    if (status == TSR_OK) status = tsri_shown_init(&shown, wide);
    if (status == TSR_OK) {
      put_elements(text, &shown);
      put_word(text, "\n");
      put_facts(text, tensor);
    }
    tsri_shown_deinit(&shown);
    tsr_release(wide);
    if (status != TSR_OK) return status;
  }
  put_word(text, "\n");
  if (!text->has_failed) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "print: no host memory for the text");
}

tsr_status tsr_print(tsr_tensor *tensor, FILE *file) {
  if (!tensor) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "print: tensor is NULL");
  tsri_builder text = {0};
  tsr_status status = put_tensor(&text, tensor);
  if (status == TSR_OK) {
    size_t written = fwrite(text.text, 1, text.bytes, file ? file : stdout);
    if (written != text.bytes) {
      status = TSRI_FAIL(TSR_ERR_IO, "print: only %zu of %zu bytes could be written", written, text.bytes);
    }
  }
  tsri_builder_deinit(&text);
  return status;
}

static void copy_cut(const tsri_builder *text, char *out, size_t out_bytes) {
  if (out_bytes == 0) return;
  size_t length = text->bytes < out_bytes - 1 ? text->bytes : out_bytes - 1;
  if (length > 0) memcpy(out, text->text, length);
  out[length] = 0;
}

tsr_status tsr_format(tsr_tensor *tensor, char *text, size_t text_bytes, size_t *out_bytes) {
  if (out_bytes) *out_bytes = 0;
  if (!text && text_bytes > 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "format: text is NULL with %zu bytes", text_bytes);
  }
  if (text_bytes > 0) text[0] = 0;
  if (!tensor) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "format: tensor is NULL");
  tsri_builder all = {0};
  tsr_status status = put_tensor(&all, tensor);
  if (status == TSR_OK) {
    copy_cut(&all, text, text_bytes);
    if (out_bytes) *out_bytes = all.bytes + 1;
  }
  tsri_builder_deinit(&all);
  return status;
}
