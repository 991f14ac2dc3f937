// SPDX-License-Identifier: MIT
// First values of parameters.
#include <math.h>

#include "train/params.h"

#include <tessera/ops.h>

// The seed of a tensor: its name's FNV-1a hash mixed with the set's seed, so that adding a tensor changes no other one.
static uint64_t seed_of(const char *name, uint64_t seed) {
  uint64_t hash = UINT64_C(0xCBF29CE484222325);
  for (; *name; name++) hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001B3);
  hash = (hash ^ seed) * UINT64_C(0x9FB21C651E98DF25);
  return hash ^ hash >> 29;
}

typedef struct fans {
  double in, out;
} fans;

static fans fans_of(const tsr_param_desc *desc) {
  const tsr_shape *shape = &desc->shape;
  if (shape->rank < 2) return (fans){1, shape->rank == 1 ? (double)shape->dims[0] : 1};
  double behind = 1, first = (double)shape->dims[0], second = (double)shape->dims[1];
  for (int i = 2; i < shape->rank; i++) behind *= (double)shape->dims[i];
  return desc->is_inputs_first ? (fans){first * behind, second * behind} : (fans){second * behind, first * behind};
}

// The spread of the initial values: the standard deviation of a normal distribution, or the bound of a uniform one.
static double spread_of(const tsr_param_desc *desc) {
  fans fan = fans_of(desc);
  bool is_he = desc->init == TSR_INIT_HE_UNIFORM || desc->init == TSR_INIT_HE_NORMAL;
  double gain = desc->value != 0 ? desc->value : is_he ? sqrt(2) : 1;
  switch (desc->init) {
    case TSR_INIT_XAVIER_UNIFORM:
      return gain * sqrt(6 / (fan.in + fan.out));
    case TSR_INIT_XAVIER_NORMAL:
      return gain * sqrt(2 / (fan.in + fan.out));
    case TSR_INIT_HE_UNIFORM:
      return gain * sqrt(3 / fan.in);
    case TSR_INIT_HE_NORMAL:
      return gain / sqrt(fan.in);
    default:
      return gain;
  }
}

// Draws random numbers with mean 0 and spread 1. For f16 and bf16 they are f32, so that values are rounded once, after scaling.
static tsr_tensor *draw(const tsr_tensor *tensor, tsr_init init, uint64_t seed) {
  tsr_device *device = tsr_tensor_device(tensor);
  tsr_dtype dtype = tensor->dtype == TSR_F64 ? TSR_F64 : TSR_F32;
  tsr_shape shape = tensor->layout.shape;
  switch (init) {
    case TSR_INIT_TRUNCATED_NORMAL:
      return tsr_rand_truncated_normal(device, dtype, shape, -2, 2, seed);
    case TSR_INIT_UNIFORM:
    case TSR_INIT_XAVIER_UNIFORM:
    case TSR_INIT_HE_UNIFORM:
      return tsr_add_scalar(tsr_mul_scalar(tsr_rand(device, dtype, shape, seed), 2), -1);
    default:
      return tsr_randn(device, dtype, shape, seed);
  }
}

tsr_status tsri_params_fill(tsr_tensor *tensor, const tsr_param_desc *desc, uint64_t seed) {
  if (desc->init == TSR_INIT_ZEROS || tensor->layout.count == 0) return TSR_OK;  // the flat buffer is 0 already
  tsr_device *device = tsr_tensor_device(tensor);
  if (desc->init <= TSR_INIT_CONSTANT) {
    double value = desc->init == TSR_INIT_ONES ? 1 : desc->value;
    return tsr_assign(tensor, tsr_full(device, tensor->dtype, TSR_SCALAR, value));
  }
  tsr_tensor *drawn = draw(tensor, desc->init, seed_of(desc->name, seed));
  return tsr_assign(tensor, tsr_mul_scalar(drawn, spread_of(desc)));
}
