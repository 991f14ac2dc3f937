// SPDX-License-Identifier: MIT
// Mixed precision: products convert their f32 inputs to f16 or bf16, while operators that need the range of f32 are computed in f32.
//
//   tsr_autocast_begin(TSR_BF16);
//   tsr_tensor *y = tsr_linear(x, w, b, NULL);                  // computed in bf16, added up in f32; y is bf16
//   tsr_tensor *loss = tsr_cross_entropy(y, labels, 1, NULL);   // f32
//   tsr_autocast_end();
//
// Products, convolutions and attention convert inputs of f32; sums, norms, softmax and losses give f32 for f16 and bf16. All other operators compute in the dtype of
// their inputs. The list is in docs/training.md. f64 and integers are never converted. With f16, small gradients may become 0: see .loss_scale in optim.h.
#ifndef TESSERA_AUTOCAST_H
#define TESSERA_AUTOCAST_H

#include <tessera/dtype.h>
#include <tessera/status.h>

// Begins a range, until tsr_autocast_end, in which operators that the calling thread records convert their inputs in this way. `dtype` is TSR_F16 or TSR_BF16;
// TSR_F32 switches conversions off for a range inside another one. Ranges nest, up to 16 deep.
//
// Gradients (tsr_grad) are computed in the dtypes of the operators they go back through, whether a range is open or not.
//
// Threads: each thread has its own.
// Errors:  TSR_ERR_DTYPE, TSR_ERR_INVALID_ARGUMENT (too many ranges).
TSR_API tsr_status tsr_autocast_begin(tsr_dtype dtype);

// Ends the innermost range.
//
// Errors: TSR_ERR_INVALID_ARGUMENT (no range is open).
TSR_API tsr_status tsr_autocast_end(void);

#endif
