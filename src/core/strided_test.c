// SPDX-License-Identifier: MIT
// Strided copies of every element size, with strides on both sides, compared with copying one element at a time.
#include "core/strided.h"

#include "support/test.h"

enum { MOST_BYTES = 1 << 17, GUARD = 0xA5 };

static uint32_t random_state;
static uint32_t random_below(uint32_t limit) {
  random_state = random_state * 1664525u + 1013904223u;
  return (random_state >> 8) % limit;
}

// A layout of the shape with axes in random order, some reversed, with gaps between them. Returns the number of
// elements spanned.
static int64_t scatter_layout(tsr_shape shape, tsri_layout *out) {
  CHECK_OK(tsri_layout_init("test", shape, TSR_U8, out, NULL));
  int order[TSR_MAX_RANK];
  for (int i = 0; i < shape.rank; i++) order[i] = i;
  for (int i = shape.rank - 1; i > 0; i--) {
    int other = (int)random_below((uint32_t)i + 1), kept = order[i];
    order[i] = order[other];
    order[other] = kept;
  }
  int64_t stride = 1 + random_below(2);
  for (int i = 0; i < shape.rank; i++) {
    int64_t size = shape.dims[order[i]];
    bool is_mirrored = random_below(3) == 0;
    out->strides[order[i]] = is_mirrored ? -stride : stride;
    if (is_mirrored) out->offset += (size - 1) * stride;
    stride *= size;
    if (random_below(2)) stride += random_below(3);
  }
  return stride;
}

// Copies element by element, by index.
static void copy_plainly(unsigned char *dst, const tsri_layout *to, const unsigned char *src, const tsri_layout *from,
                         size_t element) {
  for (int64_t number = 0; number < to->count; number++) {
    int64_t rest = number, to_at = to->offset, from_at = from->offset;
    for (int i = to->shape.rank - 1; i >= 0; i--) {
      int64_t index = rest % to->shape.dims[i];
      rest /= to->shape.dims[i];
      to_at += index * to->strides[i];
      from_at += index * from->strides[i];
    }
    memcpy(dst + to_at * (int64_t)element, src + from_at * (int64_t)element, element);
  }
}

static void check_copy(const tsri_layout *to, const tsri_layout *from, size_t element) {
  static unsigned char source[MOST_BYTES], is[MOST_BYTES], wanted[MOST_BYTES];
  for (size_t i = 0; i < sizeof source; i++) source[i] = (unsigned char)((i * 31) ^ (i >> 7));
  memset(is, GUARD, sizeof is);
  memset(wanted, GUARD, sizeof wanted);
  copy_plainly(wanted, to, source, from, element);
  tsri_strided_copy(is, to, source, from, element);
  CHECK_BYTES(is, wanted, sizeof is);  // the bytes between the elements are unchanged
}

TEST(every_element_size_and_layout_copies_as_one_by_one) {
  int checked = 0;
  for (uint32_t seed = 1; seed <= 300; seed++) {
    random_state = seed;
    tsr_shape shape = {.rank = (int32_t)random_below(6)};
    for (int i = 0; i < shape.rank; i++) shape.dims[i] = 1 + random_below(4);
    tsri_layout to, from, packed;
    CHECK_OK(tsri_layout_init("test", shape, TSR_U8, &packed, NULL));
    int64_t to_span = scatter_layout(shape, &to), from_span = scatter_layout(shape, &from);
    for (size_t element = 1; element <= 8; element *= 2) {
      if ((to_span > from_span ? to_span : from_span) * (int64_t)element > MOST_BYTES) continue;
      check_copy(&to, &from, element);
      check_copy(&packed, &from, element);
      check_copy(&to, &packed, element);
      checked++;
    }
  }
  CHECK(checked > 500);
}

// Transposed planes of more than a tile, with gaps, and with a last axis so short that runs go along another one.
TEST(planes_are_transposed_whatever_their_sides_and_gaps) {
  static const int64_t sides[][2] = {{70, 33}, {33, 70}, {9, 4},  {40, 7}, {7, 40},  {40, 2},  {40, 3},
                                     {2, 40},  {8, 8},   {40, 5}, {33, 6}, {19, 13}, {33, 15}, {17, 31}};
  for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
    for (int64_t gap = 1; gap <= 3; gap++) {
      tsri_layout packed, turned;
      CHECK_OK(tsri_layout_init("test", TSR_SHAPE(2, sides[i][0], sides[i][1]), TSR_U8, &packed, NULL));
      turned = packed;
      turned.strides[1] = gap;
      turned.strides[2] = gap * (sides[i][0] + 1);
      turned.strides[0] = turned.strides[2] * sides[i][1];
      for (size_t element = 1; element <= 8; element *= 2) {
        if (2 * turned.strides[0] * (int64_t)element <= MOST_BYTES) check_copy(&packed, &turned, element);
      }
    }
  }
}

TEST(rows_of_every_length_are_copied_out_of_gaps_and_into_them) {
  for (int64_t columns = 1; columns <= 80; columns++) {
    tsri_layout packed, apart;
    CHECK_OK(tsri_layout_init("test", TSR_SHAPE(3, 5, columns), TSR_U8, &packed, NULL));
    apart = packed;
    apart.strides[1] = columns + 3;
    apart.strides[0] = 5 * apart.strides[1] + 2;
    for (size_t element = 1; element <= 8; element *= 2) {
      if (3 * apart.strides[0] * (int64_t)element > MOST_BYTES) continue;
      check_copy(&packed, &apart, element);
      check_copy(&apart, &packed, element);
    }
  }
}

TEST(repeated_elements_may_be_read) {
  tsri_layout packed, repeated;
  for (size_t element = 1; element <= 8; element *= 2) {
    CHECK_OK(tsri_layout_init("test", TSR_SHAPE(3, 4, 5), TSR_U8, &packed, NULL));
    repeated = packed;
    repeated.strides[0] = 0;
    repeated.strides[2] = 0;
    repeated.strides[1] = 2;
    check_copy(&packed, &repeated, element);
  }
}

// Blocks of a few bytes up to some kilobytes, and single elements, as broadcasting repeats them; the destination packed or with gaps.
TEST(blocks_and_elements_are_repeated) {
  static const int64_t sizes[][3] = {{3, 50, 7}, {1, 900, 3}, {40, 1, 60}, {2, 5, 1500},
                                     {5, 33, 2}, {4, 4, 64},  {7, 70, 1}};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    for (int zeros = 0; zeros < 8; zeros++) {  // bit k: axis k repeats
      tsri_layout packed, repeated, apart;
      CHECK_OK(tsri_layout_init("test", TSR_SHAPE(sizes[i][0], sizes[i][1], sizes[i][2]), TSR_U8, &packed, NULL));
      repeated = packed;
      for (int axis = 2, stride = 1; axis >= 0; axis--) {
        repeated.strides[axis] = zeros >> axis & 1 ? 0 : stride;
        if (repeated.strides[axis]) stride *= (int)sizes[i][axis];
      }
      apart = packed;
      apart.strides[0] += 3;
      for (size_t element = 1; element <= 4; element *= 2) {
        check_copy(&packed, &repeated, element);
        check_copy(&apart, &repeated, element);
      }
    }
  }
}

TEST(unaligned_memory_is_copied) {
  static unsigned char source[512], copied[512];
  tsri_layout packed, stepped;
  for (int i = 0; i < 512; i++) source[i] = (unsigned char)i;
  for (size_t element = 1; element <= 8; element *= 2) {
    CHECK_OK(tsri_layout_init("test", TSR_SHAPE(9), TSR_U8, &packed, NULL));
    stepped = packed;
    stepped.strides[0] = 3;
    tsri_strided_copy(copied + 1, &packed, source + 1, &stepped, element);
    for (size_t i = 0; i < 9; i++) CHECK_BYTES(copied + 1 + i * element, source + 1 + 3 * i * element, element);
  }
}

TEST(nothing_is_touched_where_nothing_is_to_copy) {
  tsri_layout empty;
  CHECK_OK(tsri_layout_init("test", TSR_SHAPE(3, 0, 2), TSR_U8, &empty, NULL));
  tsri_strided_copy(NULL, &empty, NULL, &empty, 4);
}
