// SPDX-License-Identifier: MIT
#include "graph/number.h"

#include <string.h>

#include "core/error.h"
#include "graph/node.h"
#include "runtime/buffer.h"

const tsri_op tsri_op_number = {.name = "full", .kind = TSRI_OP_ELEMENTWISE, .expression = "#0"};

bool tsri_number_fits(tsr_dtype dtype, const unsigned char *element, double *out_value) {
  unsigned char again[8];
  bool is_known = tsr_convert(TSR_F64, out_value, dtype, element, 1) == TSR_OK &&
                  tsr_convert(dtype, again, TSR_F64, out_value, 1) == TSR_OK;
  return is_known && memcmp(element, again, tsr_dtype_bytes(dtype)) == 0;
}

tsr_tensor *tsri_record_number(tsr_device *device, tsr_dtype dtype, const tsri_layout *layout, double value) {
  const tsri_scalars scalars = {.count = 1, .values = {value}};
  tsri_node *node = tsri_node_create(&tsri_op_number, device, dtype, 0, &scalars);
  if (!node) return tsri_tensor_fail(TSRI_FAIL(TSR_ERR_OUT_OF_MEMORY, "full: no host memory for its record"));
  node->inputs[0].dtype = node->inputs[0].as = dtype;  // the type of the parameter; there is no input
  return tsri_node_record(node, layout);
}

tsr_status tsri_number_run(const tsri_node *node, tsr_buffer *output) {
  unsigned char element[8];
  tsr_status status = tsr_convert(node->dtype, element, TSR_F64, tsri_node_scalars(node)->values, 1);
  size_t bytes = tsr_dtype_bytes(node->dtype);
  return status == TSR_OK ? tsr_buffer_fill(output, 0, bytes, element, bytes) : status;
}
