// SPDX-License-Identifier: MIT
// Tensors: creating, viewing, moving, reading and writing them.
//
// A call that makes a tensor always returns one. A wrong call, or a lack of memory, returns a *failed tensor* that
// stores the error; a call that gets a failed tensor returns a failed tensor with the same error; tsr_error() returns
// it. A result belongs to the caller, who releases it, or to the innermost scope that is open on the thread (scope.h).
//
// Threads: any thread may use any tensor. Writing a tensor while another thread reads or writes it, or a view of the
//          same memory, is a race that callers must avoid, even if the views have no element in common.
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

// Reference counting; both accept NULL. A tensor that belongs to a scope needs no release; releasing its last reference
// before the scope ends, on the scope's thread, removes it from the scope.
TSR_API tsr_tensor *tsr_retain(tsr_tensor *tensor);
TSR_API void tsr_release(tsr_tensor *tensor);

// TSR_OK, or the status of a failed tensor; then tsr_last_error() is its message and tsr_last_error_place() its place.
// NULL gives TSR_ERR_INVALID_ARGUMENT.
TSR_API tsr_status tsr_error(const tsr_tensor *tensor);

// Properties. For a failed tensor or NULL: f32, the scalar shape, stride 0, 0 elements, no device.
TSR_API tsr_dtype tsr_tensor_dtype(const tsr_tensor *tensor);
TSR_API tsr_shape tsr_tensor_shape(const tsr_tensor *tensor);
TSR_API int tsr_tensor_rank(const tsr_tensor *tensor);
TSR_API int64_t tsr_tensor_stride(const tsr_tensor *tensor, int axis);  // in elements; may be negative or 0
TSR_API int64_t tsr_tensor_count(const tsr_tensor *tensor);
TSR_API tsr_device *tsr_tensor_device(const tsr_tensor *tensor);  // borrowed
TSR_API bool tsr_tensor_is_contiguous(const tsr_tensor *tensor);  // row-major without gaps
// Whether writing to one could change the other: views of one tensor, or tensors that share host memory (DLPack).
TSR_API bool tsr_tensor_shares_memory(const tsr_tensor *a, const tsr_tensor *b);

// Creating. If `device` is NULL, or the dtype or shape is invalid, the result is a failed tensor. Tensors of host
// memory or of one value are allocated and filled at once, so `data` is borrowed for the call only. Everything else is
// only recorded: sequences (tsr_arange, tsr_eye), operators, copies and moves.

// Copies `bytes` of host memory, which must have exactly the size of the shape's elements, in row-major order.
TSR_API tsr_tensor *tsr_from_data(tsr_device *device, tsr_dtype dtype, tsr_shape shape, const void *data, size_t bytes);
TSR_API tsr_tensor *tsr_zeros(tsr_device *device, tsr_dtype dtype, tsr_shape shape);
TSR_API tsr_tensor *tsr_ones(tsr_device *device, tsr_dtype dtype, tsr_shape shape);

// Every element is `value`, converted like tsr_convert does. tsr_full_int is exact for integers beyond 2^53.
TSR_API tsr_tensor *tsr_full(tsr_device *device, tsr_dtype dtype, tsr_shape shape, double value);
TSR_API tsr_tensor *tsr_full_int(tsr_device *device, tsr_dtype dtype, tsr_shape shape, int64_t value);

// start, start + step, … up to but excluding `stop`: ceil((stop - start) / step) elements, or none if that is negative.
// Each is start + i * step, computed in f64 and then converted; i64 sequences of integers are exact beyond 2^53 too. A
// `step` of 0, NaN or infinity is an error.
TSR_API tsr_tensor *tsr_arange(tsr_device *device, tsr_dtype dtype, double start, double stop, double step);

// A matrix of rows x cols: 1 where col - row == diagonal, else 0.
TSR_API tsr_tensor *tsr_eye(tsr_device *device, tsr_dtype dtype, int64_t rows, int64_t cols, int64_t diagonal);

// Views: they share the tensor's memory, without a copy. A negative axis counts from the end.

// The same elements in row-major order with another shape; one size may be -1, which is then computed. The result is a
// view if strides can express it, otherwise a recorded copy (see tsr_tensor_shares_memory).
TSR_API tsr_tensor *tsr_reshape(tsr_tensor *tensor, tsr_shape shape);

// Swaps two axes.
TSR_API tsr_tensor *tsr_transpose(tsr_tensor *tensor, int axis_a, int axis_b);

// Axis i of the result is axis `axes[i]` of the tensor. `axis_count` must be the tensor's rank.
TSR_API tsr_tensor *tsr_permute(tsr_tensor *tensor, const int *axes, int axis_count);

// Elements start, start + step, … before `stop` along one axis, like Python's [start:stop:step]: negative positions
// count from the end, positions outside are clamped, and `step` may be negative but not 0. TSR_END as `stop` (and as
// `start` with a negative step) means the end of the axis in the direction of the step.
#define TSR_END INT64_MAX
TSR_API tsr_tensor *tsr_slice(tsr_tensor *tensor, int axis, int64_t start, int64_t stop, int64_t step);

// One item of a key such as Python's x[3, 2:8:2, None].
typedef enum tsr_key_kind {
  TSR_KEY_RANGE,  // elements `start` to `stop` of an axis by `step`, as in tsr_slice
  TSR_KEY_AT,     // element `start` of an axis, which the view lacks; a negative index counts from the end
  TSR_KEY_NEW     // a new axis of size 1
} tsr_key_kind;
typedef struct tsr_key {
  tsr_key_kind kind;
  int64_t start, stop, step;
} tsr_key;
#define TSR_AT(index)          ((tsr_key){TSR_KEY_AT, (index), 0, 0})
#define TSR_RANGE(start, stop) ((tsr_key){TSR_KEY_RANGE, (start), (stop), 1})
#define TSR_NEW_AXIS           ((tsr_key){TSR_KEY_NEW, 0, 0, 0})

// The view that a key selects. Item i is applied to the next axis of the tensor; axes after the last item are taken whole. `items` is borrowed for the call:
// tsr_view(x, (tsr_key[]){TSR_AT(3), TSR_RANGE(2, 8)}, 2).
//
// Errors: TSR_ERR_SHAPE (an index out of bounds, more items than axes), TSR_ERR_INVALID_ARGUMENT (a step of 0).
TSR_API tsr_tensor *tsr_view(tsr_tensor *tensor, const tsr_key *items, int item_count);

// Broadcasts to `shape`: axes of size 1, and missing leading axes, are repeated by a stride of 0. A size of -1 keeps
// the tensor's.
TSR_API tsr_tensor *tsr_expand(tsr_tensor *tensor, tsr_shape shape);

// Removes an axis of size 1, or inserts one before `axis`.
TSR_API tsr_tensor *tsr_squeeze(tsr_tensor *tensor, int axis);
TSR_API tsr_tensor *tsr_unsqueeze(tsr_tensor *tensor, int axis);

// Removes every axis of size 1.
TSR_API tsr_tensor *tsr_squeeze_all(tsr_tensor *tensor);

// Reverses an axis.
TSR_API tsr_tensor *tsr_flip(tsr_tensor *tensor, int axis);

// A view of the tensor if it is contiguous, else a contiguous copy. The copy is recorded like an operator: it is made
// when it is needed, from the elements as they are now, and may be fused into another operator's kernel.
TSR_API tsr_tensor *tsr_contiguous(tsr_tensor *tensor);

// The elements in memory of their own, contiguous. The copy is recorded like an operator: it is made when it is needed, from the elements as they are now.
TSR_API tsr_tensor *tsr_copy(tsr_tensor *tensor);

// Moving and reading.

// The tensor on `device`: a view if it is there already, else a contiguous copy, made directly if the devices can, else
// through the host. The copy is recorded: it is made when it is needed, from the elements as they are now.
TSR_API tsr_tensor *tsr_to(tsr_tensor *tensor, tsr_device *device);

// Runs everything the tensor needs, waits, and copies its elements to `out_data` in row-major order. `bytes` must be
// exactly their size.
//
// Errors: TSR_ERR_SHAPE (`bytes`: the message has both sizes), the failed tensor's own, those of tsr_evaluate and of a
//         wait.
TSR_API tsr_status tsr_read(tsr_tensor *tensor, void *out_data, size_t bytes);

// Reads the number in a tensor with one element, whatever its rank: converted like tsr_convert does, bool as 0 or 1.
// tsr_item_int accepts integers and bool only, and is exact for integers beyond 2^53.
//
// Errors: TSR_ERR_SHAPE (not exactly one element), TSR_ERR_DTYPE (tsr_item_int of a float, or of a u64 that int64_t does not
//         hold), TSR_ERR_INVALID_ARGUMENT
//         (NULL), those of tsr_read. Then `*out_value` is 0.
TSR_API tsr_status tsr_item(tsr_tensor *tensor, double *out_value);
TSR_API tsr_status tsr_item_int(tsr_tensor *tensor, int64_t *out_value);

// Copies the bytes of the element at an index, if that needs no wait and no copy from the device: the element has been computed, is in memory that the host can
// address, and no queued work can still change it. The index has a number for each axis; negative ones count from the end. Otherwise, and if the index is
// wrong, returns false: tsr_item of a tsr_view then reads the element, or reports the error.
TSR_API bool tsr_peek(const tsr_tensor *tensor, const int64_t *index, int axis_count, void *out_element);

// As tsr_peek, for all elements, in row-major order. False also if `bytes` is not their size; tsr_read then reads them, or reports the error.
TSR_API bool tsr_peek_all(const tsr_tensor *tensor, void *out_elements, size_t bytes);

// Queues everything the tensor needs and returns without waiting; reading, or tsr_device_synchronize, waits.
//
// Errors: the failed tensor's own, TSR_ERR_OUT_OF_MEMORY, TSR_ERR_UNSUPPORTED, TSR_ERR_BUILD, TSR_ERR_DEVICE_LOST. The
//         call may be repeated.
TSR_API tsr_status tsr_evaluate(tsr_tensor *tensor);

// Overwrites the tensor's elements, in row-major order. The tensor may be any view: all tensors that share its memory
// see the change.
//
// Errors: those of tsr_read; TSR_ERR_INVALID_ARGUMENT if the view repeats elements (tsr_expand), or the memory was
//         imported through DLPack as read-only.
TSR_API tsr_status tsr_write(tsr_tensor *tensor, const void *data, size_t bytes);

// Records a write: from here on the elements of `target`, which may be any view, are those of `source`, broadcast to
// the target's shape and converted to its dtype. Operators recorded before still read the old elements, even if they
// run later. Operators recorded after read the new ones, and so do all tensors that share the memory. The memory stays
// the same, so a capture that reads or writes it keeps doing so. `source` may overlap `target`: its old elements are
// read. A source on another device is moved.
//
// Nothing runs yet, unless the target's memory is shared with others (DLPack): then the write is queued at once. A
// write that nobody can see, because all tensors over the memory were released, never runs.
//
// An element-wise source that reads the target itself, as in x = x * 0.9 + y, is computed in place, in one kernel, if
// it has been released before the write runs. A scope on the thread holds it until the scope ends.
//
// Threads: any; assigning to a tensor that another thread uses is a race, as with tsr_write.
// Errors:  TSR_ERR_SHAPE (`source` does not broadcast to the target's shape), TSR_ERR_INVALID_ARGUMENT (the target
//          repeats elements (tsr_expand), is read-only, or is on another device while TESSERA_MIX=error), a failed
//          tensor's own, TSR_ERR_OUT_OF_MEMORY. Then the target keeps its elements. A failure of the write itself is
//          returned by the call that makes it run.
TSR_API tsr_status tsr_assign(tsr_tensor *target, tsr_tensor *source);

// As tsr_assign of one number, converted like tsr_convert does; tsr_fill_int is exact for integers beyond 2^53. If the target has few elements, the host can
// address them, and no recorded operator still has to read them, they are written at once.
//
// Errors: those of tsr_assign.
TSR_API tsr_status tsr_fill(tsr_tensor *target, double value);
TSR_API tsr_status tsr_fill_int(tsr_tensor *target, int64_t value);

// As tsr_fill, for the single element at an index (see tsr_peek). `element` points to its bytes, in the target's dtype.
//
// Errors: TSR_ERR_SHAPE (the index), those of tsr_assign.
TSR_API tsr_status tsr_assign_at(tsr_tensor *target, const int64_t *index, int axis_count, const void *element);

// Whether both have the same dtype, shape and element values (NaN equals nothing, -0 equals 0). Tensors on two devices
// are compared on the more compatible one, as for all operators (docs/architecture.md, "Mixed devices").
//
// Errors: those of tsr_read, for either.
TSR_API tsr_status tsr_equal(tsr_tensor *a, tsr_tensor *b, bool *out_equal);

// Prints like NumPy, followed by a line with dtype, shape and device, and a newline. Of more than 1000 elements only
// the first and last three of each axis are read and printed. `file` NULL means standard output.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (NULL), TSR_ERR_IO, those of tsr_read; then nothing is printed. For a failed tensor,
//         prints its message and returns TSR_OK.
TSR_API tsr_status tsr_print(tsr_tensor *tensor, FILE *file);

// As tsr_print, into memory: at most `text_bytes`, including the terminating 0. `*out_bytes` (may be NULL) is the size
// of the whole text, including the terminating 0, so a call with NULL and 0 returns the size.
TSR_API tsr_status tsr_format(tsr_tensor *tensor, char *text, size_t text_bytes, size_t *out_bytes);

// As tsr_format, but the elements alone, without the line about the tensor and without a newline at the end. With `has_commas` they are separated by commas as in
// NumPy's repr(), and lines are one column shorter, so that a closing bracket fits behind. The text is meant to follow `indent` columns (0 to 40) of other
// text: every line but the first is indented by that much.
//
// Errors: those of tsr_format, and a failed tensor's own; TSR_ERR_INVALID_ARGUMENT (`indent`).
TSR_API tsr_status tsr_format_elements(tsr_tensor *tensor, int indent, bool has_commas, char *text, size_t text_bytes,
                                       size_t *out_bytes);

#endif
