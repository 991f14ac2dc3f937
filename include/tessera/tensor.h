// SPDX-License-Identifier: MIT
// Tensors: creating, viewing, moving, reading.
//
// Calls that make a tensor always return one. A wrong call, or a lack of memory, returns a *failed tensor*
// that remembers its error; calls given a failed tensor pass it on; tsr_error() asks. A result is the
// caller's to release, or belongs to the innermost scope open on the thread (scope.h).
//
// Threads: any thread may use any tensor. Writing a tensor while another thread reads or writes it, or any view of the same
//          memory, is the callers' race, also where the views have no element in common.
#ifndef TESSERA_TENSOR_H
#define TESSERA_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <tessera/device.h>
#include <tessera/dtype.h>
#include <tessera/shape.h>

typedef struct tsr_tensor tsr_tensor;

// Counted reference; both take NULL. A tensor that a scope owns needs no release; releasing its last reference before the scope
// ends, on the scope's thread, takes it out of the scope.
TSR_API tsr_tensor *tsr_retain(tsr_tensor *tensor);
TSR_API void tsr_release(tsr_tensor *tensor);

// TSR_OK, or the status of a failed tensor, whose message is then in tsr_last_error() and whose place in
// tsr_last_error_place().
// NULL gives TSR_ERR_INVALID_ARGUMENT.
TSR_API tsr_status tsr_error(const tsr_tensor *tensor);

// Facts. A failed tensor or NULL answers f32, the scalar shape, stride 0, 0 elements, no device.
TSR_API tsr_dtype tsr_tensor_dtype(const tsr_tensor *tensor);
TSR_API tsr_shape tsr_tensor_shape(const tsr_tensor *tensor);
TSR_API int64_t tsr_tensor_stride(const tsr_tensor *tensor, int axis);  // in elements; may be negative or 0
TSR_API int64_t tsr_tensor_count(const tsr_tensor *tensor);
TSR_API tsr_device *tsr_tensor_device(const tsr_tensor *tensor);  // borrowed
TSR_API bool tsr_tensor_is_contiguous(const tsr_tensor *tensor);  // row-major without gaps
// Whether writing one could change the other: views of one tensor, or tensors over the same host memory (DLPack).
TSR_API bool tsr_tensor_shares_memory(const tsr_tensor *a, const tsr_tensor *b);

// Creating. `device` NULL, a wrong dtype or a wrong shape gives a failed tensor. Tensors of host memory or of one value take memory and are
// filled at once, so `data` is borrowed for the call only. All else only records what is to be done: those that follow a rule
// (tsr_arange, tsr_eye), operators, copies and moves.

// Copies `bytes` of host memory, which must be exactly the shape's elements in row-major order.
TSR_API tsr_tensor *tsr_from_data(tsr_device *device, tsr_dtype dtype, tsr_shape shape, const void *data, size_t bytes);
TSR_API tsr_tensor *tsr_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape);
TSR_API tsr_tensor *tsr_ones(tsr_device *device, tsr_dtype dtype, tsr_shape shape);

// Every element is `value`, converted as by tsr_convert. The second takes integers beyond 2^53.
TSR_API tsr_tensor *tsr_full(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double value);
TSR_API tsr_tensor *tsr_full_int(tsr_device *device, tsr_dtype dtype, tsr_shape shape, int64_t value);

// start, start + step, … up to but without `stop`: ceil((stop - start) / step) elements, none if that is negative.
// Each is start + i * step computed in f64, then converted; of whole numbers an i64 is exact beyond 2^53, too. `step` 0, NaN
// or infinity is an error.
TSR_API tsr_tensor *tsr_arange(tsr_device *device, tsr_dtype dtype, double start, double stop, double step);

// rows x cols, 1 where col - row == diagonal, else 0.
TSR_API tsr_tensor *tsr_eye(tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t cols, int64_t diagonal);

// Views: they share the tensor's memory and cost no copy. An axis counts from the end when negative.

// Same elements in row-major order under another shape; one size may be -1 (worked out). A view where the
// strides allow it, otherwise a recorded copy (tsr_tensor_shares_memory tells).
TSR_API tsr_tensor *tsr_reshape(tsr_tensor *tensor, tsr_shape shape);

// Swaps two axes.
TSR_API tsr_tensor *tsr_transpose(tsr_tensor *tensor, int axis_a, int axis_b);

// Axis i of the result is axis `axes[i]` of the tensor; `axis_count` must be its rank.
TSR_API tsr_tensor *tsr_permute(tsr_tensor *tensor, const int *axes, int axis_count);

// Elements start, start + step, … before `stop` along one axis, as Python's [start:stop:step]: negative positions
// count from the end, positions outside are clamped, `step` may be negative but not 0.
// TSR_END as `stop` (and as `start` with a negative step) means "as far as it goes" in the step's direction.
#define TSR_END INT64_MAX
TSR_API tsr_tensor *tsr_slice(tsr_tensor *tensor, int axis, int64_t start, int64_t stop, int64_t step);

// Broadcasts: sizes of 1 (and missing leading axes) are repeated to `shape`, by stride 0. -1 keeps a size.
TSR_API tsr_tensor *tsr_expand(tsr_tensor *tensor, tsr_shape shape);

// Drops an axis of size 1, or puts one in before `axis`.
TSR_API tsr_tensor *tsr_squeeze(tsr_tensor *tensor, int axis);
TSR_API tsr_tensor *tsr_unsqueeze(tsr_tensor *tensor, int axis);

// Drops every axis of size 1.
TSR_API tsr_tensor *tsr_squeeze_all(tsr_tensor *tensor);

// Reverses an axis.
TSR_API tsr_tensor *tsr_flip(tsr_tensor *tensor, int axis);

// A view of the tensor if it is contiguous, else a contiguous copy. The copy is recorded like an operator: it is made when it is
// needed, of the elements that are there now, and may become part of another operator's kernel.
TSR_API tsr_tensor *tsr_contiguous(tsr_tensor *tensor);

// Moving and reading.

// The tensor on `device`: a view of it if it is there already, else a contiguous copy, made directly where the devices
// can, else through the host. The copy is recorded: it is made when it is needed, of the elements that are there now.
TSR_API tsr_tensor *tsr_to(tsr_tensor *tensor, tsr_device *device);

// Runs what the tensor needs, waits, and copies its elements in row-major order. `bytes` must be exactly
// their size.
//
// Errors: TSR_ERR_SHAPE (`bytes`: the message has both figures), the failed tensor's own, or those of a wait.
TSR_API tsr_status tsr_read(tsr_tensor *tensor, void *out_data, size_t bytes);

// Reads the one number of a tensor with one element, whatever its rank: converted as by tsr_convert, bool as 0 or 1. The second is
// exact for integers beyond 2^53, too, and takes integers and bool only.
//
// Errors: TSR_ERR_SHAPE (more elements than one, or none), TSR_ERR_DTYPE (tsr_item_int of a float), TSR_ERR_INVALID_ARGUMENT
//         (NULL), those of tsr_read. Then `*out_value` is 0.
TSR_API tsr_status tsr_item(tsr_tensor *tensor, double *out_value);
TSR_API tsr_status tsr_item_int(tsr_tensor *tensor, int64_t *out_value);

// Queues what the tensor needs and returns without waiting for it; reading, or tsr_device_synchronize, waits.
//
// Errors: the failed tensor's own, TSR_ERR_OUT_OF_MEMORY, TSR_ERR_UNSUPPORTED, TSR_ERR_BUILD, TSR_ERR_DEVICE_LOST. The tensor may
//         be tried again.
TSR_API tsr_status tsr_evaluate(tsr_tensor *tensor);

// Overwrites the tensor's elements, in row-major order, through whatever view it is: tensors that share its memory
// see the change.
//
// Errors: as tsr_read; TSR_ERR_INVALID_ARGUMENT if the view repeats elements (tsr_expand) or the memory is
//         read-only (imported through DLPack as such).
TSR_API tsr_status tsr_write(tsr_tensor *tensor, const void *data, size_t bytes);

// Records a write: from here on the elements of `target`, whatever view it is, are those of `source`, which is broadcast to the target's
// shape and converted to its dtype. Operators recorded before still see the old elements, also when they run later; those recorded
// after see the new ones, and so do all tensors that share the memory. The memory stays the same one, so a capture that reads or
// writes it goes on doing so. `source` may overlap `target`: it is read as it was before. A source on another device is moved.
//
// Nothing runs yet, unless others see the target's memory, too (DLPack): then the write is queued at once. A write that nobody can see,
// because all tensors over the memory were released, is never made.
//
// Threads: any; assigning to a tensor that another thread uses is the callers' race, as with tsr_write.
// Errors:  TSR_ERR_SHAPE (`source` does not broadcast to the target's shape), TSR_ERR_INVALID_ARGUMENT (the target repeats elements
//          (tsr_expand), is read-only, or is on another device while TESSERA_MIX=error), a failed tensor's own, TSR_ERR_OUT_OF_MEMORY.
//          Then the target keeps its elements. What fails when the write runs is said by the call that needs it.
TSR_API tsr_status tsr_assign(tsr_tensor *target, tsr_tensor *source);

// Whether both have the same dtype, shape and element values (NaN equals nothing, -0 equals 0). Inputs on two
// devices meet on the more compatible one, as all operators' do (docs/architecture.md, "Mixed devices").
//
// Errors: those of reading either.
TSR_API tsr_status tsr_equal(tsr_tensor *a, tsr_tensor *b, bool *out_equal);

// Prints as NumPy does, with a line of facts below, ending in a newline; more than 1000 elements are cut to the first and
// last three of each axis, and only those are read. `file` NULL means standard output.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL), TSR_ERR_IO, those of tsr_read; then nothing is printed. A failed tensor prints
//         its message and gives TSR_OK.
TSR_API tsr_status tsr_print(tsr_tensor *tensor, FILE *file);

// The same into memory: at most `text_bytes` with the final 0. `*out_bytes` (may be NULL) is the size, final 0 counted, that
// would have held all of it, so a call with NULL and 0 asks for the size.
TSR_API tsr_status tsr_format(tsr_tensor *tensor, char *text, size_t text_bytes, size_t *out_bytes);

#endif
