// SPDX-License-Identifier: MIT
// The lazy graph: operators record nodes; reading a tensor plans the pending nodes it needs, fuses them into few
// kernels and runs them.
//
// An operator family (src/ops) describes its operators by tsri_op records and calls a tsri_record_ function. Fusion,
// generated kernels and devices are the graph's business; only an operator with a kernel of its own (TSRI_OP_KERNEL)
// launches anything itself.
//
// Threads: any. One lock per device (tsri_graph_state.lock) guards its pending nodes.
#ifndef TSRI_GRAPH_H
#define TSRI_GRAPH_H

#include "core/tensor.h"
#include "lang/lang.h"
#include "runtime/buffer.h"
#include "runtime/program.h"

typedef struct tsri_node tsri_node;

typedef enum tsri_op_kind {
  // Computes one output element from one element of each input. Fused with its neighbours.
  TSRI_OP_ELEMENTWISE,
  // Reduces over a set of axes. Element-wise operators before and after it are fused into its kernel.
  TSRI_OP_REDUCE,
  // Launches a kernel written for this operator (tsri_op.run). Element-wise operators before and after it are fused into that kernel if it has hooks.
  TSRI_OP_KERNEL
} tsri_op_kind;

typedef enum tsri_reduce {
  TSRI_REDUCE_NONE,
  TSRI_REDUCE_SUM,
  TSRI_REDUCE_PROD,
  TSRI_REDUCE_MAX,  // NaN if any element is NaN
  TSRI_REDUCE_MIN,
  TSRI_REDUCE_ANY,  // the input is converted to bool first
  TSRI_REDUCE_ALL,
  // Index, along the one reduced axis, of the first largest element, or of the first NaN if there is one.
  TSRI_REDUCE_ARGMAX,
  TSRI_REDUCE_ARGMIN
} tsri_reduce;

// Arguments of tsri_op.run. layouts[i] is the layout of input i in the buffer inputs[i]. All inputs have been computed,
// except the first one if the epilogue computes it in the kernel's load hook.
typedef struct tsri_kernel_run {
  tsr_device *device;
  const tsri_node *node;
  int input_count;
  tsr_buffer *const *inputs;
  const tsri_layout *layouts;
  const tsr_dtype *input_dtypes;
  tsr_buffer *output;  // newly allocated, row-major, uninitialised
  tsr_dtype dtype;
  tsr_shape shape;
  int output_count;
  // All results; outputs[0] is `output`. Each is newly allocated, row-major and uninitialised.
  tsr_buffer *const *outputs;
  // Element-wise operators to fuse into the kernel's load and store hooks; NULL: none.
  const struct tsri_epilogue *epilogue;
} tsri_kernel_run;

// How an operator computes in a range of autocast (ops/autocast.h). NARROW: f32 in the range's dtype. WIDE: f16 and
// bf16 in f32.
typedef enum tsri_autocast_kind { TSRI_AUTOCAST_NONE, TSRI_AUTOCAST_NARROW, TSRI_AUTOCAST_WIDE } tsri_autocast_kind;

// An operator. Static and const: its address is its identity.
typedef struct tsri_op {
  const char *name;  // "relu", as in messages and the profiler
  tsri_op_kind kind;

  // TSRI_OP_ELEMENTWISE: the operator's body, an expression in the kernel language. $0 $1 $2 are the inputs, each
  // already converted to the dtype its operand asks for (f16 and bf16 arrive as f32, i8 and i16 as i32, u8 as u32). #0
  // #1 #2 #3 are the node's scalars (tsri_scalars) as values of type T. T is the value type of the first operand, R
  // that of the result. The result is converted to the node's dtype. Example: "max($0, T(0))".
  const char *expression;
  // Name of the embedded file kernels/<helper>.tk that defines the functions the expression calls; NULL: none.
  const char *helper;
  // Expensive to compute (exp, erf, …): where its result is broadcast, it is computed once and stored instead of being
  // fused and computed again for each reader.
  bool is_costly;
  // The part of a device's native matrix product that this operator can become if it reads the product's result. is_addition: the addition of a bias or of a
  // residual. activation: an activation function; TSRI_ACTIVATION_NONE if it is none.
  bool is_addition;
  tsri_activation activation;
  tsri_autocast_kind autocast;

  // TSRI_OP_REDUCE
  tsri_reduce reduce;

  // The operator is recorded only for devices that have a native operator for it or compute it fast. Other devices may be unable to run it, so placement
  // (place.h) leaves its graph on its device.
  bool is_for_device;

  // TSRI_OP_KERNEL without inputs: its attributes are often the same, unlike those of random numbers, so that it may be in the launch cache (single.h).
  bool is_sequence;

  // TSRI_OP_KERNEL: queues the work that fills run->outputs.
  tsr_status (*run)(const tsri_kernel_run *run);
  // The struct of parameters that its nodes carry: the number and the size of a set in ops/operators.h.
  uint32_t attribute_set, attribute_bytes;
  // has_store_hook: the kernel's stores can compute the element-wise operators that read its result. has_load_hook: its loads can compute the element-wise
  // operators that produce its first input. Every other tensor that these operators read must have one element for each element of the result, in the same
  // order; or one element for each index on the result's last axis (a bias); or a single element. The kernel must declare the hooks of graph/epilogue.h and be
  // fetched by tsri_hooked_kernel.
  bool has_store_hook, has_load_hook;
  // has_wide_hook: as has_store_hook, but only on devices whose work items take several elements (fused_bytes of tuning.def). The result of the operators in
  // the store may have any dtype (tsri_epilogue_dtype).
  bool has_wide_hook;
  // has_cast_hook: beside has_store_hook, on the same devices as has_wide_hook. The result of the operators in the store may be another float of up to 32 bits
  // (tsri_epilogue_dtype).
  bool has_cast_hook;
  // has_axis_hook: operators in its stores may also read a tensor with one element for each index on an axis that is not the last, such as one for each
  // channel. Used on devices that keep rows in registers (row_held of tuning.def); on others, the device's native operator followed by a separate kernel is
  // faster.
  bool has_axis_hook;
  // Describes the node as one of the device's native operators (tsri_backend.native_ops), without buffers. If the device takes that operator, the hooks above
  // are not used: element-wise operators that the native operator does not include run in a separate kernel. Returns false if no native operator fits this
  // node. NULL: no native operator fits any node of this operator.
  bool (*describe)(const tsri_node *node, tsri_native_op *out_op);
} tsri_op;

// Copies its input to new row-major memory. Alone it runs as a copy of bytes, in a fusion as an element-wise operator.
extern const tsri_op tsri_op_copy;

// TSRI_MAX_LEAVES: how many different buffers a generated kernel may read, and so how many inputs an element-wise
// operator may have. WebGPU guarantees eight bindings, and one is the output. Operators with their own kernel may have
// any number of inputs.
enum { TSRI_MAX_LEAVES = 7, TSRI_MAX_SCALARS = 4 };

// Scalars of an element-wise node. They are kernel parameters and never part of the kernel's text, so x * 2 and x * 3
// share a kernel.
typedef struct tsri_scalars {
  int64_t count;
  double values[TSRI_MAX_SCALARS];  // #0 …; entries from `count` on are 0
} tsri_scalars;

// One input of an element-wise operator.
typedef struct tsri_operand_ref {
  tsr_tensor *tensor;  // has passed tsri_tensor_check; may be on any device
  tsr_dtype as;        // dtype it is converted to before the expression
} tsri_operand_ref;

// --- Recording ------------------------------------------------------------------------------------------------------
//
// These functions assume that every input has passed tsri_tensor_check, and check only what their comments say. Inputs
// on several devices are moved to one device by the mix rule. Each returns a new tensor, owned by the caller or the
// caller's scope; on failure it is a failed tensor.

// Broadcasts the inputs against each other. TSR_ERR_SHAPE, with op->name in the message, if they do not fit.
tsr_tensor *tsri_record_elementwise(const tsri_op *op, tsr_dtype dtype, const tsri_operand_ref *inputs, int input_count,
                                    const tsri_scalars *scalars);

// `axes` has bit (1u << axis) set for each reduced axis, all in range; 0 reduces nothing and only converts. The result
// has dtype `dtype`; sums, products and extremes are computed in its value type (f32 for f16 and bf16). ARGMAX and
// ARGMIN take exactly one axis and an integer `dtype`. Reducing zero elements gives the identity (0, 1, -inf, +inf, the
// integer limits, false, true); for ARGMAX and ARGMIN the caller must refuse that.
tsr_tensor *tsri_record_reduce(const tsri_op *op, tsr_dtype dtype, tsr_tensor *input, uint32_t axes, bool keep_dims);

// Records an operator that has its own kernel (op->run). `shape` and `dtype` are those of the result.
// op->attribute_bytes bytes are copied from `attributes`.
tsr_tensor *tsri_record_kernel(const tsri_op *op, tsr_device *device, tsr_dtype dtype, tsr_shape shape,
                               tsr_tensor *const *inputs, int input_count, const void *attributes);

// Dtype and shape of one result of an operator that has several.
typedef struct tsri_result {
  tsr_dtype dtype;
  tsr_shape shape;
} tsri_result;

// As tsri_record_kernel, for an operator with `result_count` results that one call of op->run computes. Fills
// `out_tensors` with that many tensors; on failure all of them are failed tensors. All results are computed when the
// first of them is needed; results whose tensors were released by then are freed after the run.
void tsri_record_kernel_results(const tsri_op *op, tsr_device *device, const tsri_result *results, int result_count,
                                tsr_tensor *const *inputs, int input_count, const void *attributes,
                                tsr_tensor **out_tensors);

// Records a copy of the input to new row-major memory. The returned tensor has layout `layout`, which must have as many
// elements as the input and offset 0.
tsr_tensor *tsri_record_copy(tsr_tensor *input, const tsri_layout *layout);

// Records a copy of the input to `device`, row-major.
tsr_tensor *tsri_record_move(tsr_tensor *input, tsr_device *device);

// Records a write of the elements of `source` into those of `target`. Writes happen in the order of recording. `source`
// must be usable, on the device of `target`, and have its dtype and shape. `target` must be writable, and no two of its
// indices may address the same element. If its memory is shared with others (runtime/sharing.h), the write runs at
// once.
//
// Errors: TSR_ERR_OUT_OF_MEMORY; in eager mode and for shared memory also those of tsri_graph_run.
tsr_status tsri_record_assign(tsr_tensor *target, tsr_tensor *source);

// Chooses, by the mix rule, the device an operator with these inputs runs on. Moves nothing.
tsr_status tsri_record_device(const char *caller, tsr_tensor *const *inputs, int input_count, tsr_device **out_device);

// --- Running --------------------------------------------------------------------------------------------------------

// Queues everything needed to compute the tensor; afterwards tsri_tensor_buffer(tensor) is its buffer. Does not wait.
//
// Errors: TSR_ERR_OUT_OF_MEMORY, TSR_ERR_UNSUPPORTED, TSR_ERR_BUILD, TSR_ERR_DEVICE_LOST. The tensor then stays
// pending, and a later call tries again.
tsr_status tsri_graph_run(tsr_tensor *tensor);

// As tsri_graph_run, for several tensors of one device, in one plan: nodes that several of the tensors need are computed once.
//
// Errors: also TSR_ERR_OUT_OF_MEMORY (host).
tsr_status tsri_graph_run_all(tsr_tensor *const *tensors, int count);

// As tsri_graph_run, for a value instead of a tensor. The caller holds a reference to the value.
tsr_status tsri_graph_run_value(tsri_value *value);

// Call before overwriting the tensor's elements. Runs the tensor itself (tsri_graph_run), then every pending node that
// reads its present elements.
tsr_status tsri_graph_before_write(tsr_tensor *tensor);

// As tsri_graph_before_write, for a buffer of the device.
tsr_status tsri_graph_before_overwrite(tsr_device *device, const tsr_buffer *buffer);

// Call before playing `tape`. Runs the pending assignments to memory that the tape reads or writes, then the pending
// nodes that read a buffer the tape overwrites.
struct tsri_tape;
tsr_status tsri_graph_before_play(const struct tsri_tape *tape);

// --- Launching from a TSRI_OP_KERNEL ----------------------------------------------------------------------------------

// Compile-time arguments of a kernel by name. TSRI_WITH(TSRI_TYPE("T", TSR_F32), TSRI_CONSTANT("WG", 256)) expands to
// two function arguments: the list and its length.
#define TSRI_TYPE(parameter, of_dtype) \
  { .name = (parameter), .is_type = true, .dtype = (of_dtype) }
#define TSRI_CONSTANT(parameter, of_value) \
  { .name = (parameter), .value = (of_value) }
#define TSRI_WITH(...) \
  (const tsri_lang_arg[]){__VA_ARGS__}, sizeof((const tsri_lang_arg[]){__VA_ARGS__}) / sizeof(tsri_lang_arg)

// Returns kernel `kernel` of the embedded file kernels/<file>.tk, specialised with `args`. It is built once per device,
// which keeps it. Launch it with tsri_built_launch (runtime/program.h).
tsr_status tsri_embedded_kernel(tsr_device *device, const char *file, const char *kernel, const tsri_lang_arg *args,
                                size_t arg_count, const tsri_built **out_built);

#endif
