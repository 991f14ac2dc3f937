// SPDX-License-Identifier: MIT
// The seam between Tessera and a device: one const table of functions per backend.
//
// The core checks arguments, counts references, pools memory, times waits, profiles and falls back, once,
// for all backends. A backend holds only what is particular to its device. Copy null/ to start one;
// docs/adding-a-backend.md walks through it.
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

// Changes when an entry changes its meaning. Entries are only ever added at the end, which `table_bytes` shows
// and which changes nothing for older plug-ins.
#define TSRI_BACKEND_ABI 2u

// The backend's own objects. Each backend casts them to structs of its own.
typedef struct tsri_device tsri_device;
typedef struct tsri_buffer tsri_buffer;
typedef struct tsri_queue tsri_queue;
typedef struct tsri_event tsri_event;
typedef struct tsri_program tsri_program;
typedef struct tsri_graph tsri_graph;

// What the core offers to a backend. Valid from `start` to `stop`. Any thread.
typedef struct tsri_host {
  uint32_t bytes;  // sizeof this struct in the running library

  // Stores the message (printf style) as this thread's last error and returns `status`.
  tsr_status (*fail)(tsr_status status, const char *place, const char *format, ...);

  void (*log)(tsr_log_level level, const char *format, ...);

  // What a setting holds (docs/configuration.md, by its name in lower case), as text that is valid during the call that
  // asks; NULL if it is "none" or "auto", or there is no such setting. Only in calls by which the core finds devices.
  const char *(*setting)(const char *name);
} tsri_host;

// How a device is to be opened; the core has resolved descriptor, environment and config file.
typedef struct tsri_open_options {
  int threads;         // CPU: how many to use; 0: as many as there are
  const char *simd;    // CPU: highest level to use ("avx2"); NULL: the best there is
  const char *native;  // which vendor libraries may be used: "all", "none", "a,b", or all but some: "-a,-b"
  bool tf32;
  bool profiling;       // events must carry times
  uint64_t timeout_ns;  // longest that work run inside a call may take; UINT64_MAX: any. queue_wait gets its own
  bool no_jit;          // CPU: kernels are interpreted
} tsri_open_options;

// What an open device can do. The core zeroes it first.
typedef struct tsri_limits {
  size_t buffer_alignment;    // offsets of bindings and copies inside a buffer; a power of two
  size_t binding_alignment;   // offsets of bindings alone, where that is less; 0: the same
  uint64_t max_buffer_bytes;  // largest single buffer
  bool
      binds_whole_buffers;  // true: parts of a buffer cannot be bound beside each other, or not well, so the pool gives
                            // each block a buffer of its own
  uint32_t max_group_size;  // work items per group; 0: the device runs no programs
  uint32_t max_groups[3];
  uint32_t shared_bytes;      // per group
  uint32_t subgroup_size;     // 0: none
  uint32_t dtype_storage;     // bit (1u << tsr_dtype): buffers of this dtype can be read and written
  uint32_t dtype_arithmetic;  // bit: and computed with
  // What the emitter of the dialect must know (lang/emit.h has the meaning); all false is always right, if slower.
  bool has_subgroups, has_subgroup_shuffle;
  bool has_exact_divide, has_exact_fma;
  bool has_quirks;                   // its compiler gets some instructions wrong; this one must be true where it does
  bool has_storage16, has_storage8;  // 16-bit and 8-bit elements in buffers without detours
  bool has_i16, has_i8;              // values of these sizes
  uint8_t keeps_denormals, keeps_nan, rounds_to_even;  // can be promised: bit 0 for f16, 1 for f32, 2 for f64
  uint64_t max_binding_bytes;                          // largest part of a buffer that a launch can see; 0: all of it
  uint64_t longest_launch_ns;  // drivers may kill what runs longer: the core cuts such launches; 0: any time will do
  bool copies_slowly;          // large copies within the device are faster by a kernel than by `copy`
  // Host memory that a program takes once it is built: so much, and so much more for each byte of its code. The core keeps
  // fewer programs where they are large. Both 0: not known.
  uint32_t program_bytes, program_bytes_per_code;
  // The driver ends all loops of an item after so many rounds together; 0: never. Backends leave it at 0: opening a device
  // measures it (runtime/long_loops.h).
  uint32_t max_loop_rounds;
} tsri_limits;

// Forms in which a program reaches a device. A backend accepts the ones in its `code_forms`.
typedef enum tsri_code_form {
  TSRI_CODE_HOST = 1u << 0,  // a C function of the process (tsri_host_kernel)
  TSRI_CODE_TEXT = 1u << 1,  // source text in the backend's dialect
  TSRI_CODE_WORDS = 1u << 2  // binary: lane bytecode, SPIR-V
} tsri_code_form;

// Runs groups [first, last) of a launch, numbered with x fastest. Called from several threads at once.
typedef struct tsri_host_launch {
  void *const *buffers;
  const void *params;
  uint32_t groups[3], local[3];
} tsri_host_launch;
typedef void (*tsri_host_kernel)(const tsri_host_launch *launch, uint64_t first, uint64_t last);

typedef struct tsri_code {
  tsri_code_form form;
  const char *name;       // entry point, and what errors call it
  tsri_host_kernel host;  // TSRI_CODE_HOST
  const void *data;       // else: text or words; borrowed until program_create returns
  size_t data_bytes;
  uint32_t buffer_count;
  uint32_t params_bytes;  // a multiple of 4
  uint32_t local[3];      // work items per group the code was specialised for
  const char *options;    // what the device's compiler needs to be told ("-fmad=false"); "" if nothing
  uint32_t shared_bytes;  // shared memory a group uses
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
  const void *params;  // `params_bytes` of the program, as 32-bit words
} tsri_launch;

// --- Native operators: what a device may do better than the portable kernel -----------------------------------------
//
// The core recognises them and hands them over described like this; docs/adding-a-backend.md explains each kind.

typedef enum tsri_native_kind {
  TSRI_NATIVE_NONE,  // ends a table of offers
  TSRI_NATIVE_COPY,
  TSRI_NATIVE_SUM,
  TSRI_NATIVE_REDUCE,
  TSRI_NATIVE_PRODUCT,
  TSRI_NATIVE_SORT,
  TSRI_NATIVE_SCAN,
  TSRI_NATIVE_GATHER,
  TSRI_NATIVE_SCATTER_ADD
} tsri_native_kind;

// Where an operand begins: `offset` bytes into `buffer`, which is NULL where has_op is asked while planning.
typedef struct tsri_place {
  tsri_buffer *buffer;
  size_t offset;
} tsri_place;

// Copies every element. Strides are in elements; the two do not overlap.
typedef struct tsri_copy_op {
  tsr_shape shape;
  tsri_place from, to;
  int64_t from_strides[TSR_MAX_RANK], to_strides[TSR_MAX_RANK];
} tsri_copy_op;

// to[i] = the sum of the `columns` elements side by side from from[i * step] on, for each of `rows` rows. Reductions over the last
// axes come as this.
typedef struct tsri_sum_op {
  int64_t rows, columns, step;
  tsri_place from, to;
} tsri_sum_op;

typedef enum tsri_reduction {
  TSRI_REDUCTION_SUM,
  TSRI_REDUCTION_MAX,
  TSRI_REDUCTION_MIN,
  TSRI_REDUCTIONS
} tsri_reduction;

// to[i] = all elements of `from` along the reduced axes at index i of the kept ones, made one; `to` is row-major. Strides are in elements. f16 and
// bf16 are accumulated in f32, which the result's dtype may be, too. Sums of integers wrap; the largest and the smallest are NaN if any element is.
typedef struct tsri_reduce_op {
  tsri_reduction kind;
  int kept_rank, reduced_rank;  // neighbours are joined where strides allow it; 0: one result, one element
  int64_t kept_dims[TSR_MAX_RANK], kept_strides[TSR_MAX_RANK];
  int64_t reduced_dims[TSR_MAX_RANK], reduced_strides[TSR_MAX_RANK];
  tsri_place from, to;
} tsri_reduce_op;

typedef enum tsri_activation {
  TSRI_ACTIVATION_NONE,
  TSRI_ACTIVATION_RELU,
  TSRI_ACTIVATION_GELU_TANH,  // x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))) / 2
  TSRI_ACTIVATION_GELU        // x * (1 + erf(x / sqrt(2))) / 2
} tsri_activation;

// A matrix, or one for each index of the batch axes. Strides are in elements; along an axis of size 1 they are 0.
typedef struct tsri_matrix {
  tsri_place at;
  int64_t row, column;
  int64_t batch[TSR_MAX_RANK];  // 0: all of that axis have the same matrix
} tsri_matrix;

// What a product may have beside a b.
enum {
  TSRI_PRODUCT_SCALED = 1u << 0,  // alpha is not 1, or there is a c
  TSRI_PRODUCT_BIAS = 1u << 1,
  TSRI_PRODUCT_RESIDUAL = 1u << 2,
  TSRI_PRODUCT_RELU = 1u << (3 + TSRI_ACTIVATION_RELU),  // the activation, one of these
  TSRI_PRODUCT_GELU_TANH = 1u << (3 + TSRI_ACTIVATION_GELU_TANH),
  TSRI_PRODUCT_GELU = 1u << (3 + TSRI_ACTIVATION_GELU)
};

// y = activation(alpha a b + beta c + bias) + residual, where a is m x k, b is k x n, c, residual and y are m x n, and bias is a row of n
// elements side by side. f16 and bf16 are computed in f32 and rounded once. y and residual are row-major without gaps, batch axes first.
typedef struct tsri_product_op {
  int64_t m, n, k;  // none is 0
  int batch_rank;   // axes of size 1 are left out, and neighbours joined where all operands' strides allow it
  int64_t batch_dims[TSR_MAX_RANK];
  tsri_matrix a, b, c;  // c: there where beta is not 0
  tsri_place bias, residual, y;
  double alpha, beta;
  tsri_activation activation;
} tsri_product_op;

// Each of `rows` rows of `n` elements side by side, sorted; the rows lie one after the other. Equal elements keep their order (-0 equals 0), NaN comes
// last in both directions. `wants_order`: to is i32 and gets the index in its row that each element had.
typedef struct tsri_sort_op {
  int64_t rows, n;
  bool is_descending, wants_order;
  tsri_place from, to;
} tsri_sort_op;

// to[o, i, j] = from[o, 0, j] + … + from[o, i, j], or the product of these, for o below `outer`, i below `n`, j below `inner`; both are row-major. f16
// and bf16 are accumulated in f32.
typedef struct tsri_scan_op {
  int64_t outer, n, inner;
  bool is_product;
  tsri_place from, to;
} tsri_scan_op;

// An index for each place of a tensor of rank `rank`, along an axis of x (GATHER) or y (SCATTER_ADD) that has `size` elements, `step` elements
// apart. An index below 0 counts from the end. `strides` are those of x or y in elements, 0 along that axis.
//
// GATHER: y[i] = x[i's place, with indices[i] along the axis], 0 where that is out of range; y is row-major.
// SCATTER_ADD: y = x, `count` elements side by side, then y[i's place, with indices[i] along the axis] += source[i] in the row-major order of i, unless
// that is out of range; indices and source are row-major. f16 and bf16 are accumulated in f32.
typedef struct tsri_index_op {
  int rank;
  int64_t dims[TSR_MAX_RANK], index_strides[TSR_MAX_RANK], strides[TSR_MAX_RANK];
  tsr_dtype index_dtype;
  int64_t size, step, count;
  tsri_place indices, x, source, y;
} tsri_index_op;

typedef struct tsri_native_op {
  tsri_native_kind kind;
  tsr_dtype dtype, result;  // of a and b, or of what is read; of all the rest
  uint32_t parts;           // PRODUCT: TSRI_PRODUCT_ bits
  union {
    tsri_copy_op copy;
    tsri_sum_op sum;
    tsri_reduce_op reduce;
    tsri_product_op product;
    tsri_sort_op sort;
    tsri_scan_op scan;
    tsri_index_op index;
  } is;
} tsri_native_op;

// What a backend's native operators take: one row of its table. An operator is taken if there is a row with its kind, its dtype, and
// all of its parts.
typedef struct tsri_native_offer {
  tsri_native_kind kind;
  uint32_t dtypes;   // bit (1u << tsr_dtype)
  uint32_t results;  // the same for the result; 0: it has the dtype of the inputs
  uint32_t parts;
} tsri_native_offer;

typedef struct tsri_backend {
  uint32_t abi;          // TSRI_BACKEND_ABI
  uint32_t table_bytes;  // sizeof this struct when the backend was compiled
  const char *name;      // lower case, unique: "cuda"
  const char *title;     // as people write it: "CUDA"
  uint32_t code_forms;   // tsri_code_form bits; 0: runs no programs
  const char *dialect;   // of TSRI_CODE_TEXT and TSRI_CODE_WORDS ("opencl", "spirv"); NULL if neither is taken

  // --- Finding devices. The core serialises these six. ---

  // Opens the driver library. Once, before anything else, when the backend is first looked at. A failure is the
  // reason people read in `tessera devices`: name the library, where it was looked for, and what to install.
  tsr_status (*start)(const tsri_host *host);
  // After the last device is closed, at most once. NULL: nothing to do.
  void (*stop)(void);
  // 0 is a valid answer.
  tsr_status (*device_count)(int *out_count);
  // Cheap: no context is created. Best device first.
  tsr_status (*device_info)(int index, tsr_device_info *out_info);
  tsr_status (*device_open)(int index, const tsri_open_options *options, tsri_limits *out_limits,
                            tsri_device **out_device);
  // All buffers, queues, events and programs of the device are gone by now.
  void (*device_close)(tsri_device *device);

  // --- Memory. Any thread. ---

  // Free and total memory now. NULL: the figures of device_info are used.
  tsr_status (*memory_info)(tsri_device *device, uint64_t *out_free, uint64_t *out_total);
  // Contents start undefined. `bytes` is not 0. TSR_ERR_OUT_OF_MEMORY makes the core trim its pool and ask once more.
  tsr_status (*buffer_create)(tsri_device *device, size_t bytes, tsri_buffer **out_buffer);
  // Called only once no queued work uses the buffer.
  void (*buffer_destroy)(tsri_device *device, tsri_buffer *buffer);
  // The buffer's bytes where the host may read and write them at any time no queued work uses them; NULL result if
  // it may not. NULL entry: never.
  void *(*buffer_host)(tsri_device *device, tsri_buffer *buffer);
  // Makes a buffer of host memory that stays valid until buffer_destroy. NULL, or TSR_ERR_UNSUPPORTED (alignment, say): the
  // core copies.
  tsr_status (*buffer_import)(tsri_device *device, void *host_memory, size_t bytes, tsri_buffer **out_buffer);

  // --- Queues. queue_create and queue_destroy: any thread. The rest: one thread at a time per queue. ---

  tsr_status (*queue_create)(tsri_device *device, tsri_queue **out_queue);
  void (*queue_destroy)(tsri_queue *queue);  // its work is done by now
  // Waits for all work queued so far; UINT64_MAX: for ever, after which nothing runs, whatever the answer. TSR_ERR_TIMEOUT of
  // another wait leaves the work running. Reports work that failed after being queued.
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

  // --- Events. All NULL: the device has none and every queue is waited for instead. ---

  tsr_status (*event_create)(tsri_device *device, tsri_event **out_event);
  void (*event_destroy)(tsri_device *device, tsri_event *event);
  // Queued: the event happens when the work queued so far is done. Recording again moves it.
  tsr_status (*event_record)(tsri_queue *queue, tsri_event *event);
  // Queued: later work on `queue` waits for the event, which may have been recorded on another queue of the device.
  tsr_status (*event_await)(tsri_queue *queue, tsri_event *event);
  // Whether it has happened. Any thread.
  tsr_status (*event_is_done)(tsri_device *device, tsri_event *event, bool *out_done);
  // Time between two events that have happened. TSR_ERR_UNSUPPORTED unless the device was opened for profiling.
  tsr_status (*event_elapsed)(tsri_device *device, tsri_event *from, tsri_event *to, uint64_t *out_ns);

  // --- Programs. NULL if `code_forms` is 0. program_create and program_destroy: any thread. ---

  // TSR_ERR_BUILD with the compiler's log in the message.
  tsr_status (*program_create)(tsri_device *device, const tsri_code *code, tsri_program **out_program);
  void (*program_destroy)(tsri_device *device, tsri_program *program);
  // Queued. `launch` is read before the call returns.
  tsr_status (*launch)(tsri_queue *queue, tsri_program *program, const tsri_launch *launch);

  // --- Optional: native operators. For what is not taken the portable kernel runs. ---

  // Ends with TSRI_NATIVE_NONE. NULL: there are none.
  const tsri_native_offer *native_ops;
  // Whether this device takes an operator that `native_ops` offers: sizes, strides, settings. Cheap and free of side effects: called
  // while planning. Any thread. Buffers in `op` may be NULL. NULL: it takes all of them.
  bool (*has_op)(tsri_device *device, const tsri_native_op *op);
  // Queued. Only for what was taken. TSR_ERR_UNSUPPORTED, without a message: not this time, and the portable kernel runs.
  tsr_status (*run_op)(tsri_queue *queue, const tsri_native_op *op);

  // --- Optional: recorded graphs. NULL: the core replays launch by launch. ---

  // Between the two, calls on the queue are recorded and do not run.
  tsr_status (*graph_begin)(tsri_queue *queue);
  tsr_status (*graph_end)(tsri_queue *queue, tsri_graph **out_graph);
  tsr_status (*graph_launch)(tsri_queue *queue, tsri_graph *graph);
  void (*graph_destroy)(tsri_device *device, tsri_graph *graph);

  // --- Optional: copies between two devices of this backend, queued on `queue` of the destination. ---

  // NULL, or TSR_ERR_UNSUPPORTED: the core copies through the host.
  tsr_status (*copy_peer)(tsri_queue *queue, tsri_buffer *dst, size_t dst_offset, tsri_device *src_device,
                          tsri_buffer *src, size_t src_offset, size_t bytes);
} tsri_backend;

// What a plug-in exports under this name. May return NULL if it finds itself unusable.
#define TSRI_PLUGIN_SYMBOL "tsr_plugin_backend"
typedef const tsri_backend *(*tsri_plugin_fn)(void);

#endif
