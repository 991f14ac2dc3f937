// SPDX-License-Identifier: MIT
// Options of operators (ops.h), in structs whose zero value is the usual choice; NULL in place of a description means all zeros:
//
//   tsr_tensor *loss = tsr_cross_entropy(logits, labels, 1, &(tsr_loss_desc){.smoothing = 0.1});
//
// Ownership: a description, and the tensors that it names, are borrowed for the time of the call.
#ifndef TESSERA_DESC_H
#define TESSERA_DESC_H

#include <stdbool.h>
#include <stdint.h>

#include <tessera/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

// What becomes of the losses of single elements.
typedef enum tsr_loss_reduction {
  TSR_LOSS_MEAN,  // their mean; where classes have weights or a label is ignored, the sum divided by the weights of what counts
  TSR_LOSS_SUM,        // their sum
  TSR_LOSS_NONE,       // themselves
  TSR_LOSS_BATCH_MEAN  // their sum divided by the size of axis 0
} tsr_loss_reduction;

// Which of these a loss reads stands beside its declaration. One that it does not read must be 0: TSR_ERR_INVALID_ARGUMENT.
typedef struct tsr_loss_desc {
  tsr_loss_reduction reduction;
  bool ignores;                 // whether labels equal to `ignored` count for nothing
  int64_t ignored;              // -100 is a common one
  double smoothing;             // 0 to 1: how much of each label is spread evenly over all classes
  double delta;                 // huber: where the square ends; 0 means 1
  tsr_tensor *weight;           // of each class (labels), or of each element, broadcast to the loss; NULL: 1
  tsr_tensor *positive_weight;  // of what the target calls positive, broadcast to the loss; NULL: 1
} tsr_loss_desc;

#ifdef __cplusplus
}
#endif

#endif
