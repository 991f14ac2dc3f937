// SPDX-License-Identifier: MIT
// Families of operators that need more than a call to be recorded again.
#ifndef TSRI_SAVED_AGAIN_FAMILIES_H
#define TSRI_SAVED_AGAIN_FAMILIES_H

#include "saved/again.h"

// Each returns the result, or a failed tensor if the attributes are no node's of the operator.
tsr_tensor *tsri_again_conv(const tsri_again *s);
tsr_tensor *tsri_again_pool(const tsri_again *s);
tsr_tensor *tsri_again_columns(const tsri_again *s);
tsr_tensor *tsri_again_attention(const tsri_again *s);
tsr_tensor *tsri_again_bag(const tsri_again *s);
tsr_tensor *tsri_again_matmul_integer(const tsri_again *s);

#endif
