// SPDX-License-Identifier: MIT
// The list of operators: src/ops/operators.def with its references in plain C.
#include <math.h>

#include "check_reference.h"
#include "check_run.h"

// --- References of element-wise operators ----------------------------------------------------------------------------

#define NONE 0  // never called

// `given`: the arguments of the public function, made of the tensors t and the numbers c.
#define REFERENCE(name, given, of_real, of_whole, take_reals, take_wholes) \
  static tsr_tensor *call_##name(tsr_tensor *const *t, const double *c) {  \
    (void)c;                                                               \
    return tsr_##name given;                                               \
  }                                                                        \
  static double real_##name(const double *v) {                             \
    take_reals;                                                            \
    return (of_real);                                                      \
  }                                                                        \
  static int64_t whole_##name(tsr_dtype dtype, const int64_t *v) {         \
    (void)dtype;                                                           \
    take_wholes;                                                           \
    return (of_whole);                                                     \
  }
#define TAKE_1(type, x) \
  const type x = v[0];  \
  (void)x
#define TAKE_2(type, x, y)       \
  const type x = v[0], y = v[1]; \
  (void)x, (void)y
#define TAKE_3(type, x, y, z)              \
  const type x = v[0], y = v[1], z = v[2]; \
  (void)x, (void)y, (void)z
#define TAKE_4(type, x, y, z, w)                     \
  const type x = v[0], y = v[1], z = v[2], w = v[3]; \
  (void)x, (void)y, (void)z, (void)w

#define TSRI_ONE(name, family, text, body, check, real, whole) \
  REFERENCE(name, (t[0]), real, whole, TAKE_1(double, x), TAKE_1(int64_t, x))
#define TSRI_ONE_1(name, p, family, text, body, check, real, whole) \
  REFERENCE(name, (t[0], c[0]), real, whole, TAKE_2(double, x, p), TAKE_2(int64_t, x, p))
#define TSRI_ONE_2(name, p, q, family, text, body, check, real, whole) \
  REFERENCE(name, (t[0], c[0], c[1]), real, whole, TAKE_3(double, x, p, q), TAKE_3(int64_t, x, p, q))
#define TSRI_ONE_3(name, p, q, r, family, text, body, check, real, whole) \
  REFERENCE(name, (t[0], c[0], c[1], c[2]), real, whole, TAKE_4(double, x, p, q, r), TAKE_4(int64_t, x, p, q, r))
#define TSRI_TWO(name, family, text, body, check, real, whole) \
  REFERENCE(name, (t[0], t[1]), real, whole, TAKE_2(double, a, b), TAKE_2(int64_t, a, b))
#define TSRI_TWO_1(name, p, family, text, body, check, real, whole) \
  REFERENCE(name, (t[0], t[1], c[0]), real, whole, TAKE_3(double, a, b, p), TAKE_3(int64_t, a, b, p))
#define TSRI_THREE(name, a, b, c, family, text, body, check, real, whole) \
  REFERENCE(name, (t[0], t[1], t[2]), real, whole, TAKE_3(double, a, b, c), TAKE_3(int64_t, a, b, c))
#include "../../src/ops/operators.def"

// --- What a row says -------------------------------------------------------------------------------------------------

// A row as written in operators.def; fill_op derives the rest.
typedef struct row {
  check_op op;
  bool has_floats, has_integers, has_bools;
} row;

#define ALL    CHECK_ALL_TYPES
#define NUMBER CHECK_NUMBER_TYPES
#define FLOAT  CHECK_FLOAT_TYPES
#define WHOLE  CHECK_WHOLE_TYPES

#define RULE(r)           .op.rule = CHECK_##r,
#define FLOATS(e)         .has_floats = true,
#define INTEGERS(e)       .has_integers = true,
#define BOOLS(e)          .has_bools = true,
#define TAKES(kind)       .op.dtypes = kind,
#define BOUND(b)          .op.bound = CHECK_##b,
#define DOMAIN(d)         .op.domain = CHECK_##d,
#define MAGNITUDE(f)      .op.magnitude = f,
#define SMOOTH(from, to)  .op.smooth_from = from, .op.smooth_to = to,
#define CONSTANTS(bits)   .op.constants = bits,
#define CONDITION(factor) .op.condition = factor,
#define NO_GRADIENT       .op.has_no_gradient = true,

#define COMMON(op_name, group, what, ...) .op.name = #op_name, .op.family = group, .op.text = what, __VA_ARGS__
#define ELEMENTWISE(op_name, group, what, tensors, numbers, ...) \
  {.op.run = (numbers) > 0 ? check_scalar : check_elementwise,   \
   .op.inputs = tensors,                                         \
   .op.scalars = numbers,                                        \
   .op.call = call_##op_name,                                    \
   .op.real = real_##op_name,                                    \
   .op.whole = whole_##op_name,                                  \
   COMMON(op_name, group, what, __VA_ARGS__)},

static const row rows[] = {
#define TSRI_ONE(name, family, text, body, check, real, whole)         ELEMENTWISE(name, family, text, 1, 0, body check)
#define TSRI_ONE_1(name, p, family, text, body, check, real, whole)    ELEMENTWISE(name, family, text, 1, 1, body check)
#define TSRI_ONE_2(name, p, q, family, text, body, check, real, whole) ELEMENTWISE(name, family, text, 1, 2, body check)
#define TSRI_ONE_3(name, p, q, r, family, text, body, check, real, whole) \
  ELEMENTWISE(name, family, text, 1, 3, body check)
#define TSRI_TWO(name, family, text, body, check, real, whole)      ELEMENTWISE(name, family, text, 2, 0, body check)
#define TSRI_TWO_1(name, p, family, text, body, check, real, whole) ELEMENTWISE(name, family, text, 2, 1, body check)
#define TSRI_THREE(name, a, b, c, family, text, body, check, real, whole) \
  ELEMENTWISE(name, family, text, 3, 0, body check)
#define TSRI_REDUCTION(name, text, body, check) \
  {.op.run = check_reductions,                  \
   .op.reduction = tsr_##name,                  \
   .op.reduce = ref_##name##_of,                \
   COMMON(name, "reductions", text, body check)},
#define TSRI_OPERATOR(name, family, text, parameters, body, check) \
  {.op.run = check_##name, COMMON(name, family, text, body check)},
#include "../../src/ops/operators.def"
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

// An element-wise operator takes the dtypes that are promoted to one for which it has an expression: bool with a
// scalar becomes i32, and the rule FLOAT makes integers f32.
static uint32_t dtypes_of(const row *r) {
  if (r->op.inputs == 0) return r->op.dtypes;
  if (r->op.rule == CHECK_FLOAT || r->op.rule == CHECK_TRUTH) return CHECK_ALL_TYPES;
  bool takes_bool = r->has_bools || (r->op.scalars > 0 && r->has_integers);
  return (r->has_floats ? CHECK_FLOAT_TYPES : 0) | (r->has_integers ? CHECK_WHOLE_TYPES : 0) |
         (takes_bool ? CHECK_BOOL_TYPE : 0);
}

int check_op_count(void) { return ROW_COUNT; }

const check_op *check_op_at(int i) {
  static check_op ops[ROW_COUNT];
  ops[i] = rows[i].op;
  ops[i].dtypes = dtypes_of(&rows[i]);
  return &ops[i];
}

const char *check_rule_text(check_rule rule) {
  switch (rule) {
    case CHECK_SAME:
      return "promoted";
    case CHECK_FLOAT:
      return "promoted; integers and bool give f32";
    case CHECK_COMPARE:
    case CHECK_TRUTH:
      return "bool";
    case CHECK_WHERE:
      return "promoted from the two that are chosen from";
    case CHECK_SUMMED:
      return "as given; bool, u8, i8, i16, u16 give i32";
    case CHECK_INDEX:
      return "i32";
    case CHECK_BYTES:
      return "u8";
    default:
      return "the one asked for";
  }
}
