// SPDX-License-Identifier: MIT
// Parses the equation of einsum.
#include <string.h>

#include "core/error.h"
#include "ops/einsum.h"

// A position in the text, and what has been read before it.
typedef struct equation_reader {
  const char *equation, *at;
  int dots_rank;            // axes of the longest "..." so far
  uint64_t seen, repeated;  // labels that occur in operands, and labels that occur more than once
} equation_reader;

static tsr_status wrong(const equation_reader *r, const char *what) {
  return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "einsum: '%.60s': %s at position %d", r->equation, what,
                   (int)(r->at - r->equation));
}

static void skip_spaces(equation_reader *r) { r->at += strspn(r->at, " "); }

static int letter_label(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  return c >= 'a' && c <= 'z' ? 26 + c - 'a' : -1;
}

// The letters of a term, and the index at which "..." stands among them (-1: it does not occur).
typedef struct letters {
  int count, dots_at;
  int labels[TSR_MAX_RANK];
} letters;

static tsr_status read_letters(equation_reader *r, letters *out) {
  *out = (letters){.dots_at = -1};
  for (skip_spaces(r); *r->at && *r->at != ',' && *r->at != '-'; skip_spaces(r)) {
    if (strncmp(r->at, "...", 3) == 0) {
      if (out->dots_at >= 0) return wrong(r, "a second ...");
      out->dots_at = out->count;
      r->at += 3;
      continue;
    }
    int label = letter_label(*r->at);
    if (label < 0) return wrong(r, "neither a letter, nor ..., a comma or ->");
    if (out->count == TSR_MAX_RANK) return wrong(r, "more letters than a tensor can have axes");
    out->labels[out->count++] = label;
    r->at++;
  }
  return TSR_OK;
}

// Lists the labels of all axes of a term; "..." becomes `dots_rank` labels.
static void expand_dots(const letters *l, int dots_rank, tsri_einsum_term *out) {
  *out = (tsri_einsum_term){.rank = l->count + (l->dots_at >= 0 ? dots_rank : 0)};
  for (int i = 0, from = 0; i < out->rank; i++) {
    int in_dots = l->dots_at >= 0 ? i - l->dots_at : -1;
    bool is_dots = in_dots >= 0 && in_dots < dots_rank;
    out->labels[i] = is_dots ? TSRI_EINSUM_LETTERS + dots_rank - 1 - in_dots : l->labels[from++];
  }
}

// Records the size of a label. Within one operand (a diagonal), size 1 is not broadcast.
static tsr_status note_size(equation_reader *r, tsr_shape shape, int axis, int number, tsri_einsum *out) {
  const int *labels = out->operands[number].labels;
  int64_t *size = &out->sizes[labels[axis]], here = shape.dims[axis], other = *size;
  uint64_t bit = UINT64_C(1) << labels[axis];
  r->repeated |= r->seen & bit;
  r->seen |= bit;
  bool fits = other == 1 || here == 1 || other == here;
  for (int i = 0; i < axis && fits; i++) {
    if (labels[i] != labels[axis]) continue;
    other = shape.dims[i];
    fits = other == here;
  }
  if (fits && *size == 1) *size = here;
  if (fits) return TSR_OK;
  return TSRI_FAIL(
      TSR_ERR_SHAPE,
      "einsum: '%.60s': axis %d of operand %d has %lld elements, the axis before it with the same label %lld",
      r->equation, axis, number, (long long)here, (long long)other);
}

static tsr_status read_operand(equation_reader *r, tsr_shape shape, int number, tsri_einsum *out) {
  char text[TSR_SHAPE_TEXT_BYTES];
  letters l;
  tsr_status status = read_letters(r, &l);
  if (status != TSR_OK) return status;
  int dots_rank = shape.rank - l.count;
  if (l.dots_at >= 0 ? dots_rank < 0 : dots_rank != 0) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "einsum: '%.60s' has %d letters for operand %d, which is %s", r->equation, l.count,
                     number, tsr_shape_format(shape, text, sizeof text));
  }
  expand_dots(&l, dots_rank, &out->operands[number]);
  if (l.dots_at >= 0 && dots_rank > r->dots_rank) r->dots_rank = dots_rank;
  for (int i = 0; i < shape.rank && status == TSR_OK; i++) status = note_size(r, shape, i, number, out);
  return status;
}

// The output term if there is no "->": the axes of "...", then the letters that occur once, in ASCII order (capitals first).
static tsr_status implied_output(const equation_reader *r, tsri_einsum_term *out) {
  letters l = {.dots_at = 0};
  for (int label = 0; label < TSRI_EINSUM_LETTERS; label++) {
    bool occurs_once = (r->seen & ~r->repeated) >> label & 1u;
    if (!occurs_once) continue;
    if (l.count + r->dots_rank == TSR_MAX_RANK) {
      return TSRI_FAIL(TSR_ERR_SHAPE, "einsum: '%.60s': the result would have more than %d axes", r->equation,
                       TSR_MAX_RANK);
    }
    l.labels[l.count++] = label;
  }
  expand_dots(&l, r->dots_rank, out);
  return TSR_OK;
}

static tsr_status read_output(equation_reader *r, tsri_einsum_term *out) {
  letters l;
  skip_spaces(r);
  if (!*r->at) return implied_output(r, out);
  if (strncmp(r->at, "->", 2) != 0) return wrong(r, "more terms than operands, or no ->");
  r->at += 2;
  tsr_status status = read_letters(r, &l);
  if (status != TSR_OK) return status;
  if (*r->at) return wrong(r, "more than one term after ->");
  uint64_t given = 0;
  for (int i = 0; i < l.count; i++) {
    uint64_t bit = UINT64_C(1) << l.labels[i];
    if (given & bit) return wrong(r, "a letter twice in the result,");
    if (!(r->seen & bit)) return wrong(r, "a letter in the result that no operand has,");
    given |= bit;
  }
  if (l.count + (l.dots_at >= 0 ? r->dots_rank : 0) > TSR_MAX_RANK) {
    return TSRI_FAIL(TSR_ERR_SHAPE, "einsum: '%.60s': the result would have more than %d axes", r->equation,
                     TSR_MAX_RANK);
  }
  expand_dots(&l, r->dots_rank, out);
  return TSR_OK;
}

tsr_status tsri_einsum_read(const char *equation, const tsr_shape *shapes, int count, tsri_einsum *out) {
  equation_reader r = {.equation = equation, .at = equation};
  out->count = count;
  for (int i = 0; i < TSRI_EINSUM_LABELS; i++) out->sizes[i] = 1;
  for (int i = 0; i < count; i++) {
    tsr_status status = read_operand(&r, shapes[i], i, out);
    if (status != TSR_OK) return status;
    bool is_last = i == count - 1;
    if (!is_last && *r.at != ',') return wrong(&r, "fewer terms than operands");
    r.at += is_last ? 0 : 1;
  }
  return read_output(&r, &out->output);
}
