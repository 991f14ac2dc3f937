// SPDX-License-Identifier: MIT
// The bits of floats, read as unsigned numbers, are ordered except for the sign: all bits of negative numbers are inverted, and others get the sign bit. Signed
// integers are shifted by half of their range. Compiled once per SIMD level (cmake/isa.cmake).
#include "backends/cpu/rows/sort_keys.h"

#include <stddef.h>

#include "backends/cpu/lanes/isa_parts.h"

// Keys of up to 32 bits follow.
#define ITEM          uint32_t
#define ORDERED       uint64_t
#define ORDER(key, i) ((uint64_t)(key) << 32 | (i))
#define INDEX(item)   ((item)&UINT32_MAX)

#define HAS_TWINS     0
#define IS_NAN(bits)  0
#define IS_ZERO(bits) 0

#define NAME(x)  x##_u8
#define BITS     uint8_t
#define KEY(b)   (b)
#define VALUE(k) (k)
#include "sort_keys.inc"
#undef NAME
#undef BITS

#define NAME(x) x##_u32
#define BITS    uint32_t
#include "sort_keys.inc"
#undef NAME
#undef BITS
#undef KEY
#undef VALUE

#define NAME(x)  x##_i8
#define BITS     uint8_t
#define KEY(b)   ((b) ^ 0x80u)
#define VALUE(k) ((uint8_t)((k) ^ 0x80u))
#include "sort_keys.inc"
#undef NAME
#undef BITS
#undef KEY
#undef VALUE

#define NAME(x)  x##_i16
#define BITS     uint16_t
#define KEY(b)   ((b) ^ 0x8000u)
#define VALUE(k) ((uint16_t)((k) ^ 0x8000u))
#include "sort_keys.inc"
#undef NAME
#undef BITS
#undef KEY
#undef VALUE

#define NAME(x)  x##_i32
#define BITS     uint32_t
#define KEY(b)   ((b) ^ 0x80000000u)
#define VALUE(k) ((k) ^ 0x80000000u)
#include "sort_keys.inc"
#undef NAME
#undef BITS
#undef KEY
#undef VALUE
#undef HAS_TWINS
#undef IS_NAN
#undef IS_ZERO

// --- Floats: SIGN is the sign's bit, INFINITE the bits of infinity ---------------------------------------------------------------

#define HAS_TWINS  1
#define IS_NAN(b)  (((b) & (BITS)~SIGN) > INFINITE)
#define IS_ZERO(b) (((b) & (BITS)~SIGN) == 0)
// Inverts all bits of a negative number, and the sign bit of the others; without branches, as signs are hard to predict.
#define SIGN_AT  (8 * sizeof(BITS) - 1)
#define KEY(b)   (IS_ZERO(b) ? (BITS)SIGN : (BITS)((b) ^ ((BITS)(0 - ((b) >> SIGN_AT)) | SIGN)))
#define VALUE(k) ((BITS)((k) ^ ((BITS)(((k) >> SIGN_AT) - 1) | SIGN)))

#define NAME(x)  x##_f16
#define BITS     uint16_t
#define SIGN     0x8000u
#define INFINITE 0x7C00u
#include "sort_keys.inc"
#undef NAME
#undef INFINITE

#define NAME(x)  x##_bf16
#define INFINITE 0x7F80u
#include "sort_keys.inc"
#undef NAME
#undef BITS
#undef SIGN
#undef INFINITE

#define NAME(x)  x##_f32
#define BITS     uint32_t
#define SIGN     0x80000000u
#define INFINITE 0x7F800000u
#include "sort_keys.inc"
#undef NAME
#undef BITS
#undef SIGN
#undef INFINITE
#undef ITEM
#undef ORDERED
#undef ORDER
#undef INDEX

// --- Keys of 64 bits -------------------------------------------------------------------------------------------------------------

#define ITEM          uint64_t
#define ORDERED       tsri_keyed_index
#define ORDER(key, i) ((tsri_keyed_index){key, i})
#define INDEX(item)   ((item).index)

#define NAME(x)  x##_f64
#define BITS     uint64_t
#define SIGN     0x8000000000000000u
#define INFINITE 0x7FF0000000000000u
#include "sort_keys.inc"
#undef NAME
#undef HAS_TWINS
#undef IS_NAN
#undef IS_ZERO
#undef KEY
#undef VALUE

#define HAS_TWINS     0
#define IS_NAN(bits)  0
#define IS_ZERO(bits) 0
#define NAME(x)       x##_i64
#define KEY(b)        ((b) ^ SIGN)
#define VALUE(k)      ((k) ^ SIGN)
#include "sort_keys.inc"

// Without an index, the digits are those of the whole item; with an index, those above it.
#define ROW(name, digits)                                                 \
  {                                                                       \
    {&tsri_sorter_u32, 0, digits, make_##name, take_##name}, {            \
      &tsri_sorter_u64, 4, digits, make_ordered_##name, take_order_##name \
    }                                                                     \
  }
#define WIDE_ROW(name)                                                       \
  {                                                                          \
    {&tsri_sorter_u64, 0, 8, make_##name, take_##name}, {                    \
      &tsri_sorter_keyed_index, 0, 8, make_ordered_##name, take_order_##name \
    }                                                                        \
  }

extern const tsri_sort_keys ISA_NAME(tsri_sort_keys_)[TSR_DTYPE_COUNT][2];
const tsri_sort_keys ISA_NAME(tsri_sort_keys_)[TSR_DTYPE_COUNT][2] = {
    [TSR_U8] = ROW(u8, 1),     [TSR_I8] = ROW(i8, 1),     [TSR_I16] = ROW(i16, 2), [TSR_F16] = ROW(f16, 2),
    [TSR_BF16] = ROW(bf16, 2), [TSR_I32] = ROW(i32, 4),   [TSR_U32] = ROW(u32, 4), [TSR_F32] = ROW(f32, 4),
    [TSR_I64] = WIDE_ROW(i64), [TSR_F64] = WIDE_ROW(f64),
};
