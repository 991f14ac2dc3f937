// SPDX-License-Identifier: MIT
// The tensor record: a layout over a value, or a failure. Knows nothing of devices.
#ifndef TSRI_TENSOR_H
#define TSRI_TENSOR_H

#include <tessera/buffer.h>
#include <tessera/scope.h>
#include <tessera/tensor.h>

#include "core/dtype.h"
#include "core/layout.h"
#include "core/object.h"
#include "core/value.h"

struct tsr_tensor {
  tsri_object object;
  tsr_status status;  // TSR_OK, or why the tensor failed
  // Failed tensors: the message, a 0, the source position where the tensor failed, a 0. Owned. NULL for other tensors.
  char *message;
  tsr_dtype dtype;
  tsri_layout layout;
  int64_t packed_last;  // i4 and u4: number of elements along the last axis (the layout counts bytes)
  tsri_value *value;    // one reference; NULL in a failed tensor
  tsr_scope *scope;     // the scope that owns one reference, or NULL
  size_t scope_index;
  bool is_static;  // never freed: the tensor that reports that host memory is out
};

// Makes a tensor over `value` and adds it to the open scope. Takes over a reference made by tsri_value_init or
// tsri_value_hold, also when it fails.
tsr_tensor *tsri_tensor_of(tsri_value *value, tsr_dtype dtype, const tsri_layout *layout);

// As tsri_tensor_of, over the elements in `buffer`; takes over the reference to it.
tsr_tensor *tsri_tensor_create(tsr_buffer *buffer, tsr_dtype dtype, const tsri_layout *layout);

// The buffer of a usable tensor; NULL while its elements have not been computed.
static inline tsr_buffer *tsri_tensor_buffer(const tsr_tensor *tensor) { return tsri_value_buffer(tensor->value); }

// Makes a tensor with another layout over the same value.
tsr_tensor *tsri_tensor_view(const tsr_tensor *tensor, const tsri_layout *layout);

// Makes a failed tensor with this thread's last error. Never NULL.
tsr_tensor *tsri_tensor_fail(tsr_status status);

// For the result of operator `caller`, which calls other operators: returns `result`, or, if that failed, a failed
// tensor whose message has the caller's name (tsri_fail_as).
tsr_tensor *tsri_tensor_named(const char *caller, tsr_tensor *result);

// TSR_OK if `tensor` is usable. Else the reason, with `caller` in the message if the tensor is NULL or released; the
// message of a failed tensor is passed on unchanged. A packed tensor (i4, u4) is refused: the message asks for a cast.
// tsri_tensor_explain is the same, out of line.
tsr_status tsri_tensor_explain(const char *caller, const tsr_tensor *tensor);
static inline tsr_status tsri_tensor_check(const char *caller, const tsr_tensor *tensor) {
  bool is_usable = tensor && tensor->object.type == TSRI_OBJECT_TENSOR && tensor->status == TSR_OK;
  return is_usable && !tsri_dtype_is_packed(tensor->dtype) ? TSR_OK : tsri_tensor_explain(caller, tensor);
}

// As tsri_tensor_check, for the few callers that also accept packed tensors.
tsr_status tsri_tensor_check_any(const char *caller, const tsr_tensor *tensor);

// As tsri_tensor_check, without setting the last error.
static inline bool tsri_tensor_is_usable(const tsr_tensor *tensor) {
  return tensor && tensor->object.type == TSRI_OBJECT_TENSOR && tensor->status == TSR_OK;
}

// Adds a tensor to the innermost scope (false when host memory is out), and removes it from its scope.
bool tsri_scope_adopt(tsr_tensor *tensor);
void tsri_scope_disown(tsr_tensor *tensor);

// Registers `at_end`, which is called on the scope's thread when the scope ends, after its tensors were released. At most one function per scope.
struct tsr_scope;
void tsri_scope_at_end(struct tsr_scope *scope, void (*at_end)(void *user), void *user);

#endif
