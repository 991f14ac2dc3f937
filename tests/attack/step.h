// SPDX-License-Identifier: MIT
// One step of a random program: a call of the public API with all its arguments. The step's number identifies its
// result.
#ifndef TESSERA_ATTACK_STEP_H
#define TESSERA_ATTACK_STEP_H

#include <tessera/tessera.h>

// Columns: kind, and what the step makes. FRESH: a tensor with its own elements (or possibly a view of its first
// input, if nothing has to be computed). VIEW: a view of its first input. EITHER: the library decides. NOTHING: no
// tensor.
#define STEP_KINDS(X)       \
  X(from_data, FRESH)       \
  X(full, FRESH)            \
  X(arange, FRESH)          \
  X(eye, FRESH)             \
  X(unary, FRESH)           \
  X(binary, FRESH)          \
  X(scalar, FRESH)          \
  X(where, FRESH)           \
  X(fma, FRESH)             \
  X(clamp, FRESH)           \
  X(cast, FRESH)            \
  X(reduce, FRESH)          \
  X(cumsum, FRESH)          \
  X(concat, FRESH)          \
  X(stack, FRESH)           \
  X(repeat, FRESH)          \
  X(tile, FRESH)            \
  X(pad, FRESH)             \
  X(roll, FRESH)            \
  X(tril, FRESH)            \
  X(triu, FRESH)            \
  X(gather, FRESH)          \
  X(index_select, FRESH)    \
  X(take, FRESH)            \
  X(scatter, FRESH)         \
  X(scatter_add, FRESH)     \
  X(one_hot, FRESH)         \
  X(sort, FRESH)            \
  X(argsort, FRESH)         \
  X(matmul, FRESH)          \
  X(outer, FRESH)           \
  X(dot, FRESH)             \
  X(transpose, VIEW)        \
  X(permute, VIEW)          \
  X(slice, VIEW)            \
  X(expand, VIEW)           \
  X(squeeze, VIEW)          \
  X(unsqueeze, VIEW)        \
  X(squeeze_all, VIEW)      \
  X(flip, VIEW)             \
  X(reshape, EITHER)        \
  X(contiguous, EITHER)     \
  X(to, EITHER)             \
  X(dlpack, EITHER)         \
  X(import, NOTHING)        \
  X(write, NOTHING)         \
  X(assign, NOTHING)        \
  X(update, NOTHING)        \
  X(read, NOTHING)          \
  X(equal, NOTHING)         \
  X(evaluate, NOTHING)      \
  X(launch, NOTHING)        \
  X(release, NOTHING)       \
  X(scope_begin, NOTHING)   \
  X(scope_end, NOTHING)     \
  X(capture_begin, NOTHING) \
  X(capture_end, NOTHING)   \
  X(capture_run, NOTHING)

typedef enum step_kind {
#define STEP_X(name, makes) STEP_##name,
  STEP_KINDS(STEP_X)
#undef STEP_X
      STEP_KIND_COUNT
} step_kind;

typedef enum step_makes { STEP_FRESH, STEP_VIEW, STEP_EITHER, STEP_NOTHING } step_makes;

// The operators of the families unary, binary, scalar and reduce. `step.op` is the operator's number in its family.
#define UNARY_OPS(X) \
  X(neg)             \
  X(abs)             \
  X(sign)            \
  X(square)          \
  X(relu)            \
  X(floor)           \
  X(ceil)            \
  X(round)           \
  X(trunc)           \
  X(isnan)           \
  X(isinf)           \
  X(isfinite)        \
  X(logical_not)     \
  X(bitwise_not)
#define BINARY_OPS(X) \
  X(add)              \
  X(sub)              \
  X(mul)              \
  X(minimum)          \
  X(maximum)          \
  X(floor_div)        \
  X(mod)              \
  X(pow)              \
  X(eq)               \
  X(ne)               \
  X(lt)               \
  X(le)               \
  X(gt)               \
  X(ge)               \
  X(logical_and)      \
  X(logical_or)       \
  X(logical_xor)      \
  X(bitwise_and)      \
  X(bitwise_or)       \
  X(bitwise_xor)      \
  X(shift_left)       \
  X(shift_right)
#define SCALAR_OPS(X) \
  X(add)              \
  X(sub)              \
  X(rsub)             \
  X(mul)              \
  X(minimum)          \
  X(maximum)          \
  X(floor_div)        \
  X(mod)              \
  X(eq)               \
  X(ne)               \
  X(lt)               \
  X(le)               \
  X(gt)               \
  X(ge)
#define REDUCE_OPS(X) \
  X(sum)              \
  X(prod)             \
  X(max)              \
  X(min)              \
  X(any)              \
  X(all)              \
  X(argmax)           \
  X(argmin)

#define STEP_X(name) UNARY_##name,
typedef enum unary_op { UNARY_OPS(STEP_X) UNARY_OP_COUNT } unary_op;
#undef STEP_X
#define STEP_X(name) BINARY_##name,
typedef enum binary_op { BINARY_OPS(STEP_X) BINARY_OP_COUNT } binary_op;
#undef STEP_X
#define STEP_X(name) SCALAR_##name,
typedef enum scalar_op { SCALAR_OPS(STEP_X) SCALAR_OP_COUNT } scalar_op;
#undef STEP_X
#define STEP_X(name) REDUCE_##name,
typedef enum reduce_op { REDUCE_OPS(STEP_X) REDUCE_OP_COUNT } reduce_op;
#undef STEP_X

enum { STEP_MAX_INPUTS = 4 };

typedef struct step {
  step_kind kind;
  int op;
  int inputs[STEP_MAX_INPUTS];  // numbers of earlier steps
  int input_count;
  tsr_dtype dtype;
  tsr_shape shape;
  int axes[TSR_MAX_RANK];
  int axis_count;
  int64_t numbers[2 * TSR_MAX_RANK];
  double real, real2;
  bool flag;
  uint64_t seed;  // for the elements
  bool is_removed;
} step;

const char *step_name(const step *s);  // of the public function, without "tsr_"
step_makes step_makes_what(const step *s);

// Formats step number `at` as a line of C: "t7 = tsr_add(t3, t5);".
void step_print(const step *s, int at, char *text, size_t text_bytes);

#endif
