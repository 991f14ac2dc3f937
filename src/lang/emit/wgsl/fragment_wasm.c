// SPDX-License-Identifier: MIT
// In place of fragment.c in the browser, which has no subgroup matrices: kernels arrive here without fragments.
#include "lang/emit/wgsl/wgsl.h"

void tsri_wgsl_plan_fragments(tsri_wgsl *w) { (void)w; }

void tsri_wgsl_put_fragment_directives(const tsri_wgsl *w, tsri_builder *out) { (void)w, (void)out; }

void tsri_wgsl_put_fragments(tsri_wgsl *w, tsri_builder *out) { (void)w, (void)out; }

void tsri_wgsl_put_fragment_stmt(tsri_wgsl *w, const tsri_ir_stmt *s) { (void)w, (void)s; }
