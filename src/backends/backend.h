// SPDX-License-Identifier: MIT
// The seam between Tessera and a device: one const table of functions per backend.
//
// The core does this once for all backends: it checks arguments, counts references, pools memory, limits waits, profiles,
// and falls back to portable kernels. A backend contains only what is specific to its device. Copy null/ to start one;
// docs/adding-a-backend.md explains how.
//
// Rules that hold for every entry:
// - Pointers given are valid and not NULL unless said otherwise; sizes fit; ranges lie inside buffers.
// - A status other than TSR_OK comes with a message set by host->fail; vendor codes go into the text
//   ("CUDA 700: illegal address"). Out parameters are then NULL or unchanged.
// - TSR_ERR_DEVICE_LOST means that no later call on this device will succeed except those that free.
// - "Queued": the work may still run on return. A queue runs its work in the order it was given.
// - A queue is used by one thread at a time (the core locks it); two queues may be used at once.
//
// This header needs only Tessera's public headers, so that a plug-in can be built outside the tree: it is
// installed as <tessera/plugin/backend.h>.
#ifndef TESSERA_BACKEND_H
#define TESSERA_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/device.h>
#include <tessera/dtype.h>
#include <tessera/log.h>
#include <tessera/shape.h>
#include <tessera/status.h>

// Raised when the meaning of an existing entry changes. New entries are only ever added at the end of the table:
// `table_bytes` tells the core which ones a plug-in has, so adding one does not break older plug-ins.
#define TSRI_BACKEND_ABI 2u

// Opaque handles. Each backend casts them to its own structs.
typedef struct tsri_device tsri_device;
typedef struct tsri_buffer tsri_buffer;
typedef struct tsri_queue tsri_queue;
typedef struct tsri_event tsri_event;
typedef struct tsri_program tsri_program;
typedef struct tsri_graph tsri_graph;

// Functions that the core offers to a backend. Valid from `start` to `stop`; callable from any thread.
typedef struct tsri_host {
  uint32_t bytes;  // sizeof this struct in the running library

  // Stores the message (printf style) as this thread's last error and returns `status`.
  tsr_status (*fail)(tsr_status status, const char *place, const char *format, ...);

  void (*log)(tsr_log_level level, const char *format, ...);

  // The value of a setting (docs/configuration.md; `name` is in lower case). The text is valid until the backend call
  // that asked for it returns. NULL if the value is "none" or "auto", or if there is no such setting. Call it only
  // from the entries that find and open devices.
  const char *(*setting)(const char *name);
} tsri_host;

// Options for device_open. The core has already combined the descriptor, the environment and the config file.
typedef struct tsri_open_options {
  int threads;         // CPU: number of threads; 0: one per core
  const char *simd;    // CPU: highest SIMD level to use ("avx2"); NULL: the highest available
  const char *native;  // vendor libraries to use: "all", "none", a list "a,b", or all except some: "-a,-b"
  bool tf32;
  bool profiling;       // events must carry times
  uint64_t timeout_ns;  // limit for waits inside a call; UINT64_MAX: no limit. queue_wait has its own
  bool no_jit;          // CPU: interpret kernels instead of compiling them
  bool no_timing;       // do not time proposals of vendors' libraries
  bool jit_always;      // CPU: compile every kernel at its first launch, however small
} tsri_open_options;

#define TSRI_MAX_FRAGMENT_SIZES 8

// Limits and abilities of an open device. The core zeroes the struct before device_open fills it in.
typedef struct tsri_limits {
  size_t buffer_alignment;    // of offsets of bindings and copies inside a buffer; a power of two
  size_t binding_alignment;   // of offsets of bindings, if smaller than buffer_alignment; 0: the same
  uint64_t max_buffer_bytes;  // largest single buffer
  // true: the device cannot bind several parts of one buffer, or does it badly. The pool then creates one buffer per
  // block.
  bool binds_whole_buffers;
  bool overlaps_launches;   // launches of a queue run side by side unless one uses what another writes
  uint32_t max_group_size;  // work items per work-group; 0: the device runs no programs
  uint32_t max_groups[3];
  uint32_t shared_bytes;   // shared memory per work-group
  uint32_t subgroup_size;  // 0: no subgroups
  uint32_t
      dtype_storage;  // bit (1u << tsr_dtype): buffers of this dtype can be read and written. The core adds u16, u64
                      // and f8 where i16, i64 and u8 are, of which kernels make them
  uint32_t dtype_arithmetic;  // same bits: the device also computes in this dtype
  // Abilities that the dialect's emitter asks for; lang/emit/emit.h explains them. False is always safe, but slower.
  bool has_subgroups, has_subgroup_shuffle;
  bool has_exact_divide, has_exact_fma;
  bool has_ptx;
  bool has_quirks;                   // exception: must be true if the device's compiler miscompiles some instructions
  bool has_storage16, has_storage8;  // buffers can hold 16-bit and 8-bit elements directly
  bool has_i16, has_i8;              // the device computes with integers of these sizes
  bool has_i64;                      // the same for 64 bits; SPIR-V makes them of words without
  uint8_t keeps_denormals, keeps_nan, rounds_to_even;  // guarantees the device can give: bit 0 for f16, bit 1 for f32,
                                                       // bit 2 for f64
  uint64_t max_binding_bytes;                          // largest range of a buffer that one binding can cover; 0: the
                                                       // whole buffer
  uint64_t longest_launch_ns;  // drivers may kill longer launches, so the core splits them; 0: no limit
  bool copies_slowly;          // large copies within the device are faster by a kernel than by `copy`
  // Host memory used by a built program: a fixed amount, and an amount per byte of its code. The core keeps fewer
  // programs in its cache if they are large. Both 0: unknown.
  uint32_t program_bytes, program_bytes_per_code;
  // Some drivers stop the loops of a work item after this many iterations in total; 0: never. Backends leave it 0: the
  // core measures it when it opens the device (runtime/long_loops.h).
  uint32_t max_loop_rounds;
  // Products of matrix fragments that the emitter can write for the device's matrix units, the largest first.
  uint32_t fragment_count;
  tsr_fragment_size fragments[TSRI_MAX_FRAGMENT_SIZES];
  uint32_t max_held_fragments;  // sums that a subgroup may keep in fragments before results go wrong; 0: no limit
  // Queued work begins only when a batch of commands is submitted, at a wait or later: the profiler then also records an
  // event before each piece of work.
  bool starts_late;
  bool runs_at_once;  // work has ended when the call that queues it returns: the profiler then needs no events
  // true: the device fills the memory of every copy_out itself: the bytes are there once an event that was recorded afterwards has
  // happened. false: that holds for memory of host_alloc and host_register only; queue_wait fills other memory.
  bool reads_directly;
  // A work-group that has begun goes on while all others that have begun wait for it in loops, so that a group may wait for what an earlier one stores. Only CUDA
  // promises it; of a GPU that CUDA runs on it holds through other interfaces as well. Those of other vendors are not known to.
  bool groups_progress;
  // f32 division alone is rounded correctly. Backends leave this one and those below false: the core measures them when it opens a device
  // without has_exact_divide (runtime/own_functions.h).
  bool has_exact_quotient;
  bool has_near_quotient;  // quotients of ordinary numbers are rounded correctly after two corrections by fma
  bool has_near_exp2;      // exp2 of f32 is accurate from -0.5 to 0.5
  bool has_near_root;  // the root that follows from its inverse root of f32 is rounded correctly after one correction
  // SPIR-V: f32 products and differences round to even and keep subnormal numbers, so that bf16 is rounded by them.
  bool has_exact_products;
  // Shared memory that the work-groups on a core have together, if that is so little that few groups run at a time; 0: unknown.
  uint32_t core_shared_bytes;
} tsri_limits;

// The forms of code that program_create can get. A backend accepts those listed in its `code_forms`.
typedef enum tsri_code_form {
  TSRI_CODE_HOST = 1u << 0,  // a C function in this process (tsri_host_kernel)
  TSRI_CODE_TEXT = 1u << 1,  // source text in the backend's dialect
  TSRI_CODE_WORDS = 1u << 2  // binary: lane bytecode, SPIR-V
} tsri_code_form;

// Arguments of a tsri_host_kernel, which runs the work-groups [first, last) of a launch; group numbers count x
// fastest. Several threads call it at once with different ranges.
typedef struct tsri_host_launch {
  void *const *buffers;
  const void *params;
  uint32_t groups[3], local[3];
} tsri_host_launch;
typedef void (*tsri_host_kernel)(const tsri_host_launch *launch, uint64_t first, uint64_t last);

typedef struct tsri_code {
  tsri_code_form form;
  const char *name;       // entry point; also used in error messages
  tsri_host_kernel host;  // TSRI_CODE_HOST
  const void *data;       // otherwise: text or words; borrowed until program_create returns
  size_t data_bytes;
  uint32_t buffer_count;
  uint32_t params_bytes;  // a multiple of 4
  uint32_t local[3];      // work items per work-group that the code was specialised for
  const char *options;    // compiler options ("-fmad=false"); "" if none
  uint32_t shared_bytes;  // shared memory that one work-group uses
} tsri_code;

typedef struct tsri_binding {
  tsri_buffer *buffer;
  size_t offset, bytes;
  bool is_written;
} tsri_binding;

typedef struct tsri_launch {
  uint32_t groups[3];  // none is 0
  uint32_t buffer_count;
  const tsri_binding *buffers;
  const void *params;  // `params_bytes` bytes (see tsri_code), as 32-bit words
} tsri_launch;

// --- Native operators: what a device may do better than the portable kernel -----------------------------------------
//
// The core recognises these operators and passes them on as a tsri_native_op; docs/adding-a-backend.md explains each
// kind.

typedef enum tsri_native_kind {
  TSRI_NATIVE_NONE,  // ends a table of offers
  TSRI_NATIVE_COPY,
  TSRI_NATIVE_SUM,
  TSRI_NATIVE_REDUCE,
  TSRI_NATIVE_PRODUCT,
  TSRI_NATIVE_SORT,
  TSRI_NATIVE_SCAN,
  TSRI_NATIVE_GATHER,
  TSRI_NATIVE_SCATTER_ADD,
  TSRI_NATIVE_ARG_REDUCE,
  TSRI_NATIVE_SOFTMAX,
  TSRI_NATIVE_NORM,
  TSRI_NATIVE_NORM_GRADIENT,
  TSRI_NATIVE_CONV,
  TSRI_NATIVE_POOL,
  TSRI_NATIVE_ATTENTION,
  TSRI_NATIVE_ATTENTION_GRADIENT,
  TSRI_NATIVE_FACTOR,
  TSRI_NATIVE_SOLVE,
  TSRI_NATIVE_CONV_WEIGHT,
  TSRI_NATIVE_JOIN,
  TSRI_NATIVE_FFT
} tsri_native_kind;

// The start of an operand: `offset` bytes into `buffer`. The buffer is NULL when has_op is called during planning.
typedef struct tsri_place {
  tsri_buffer *buffer;
  size_t offset;
} tsri_place;

// Copies every element. Strides are in elements; source and destination do not overlap.
typedef struct tsri_copy_op {
  tsr_shape shape;
  tsri_place from, to;
  int64_t from_strides[TSR_MAX_RANK], to_strides[TSR_MAX_RANK];
} tsri_copy_op;

// to[i] = from[i * step] + from[i * step + stride] + …, `columns` of them, for each i below `rows`. Used for sums over the last
// axes.
typedef struct tsri_sum_op {
  int64_t rows, columns, step, stride;
  tsri_place from, to;
} tsri_sum_op;

typedef enum tsri_reduction {
  TSRI_REDUCTION_SUM,
  TSRI_REDUCTION_MAX,
  TSRI_REDUCTION_MIN,
  TSRI_REDUCTIONS
} tsri_reduction;

// to[i] = the sum, maximum or minimum of the elements of `from` over all reduced axes, where i is the index along the
// kept axes. `to` is row-major. Strides are in elements. f16 and bf16 accumulate in f32; the result may also be f32.
// Integer sums wrap around. Maximum and minimum are NaN if any element is NaN.
//
// ARG_REDUCE: to[i] = the index (i32) of the first maximum or minimum along the reduced axis, or of the first NaN. There is
// one reduced axis and it is not empty; reduced_rank is 0 if it has one element. `kind` is MAX or MIN.
typedef struct tsri_reduce_op {
  tsri_reduction kind;
  int kept_rank, reduced_rank;  // neighbouring axes are merged where the strides allow it. Rank 0: one result, or one
                                // element per result
  int64_t kept_dims[TSR_MAX_RANK], kept_strides[TSR_MAX_RANK];
  int64_t reduced_dims[TSR_MAX_RANK], reduced_strides[TSR_MAX_RANK];
  tsri_place from, to;
} tsri_reduce_op;

typedef enum tsri_activation {
  TSRI_ACTIVATION_NONE,
  TSRI_ACTIVATION_RELU,
  TSRI_ACTIVATION_GELU_TANH,  // x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
  TSRI_ACTIVATION_GELU,       // x * (1 + erf(x / sqrt(2))) / 2
  TSRI_ACTIVATION_TANH
} tsri_activation;

// A matrix, or a batch of matrices. Strides are in elements; the stride of an axis of size 1 is 0.
typedef struct tsri_matrix {
  tsri_place at;
  int64_t row, column;
  int64_t batch[TSR_MAX_RANK];  // 0: the matrix is the same along this batch axis
} tsri_matrix;

// Optional parts of a product (tsri_native_op.parts).
enum {
  TSRI_PRODUCT_SCALED = 1u << 0,  // alpha is not 1, or there is a matrix c
  TSRI_PRODUCT_BIAS = 1u << 1,
  TSRI_PRODUCT_RESIDUAL = 1u << 2,
  TSRI_PRODUCT_RELU = 1u << (3 + TSRI_ACTIVATION_RELU),  // the activation; at most one of these four bits is set
  TSRI_PRODUCT_GELU_TANH = 1u << (3 + TSRI_ACTIVATION_GELU_TANH),
  TSRI_PRODUCT_GELU = 1u << (3 + TSRI_ACTIVATION_GELU),
  TSRI_PRODUCT_TANH = 1u << (3 + TSRI_ACTIVATION_TANH),
  TSRI_PRODUCT_QUANTISED = 1u << 8,  // b is quantised
  TSRI_PRODUCT_CHAIN = 1u << 9,      // element-wise operators after all of that (tsri_product_chain)
  TSRI_PRODUCT_ROW_SUMS = 1u << 10   // sums over k of the rows of a, too
};

// A chain of element-wise operators as text in the backend's dialect. It defines a function without a result,
//
//   entry(const f32 *x, const f32 *input0, …, f32 *y, entry_params words)
//
// which computes one element: x[0], input0[0], … are read and y[0] is written. Elements of f16 and bf16 are converted to f32 before, and y[0] is rounded after it. `words` is a struct of word_count 32-bit words, which have the chain's scalars; it
// is missing if there are none. Lives as long as the device and is known by its address.
typedef struct tsri_chain_function {
  const char *text, *entry, *options;  // options: for the device's compiler
  int input_count, word_count;
} tsri_chain_function;

enum { TSRI_CHAIN_INPUTS = 3, TSRI_CHAIN_WORDS = 24 };

// A tensor that a chain reads beside the product, of the dtype of y. by_row and by_column: it is row-major and has the shape of y. by_column only: a contiguous row of n elements. Neither: a single
// element.
typedef struct tsri_chain_input {
  tsri_place at;
  bool by_row, by_column;
} tsri_chain_input;

// The element-wise operators after a product: y = function(what the other parts of the product give, inputs). `function` is NULL when has_op is called during planning. `kept`, if it has a
// buffer, receives the elements before the chain; it is row-major and contiguous, as y.
typedef struct tsri_product_chain {
  const tsri_chain_function *function;
  int input_count;
  tsri_chain_input inputs[TSRI_CHAIN_INPUTS];
  uint32_t words[TSRI_CHAIN_WORDS];
  tsri_place kept;
} tsri_product_chain;

// y = activation(alpha a b + beta c + bias) + residual. a is m x k, b is k x n; c, residual and y are m x n; bias is a
// contiguous row of n elements. f16 and bf16 are computed in f32 and rounded once. y and residual are row-major and
// contiguous, with the batch axes first.
// TSRI_PRODUCT_QUANTISED: column j of b is row j of n rows of k weights in blocks of `b_format`, a tsr_quant_format or TSRI_QUANT_I8 (plain i8, k a multiple of
// 32), one after the other from b.at on; its strides are 0, and there is no batch. Weights count as f32.
typedef struct tsri_product_op {
  int64_t m, n, k;  // none is 0
  int batch_rank;   // without axes of size 1; neighbouring axes are merged where the strides of all operands allow it
  int64_t batch_dims[TSR_MAX_RANK];
  tsri_matrix a, b, c;  // c is valid only if beta is not 0
  tsri_place bias, residual, y;
  double alpha, beta;
  tsri_activation activation;
  int b_format;              // valid only with TSRI_PRODUCT_QUANTISED
  tsri_product_chain chain;  // valid only with TSRI_PRODUCT_CHAIN
  tsri_place row_sums;       // TSRI_PRODUCT_ROW_SUMS: receives m sums; there is no batch
} tsri_product_op;

// Sorts each of `rows` contiguous rows of `n` elements. The sort is stable (-0 equals 0), and NaN comes last in both
// directions. wants_order: `to` is i32 and receives, for each sorted element, its index in the original row.
// With the part TSRI_SORT_KEEPS, `to` receives the first `keep` elements of each sorted row only; keep is less than n.
enum { TSRI_SORT_KEEPS = 1u << 0 };
typedef struct tsri_sort_op {
  int64_t rows, n, keep;
  bool is_descending, wants_order;
  tsri_place from, to;
} tsri_sort_op;

// to[o, i, j] = from[o, 0, j] + … + from[o, i, j], or their product if is_product; o < outer, i < n, j < inner. Both
// tensors are row-major. f16 and bf16 accumulate in f32.
typedef struct tsri_scan_op {
  int64_t outer, n, inner;
  bool is_product;
  tsri_place from, to;
} tsri_scan_op;

// Softmax, or log-softmax with is_log, along an axis of `n` elements: to = exp(from - max) / sum(exp(from - max)). Both tensors
// are row-major with shape outer x n x inner; none of these is 0. f16 and bf16 are computed in f32 and rounded once.
typedef struct tsri_softmax_op {
  int64_t outer, n, inner;
  bool is_log;
  tsri_place from, to;
} tsri_softmax_op;

// Normalises each of `rows` rows of `n` elements; neither is 0: to = (from - mean) / sqrt(variance + eps) * weight + bias, where the variance is the mean of
// (from - mean)^2, and the mean is taken for 0 unless is_centred (rms_norm). Both tensors are row-major; weight and bias have n elements. f16 and bf16 are computed in f32
// and rounded once.
//
// NORM_GRADIENT, of f32: g is the gradient of the result; `to` receives that of `from`, dweight and dbias those of weight and bias, also where there are none. `bias`, if there is one, has the shape of `from` and is added to the gradient of `from`. All are row-major.
typedef struct tsri_norm_op {
  int64_t rows, n;
  double eps;
  bool is_centred, has_weight, has_bias;
  tsri_place from, weight, bias, to, g, dweight, dbias;
} tsri_norm_op;

// Reads or writes at indices along one axis of x (GATHER) or y (SCATTER_ADD). That axis has `size` elements, `step`
// elements apart; a negative index counts from its end. The tensor of indices has rank `rank`; `strides` are the
// strides of x or y in elements, with 0 for the indexed axis.
//
// GATHER: y[i] = x[i with indices[i] along the axis], or 0 if the index is out of range; y is row-major.
// SCATTER_ADD: first y = x (`count` contiguous elements), then y[i with indices[i] along the axis] += source[i] for
// each i in row-major order; an index out of range is skipped. indices and source are row-major. f16 and bf16
// accumulate in f32.
typedef struct tsri_index_op {
  int rank;
  int64_t dims[TSR_MAX_RANK], index_strides[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  tsr_dtype index_dtype;
  int64_t size, step, count;
  tsri_place indices, x, source, y;
} tsri_index_op;

// Convolution: y[image, o, p] = activation(bias[o] + sum over channels c and kernel elements k of x[image, c, q] * w[o, c, k]), for each group of channels. Along each
// spatial axis q = p * stride + k * dilation - before; transposed: q * stride + k * dilation - before = p. Elements of x outside of it are 0. Missing spatial
// axes come first, with size, kernel, windows, stride and dilation 1. f16 and bf16 are computed in f32 and rounded once.
//
// CONV_WEIGHT: the gradient by the weights. x and y (the gradient by the result) are read, w is written; it is not transposed, and there is neither bias nor activation.
enum { TSRI_CONV_AXES = 3 };
typedef struct tsri_conv_op {
  bool is_transposed, has_bias;
  // Only for has_op: x and w are packed with channels before the axes, so they would have to be copied to the order that is described. The device refuses if it
  // is faster with the order that they have.
  bool is_copied;
  int64_t images, groups, channels, out_channels;  // channels of one group; no size of the operator is 0
  // Elements of x, w and y along an axis.
  int64_t size[TSRI_CONV_AXES], kernel[TSRI_CONV_AXES], windows[TSRI_CONV_AXES];
  int64_t stride[TSRI_CONV_AXES], dilation[TSRI_CONV_AXES], before[TSRI_CONV_AXES];
  // Strides in elements. The groups of x and y are neighbouring channels.
  int64_t x_image, x_channel, x_axes[TSRI_CONV_AXES];
  int64_t w_group, w_out, w_channel, w_axes[TSRI_CONV_AXES];
  int64_t y_image, y_channel, y_axes[TSRI_CONV_AXES];
  int64_t bias_step;
  tsri_place x, w, bias, y;
  tsri_activation activation;
} tsri_conv_op;

typedef enum tsri_pool_kind {
  TSRI_POOL_LARGEST,  // NaN if any element is NaN
  TSRI_POOL_PLACE,    // i32: where the first largest element, or the first NaN, is in the plane of x; -1: there is none
  TSRI_POOL_MEAN,
  TSRI_POOL_GRADIENT
} tsri_pool_kind;

// Pooling: y[image, channel, p] of the elements of x[image, channel, p * stride + k * dilation - before], k below `kernel`, that lie inside of x; means are divided by
// their number or, with counts_padding, by that of all elements before the end of the padding. Missing spatial axes come first, as in tsri_conv_op. f16 and bf16 are computed
// in f32 and rounded once.
//
// GRADIENT: y has the shape of x and is row-major. Each window's element of g, whose strides are y_image, y_channel and y_axes, is added where its largest element is.
typedef struct tsri_pool_op {
  tsri_pool_kind kind;
  bool counts_padding;
  int64_t images, channels;  // no size is 0
  int64_t size[TSRI_CONV_AXES], kernel[TSRI_CONV_AXES], windows[TSRI_CONV_AXES];
  int64_t stride[TSRI_CONV_AXES], dilation[TSRI_CONV_AXES], before[TSRI_CONV_AXES], after[TSRI_CONV_AXES];
  int64_t x_image, x_channel, x_axes[TSRI_CONV_AXES];  // strides in elements
  int64_t y_image, y_channel, y_axes[TSRI_CONV_AXES];
  tsri_place x, g, y;
} tsri_pool_op;

typedef enum tsri_attention_mask {
  TSRI_ATTENTION_UNMASKED,
  TSRI_ATTENTION_HIDES,  // u8: keys where it is 0 are not seen
  TSRI_ATTENTION_ADDS    // of q's dtype: added to scores
} tsri_attention_mask;

// ATTENTION: y = softmax(scores) v along keys, for each query of each head, with scores = softcap * tanh(scale * q k^T / softcap) (scale * q k^T if softcap is 0) + slope * (key - position of
// the query) + mask. Tensors are [batch, head, row, element], their strides in elements; heads / kv_heads neighbouring heads share keys and values; elements of a row of y are neighbours. The
// last query stands at the last key. Not seen are keys behind the query's position (is_causal), more than window - 1 before it (window is not 0), from lengths[batch] (i32) on, those that the mask hides, and those whose
// score is -infinity. A query that sees nothing gets zeros. f16 and bf16 are computed in f32 and rounded once; only weights may be rounded to the dtype, too, before
// they are multiplied by v, as matrix units take them. If has_lse, lse (f32, [batch, head, query], row-major) receives the natural logarithm of each query's sum of exponentials.
//
// ATTENTION_GRADIENT: g is y's gradient; dq, dk and dv, whose strides are those of batch, head and row, receive those of q, k and v; elements of a row are neighbours. With has_lse, y and lse are those of the attention, and
// scratch_bytes at `scratch` may be used; else y is not used.
//
// plan_after_ns: a backend that makes a plan for each shape, which takes long, does so once it has refused operators of that shape that would have run so much faster with it; 0: at once.
typedef struct tsri_attention_op {
  int64_t batch, heads, kv_heads, queries, keys, size,
      value_size;  // none is 0; size: of a row of q and k, value_size: of v
  double scale, softcap;
  int64_t window, scratch_bytes, plan_after_ns;
  bool is_causal, has_slopes, has_lengths, has_lse;
  tsri_attention_mask mask_kind;
  int64_t q_strides[4], k_strides[4], v_strides[4], g_strides[4], mask_strides[4], y_strides[3], slopes_step,
      lengths_step, dq_strides[3], dk_strides[3], dv_strides[3];
  tsri_place q, k, v, mask, slopes, lengths, y, lse, g, dq, dk, dv, scratch;
} tsri_attention_op;

typedef enum tsri_factor_kind {
  TSRI_FACTOR_CHOLESKY,
  TSRI_FACTOR_LU,
  TSRI_FACTOR_QR,
  TSRI_FACTOR_EIGH,
  TSRI_FACTOR_SVD,
  TSRI_FACTORS
} tsri_factor_kind;

// Factors each of `batch` m x n matrices of f32 or f64, as LAPACK does; no size is 0. All matrices are column-major and contiguous, one after the other.
//
// CHOLESKY: reads the upper triangle of the square a; it becomes the triangular U with U^T U = a. What is below the diagonal stays.
// LU: a becomes L, whose diagonal of ones is not stored, and U. Step i of min(m, n) exchanges row i with row exchanges[i] - 1 (i32).
//     With the part TSRI_FACTOR_ORDERED instead: rows[i] (i32, m for each matrix) is the row of a that row i of the product is, odd (one i32) is 1 if an odd number of
//     exchanges made that order, else 0.
// QR: the upper triangle of a becomes R, the rest of a is undefined; q gets the first `columns` columns of Q, which is m x m: min(m, n) or m of them.
// EIGH: a is square and symmetric; its columns become orthonormal eigenvectors. s: eigenvalues, n for each matrix, in any order.
// SVD: a is square and becomes undefined; u * diag(s) * v^T = a, in any order.
//
// CHOLESKY, EIGH, SVD: info (one i32 for each matrix) becomes 0, or another number if the matrix could not be factored; its results are then undefined.
// Matrices with NaN or infinities give any numbers for LU and QR, NaN or an info that is not 0 for the others.
//
// A backend whose has_op accepts a QR must be able to run it: the choice is made when the operator is recorded.
enum { TSRI_FACTOR_ORDERED = 1u << 0 };
typedef struct tsri_factor_op {
  tsri_factor_kind kind;
  int64_t batch, m, n, columns;
  tsri_place a, q, s, u, v, rows, odd,
      info;  // those that the kind does not name are not set; rows also stands for the exchanges
} tsri_factor_op;

// Solves l * x = b for each of `batch` triangular matrices l of m x m; x, row-major and contiguous with n columns, holds b and becomes the solution. Strides of l are in
// elements; `batch_step` 0: one matrix for all. Only the lower triangle of l is read, or the upper one if is_upper; is_unit: its diagonal counts as ones. No size is 0.
typedef struct tsri_solve_op {
  int64_t batch, m, n;
  int64_t row, column, batch_step;
  bool is_upper, is_unit;
  tsri_place l, x;
} tsri_solve_op;

// JOIN: line i of `to` is line i of each part, one after the other, for each i below `lines`. The elements of a line are contiguous; strides are the distances between lines, in elements.
// `to_stride` is larger than the lengths of all parts together if other operators write the rest of each line.
enum { TSRI_JOIN_PARTS = 18 };  // with these a join is no larger than a product
typedef struct tsri_join_part {
  int64_t length, stride;  // length: elements of a line; not 0
  tsri_place from;
} tsri_join_part;
typedef struct tsri_join_op {
  int64_t lines, to_stride;  // lines: not 0
  int part_count;            // 1 to TSRI_JOIN_PARTS
  tsri_join_part parts[TSRI_JOIN_PARTS];
  tsri_place to;
} tsri_join_op;

typedef enum tsri_fft_kind { TSRI_FFT_COMPLEX, TSRI_FFT_HALF, TSRI_FFT_FROM_HALF } tsri_fft_kind;

// to[o, k, i] = scale * the sum over j of from[o, j, i] * exp(-2 pi i j k / n), of complex numbers [outer, n, inner]; is_inverse: with the other sign of the
// exponent. Both are row-major and do not overlap.
//
// HALF: the parts of from[o, j, i] are the elements 2 j and 2 j + 1 of 2 n real numbers, and `to`, [outer, n + 1, inner], is the first half of their transform. FROM_HALF
// is the inverse of that; it does not read the imaginary parts of the elements 0 and n. scale is 1 for HALF.
typedef struct tsri_fft_op {
  tsri_fft_kind kind;
  int64_t outer, n, inner;
  bool is_inverse;
  double scale;
  tsri_place from, to;
} tsri_fft_op;

typedef struct tsri_native_op {
  tsri_native_kind kind;
  tsr_dtype dtype, result;  // dtype: of a and b, or of the input; result: of all other operands
  uint32_t parts;           // PRODUCT: TSRI_PRODUCT_ bits; CONV: those of activations; SORT: TSRI_SORT_KEEPS or 0;
                            // FACTOR: TSRI_FACTOR_ORDERED or 0
  union {
    tsri_copy_op copy;
    tsri_sum_op sum;
    tsri_reduce_op reduce;
    tsri_product_op product;
    tsri_sort_op sort;
    tsri_scan_op scan;
    tsri_index_op index;
    tsri_softmax_op softmax;
    tsri_norm_op norm;
    tsri_conv_op conv;
    tsri_pool_op pool;
    tsri_attention_op attention;
    tsri_factor_op factor;
    tsri_solve_op solve;
    tsri_join_op join;
    tsri_fft_op fft;
  } is;
} tsri_native_op;

// One row of a backend's table of native operators. The table covers an operator if some row has its kind, its dtypes
// and all of its parts.
typedef struct tsri_native_offer {
  tsri_native_kind kind;
  uint32_t dtypes;   // bit (1u << tsr_dtype)
  uint32_t results;  // the same bits for the result's dtype; 0: same dtype as the inputs
  uint32_t parts;
} tsri_native_offer;

// Memory that other libraries of the process use, too, by its address on the device (DLPack). Any thread.
typedef struct tsri_device_sharing {
  // What DLPack calls the memory of the device, and the device's number there.
  void (*describe)(tsri_device *device, int *out_kind, int *out_number);
  // The address of the buffer's first byte.
  void *(*address_of)(tsri_device *device, tsri_buffer *buffer);
  // Wraps memory of another library, which stays valid until buffer_destroy, as a buffer.
  tsr_status (*adopt)(tsri_device *device, void *address, size_t bytes, tsri_buffer **out_buffer);
  // Waits for all work on the device, also for that of other libraries.
  tsr_status (*settle)(tsri_device *device);
} tsri_device_sharing;

// Which operators can share a launch.
enum { TSRI_MOST_GROUPED = 32, TSRI_FULL_SHARE = 1024 };
typedef struct tsri_op_group {
  uint32_t kind;   // only operators of the same kind can; 0: this one runs alone
  uint32_t share;  // what the operator takes of a launch: those of a launch are at most TSRI_FULL_SHARE in all
} tsri_op_group;

typedef struct tsri_backend {
  uint32_t abi;          // TSRI_BACKEND_ABI
  uint32_t table_bytes;  // sizeof this struct when the backend was compiled
  const char *name;      // lower case, unique: "cuda"
  const char *title;     // as people write it: "CUDA"
  uint32_t code_forms;   // tsri_code_form bits; 0: the backend runs no programs
  const char *dialect;   // of TSRI_CODE_TEXT and TSRI_CODE_WORDS ("opencl", "spirv"); NULL if the backend takes
                         // neither

  // --- Finding devices. The core calls these six from one thread at a time. ---

  // Opens the driver library. Called once, before any other entry, when the core first looks at the backend. If it
  // fails, `tessera devices` prints the message: name the library, where it was searched, and what to install.
  tsr_status (*start)(const tsri_host *host);
  // Called at most once, after the last device is closed. NULL: nothing to do.
  void (*stop)(void);
  // 0 devices is a valid answer, with TSR_OK.
  tsr_status (*device_count)(int *out_count);
  // Must be cheap: create no context. Device 0 is the best one.
  tsr_status (*device_info)(int index, tsr_device_info *out_info);
  tsr_status (*device_open)(int index, const tsri_open_options *options, tsri_limits *out_limits,
                            tsri_device **out_device);
  // The core has destroyed all buffers, queues, events and programs of the device before this call.
  void (*device_close)(tsri_device *device);

  // --- Memory. Any thread. ---

  // Free and total memory now. NULL: the figures of device_info are used.
  tsr_status (*memory_info)(tsri_device *device, uint64_t *out_free, uint64_t *out_total);
  // The contents start undefined. `bytes` is not 0. After TSR_ERR_OUT_OF_MEMORY the core trims its pool and tries once
  // more.
  tsr_status (*buffer_create)(tsri_device *device, size_t bytes, tsri_buffer **out_buffer);
  // Called only when no queued work uses the buffer any more.
  void (*buffer_destroy)(tsri_device *device, tsri_buffer *buffer);
  // Returns the address of the buffer's bytes if the host may read and write them directly whenever no queued work
  // uses them, else NULL. NULL entry: no buffer is addressable by the host.
  void *(*buffer_host)(tsri_device *device, tsri_buffer *buffer);
  // Wraps host memory, which stays valid until buffer_destroy, as a buffer. NULL entry, or TSR_ERR_UNSUPPORTED (for
  // example because of alignment): the core copies instead.
  tsr_status (*buffer_import)(tsri_device *device, void *host_memory, size_t bytes, tsri_buffer **out_buffer);

  // --- Queues. queue_create and queue_destroy: any thread. The rest: one thread at a time per queue. ---

  tsr_status (*queue_create)(tsri_device *device, tsri_queue **out_queue);
  void (*queue_destroy)(tsri_queue *queue);  // the core has waited for its work
  // Waits for all work queued so far and reports work that failed after being queued. TSR_ERR_TIMEOUT: the work is
  // still running. With timeout_ns UINT64_MAX the wait has no limit, and nothing may still be running when it returns,
  // whatever it returns.
  tsr_status (*queue_wait)(tsri_queue *queue, uint64_t timeout_ns);

  // --- Copies, queued. `bytes` is not 0. ---

  // `src` stays valid until the next queue_wait that returns TSR_OK.
  tsr_status (*copy_in)(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, const void *src, size_t bytes);
  // `dst` is filled by the next queue_wait that returns TSR_OK.
  tsr_status (*copy_out)(tsri_queue *queue, void *dst, tsri_buffer *src, size_t src_offset, size_t bytes);
  // Within the device. `dst` may be `src`; the ranges do not overlap.
  tsr_status (*copy)(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_buffer *src, size_t src_offset,
                     size_t bytes);
  // Repeats 1, 2, 4 or 8 pattern bytes, read before the call returns. `bytes` is a multiple of `pattern_bytes`.
  tsr_status (*fill)(tsri_queue *queue, tsri_buffer *dst, size_t offset, size_t bytes, const void *pattern,
                     size_t pattern_bytes);

  // --- Events. All NULL: the device has no events, and the core waits for the whole queue instead. ---

  tsr_status (*event_create)(tsri_device *device, tsri_event **out_event);
  void (*event_destroy)(tsri_device *device, tsri_event *event);
  // Queued: the event happens when all work queued so far is done. Recording an event again replaces the earlier
  // recording.
  tsr_status (*event_record)(tsri_queue *queue, tsri_event *event);
  // Queued: later work on `queue` waits for the event, which may have been recorded on another queue of the device.
  tsr_status (*event_await)(tsri_queue *queue, tsri_event *event);
  // Whether the event has happened. Any thread.
  tsr_status (*event_is_done)(tsri_device *device, tsri_event *event, bool *out_done);
  // Time between two events that have happened. TSR_ERR_UNSUPPORTED unless the device was opened for profiling.
  tsr_status (*event_elapsed)(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns);

  // --- Programs. NULL if `code_forms` is 0. program_create and program_destroy: any thread. ---

  // Fails with TSR_ERR_BUILD and the compiler's log in the message.
  tsr_status (*program_create)(tsri_device *device, const tsri_code *code, tsri_program **out_program);
  void (*program_destroy)(tsri_device *device, tsri_program *program);
  // Queued. `launch` is read before the call returns.
  tsr_status (*launch)(tsri_queue *queue, tsri_program *program, const tsri_launch *launch);

  // --- Optional: native operators. Where the backend declines one, the core runs the portable kernel. ---

  // Ends with a row of kind TSRI_NATIVE_NONE. NULL: no native operators.
  const tsri_native_offer *native_ops;
  // Whether this device takes an operator that `native_ops` covers; it may decline because of sizes, strides or
  // settings. Must be cheap and free of side effects, except that it may open a library the first time: it is called
  // while planning, from any thread, and buffers in `op` may be NULL. NULL: the device takes all of them.
  bool (*has_op)(tsri_device *device, const tsri_native_op *op);
  // Queued. Called only for operators that has_op accepted. TSR_ERR_UNSUPPORTED without a message: cannot run it this
  // time; the core runs the portable kernel.
  tsr_status (*run_op)(tsri_queue *queue, const tsri_native_op *op);

  // --- Optional: recorded graphs. NULL: the core replays a capture command by command. ---

  // Between graph_begin and graph_end, calls on the queue are recorded and do not run.
  tsr_status (*graph_begin)(tsri_queue *queue);
  tsr_status (*graph_end)(tsri_queue *queue, tsri_graph **out_graph);
  tsr_status (*graph_launch)(tsri_queue *queue, tsri_graph *graph);
  void (*graph_destroy)(tsri_device *device, tsri_graph *graph);

  // --- Optional: copies between two devices of this backend, queued on `queue` of the destination. ---

  // NULL, or TSR_ERR_UNSUPPORTED: the core copies through the host.
  tsr_status (*copy_peer)(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_device *src_device,
                          tsri_buffer *src, size_t src_offset, size_t bytes);

  // --- Optional: host memory that the device copies from and to by itself (pinned memory). Any thread. NULL: plain memory is used. ---

  tsr_status (*host_alloc)(tsri_device *device, size_t bytes, void **out_memory);
  void (*host_free)(tsri_device *device, void *memory);  // no queued work uses it any more
  // Makes memory of the caller such memory until host_unregister. TSR_ERR_UNSUPPORTED: it stays as it is.
  tsr_status (*host_register)(tsri_device *device, void *memory, size_t bytes);
  void (*host_unregister)(tsri_device *device, void *memory);

  // --- Optional: steps of a recorded graph that may run side by side. NULL: they run in the order of the calls. ---

  // Called before each call that is recorded between graph_begin and graph_end. That call is one step, numbered from 0 on. It begins when the `count` earlier steps
  // `after` have ended, and all that they depend on; it may run at the same time as any other step. Memory of the queue itself, such as a library's work space, is the
  // backend's to order. TSR_ERR_UNSUPPORTED without a message: the core records the graph again, without calling this.
  tsr_status (*graph_step)(tsri_queue *queue, const int *after, int count);

  // --- Optional. NULL: no other library knows the device's memory. ---

  const tsri_device_sharing *sharing;

  // --- Optional: several operators of a recorded graph in one launch. NULL: each operator has a launch of its own. ---

  // Says which other operators this one can share a launch with. Called for operators that has_op accepted, with their buffers bound; as cheap as has_op.
  tsri_op_group (*group_of)(tsri_device *device, const tsri_native_op *op);
  // As run_op, for 2 to TSRI_MOST_GROUPED operators of one kind (tsri_op_group), none of which writes memory that another one uses. TSR_ERR_UNSUPPORTED without a
  // message: the core calls run_op for each of them.
  tsr_status (*run_ops)(tsri_queue *queue, const tsri_native_op *const *ops, int count);
} tsri_backend;

// Name and type of the function that a plug-in exports. It may return NULL if the plug-in cannot be used here.
#define TSRI_PLUGIN_SYMBOL "tsr_plugin_backend"
typedef const tsri_backend *(*tsri_plugin_fn)(void);

#endif
