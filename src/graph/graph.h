// SPDX-License-Identifier: MIT
// The lazy graph: operators record nodes, reading runs what it needs, fused into few kernels.
//
// An operator family (src/ops) describes its operators by tsri_op records and calls a tsri_record_ function. Nothing of
// fusion, kernels or devices is seen there, unless an operator brings a kernel of its own (TSRI_OP_KERNEL).
//
// Threads: any. One lock per device guards its pending nodes.
#ifndef TSRI_GRAPH_H
#define TSRI_GRAPH_H

#include "core/tensor.h"
#include "lang/lang.h"
#include "runtime/buffer.h"
#include "runtime/program.h"

typedef struct tsri_node tsri_node;

typedef enum tsri_op_kind {
  TSRI_OP_ELEMENTWISE,  // one output element from one element of each input; fused with neighbours
  TSRI_OP_REDUCE,       // over a set of axes; element-wise operators before and after are fused into it
  TSRI_OP_KERNEL  // brings its own launch; element-wise operators before and after it are fused where it has hooks
} tsri_op_kind;

typedef enum tsri_reduce {
  TSRI_REDUCE_NONE,
  TSRI_REDUCE_SUM,
  TSRI_REDUCE_PROD,
  TSRI_REDUCE_MAX,  // NaN if any is NaN
  TSRI_REDUCE_MIN,
  TSRI_REDUCE_ANY,  // input read as bool
  TSRI_REDUCE_ALL,
  TSRI_REDUCE_ARGMAX,  // index along the one reduced axis of the first largest (the first NaN, if there is one)
  TSRI_REDUCE_ARGMIN
} tsri_reduce;

// What a TSRI_OP_KERNEL operator gets when it runs. Inputs are computed; `layouts` says how they lie in their buffers.
typedef struct tsri_kernel_run {
  tsr_device *device;
  const tsri_node *node;
  int input_count;
  tsr_buffer *const *inputs;
  const tsri_layout *layouts;
  const tsr_dtype *input_dtypes;
  tsr_buffer *output;  // fresh, row-major, not initialised
  tsr_dtype dtype;
  tsr_shape shape;
  int output_count;
  tsr_buffer *const *outputs;            // all results, `output` first; each is fresh, row-major and not initialised
  const struct tsri_epilogue *epilogue;  // element-wise operators to run in the kernel's store; NULL: none
} tsri_kernel_run;

// An operator. Static and const: its address is its identity.
typedef struct tsri_op {
  const char *name;  // "relu", as in messages and the profiler
  tsri_op_kind kind;

  // TSRI_OP_ELEMENTWISE: an expression in the kernel language. $0 $1 $2 are the inputs, each already converted to the
  // dtype its operand asks for (f16 and bf16 arrive as f32, i8 and i16 as i32, u8 as u32); #0 #1 #2 #3 are
  // the scalars of the node (tsri_scalars) as values of type T; T is the value type of the first operand, R that of the result.
  // The result is converted to the node's dtype. Example: "max($0, T(0))".
  const char *expression;
  // Name of an embedded kernels/<helper>.tk with functions the expression calls; NULL: none.
  const char *helper;
  bool is_costly;  // worth keeping rather than computing again where it is broadcast (exp, erf, …)
  // What it is after a product that a device does itself: the addition of a bias or a residual, or an activation.
  bool is_addition;
  tsri_activation activation;

  // TSRI_OP_REDUCE
  tsri_reduce reduce;

  // TSRI_OP_KERNEL: queues the work that fills run->output.
  tsr_status (*run)(const tsri_kernel_run *run);
  uint32_t attribute_set, attribute_bytes;  // what its nodes carry: a struct of ops/operators.h
  // Whether its kernels' stores take element-wise operators that come after it, and its loads those before its first input: if these read in
  // the result's order, along its last axis (a bias), or one number. Its kernels then have the hooks of graph/epilogue.h and are fetched by
  // tsri_hooked_kernel.
  bool has_store_hook, has_load_hook;
  // Describes the node as a device's own operator (tsri_backend.native_ops), without buffers. Where a device takes it, the operator has no hooks:
  // what comes after it and is not part of the same native operator is a kernel of its own. False: there is none for such a node. NULL: never.
  bool (*describe)(const tsri_node *node, tsri_native_op *out_op);
} tsri_op;

// The same elements in memory of their own, row-major. Alone it runs as a copy of bytes, in a fusion as an element-wise operator.
extern const tsri_op tsri_op_copy;

// Most different buffers that a generated kernel reads, and so inputs of an element-wise operator: WebGPU promises eight in all. Operators with
// kernels of their own have any number of inputs.
enum { TSRI_MAX_LEAVES = 7, TSRI_MAX_SCALARS = 4 };

// Numbers of an element-wise node: passed to kernels as parameters, never part of the text, so that x * 2 and x * 3 share a kernel.
typedef struct tsri_scalars {
  int64_t count;
  double values[TSRI_MAX_SCALARS];  // #0 …; those beyond `count` are 0
} tsri_scalars;

// One input as an operator wants to see it.
typedef struct tsri_operand_ref {
  tsr_tensor *tensor;  // usable (tsri_tensor_check), any device
  tsr_dtype as;        // ELEMENTWISE: converted to this before the expression
} tsri_operand_ref;

// --- Recording ------------------------------------------------------------------------------------------------------
//
// All check nothing but what they say: callers have called tsri_tensor_check on every input. Inputs on several devices are
// brought together by the mix rule. Each returns a new tensor (the caller's or the scope's), or a failed one.

// Inputs are broadcast against each other (TSR_ERR_SHAPE with op->name if they do not fit).
tsr_tensor *tsri_record_elementwise(const tsri_op *op, tsr_dtype dtype, const tsri_operand_ref *inputs, int input_count,
                                    const tsri_scalars *scalars);

// `axes`: bit (1u << axis) for each reduced axis, all in range; 0: none (then only the conversion happens). The result has dtype `dtype`,
// and sums, products and extremes are computed in its value type (f32 for f16 and bf16). ARGMAX and ARGMIN: exactly one axis, `dtype` is an
// integer dtype. An empty extent gives the identity (0, 1, -inf, +inf, the integer limits, false, true); ARGMAX over nothing is the caller's to refuse.
tsr_tensor *tsri_record_reduce(const tsri_op *op, tsr_dtype dtype, tsr_tensor *input, uint32_t axes, bool keep_dims);

// The operator's own kernel, run when needed. `shape` and `dtype` are those of the result; `attributes` are op->attribute_bytes, which are
// copied.
tsr_tensor *tsri_record_kernel(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                               tsr_tensor *const *inputs, int input_count, const void *attributes);

// Dtype and shape of one result of an operator that has several.
typedef struct tsri_result {
  tsr_dtype dtype;
  tsr_shape shape;
} tsri_result;

// The same for an operator with several results, which one run of its kernel gives. `out_tensors` gets as many tensors, which may all be
// failed ones. Results are computed together when one of them is needed; those that were released by then are not kept.
void tsri_record_kernel_results(const tsri_op *op, tsr_device *device, const tsri_result *results, int result_count,
                                tsr_tensor *const *inputs, int input_count, const void *attributes,
                                tsr_tensor **out_tensors);

// The input's elements in memory of their own, in row-major order, seen through `layout`, which has as many and no offset.
tsr_tensor *tsri_record_copy(tsr_tensor *input, const tsri_layout *layout);

// The input's elements on another device, row-major.
tsr_tensor *tsri_record_move(tsr_tensor *input, tsr_device *device);

// Writes the elements of `source` to those of `target`, in place and in the order of recording. The source is usable, on the target's device, and has
// its dtype and shape; the target repeats no element and may be written. Where memory is shared with others (runtime/sharing.h) it runs at
// once.
//
// Errors: TSR_ERR_OUT_OF_MEMORY; what running gives, in eager mode and for shared memory.
tsr_status tsri_record_assign(tsr_tensor *target, tsr_tensor *source);

// The device an operator with these inputs runs on, by the mix rule, without moving anything.
tsr_status tsri_record_device(const char *caller, tsr_tensor *const *inputs, int input_count, tsr_device **out_device);

// --- Running --------------------------------------------------------------------------------------------------------

// Queues everything the tensor needs; afterwards tsri_tensor_buffer(tensor) is its buffer. Does not wait.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, TSR_ERR_UNSUPPORTED, TSR_ERR_BUILD, TSR_ERR_DEVICE_LOST. The tensor stays pending and may be
//         tried again.
tsr_status tsri_graph_run(tsr_tensor *tensor);

// The same for a value that the caller keeps.
tsr_status tsri_graph_run_value(tsri_value *value);

// Runs what still has to read the tensor's present elements. Call before they are overwritten; includes tsri_graph_run.
tsr_status tsri_graph_before_write(tsr_tensor *tensor);

// The same for a buffer of the device.
tsr_status tsri_graph_before_overwrite(tsr_device *device, const tsr_buffer *buffer);

// Runs pending assignments to what the tape reads or writes, and whatever still has to read what it overwrites.
struct tsri_tape;
tsr_status tsri_graph_before_play(const struct tsri_tape *tape);

// --- Launching from a TSRI_OP_KERNEL ----------------------------------------------------------------------------------

// Compile-time parameters of a kernel by their names, as arguments of a function that takes a list and its length:
// TSRI_WITH(TSRI_TYPE("T", TSR_F32), TSRI_CONSTANT("WG", 256)).
#define TSRI_TYPE(parameter, of_dtype) \
  { .name = (parameter), .is_type = true, .dtype = (of_dtype) }
#define TSRI_CONSTANT(parameter, of_value) \
  { .name = (parameter), .value = (of_value) }
#define TSRI_WITH(...) \
  (const tsri_lang_arg[]){__VA_ARGS__}, sizeof((const tsri_lang_arg[]){__VA_ARGS__}) / sizeof(tsri_lang_arg)

// A kernel of an embedded file kernels/<file>.tk with its compile-time parameters, built for `device` once and kept by it.
// Launch it with tsri_built_launch (runtime/program.h).
tsr_status tsri_embedded_kernel(tsr_device *device, const char *file, const char *kernel, const tsri_lang_arg *args,
                                size_t arg_count, const tsri_built **out_built);

#endif
