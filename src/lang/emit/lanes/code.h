// SPDX-License-Identifier: MIT
// Lane bytecode: the format between lanes.c, which writes it, and backends/cpu/lanes, which runs it.
//
// A program is an array of 32-bit words without pointers (TSRI_CODE_WORDS, dialect "lanes"): a header, then the tables
// it points to by word offset. An instruction is TSRI_LANE_INSN_WORDS words:
//
//   word 0: op (16 bits) | form (8) | flags (8)       words 1 to 7: operands dst, a, b, c, d, e, f
//
// Registers are scalars, one value for all lanes, or lane registers, one value per lane. A block of lanes runs the
// program together, instruction by instruction: a group, or, in a program with TSRI_LANE_MERGED, any run of items with
// consecutive global.x. That is why a barrier needs no instruction.
#ifndef TSRI_LANG_LANES_CODE_H
#define TSRI_LANG_LANES_CODE_H

#include <stdint.h>

#include "lang/emit/lanes/ops.h"

#define TSRI_LANE_MAGIC   0x314e4c54u  // "TLN1"
#define TSRI_LANE_VERSION 2u

#define TSRI_LANE_INSN_WORDS 8
#define TSRI_LANE_SUBGROUP   32  // items in a full subgroup

// Limits of a program.
#define TSRI_LANE_MAX_REGS  (1u << 14)  // of each kind
#define TSRI_LANE_MAX_INSNS (1u << 21)
#define TSRI_LANE_MAX_SAVES 1024u

// X(name, meaning): the words of the header, in this order from word 0.
#define TSRI_LANE_HEADER(X)                                                             \
  X(MAGIC, "TSRI_LANE_MAGIC")                                                           \
  X(VERSION, "TSRI_LANE_VERSION")                                                       \
  X(WORDS, "of the whole program")                                                      \
  X(FLAGS, "TSRI_LANE_CHECKED and so on")                                               \
  X(GROUP_X, "items per group")                                                         \
  X(GROUP_Y, "")                                                                        \
  X(GROUP_Z, "")                                                                        \
  X(PARAMS_BYTES, "size of the parameter block")                                        \
  X(PARAMS, "count; table of TSRI_LANE_PARAM_WORDS")                                    \
  X(PARAMS_AT, "")                                                                      \
  X(CONSTS, "count; table of 2 words, low first")                                       \
  X(CONSTS_AT, "")                                                                      \
  X(SCALARS, "scalar registers beside places, parameters and constants")                \
  X(REGS_4, "lane registers of 4 bytes a lane")                                         \
  X(REGS_8, "of 8 bytes")                                                               \
  X(SAVES, "slots for sets of lanes")                                                   \
  X(BUFFERS, "count; the three kinds of arrays are one table of TSRI_LANE_ARRAY_WORDS") \
  X(SHARED, "")                                                                         \
  X(LOCALS, "")                                                                         \
  X(ARRAYS_AT, "")                                                                      \
  X(INSNS, "count")                                                                     \
  X(INSNS_AT, "")                                                                       \
  X(TEXT_AT, "names, NUL-terminated; referred to by byte offset")                       \
  X(TEXT_BYTES, "the last byte is NUL")                                                 \
  X(NAME, "of the kernel, in the text")                                                 \
  X(FILE, "it came from")                                                               \
  X(COST, "instructions of one item, loops guessed; for deciding about threads")

enum {
#define TSRI_X(name, text) TSRI_LANE_H_##name,
  TSRI_LANE_HEADER(TSRI_X)
#undef TSRI_X
      TSRI_LANE_HEADER_WORDS
};

// Flags of a program.
#define TSRI_LANE_CHECKED 1u  // every index is checked
#define TSRI_LANE_MERGED  2u  // items of several groups may run as one block; asks for global.x only

// A parameter has these words: byte offset in the block, size (4 or 8).
#define TSRI_LANE_PARAM_WORDS 2

// An array has these words: storage dtype
// flags << 8
// dimensions << 16; elements (0 for a buffer); name; size of each dimension.
#define TSRI_LANE_ARRAY_WORDS  (3 + TSRI_IR_MAX_DIMS)
#define TSRI_LANE_ARRAY_LOADED 1u
#define TSRI_LANE_ARRAY_STORED 2u

// --- Operands ---
//
// The kind is in the upper four bits, the number below; 0: no operand. Scalars hold 8 bytes; 4-byte values use the first four.
#define TSRI_LANE_KIND(word)            ((word) >> 28)
#define TSRI_LANE_NUMBER(word)          ((word)&0x0fffffffu)
#define TSRI_LANE_OPERAND(kind, number) ((uint32_t)(kind) << 28 | (uint32_t)(number))
#define TSRI_LANE_ABSENT                0u

enum {
  TSRI_LANE_PLACE = 1,  // scalar set per block: TSRI_LANE_PLACE_*
  TSRI_LANE_PARAM,      // scalar: a parameter
  TSRI_LANE_CONST,      // scalar: a constant
  TSRI_LANE_SCALAR,     // scalar register
  TSRI_LANE_REG_4,
  TSRI_LANE_REG_8,
  TSRI_LANE_KINDS
};

enum {
  TSRI_LANE_PLACE_GROUP,       // x, y, z; u32 like all of them
  TSRI_LANE_PLACE_GROUPS = 3,  // x, y, z
  TSRI_LANE_PLACE_FIRST = 6,   // global.x, y, z of the block's first lane
  TSRI_LANE_PLACES = 9
};

// --- Flags and forms of an instruction ---
#define TSRI_LANE_MERGE                       1u  // lanes outside the set keep their value in dst
#define TSRI_LANE_ALIAS                       2u  // LOAD_*: dst may refer to the array's memory
#define TSRI_LANE_INVERT                      4u  // NARROW_*
#define TSRI_LANE_OR_EQUAL                    8u  // NARROW_AFFINE: <= instead of <
#define TSRI_LANE_ROWS                        4u  // LOAD_AFFINE, MULADD_F32, FMA_F32: see below
#define TSRI_LANE_LAST                        8u  // STORE_*: the value is not read again
#define TSRI_LANE_WIDE_OF(flags)              (1u << ((flags) >> 4 & 3u))  // memory: elements of one access, 1, 2 or 4
#define TSRI_LANE_PART_OF(flags)              ((flags) >> 6 & 3u)          // memory: which of them this is
#define TSRI_LANE_WIDE_FLAGS(log2_wide, part) ((uint32_t)(log2_wide) << 4 | (uint32_t)(part) << 6)

// ALIAS: only loads with this flag write the register. ROWS: a LOAD_AFFINE with ALIAS may make dst refer to rows in memory that repeat or are not contiguous.
// Only one MULADD_F32 or FMA_F32 with the ROWS flag reads such a register; its a and b are both of this kind.

// `form` of memory instructions and NARROW_AFFINE: how an index is held.
enum { TSRI_LANE_INDEX_U32, TSRI_LANE_INDEX_I32, TSRI_LANE_INDEX_I64, TSRI_LANE_INDEX_KINDS };

// --- Numbers of the instructions: control first, then arithmetic ---
typedef enum tsri_lane_op {
#define TSRI_X(name, dst, a, b, c, d, e, f) TSRI_LANE_##name,
  TSRI_LANE_CONTROL(TSRI_X)
#undef TSRI_X
#define TSRI_X(name, ...) TSRI_LANE_##name,
      TSRI_LANE_UNARY(TSRI_X) TSRI_LANE_BINARY(TSRI_X) TSRI_LANE_TERNARY(TSRI_X)
#undef TSRI_X
          TSRI_LANE_OPS
} tsri_lane_op;
#define TSRI_LANE_FIRST_MATH TSRI_LANE_MOVE_32  // the first of the arithmetic ones

#endif
