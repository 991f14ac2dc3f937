// SPDX-License-Identifier: MIT
// embedding_bag: sums rows of a table (or takes their mean or maximum) as they are read (kernels/op_bag.tk), so that they are never stored.
#include "core/error.h"
#include "graph/node.h"
#include "ops/call.h"
#include "ops/compose.h"
#include "ops/operators.h"
#include "ops/promote.h"

#include <tessera/ops.h>

static const char name[] = "embedding_bag";

// Inputs: the table; the indices as a list; then the offsets and the weights, if given. All lists are contiguous.
tsr_status tsri_run_bag(const tsri_kernel_run *run) {
  const tsri_bag_attributes *given = TSRI_GIVEN(run->node, bag);
  const tsri_layout *table = &run->layouts[0], *indices = &run->layouts[1];
  bool has_offsets = given->has_offsets != 0, has_weights = given->has_weights != 0;
  int offsets = has_offsets ? 2 : 1,
      weights = has_weights ? (has_offsets ? 3 : 2)
                            : 0;  // index of the input; without weights, a placeholder that is not read
  int64_t bags = run->shape.dims[0], count = bags * run->shape.dims[1];
  if (count == 0) return TSR_OK;
  if (indices->count == 0 || table->count == 0) return tsri_call_zero(run);
  tsr_status status = tsri_call_check(name, table);
  if (status == TSR_OK) status = tsri_call_check(name, indices);
  if (status == TSR_OK) status = tsri_call_check(name, &(tsri_layout){.shape = run->shape, .count = count});
  if (status != TSR_OK) return status;
  tsri_call call;
  tsri_call_init(&call, run->device, "op_bag", "bag",
                 TSRI_WITH(TSRI_TYPE("T", run->dtype), TSRI_TYPE("A", tsri_accumulator(run->dtype)),
                           TSRI_CONSTANT("MODE", given->mode), TSRI_CONSTANT("OFFSETS", has_offsets),
                           TSRI_CONSTANT("WEIGHTS", has_weights), TSRI_CONSTANT("IGNORES", given->ignores)));
  tsri_call_buffer(&call, "table", run->inputs[0], run->dtype);
  tsri_call_buffer(&call, "indices", run->inputs[1], TSR_I32);
  tsri_call_buffer(&call, "offsets", run->inputs[offsets], TSR_I32);
  tsri_call_buffer(&call, "weights", run->inputs[weights], run->dtype);
  tsri_call_buffer(&call, "y", run->output, run->dtype);
  tsri_call_word(&call, "n", count);
  tsri_call_word(&call, "columns", run->shape.dims[1]);
  tsri_call_word(&call, "rows", table->shape.dims[0]);
  tsri_call_word(&call, "bags", bags);
  tsri_call_word(&call, "each", indices->count / bags);
  tsri_call_word(&call, "total", indices->count);
  tsri_call_word(&call, "t_at", table->offset);
  tsri_call_words(&call, "t", 0, table->strides, 2);
  tsri_call_word(&call, "i_at", indices->offset);
  tsri_call_word(&call, "o_at", run->layouts[offsets].offset);
  tsri_call_word(&call, "w_at", run->layouts[weights].offset);
  tsri_call_word(&call, "ignored", given->ignored);
  return tsri_call_items(&call, count);
}

static tsr_status check_integers(const char *what, const tsr_tensor *list) {
  tsr_dtype_kind kind = tsr_dtype_kind_of(list->dtype);
  if (kind == TSR_KIND_INT || kind == TSR_KIND_UINT) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_DTYPE, "embedding_bag: %s are integers, not %s", what, tsr_dtype_name(list->dtype));
}

static tsr_status check_shapes(const tsr_tensor *table, const tsr_tensor *indices, const tsr_tensor *offsets) {
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_shape shape = indices->layout.shape;
  bool fits = table->layout.shape.rank == 2 && shape.rank == (offsets ? 1 : 2) && indices->layout.count <= INT32_MAX &&
              (!offsets || offsets->layout.shape.rank == 1);
  if (fits) return TSR_OK;
  return TSRI_FAIL(
      TSR_ERR_SHAPE,
      "embedding_bag: the table is %s, indices are %s; they are [rows, columns] and [bags, size], or [indices] "
      "beside a list of offsets",
      tsr_shape_format(table->layout.shape, a, sizeof a), tsr_shape_format(shape, b, sizeof b));
}

static tsr_status check_desc(const tsr_tensor *indices, const tsr_bag_desc *desc) {
  if ((unsigned)desc->mode > TSR_BAG_MAX) {
    return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "embedding_bag: there is no mode %d", (int)desc->mode);
  }
  if (!desc->weights) return TSR_OK;
  char a[TSR_SHAPE_TEXT_BYTES], b[TSR_SHAPE_TEXT_BYTES];
  tsr_status status = tsri_tensor_check(name, desc->weights);
  if (status != TSR_OK) return status;
  if (desc->mode != TSR_BAG_SUM) return TSRI_FAIL(TSR_ERR_INVALID_ARGUMENT, "embedding_bag: .weights are for sums");
  if (tsri_shape_equal(desc->weights->layout.shape, indices->layout.shape)) return TSR_OK;
  return TSRI_FAIL(TSR_ERR_SHAPE, "embedding_bag: weights are %s, indices are %s",
                   tsr_shape_format(desc->weights->layout.shape, a, sizeof a),
                   tsr_shape_format(indices->layout.shape, b, sizeof b));
}

// A contiguous list of `dtype`.
static tsr_tensor *packed_list(tsr_tensor *x, tsr_dtype dtype) {
  tsr_tensor *cast = tsr_cast(x, dtype), *flat = tsri_then(tsr_reshape(cast, TSR_SHAPE(x->layout.count)), cast);
  return tsri_then(tsr_contiguous(flat), flat);
}

static tsr_tensor *record(tsr_tensor *table, tsr_tensor *indices, tsr_tensor *offsets, const tsr_bag_desc *desc) {
  const tsri_op *op = TSRI_BODY(embedding_bag);
  tsr_dtype dtype = tsri_promote_float(table->dtype);
  if (desc->weights) dtype = tsri_promote(dtype, desc->weights->dtype);
  tsr_tensor *inputs[4] = {tsr_cast(table, dtype), packed_list(indices, TSR_I32)};
  int count = 2;
  if (offsets) inputs[count++] = packed_list(offsets, TSR_I32);
  if (desc->weights) inputs[count++] = packed_list(desc->weights, dtype);
  tsr_shape shape = TSR_SHAPE((offsets ? offsets : indices)->layout.shape.dims[0], table->layout.shape.dims[1]);
  tsri_bag_attributes given = {.mode = (int64_t)desc->mode,
                               .has_offsets = offsets != NULL,
                               .has_weights = desc->weights != NULL,
                               .ignores = desc->ignores,
                               .ignored = desc->ignored};
  tsr_device *device = NULL;
  tsr_status status = tsri_shape_check(name, shape, &(int64_t){0});
  for (int i = 0; i < count && status == TSR_OK; i++) status = tsri_tensor_check(name, inputs[i]);
  if (status == TSR_OK) status = tsri_record_device(name, inputs, count, &device);
  tsr_tensor *result = status == TSR_OK
                           ? tsri_record_kernel(op, device, dtype, shape, inputs, count, TSRI_GIVE_ALL(op, bag, &given))
                           : tsri_tensor_fail(status);
  tsri_release_all(inputs, count);
  return tsri_tensor_named(name, result);
}

tsr_tensor *tsr_embedding_bag(tsr_tensor *table, tsr_tensor *indices, tsr_tensor *offsets, const tsr_bag_desc *desc) {
  static const tsr_bag_desc usual;
  if (!desc) desc = &usual;
  tsr_status status = tsri_tensor_check(name, table);
  if (status == TSR_OK) status = tsri_tensor_check(name, indices);
  if (status == TSR_OK && offsets) status = tsri_tensor_check(name, offsets);
  if (status == TSR_OK) status = check_shapes(table, indices, offsets);
  if (status == TSR_OK) status = check_integers("indices", indices);
  if (status == TSR_OK && offsets) status = check_integers("offsets", offsets);
  if (status == TSR_OK) status = check_desc(indices, desc);
  return status == TSR_OK ? record(table, indices, offsets, desc) : tsri_tensor_fail(status);
}
