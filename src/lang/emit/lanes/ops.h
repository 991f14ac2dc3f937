// SPDX-License-Identifier: MIT
// The instructions of lane bytecode, one list each for arithmetic and for control and memory.
//
// Enums, the checks made before a program runs, and the interpreter's tables come from here. The format around them
// is in emit/lanes/code.h.
#ifndef TSRI_LANG_LANES_OPS_H
#define TSRI_LANG_LANES_OPS_H

// --- Arithmetic -----------------------------------------------------------------------------------------------------
//
// name, type of the result, types of the operands. Types: u32 i32 i64 f32 f64; bool is u32, 0 or 1. Meanings are those
// of ir_ops.h; `>` and `>=` are `<` and `<=` with operands exchanged. An operand is a lane register or a scalar; if the
// result is a scalar, all operands are.

// These make lanes from a scalar operand; no other unary instruction does.
#define TSRI_LANE_MOVES(X) X(MOVE_32, u32, u32) X(MOVE_64, i64, i64)

// clang-format off
#define TSRI_LANE_UNARY_BUT_MOVES(X)                                                           \
  X(NOT_BOOL, u32, u32) X(NEG_I32, u32, u32) X(BIT_NOT_I32, u32, u32) X(ABS_I32, i32, i32)     \
  X(SIGN_I32, i32, i32) X(POPCOUNT_U32, u32, u32) X(CLZ_U32, u32, u32) X(CTZ_U32, u32, u32)    \
  X(NEG_I64, i64, i64) X(BIT_NOT_I64, i64, i64) X(ABS_I64, i64, i64) X(SIGN_I64, i64, i64)     \
  X(POPCOUNT_I64, i64, i64) X(CLZ_I64, i64, i64) X(CTZ_I64, i64, i64) X(NEG_F32, f32, f32)     \
  X(ABS_F32, f32, f32) X(SIGN_F32, f32, f32) X(FLOOR_F32, f32, f32) X(CEIL_F32, f32, f32)      \
  X(ROUND_F32, f32, f32) X(TRUNC_F32, f32, f32) X(ISNAN_F32, u32, u32) X(ISINF_F32, u32, u32)  \
  X(ISFINITE_F32, u32, u32) X(NEG_F64, f64, f64) X(ABS_F64, f64, f64) X(SIGN_F64, f64, f64)    \
  X(FLOOR_F64, f64, f64) X(CEIL_F64, f64, f64) X(ROUND_F64, f64, f64) X(TRUNC_F64, f64, f64)   \
  X(ISNAN_F64, u32, i64) X(ISINF_F64, u32, i64) X(ISFINITE_F64, u32, i64)                      \
  /* conversions, from_to */                                                                   \
  X(U32_BOOL, u32, u32) X(I64_BOOL, u32, i64) X(F32_BOOL, u32, f32) X(F64_BOOL, u32, f64)      \
  X(U32_I8, i32, u32) X(U32_U8, u32, u32) X(U32_I16, i32, u32) X(I64_U32, u32, i64)            \
  X(F32_I8, i32, f32) X(F32_U8, u32, f32) X(F32_I16, i32, f32) X(F32_I32, i32, f32)            \
  X(F32_U32, u32, f32) X(F32_I64, i64, f32) X(F64_I8, i32, f64) X(F64_U8, u32, f64)            \
  X(F64_I16, i32, f64) X(F64_I32, i32, f64) X(F64_U32, u32, f64) X(F64_I64, i64, f64)          \
  X(I32_I64, i64, i32) X(U32_I64, i64, u32) X(I32_F32, f32, i32) X(U32_F32, f32, u32)          \
  X(I64_F32, f32, i64) X(F64_F32, f32, f64) X(I32_F64, f64, i32) X(U32_F64, f64, u32)          \
  X(I64_F64, f64, i64) X(F32_F64, f64, f32) X(F32_F16, f32, f32) X(F32_BF16, f32, f32)         \
  X(F64_F16, f32, f64) X(F64_BF16, f32, f64) X(I32_BF16, f32, i32) X(U32_BF16, f32, u32)         \
  X(I64_BF16, f32, i64)
// clang-format on

#define TSRI_LANE_UNARY(X) TSRI_LANE_MOVES(X) TSRI_LANE_UNARY_BUT_MOVES(X)

// clang-format off
#define TSRI_LANE_BINARY(X)                                                                             \
  X(ADD_U32, u32, u32, u32) X(SUB_U32, u32, u32, u32) X(MUL_U32, u32, u32, u32)                         \
  X(AND_U32, u32, u32, u32) X(OR_U32, u32, u32, u32) X(XOR_U32, u32, u32, u32)                          \
  X(SHL_U32, u32, u32, u32) X(SHR_U32, u32, u32, u32) X(SHR_I32, i32, i32, u32)                         \
  X(EQ_U32, u32, u32, u32) X(NE_U32, u32, u32, u32) X(LT_U32, u32, u32, u32)                            \
  X(LE_U32, u32, u32, u32) X(LT_I32, u32, i32, i32) X(LE_I32, u32, i32, i32)                            \
  X(MIN_U32, u32, u32, u32) X(MAX_U32, u32, u32, u32) X(MIN_I32, i32, i32, i32)                         \
  X(MAX_I32, i32, i32, i32) X(DIV_U32, u32, u32, u32) X(REM_U32, u32, u32, u32)                         \
  X(DIV_I32, i32, i32, i32) X(REM_I32, i32, i32, i32) X(MULHI_U32, u32, u32, u32)                       \
  X(ADD_I64, i64, i64, i64) X(SUB_I64, i64, i64, i64) X(MUL_I64, i64, i64, i64)                         \
  X(DIV_I64, i64, i64, i64) X(REM_I64, i64, i64, i64) X(AND_I64, i64, i64, i64)                         \
  X(OR_I64, i64, i64, i64) X(XOR_I64, i64, i64, i64) X(SHL_I64, i64, i64, u32)                          \
  X(SHR_I64, i64, i64, u32) X(EQ_I64, u32, i64, i64) X(NE_I64, u32, i64, i64) X(LT_I64, u32, i64, i64)  \
  X(LE_I64, u32, i64, i64) X(MIN_I64, i64, i64, i64) X(MAX_I64, i64, i64, i64)                          \
  X(ADD_F32, f32, f32, f32) X(SUB_F32, f32, f32, f32) X(MUL_F32, f32, f32, f32)                         \
  X(DIV_F32, f32, f32, f32) X(MIN_F32, f32, f32, f32) X(MAX_F32, f32, f32, f32)                         \
  X(EQ_F32, u32, f32, f32) X(NE_F32, u32, f32, f32) X(LT_F32, u32, f32, f32) X(LE_F32, u32, f32, f32)   \
  X(ADD_F64, f64, f64, f64) X(SUB_F64, f64, f64, f64) X(MUL_F64, f64, f64, f64)                         \
  X(DIV_F64, f64, f64, f64) X(MIN_F64, f64, f64, f64) X(MAX_F64, f64, f64, f64)                         \
  X(EQ_F64, u32, f64, f64) X(NE_F64, u32, f64, f64) X(LT_F64, u32, f64, f64) X(LE_F64, u32, f64, f64)
// clang-format on

// The first operand is a lane register unless the result is a scalar. MULADD rounds twice, FMA once.
// clang-format off
#define TSRI_LANE_TERNARY(X)                                                                          \
  X(MULADD_F32, f32, f32, f32, f32) X(MULADD_F64, f64, f64, f64, f64) X(FMA_F32, f32, f32, f32, f32)  \
  X(FMA_F64, f64, f64, f64, f64) X(SELECT_32, u32, u32, u32, u32) X(SELECT_64, i64, u32, i64, i64)
// clang-format on

#define TSRI_LANE_BYTES_u32 4
#define TSRI_LANE_BYTES_i32 4
#define TSRI_LANE_BYTES_f32 4
#define TSRI_LANE_BYTES_i64 8
#define TSRI_LANE_BYTES_f64 8

// --- Control and memory ---------------------------------------------------------------------------------------------
//
// name, then what the operands dst, a, b, c, d, e, f are:
//   NO    unused                      S     scalar                       R4 R8  lane register of 4 or 8 bytes a lane
//   X4    scalar or lane register     XV    value of the array's width: scalar or lane register; RV: lane register
//   SV    scalar of the array's width XI    index by `form`: scalar or lane register;    SI, RI: one of the two
//   O..   as .., or absent            ARR   buffer or shared array       LOC    local array
//   SAVE  slot for a set of lanes     FWD   a later instruction          BACK   this one or an earlier one
//   IMM   a number; checked by name   POS   place in the source
//
// Every instruction works for a set of lanes: the first `n`, all or those marked in a mask register.

#define TSRI_LANE_CONTROL(X)                                                                                    \
  /* the end of the program */                                                                                  \
  X(END, NO, NO, NO, NO, NO, NO, NO)                                                                            \
  X(JUMP, NO, NO, NO, FWD, NO, NO, NO)                                                                          \
  X(LOOP, NO, NO, NO, BACK, NO, NO, NO)                                                                         \
  X(JUMP_UNLESS, NO, S, NO, FWD, NO, NO, NO)                                                                    \
  X(JUMP_IF, NO, S, NO, FWD, NO, NO, NO)                                                                        \
  /* remember the set of lanes, go back to it */                                                                \
  X(SAVE, SAVE, NO, NO, NO, NO, NO, NO)                                                                         \
  X(RESTORE, SAVE, NO, NO, NO, NO, NO, NO)                                                                      \
  /* keep the lanes where a is true (INVERT: false); dst holds the mask if one is needed; none left: go to c */ \
  X(NARROW, R4, R4, NO, FWD, NO, NO, NO)                                                                        \
  /* the same for  a + d * local.x + e * local.y + f * local.z < b  (OR_EQUAL: <=), integers by `form` */       \
  X(NARROW_AFFINE, R4, SI, SI, FWD, SI, SI, SI)                                                                 \
  /* lanes marked in a or b leave the set; none left: go to c */                                                \
  X(DROP, R4, OR4, OR4, FWD, NO, NO, NO)                                                                        \
  /* mark the set's lanes in a; the set is empty until the next RESTORE */                                      \
  X(LEAVE, NO, R4, NO, NO, NO, NO, NO)                                                                          \
  /* the value of the first lane of the set */                                                                  \
  X(FIRST_32, S, R4, NO, NO, NO, NO, NO)                                                                        \
  X(FIRST_64, S, R8, NO, NO, NO, NO, NO)                                                                        \
  /* a + b * local.x + c * local.y + d * local.z */                                                             \
  X(IOTA_32, R4, S, S, S, S, NO, NO)                                                                            \
  X(IOTA_64, R8, S, S, S, S, NO, NO)                                                                            \
  /* dst = array a at b; for _AFFINE at b + c * local.x + d * local.y + e * local.z */                          \
  X(LOAD_SCALAR, SV, ARR, SI, NO, NO, NO, POS)                                                                  \
  X(LOAD_AFFINE, RV, ARR, SI, SI, SI, SI, POS)                                                                  \
  X(LOAD_LANES, RV, ARR, RI, NO, NO, NO, POS)                                                                   \
  /* array a at b = dst */                                                                                      \
  X(STORE_SCALAR, SV, ARR, SI, NO, NO, NO, POS)                                                                 \
  X(STORE_AFFINE, XV, ARR, SI, SI, SI, SI, POS)                                                                 \
  X(STORE_LANES, XV, ARR, RI, NO, NO, NO, POS)                                                                  \
  /* local arrays: each lane has its own, elements are held 4 or 8 bytes wide */                                \
  X(LOCAL_LOAD, RV, LOC, XI, NO, NO, NO, POS)                                                                   \
  X(LOCAL_STORE, XV, LOC, XI, NO, NO, NO, POS)                                                                  \
  X(LOCAL_CLEAR, NO, LOC, NO, NO, NO, NO, NO)                                                                   \
  /* e: tsri_ir_atomic; c value, d compare */                                                                   \
  X(ATOMIC, OR4, ARR, XI, X4, OX4, IMM, POS)                                                                    \
  /* e: tsri_ir_collective; d: dtype of the value */                                                            \
  X(GROUP_32, S, R4, NO, NO, IMM, IMM, NO)                                                                      \
  X(GROUP_64, S, R8, NO, NO, IMM, IMM, NO)                                                                      \
  X(SUBGROUP_32, R4, R4, OX4, NO, IMM, IMM, NO)                                                                 \
  X(SUBGROUP_64, R8, R8, OX4, NO, IMM, IMM, NO)                                                                 \
  /* e: the tsri_ir_op; all operands scalars or all lane registers */                                           \
  X(MATH_F32, X4, X4, OX4, NO, NO, IMM, NO)                                                                     \
  X(MATH_F64, X8, X8, OX8, NO, NO, IMM, NO)

#endif
