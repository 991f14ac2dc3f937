// SPDX-License-Identifier: MIT
// A second, simple interpreter of the checked form: one item after the other, one value at a time. Tests compare the interpreter's results with it.
//
// Without barriers, collectives and atomics, because these items cannot run one after the other. Transcendental functions are the C library's, in f64.
#ifndef TSRI_CPU_LANES_REFERENCE_TESTING_H
#define TSRI_CPU_LANES_REFERENCE_TESTING_H

#include <math.h>

#include "lang/ir/ir.h"
#include "support/test.h"

#if defined(__GNUC__)
#define REF __attribute__((unused)) static
#else
#define REF static
#endif

typedef struct ref_value {
  uint64_t part[4];  // bits; 32-bit types in the low half
} ref_value;

typedef struct ref_buffer {
  void *memory;
  size_t count;
} ref_buffer;

typedef struct ref_item {
  const tsri_kernel *kernel;
  ref_buffer buffers[32];
  const void *params;
  uint32_t groups[3], group[3], local[3];
  ref_value *vars;
  unsigned char *locals;  // local arrays, one after the other
} ref_item;

REF float as_f32(uint64_t bits) {
  uint32_t low = (uint32_t)bits;
  float x;
  memcpy(&x, &low, sizeof x);
  return x;
}
REF double as_f64(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
REF uint64_t from_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
REF uint64_t from_f64(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}
REF bool ref_is_float(uint8_t dtype) { return dtype == TSR_F32 || dtype == TSR_F64; }
REF bool ref_is_wide(uint8_t dtype) { return dtype == TSR_I64 || dtype == TSR_F64; }
REF int64_t as_int(uint64_t bits, uint8_t dtype) {
  return dtype == TSR_I64 ? (int64_t)bits : dtype == TSR_I32 ? (int32_t)(uint32_t)bits : (int64_t)(uint32_t)bits;
}
REF double as_double(uint64_t bits, uint8_t dtype) { return dtype == TSR_F32 ? (double)as_f32(bits) : as_f64(bits); }
REF uint64_t from_double(double x, uint8_t dtype) { return dtype == TSR_F32 ? from_f32((float)x) : from_f64(x); }
REF uint64_t from_int(uint64_t x, uint8_t dtype) { return dtype == TSR_I64 ? x : (uint32_t)x; }

// Converts a value of dtype `from` to `to` by tsr_convert, and loads that as `to`'s value type.
REF uint64_t ref_convert(uint64_t bits, uint8_t from, uint8_t to) {
  unsigned char source[8], narrow[8];
  uint64_t out = 0;
  memcpy(source, &bits, sizeof source);
  if (from == TSR_BOOL) source[0] = bits != 0;
  CHECK_OK(tsr_convert((tsr_dtype)to, narrow, (tsr_dtype)from, source, 1));
  tsr_dtype wide = tsri_ir_compute_dtype((tsr_dtype)to);
  CHECK_OK(tsr_convert(wide, &out, (tsr_dtype)to, narrow, 1));
  return out;
}

// --- Operations ---

REF double ref_function(uint8_t op, double x, double y) {
  switch (op) {
    case TSRI_OP_SQRT:
      return sqrt(x);
    case TSRI_OP_RSQRT:
      return 1 / sqrt(x);
    case TSRI_OP_EXP:
      return exp(x);
    case TSRI_OP_EXP2:
      return exp2(x);
    case TSRI_OP_EXPM1:
      return expm1(x);
    case TSRI_OP_LOG:
      return log(x);
    case TSRI_OP_LOG2:
      return log2(x);
    case TSRI_OP_LOG10:
      return log10(x);
    case TSRI_OP_LOG1P:
      return log1p(x);
    case TSRI_OP_SIN:
      return sin(x);
    case TSRI_OP_COS:
      return cos(x);
    case TSRI_OP_TAN:
      return tan(x);
    case TSRI_OP_ASIN:
      return asin(x);
    case TSRI_OP_ACOS:
      return acos(x);
    case TSRI_OP_ATAN:
      return atan(x);
    case TSRI_OP_ATAN2:
      return atan2(x, y);
    case TSRI_OP_SINH:
      return sinh(x);
    case TSRI_OP_COSH:
      return cosh(x);
    case TSRI_OP_TANH:
      return tanh(x);
    case TSRI_OP_ERF:
      return erf(x);
    case TSRI_OP_POW:
      return pow(x, y);
    default:
      test_fail(__FILE__, __LINE__, "no function %d", op);
  }
}

REF uint64_t ref_int_op(uint8_t op, uint8_t dtype, uint64_t a, uint64_t b) {
  int64_t x = as_int(a, dtype), y = as_int(b, dtype);
  int width = dtype == TSR_I64 ? 64 : 32;
  int64_t least = dtype == TSR_I64 ? INT64_MIN : INT32_MIN;
  bool overflows = y == -1 && x == least && dtype != TSR_U32;
  switch (op) {
    case TSRI_OP_NEG:
      return 0 - a;
    case TSRI_OP_BIT_NOT:
      return ~a;
    case TSRI_OP_ADD:
      return a + b;
    case TSRI_OP_SUB:
      return a - b;
    case TSRI_OP_MUL:
      return a * b;
    case TSRI_OP_DIV:
      return y == 0 || overflows ? (uint64_t)x : (uint64_t)(x / y);
    case TSRI_OP_REM:
      return y == 0 || overflows ? 0 : (uint64_t)(x % y);
    case TSRI_OP_SHL:
      return a << ((uint32_t)b & (uint32_t)(width - 1));
    case TSRI_OP_SHR:
      return (uint64_t)(x >> ((uint32_t)b & (uint32_t)(width - 1)));
    case TSRI_OP_MIN:
      return (uint64_t)(x < y ? x : y);
    case TSRI_OP_MAX:
      return (uint64_t)(x > y ? x : y);
    case TSRI_OP_ABS:
      return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
    case TSRI_OP_SIGN:
      return (uint64_t)(int64_t)((x > 0) - (x < 0));
    case TSRI_OP_MULHI:
      return (uint64_t)x * (uint64_t)y >> 32;
    case TSRI_OP_POPCOUNT:
    case TSRI_OP_CLZ:
    case TSRI_OP_CTZ: {
      uint64_t ones = 0, above = 0, below = 0;
      for (int i = 0; i < width; i++) {
        ones += a >> i & 1;
        above = a >> i & 1 ? 0 : above + 1;
      }
      while (below < (uint64_t)width && !(a >> below & 1)) below++;
      return op == TSRI_OP_POPCOUNT ? ones : op == TSRI_OP_CLZ ? above : below;
    }
    default:
      test_fail(__FILE__, __LINE__, "no integer operation %d", op);
  }
}

REF uint64_t ref_float_op(uint8_t op, uint8_t dtype, uint64_t a, uint64_t b, uint64_t c) {
  double x = as_double(a, dtype), y = as_double(b, dtype), z = as_double(c, dtype);
  bool is_f32 = dtype == TSR_F32;
  uint64_t sign = is_f32 ? UINT64_C(1) << 31 : UINT64_C(1) << 63;
  switch (op) {
    case TSRI_OP_NEG:
      return a ^ sign;
    case TSRI_OP_ABS:
      return a & ~sign;
    case TSRI_OP_ADD:
      return is_f32 ? from_f32(as_f32(a) + as_f32(b)) : from_f64(x + y);
    case TSRI_OP_SUB:
      return is_f32 ? from_f32(as_f32(a) - as_f32(b)) : from_f64(x - y);
    case TSRI_OP_MUL:
      return is_f32 ? from_f32(as_f32(a) * as_f32(b)) : from_f64(x * y);
    case TSRI_OP_DIV:
      return is_f32 ? from_f32(as_f32(a) / as_f32(b)) : from_f64(x / y);
    case TSRI_OP_MIN:
      return x < y || isnan(x) ? a : b;
    case TSRI_OP_MAX:
    case TSRI_OP_LOOSE_MAX:
      return x > y || isnan(x) ? a : b;
    case TSRI_OP_SIGN:
      return x > 0 ? from_double(1, dtype) : x < 0 ? from_double(-1, dtype) : a;
    case TSRI_OP_FLOOR:
      return from_double(floor(x), dtype);
    case TSRI_OP_CEIL:
      return from_double(ceil(x), dtype);
    case TSRI_OP_ROUND:
      return from_double(rint(x), dtype);
    case TSRI_OP_TRUNC:
      return from_double(trunc(x), dtype);
    case TSRI_OP_FMA:
      return is_f32 ? from_f32(fmaf(as_f32(a), as_f32(b), as_f32(c))) : from_f64(fma(x, y, z));
    case TSRI_OP_ISNAN:
      return x != x;
    case TSRI_OP_LOOSE_LESS:
      return x < y;
    case TSRI_OP_ISINF:
      return fabs(x) == INFINITY;
    case TSRI_OP_ISFINITE:
      return fabs(x) < INFINITY;
    default:
      return from_double(ref_function(op, x, y), dtype);
  }
}

REF bool ref_compare(uint8_t op, uint8_t dtype, uint64_t a, uint64_t b) {
  bool less, equal;
  if (ref_is_float(dtype)) {
    double x = as_double(a, dtype), y = as_double(b, dtype);
    if (isnan(x) || isnan(y)) return op == TSRI_OP_NE;
    less = x < y;
    equal = x == y;
  } else {
    less = as_int(a, dtype) < as_int(b, dtype);
    equal = as_int(a, dtype) == as_int(b, dtype);
  }
  switch (op) {
    case TSRI_OP_EQ:
      return equal;
    case TSRI_OP_NE:
      return !equal;
    case TSRI_OP_LT:
      return less;
    case TSRI_OP_LE:
      return less || equal;
    case TSRI_OP_GT:
      return !less && !equal;
    default:
      return !less;
  }
}

REF uint64_t ref_op(const tsri_ir_expr *e, uint8_t dtype, uint64_t a, uint64_t b, uint64_t c) {
  switch (e->op) {
    case TSRI_OP_NOT:
      return a == 0;
    case TSRI_OP_AND:
      return a & b;
    case TSRI_OP_OR:
      return a | b;
    case TSRI_OP_XOR:
      return a ^ b;
    case TSRI_OP_SELECT:
      return a ? b : c;
    case TSRI_OP_EQ:
    case TSRI_OP_NE:
    case TSRI_OP_LT:
    case TSRI_OP_LE:
    case TSRI_OP_GT:
    case TSRI_OP_GE:
      return ref_compare(e->op, dtype, a, b);
    default:
      break;
  }
  if (ref_is_float(dtype)) return ref_float_op(e->op, dtype, a, b, c);
  return from_int(ref_int_op(e->op, dtype, a, b), e->type.dtype);
}

// --- Expressions ---

REF ref_value ref_eval(ref_item *item, uint32_t expr);

REF unsigned char *ref_element(ref_item *item, uint8_t space, uint32_t object, uint64_t index) {
  const tsri_kernel *k = item->kernel;
  const tsri_ir_array *array = tsri_ir_array_of(k, (tsri_ir_space)space, object);
  size_t bytes = tsr_dtype_bytes((tsr_dtype)array->storage);
  if (space == TSRI_SPACE_BUFFER) {
    if (index >= item->buffers[object].count) test_fail(__FILE__, __LINE__, "%s[%ju]", array->name, (uintmax_t)index);
    return (unsigned char *)item->buffers[object].memory + index * bytes;
  }
  CHECK(space == TSRI_SPACE_LOCAL && index < array->count);
  size_t at = 0;
  for (uint32_t i = 0; i < object; i++) at += k->locals[i].count * 8u;
  return item->locals + at + index * bytes;
}

REF ref_value ref_id(const ref_item *item, const tsri_ir_expr *e) {
  uint32_t axis = e->lane;
  switch (e->op) {
    case TSRI_ID_GROUP:
      return (ref_value){.part = {item->group[axis]}};
    case TSRI_ID_GROUPS:
      return (ref_value){.part = {item->groups[axis]}};
    case TSRI_ID_LOCAL:
      return (ref_value){.part = {item->local[axis]}};
    case TSRI_ID_GLOBAL:
      return (ref_value){.part = {(uint32_t)(item->group[axis] * item->kernel->group_size[axis] + item->local[axis])}};
    default:
      test_fail(__FILE__, __LINE__, "no id %d", e->op);
  }
}

REF ref_value ref_load(ref_item *item, const tsri_ir_expr *e) {
  const tsri_ir_array *array = tsri_ir_array_of(item->kernel, (tsri_ir_space)e->space, e->object);
  uint64_t index = ref_eval(item, e->a).part[0];
  if (item->kernel->exprs[e->a].type.dtype == TSR_I32) index = (uint64_t)(int64_t)(int32_t)index;
  index -= index % e->type.lanes;
  ref_value out = {0};
  for (uint32_t i = 0; i < e->type.lanes; i++) {
    uint64_t bits = 0;
    memcpy(&bits, ref_element(item, e->space, e->object, index + i), tsr_dtype_bytes((tsr_dtype)array->storage));
    tsr_dtype wide = tsri_ir_compute_dtype((tsr_dtype)array->storage);
    CHECK_OK(tsr_convert(wide, &out.part[i], (tsr_dtype)array->storage, &bits, 1));
  }
  return out;
}

REF ref_value ref_eval_op(ref_item *item, const tsri_ir_expr *e) {
  ref_value args[3] = {{{0}}, {{0}}, {{0}}}, out = {0};
  for (uint8_t i = 0; i < tsri_ir_op_infos[e->op].arity; i++) args[i] = ref_eval(item, e->args[i]);
  uint8_t dtype = item->kernel->exprs[e->a].type.dtype;
  if (e->op == TSRI_OP_ANY || e->op == TSRI_OP_ALL) {
    uint32_t trues = 0, lanes = item->kernel->exprs[e->a].type.lanes;
    for (uint32_t i = 0; i < lanes; i++) trues += args[0].part[i] != 0;
    out.part[0] = e->op == TSRI_OP_ANY ? trues != 0 : trues == lanes;
    return out;
  }
  for (uint32_t i = 0; i < e->type.lanes; i++) {
    out.part[i] = ref_op(e, dtype, args[0].part[i], args[1].part[i], args[2].part[i]);
  }
  return out;
}

REF ref_value ref_eval(ref_item *item, uint32_t expr) {
  const tsri_ir_expr *e = &item->kernel->exprs[expr];
  ref_value a, out = {0};
  switch ((tsri_ir_expr_kind)e->kind) {
    case TSRI_EXPR_CONST:
      return (ref_value){.part = {e->bits}};
    case TSRI_EXPR_VAR:
      return item->vars[e->object];
    case TSRI_EXPR_SCALAR: {
      const tsri_ir_param *param = &item->kernel->params[e->object];
      memcpy(&out.part[0], (const char *)item->params + param->offset, ref_is_wide(param->type.dtype) ? 8 : 4);
      return out;
    }
    case TSRI_EXPR_ID:
      return ref_id(item, e);
    case TSRI_EXPR_OP:
      return ref_eval_op(item, e);
    case TSRI_EXPR_AND_THEN:
      return ref_eval(item, e->a).part[0] ? ref_eval(item, e->b) : out;
    case TSRI_EXPR_OR_ELSE:
      a = ref_eval(item, e->a);
      return a.part[0] ? a : ref_eval(item, e->b);
    case TSRI_EXPR_COND:
      return ref_eval(item, e->a).part[0] ? ref_eval(item, e->b) : ref_eval(item, e->c);
    case TSRI_EXPR_CONVERT:
      a = ref_eval(item, e->a);
      for (uint32_t i = 0; i < e->type.lanes; i++) {
        out.part[i] = ref_convert(a.part[i], item->kernel->exprs[e->a].type.dtype, e->dtype);
      }
      return out;
    case TSRI_EXPR_BITCAST:
      return ref_eval(item, e->a);
    case TSRI_EXPR_SPLAT:
      a = ref_eval(item, e->a);
      for (uint32_t i = 0; i < e->type.lanes; i++) out.part[i] = a.part[0];
      return out;
    case TSRI_EXPR_VECTOR:
      for (uint32_t i = 0; i < e->type.lanes; i++) out.part[i] = ref_eval(item, e->args[i]).part[0];
      return out;
    case TSRI_EXPR_EXTRACT:
      out.part[0] = ref_eval(item, e->a).part[e->lane];
      return out;
    case TSRI_EXPR_INSERT:
      out = ref_eval(item, e->a);
      out.part[e->lane] = ref_eval(item, e->b).part[0];
      return out;
    case TSRI_EXPR_LOAD:
      return ref_load(item, e);
    case TSRI_EXPR_NONE:
      break;
  }
  test_fail(__FILE__, __LINE__, "no expression %d", e->kind);
}

// --- Statements ---

typedef enum ref_flow { REF_NEXT, REF_BREAK, REF_CONTINUE } ref_flow;

REF ref_flow ref_block(ref_item *item, uint32_t stmt);

REF void ref_store(ref_item *item, const tsri_ir_stmt *s) {
  const tsri_ir_array *array = tsri_ir_array_of(item->kernel, (tsri_ir_space)s->space, s->object);
  const tsri_ir_expr *value = &item->kernel->exprs[s->value];
  uint64_t index = ref_eval(item, s->index).part[0];
  if (item->kernel->exprs[s->index].type.dtype == TSR_I32) index = (uint64_t)(int64_t)(int32_t)index;
  index -= index % value->type.lanes;
  ref_value from = ref_eval(item, s->value);
  for (uint32_t i = 0; i < value->type.lanes; i++) {
    void *to = ref_element(item, s->space, s->object, index + i);
    uint64_t bits = from.part[i];
    CHECK_OK(tsr_convert((tsr_dtype)array->storage, to, (tsr_dtype)value->type.dtype, &bits, 1));
  }
}

REF ref_flow ref_loop(ref_item *item, const tsri_ir_stmt *s) {
  while (s->value == 0 || ref_eval(item, s->value).part[0]) {
    if (ref_block(item, s->body) == REF_BREAK) break;
    ref_block(item, s->other);
  }
  return REF_NEXT;
}

REF ref_flow ref_block(ref_item *item, uint32_t stmt) {
  for (; stmt != 0; stmt = item->kernel->stmts[stmt].next) {
    const tsri_ir_stmt *s = &item->kernel->stmts[stmt];
    ref_flow flow = REF_NEXT;
    switch ((tsri_ir_stmt_kind)s->kind) {
      case TSRI_STMT_ASSIGN:
        item->vars[s->var] = ref_eval(item, s->value);
        break;
      case TSRI_STMT_STORE:
        ref_store(item, s);
        break;
      case TSRI_STMT_CLEAR:
        memset(ref_element(item, TSRI_SPACE_LOCAL, s->object, 0), 0, item->kernel->locals[s->object].count * 8u);
        break;
      case TSRI_STMT_IF:
        flow = ref_block(item, ref_eval(item, s->value).part[0] ? s->body : s->other);
        break;
      case TSRI_STMT_LOOP:
        flow = ref_loop(item, s);
        break;
      case TSRI_STMT_BREAK:
        return REF_BREAK;
      case TSRI_STMT_CONTINUE:
        return REF_CONTINUE;
      default:
        test_fail(__FILE__, __LINE__, "no statement %d", s->kind);
    }
    if (flow != REF_NEXT) return flow;
  }
  return REF_NEXT;
}

// Runs all groups.
REF void ref_run(const tsri_kernel *kernel, const ref_buffer *buffers, const void *params, const uint32_t groups[3]) {
  ref_item item = {.kernel = kernel, .params = params};
  memcpy(item.buffers, buffers, kernel->buffer_count * sizeof *buffers);
  memcpy(item.groups, groups, sizeof item.groups);
  size_t local_bytes = 8;
  for (uint32_t i = 0; i < kernel->local_count; i++) local_bytes += kernel->locals[i].count * 8u;
  item.vars = calloc(kernel->var_count + 1, sizeof *item.vars);
  item.locals = calloc(1, local_bytes);
  const uint32_t *size = kernel->group_size;
  uint64_t per_group = (uint64_t)size[0] * size[1] * size[2];
  uint64_t count = per_group * groups[0] * groups[1] * groups[2];
  for (uint64_t i = 0; i < count; i++) {
    uint64_t group = i / per_group, local = i % per_group;
    item.group[0] = (uint32_t)(group % groups[0]);
    item.group[1] = (uint32_t)(group / groups[0] % groups[1]);
    item.group[2] = (uint32_t)(group / groups[0] / groups[1]);
    item.local[0] = (uint32_t)(local % size[0]);
    item.local[1] = (uint32_t)(local / size[0] % size[1]);
    item.local[2] = (uint32_t)(local / size[0] / size[1]);
    ref_block(&item, kernel->body);
  }
  free(item.vars);
  free(item.locals);
}

#endif
