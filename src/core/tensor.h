// SPDX-License-Identifier: MIT
// The tensor record: a layout over a buffer, or a failure. No device knowledge.
#ifndef TSRI_TENSOR_H
#define TSRI_TENSOR_H

#include <tessera/buffer.h>
#include <tessera/scope.h>
#include <tessera/tensor.h>

#include "core/layout.h"
#include "core/object.h"
#include "core/value.h"

struct tsr_tensor {
  tsri_object object;
  tsr_status status;  // TSR_OK, or why it failed
  char *message;      // of a failed tensor: the text, a 0, the place in the library where it failed, a 0; owned
  tsr_dtype dtype;
  tsri_layout layout;
  tsri_value *value;  // one reference; NULL in a failed tensor
  tsr_scope *scope;   // that owns one reference, or NULL
  size_t scope_index;
  bool is_static;  // never freed: the one that says host memory is out
};

// A tensor over `value`, whose reference (that of tsri_value_init or tsri_value_hold) it takes, also when it fails. Given to the open scope.
tsr_tensor *tsri_tensor_of(tsri_value *value, tsr_dtype dtype, const tsri_layout *layout);

// The same over elements that are there; takes the reference to `buffer`.
tsr_tensor *tsri_tensor_create(tsr_buffer *buffer, tsr_dtype dtype, const tsri_layout *layout);

// Where the elements of a usable tensor are; NULL while they have not been computed.
static inline tsr_buffer *tsri_tensor_buffer(const tsr_tensor *tensor) { return tsri_value_buffer(tensor->value); }

// Another layout over the same elements.
tsr_tensor *tsri_tensor_view(const tsr_tensor *tensor, const tsri_layout *layout);

// A failed tensor with this thread's last error. Never NULL.
tsr_tensor *tsri_tensor_fail(tsr_status status);

// The result of the operator `caller`, which is composed of others: returned as it is, or, if it failed, exchanged for a failed
// tensor whose message carries the caller's name (tsri_fail_as).
tsr_tensor *tsri_tensor_named(const char *caller, tsr_tensor *result);

// TSR_OK if `tensor` can be used, else why not, with `caller` in the message where it is NULL or released; the
// message of a failed tensor is passed on as it is.
tsr_status tsri_tensor_check(const char *caller, const tsr_tensor *tensor);

// The same without a message.
static inline bool tsri_tensor_is_usable(const tsr_tensor *tensor) {
  return tensor && tensor->object.type == TSRI_OBJECT_TENSOR && tensor->status == TSR_OK;
}

// Scope bookkeeping: false when host memory is out.
bool tsri_scope_adopt(tsr_tensor *tensor);
void tsri_scope_disown(tsr_tensor *tensor);

#endif
