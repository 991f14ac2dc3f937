// SPDX-License-Identifier: MIT
// Literals of finite floats that read back as the same number. The decimal point is always '.', whatever the program's
// locale is.
#ifndef TSRI_LANG_EMIT_LITERAL_H
#define TSRI_LANG_EMIT_LITERAL_H

#include <stdint.h>

#include "core/builder.h"

// As C and its relatives take them: "0.5f", "(-1.0e-30f)"; f64 without the f.
void tsri_literal_f32(tsri_builder *out, uint32_t bits);
void tsri_literal_f64(tsri_builder *out, uint64_t bits);

// As printf's %.9g: "0.5", "-1e-30".
void tsri_literal_shortest_f32(tsri_builder *out, float value);

#endif
