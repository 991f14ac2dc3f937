// SPDX-License-Identifier: MIT
#include "ops/scan_columns.h"
#include "ops/scan_quads.h"

bool tsri_scan_find_strides(const tsri_layout *layout, tsr_shape three, tsri_scan_work *s) {
  tsri_layout view;
  bool is_view = false;
  if (tsri_layout_reshape(layout, three, &view, &is_view) != TSR_OK || !is_view) return false;
  s->x_outer = view.strides[0], s->x_step = view.strides[1], s->x_inner = view.strides[2];
  return true;
}

bool tsri_scan_suits_view(const tsr_tensor *x, tsr_shape three) {
  enum { MOST = 4 };  // elements that are skipped are read, too, but only once if lines are not divided
  tsri_scan_work s;
  return three.dims[2] > 1 && tsri_scan_has_quads(x->value->device) && tsri_scan_find_strides(&x->layout, three, &s) &&
         s.x_inner >= -MOST && s.x_inner <= MOST;
}

static const tsri_tuning *tuning_of(const tsri_scan_work *s) { return tsri_call_tuning(s->device); }

static bool is_strided(const tsri_scan_work *s) {
  return s->x_inner != 1 || s->x_step != s->inner || (s->lines > s->inner && s->x_outer != s->n * s->inner);
}

// Neighbouring lines per item: as many as fit into 16 bytes, four at most, unless too few items would be left to keep the device busy. At least two for 16-bit
// elements on devices whose memory has 32-bit words, so that words are stored as a whole.
static int width_of(const tsri_scan_work *s, const tsri_scan_parts *p) {
  size_t bytes = tsr_dtype_bytes(s->dtype);
  bool has_pairs = tuning_of(s)->row_pairs > 0 && bytes == 2 && s->inner % 2 == 0;
  int64_t busy = tuning_of(s)->column_items / 4;
  for (int width = bytes == 8 ? 2 : 4; width > 1; width /= 2) {
    if (s->inner % width == 0 && s->lines * p->parts >= busy * width) return width;
  }
  return has_pairs ? 2 : 1;
}

// Whether the elements of `width` neighbouring lines are read as a vector.
static bool is_wide(const tsri_scan_work *s, int width) {
  bool has_outer = s->lines > s->inner;
  return s->x_inner == 1 && s->x_at % width == 0 && s->x_step % width == 0 && (!has_outer || s->x_outer % width == 0);
}

// Elements of a line that an item loads before it uses the first.
static int reads_at_once(const tsri_scan_work *s, const tsri_scan_parts *p, int width) {
  int unroll = tuning_of(s)->reduce_unroll,
      reads = tuning_of(s)->reduce_wide == 0 ? 1 : (width == 1 ? 4 : 8 / width) * unroll;
  return p->length < reads ? (int)p->length : reads;
}

static tsr_status launch(const tsri_scan_work *s, const tsri_scan_parts *p, int width, tsri_call *call) {
  tsri_call_word(call, "x_outer", s->x_outer);
  tsri_call_word(call, "x_step", s->x_step);
  tsri_call_word(call, "x_inner", s->x_inner);
  return tsri_scan_launch_lines(s, p, width, call);
}

static bool takes(const tsri_scan_work *s) { return tsri_scan_has_quads(s->device) || s->is_packed || is_strided(s); }

tsr_status tsri_scan_columns(const tsri_scan_work *s, const tsri_scan_parts *p) {
  if (!takes(s)) return TSR_ERR_UNSUPPORTED;
  tsr_dtype state = tsri_scan_state(s);
  int width = width_of(s, p);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "scan_columns",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", tsri_accumulator(s->dtype)), TSRI_TYPE("S", state),
                           TSRI_CONSTANT("OP", (int64_t)s->combination), TSRI_CONSTANT("EXCLUSIVE", s->is_exclusive),
                           TSRI_CONSTANT("OFFSETS", p->offsets != NULL), TSRI_CONSTANT("PLACES", s->places != NULL),
                           TSRI_CONSTANT("WIDE", is_wide(s, width)),
                           TSRI_CONSTANT("AT_ONCE", reads_at_once(s, p, width)), TSRI_CONSTANT("WIDTH", width)));
  tsri_call_buffer(&call, "offsets", p->offsets ? p->offsets : s->x, state);
  tsri_call_buffer(&call, "y", s->y, s->dtype);
  tsr_buffer *unused = tsri_scan_bind_places(&call, s);
  tsr_status status = launch(s, p, width, &call);
  tsr_buffer_release(unused);
  return status;
}

tsr_status tsri_scan_column_sums(const tsri_scan_work *s, const tsri_scan_parts *p, tsr_buffer *totals) {
  if (!takes(s)) return TSR_ERR_UNSUPPORTED;
  tsr_dtype state = tsri_scan_state(s);
  int width = width_of(s, p);
  tsri_call call;
  tsri_call_init(&call, s->device, "op_scan", "column_states",
                 TSRI_WITH(TSRI_TYPE("T", s->dtype), TSRI_TYPE("A", tsri_accumulator(s->dtype)), TSRI_TYPE("S", state),
                           TSRI_CONSTANT("OP", (int64_t)s->combination), TSRI_CONSTANT("WIDE", is_wide(s, width)),
                           TSRI_CONSTANT("AT_ONCE", reads_at_once(s, p, width)), TSRI_CONSTANT("WIDTH", width)));
  tsri_call_buffer(&call, "totals", totals, state);
  return launch(s, p, width, &call);
}
