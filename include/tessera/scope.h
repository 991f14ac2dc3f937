// SPDX-License-Identifier: MIT
// Scopes: tensors created on a thread belong to its innermost open scope and are released with it.
#ifndef TESSERA_SCOPE_H
#define TESSERA_SCOPE_H

#include <tessera/device.h>
#include <tessera/tensor.h>

typedef struct tsr_scope tsr_scope;

// Opens a scope on this thread, inside the innermost one that is open. The scope holds a reference to `device`, which
// may be NULL.
//
// Returns NULL when host memory is out; results then belong to the caller, as without a scope.
// Threads: a scope belongs to the thread that opened it. Scopes that are open when their thread ends are ended.
TSR_API tsr_scope *tsr_scope_begin(tsr_device *device);

// Releases the tensors of the scope, and ends scopes that are still open inside it. `scope` may be NULL.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (not an open scope of this thread). Then nothing happens.
TSR_API tsr_status tsr_scope_end(tsr_scope *scope);

// Removes `tensor` from its scope: the caller now releases it. Returns `tensor`. Does nothing if it belongs to no
// scope.
//
// Threads: the one that opened the scope.
TSR_API tsr_tensor *tsr_keep(tsr_tensor *tensor);

#endif
