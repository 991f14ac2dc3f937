// SPDX-License-Identifier: MIT
// `tessera check`: compares every operator with a plain reference, on one device after the other.
//
// An operator is one row of src/ops/operators.def: its public function, its reference, the inputs it takes, and how
// exact it must be. Its `run` goes through the cases of one dtype; each case begins with check_begin and ends with
// check_result:
//
//   if (!check_begin(run, CHECK_ALWAYS, "transposed")) return;      // excluded by --op or by the level
//   check_tensor *x = check_input(run, dtype, shape, CHECK_TRANSPOSED, CHECK_ANY);
//   check_expected *wanted = check_expect(run, dtype, shape);
//   … fill wanted->values …
//   check_result(run, tsr_neg(x->tensor), wanted);
//
// The inputs depend only on the seed and the case's name, so each case can be repeated alone. Memory that a case
// allocates is freed when it ends.
#ifndef TESSERA_TOOL_CHECK_H
#define TESSERA_TOOL_CHECK_H

#include <tessera/tessera.h>

#include "check_number.h"
#include "text.h"

// --- Bounds -----------------------------------------------------------------------------------------------------------

typedef enum check_bound_id {
  CHECK_BITS,     // moved, not computed
  CHECK_EXACT,    // values equal
  CHECK_ROUNDED,  // correctly rounded
  CHECK_DIVIDED,  // as CHECK_ROUNDED, but devices may be less exact
  CHECK_QUOTIENT,
  CHECK_FUNCTION,  // accurate functions
  CHECK_POWER,
  CHECK_ACTIVATION,
  CHECK_CANCELLING,
  CHECK_SUM,
  CHECK_PRODUCT,
  CHECK_SPREAD,
  CHECK_ROWS,
  CHECK_DOT,
  CHECK_NORMAL,
  CHECK_RANDOM,
  CHECK_TRANSFORM,
  CHECK_MATRIX,
  CHECK_DIFFERENCES,  // of gradients
  CHECK_GRADIENT,
  CHECK_BOUND_COUNT
} check_bound_id;

// How large an error may be: in ULP of the result's dtype or, if the reference gives a magnitude, in roundings of that
// magnitude (in the dtype of the computation), in addition to half an ULP for storing the result. `per_term` is added
// for each term of a sum.
typedef struct check_bound {
  const char *name;
  double f64, f32, f32_elsewhere, half;  // f32 on the CPU and on other devices; half: f16, bf16 and f8
  double per_term;
  const char *unit;
  const char *reason;
} check_bound;

extern const check_bound check_bounds[CHECK_BOUND_COUNT];

// The bound for a result of this dtype on this backend.
double check_allowed(check_bound_id id, tsr_dtype dtype, const char *backend, int64_t terms);

// --- Gaps -------------------------------------------------------------------------------------------------------------

// Cases that are known to fail. If all cases of a row pass, the run fails: the row must be deleted.
typedef struct check_gap {
  const char *backend;  // NULL: all backends
  const char *pattern;  // pattern for "operator/dtype/case"
  const char *reason;
  const char *lacks;  // a dtype: applies only to devices without it, and only to TSR_ERR_UNSUPPORTED that names it; or
                      // NULL
} check_gap;

extern const check_gap check_gaps[];
extern const int check_gap_count;

// --- Operators --------------------------------------------------------------------------------------------------------

typedef struct check_run check_run;
typedef struct check_op check_op;

// How the result's dtype follows from the inputs'.
typedef enum check_rule {
  CHECK_SAME,     // the promoted dtype
  CHECK_FLOAT,    // the promoted dtype, but integers and bool become f32
  CHECK_COMPARE,  // bool
  CHECK_TRUTH,    // bool; inputs are interpreted as "not 0"
  CHECK_WHERE,    // the first input is bool, the others are promoted
  CHECK_SUMMED,   // bool and small integers become i32
  CHECK_INDEX,    // i32
  CHECK_BYTES,    // u8
  CHECK_ASKED     // given as an argument
} check_rule;

// The range of values that a tensor is filled with.
typedef enum check_domain {
  CHECK_ANY,       // all values: special, small and huge ones
  CHECK_MODERATE,  // NaN, and numbers within ±100
  CHECK_TAME,      // numbers within ±2
  CHECK_NEAR_ONE,  // 0.75 to 1.25; integers -3 to 3
  CHECK_LOGITS,    // numbers within ±10
  CHECK_SPARSE     // many zeros and equal values
} check_domain;

// The reference result of a reduction of `n` values, and the magnitude that its error is measured by.
typedef struct check_reduced {
  check_value value;
  double magnitude;
} check_reduced;

typedef tsr_tensor *(*check_reduction)(tsr_tensor *, const int *, int, bool);

// An operator, made from its row of src/ops/operators.def (check_ops.c).
struct check_op {
  const char *name, *text;  // the public function is tsr_<name>
  const char *family;
  uint32_t dtypes;  // one bit per dtype that it takes
  check_rule rule;
  check_bound_id bound;
  check_domain domain;
  void (*run)(check_run *run, const check_op *op, tsr_dtype dtype);

  // For --grad: the operator has no gradient; inputs that are constants, one bit each; the numbers that it is smooth on, if from < to.
  bool has_no_gradient;
  uint32_t constants;
  double smooth_from, smooth_to;
  double condition;  // how much roundings are magnified on the way; 0: not

  // Element-wise operators: number of tensors, then of scalar arguments. The reference gets the tensors' elements,
  // then the scalars: `real` for floats; `whole` for integers and bool, which also gets the dtype of the computation.
  int inputs, scalars;
  tsr_tensor *(*call)(tsr_tensor *const *tensors, const double *numbers);
  double (*real)(const double *arguments);
  int64_t (*whole)(tsr_dtype dtype, const int64_t *arguments);
  double (*magnitude)(const double *arguments);  // NULL: errors are in ULP

  // Reductions.
  check_reduction reduction;
  check_reduced (*reduce)(tsr_dtype dtype, const check_value *values, int64_t n);
};

#define CHECK_BIT(dtype) (1u << (dtype))
#define CHECK_FLOAT_TYPES                                                                                        \
  (CHECK_BIT(TSR_F16) | CHECK_BIT(TSR_BF16) | CHECK_BIT(TSR_F32) | CHECK_BIT(TSR_F64) | CHECK_BIT(TSR_F8_E4M3) | \
   CHECK_BIT(TSR_F8_E5M2))
#define CHECK_BOOL_TYPE    CHECK_BIT(TSR_BOOL)
#define CHECK_ALL_TYPES    ((1u << TSR_DTYPE_COUNT) - 1)
#define CHECK_WHOLE_TYPES  (CHECK_ALL_TYPES & ~CHECK_FLOAT_TYPES & ~CHECK_BOOL_TYPE)
#define CHECK_NUMBER_TYPES (CHECK_ALL_TYPES & ~CHECK_BOOL_TYPE)

// check_<name> runs the cases of the operator <name>; for each row that is not element-wise. Below are those that
// several operators share.
#define TSRI_OPERATOR(name, ...) void check_##name(check_run *run, const check_op *op, tsr_dtype dtype);
#include "../../src/ops/operators.def"
void check_elementwise(check_run *run, const check_op *op, tsr_dtype dtype);
void check_scalar(check_run *run, const check_op *op, tsr_dtype dtype);
void check_reductions(check_run *run, const check_op *op, tsr_dtype dtype);

// ref_<name>_of: the reference of the reduction <name>.
#define TSRI_REDUCTION(name, ...) check_reduced ref_##name##_of(tsr_dtype dtype, const check_value *values, int64_t n);
#include "../../src/ops/operators.def"

// Describes how the result's dtype follows from the inputs'.
const char *check_rule_text(check_rule rule);

// --- Cases ------------------------------------------------------------------------------------------------------------

typedef enum check_level { CHECK_QUICK, CHECK_USUAL, CHECK_LARGE } check_level;

// At which levels a case runs.
typedef enum check_weight {
  CHECK_ALWAYS,  // at every level
  CHECK_OFTEN,   // quick: for some of the operators and dtypes
  CHECK_HEAVY,   // quick: for few of them
  CHECK_HUGE     // only with --large
} check_weight;

// The layout of a tensor in memory.
typedef enum check_view {
  CHECK_PLAIN,
  CHECK_TRANSPOSED,  // the last two axes are exchanged
  CHECK_PERMUTED,    // all axes in reverse order
  CHECK_SLICED,      // from the middle, every second element along the last axis
  CHECK_REVERSED,    // negative strides on the first and last axis
  CHECK_EXPANDED,    // stride 0 on the first axis
  CHECK_OFFSET,      // contiguous, but not at the beginning of its memory
  CHECK_VIEW_COUNT
} check_view;

// An input: its elements in row-major order, and the tensor on the device.
typedef struct check_tensor {
  tsr_dtype dtype;
  tsr_shape shape;
  int64_t count;
  check_value *values;
  tsr_tensor *tensor;
} check_tensor;

// The expected result. Floats are not rounded to the dtype.
typedef struct check_expected {
  tsr_dtype dtype;
  tsr_shape shape;
  int64_t count;
  check_value *values;
  double *magnitudes;  // NULL: errors are in ULP
  bool *may_vanish;    // elements that are 0 if a device makes subnormal numbers on the way to them 0; NULL: none
  int64_t terms;       // number of terms of each sum
} check_expected;

// Begins the case "operator/dtype/<name>". False: it is not to be run.
bool check_begin(check_run *run, check_weight weight, const char *format, ...) TEXT_FORMAT(3, 4);

// Ends the case: reads the result and compares it.
void check_result(check_run *run, tsr_tensor *result, const check_expected *wanted);

// Ends the case: the call must have been refused with this status.
void check_refused(check_run *run, tsr_tensor *result, tsr_status status);

// Ends the case as failed, with a message.
void check_fail(check_run *run, const char *format, ...) TEXT_FORMAT(2, 3);

// Ends the case: a call that gives its results through pointers returned this status. A dtype that the device lacks is a gap, as for a failed tensor.
void check_call_failed(check_run *run, tsr_status status);

// Compares one of several results of a case; call it for all results but the last.
void check_part_result(check_run *run, tsr_tensor *result, const check_expected *wanted);

tsr_device *check_device(const check_run *run);

// Whether gradients are compared, with --grad, in place of results.
bool check_takes_gradients(const check_run *run);

// Whether the device's arithmetic keeps subnormal numbers, which the language leaves open.
bool check_keeps_subnormals(const check_run *run);

// From here to check_result only recording is allowed: a launch, a copy or an allocation on the device fails the case.
// No input may be created after this call.
void check_idle_begin(check_run *run);

// Allows work again: for an operator whose contract says that it runs what is pending. Call it after the last input is created.
void check_waits(check_run *run);

// Allocates zeroed memory that is freed at the end of the case. If there is none, the program ends.
void *check_alloc(check_run *run, size_t count, size_t bytes);

// A random number below `limit`, from the case's own random sequence.
uint64_t check_random(check_run *run, uint64_t limit);

// An input with random values, and one with given values, which are copied. A failure's message describes them.
check_tensor *check_input(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view, check_domain domain);
check_tensor *check_input_of(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view,
                             const check_value *values);

// An input with random indices from `least` to `most`.
check_tensor *check_indices(check_run *run, tsr_dtype dtype, tsr_shape shape, check_view view, int64_t least,
                            int64_t most);

check_expected *check_expect(check_run *run, tsr_dtype dtype, tsr_shape shape);

// Adds to the description of the inputs in a failure's message.
void check_note(check_run *run, const char *format, ...) TEXT_FORMAT(2, 3);

// --- Values (check_values.c) ------------------------------------------------------------------------------------------

// The special values of a dtype, at most CHECK_MAX_SPECIALS. Returns how many there are.
enum { CHECK_MAX_SPECIALS = 64 };
int check_specials(check_run *run, tsr_dtype dtype, check_domain domain, check_value *out_values);

check_value check_random_value(check_run *run, tsr_dtype dtype, check_domain domain);

// --- Shapes -----------------------------------------------------------------------------------------------------------

int64_t check_count(tsr_shape shape);
void check_unravel(tsr_shape shape, int64_t at, int64_t *out_index);
int64_t check_ravel(tsr_shape shape, const int64_t *index);

// The element of `from` at `index` of a larger shape that `from` is broadcast to.
int64_t check_broadcast_at(tsr_shape from, int rank, const int64_t *index);
tsr_shape check_broadcast(tsr_shape a, tsr_shape b);
bool check_same_shape(tsr_shape a, tsr_shape b);

// Type promotion, implemented independently of the library.
tsr_dtype check_promote(tsr_dtype a, tsr_dtype b);
tsr_dtype check_summed(tsr_dtype dtype);
tsr_dtype check_float(tsr_dtype dtype);

#endif
