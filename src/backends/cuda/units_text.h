// SPDX-License-Identifier: MIT
#ifndef TSRI_CUDA_UNITS_TEXT_H
#define TSRI_CUDA_UNITS_TEXT_H

// The text of units.cu, which the build embeds (cmake/embed.cmake). It ends with 0.
extern const unsigned char tsri_cuda_units_text[];

#endif
