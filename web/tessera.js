// SPDX-License-Identifier: MIT
// Tessera for web pages: tensors on the GPU through WebGPU, or on the CPU as WebAssembly.
//
//   import {load} from './tessera.js';
//   const tessera = await load();
//   const device = await tessera.open();
//   const a = device.tensor(Float32Array.of(1, 2, 3, 4), [2, 2]);
//   console.log(await a.matmul(a).softmax().read());
//
// Operators return at once: their work is put in a line and done in that order. A wrong call gives a failed tensor, and
// reading it rejects with a TesseraError that says what was wrong. docs/browser.md has it all.
import {dtypes, operators, statuses} from './lists.js';
import {loadModule} from './module.js';

/** What went wrong: `status` is 'ERR_SHAPE' and so on, as in status.h. */
export class TesseraError extends Error {
  constructor(status, message) {
    super(message);
    this.name = 'TesseraError';
    this.status = status;
  }
}

const ARRAYS = {
  bool: Uint8Array, u8: Uint8Array, i8: Int8Array, i16: Int16Array, i32: Int32Array, i64: BigInt64Array,
  u32: Uint32Array, f16: Uint16Array, bf16: Uint16Array, f32: Float32Array, f64: Float64Array,
};
const FIELD = '\x1f', RECORD = '\x1e', MAX_RANK = 8, MAX_ARGUMENTS = 64;

function dtypeNumber(name) {
  const number = dtypes.indexOf(name);
  if (number < 0) throw new TypeError(`there is no dtype '${name}'; there are ${dtypes.join(', ')}`);
  return number;
}

function dtypeOfArray(data) {
  return Object.keys(ARRAYS).find(name => name !== 'bool' && data instanceof ARRAYS[name]) ?? 'f32';
}

// --- Parameters of operators -----------------------------------------------------------------------------------------

// What may be left out.
const DEFAULTS = {
  'int axis': -1, 'axes axes': [], 'bool keep_dims': false, 'bool descending': false, 'number eps': 1e-5,
  'number correction': 1, 'long diagonal': 0, 'long start': 0, 'long stop': 0x7fffffffffffffffn, 'long step': 1,
};
const LISTS = {axes: 4, sizes: 8, tensors: 4};  // bytes of an item

function parseParameters(text) {
  return text.split(', ').map(words => {
    const [kind, name] = words.split(' ');
    return {kind, name, fallback: DEFAULTS[words]};
  });
}

const PARAMETERS = Object.fromEntries(Object.entries(operators).map(([name, text]) => [name, parseParameters(text)]));

const isWholeList = value => Array.isArray(value) && value.every(Number.isInteger);
const KINDS = {
  tensor: {isRight: value => value instanceof Tensor || value === null, words: 'a tensor'},
  device: {isRight: value => value instanceof Device, words: 'a device'},
  dtype: {isRight: value => dtypes.includes(value), words: 'the name of a dtype'},
  number: {isRight: value => typeof value === 'number', words: 'a number'},
  int: {isRight: Number.isInteger, words: 'a whole number'},
  long: {isRight: value => Number.isInteger(value) || typeof value === 'bigint', words: 'a whole number'},
  bool: {isRight: value => typeof value === 'boolean', words: 'true or false'},
  shape: {isRight: value => isWholeList(value) && value.length <= MAX_RANK, words: 'a list of at most 8 sizes'},
  axes: {isRight: value => Number.isInteger(value) || isWholeList(value), words: 'a list of whole numbers'},
  sizes: {isRight: isWholeList, words: 'a list of whole numbers'},
  tensors: {
    isRight: value => Array.isArray(value) && value.every(item => item instanceof Tensor), words: 'a list of tensors',
  },
};

// Checks an argument when it is given, so that a mistake shows where it was made.
function checkArgument(operator, {kind, name, fallback}, value) {
  if (value === undefined) value = fallback;
  const {isRight, words} = KINDS[kind];
  if (!isRight(value)) throw new TypeError(`${operator}: ${name} must be ${words}, not ${value}`);
  return kind === 'axes' && !Array.isArray(value) ? [value] : value;
}

// --- The library in memory -------------------------------------------------------------------------------------------

/** Loads the library. options: as for loadModule, with `log` ('warn', 'info', …) besides. */
export async function load(options = {}) {
  const env = {...options.env, ...(options.log ? {TESSERA_LOG: options.log} : {})};
  return new Tessera(await loadModule('tessera', {...options, env}));
}

/** The library. Calls are done one after the other, in the order in which they were made. */
class Tessera {
  #module;
  #line = [];
  #isBusy = false;
  #broken = null;
  #scratchBytes;
  #forgotten = new FinalizationRegistry(cell => this.releaseCell(cell));

  constructor(module) {
    this.#module = module;
    this.#scratchBytes = 4096;
    this.scratch = module.allocate(this.#scratchBytes);
    /** Every operator as a function of all its parameters: ops.matmul(a, b), ops.concat([a, b], 0). */
    this.ops = {};
    for (const name of Object.keys(PARAMETERS)) this.ops[name] = (...args) => this.operate(name, args);
  }

  get version() {
    return this.#module.text(this.#module.exports.tsr_version());
  }

  /** 'jspi', 'asyncify' or 'none': how the module waits for the page. */
  get suspension() {
    return this.#module.suspensionKind;
  }

  /** Every device, and for each backend without one the reason: {backend, index, name, …} or {backend, reason}. */
  async devices() {
    const text = await this.enqueue(async module => {
      const at = await module.call('tsrw_discover');
      if (at === 0) this.throwLast(module);
      return takeText(module, at);
    });
    return text.split(RECORD).filter(record => record).map(record => {
      const [kind, ...fields] = record.split(FIELD);
      return kind === 'device' ? deviceFacts(fields) : {backend: fields[0], status: fields[1], reason: fields[2]};
    });
  }

  /** Opens a device: {backend: 'webgpu'}, or the best there is. Others: index, memoryLimit (bytes), timeoutMs. */
  async open({backend = null, index = 0, memoryLimit = 0, timeoutMs = 0} = {}) {
    return this.enqueue(async module => {
      const name = module.allocateText(backend);
      const pointer = await module.call('tsrw_device_open', name, index, memoryLimit, timeoutMs);
      module.free(name);
      if (pointer === 0) this.throwLast(module);
      const facts = deviceFacts(takeText(module, await module.call('tsrw_device_describe', pointer)).split(FIELD));
      return this.track(new Device(this, {pointer, release: 'tsr_device_release'}, facts));
    });
  }

  /** Builds a kernel of the kernel language. options: kernel (which of several), defines ({T: 'f32'}), checked. */
  async kernel(source, {kernel = null, defines = {}, checked = false} = {}) {
    return this.enqueue(async module => {
      const list = Object.entries(defines).map(([name, value]) => `${name}=${value}`).join(FIELD);
      const texts = [source, kernel, list].map(text => module.allocateText(text));
      const pointer = await module.call('tsrw_kernel_build', ...texts, checked ? 1 : 0);
      texts.forEach(at => module.free(at));
      if (pointer === 0) this.throwLast(module);
      return this.track(new Kernel(this, {pointer, release: 'tsr_kernel_release'}));
    });
  }

  // --- For the classes below ---

  /** Puts work in the line; resolves or rejects as it does. */
  enqueue(work) {
    return new Promise((resolve, reject) => {
      this.#line.push({work, resolve, reject});
      if (!this.#isBusy) this.#run();
    });
  }

  async #run() {
    this.#isBusy = true;
    await null;  // what is called in one go is put in the line first
    for (let next = this.#line.shift(); next; next = this.#line.shift()) {
      try {
        if (this.#broken) throw this.#broken;
        next.resolve(await next.work(this.#module));
      } catch (error) {
        // A trap leaves the module's memory in an unknown state: nothing is called there again.
        if (error instanceof WebAssembly.RuntimeError) this.#broken = error;
        next.reject(error);
      }
    }
    this.#isBusy = false;
  }

  /** Memory of the module, at once: it is not what a suspended call is using. */
  copyIn(bytes) {
    const at = this.#module.allocate(bytes.length);
    if (at === 0) throw new TesseraError('ERR_OUT_OF_MEMORY', `WebAssembly has no ${bytes.length} bytes left`);
    this.#module.bytes(at, bytes.length).set(bytes);
    return at;
  }

  throwLast(module, status = module.exports.tsr_last_error_status()) {
    throw new TesseraError(statuses[status] ?? 'ERR_INTERNAL', module.text(module.exports.tsr_last_error()));
  }

  throwUnlessOk(module, status) {
    if (status !== 0) this.throwLast(module, status);
  }

  /** Objects that nobody holds any more are released. */
  track(object) {
    this.#forgotten.register(object, object.cell, object);
    return object;
  }

  release(object) {
    this.#forgotten.unregister(object);
    this.releaseCell(object.cell);
  }

  releaseCell(cell) {
    this.enqueue(async module => {
      const {pointer} = cell;
      cell.pointer = 0;
      if (pointer !== 0) await module.call(cell.release, pointer);
    }).catch(() => {});  // the module is broken: what follows says so
  }

  /** Records an operator. `args` are all of its parameters. */
  operate(name, args) {
    const parameters = PARAMETERS[name];
    const checked = parameters.map((parameter, i) => checkArgument(name, parameter, args[i]));
    return this.result(async module => {
      const flat = this.#flatten(module, name, parameters, checked);
      return module.call(`tsr_${name}`, ...flat);
    });
  }

  /** A tensor that is there when `make` has run. */
  result(make) {
    const tensor = this.track(new Tensor(this, {pointer: 0, release: 'tsr_release'}));
    const {cell} = tensor;
    this.enqueue(async module => {
      cell.pointer = await make(module);
    }).catch(error => {
      cell.error = error;
    });
    return tensor;
  }

  // Room for every list and shape among the values, at 8 bytes an item.
  #growScratch(module, values) {
    const bytes = values.reduce((sum, value) => sum + (Array.isArray(value) ? 8 * (value.length + MAX_RANK + 2) : 0), 0);
    if (bytes <= this.#scratchBytes) return;
    const grown = module.allocate(bytes);
    if (grown === 0) throw new TesseraError('ERR_OUT_OF_MEMORY', `WebAssembly has no ${bytes} bytes left`);
    module.free(this.scratch);
    this.scratch = grown;
    this.#scratchBytes = bytes;
  }

  // Arguments as WebAssembly takes them. Lists and shapes go through scratch memory.
  #flatten(module, name, parameters, values) {
    const flat = [];
    this.#growScratch(module, values);
    let used = this.scratch;
    parameters.forEach(({kind}, i) => {
      const value = values[i];
      if (kind === 'tensor' || kind === 'device') flat.push(value === null ? 0 : pointerOf(value));
      else if (kind === 'dtype') flat.push(dtypeNumber(value));
      else if (kind === 'long') flat.push(BigInt(value));
      else if (kind === 'bool') flat.push(value ? 1 : 0);
      else if (kind === 'shape') flat.push(used), used = writeShape(module, used, value);
      else if (!(kind in LISTS)) flat.push(value);
      else {
        flat.push(value.length > 0 ? used : 0);
        used = writeList(module, used, kind, value);
        // Lists of one length that follow each other share their count.
        if (parameters[i + 1]?.kind !== kind) flat.push(value.length);
        else if (values[i + 1].length !== value.length) throw new TypeError(`${name}: lists of different lengths`);
      }
    });
    return flat;
  }
}

// A tensor that could not even be made passes its error on.
function pointerOf(object) {
  if (object.cell.error) throw object.cell.error;
  if (object.cell.pointer === 0) throw new TesseraError('ERR_RELEASED', 'this object was released');
  return object.cell.pointer;
}

// struct tsr_shape
function writeShape(module, at, shape) {
  module.view.setInt32(at, shape.length, true);
  for (let i = 0; i < MAX_RANK; i++) module.view.setBigInt64(at + 8 + 8 * i, BigInt(shape[i] ?? 0), true);
  return at + 8 + 8 * MAX_RANK;
}

function writeList(module, at, kind, list) {
  for (const item of list) {
    if (kind === 'sizes') module.view.setBigInt64(at, BigInt(item), true);
    else module.view.setInt32(at, kind === 'tensors' ? pointerOf(item) : item, true);
    at += LISTS[kind];
  }
  return at + 7 & ~7;
}

function takeText(module, at) {
  const text = module.text(at);
  module.free(at);
  return text;
}

function deviceFacts([backend, index, name, driver, isSoftware, totalBytes, maxBufferBytes]) {
  return {
    backend, index: Number(index), name, driver, isSoftware: isSoftware === '1', totalBytes: Number(totalBytes),
    maxBufferBytes: Number(maxBufferBytes),
  };
}

// --- What a page holds -----------------------------------------------------------------------------------------------

/** Something of the library's. It is released when it is forgotten, or at once by release(). */
class Held {
  constructor(tessera, cell) {
    this.tessera = tessera;
    this.cell = cell;
  }

  release() {
    this.tessera.release(this);
  }
}

/** An open device: backend, name, isSoftware, totalBytes and so on. It makes tensors: zeros(dtype, shape), randn, … */
export class Device extends Held {
  constructor(tessera, cell, facts) {
    super(tessera, cell);
    Object.assign(this, facts);
  }

  /** A tensor with a copy of the elements: a typed array, or plain numbers. Without a shape it has one axis. */
  tensor(data, shape = [data.length], dtype = dtypeOfArray(data)) {
    checkArgument('tensor', {kind: 'shape', name: 'shape'}, shape);
    const number = dtypeNumber(dtype);
    const array = data instanceof ARRAYS[dtype] ? data : ARRAYS[dtype].from(data);
    const at = this.tessera.copyIn(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    return this.tessera.result(async module => {
      try {
        writeShape(module, this.tessera.scratch, shape);
        return await module.call('tsr_from_data', pointerOf(this), number, this.tessera.scratch, at, array.byteLength);
      } finally {
        module.free(at);
      }
    });
  }

  /** Resolves when all work on the device is done. */
  synchronize() {
    return this.tessera.enqueue(async module => {
      this.tessera.throwUnlessOk(module, await module.call('tsr_device_synchronize', pointerOf(this)));
    });
  }
}

/** A tensor, perhaps still to be computed. Its operators are methods: a.add(b), a.sum(0), a.softmax(). */
export class Tensor extends Held {
  /** The elements, as a typed array (f16 and bf16: their bits). */
  read() {
    return this.tessera.enqueue(async module => {
      const pointer = pointerOf(this);
      const dtype = dtypes[module.exports.tsr_tensor_dtype(pointer)];
      const count = Number(module.exports.tsr_tensor_count(pointer)), Elements = ARRAYS[dtype] ?? Uint8Array;
      const bytes = count * Elements.BYTES_PER_ELEMENT, at = module.allocate(bytes);
      if (at === 0) throw new TesseraError('ERR_OUT_OF_MEMORY', `WebAssembly has no ${bytes} bytes left`);
      try {
        this.tessera.throwUnlessOk(module, await module.call('tsr_read', pointer, at, bytes));
        return new Elements(module.bytes(at, bytes).slice().buffer);
      } finally {
        module.free(at);
      }
    });
  }

  /** {shape, dtype}; rejects for a failed tensor. */
  describe() {
    return this.tessera.enqueue(async module => {
      const pointer = pointerOf(this), {scratch} = this.tessera;
      this.tessera.throwUnlessOk(module, module.exports.tsr_error(pointer));
      const rank = module.exports.tsrw_tensor_sizes(pointer, scratch);
      const shape = Array.from({length: rank}, (unused, i) => module.view.getFloat64(scratch + 8 * i, true));
      return {shape, dtype: dtypes[module.exports.tsr_tensor_dtype(pointer)]};
    });
  }

  /** The tensor as text, as tsr_print shows it. */
  format() {
    return this.tessera.enqueue(async module => {
      const pointer = pointerOf(this), room = 1 << 20, at = module.allocate(room);
      try {
        this.tessera.throwUnlessOk(module, await module.call('tsr_format', pointer, at, room, 0));
        return module.text(at);
      } finally {
        module.free(at);
      }
    });
  }
}

/** A kernel of one's own. */
export class Kernel extends Held {
  /** Runs it over so many work items ([x, y, z]) with its arguments: tensors and numbers. */
  launch(items, ...args) {
    if (args.length > MAX_ARGUMENTS) throw new TypeError(`launch: ${args.length} arguments, ${MAX_ARGUMENTS} are the most`);
    return this.tessera.enqueue(async module => {
      const [x = 1, y = 1, z = 1] = items, tensors = this.tessera.scratch, numbers = tensors + 4 * MAX_ARGUMENTS;
      args.forEach((value, i) => {
        module.view.setUint32(tensors + 4 * i, value instanceof Tensor ? pointerOf(value) : 0, true);
        module.view.setFloat64(numbers + 8 * i, value instanceof Tensor ? 0 : value, true);
      });
      const status =
        await module.call('tsrw_kernel_launch', pointerOf(this), x, y, z, tensors, numbers, args.length);
      this.tessera.throwUnlessOk(module, status);
    });
  }
}

// Operators become methods of what they take first. With a number in place of the second tensor: a.add(2).
for (const [name, parameters] of Object.entries(PARAMETERS)) {
  const owner = {tensor: Tensor, device: Device}[parameters[0].kind];
  if (!owner) continue;
  const withNumber = `${name}_scalar` in PARAMETERS ? `${name}_scalar` : null;
  owner.prototype[name] = function (...args) {
    const isNumber = withNumber && typeof args[parameters.length - 2] === 'number';
    return this.tessera.operate(isNumber ? withNumber : name, [this, ...args]);
  };
}
