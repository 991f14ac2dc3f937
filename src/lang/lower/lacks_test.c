// SPDX-License-Identifier: MIT
// Every operation that a dialect lacks can be expanded to operations that it has.
#include "lang/lower/lacks.h"

#include "lang/emit/emit.h"
#include "lang/lower/expand.h"
#include "support/test.h"

static const tsr_dtype dtypes[] = {TSR_F32, TSR_F64, TSR_I32, TSR_U32, TSR_I64};
#define DEEPEST 4  // nesting of expansions

// Operations inside an expansion that the dialect lacks must have expansions as well, and none may lead back to
// itself.
static void check_down(const char *dialect, const tsri_lacks *lacks, tsri_ir_op op, tsr_dtype dtype, int depth) {
  tsri_expansion *x = malloc(sizeof *x);
  CHECK(x && depth < DEEPEST);
  if (!tsri_expand_has(op, (tsri_ir_type){(uint8_t)dtype, 1})) {
    test_fail(__FILE__, __LINE__, "%s lacks %s of %s, which has no expansion", dialect, tsri_ir_op_infos[op].name,
              tsr_dtype_name(dtype));
  }
  tsri_expand(op, (tsri_ir_type){(uint8_t)dtype, 1}, (tsri_expand_options){.fma = true, .nan_by_bits = true}, x);
  for (uint32_t i = 1; i < x->count; i++) {
    const tsri_ir_expr *n = &x->nodes[i];
    if (n->kind != TSRI_EXPR_OP || n->lane == 1) continue;
    tsr_dtype of = (tsr_dtype)(n->op == TSRI_OP_SELECT ? n->type.dtype : x->nodes[n->a].type.dtype);
    if (tsri_lacks_op(lacks, (tsri_ir_op)n->op, of)) check_down(dialect, lacks, (tsri_ir_op)n->op, of, depth + 1);
  }
  free(x);
}

TEST(every_operation_that_a_dialect_lacks_is_made_of_those_it_has) {
  for (const tsri_emitter *emitter = tsri_emitters; emitter->name; emitter++) {
    tsri_lacks lacks = tsri_lacks_of(emitter->name);
    for (int op = 0; op < TSRI_OP_COUNT; op++) {
      for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (!tsri_lacks_op(&lacks, (tsri_ir_op)op, dtypes[i])) continue;
        check_down(emitter->name, &lacks, (tsri_ir_op)op, dtypes[i], 0);
      }
    }
  }
}

TEST(lane_bytecode_and_unknown_dialects_lack_nothing) {
  CHECK(!tsri_lacks_op(&(tsri_lacks){0}, TSRI_OP_DIV, TSR_I32));
  tsri_lacks none = tsri_lacks_of("lanes");
  CHECK(none.f32 == 0 && none.f64 == 0 && none.i32 == 0 && none.u32 == 0 && none.i64 == 0);
}

TEST(a_device_may_lack_fma_and_division) {
  tsri_lacks lacks = tsri_lacks_of("spirv");
  tsri_lacks_add(&lacks, true, true, false);
  CHECK(!tsri_lacks_op(&lacks, TSRI_OP_FMA, TSR_F32) && !tsri_lacks_op(&lacks, TSRI_OP_DIV, TSR_F32));
  tsri_lacks_add(&lacks, false, true, false);
  CHECK(tsri_lacks_op(&lacks, TSRI_OP_FMA, TSR_F32) && tsri_lacks_op(&lacks, TSRI_OP_FMA, TSR_F64));
  CHECK(!tsri_lacks_op(&lacks, TSRI_OP_DIV, TSR_F32));
  tsri_lacks_add(&lacks, true, false, true);
  CHECK(tsri_lacks_op(&lacks, TSRI_OP_SQRT, TSR_F32) && !tsri_lacks_op(&lacks, TSRI_OP_DIV, TSR_F32));
  tsri_lacks_add(&lacks, true, false, false);
  CHECK(tsri_lacks_op(&lacks, TSRI_OP_DIV, TSR_F32) && !tsri_lacks_op(&lacks, TSRI_OP_DIV, TSR_F64));
}
