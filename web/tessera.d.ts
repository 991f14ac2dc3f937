// SPDX-License-Identifier: MIT
// Types of tessera.js; lists.d.ts has the operators. docs/browser.md explains what is declared here.
import type {DeviceOperators, Dtype, Operators, Status, TensorOperators} from './lists.js';

export type {Dtype, Status} from './lists.js';
export type TypedArray = Uint8Array | Int8Array | Int16Array | Uint16Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array |
  Float32Array | Float64Array;
export type Elements = TypedArray | number | bigint | boolean | Elements[];

export class TesseraError extends Error {
  constructor(status: Status, message: string);
  readonly status: Status;
}

export interface LoadOptions {
  base?: string | URL;
  env?: Record<string, string>;
  log?: 'error' | 'warn' | 'info' | 'debug' | 'plan';
  suspension?: 'jspi' | 'asyncify' | 'none';
  /** The GPU object to use in place of navigator.gpu; null: none. */
  gpu?: object | null;
  stdout?: (line: string) => void;
  stderr?: (line: string) => void;
}

export function load(options?: LoadOptions): Promise<Tessera>;

export interface DeviceFacts {
  readonly backend: string;
  readonly index: number;
  readonly name: string;
  readonly driver: string;
  readonly isSoftware: boolean;
  readonly totalBytes: number;
  readonly maxBufferBytes: number;
}

/** A backend without a device, and why. */
export interface AbsentBackend {
  readonly backend: string;
  readonly status: Status;
  readonly reason: string;
  readonly name?: undefined;
}

export interface OpenOptions {
  backend?: string | null;
  index?: number;
  memoryLimit?: number;
  timeoutMs?: number;
}

export interface KernelOptions {
  kernel?: string | null;
  defines?: Record<string, string | number>;
  checked?: boolean;
}

export interface GradOptions {
  cotangent?: Tensor | null;
  zerosIfUnused?: boolean;
}

export type Initialiser = 'zeros' | 'ones' | 'constant' | 'normal' | 'truncated_normal' | 'uniform' | 'xavier_uniform' | 'xavier_normal' |
  'he_uniform' | 'he_normal';

export interface ParamOptions {
  shape: number[];
  init?: Initialiser;
  value?: number;
  inputsFirst?: boolean;
}

export interface OptimiserOptions {
  kind?: 'sgd' | 'adam' | 'adamw' | 'rmsprop' | 'lion';
  rate?: number;
  momentum?: number;
  nesterov?: boolean;
  beta1?: number;
  beta2?: number;
  eps?: number;
  weightDecay?: number;
  decaysVectors?: boolean;
  clipValue?: number;
  clipNorm?: number;
  groups?: {pattern: string; weightDecay?: number; rateFactor?: number}[];
  schedule?: {kind?: 'constant' | 'step' | 'cosine' | 'linear'; warmup?: number; period?: number; gamma?: number; least?: number};
  lossScale?: {first?: number; growth?: number; backoff?: number; interval?: number};
}

export interface KernelTime {
  name: string;
  count: number;
  ms: number;
  longestMs: number;
}

export interface Tessera {
  readonly version: string;
  readonly suspension: 'jspi' | 'asyncify' | 'none';
  readonly ops: Operators;
  devices(): Promise<(DeviceFacts | AbsentBackend)[]>;
  open(options?: OpenOptions): Promise<Device>;
  kernel(source: string, options?: KernelOptions): Promise<Kernel>;
  meshgrid(lists: Tensor[], xy?: boolean): Tensor[];
  grad<Value extends Tensor | Tensor[]>(record: () => Value, xs: Tensor[], options?: GradOptions): {value: Value; gradients: Tensor[]};
  autocast<Result>(dtype: 'f16' | 'bf16' | 'f32', record: () => Result): Result;
  profile<Result>(run: () => Result | Promise<Result>): Promise<{value: Result; kernels: KernelTime[]; untimed: number}>;
}

export interface Device extends DeviceFacts, DeviceOperators {}
export class Device {
  private constructor();
  tensor(data: Elements, shape?: number[], dtype?: Dtype): Tensor;
  capture(record: () => Tensor | Tensor[]): Promise<Capture>;
  params(tensors: Record<string, ParamOptions>, options?: {dtype?: Dtype; seed?: number}): Promise<Params>;
  synchronize(): Promise<void>;
  release(): void;
}

export interface Tensor extends TensorOperators {}
export class Tensor {
  private constructor();
  readonly shape: number[] | undefined;
  readonly dtype: Dtype | undefined;
  read(): Promise<TypedArray>;
  item(): Promise<number>;
  write(data: Elements): Promise<void>;
  describe(): Promise<{shape: number[]; dtype: Dtype}>;
  format(): Promise<string>;
  topk(k: number | bigint, axis?: number, largest?: boolean): {values: Tensor; indices: Tensor};
  split(sizes: number[], axis?: number): Tensor[];
  unstack(count: number, axis?: number): Tensor[];
  release(): void;
}

export class Capture {
  private constructor();
  run(): Promise<void>;
  stepCount(): Promise<number>;
  release(): void;
}

export class Kernel {
  private constructor();
  launch(items: number[], ...args: (Tensor | number)[]): Promise<void>;
  release(): void;
}

export class Params {
  private constructor();
  readonly names: string[];
  tensor(name: string): Tensor;
  gradient(name: string): Tensor;
  grad<Value extends Tensor | Tensor[]>(record: () => Value, options?: {optimiser?: Optimiser | null; add?: boolean}): Value;
  optimiser(options?: OptimiserOptions): Promise<Optimiser>;
  clone(): Promise<Params>;
  to(device: Device): Promise<Params>;
  cast(dtype: Dtype): Promise<Params>;
  copy(source: Params): Promise<void>;
  release(): void;
}

export class Optimiser {
  private constructor();
  readonly params: Params;
  step(): Promise<void>;
  setRate(rate: number): Promise<void>;
  setStep(step: number): Promise<void>;
  setScale(scale: number): Promise<void>;
  getStep(): Promise<number>;
  scale(): Tensor;
  state(name: 'm' | 'v' | 'master'): Promise<Params | null>;
  release(): void;
}
