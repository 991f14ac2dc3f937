// SPDX-License-Identifier: MIT
// Layouts: single rules by example, and chains of views compared with a model that lists every element.
#include "core/layout.h"

#include <tessera/tensor.h>

#include "core/strided.h"
#include "support/test.h"

static tsri_layout make(tsr_shape shape) {
  tsri_layout layout;
  CHECK_OK(tsri_layout_init("test", shape, TSR_I32, &layout, NULL));
  return layout;
}

TEST(bytes_that_memory_cannot_address_are_refused) {
  tsri_layout layout;
  CHECK_STATUS(tsri_layout_init("zeros", TSR_SHAPE(1LL << 61), TSR_F64, &layout, NULL), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("zeros:");
}

TEST(row_major_is_what_a_new_layout_is_and_nothing_else) {
  tsri_layout layout, view;
  CHECK_OK(tsri_layout_init("test", TSR_SHAPE(2, 1, 3), TSR_F32, &layout, NULL));
  CHECK(tsri_layout_is_row_major(&layout));
  CHECK_OK(tsri_layout_init("test", TSR_SHAPE(2, 0, 3), TSR_F32, &view, NULL));
  CHECK(tsri_layout_is_row_major(&view));
  CHECK_OK(tsri_layout_init("test", TSR_SCALAR, TSR_F32, &view, NULL));
  CHECK(tsri_layout_is_row_major(&view));
  CHECK_OK(tsri_layout_transpose(&layout, 0, 2, &view));
  CHECK(!tsri_layout_is_row_major(&view));
  CHECK_OK(tsri_layout_slice(&layout, 0, 1, 2, 1, &view));
  CHECK(!tsri_layout_is_row_major(&view));  // its offset is not 0
  CHECK_OK(tsri_layout_expand(&layout, TSR_SHAPE(2, 4, 3), &view));
  CHECK(!tsri_layout_is_row_major(&view));
  view = layout;
  view.strides[1] = 5;  // the stride of a single element: still contiguous
  CHECK(tsri_layout_is_contiguous(&view) && !tsri_layout_is_row_major(&view));
}

TEST(reshape_keeps_a_view_where_strides_allow_and_says_where_not) {
  tsri_layout a = make(TSR_SHAPE(4, 6)), t, view;
  bool is_view = false;
  CHECK_OK(tsri_layout_reshape(&a, TSR_SHAPE(2, -1, 3), &view, &is_view));
  CHECK(is_view);
  CHECK_EQ_INT(view.shape.dims[1], 4);
  CHECK_OK(tsri_layout_transpose(&a, 0, 1, &t));
  CHECK_OK(tsri_layout_reshape(&t, TSR_SHAPE(24), &view, &is_view));
  CHECK(!is_view);
  CHECK_OK(tsri_layout_reshape(&t, TSR_SHAPE(2, 3, 2, 2), &view, &is_view));
  CHECK(is_view);
  CHECK_OK(tsri_layout_reshape(&t, TSR_SHAPE(6, 1, 4, 1), &view, &is_view));
  CHECK(is_view);
}

TEST(reshape_messages_carry_the_figures) {
  tsri_layout a = make(TSR_SHAPE(4, 6)), view;
  bool is_view = false;
  CHECK_STATUS(tsri_layout_reshape(&a, TSR_SHAPE(5, 5), &view, &is_view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("4x6 has 24 elements, 5x5 has 25");
  CHECK_STATUS(tsri_layout_reshape(&a, TSR_SHAPE(-1, -1), &view, &is_view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("axes 0 and 1");
  CHECK_STATUS(tsri_layout_reshape(&a, TSR_SHAPE(7, -1), &view, &is_view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("24 elements of 4x6");
  CHECK_STATUS(tsri_layout_reshape(&a, TSR_SHAPE(-2, 12), &view, &is_view), TSR_ERR_SHAPE);
  tsri_layout empty = make(TSR_SHAPE(0, 3));
  CHECK_STATUS(tsri_layout_reshape(&empty, TSR_SHAPE(-1, 0), &view, &is_view), TSR_ERR_SHAPE);
}

TEST(slices_follow_python) {
  // start, stop, step; then count, first and last of Python's list(range(10))[start:stop:step].
  static const struct {
    int64_t start, stop, step, count, first, last;
  } cases[] = {
      {0, TSR_END, 1, 10, 0, 9},
      {2, 8, 3, 2, 2, 5},
      {-3, TSR_END, 1, 3, 7, 9},
      {0, -1, 1, 9, 0, 8},
      {5, 2, 1, 0, 0, 0},
      {100, 200, 1, 0, 0, 0},
      {-100, 3, 1, 3, 0, 2},
      {TSR_END, TSR_END, -1, 10, 9, 0},
      {8, 2, -3, 2, 8, 5},
      {-1, -100, -4, 3, 9, 1},
      {3, 3, -1, 0, 0, 0},
      {0, TSR_END, INT64_MAX, 1, 0, 0},
      {9, TSR_END, INT64_MIN, 1, 9, 9},
      {0, -100, -1, 1, 0, 0},
      {2, TSR_END, -1, 3, 2, 0},
      {INT64_MIN, INT64_MAX, 4, 3, 0, 8},
  };
  tsri_layout a = make(TSR_SHAPE(10)), view;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    CHECK_OK(tsri_layout_slice(&a, 0, cases[i].start, cases[i].stop, cases[i].step, &view));
    CHECK_EQ_INT(view.count, cases[i].count);
    if (view.count == 0) continue;
    CHECK_EQ_INT(view.offset, cases[i].first);
    CHECK_EQ_INT(view.offset + (view.count - 1) * view.strides[0], cases[i].last);
  }
  CHECK_STATUS(tsri_layout_slice(&a, 0, 0, 5, 0, &view), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsri_layout_slice(&a, 1, 0, 5, 1, &view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("axis 1 is out of range, -1 to 0");
}

TEST(permute_and_axes_are_checked) {
  tsri_layout a = make(TSR_SHAPE(2, 3, 4)), view, scalar = make(TSR_SCALAR);
  CHECK_STATUS(tsri_layout_permute(&a, (int[]){0, 1}, 2, &view), TSR_ERR_SHAPE);
  CHECK_STATUS(tsri_layout_permute(&a, (int[]){0, 1, -2}, 3, &view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("axis 1 is named twice");
  CHECK_STATUS(tsri_layout_permute(&a, NULL, 3, &view), TSR_ERR_INVALID_ARGUMENT);
  CHECK_STATUS(tsri_layout_transpose(&scalar, 0, 0, &view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("a scalar has no axes");
  CHECK_OK(tsri_layout_permute(&scalar, NULL, 0, &view));
}

TEST(expand_squeeze_and_unsqueeze_are_checked) {
  tsri_layout a = make(TSR_SHAPE(3, 1)), view;
  CHECK_OK(tsri_layout_expand(&a, TSR_SHAPE(2, -1, 4), &view));
  CHECK_EQ_INT(view.count, 24);
  CHECK(tsri_layout_may_overlap(&view));
  CHECK_STATUS(tsri_layout_expand(&a, TSR_SHAPE(2, 4), &view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("axis 0: 3 and 2");
  CHECK_STATUS(tsri_layout_expand(&a, TSR_SHAPE(3), &view), TSR_ERR_SHAPE);
  CHECK_STATUS(tsri_layout_expand(&a, TSR_SHAPE(-1, 3, 1), &view), TSR_ERR_SHAPE);
  CHECK_STATUS(tsri_layout_squeeze(&a, 0, &view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("size 3");
  tsri_layout full = make(TSR_SHAPE(1, 1, 1, 1, 1, 1, 1, 1));
  CHECK_STATUS(tsri_layout_unsqueeze(&full, 0, &view), TSR_ERR_SHAPE);
}

TEST(expand_refuses_more_than_memory_can_address) {
  tsri_layout a = make(TSR_SCALAR), view;
  CHECK_STATUS(tsri_layout_expand(&a, TSR_SHAPE(INT64_MAX), &view), TSR_ERR_SHAPE);
  CHECK_STATUS(tsri_layout_expand(&a, TSR_SHAPE(1LL << 31, 1LL << 30), &view), TSR_ERR_SHAPE);
  CHECK_LAST_ERROR_HAS("2147483648x1073741824 is more elements than memory can address");
  CHECK_OK(tsri_layout_expand(&a, TSR_SHAPE(1LL << 59), &view));
}

TEST(overlap_is_seen_only_where_it_can_be) {
  tsri_layout a = make(TSR_SHAPE(4, 6)), view;
  CHECK(!tsri_layout_may_overlap(&a));
  CHECK_OK(tsri_layout_flip(&a, 1, &view));
  CHECK_OK(tsri_layout_transpose(&view, 0, 1, &view));
  CHECK(!tsri_layout_may_overlap(&view));
  view.strides[0] = 6;  // both axes have stride 6
  view.strides[1] = 6;
  CHECK(tsri_layout_may_overlap(&view));
}

// --- Chains of views against a model ---------------------------------------------------------------------------------

enum { MODEL_MOST = 4096 };

// The elements of a view in row-major order, found by iterating over every index.
static int64_t list_elements(const tsri_layout *layout, int32_t *out) {
  int64_t index[TSR_MAX_RANK] = {0}, used = 0;
  if (layout->count == 0) return 0;
  for (;;) {
    int64_t at = layout->offset;
    for (int i = 0; i < layout->shape.rank; i++) at += index[i] * layout->strides[i];
    out[used++] = (int32_t)at;
    int axis = layout->shape.rank - 1;
    while (axis >= 0 && ++index[axis] == layout->shape.dims[axis]) index[axis--] = 0;
    if (axis < 0) return used;
  }
}

static uint32_t random_state;
static uint32_t random_below(uint32_t limit) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % limit;
}

static tsr_status random_view(const tsri_layout *from, tsri_layout *to) {
  int rank = from->shape.rank, axis = rank ? (int)random_below((uint32_t)rank) : 0;
  switch (random_below(6)) {
    case 0:
      return rank ? tsri_layout_flip(from, axis, to) : TSR_ERR_SHAPE;
    case 1:
      return rank ? tsri_layout_transpose(from, axis, (int)random_below((uint32_t)rank), to) : TSR_ERR_SHAPE;
    case 2: {
      if (!rank) return TSR_ERR_SHAPE;
      int64_t size = from->shape.dims[axis];
      int64_t step = (int64_t)random_below(4) - 2;
      return tsri_layout_slice(from, axis, (int64_t)random_below((uint32_t)size + 3) - 1,
                               (int64_t)random_below((uint32_t)size + 3) - 1, step == 0 ? 2 : step, to);
    }
    case 3:
      return tsri_layout_unsqueeze(from, (int)random_below((uint32_t)rank + 1), to);
    case 4: {
      tsr_shape shape = from->shape;
      for (int i = 0; i < rank; i++) {
        if (shape.dims[i] == 1) shape.dims[i] = 1 + random_below(3);
      }
      return tsri_layout_expand(from, shape, to);
    }
    default:
      tsri_layout_squeeze_all(from, to);
      return TSR_OK;
  }
}

// A reshape that reports a view must list the same elements in the same order.
static void check_reshape(const tsri_layout *layout, const int32_t *elements) {
  static int32_t reshaped[MODEL_MOST];
  int64_t count = layout->count, first = 1 + random_below(6);
  if (count == 0 || count % first != 0) return;
  tsri_layout view;
  bool is_view = false;
  CHECK_OK(tsri_layout_reshape(layout, TSR_SHAPE(first, -1, 1), &view, &is_view));
  if (!is_view) return;
  CHECK_EQ_INT(list_elements(&view, reshaped), count);
  CHECK_BYTES(reshaped, elements, (size_t)count * sizeof *elements);
}

// Reading through the layout must give these elements.
static void check_copy(const tsri_layout *layout, const int32_t *elements) {
  static int32_t numbers[MODEL_MOST], copied[MODEL_MOST];
  for (int i = 0; i < MODEL_MOST; i++) numbers[i] = i;
  tsri_layout packed = make(layout->shape);
  tsri_strided_copy(copied, &packed, numbers, layout, sizeof numbers[0]);
  CHECK_BYTES(copied, elements, (size_t)layout->count * sizeof *elements);
}

TEST(chains_of_views_name_the_same_elements_as_a_model) {
  static int32_t elements[MODEL_MOST];
  for (uint32_t seed = 1; seed <= 3000; seed++) {
    random_state = seed;
    tsri_layout layout =
        make(TSR_SHAPE(1 + random_below(5), 1 + random_below(5), 1 + random_below(4), 1 + random_below(3)));
    int64_t parent = layout.count;
    for (int step = 0; step < 6; step++) {
      tsri_layout view;
      if (random_view(&layout, &view) != TSR_OK || view.count > MODEL_MOST) continue;
      layout = view;
      int64_t low = 0, high = 0;
      tsri_layout_span(&layout, &low, &high);
      CHECK_EQ_INT(list_elements(&layout, elements), layout.count);
      for (int64_t i = 0; i < layout.count; i++)
        CHECK(elements[i] >= low && elements[i] <= high && elements[i] < parent);
      check_copy(&layout, elements);
      check_reshape(&layout, elements);
    }
  }
}
