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
import {ARRAYS, bytesOf, dtypeName, dtypeNumber, isDtype, isNarrow, readElements} from './elements.js';
import {Held, pointerOf, TesseraError} from './held.js';
import {defaults, descriptions, enums, operators, statuses} from './lists.js';
import {loadModule} from './module.js';
import {differentiate, makeParams, Optimiser, Params} from './training.js';

export {Optimiser, Params, TesseraError};

const FIELD = '\x1f', RECORD = '\x1e', MAX_RANK = 8, MAX_ARGUMENTS = 64;
const MAX_DESCRIPTION_BYTES = Math.max(...Object.values(descriptions).map(({bytes}) => bytes + 8));

// --- Parameters of operators -----------------------------------------------------------------------------------------

const LISTS = {axes: 4, sizes: 8, tensors: 4};  // bytes of an item

function parseParameters(text) {
  return text.split(', ').map(words => {
    const [kind, name] = words.split(' ');
    if (kind in descriptions) return {kind: 'description', name, description: descriptions[kind], fallback: {}};
    if (kind in enums) return {kind: 'enum', name, names: enums[kind]};
    return {kind, name, fallback: defaults[words]};
  });
}

const PARAMETERS = Object.fromEntries(Object.entries(operators).map(([name, text]) => [name, parseParameters(text)]));

const isWholeList = value => Array.isArray(value) && value.every(Number.isInteger);
const KINDS = {
  tensor: {isRight: value => value instanceof Tensor || value === null, words: 'a tensor'},
  target: {isRight: value => value instanceof Tensor, words: 'a tensor'},
  device: {isRight: value => value instanceof Device, words: 'a device'},
  dtype: {isRight: isDtype, words: 'the name of a dtype'},
  number: {isRight: value => typeof value === 'number', words: 'a number'},
  int: {isRight: Number.isInteger, words: 'a whole number'},
  long: {isRight: value => Number.isInteger(value) || typeof value === 'bigint', words: 'a whole number'},
  bool: {isRight: value => typeof value === 'boolean', words: 'true or false'},
  text: {isRight: value => typeof value === 'string', words: 'a text'},
  shape: {isRight: value => isWholeList(value) && value.length <= MAX_RANK, words: 'a list of at most 8 sizes'},
  axes: {isRight: value => Number.isInteger(value) || isWholeList(value), words: 'a list of whole numbers'},
  sizes: {isRight: isWholeList, words: 'a list of whole numbers'},
  tensors: {
    isRight: value => Array.isArray(value) && value.every(item => item instanceof Tensor), words: 'a list of tensors',
  },
  description: {isRight: value => typeof value === 'object' && value !== null, words: 'an object with options'},
};

// Checks options of a description and returns a copy: each must be a field of it, of the right kind. For a list, one number means the same for all.
function checkOptions(operator, {fields}, options) {
  const checked = {};
  for (const [name, value] of Object.entries(options)) {
    if (!(name in fields)) throw new TypeError(`${operator}: there is no option ${name}; there are ${Object.keys(fields).join(', ')}`);
    const {kind, count, names} = fields[name], list = Array.isArray(value) ? value : Array(count).fill(value);
    const isRight = kind === 'enum' ? item => names.includes(item) : KINDS[kind].isRight;
    const words = kind === 'enum' ? `one of ${names.join(', ')}` : KINDS[kind].words;
    if (list.length > count || !list.every(isRight)) {
      throw new TypeError(`${operator}: ${name} must be ${words}${count > 1 ? `, or a list of up to ${count}` : ''}, not ${value}`);
    }
    checked[name] = list;
  }
  return checked;
}

// Checks an argument when it is given, so that a mistake shows where it was made.
function checkArgument(operator, {kind, name, names, description, fallback}, value) {
  if (value === undefined) value = fallback;
  if (kind === 'enum') {
    if (!names.includes(value)) throw new TypeError(`${operator}: ${name} must be one of ${names.join(', ')}, not ${value}`);
    return value;
  }
  const {isRight, words} = KINDS[kind];
  if (!isRight(value)) throw new TypeError(`${operator}: ${name} must be ${words}, not ${value}`);
  if (kind === 'description') return checkOptions(operator, description, value);
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
  #made = null;   // tensors made since recording() was called; null: it was not
  #noted = null;  // promises of a capture that are settled before it ends; null: there is none
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
      if (kind === 'device') return deviceFacts(fields);
      return {backend: fields[0], status: fields[1].replace('TSR_', ''), reason: fields[2]};
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

  /**
   * The gradients of the tensor that `record` returns, by each of the tensors `xs`: {value, gradients}. `record` calls operators without waiting; it may return more
   * tensors behind the first, and all others that it makes are released. options: `cotangent`, a tensor of the value's shape; `zerosIfUnused`.
   */
  grad(record, xs, {cotangent = null, zerosIfUnused = false} = {}) {
    checkArgument('grad', {kind: 'tensors', name: 'xs'}, xs);
    const watch = async module => {
      for (const x of xs) this.throwUnlessOk(module, await module.call('tsr_grad_watch', pointerOf(x)));
    };
    const end = (value, state) => this.outputs(xs.length, async (module, out) => {
      if (state.mistake) throw state.mistake;
      const at = module.allocate(4 * xs.length);
      try {
        writeList(module, at, 'tensors', xs);
        const given = cotangent ? pointerOf(cotangent) : 0;
        return await module.call('tsrw_grad', pointerOf(value), given, zerosIfUnused ? 1 : 0, at, xs.length, out);
      } finally {
        module.free(at);
      }
    });
    const {returned, ended} = differentiate(this, record, watch, end);
    return {value: returned, gradients: ended};
  }

  /** Calls `record`, whose products, convolutions and attention are computed in 'f16' or 'bf16'; gives what it returns. It must not wait. */
  autocast(dtype, record) {
    if (!['f16', 'bf16', 'f32'].includes(dtype)) throw new TypeError(`autocast: dtype must be 'f16', 'bf16' or 'f32', not ${dtype}`);
    let isOpen = false;
    this.enqueue(async module => { isOpen = await module.call('tsr_autocast_begin', dtypeNumber(dtype)) === 0; }).catch(() => {});
    try {
      return record();
    } finally {
      this.enqueue(async module => { if (isOpen) await module.call('tsr_autocast_end'); }).catch(() => {});
    }
  }

  /**
   * Calls `run`, waits for it, and gives what it returns with the times of the kernels that it ran on WebGPU: {value, kernels, untimed}. Work counts
   * that `run` has waited for, by read() or synchronize().
   */
  async profile(run) {
    await this.enqueue(module => module.webgpu.beginProfile());
    let value, times;
    try {
      value = await run();
    } finally {
      times = await this.enqueue(module => module.webgpu.endProfile());
    }
    return {value, ...times};
  }

  // --- For the classes below ---

  /**
   * Calls `record`, which returns a tensor or a list of them, then `after` with that list, which is empty if `record` threw. Tensors that `record` made and did not
   * return are released: they would be computed before what they are computed from changes, although nobody reads them.
   */
  recording(record, after) {
    const outer = this.#made, made = [];
    let returned, kept = [];
    this.#made = made;
    try {
      returned = record();
      const list = [returned].flat();
      if (list.length === 0 || !list.every(tensor => tensor instanceof Tensor)) {
        throw new TypeError('grad: the function must return a tensor or a list of tensors, without waiting');
      }
      kept = list;
    } finally {
      this.#made = outer;
      after(kept);
      for (const tensor of made) {
        if (!kept.includes(tensor)) this.release(tensor);
        else outer?.push(tensor);
      }
    }
    return returned;
  }

  /** Notes a promise that the open capture waits for; without a capture the caller waits for it. */
  noteMistake(promise) {
    this.#noted?.push(promise);
  }

  /** Calls `record` and returns a promise that rejects if one of the promises noted during the call does. */
  noting(record) {
    const outer = this.#noted, noted = this.#noted = [];
    try {
      record();
    } finally {
      this.#noted = outer;
    }
    return Promise.all(noted);
  }

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

  /** Copies bytes to new memory of the module, at once: also while another call is suspended, whose memory this does not touch. */
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

  /**
   * Records an operator. `args` are all of its parameters. Gives a tensor; several results as an object with their names; and, where a tensor
   * is written in place, a promise.
   */
  operate(name, args) {
    const parameters = PARAMETERS[name].filter(({kind}) => kind !== 'out');
    const results = PARAMETERS[name].filter(({kind}) => kind === 'out').map(result => result.name);
    const checked = parameters.map((parameter, i) => checkArgument(name, parameter, args[i]));
    const call = (module, ...outs) => module.call(`tsr_${name}`, ...this.#flatten(module, name, parameters, checked), ...outs);
    if (parameters[0].kind === 'target') return this.enqueue(async module => this.throwUnlessOk(module, await call(module)));
    if (results.length === 0) return this.result(call);
    const made = this.outputs(results.length, (module, out) => call(module, ...results.map((result, i) => out + 4 * i)));
    return Object.fromEntries(results.map((result, i) => [result, made[i]]));
  }

  /** A tensor that is there when `make` has run. */
  result(make) {
    return this.results(1, async module => [await make(module)])[0];
  }

  /** `count` tensors that are there when `make` has run; it gives their pointers. */
  results(count, make) {
    const made = Array.from({length: count}, () => this.track(new Tensor(this, {pointer: 0, release: 'tsr_release'})));
    const cells = made.map(tensor => tensor.cell);
    this.#made?.push(...made);
    this.enqueue(async module => {
      try {
        const pointers = await make(module);
        cells.forEach((cell, i) => {
          cell.pointer = pointers[i];
          noteShape(module, cell, this.scratch);
        });
      } catch (error) {
        for (const cell of cells) cell.error = error;
        throw error;
      }
    }).catch(() => {});  // who reads a cell is told
    return made;
  }

  /** Tensors that a C function with a status writes to an array: call(module, out) calls it with the array's address. */
  outputs(count, call) {
    return this.results(count, async module => {
      const out = module.allocate(4 * count);
      if (out === 0) throw new TesseraError('ERR_OUT_OF_MEMORY', `WebAssembly has no ${4 * count} bytes left`);
      try {
        this.throwUnlessOk(module, await call(module, out));
        return Array.from({length: count}, (unused, i) => module.view.getUint32(out + 4 * i, true));
      } finally {
        module.free(out);
      }
    });
  }

  /** Views of the lists, each repeated along the axes of the others; `xy` swaps the first two axes. */
  meshgrid(lists, xy = false) {
    checkArgument('meshgrid', {kind: 'tensors', name: 'lists'}, lists);
    return this.outputs(lists.length, async (module, out) => {
      const at = module.allocate(4 * lists.length);
      writeList(module, at, 'tensors', lists);
      try {
        return await module.call('tsr_meshgrid', at, lists.length, xy ? 1 : 0, out);
      } finally {
        module.free(at);
      }
    });
  }

  // Room for every list and shape among the values, at 8 bytes an item, and for a description.
  #growScratch(module, values) {
    const isLong = value => Array.isArray(value) || typeof value === 'string';
    const lists = values.reduce((sum, value) => sum + (isLong(value) ? 8 * (value.length + MAX_RANK + 2) : 0), 0);
    const bytes = lists + MAX_DESCRIPTION_BYTES;
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
      if (kind === 'tensor' || kind === 'target' || kind === 'device') flat.push(value === null ? 0 : pointerOf(value));
      else if (kind === 'dtype') flat.push(dtypeNumber(value));
      else if (kind === 'enum') flat.push(parameters[i].names.indexOf(value));
      else if (kind === 'long') flat.push(BigInt(value));
      else if (kind === 'bool') flat.push(value ? 1 : 0);
      else if (kind === 'text') flat.push(used), used = writeText(module, used, value);
      else if (kind === 'shape') flat.push(used), used = writeShape(module, used, value);
      else if (kind === 'description') flat.push(used), used = writeDescription(module, used, parameters[i].description, value);
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

// A text that ends in 0; what follows is aligned to 8 bytes.
function writeText(module, at, text) {
  const encoded = new TextEncoder().encode(`${text}\0`);
  module.bytes(at, encoded.length).set(encoded);
  return at + Math.ceil(encoded.length / 8) * 8;
}

// struct tsr_shape
function writeShape(module, at, shape) {
  module.view.setInt32(at, shape.length, true);
  for (let i = 0; i < MAX_RANK; i++) module.view.setBigInt64(at + 8 + 8 * i, BigInt(shape[i] ?? 0), true);
  return at + 8 + 8 * MAX_RANK;
}

// A struct of desc.h, whose layout lists.js has from the header.
function writeDescription(module, at, {bytes, fields}, options) {
  const {view} = module;
  new Uint8Array(view.buffer, at, bytes).fill(0);
  for (const [name, list] of Object.entries(options)) {
    const {kind, at: place, names} = fields[name];
    list.forEach((item, i) => {
      if (kind === 'number') view.setFloat64(at + place + 8 * i, item, true);
      else if (kind === 'long') view.setBigInt64(at + place + 8 * i, BigInt(item), true);
      else if (kind === 'bool') view.setUint8(at + place + i, item ? 1 : 0);
      else if (kind === 'enum') view.setInt32(at + place + 4 * i, names.indexOf(item), true);
      else view.setUint32(at + place + 4 * i, item === null ? 0 : pointerOf(item), true);
    });
  }
  return at + bytes + 7 & ~7;
}

function writeList(module, at, kind, list) {
  for (const item of list) {
    if (kind === 'sizes') module.view.setBigInt64(at, BigInt(item), true);
    else module.view.setInt32(at, kind === 'tensors' ? pointerOf(item) : item, true);
    at += LISTS[kind];
  }
  return at + 7 & ~7;
}

// Shape and dtype are known once an operator is recorded; a failed tensor has neither.
function noteShape(module, cell, scratch) {
  if (module.exports.tsr_error(cell.pointer) !== 0) return;
  const rank = module.exports.tsrw_tensor_sizes(cell.pointer, scratch);
  cell.shape = Array.from({length: rank}, (unused, i) => module.view.getFloat64(scratch + 8 * i, true));
  cell.dtype = dtypeName(module.exports.tsr_tensor_dtype(cell.pointer));
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

/** An open device: backend, name, isSoftware, totalBytes and so on. It makes tensors: zeros(dtype, shape), randn, … */
export class Device extends Held {
  constructor(tessera, cell, facts) {
    super(tessera, cell);
    Object.assign(this, facts);
  }

  /**
   * A tensor with a copy of the elements: a typed array, a number, or nested lists, [[1, 2], [3, 4]]. The nesting gives the
   * shape where none is given; a typed array gives the dtype, numbers are f32. A Uint16Array holds the bits of f16 or bf16, or numbers of u16 where
   * that dtype is given; a Uint8Array the bits of f8, or of i4 and u4, of which two share a byte: each
   * row of the last axis begins at a byte. Other numbers become one of these by a cast.
   */
  tensor(data, wantedShape, wantedDtype) {
    if (isNarrow(wantedDtype) && !(data instanceof ARRAYS[wantedDtype])) return this.tensor(data, wantedShape, 'f32').cast(wantedDtype);
    const {array, shape, dtype} = readElements(data, wantedShape, wantedDtype);
    checkArgument('tensor', {kind: 'shape', name: 'shape'}, shape);
    const at = this.tessera.copyIn(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
    const made = this.tessera.result(async module => {
      try {
        writeShape(module, this.tessera.scratch, shape);
        return await module.call(
          'tsr_from_data', pointerOf(this), dtypeNumber(dtype), this.tessera.scratch, at, array.byteLength);
      } finally {
        module.free(at);
      }
    });
    Object.assign(made.cell, {shape: [...shape], dtype});
    return made;
  }

  /**
   * Captures the operators that `record` calls and runs them once; resolves to a Capture that runs them again on what their
   * inputs hold then. `record` calls operators without waiting and returns the tensors to compute: one, or a list.
   */
  async capture(record) {
    const {tessera} = this;
    const begun = tessera.enqueue(async module => {
      tessera.throwUnlessOk(module, await module.call('tsr_capture_begin', pointerOf(this)));
    });
    let outputs = [], mistake = null, noted = Promise.resolve();
    try {
      noted = tessera.noting(() => { outputs = [record()].flat(); });
      if (!outputs.every(output => output instanceof Tensor)) {
        throw new TypeError('capture: the function must return a tensor or a list of tensors, without waiting');
      }
    } catch (error) {
      mistake = error;
    }
    noted.catch(error => { mistake ??= error; });
    const ended = tessera.enqueue(module => endCapture(tessera, module, mistake ? [] : outputs));
    await begun.catch(error => ended.then(() => {}, () => {}).then(() => { throw error; }));
    const capture = tessera.track(new Capture(tessera, {pointer: await ended, release: 'tsr_capture_release'}));
    if (!mistake) return capture;
    capture.release();
    throw mistake;
  }

  /**
   * A set of parameters: {name: {shape, init: 'he_normal', value, inputsFirst}}. Initialisers are those of params.h in lower case; zeros if none is given.
   * options: dtype ('f32'), seed.
   */
  params(tensors, options = {}) {
    return makeParams(this, tensors, options);
  }

  /** Resolves when all work on the device is done. */
  synchronize() {
    return this.tessera.enqueue(async module => {
      this.tessera.throwUnlessOk(module, await module.call('tsr_device_synchronize', pointerOf(this)));
    });
  }
}

// Ends the thread's capture, whatever happened in it, and gives its pointer.
async function endCapture(tessera, module, outputs) {
  let list = [], mistake = null;
  try {
    list = outputs.map(pointerOf);
  } catch (error) {
    mistake = error;
  }
  const at = module.allocate(4 * (list.length + 1)), out = at + 4 * list.length;
  try {
    list.forEach((pointer, i) => module.view.setUint32(at + 4 * i, pointer, true));
    const status = await module.call('tsr_capture_end', at, list.length, mistake ? 0 : out);
    if (mistake) throw mistake;
    tessera.throwUnlessOk(module, status);
    return module.view.getUint32(out, true);
  } finally {
    module.free(at);
  }
}

/** Captured work, to be run again. The tensors computed in it are overwritten by each run. */
export class Capture extends Held {
  run() {
    return this.tessera.enqueue(async module => {
      this.tessera.throwUnlessOk(module, await module.call('tsr_capture_run', pointerOf(this)));
    });
  }

  /** How many kernels, copies and fills it holds. */
  stepCount() {
    return this.tessera.enqueue(async module => module.exports.tsr_capture_step_count(pointerOf(this)));
  }
}

/** A tensor, perhaps still to be computed. Its operators are methods: a.add(b), a.sum(0), a.softmax(). */
export class Tensor extends Held {
  /** The elements, as a typed array (f16, bf16, f8, i4 and u4: their bits). */
  read() {
    return this.tessera.enqueue(async module => {
      const pointer = pointerOf(this);
      const dtype = dtypeName(module.exports.tsr_tensor_dtype(pointer)), Elements = ARRAYS[dtype] ?? Uint8Array;
      const bytes = bytesOf(dtype, this.cell.shape ?? []), at = module.allocate(bytes);
      if (at === 0) throw new TesseraError('ERR_OUT_OF_MEMORY', `WebAssembly has no ${bytes} bytes left`);
      try {
        this.tessera.throwUnlessOk(module, await module.call('tsr_read', pointer, at, bytes));
        return new Elements(module.bytes(at, bytes).slice().buffer);
      } finally {
        module.free(at);
      }
    });
  }

  /** The only element, as a number; rejects if there are more or none. */
  item() {
    return this.tessera.enqueue(async module => {
      const at = this.tessera.scratch;
      this.tessera.throwUnlessOk(module, await module.call('tsr_item', pointerOf(this), at));
      return module.view.getFloat64(at, true);
    });
  }

  /** Its sizes, once known: at once for device.tensor(), for others when an awaited call has come back; until then undefined. */
  get shape() {
    return this.cell.shape;
  }

  get dtype() {
    return this.cell.dtype;
  }

  /** {shape, dtype}; rejects for a failed tensor. */
  describe() {
    return this.tessera.enqueue(async module => {
      this.tessera.throwUnlessOk(module, module.exports.tsr_error(pointerOf(this)));
      const {shape, dtype} = this.cell;
      return {shape, dtype};
    });
  }

  /** Overwrites the elements, also those of a view; data as for device.tensor(), converted to the tensor's dtype. */
  write(data) {
    const {array: given} = readElements(data);
    const copy = given.slice();  // as they are now: the writing waits for its turn
    return this.tessera.enqueue(async module => {
      const pointer = pointerOf(this);
      this.tessera.throwUnlessOk(module, module.exports.tsr_error(pointer));
      const {array} = readElements(copy, undefined, this.cell.dtype);
      const at = this.tessera.copyIn(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
      try {
        this.tessera.throwUnlessOk(module, await module.call('tsr_write', pointer, at, array.byteLength));
      } finally {
        module.free(at);
      }
    });
  }

  /** The `k` largest (or smallest) along an axis: {values, indices}. */
  topk(k, axis = -1, largest = true) {
    checkArgument('topk', {kind: 'long', name: 'k'}, k);
    checkArgument('topk', {kind: 'int', name: 'axis'}, axis);
    const [values, indices] = this.tessera.outputs(2, (module, out) =>
      module.call('tsr_topk', pointerOf(this), BigInt(k), axis, largest ? 1 : 0, out, out + 4));
    return {values, indices};
  }

  /** Views of each of the `count` elements along an axis, without that axis. */
  unstack(count, axis = 0) {
    checkArgument('unstack', {kind: 'int', name: 'count'}, count);
    checkArgument('unstack', {kind: 'int', name: 'axis'}, axis);
    return this.tessera.outputs(count, (module, out) => module.call('tsr_unstack', pointerOf(this), axis, count, out));
  }

  /** Views of these sizes along an axis, one after the other; the sizes add up to the axis' own. */
  split(sizes, axis = 0) {
    checkArgument('split', {kind: 'sizes', name: 'sizes'}, sizes);
    checkArgument('split', {kind: 'int', name: 'axis'}, axis);
    return this.tessera.outputs(sizes.length, async (module, out) => {
      const at = module.allocate(8 * sizes.length);
      writeList(module, at, 'sizes', sizes);
      try {
        return await module.call('tsr_split', pointerOf(this), at, sizes.length, axis, out);
      } finally {
        module.free(at);
      }
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
  const owner = {tensor: Tensor, target: Tensor, device: Device}[parameters[0].kind];
  if (!owner) continue;
  const withNumber = `${name}_scalar` in PARAMETERS ? `${name}_scalar` : null;
  owner.prototype[name] = function (...args) {
    const isNumber = withNumber && typeof args[parameters.length - 2] === 'number';
    return this.tessera.operate(isNumber ? withNumber : name, [this, ...args]);
  };
}
