// SPDX-License-Identifier: MIT
// Families of operators that need more than a call to be recorded again.
#ifndef TSRI_SAVED_AGAIN_FAMILIES_H
#define TSRI_SAVED_AGAIN_FAMILIES_H

#include "ops/operators.h"
#include "saved/again.h"

// The attributes of a step: TSRI_AGAIN_GIVEN(s, conv)->groups.
#define TSRI_AGAIN_GIVEN(step, set) ((const tsri_##set##_attributes *)(step)->given)

// Whether the step is one of this operator: TSRI_AGAIN_IS(s, conv).
#define TSRI_AGAIN_IS(step, operator_name) ((step)->op == TSRI_BODY(operator_name))

// A failed tensor: `what` is not what a node of the operator can have.
tsr_tensor *tsri_again_wrong(const tsri_again *s, const char *what);

// Each returns the result, or a failed tensor if the attributes are no node's of the operator.
tsr_tensor *tsri_again_conv(const tsri_again *s);
tsr_tensor *tsri_again_pool(const tsri_again *s);
tsr_tensor *tsri_again_columns(const tsri_again *s);
tsr_tensor *tsri_again_attention(const tsri_again *s);
tsr_tensor *tsri_again_bag(const tsri_again *s);
tsr_tensor *tsri_again_matmul_integer(const tsri_again *s);

// Factors of matrices, and images (again_matrices.c). Those with several results set `out`.
tsr_tensor *tsri_again_distance(const tsri_again *s);
tsr_tensor *tsri_again_cholesky(const tsri_again *s);
tsr_tensor *tsri_again_triangular(const tsri_again *s);
tsr_status tsri_again_lu(const tsri_again *s, tsr_tensor **out);
tsr_status tsri_again_jacobi(const tsri_again *s, tsr_tensor **out);
tsr_status tsri_again_qr(const tsri_again *s, tsr_tensor **out);
tsr_tensor *tsri_again_roi_align(const tsri_again *s);
tsr_tensor *tsri_again_roi_weights(const tsri_again *s);
tsr_status tsri_again_roi_places(const tsri_again *s, tsr_tensor **out);
tsr_status tsri_again_resize_table(const tsri_again *s, tsr_tensor **out);
tsr_tensor *tsri_again_resize(const tsri_again *s);
tsr_tensor *tsri_again_resize_plane(const tsri_again *s);
tsr_status tsri_again_recurrent(const tsri_again *s, tsr_tensor **out);

// Gradients (again_gradients.c).
tsr_status tsri_again_norm_gradient(const tsri_again *s, tsr_tensor **out);
tsr_status tsri_again_norm_one_pass(const tsri_again *s, tsr_tensor **out);
tsr_tensor *tsri_again_channel_statistics(const tsri_again *s);
tsr_tensor *tsri_again_channel_slopes(const tsri_again *s);
tsr_tensor *tsri_again_conv_weight(const tsri_again *s);
tsr_tensor *tsri_again_max_pool_gradient(const tsri_again *s);
tsr_status tsri_again_attention_gradient(const tsri_again *s, tsr_tensor **out);
tsr_status tsri_again_attention_tiles(const tsri_again *s, tsr_tensor **out);
tsr_status tsri_again_label_entropy(const tsri_again *s, tsr_tensor **out);
tsr_tensor *tsri_again_label_gradient(const tsri_again *s);

#endif
