// SPDX-License-Identifier: MIT
#ifndef TSRI_CUDA_OWN_TEXTS_H
#define TSRI_CUDA_OWN_TEXTS_H

// The texts of units.cu, halves.cu, heads.cu, join.cu and masks.cu, which the build embeds (cmake/embed.cmake). They end with 0.
extern const unsigned char tsri_cuda_units_text[], tsri_cuda_halves_text[], tsri_cuda_heads_text[],
    tsri_cuda_join_text[], tsri_cuda_masks_text[];

#endif
