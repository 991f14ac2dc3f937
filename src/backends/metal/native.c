// SPDX-License-Identifier: MIT
// Products of f32 by MPSMatrixMultiplication of Apple's Metal Performance Shaders, for layouts that it reads in place. For f16 its precision
// of sums is not documented, so products of f16 are computed by our own kernels.
#include "core/native.h"
#include "backends/metal/metal.h"
#include "core/log.h"

enum {
  LEAST_WORK = 1 << 18,             // multiplications; with fewer, our kernels are started sooner
  DATA_TYPE_F32 = 0x10000000 | 32,  // MPSDataTypeFloat32
  ELEMENT_BYTES = 4
};

const tsri_native_offer tsri_metal_offers[] = {
    {.kind = TSRI_NATIVE_PRODUCT, .dtypes = 1u << TSR_F32, .parts = TSRI_PRODUCT_SCALED},
    {.kind = TSRI_NATIVE_NONE},
};

void tsri_metal_open_mps(metal_device *device, const char *native) {
  if (!tsri_native_allows(native, "mps")) return;
  device->has_mps = tsri_metal_load_mps() && tsri_mtl.objc_getClass("MPSMatrixMultiplication") != NULL;
  if (!device->has_mps)
    tsri_log(TSR_LOG_INFO, "metal: there is no MetalPerformanceShaders here; our own kernels multiply");
}

// A matrix as MPS sees it: row-major, perhaps with rows and columns exchanged.
typedef struct mps_matrix {
  int64_t rows, columns, row, batch;  // strides in elements
  bool is_transposed;
} mps_matrix;

// False: neither axis is contiguous, or matrices of the batch overlap.
static bool matrix_of(int64_t rows, int64_t columns, const tsri_matrix *m, bool has_batch, mps_matrix *out) {
  bool is_straight = (m->column == 1 || columns == 1) && (rows == 1 || m->row >= columns);
  bool is_turned = (m->row == 1 || rows == 1) && (columns == 1 || m->column >= rows);
  if (is_straight) {
    *out = (mps_matrix){rows, columns, rows == 1 ? columns : m->row, 0, false};
  } else if (is_turned) {
    *out = (mps_matrix){columns, rows, columns == 1 ? rows : m->column, 0, true};
  } else {
    return false;
  }
  out->batch = has_batch ? m->batch[0] : out->rows * out->row;
  return out->batch >= (out->rows - 1) * out->row + out->columns;
}

typedef struct mps_product {
  mps_matrix a, b, y;
  int64_t batch;
} mps_product;

static bool describe(const tsri_native_op *op, mps_product *out) {
  const tsri_product_op *p = &op->is.product;
  bool has_batch = p->batch_rank > 0;
  out->batch = has_batch ? p->batch_dims[0] : 1;
  out->y = (mps_matrix){p->m, p->n, p->n, p->m * p->n, false};
  return p->batch_rank <= 1 && p->beta == 0 &&
         (double)out->batch * (double)p->m * (double)p->n * (double)p->k >= LEAST_WORK &&
         matrix_of(p->m, p->k, &p->a, has_batch, &out->a) && matrix_of(p->k, p->n, &p->b, has_batch, &out->b);
}

bool tsri_metal_has_op(tsri_device *opaque, const tsri_native_op *op) {
  mps_product product;
  return op->kind == TSRI_NATIVE_PRODUCT && metal_device_of(opaque)->has_mps && describe(op, &product);
}

// Returns an MPSMatrix of the caller's, or NULL.
static metal_id make_matrix(const mps_matrix *m, int64_t batch, tsri_place place) {
  metal_uint row_bytes = (metal_uint)m->row * ELEMENT_BYTES, matrix_bytes = (metal_uint)m->batch * ELEMENT_BYTES;
  metal_id descriptor =
      METAL_SEND(metal_id, tsri_mtl.objc_getClass("MPSMatrixDescriptor"), mps_descriptor,
                 (metal_uint, metal_uint, metal_uint, metal_uint, metal_uint, uint32_t), (metal_uint)m->rows,
                 (metal_uint)m->columns, (metal_uint)batch, row_bytes, matrix_bytes, DATA_TYPE_F32);
  metal_id matrix = descriptor ? METAL_GET(metal_id, tsri_mtl.objc_getClass("MPSMatrix"), alloc) : NULL;
  if (!matrix) return NULL;
  return METAL_SEND(metal_id, matrix, mps_matrix, (metal_id, metal_uint, metal_id),
                    metal_buffer_of(place.buffer)->memory, place.offset, descriptor);
}

static metal_id make_product(const metal_device *device, const mps_product *d, const tsri_product_op *p) {
  metal_id product = METAL_GET(metal_id, tsri_mtl.objc_getClass("MPSMatrixMultiplication"), alloc);
  if (!product) return NULL;
  product = METAL_SEND(metal_id, product, mps_product,
                       (metal_id, signed char, signed char, metal_uint, metal_uint, metal_uint, double, double),
                       device->gpu.device, d->a.is_transposed, d->b.is_transposed, (metal_uint)p->m, (metal_uint)p->n,
                       (metal_uint)p->k, p->alpha, 0.0);
  if (product) METAL_SEND(void, product, mps_batch_size, (metal_uint), (metal_uint)d->batch);
  return product;
}

static tsr_status run_product(metal_queue *queue, const mps_product *d, const tsri_product_op *p) {
  metal_id commands = NULL;
  metal_id a = make_matrix(&d->a, d->batch, p->a.at), b = make_matrix(&d->b, d->batch, p->b.at);
  metal_id y = make_matrix(&d->y, d->batch, p->y), product = make_product(queue->device, d, p);
  // If one of these objects could not be made, the caller uses the portable kernel.
  tsr_status status = a && b && y && product ? tsri_metal_open(queue, &commands) : TSR_ERR_UNSUPPORTED;
  if (status == TSR_OK) {
    METAL_SEND(void, product, mps_encode, (metal_id, metal_id, metal_id, metal_id), commands, a, b, y);
    status = tsri_metal_encoded(queue);
  }
  metal_release(a);
  metal_release(b);
  metal_release(y);
  metal_release(product);
  return status;
}

tsr_status tsri_metal_run_op(tsri_queue *opaque, const tsri_native_op *op) {
  mps_product product;
  if (!describe(op, &product)) return TSR_ERR_UNSUPPORTED;
  void *pool = tsri_mtl.objc_autoreleasePoolPush();
  tsr_status status = run_product(metal_queue_of(opaque), &product, &op->is.product);
  tsri_mtl.objc_autoreleasePoolPop(pool);
  return status;
}
