// SPDX-License-Identifier: MIT
// Matrices and their product, as MetalPerformanceShaders has them.
#include "standins/metal/metal.h"

#pragma GCC diagnostic ignored "-Wcast-function-type"

typedef struct descriptor {
  objc_object base;
  size_t rows, columns, matrices, row_bytes, matrix_bytes;
} descriptor;

static const objc_class descriptor_class;

static id make_descriptor(id class, SEL selector, unsigned long rows, unsigned long columns, unsigned long matrices,
                          unsigned long row_bytes, unsigned long matrix_bytes, uint32_t type) {
  (void)class, (void)selector;
  if (type != (0x10000000u | 32u)) misuse("a matrix of the data type %x", type);
  if (row_bytes < columns * 4 || row_bytes % 4 != 0) misuse("rows of %lu elements in %lu bytes", columns, row_bytes);
  descriptor *d = (descriptor *)make_object(&descriptor_class);
  *d = (descriptor){d->base, rows, columns, matrices, row_bytes, matrix_bytes};
  return autorelease(&d->base);
}

static const objc_class descriptor_class = {
    .name = "MPSMatrixDescriptor",
    .bytes = sizeof(descriptor),
    .methods = (const objc_method[]){{NULL, NULL}},
    .class_methods = (const objc_method[]){
        METHOD("matrixDescriptorWithRows:columns:matrices:rowBytes:matrixBytes:dataType:", make_descriptor),
        {NULL, NULL}}};

typedef struct matrix {
  objc_object base;
  buffer *memory;
  size_t offset;
  descriptor *is;
} matrix;

static void end_matrix(id self) {
  drop((id)((matrix *)self)->memory);
  drop((id)((matrix *)self)->is);
}

static id init_matrix(id self, SEL selector, id memory, unsigned long offset, id is) {
  (void)selector;
  matrix *m = (matrix *)self;
  m->memory = (buffer *)keep(memory);
  m->offset = offset;
  m->is = (descriptor *)keep(is);
  return self;
}

static const objc_class matrix_class = {
    .name = "MPSMatrix",
    .bytes = sizeof(matrix),
    .end = end_matrix,
    .methods = (const objc_method[]){METHOD("initWithBuffer:offset:descriptor:", init_matrix), {NULL, NULL}}};

typedef struct multiplication {
  objc_object base;
  size_t m, n, k, count;
  int is_transposed[2];
  double alpha;
} multiplication;

static id init_product(id self, SEL selector, id device, signed char left, signed char right, unsigned long m,
                       unsigned long n, unsigned long k, double alpha, double beta) {
  (void)selector, (void)device;
  if (beta != 0) misuse("a product with beta");
  multiplication *p = (multiplication *)self;
  *p = (multiplication){p->base, m, n, k, 1, {left, right}, alpha};
  return self;
}

static void set_batch_size(id self, SEL selector, unsigned long count) {
  (void)selector;
  ((multiplication *)self)->count = count;
}

static void encode(id self, SEL selector, id commands, id left, id right, id result) {
  (void)selector;
  const multiplication *p = (const multiplication *)self;
  const matrix *of[3] = {(const matrix *)left, (const matrix *)right, (const matrix *)result};
  product made = {.a = of[0]->memory,
                  .b = of[1]->memory,
                  .y = of[2]->memory,
                  .m = p->m,
                  .n = p->n,
                  .k = p->k,
                  .count = p->count,
                  .is_transposed = {p->is_transposed[0], p->is_transposed[1]},
                  .alpha = p->alpha};
  for (int i = 0; i < 3; i++) {
    if (of[i]->is->matrices < p->count) misuse("a batch of %zu of %zu matrices", p->count, of[i]->is->matrices);
    made.offsets[i] = of[i]->offset;
    made.rows[i] = of[i]->is->row_bytes;
    made.batches[i] = of[i]->is->matrix_bytes;
  }
  encode_product(commands, &made);
}

static const objc_class product_class = {
    .name = "MPSMatrixMultiplication",
    .bytes = sizeof(multiplication),
    .methods = (const objc_method[]){
        METHOD("initWithDevice:transposeLeft:transposeRight:resultRows:resultColumns:interiorColumns:alpha:beta:",
               init_product),
        METHOD("setBatchSize:", set_batch_size),
        METHOD("encodeToCommandBuffer:leftMatrix:rightMatrix:resultMatrix:", encode),
        {NULL, NULL}}};

const objc_class *const mps_classes[] = {&descriptor_class, &matrix_class, &product_class, NULL};
