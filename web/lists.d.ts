// SPDX-License-Identifier: MIT
// Made by scripts/generate-web-lists from the public headers; not to be edited by hand.
import type {Device, Tensor} from './tessera.js';

export type Dtype = 'bool' | 'u8' | 'i8' | 'i16' | 'i32' | 'i64' | 'u32' | 'f16' | 'bf16' | 'f32' | 'f64' | 'u16' | 'u64' | 'f8_e4m3' | 'f8_e5m2' | 'i4' | 'u4';
export type Status = 'OK' | 'ERR_INVALID_ARGUMENT' | 'ERR_SHAPE' | 'ERR_DTYPE' | 'ERR_OUT_OF_MEMORY' | 'ERR_UNSUPPORTED' | 'ERR_UNAVAILABLE' | 'ERR_NOT_FOUND' | 'ERR_CONFIG' | 'ERR_IO' | 'ERR_BUILD' | 'ERR_LAUNCH' | 'ERR_TIMEOUT' | 'ERR_DEVICE_LOST' | 'ERR_RELEASED' | 'ERR_INTERNAL';

export type QuantFormat = 'q8_0' | 'q4_0' | 'q4_k' | 'q6_k';

/** Options; what is left out is 0 or none. */
export interface AttentionDesc {
  scale?: number;
  softcap?: number;
  window?: number | bigint;
  slopes?: Tensor | null;
  blocks?: Tensor | null;
  lengths?: Tensor | null;
  causal?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface BagDesc {
  mode?: 'sum' | 'mean' | 'max';
  ignores?: boolean;
  ignored?: number | bigint;
  weights?: Tensor | null;
}

/** Options; what is left out is 0 or none. */
export interface ConvDesc {
  stride?: number | number[];
  dilation?: number | number[];
  before?: number | number[];
  after?: number | number[];
  output_padding?: number | number[];
  groups?: number | bigint;
  padding?: 'given' | 'same' | 'same_before';
  channels_last?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface GridDesc {
  mode?: 'linear' | 'nearest' | 'cubic';
  padding?: 'zeros' | 'border' | 'reflection';
  align_corners?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface LinearDesc {
  activation?: 'none' | 'relu' | 'gelu' | 'gelu_tanh' | 'silu' | 'sigmoid' | 'tanh';
  residual?: Tensor | null;
}

/** Options; what is left out is 0 or none. */
export interface LossDesc {
  reduction?: 'mean' | 'sum' | 'none' | 'batch_mean';
  ignores?: boolean;
  ignored?: number | bigint;
  smoothing?: number;
  delta?: number;
  weight?: Tensor | null;
  positive_weight?: Tensor | null;
}

/** Options; what is left out is 0 or none. */
export interface NmsDesc {
  overlap?: number;
  most?: number | bigint;
  least?: number;
  drops_low?: boolean;
  is_centre?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface PoolDesc {
  size?: number | number[];
  stride?: number | number[];
  dilation?: number | number[];
  before?: number | number[];
  after?: number | number[];
  output?: number | number[];
  power?: number;
  rounds_up?: boolean;
  counts_padding?: boolean;
  channels_last?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface RecurrentDesc {
  bias_input?: Tensor | null;
  bias_hidden?: Tensor | null;
  hidden?: Tensor | null;
  cell?: Tensor | null;
  reverse?: boolean;
  relu?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface ResizeDesc {
  mode?: 'nearest' | 'linear' | 'cubic';
  coordinates?: 'half_pixel' | 'pytorch_half_pixel' | 'align_corners' | 'asymmetric' | 'half_pixel_symmetric' | 'crop';
  rounding?: 'round_prefer_floor' | 'round_prefer_ceil' | 'floor' | 'ceil';
  scale?: number | number[];
  start?: number | number[];
  stop?: number | number[];
  outside?: number;
  cubic?: number;
  excludes_outside?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface RoiDesc {
  rows?: number | bigint;
  columns?: number | bigint;
  points?: number | bigint;
  scale?: number;
  takes_max?: boolean;
  not_aligned?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface RopeDesc {
  base?: number;
  scale?: number;
  size?: number | bigint;
  frequencies?: Tensor | null;
  interleaved?: boolean;
}

/** Options; what is left out is 0 or none. */
export interface SampleDesc {
  temperature?: number;
  top_k?: number | bigint;
  top_p?: number;
  min_p?: number;
}

/** Options; what is left out is 0 or none. */
export interface ScatterDesc {
  combine?: 'replace' | 'add' | 'mul' | 'max' | 'min';
}

/** Every operator as a function of all its parameters. */
export interface Operators {
  abs(x: Tensor): Tensor;
  acos(x: Tensor): Tensor;
  acosh(x: Tensor): Tensor;
  add(a: Tensor, b: Tensor): Tensor;
  add_layer_norm(x: Tensor, residual: Tensor, weight: Tensor | null, bias: Tensor | null, eps?: number): {sum: Tensor; normed: Tensor};
  add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor | null, eps?: number): {sum: Tensor; normed: Tensor};
  add_scalar(x: Tensor, c: number): Tensor;
  affine_grid(theta: Tensor, size: number[], align_corners: boolean): Tensor;
  all(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  allclose(a: Tensor, b: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): Tensor;
  any(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  arange(device: Device, dtype: Dtype, start: number, stop: number, step: number): Tensor;
  argmax(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  argmax_pool(x: Tensor, desc?: PoolDesc): Tensor;
  argmin(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  argsort(x: Tensor, axis?: number, descending?: boolean): Tensor;
  asin(x: Tensor): Tensor;
  asinh(x: Tensor): Tensor;
  atan(x: Tensor): Tensor;
  atan2(a: Tensor, b: Tensor): Tensor;
  atanh(x: Tensor): Tensor;
  attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | null, desc?: AttentionDesc): Tensor;
  attention_scores(q: Tensor, k: Tensor, mask: Tensor | null, desc?: AttentionDesc): Tensor;
  avg_pool(x: Tensor, desc?: PoolDesc): Tensor;
  batch_norm(x: Tensor, mean: Tensor, variance: Tensor, weight: Tensor | null, bias: Tensor | null, eps?: number): Tensor;
  batch_norm_train(x: Tensor, running_mean: Tensor | null, running_variance: Tensor | null, weight: Tensor | null, bias: Tensor | null, momentum: number, eps?: number): {normed: Tensor};
  bce_with_logits_loss(x: Tensor, target: Tensor, desc?: LossDesc): Tensor;
  bernoulli(device: Device, dtype: Dtype, shape: number[], p: number, seed: number | bigint): Tensor;
  bincount(x: Tensor, weights: Tensor | null, length?: number | bigint): Tensor;
  bit_cast(x: Tensor, dtype: Dtype): Tensor;
  bit_count(x: Tensor): Tensor;
  bitwise_and(a: Tensor, b: Tensor): Tensor;
  bitwise_not(x: Tensor): Tensor;
  bitwise_or(a: Tensor, b: Tensor): Tensor;
  bitwise_xor(a: Tensor, b: Tensor): Tensor;
  bucketize(x: Tensor, boundaries: Tensor, right?: boolean): Tensor;
  cast(x: Tensor, dtype: Dtype): Tensor;
  cbrt(x: Tensor): Tensor;
  cdist(a: Tensor, b: Tensor): Tensor;
  ceil(x: Tensor): Tensor;
  choice(x: Tensor, axis: number, count: number | bigint, weights: Tensor | null, replace: boolean, seed: number | bigint): Tensor;
  cholesky(x: Tensor, upper?: boolean): Tensor;
  clamp(x: Tensor, least: number, most: number): Tensor;
  clip(x: Tensor, least: Tensor, most: Tensor): Tensor;
  col2im(columns: Tensor, size: number[], kernel: number[], desc?: ConvDesc): Tensor;
  concat(tensors: Tensor[], axis?: number): Tensor;
  cond(x: Tensor, p: number): Tensor;
  contiguous(tensor: Tensor): Tensor;
  conv(x: Tensor, weight: Tensor, bias: Tensor | null, desc?: ConvDesc): Tensor;
  conv_integer(x: Tensor, weight: Tensor, x_zero_point: Tensor | null, weight_zero_point: Tensor | null, desc?: ConvDesc): Tensor;
  conv_transpose(x: Tensor, weight: Tensor, bias: Tensor | null, desc?: ConvDesc): Tensor;
  copy(tensor: Tensor): Tensor;
  copysign(a: Tensor, b: Tensor): Tensor;
  cos(x: Tensor): Tensor;
  cosh(x: Tensor): Tensor;
  cross(a: Tensor, b: Tensor, axis?: number): Tensor;
  cross_entropy(x: Tensor, target: Tensor, axis?: number, desc?: LossDesc): Tensor;
  cummax(x: Tensor, axis?: number): {values: Tensor; indices: Tensor};
  cummin(x: Tensor, axis?: number): {values: Tensor; indices: Tensor};
  cumprod(x: Tensor, axis?: number): Tensor;
  cumsum(x: Tensor, axis?: number): Tensor;
  dequantize(x: Tensor, format: QuantFormat, dtype: Dtype): Tensor;
  dequantize_linear(x: Tensor, scale: Tensor, zero_point: Tensor | null, axis?: number): Tensor;
  det(x: Tensor): Tensor;
  diag(x: Tensor, offset?: number | bigint): Tensor;
  diagonal(x: Tensor, offset: number | bigint, axis_a: number, axis_b: number): Tensor;
  diff(x: Tensor, times: number | bigint, axis?: number): Tensor;
  div(a: Tensor, b: Tensor): Tensor;
  div_scalar(x: Tensor, c: number): Tensor;
  dot(a: Tensor, b: Tensor): Tensor;
  dropout(x: Tensor, p: number, seed: number | bigint): Tensor;
  dynamic_quantize_linear(x: Tensor): {y: Tensor; scale: Tensor; zero_point: Tensor};
  eigh(x: Tensor): {values: Tensor; vectors: Tensor};
  einsum(equation: string, tensors: Tensor[]): Tensor;
  elu(x: Tensor, alpha?: number): Tensor;
  embedding(table: Tensor, indices: Tensor): Tensor;
  embedding_bag(table: Tensor, indices: Tensor, offsets: Tensor | null, desc?: BagDesc): Tensor;
  eq(a: Tensor, b: Tensor): Tensor;
  eq_scalar(x: Tensor, c: number): Tensor;
  erf(x: Tensor): Tensor;
  exp(x: Tensor): Tensor;
  exp2(x: Tensor): Tensor;
  expand(tensor: Tensor, shape: number[]): Tensor;
  expm1(x: Tensor): Tensor;
  eye(device: Device, dtype: Dtype, rows: number | bigint, cols: number | bigint, diagonal?: number | bigint): Tensor;
  fft(x: Tensor, axes?: number | number[]): Tensor;
  flip(tensor: Tensor, axis?: number): Tensor;
  flip_axes(x: Tensor, axes?: number | number[]): Tensor;
  floor(x: Tensor): Tensor;
  floor_div(a: Tensor, b: Tensor): Tensor;
  floor_div_scalar(x: Tensor, c: number): Tensor;
  fma(a: Tensor, b: Tensor, c: Tensor): Tensor;
  fmax(a: Tensor, b: Tensor): Tensor;
  fmin(a: Tensor, b: Tensor): Tensor;
  fmod(a: Tensor, b: Tensor): Tensor;
  full(device: Device, dtype: Dtype, shape: number[], value: number): Tensor;
  full_int(device: Device, dtype: Dtype, shape: number[], value: number | bigint): Tensor;
  gather(x: Tensor, axis: number, indices: Tensor): Tensor;
  gather_nd(x: Tensor, indices: Tensor): Tensor;
  gcd(a: Tensor, b: Tensor): Tensor;
  ge(a: Tensor, b: Tensor): Tensor;
  ge_scalar(x: Tensor, c: number): Tensor;
  geglu(a: Tensor, b: Tensor): Tensor;
  gelu(x: Tensor): Tensor;
  gelu_tanh(x: Tensor): Tensor;
  gemm(alpha: number, a: Tensor, b: Tensor, beta: number, c: Tensor | null): Tensor;
  gemv(a: Tensor, x: Tensor): Tensor;
  gemv_into(target: Tensor, a: Tensor, x: Tensor): Promise<void>;
  grid_sample(x: Tensor, grid: Tensor, desc?: GridDesc): Tensor;
  group_norm(x: Tensor, groups: number | bigint, weight: Tensor | null, bias: Tensor | null, eps?: number): Tensor;
  gru(x: Tensor, weight_input: Tensor, weight_hidden: Tensor, desc?: RecurrentDesc): {states: Tensor; hidden: Tensor};
  gt(a: Tensor, b: Tensor): Tensor;
  gt_scalar(x: Tensor, c: number): Tensor;
  histogram(x: Tensor, bins: number | bigint, low: number, high: number): Tensor;
  huber_loss(x: Tensor, target: Tensor, desc?: LossDesc): Tensor;
  hypot(a: Tensor, b: Tensor): Tensor;
  ifft(x: Tensor, axes?: number | number[]): Tensor;
  im2col(x: Tensor, kernel: number[], desc?: ConvDesc): Tensor;
  index_select(x: Tensor, axis: number, indices: Tensor): Tensor;
  instance_norm(x: Tensor, weight: Tensor | null, bias: Tensor | null, eps?: number): Tensor;
  interp(x: Tensor, xs: Tensor, ys: Tensor): Tensor;
  inverse(x: Tensor): Tensor;
  irfft(x: Tensor, size: number | bigint, axes?: number | number[]): Tensor;
  isclose(a: Tensor, b: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): Tensor;
  isfinite(x: Tensor): Tensor;
  isinf(x: Tensor): Tensor;
  isnan(x: Tensor): Tensor;
  kl_div_loss(x: Tensor, target: Tensor, desc?: LossDesc): Tensor;
  kron(a: Tensor, b: Tensor): Tensor;
  l1_loss(x: Tensor, target: Tensor, desc?: LossDesc): Tensor;
  layer_norm(x: Tensor, weight: Tensor | null, bias: Tensor | null, eps?: number): Tensor;
  lcm(a: Tensor, b: Tensor): Tensor;
  le(a: Tensor, b: Tensor): Tensor;
  le_scalar(x: Tensor, c: number): Tensor;
  leaky_relu(x: Tensor, slope?: number): Tensor;
  lerp(a: Tensor, b: Tensor, weight: Tensor): Tensor;
  lerp_scalar(a: Tensor, b: Tensor, weight: number): Tensor;
  linear(x: Tensor, weight: Tensor, bias: Tensor | null, desc?: LinearDesc): Tensor;
  linspace(device: Device, dtype: Dtype, start: number, stop: number, count: number | bigint): Tensor;
  local_response_norm(x: Tensor, size: number | bigint, alpha: number, beta: number, bias: number): Tensor;
  log(x: Tensor): Tensor;
  log10(x: Tensor): Tensor;
  log1p(x: Tensor): Tensor;
  log2(x: Tensor): Tensor;
  log_softmax(x: Tensor, axis?: number): Tensor;
  logaddexp(a: Tensor, b: Tensor): Tensor;
  logcumsumexp(x: Tensor, axis?: number): Tensor;
  logical_and(a: Tensor, b: Tensor): Tensor;
  logical_not(x: Tensor): Tensor;
  logical_or(a: Tensor, b: Tensor): Tensor;
  logical_xor(a: Tensor, b: Tensor): Tensor;
  logsumexp(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  lp_pool(x: Tensor, desc?: PoolDesc): Tensor;
  lstm(x: Tensor, weight_input: Tensor, weight_hidden: Tensor, desc?: RecurrentDesc): {states: Tensor; hidden: Tensor; cell: Tensor};
  lstsq(a: Tensor, b: Tensor): Tensor;
  lt(a: Tensor, b: Tensor): Tensor;
  lt_scalar(x: Tensor, c: number): Tensor;
  lu(x: Tensor): {factors: Tensor; rows: Tensor};
  masked_fill(x: Tensor, mask: Tensor, value: number): Tensor;
  masked_select(x: Tensor, mask: Tensor): Tensor;
  matmul(a: Tensor, b: Tensor): Tensor;
  matmul_channels(x: Tensor, w: Tensor, scale: Tensor): Tensor;
  matmul_integer(a: Tensor, b: Tensor, a_zero_point: Tensor | null, b_zero_point: Tensor | null): Tensor;
  matmul_into(target: Tensor, a: Tensor, b: Tensor): Promise<void>;
  matmul_quantized(x: Tensor, w: Tensor, format: QuantFormat): Tensor;
  matrix_norm(x: Tensor, p: number): Tensor;
  matrix_power(x: Tensor, power: number | bigint): Tensor;
  matrix_rank(x: Tensor, tolerance?: number): Tensor;
  max(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  max_pool(x: Tensor, desc?: PoolDesc): Tensor;
  max_unpool(x: Tensor, indices: Tensor, size: number[]): Tensor;
  maximum(a: Tensor, b: Tensor): Tensor;
  maximum_scalar(x: Tensor, c: number): Tensor;
  mean(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  median(x: Tensor, axis?: number, keep_dims?: boolean): Tensor;
  min(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  minimum(a: Tensor, b: Tensor): Tensor;
  minimum_scalar(x: Tensor, c: number): Tensor;
  mod(a: Tensor, b: Tensor): Tensor;
  mod_scalar(x: Tensor, c: number): Tensor;
  mode(x: Tensor, axis?: number, keep_dims?: boolean): Tensor;
  moveaxis(x: Tensor, from: number, to: number): Tensor;
  mse_loss(x: Tensor, target: Tensor, desc?: LossDesc): Tensor;
  mul(a: Tensor, b: Tensor): Tensor;
  mul_scalar(x: Tensor, c: number): Tensor;
  multinomial(weights: Tensor, count: number | bigint, replace: boolean, seed: number | bigint): Tensor;
  nan_to_num(x: Tensor, at_nan: number, at_infinity: number, at_minus_infinity: number): Tensor;
  ne(a: Tensor, b: Tensor): Tensor;
  ne_scalar(x: Tensor, c: number): Tensor;
  neg(x: Tensor): Tensor;
  nextafter(a: Tensor, b: Tensor): Tensor;
  nll_loss(x: Tensor, target: Tensor, axis?: number, desc?: LossDesc): Tensor;
  nms(boxes: Tensor, scores: Tensor, desc?: NmsDesc): Tensor;
  nonzero(x: Tensor): Tensor;
  norm(x: Tensor, p: number, axes?: number | number[], keep_dims?: boolean): Tensor;
  one_hot(indices: Tensor, classes: number | bigint, dtype: Dtype): Tensor;
  ones(device: Device, dtype: Dtype, shape: number[]): Tensor;
  outer(a: Tensor, b: Tensor): Tensor;
  pad(x: Tensor, before: number[], after: number[], value: number): Tensor;
  permutation(device: Device, count: number | bigint, seed: number | bigint): Tensor;
  permute(tensor: Tensor, axes?: number | number[]): Tensor;
  pinv(x: Tensor, tolerance?: number): Tensor;
  pixel_shuffle(x: Tensor, factor: number | bigint): Tensor;
  pixel_unshuffle(x: Tensor, factor: number | bigint): Tensor;
  pow(a: Tensor, b: Tensor): Tensor;
  pow_scalar(x: Tensor, c: number): Tensor;
  prod(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  put(x: Tensor, indices: Tensor, source: Tensor, desc?: ScatterDesc): Tensor;
  qlinear_matmul(a: Tensor, a_scale: Tensor, a_zero_point: Tensor | null, b: Tensor, b_scale: Tensor, b_zero_point: Tensor | null, y_scale: Tensor, y_zero_point: Tensor): Tensor;
  qr(x: Tensor, complete?: boolean): {q: Tensor; r: Tensor};
  quantile(x: Tensor, q: number, axis?: number, keep_dims?: boolean): Tensor;
  quantize(x: Tensor, format: QuantFormat): Tensor;
  quantize_channels(x: Tensor, axis?: number): {values: Tensor; scale: Tensor};
  quantize_linear(x: Tensor, scale: Tensor, zero_point: Tensor | null, axis: number, dtype: Dtype): Tensor;
  rand(device: Device, dtype: Dtype, shape: number[], seed: number | bigint): Tensor;
  rand_exponential(device: Device, dtype: Dtype, shape: number[], scale: number, seed: number | bigint): Tensor;
  rand_gamma(device: Device, dtype: Dtype, shape: number[], alpha: number, scale: number, seed: number | bigint): Tensor;
  rand_poisson(device: Device, dtype: Dtype, shape: number[], rate: number, seed: number | bigint): Tensor;
  rand_truncated_normal(device: Device, dtype: Dtype, shape: number[], low: number, high: number, seed: number | bigint): Tensor;
  randint(device: Device, dtype: Dtype, shape: number[], low: number | bigint, high: number | bigint, seed: number | bigint): Tensor;
  randn(device: Device, dtype: Dtype, shape: number[], seed: number | bigint): Tensor;
  rdiv_scalar(x: Tensor, c: number): Tensor;
  reciprocal(x: Tensor): Tensor;
  relu(x: Tensor): Tensor;
  repeat(x: Tensor, times: number | bigint, axis?: number): Tensor;
  repetition_penalty(logits: Tensor, tokens: Tensor, penalty: number): Tensor;
  reshape(tensor: Tensor, shape: number[]): Tensor;
  resize(x: Tensor, size: number[], desc?: ResizeDesc): Tensor;
  rfft(x: Tensor, axes?: number | number[]): Tensor;
  rms_norm(x: Tensor, weight: Tensor | null, eps?: number): Tensor;
  rnn(x: Tensor, weight_input: Tensor, weight_hidden: Tensor, desc?: RecurrentDesc): {states: Tensor; hidden: Tensor};
  roi_align(x: Tensor, regions: Tensor, images: Tensor, desc?: RoiDesc): Tensor;
  roll(x: Tensor, shift: number | bigint, axis?: number): Tensor;
  rope(x: Tensor, positions: Tensor, desc?: RopeDesc): Tensor;
  rot90(x: Tensor, times: number | bigint, axis_a: number, axis_b: number): Tensor;
  round(x: Tensor): Tensor;
  rpow_scalar(x: Tensor, c: number): Tensor;
  rsqrt(x: Tensor): Tensor;
  rsub_scalar(x: Tensor, c: number): Tensor;
  sample(logits: Tensor, seed: number | bigint, desc?: SampleDesc): Tensor;
  scatter(x: Tensor, axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_add(x: Tensor, axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_max(x: Tensor, axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_min(x: Tensor, axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_mul(x: Tensor, axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_nd(x: Tensor, indices: Tensor, source: Tensor, desc?: ScatterDesc): Tensor;
  searchsorted(sorted: Tensor, values: Tensor, right?: boolean): Tensor;
  shift_left(a: Tensor, b: Tensor): Tensor;
  shift_right(a: Tensor, b: Tensor): Tensor;
  sigmoid(x: Tensor): Tensor;
  sign(x: Tensor): Tensor;
  signbit(x: Tensor): Tensor;
  silu(x: Tensor): Tensor;
  sin(x: Tensor): Tensor;
  sinh(x: Tensor): Tensor;
  slice(tensor: Tensor, axis?: number, start?: number | bigint, stop?: number | bigint, step?: number | bigint): Tensor;
  slogdet(x: Tensor): {sign: Tensor; log: Tensor};
  softmax(x: Tensor, axis?: number): Tensor;
  softplus(x: Tensor): Tensor;
  solve(a: Tensor, b: Tensor): Tensor;
  sort(x: Tensor, axis?: number, descending?: boolean): Tensor;
  sqrt(x: Tensor): Tensor;
  square(x: Tensor): Tensor;
  squeeze(tensor: Tensor, axis?: number): Tensor;
  squeeze_all(tensor: Tensor): Tensor;
  stack(tensors: Tensor[], axis?: number): Tensor;
  std(x: Tensor, axes?: number | number[], keep_dims?: boolean, correction?: number): Tensor;
  sub(a: Tensor, b: Tensor): Tensor;
  sub_scalar(x: Tensor, c: number): Tensor;
  sum(x: Tensor, axes?: number | number[], keep_dims?: boolean): Tensor;
  svd(x: Tensor, full?: boolean): {u: Tensor; s: Tensor; vt: Tensor};
  swiglu(a: Tensor, b: Tensor): Tensor;
  take(x: Tensor, indices: Tensor): Tensor;
  tan(x: Tensor): Tensor;
  tanh(x: Tensor): Tensor;
  tensordot(a: Tensor, b: Tensor, axes_a: number | number[], axes_b: number | number[]): Tensor;
  tile(x: Tensor, times: number[]): Tensor;
  to(tensor: Tensor, device: Device): Tensor;
  trace(x: Tensor, offset: number | bigint, axis_a: number, axis_b: number): Tensor;
  transpose(tensor: Tensor, axis_a: number, axis_b: number): Tensor;
  triangular_solve(a: Tensor, b: Tensor, upper?: boolean, transposed?: boolean, unit?: boolean): Tensor;
  tril(x: Tensor, diagonal?: number | bigint): Tensor;
  triu(x: Tensor, diagonal?: number | bigint): Tensor;
  trunc(x: Tensor): Tensor;
  unique(x: Tensor): {values: Tensor; inverse: Tensor; counts: Tensor};
  unsqueeze(tensor: Tensor, axis?: number): Tensor;
  var(x: Tensor, axes?: number | number[], keep_dims?: boolean, correction?: number): Tensor;
  weighted_sum_rows(weights: Tensor, v: Tensor): Tensor;
  where(condition: Tensor, a: Tensor, b: Tensor): Tensor;
  xlogy(a: Tensor, b: Tensor): Tensor;
  zeros(device: Device, dtype: Dtype, shape: number[]): Tensor;
}

/** Operators whose first parameter is a tensor, as its methods. */
export interface TensorOperators {
  abs(): Tensor;
  acos(): Tensor;
  acosh(): Tensor;
  add(b: Tensor | number): Tensor;
  add_layer_norm(residual: Tensor, weight: Tensor | null, bias: Tensor | null, eps?: number): {sum: Tensor; normed: Tensor};
  add_rms_norm(residual: Tensor, weight: Tensor | null, eps?: number): {sum: Tensor; normed: Tensor};
  add_scalar(c: number): Tensor;
  affine_grid(size: number[], align_corners: boolean): Tensor;
  all(axes?: number | number[], keep_dims?: boolean): Tensor;
  allclose(b: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): Tensor;
  any(axes?: number | number[], keep_dims?: boolean): Tensor;
  argmax(axes?: number | number[], keep_dims?: boolean): Tensor;
  argmax_pool(desc?: PoolDesc): Tensor;
  argmin(axes?: number | number[], keep_dims?: boolean): Tensor;
  argsort(axis?: number, descending?: boolean): Tensor;
  asin(): Tensor;
  asinh(): Tensor;
  atan(): Tensor;
  atan2(b: Tensor): Tensor;
  atanh(): Tensor;
  attention(k: Tensor, v: Tensor, mask: Tensor | null, desc?: AttentionDesc): Tensor;
  attention_scores(k: Tensor, mask: Tensor | null, desc?: AttentionDesc): Tensor;
  avg_pool(desc?: PoolDesc): Tensor;
  batch_norm(mean: Tensor, variance: Tensor, weight: Tensor | null, bias: Tensor | null, eps?: number): Tensor;
  batch_norm_train(running_mean: Tensor | null, running_variance: Tensor | null, weight: Tensor | null, bias: Tensor | null, momentum: number, eps?: number): {normed: Tensor};
  bce_with_logits_loss(target: Tensor, desc?: LossDesc): Tensor;
  bincount(weights: Tensor | null, length?: number | bigint): Tensor;
  bit_cast(dtype: Dtype): Tensor;
  bit_count(): Tensor;
  bitwise_and(b: Tensor): Tensor;
  bitwise_not(): Tensor;
  bitwise_or(b: Tensor): Tensor;
  bitwise_xor(b: Tensor): Tensor;
  bucketize(boundaries: Tensor, right?: boolean): Tensor;
  cast(dtype: Dtype): Tensor;
  cbrt(): Tensor;
  cdist(b: Tensor): Tensor;
  ceil(): Tensor;
  choice(axis: number, count: number | bigint, weights: Tensor | null, replace: boolean, seed: number | bigint): Tensor;
  cholesky(upper?: boolean): Tensor;
  clamp(least: number, most: number): Tensor;
  clip(least: Tensor, most: Tensor): Tensor;
  col2im(size: number[], kernel: number[], desc?: ConvDesc): Tensor;
  cond(p: number): Tensor;
  contiguous(): Tensor;
  conv(weight: Tensor, bias: Tensor | null, desc?: ConvDesc): Tensor;
  conv_integer(weight: Tensor, x_zero_point: Tensor | null, weight_zero_point: Tensor | null, desc?: ConvDesc): Tensor;
  conv_transpose(weight: Tensor, bias: Tensor | null, desc?: ConvDesc): Tensor;
  copy(): Tensor;
  copysign(b: Tensor): Tensor;
  cos(): Tensor;
  cosh(): Tensor;
  cross(b: Tensor, axis?: number): Tensor;
  cross_entropy(target: Tensor, axis?: number, desc?: LossDesc): Tensor;
  cummax(axis?: number): {values: Tensor; indices: Tensor};
  cummin(axis?: number): {values: Tensor; indices: Tensor};
  cumprod(axis?: number): Tensor;
  cumsum(axis?: number): Tensor;
  dequantize(format: QuantFormat, dtype: Dtype): Tensor;
  dequantize_linear(scale: Tensor, zero_point: Tensor | null, axis?: number): Tensor;
  det(): Tensor;
  diag(offset?: number | bigint): Tensor;
  diagonal(offset: number | bigint, axis_a: number, axis_b: number): Tensor;
  diff(times: number | bigint, axis?: number): Tensor;
  div(b: Tensor | number): Tensor;
  div_scalar(c: number): Tensor;
  dot(b: Tensor): Tensor;
  dropout(p: number, seed: number | bigint): Tensor;
  dynamic_quantize_linear(): {y: Tensor; scale: Tensor; zero_point: Tensor};
  eigh(): {values: Tensor; vectors: Tensor};
  elu(alpha?: number): Tensor;
  embedding(indices: Tensor): Tensor;
  embedding_bag(indices: Tensor, offsets: Tensor | null, desc?: BagDesc): Tensor;
  eq(b: Tensor | number): Tensor;
  eq_scalar(c: number): Tensor;
  erf(): Tensor;
  exp(): Tensor;
  exp2(): Tensor;
  expand(shape: number[]): Tensor;
  expm1(): Tensor;
  fft(axes?: number | number[]): Tensor;
  flip(axis?: number): Tensor;
  flip_axes(axes?: number | number[]): Tensor;
  floor(): Tensor;
  floor_div(b: Tensor | number): Tensor;
  floor_div_scalar(c: number): Tensor;
  fma(b: Tensor, c: Tensor): Tensor;
  fmax(b: Tensor): Tensor;
  fmin(b: Tensor): Tensor;
  fmod(b: Tensor): Tensor;
  gather(axis: number, indices: Tensor): Tensor;
  gather_nd(indices: Tensor): Tensor;
  gcd(b: Tensor): Tensor;
  ge(b: Tensor | number): Tensor;
  ge_scalar(c: number): Tensor;
  geglu(b: Tensor): Tensor;
  gelu(): Tensor;
  gelu_tanh(): Tensor;
  gemv(x: Tensor): Tensor;
  gemv_into(a: Tensor, x: Tensor): Promise<void>;
  grid_sample(grid: Tensor, desc?: GridDesc): Tensor;
  group_norm(groups: number | bigint, weight: Tensor | null, bias: Tensor | null, eps?: number): Tensor;
  gru(weight_input: Tensor, weight_hidden: Tensor, desc?: RecurrentDesc): {states: Tensor; hidden: Tensor};
  gt(b: Tensor | number): Tensor;
  gt_scalar(c: number): Tensor;
  histogram(bins: number | bigint, low: number, high: number): Tensor;
  huber_loss(target: Tensor, desc?: LossDesc): Tensor;
  hypot(b: Tensor): Tensor;
  ifft(axes?: number | number[]): Tensor;
  im2col(kernel: number[], desc?: ConvDesc): Tensor;
  index_select(axis: number, indices: Tensor): Tensor;
  instance_norm(weight: Tensor | null, bias: Tensor | null, eps?: number): Tensor;
  interp(xs: Tensor, ys: Tensor): Tensor;
  inverse(): Tensor;
  irfft(size: number | bigint, axes?: number | number[]): Tensor;
  isclose(b: Tensor, rtol?: number, atol?: number, equal_nan?: boolean): Tensor;
  isfinite(): Tensor;
  isinf(): Tensor;
  isnan(): Tensor;
  kl_div_loss(target: Tensor, desc?: LossDesc): Tensor;
  kron(b: Tensor): Tensor;
  l1_loss(target: Tensor, desc?: LossDesc): Tensor;
  layer_norm(weight: Tensor | null, bias: Tensor | null, eps?: number): Tensor;
  lcm(b: Tensor): Tensor;
  le(b: Tensor | number): Tensor;
  le_scalar(c: number): Tensor;
  leaky_relu(slope?: number): Tensor;
  lerp(b: Tensor, weight: Tensor | number): Tensor;
  lerp_scalar(b: Tensor, weight: number): Tensor;
  linear(weight: Tensor, bias: Tensor | null, desc?: LinearDesc): Tensor;
  local_response_norm(size: number | bigint, alpha: number, beta: number, bias: number): Tensor;
  log(): Tensor;
  log10(): Tensor;
  log1p(): Tensor;
  log2(): Tensor;
  log_softmax(axis?: number): Tensor;
  logaddexp(b: Tensor): Tensor;
  logcumsumexp(axis?: number): Tensor;
  logical_and(b: Tensor): Tensor;
  logical_not(): Tensor;
  logical_or(b: Tensor): Tensor;
  logical_xor(b: Tensor): Tensor;
  logsumexp(axes?: number | number[], keep_dims?: boolean): Tensor;
  lp_pool(desc?: PoolDesc): Tensor;
  lstm(weight_input: Tensor, weight_hidden: Tensor, desc?: RecurrentDesc): {states: Tensor; hidden: Tensor; cell: Tensor};
  lstsq(b: Tensor): Tensor;
  lt(b: Tensor | number): Tensor;
  lt_scalar(c: number): Tensor;
  lu(): {factors: Tensor; rows: Tensor};
  masked_fill(mask: Tensor, value: number): Tensor;
  masked_select(mask: Tensor): Tensor;
  matmul(b: Tensor): Tensor;
  matmul_channels(w: Tensor, scale: Tensor): Tensor;
  matmul_integer(b: Tensor, a_zero_point: Tensor | null, b_zero_point: Tensor | null): Tensor;
  matmul_into(a: Tensor, b: Tensor): Promise<void>;
  matmul_quantized(w: Tensor, format: QuantFormat): Tensor;
  matrix_norm(p: number): Tensor;
  matrix_power(power: number | bigint): Tensor;
  matrix_rank(tolerance?: number): Tensor;
  max(axes?: number | number[], keep_dims?: boolean): Tensor;
  max_pool(desc?: PoolDesc): Tensor;
  max_unpool(indices: Tensor, size: number[]): Tensor;
  maximum(b: Tensor | number): Tensor;
  maximum_scalar(c: number): Tensor;
  mean(axes?: number | number[], keep_dims?: boolean): Tensor;
  median(axis?: number, keep_dims?: boolean): Tensor;
  min(axes?: number | number[], keep_dims?: boolean): Tensor;
  minimum(b: Tensor | number): Tensor;
  minimum_scalar(c: number): Tensor;
  mod(b: Tensor | number): Tensor;
  mod_scalar(c: number): Tensor;
  mode(axis?: number, keep_dims?: boolean): Tensor;
  moveaxis(from: number, to: number): Tensor;
  mse_loss(target: Tensor, desc?: LossDesc): Tensor;
  mul(b: Tensor | number): Tensor;
  mul_scalar(c: number): Tensor;
  multinomial(count: number | bigint, replace: boolean, seed: number | bigint): Tensor;
  nan_to_num(at_nan: number, at_infinity: number, at_minus_infinity: number): Tensor;
  ne(b: Tensor | number): Tensor;
  ne_scalar(c: number): Tensor;
  neg(): Tensor;
  nextafter(b: Tensor): Tensor;
  nll_loss(target: Tensor, axis?: number, desc?: LossDesc): Tensor;
  nms(scores: Tensor, desc?: NmsDesc): Tensor;
  nonzero(): Tensor;
  norm(p: number, axes?: number | number[], keep_dims?: boolean): Tensor;
  one_hot(classes: number | bigint, dtype: Dtype): Tensor;
  outer(b: Tensor): Tensor;
  pad(before: number[], after: number[], value: number): Tensor;
  permute(axes?: number | number[]): Tensor;
  pinv(tolerance?: number): Tensor;
  pixel_shuffle(factor: number | bigint): Tensor;
  pixel_unshuffle(factor: number | bigint): Tensor;
  pow(b: Tensor | number): Tensor;
  pow_scalar(c: number): Tensor;
  prod(axes?: number | number[], keep_dims?: boolean): Tensor;
  put(indices: Tensor, source: Tensor, desc?: ScatterDesc): Tensor;
  qlinear_matmul(a_scale: Tensor, a_zero_point: Tensor | null, b: Tensor, b_scale: Tensor, b_zero_point: Tensor | null, y_scale: Tensor, y_zero_point: Tensor): Tensor;
  qr(complete?: boolean): {q: Tensor; r: Tensor};
  quantile(q: number, axis?: number, keep_dims?: boolean): Tensor;
  quantize(format: QuantFormat): Tensor;
  quantize_channels(axis?: number): {values: Tensor; scale: Tensor};
  quantize_linear(scale: Tensor, zero_point: Tensor | null, axis: number, dtype: Dtype): Tensor;
  rdiv_scalar(c: number): Tensor;
  reciprocal(): Tensor;
  relu(): Tensor;
  repeat(times: number | bigint, axis?: number): Tensor;
  repetition_penalty(tokens: Tensor, penalty: number): Tensor;
  reshape(shape: number[]): Tensor;
  resize(size: number[], desc?: ResizeDesc): Tensor;
  rfft(axes?: number | number[]): Tensor;
  rms_norm(weight: Tensor | null, eps?: number): Tensor;
  rnn(weight_input: Tensor, weight_hidden: Tensor, desc?: RecurrentDesc): {states: Tensor; hidden: Tensor};
  roi_align(regions: Tensor, images: Tensor, desc?: RoiDesc): Tensor;
  roll(shift: number | bigint, axis?: number): Tensor;
  rope(positions: Tensor, desc?: RopeDesc): Tensor;
  rot90(times: number | bigint, axis_a: number, axis_b: number): Tensor;
  round(): Tensor;
  rpow_scalar(c: number): Tensor;
  rsqrt(): Tensor;
  rsub_scalar(c: number): Tensor;
  sample(seed: number | bigint, desc?: SampleDesc): Tensor;
  scatter(axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_add(axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_max(axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_min(axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_mul(axis: number, indices: Tensor, source: Tensor): Tensor;
  scatter_nd(indices: Tensor, source: Tensor, desc?: ScatterDesc): Tensor;
  searchsorted(values: Tensor, right?: boolean): Tensor;
  shift_left(b: Tensor): Tensor;
  shift_right(b: Tensor): Tensor;
  sigmoid(): Tensor;
  sign(): Tensor;
  signbit(): Tensor;
  silu(): Tensor;
  sin(): Tensor;
  sinh(): Tensor;
  slice(axis?: number, start?: number | bigint, stop?: number | bigint, step?: number | bigint): Tensor;
  slogdet(): {sign: Tensor; log: Tensor};
  softmax(axis?: number): Tensor;
  softplus(): Tensor;
  solve(b: Tensor): Tensor;
  sort(axis?: number, descending?: boolean): Tensor;
  sqrt(): Tensor;
  square(): Tensor;
  squeeze(axis?: number): Tensor;
  squeeze_all(): Tensor;
  std(axes?: number | number[], keep_dims?: boolean, correction?: number): Tensor;
  sub(b: Tensor | number): Tensor;
  sub_scalar(c: number): Tensor;
  sum(axes?: number | number[], keep_dims?: boolean): Tensor;
  svd(full?: boolean): {u: Tensor; s: Tensor; vt: Tensor};
  swiglu(b: Tensor): Tensor;
  take(indices: Tensor): Tensor;
  tan(): Tensor;
  tanh(): Tensor;
  tensordot(b: Tensor, axes_a: number | number[], axes_b: number | number[]): Tensor;
  tile(times: number[]): Tensor;
  to(device: Device): Tensor;
  trace(offset: number | bigint, axis_a: number, axis_b: number): Tensor;
  transpose(axis_a: number, axis_b: number): Tensor;
  triangular_solve(b: Tensor, upper?: boolean, transposed?: boolean, unit?: boolean): Tensor;
  tril(diagonal?: number | bigint): Tensor;
  triu(diagonal?: number | bigint): Tensor;
  trunc(): Tensor;
  unique(): {values: Tensor; inverse: Tensor; counts: Tensor};
  unsqueeze(axis?: number): Tensor;
  var(axes?: number | number[], keep_dims?: boolean, correction?: number): Tensor;
  weighted_sum_rows(v: Tensor): Tensor;
  where(a: Tensor, b: Tensor): Tensor;
  xlogy(b: Tensor): Tensor;
}

/** Operators that make a tensor on a device, as its methods. */
export interface DeviceOperators {
  arange(dtype: Dtype, start: number, stop: number, step: number): Tensor;
  bernoulli(dtype: Dtype, shape: number[], p: number, seed: number | bigint): Tensor;
  eye(dtype: Dtype, rows: number | bigint, cols: number | bigint, diagonal?: number | bigint): Tensor;
  full(dtype: Dtype, shape: number[], value: number): Tensor;
  full_int(dtype: Dtype, shape: number[], value: number | bigint): Tensor;
  linspace(dtype: Dtype, start: number, stop: number, count: number | bigint): Tensor;
  ones(dtype: Dtype, shape: number[]): Tensor;
  permutation(count: number | bigint, seed: number | bigint): Tensor;
  rand(dtype: Dtype, shape: number[], seed: number | bigint): Tensor;
  rand_exponential(dtype: Dtype, shape: number[], scale: number, seed: number | bigint): Tensor;
  rand_gamma(dtype: Dtype, shape: number[], alpha: number, scale: number, seed: number | bigint): Tensor;
  rand_poisson(dtype: Dtype, shape: number[], rate: number, seed: number | bigint): Tensor;
  rand_truncated_normal(dtype: Dtype, shape: number[], low: number, high: number, seed: number | bigint): Tensor;
  randint(dtype: Dtype, shape: number[], low: number | bigint, high: number | bigint, seed: number | bigint): Tensor;
  randn(dtype: Dtype, shape: number[], seed: number | bigint): Tensor;
  zeros(dtype: Dtype, shape: number[]): Tensor;
}

export const operators: Record<string, string>;
export const defaults: Record<string, unknown>;
export const descriptions: Record<string, unknown>;
export const enums: Record<string, string[]>;
export const statuses: Status[];
export const dtypes: Dtype[];
export const packed: Record<string, number>;
