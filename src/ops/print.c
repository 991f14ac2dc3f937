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

enum { LINE_WIDTH = 75, MAX_INDENT = 40 };

// Style of the text: like NumPy's str(), or with commas like its repr(). With commas, the first line begins after `indent` columns of other text, and a column
// is kept free for what follows the last bracket.
typedef struct print_style {
  bool has_commas;
  size_t indent;
} print_style;

typedef struct print_layout {
  const tsri_shown *shown;
  print_style style;
  tsri_number_format format;
  tsri_builder *text;
  size_t column;  // characters in the current line
} print_layout;

static void put_word(tsri_builder *text, const char *word) { tsri_builder_put(text, word, strlen(word)); }

// Removes trailing spaces.
static void trim(tsri_builder *text) {
  while (text->bytes > 0 && text->text[text->bytes - 1] == ' ') text->text[--text->bytes] = 0;
}

static const void *element_at(const print_layout *l, size_t index) {
  return l->shown->data + index * tsr_dtype_bytes(l->shown->dtype);
}

// Starts a new line before the word if otherwise there would be no room for the closing brackets, unless the line is empty.
static void put_in_row(print_layout *l, const char *word, size_t length) {
  size_t brackets = (size_t)l->shown->shape.rank;  // one column per opening bracket
  size_t indent = brackets + l->style.indent, width = LINE_WIDTH - brackets - l->style.has_commas;
  if (l->column + length > width && l->column > indent) {
    trim(l->text);
    put_word(l->text, "\n");
    tsri_builder_repeat(l->text, ' ', indent);
    l->column = indent;
  }
  tsri_builder_put(l->text, word, length);
  l->column += length;
}

static void put_gap(print_layout *l) {
  const char *gap = l->style.has_commas ? ", " : " ";
  put_word(l->text, gap);
  l->column += strlen(gap);
}

static void put_row(print_layout *l, size_t first) {
  int axis = l->shown->shape.rank - 1;
  l->column = (size_t)l->shown->shape.rank + l->style.indent;
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

// Separates two items of an axis: the more axes inside of it, the more blank lines.
static void put_item_break(print_layout *l, int axis) {
  if (l->style.has_commas) put_word(l->text, ",");
  tsri_builder_repeat(l->text, '\n', (size_t)(l->shown->shape.rank - axis - 1));
  tsri_builder_repeat(l->text, ' ', (size_t)axis + 1 + l->style.indent);
}

// Writes the `count` elements from the `first` on, which are all the elements of one item of the axes before `axis`.
static void put_axis(print_layout *l, int axis, size_t first, size_t count) {
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

// Writes the single element of a tensor of rank 0: "2.0", or "2." in the style with commas, as NumPy's repr() does.
static void put_alone(print_layout *l) {
  char number[TSRI_NUMBER_BYTES];
  bool is_in_columns = l->style.has_commas && l->shown->dtype != TSR_BOOL;
  int length = is_in_columns ? tsri_number_write(&l->format, l->shown->data, number)
                             : tsri_number_write_alone(l->shown->dtype, l->shown->data, number);
  tsri_builder_put(l->text, number, (size_t)length);
}

static void put_elements(tsri_builder *text, const tsri_shown *shown, print_style style) {
  if (shown->count == 0) {
    put_word(text, "[]");
    return;
  }
  print_layout l = {.shown = shown, .style = style, .text = text};
  tsri_number_format_init(&l.format, shown->dtype, shown->data, shown->count);
  if (shown->shape.rank == 0) {
    put_alone(&l);
  } else {
    put_axis(&l, 0, 0, shown->count);
  }
}

// Reads the shown elements of a tensor that has not failed, and writes them. i4 and u4 are unpacked first.
static tsr_status put_shown(tsri_builder *text, tsr_tensor *tensor, print_style style) {
  tsri_shown shown = {0};
  tsr_dtype dtype = tsr_tensor_dtype(tensor);
  tsr_tensor *wide =
      tsri_dtype_is_packed(dtype) ? tsr_cast(tensor, dtype == TSR_I4 ? TSR_I8 : TSR_U8) : tsr_retain(tensor);
  tsr_status status = tsr_error(wide);
  if (status == TSR_OK) status = tsri_shown_init(&shown, wide);
  if (status == TSR_OK) put_elements(text, &shown, style);
  tsri_shown_deinit(&shown);
  tsr_release(wide);
  return status;
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

static tsr_status text_status(const tsri_builder *text) {
  if (!text->has_failed) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "print: no host memory for the text");
}

static tsr_status put_tensor(tsri_builder *text, tsr_tensor *tensor) {
  if (tsr_error(tensor) != TSR_OK) {
    put_word(text, "failed tensor: ");
    put_word(text, tsr_last_error());
  } else {
    tsr_status status = put_shown(text, tensor, (print_style){0});
    if (status != TSR_OK) return status;
    put_word(text, "\n");
    put_facts(text, tensor);
  }
  put_word(text, "\n");
  return text_status(text);
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

// Checks the arguments for the text buffer, and sets the text to "".
static tsr_status begin_text(const tsr_tensor *tensor, char *text, size_t text_bytes, size_t *out_bytes) {
  if (out_bytes) *out_bytes = 0;
  if (!text && text_bytes > 0) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "format: text is NULL with %zu bytes", text_bytes);
  }
  if (text_bytes > 0) text[0] = 0;
  return tensor ? TSR_OK : TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "format: tensor is NULL");
}

// Copies `all` to the text buffer, truncated to fit, and frees it.
static tsr_status end_text(tsr_status status, tsri_builder *all, char *text, size_t text_bytes, size_t *out_bytes) {
  if (status == TSR_OK) {
    copy_cut(all, text, text_bytes);
    if (out_bytes) *out_bytes = all->bytes + 1;
  }
  tsri_builder_deinit(all);
  return status;
}

tsr_status tsr_format(tsr_tensor *tensor, char *text, size_t text_bytes, size_t *out_bytes) {
  tsr_status status = begin_text(tensor, text, text_bytes, out_bytes);
  if (status != TSR_OK) return status;
  tsri_builder all = {0};
  return end_text(put_tensor(&all, tensor), &all, text, text_bytes, out_bytes);
}

tsr_status tsr_format_elements(tsr_tensor *tensor, int indent, bool has_commas, char *text, size_t text_bytes,
                               size_t *out_bytes) {
  tsr_status status = begin_text(tensor, text, text_bytes, out_bytes);
  if (status == TSR_OK) status = tsr_error(tensor);
  if (status != TSR_OK) return status;
  if (indent < 0 || indent > MAX_INDENT) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "format: an indent of %d columns is not 0 to %d", indent, MAX_INDENT);
  }
  tsri_builder all = {0};
  status = put_shown(&all, tensor, (print_style){.has_commas = has_commas, .indent = (size_t)indent});
  if (status == TSR_OK) status = text_status(&all);
  return end_text(status, &all, text, text_bytes, out_bytes);
}
