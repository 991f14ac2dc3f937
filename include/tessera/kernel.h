// SPDX-License-Identifier: MIT
// Your own kernels: written once in Tessera's kernel language (docs/kernel-language.md), run on every device.
#ifndef TESSERA_KERNEL_H
#define TESSERA_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <tessera/device.h>
#include <tessera/tensor.h>

// A kernel with its compile-time parameters fixed; belongs to no device. Counted.
typedef struct tsr_kernel tsr_kernel;

typedef struct tsr_kernel_desc {
  const char *source;          // text in the kernel language
  size_t source_bytes;         // 0: `source` ends with a 0
  const char *file_name;       // for messages; NULL: "kernel"
  const char *kernel;          // which kernel of the text; NULL: the only one
  const char *const *defines;  // compile-time parameters: "T=f32", "WG=128"
  int define_count;
  bool is_checked;  // an index out of range is an error instead of a stray access; slower
  const char
      *path;  // a file to read the text from, in place of `source`; messages name it unless there is a `file_name`
  const char *fills;  // fillings of the kernel's hooks: "fill blur.load(f32 scale) { … }"; NULL: none
} tsr_kernel_desc;

// Reads, checks and specialises a kernel. What a device needs of it is built when it is first launched there, and kept.
//
// Ownership: caller releases `*out_kernel`; the texts are copied.
// Threads:   any.
// Errors:    TSR_ERR_BUILD: the text has mistakes; the message lists them as a compiler does, with file, line, column and
//            hints. TSR_ERR_NOT_FOUND (no such kernel), TSR_ERR_INVALID_ARGUMENT (NULL, a wrong define, both `source` and
//            `path`), TSR_ERR_IO (`path` cannot be opened or read: the message has it and the reason),
//            TSR_ERR_OUT_OF_MEMORY. Then `*out_kernel` is NULL.
TSR_API tsr_status tsr_kernel_build(const tsr_kernel_desc *desc, tsr_kernel **out_kernel);

// Both take NULL. A kernel keeps the devices it was launched on open.
TSR_API tsr_kernel *tsr_kernel_retain(tsr_kernel *kernel);
TSR_API void tsr_kernel_release(tsr_kernel *kernel);

// "rms_norm<T=f32, WG=256>"; empty for NULL. The kernel's.
TSR_API const char *tsr_kernel_name(const tsr_kernel *kernel);

// Work items per group in x, y and z; zeros for NULL. `out_size` NULL: nothing is written.
TSR_API void tsr_kernel_group_size(const tsr_kernel *kernel, uint32_t out_size[3]);

// A run-time parameter.
typedef enum tsr_access { TSR_ACCESS_NONE, TSR_ACCESS_IN, TSR_ACCESS_OUT, TSR_ACCESS_INOUT } tsr_access;
typedef struct tsr_kernel_param {
  const char *name;   // the kernel's
  tsr_access access;  // TSR_ACCESS_NONE: a scalar
  tsr_dtype dtype;    // of an element, or of the scalar
} tsr_kernel_param;
TSR_API int tsr_kernel_param_count(const tsr_kernel *kernel);

// Errors: TSR_ERR_INVALID_ARGUMENT (NULL, or an index out of range).
TSR_API tsr_status tsr_kernel_get_param(const tsr_kernel *kernel, int index, tsr_kernel_param *out_param);

// How many groups to launch.
typedef struct tsr_grid {
  uint32_t x, y, z;  // 0 anywhere: nothing runs
} tsr_grid;

// Enough groups for this many work items in each direction (rounded up; the kernel checks its bounds).
TSR_API tsr_grid tsr_grid_for(const tsr_kernel *kernel, uint64_t items_x, uint64_t items_y, uint64_t items_z);

// An argument: a tensor for a buffer, a number for a scalar.
typedef enum tsr_arg_kind { TSR_ARG_TENSOR, TSR_ARG_INT, TSR_ARG_FLOAT } tsr_arg_kind;
typedef struct tsr_arg {
  tsr_arg_kind kind;
  tsr_tensor *tensor;  // TSR_ARG_TENSOR: borrowed for the call
  int64_t integer;     // TSR_ARG_INT: for integer and bool scalars; must fit
  double real;         // TSR_ARG_FLOAT: for float scalars (which take integers too)
  const char *name;  // of the parameter, borrowed for the call; NULL: arguments are in the order of the parameter list
} tsr_arg;
TSR_API tsr_arg tsr_arg_tensor(tsr_tensor *tensor);
TSR_API tsr_arg tsr_arg_int(int64_t value);
TSR_API tsr_arg tsr_arg_float(double value);

// The argument for the parameter of that name: tsr_arg_named("x", tsr_arg_tensor(x)).
TSR_API tsr_arg tsr_arg_named(const char *name, tsr_arg arg);

// Runs the kernel on the device of its tensors. Arguments come in the order of its parameter list (that of tsr_kernel_get_param:
// the kernel's own, then those of its hooks' fillings), or all with names, in any order. Queued: it may still run on return;
// reading a result waits.
//
// A tensor for a buffer of storage type T has dtype T. The kernel sees its elements in row-major order: an `in` tensor
// that is not contiguous is copied first, one for `out` or `inout` must be. An `in` tensor that shares memory with an `out` one
// is copied first, too, so that the kernel reads what was there before; two outputs must not overlap. Tensors for `in` on another device
// than the outputs are moved there, as operators' inputs are.
//
// Threads: any.
// Errors:  TSR_ERR_INVALID_ARGUMENT (count or kind of an argument, a name that is unknown, missing or given twice, a number
//          that does not fit, outputs that overlap or are not contiguous; the message names kernel and parameter), TSR_ERR_DTYPE, the error of a failed tensor, TSR_ERR_UNSUPPORTED (the
//          device lacks something: which is said), TSR_ERR_BUILD (the device's compiler refused: its log), TSR_ERR_LAUNCH
//          (checked mode: "kernel blur: index 70 is outside buffer 'x' of 64 elements (blur.tk:7:20)"; this and
//          TSR_ERR_TIMEOUT may also come out of a later wait), TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_kernel_launch(tsr_kernel *kernel, tsr_grid grid, const tsr_arg *args, int arg_count);

// Checks a whole text: every kernel in it with every type its parameters may have. What a compiler would print, errors and
// warnings, goes to `log`: at most `log_bytes` with a final 0; `*out_bytes` (may be NULL) is the size that would have held all of
// it, the final 0 counted.
//
// Errors: TSR_ERR_BUILD (the text has mistakes), TSR_ERR_INVALID_ARGUMENT, TSR_ERR_OUT_OF_MEMORY.
TSR_API tsr_status tsr_kernel_check(const char *source, size_t source_bytes, const char *file_name, char *log,
                                    size_t log_bytes, size_t *out_bytes);

// The kernel's text in a device's own language ("opencl", "cuda", "hip", "metal", "c", …), for curiosity and debugging.
//
// `text` receives at most `text_bytes` with a final 0; `*out_bytes` (may be NULL) is the size that would have held all of it, the
// final 0 counted.
// Errors: TSR_ERR_INVALID_ARGUMENT (no such dialect: the message lists them; or one that is not text), TSR_ERR_UNSUPPORTED.
TSR_API tsr_status tsr_kernel_emit(const tsr_kernel *kernel, const char *dialect, char *text, size_t text_bytes,
                                   size_t *out_bytes);

#endif
