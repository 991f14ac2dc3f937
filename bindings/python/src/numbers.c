// SPDX-License-Identifier: MIT
// Python's operators on arrays: +, @, ==, +=. Each is an operator of the table; either side may be a number, a list or something with a buffer.
#include "binding.h"

// name of the slot, operator
#define TSRPY_BINARY(X)        \
  X(add, "add")                \
  X(subtract, "sub")           \
  X(multiply, "mul")           \
  X(true_divide, "div")        \
  X(floor_divide, "floor_div") \
  X(remainder, "mod")          \
  X(matrix_multiply, "matmul") \
  X(and, "bitwise_and")        \
  X(or, "bitwise_or")          \
  X(xor, "bitwise_xor")        \
  X(lshift, "shift_left")      \
  X(rshift, "shift_right")

enum {
#define TSRPY_X(slot, name) AT_##slot,
  TSRPY_BINARY(TSRPY_X)
#undef TSRPY_X
      AT_power,
  BINARY_COUNT
};
static const char *const binary_names[BINARY_COUNT] = {
#define TSRPY_X(slot, name) [AT_##slot] = name,
    TSRPY_BINARY(TSRPY_X)
#undef TSRPY_X
        [AT_power] = "pow",
};
static const char *const comparison_names[] = {
    [Py_LT] = "lt", [Py_LE] = "le", [Py_EQ] = "eq", [Py_NE] = "ne", [Py_GT] = "gt", [Py_GE] = "ge"};
enum { COMPARISON_COUNT = 6 };

enum { AT_neg, AT_abs, AT_bitwise_not, UNARY_COUNT };
static const char *const unary_names[UNARY_COUNT] = {"neg", "abs", "bitwise_not"};

static const tsrpy_operator *binary[BINARY_COUNT], *comparisons[COMPARISON_COUNT], *unary[UNARY_COUNT];

static bool is_operand(PyObject *object) {
  return tsrpy_is_array(object) || tsrpy_is_number(object) || PyList_Check(object) || PyTuple_Check(object) ||
         PyRange_Check(object) || PyObject_CheckBuffer(object);
}

static PyObject *operate(const tsrpy_operator *operator, PyObject * a, PyObject *b) {
  if (!is_operand(a) || !is_operand(b)) Py_RETURN_NOTIMPLEMENTED;
  return tsrpy_operate_two(operator, a, b);
}

// a op= b: the result is written into a's memory, which other views see. It keeps its dtype and shape.
static PyObject *operate_in_place(const tsrpy_operator *operator, PyObject * a, PyObject *b) {
  PyObject *result = operate(operator, a, b);
  if (!result || !tsrpy_is_array(result)) return result;
  if (tsrpy_is_held(a) && tsrpy_held_write((tsrpy_array *)a, result)) {
    Py_DECREF(result);
    return Py_NewRef(a);
  }
  tsr_tensor *target = tsrpy_tensor_of(a), *source = tsrpy_tensor_of(result);
  tsr_dtype from = tsr_tensor_dtype(source), to = tsr_tensor_dtype(target);
  if (tsr_dtype_kind_of(from) == TSR_KIND_FLOAT && tsr_dtype_kind_of(to) != TSR_KIND_FLOAT) {
    PyErr_Format(PyExc_TypeError, "%s in place: the result is %s, which an array of %s does not hold", operator->name,
                 tsr_dtype_name(from), tsr_dtype_name(to));
    Py_DECREF(result);
    return NULL;
  }
  tsr_status status = tsr_assign(target, source);
  Py_DECREF(result);
  return tsrpy_check(status) ? Py_NewRef(a) : NULL;
}

#define TSRPY_X(slot, name)                                                                              \
  static PyObject *operate_##slot(PyObject *a, PyObject *b) { return operate(binary[AT_##slot], a, b); } \
  static PyObject *in_place_##slot(PyObject *a, PyObject *b) { return operate_in_place(binary[AT_##slot], a, b); }
TSRPY_BINARY(TSRPY_X)
#undef TSRPY_X

static PyObject *operate_power(PyObject *a, PyObject *b, PyObject *modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return operate(binary[AT_power], a, b);
}
static PyObject *in_place_power(PyObject *a, PyObject *b, PyObject *modulo) {
  if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return operate_in_place(binary[AT_power], a, b);
}

static PyObject *negative(PyObject *x) { return tsrpy_operate_one(unary[AT_neg], x); }
static PyObject *absolute(PyObject *x) { return tsrpy_operate_one(unary[AT_abs], x); }
static PyObject *invert(PyObject *x) { return tsrpy_operate_one(unary[AT_bitwise_not], x); }
static PyObject *positive(PyObject *x) { return tsrpy_array_take(tsr_retain(tsrpy_tensor_of(x))); }

PyObject *tsrpy_compare(PyObject *a, PyObject *b, int how) { return operate(comparisons[how], a, b); }

int tsrpy_number_slots(PyType_Slot *slots) {
  const PyType_Slot all[] = {
#define TSRPY_X(slot, name) {Py_nb_##slot, operate_##slot}, {Py_nb_inplace_##slot, in_place_##slot},
      TSRPY_BINARY(TSRPY_X)
#undef TSRPY_X
          {Py_nb_power, operate_power},
      {Py_nb_inplace_power, in_place_power},
      {Py_nb_negative, negative},
      {Py_nb_positive, positive},
      {Py_nb_absolute, absolute},
      {Py_nb_invert, invert},
  };
  int count = (int)(sizeof all / sizeof all[0]);
  for (int i = 0; i < count; i++) slots[i] = all[i];
  return count;
}

bool tsrpy_numbers_init(void) {
  for (int i = 0; i < BINARY_COUNT; i++) {
    if (!(binary[i] = tsrpy_operator_find(binary_names[i]))) return false;
  }
  for (int i = 0; i < UNARY_COUNT; i++) {
    if (!(unary[i] = tsrpy_operator_find(unary_names[i]))) return false;
  }
  for (int i = 0; i < COMPARISON_COUNT; i++) {
    if (!(comparisons[i] = tsrpy_operator_find(comparison_names[i]))) return false;
  }
  return true;
}
