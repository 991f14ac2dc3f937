// SPDX-License-Identifier: MIT
// What the WebGPU backend asks of the page: the functions of src/backends/webgpu/webgpu_api.h, on navigator.gpu.
//
// Objects are handed to WebAssembly as numbers. A function that returns a promise suspends the module until it settles.
import {statuses} from './lists.js';
import {Profile, Stamps} from './times.js';

const STATUS = Object.fromEntries(statuses.map((name, number) => [name, number]));
const TEXT_BYTES = 128;  // TSRI_WGPU_TEXT_BYTES
const FEATURES = ['shader-f16', 'subgroups', 'timestamp-query'];  // bits TSRI_WGPU_F16, …
const KIND = {gpu: 0, integrated: 1, software: 2};

/** An error with one of Tessera's statuses, for what WebGPU's own errors do not tell. */
class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Objects by number, from 1. */
class Table {
  constructor() {
    this.objects = [null];
    this.free = [];
  }

  add(object) {
    const number = this.free.pop() ?? this.objects.length;
    this.objects[number] = object;
    return number;
  }

  get(number) {
    return this.objects[number];
  }

  remove(number) {
    const object = this.objects[number];
    this.objects[number] = null;
    this.free.push(number);
    return object;
  }
}

function sleep(ms) {
  return new Promise(resolve => setTimeout(resolve, ms));
}

// Resolves as `promise` does, or to TIMEOUT after `ms`. Timers go to 24 days; what is longer is for ever.
const TIMEOUT = Symbol('timeout'), LONGEST_TIMER_MS = 2 ** 31 - 1;
async function within(promise, ms) {
  if (ms > LONGEST_TIMER_MS) return promise;
  let timer;
  const late = new Promise(resolve => {
    timer = setTimeout(resolve, ms, TIMEOUT);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

const MOST_GROUPS = 2048;  // bind groups that are kept

/** A device with what was recorded and not yet submitted. */
class Device {
  constructor(gpuDevice) {
    this.gpu = gpuDevice;
    this.encoder = null;
    this.pass = null;
    this.stamps = null;  // while a profile is on
    this.groups = new Map();  // bind groups of earlier dispatches, by what they bind
    this.submitted = 0;
    this.done = 0;
    this.finished = Promise.resolve();  // the last submission
    this.lostReason = null;
    this.errors = [];
    this.lost = gpuDevice.lost.then(info => {
      this.lostReason = `${info.reason ?? 'unknown'}: ${info.message || 'the browser gave no reason'}`;
    });
    gpuDevice.addEventListener('uncapturederror', event => this.errors.push(event.error));
  }

  check() {
    if (this.lostReason !== null) throw new Failure(STATUS.ERR_DEVICE_LOST, this.lostReason);
  }

  // Rejects when the device is lost, which leaves some promises of WebGPU pending.
  orLost(promise) {
    return Promise.race([promise, this.lost.then(() => this.check())]);
  }

  commands() {
    this.encoder ??= this.gpu.createCommandEncoder();
    return this.encoder;
  }

  // While `profile` is on, each dispatch has a pass of its own.
  computePass(name, profile) {
    if (profile) {
      this.endPass();
      if (this.stamps?.profile !== profile) this.stamps = new Stamps(this.gpu, profile);
    }
    this.pass ??= this.commands().beginComputePass(profile ? this.stamps.passOf(name) : {});
    return this.pass;
  }

  // Keeps a bind group for dispatches with the same bindings, as making one takes longer than a dispatch. `numbers`: of its program and buffers.
  keepGroup(key, group, numbers) {
    if (this.groups.size >= MOST_GROUPS) this.groups.delete(this.groups.keys().next().value);
    this.groups.set(key, {group, numbers});
  }

  // Call when the program or buffer with this number is destroyed: another may get its number.
  dropGroups(kind, number) {
    for (const [key, {numbers}] of this.groups) {
      if (numbers[kind].includes(number)) this.groups.delete(key);
    }
  }

  endPass() {
    this.pass?.end();
    this.pass = null;
  }

  submit() {
    this.endPass();
    const readTimes = this.encoder && this.stamps?.copyOut(this.encoder);
    this.gpu.queue.submit(this.encoder ? [this.encoder.finish()] : []);
    this.encoder = null;
    readTimes?.();
    const number = ++this.submitted;
    this.finished = this.gpu.queue.onSubmittedWorkDone().then(() => {
      this.done = number;
    }, () => {});  // lost: check() says so
    return number >>> 0;
  }

  // Runs `make` and gives its result, or throws what the error scopes caught.
  async scoped(kinds, make) {
    for (const kind of kinds) this.gpu.pushErrorScope(kind);
    const made = make();
    const caught = await this.orLost(Promise.all(kinds.map(() => this.gpu.popErrorScope())));
    const error = caught.find(found => found !== null);
    if (error) {
      const isMemory = error instanceof GPUOutOfMemoryError;
      throw new Failure(isMemory ? STATUS.ERR_OUT_OF_MEMORY : STATUS.ERR_INTERNAL, error.message);
    }
    return made;
  }
}

function describeAdapter(adapter) {
  const info = adapter.info ?? {};
  const words = [info.vendor, info.architecture].filter(word => word).join(' ');
  const told = info.description || info.device || words;  // Firefox tells nothing
  const isSoftware = info.isFallbackAdapter || adapter.isFallbackAdapter ||
    /swiftshader|llvmpipe|lavapipe/i.test(`${told} ${words}`);
  const name = told || (isSoftware ? 'software adapter' : 'adapter without a name');
  return {
    name,
    vendor: info.vendor ?? '',
    kind: isSoftware ? KIND.software : info.type === 'integrated GPU' ? KIND.integrated : KIND.gpu,
    subgroups: [info.subgroupMinSize ?? 0, info.subgroupMaxSize ?? 0],
  };
}

/**
 * `imports`: the functions, to be imported as module "webgpu". `memory()` gives the module's current memory; `gpu` is
 * navigator.gpu, or null where there is none. `beginProfile` has kernels timed until `endProfile`, which resolves to their times.
 */
export function makeWebGpu(memory, gpu) {
  const devices = new Table(), buffers = new Table(), programs = new Table();
  let adapter = null, lastError = '', profile = null;

  const view = () => new DataView(memory().buffer);
  const bytesAt = (at, count) => new Uint8Array(memory().buffer, at, count);
  const textAt = (at, count) => new TextDecoder().decode(bytesAt(at, count).slice());
  const zeroTextAt = at => {
    const all = new Uint8Array(memory().buffer, at);
    return textAt(at, all.indexOf(0));
  };
  const writeText = (at, room, text) => {
    const out = bytesAt(at, room);
    const {written} = new TextEncoder().encodeInto(text, out.subarray(0, room - 1));
    out[written] = 0;
  };
  const fail = error => {
    lastError = error.message;
    return error.status ?? STATUS.ERR_INTERNAL;
  };

  // An entry that returns a status: what it throws, now or later, becomes one.
  const guarded = entry => (...args) => {
    try {
      const result = entry(...args);
      return result instanceof Promise ? result.then(() => STATUS.OK, fail) : STATUS.OK;
    } catch (error) {
      return fail(error);
    }
  };
  // The same for one that works on a device, which must not be lost.
  const onDevice = entry => guarded((number, ...args) => {
    const device = devices.get(number);
    device.check();
    return entry(device, ...args);
  });

  // Without a GPU object nothing has to wait, so a module that cannot wait is told as well.
  function start() {
    if (!gpu) {
      throw new Failure(STATUS.ERR_UNAVAILABLE, 'this page has no navigator.gpu: it needs a browser with WebGPU, and ' +
        'a page from https or localhost');
    }
    return requestAdapter().then(found => {
      adapter = found;
    });
  }

  async function requestAdapter() {
    const found = await gpu.requestAdapter({powerPreference: 'high-performance'}) ?? await gpu.requestAdapter();
    if (!found) throw new Failure(STATUS.ERR_UNAVAILABLE, 'the browser has WebGPU, but no adapter for it');
    return found;
  }

  function adapterInfo(index, out) {
    const {name, vendor, kind, subgroups} = describeAdapter(adapter);
    const limits = adapter.limits;
    const features = FEATURES.reduce((bits, feature, i) => bits | (adapter.features.has(feature) ? 1 << i : 0), 0);
    const words = [
      features, kind, limits.maxBufferSize / 256, limits.maxStorageBufferBindingSize / 256,
      limits.maxStorageBuffersPerShaderStage, limits.maxComputeInvocationsPerWorkgroup,
      limits.maxComputeWorkgroupSizeX, limits.maxComputeWorkgroupSizeY, limits.maxComputeWorkgroupSizeZ,
      limits.maxComputeWorkgroupsPerDimension, limits.maxComputeWorkgroupStorageSize,
      limits.minStorageBufferOffsetAlignment, limits.minUniformBufferOffsetAlignment, ...subgroups,
    ];
    words.forEach((word, i) => view().setUint32(out + 4 * i, Math.min(word, 0xffffffff), true));
    const texts = out + 4 * words.length;
    [name, vendor, "the browser's WebGPU"].forEach((text, i) => writeText(texts + TEXT_BYTES * i, TEXT_BYTES, text));
  }

  // An adapter opens one device in its life, so each device has its own.
  async function openDevice(index, timeoutMs, out) {
    const own = await requestAdapter();
    const requiredLimits = {};
    for (const limit in own.limits) requiredLimits[limit] = own.limits[limit];
    const requiredFeatures = FEATURES.filter(feature => own.features.has(feature));
    const opened = await within(own.requestDevice({requiredLimits, requiredFeatures}), timeoutMs);
    if (opened === TIMEOUT) throw new Failure(STATUS.ERR_TIMEOUT, 'the browser opened no device in time');
    view().setUint32(out, devices.add(new Device(opened)), true);
  }

  function checkDevice(device) {
    const error = device.errors.shift();
    if (!error) return;
    device.groups.clear();  // one of them may be what failed
    const isMemory = error instanceof GPUOutOfMemoryError;
    throw new Failure(isMemory ? STATUS.ERR_OUT_OF_MEMORY : STATUS.ERR_INTERNAL, error.message);
  }

  async function createBuffer(device, kind, bytes, out) {
    const most = device.gpu.limits.maxBufferSize, size = bytes >>> 0;
    if (size > most) {
      throw new Failure(STATUS.ERR_OUT_OF_MEMORY, `a buffer of ${size} bytes is over this device's limit of ${most}`);
    }
    const {STORAGE, UNIFORM, COPY_SRC, COPY_DST, MAP_READ} = GPUBufferUsage;
    const usage = [STORAGE | COPY_SRC | COPY_DST, UNIFORM | COPY_DST, MAP_READ | COPY_DST][kind];
    const made = await device.scoped(['out-of-memory', 'validation'],
      () => device.gpu.createBuffer({size, usage}));
    view().setUint32(out, buffers.add(made), true);
  }

  function bindGroupLayout(device, storageCount, readOnly, uniformBytes) {
    const entries = [];
    for (let binding = 0; binding < storageCount; binding++) {
      const isReadOnly = readOnly[binding >> 5] >>> (binding & 31) & 1;
      entries.push({binding, visibility: GPUShaderStage.COMPUTE,
        buffer: {type: isReadOnly ? 'read-only-storage' : 'storage'}});
    }
    entries.push({binding: storageCount, visibility: GPUShaderStage.COMPUTE,
      buffer: {type: 'uniform', hasDynamicOffset: true, minBindingSize: uniformBytes}});
    return device.gpu.createBindGroupLayout({entries});
  }

  async function compileMessages(module) {
    const {messages} = await module.getCompilationInfo();
    return messages.filter(message => message.type === 'error')
      .map(({lineNum, linePos, message}) => `${lineNum}:${linePos}: ${message}`).join('\n');
  }

  async function createProgram(device, text, textBytes, entry, storageCount, readOnlyAt, uniformBytes, out) {
    const code = textAt(text, textBytes), entryPoint = zeroTextAt(entry);
    const readOnly = [view().getUint32(readOnlyAt, true), view().getUint32(readOnlyAt + 4, true)];
    device.gpu.pushErrorScope('validation');  // what it catches is told better by the two below
    const module = device.gpu.createShaderModule({code});
    const layout = bindGroupLayout(device, storageCount, readOnly, uniformBytes);
    const pipelineLayout = device.gpu.createPipelineLayout({bindGroupLayouts: [layout]});
    const pipeline = device.gpu.createComputePipelineAsync({layout: pipelineLayout, compute: {module, entryPoint}});
    const scope = device.gpu.popErrorScope();
    try {
      const made = {pipeline: await device.orLost(pipeline), layout, uniformBytes, name: entryPoint};
      await scope;
      view().setUint32(out, programs.add(made), true);
    } catch (error) {
      device.check();
      const messages = await device.orLost(compileMessages(module));
      throw new Failure(STATUS.ERR_BUILD, messages || error.message);
    }
  }

  // words: for each storage buffer its number, offset and size.
  function bindGroup(device, program, words, uniform) {
    const key = `${program},${uniform},${words}`, kept = device.groups.get(key);
    if (kept) return kept.group;
    const {layout, uniformBytes} = programs.get(program);
    const entries = [], bound = [uniform];
    for (let binding = 0; binding < words.length / 3; binding++) {
      const [buffer, offset, size] = words.subarray(3 * binding, 3 * binding + 3);
      entries.push({binding, resource: {buffer: buffers.get(buffer), offset, size}});
      bound.push(buffer);
    }
    entries.push({binding: entries.length, resource: {buffer: buffers.get(uniform), offset: 0, size: uniformBytes}});
    const group = device.gpu.createBindGroup({layout, entries});
    device.keepGroup(key, group, {buffers: bound, programs: [program]});
    return group;
  }

  function dispatch(device, program, storage, storageCount, uniform, uniformOffset, x, y, z) {
    const {pipeline, name} = programs.get(program);
    const group = bindGroup(device, program, new Uint32Array(memory().buffer, storage, 3 * storageCount), uniform);
    const pass = device.computePass(name, profile);
    pass.setPipeline(pipeline);
    pass.setBindGroup(0, group, [uniformOffset >>> 0]);
    pass.dispatchWorkgroups(x, y, z);
  }

  // With 0 ms it only asks, but lets the page run: nothing is ever done before that.
  async function wait(device, number, timeoutMs) {
    const isDone = () => (device.done - number | 0) >= 0;
    if (isDone()) return;
    if (timeoutMs === 0) await sleep(0);
    else await within(device.orLost(device.finished), timeoutMs);
    device.check();
    if (!isDone()) throw new Failure(STATUS.ERR_TIMEOUT, `the device was not done after ${timeoutMs} ms`);
  }

  // A mapping starts at a multiple of 8 and has a multiple of 4 bytes.
  async function read(device, buffer, offset, out, bytes, timeoutMs) {
    const source = buffers.get(buffer), start = offset & ~7, size = offset - start + bytes + 3 & ~3;
    const outcome = await within(device.orLost(source.mapAsync(GPUMapMode.READ, start, size)), timeoutMs);
    if (outcome === TIMEOUT) {
      source.unmap();  // takes the request back
      throw new Failure(STATUS.ERR_TIMEOUT, `the device was not done after ${timeoutMs} ms`);
    }
    device.check();
    bytesAt(out, bytes).set(new Uint8Array(source.getMappedRange(start, size), offset - start, bytes));
    source.unmap();
  }

  function beginProfile() {
    if (profile) throw new TypeError('profile: one is on already');
    profile = new Profile();
  }

  function endProfile() {
    const ended = profile;
    profile = null;
    return ended.finish();
  }

  const imports = {
    start: guarded(start),
    stop() {
      adapter = null;
    },
    error_text: (at, room) => writeText(at, room, lastError),
    adapter_count: () => (adapter ? 1 : 0),
    adapter_info: guarded(adapterInfo),
    device_open: guarded(openDevice),
    device_close: number => devices.remove(number).gpu.destroy(),
    device_check: onDevice(checkDevice),
    buffer_create: onDevice(createBuffer),
    buffer_destroy(device, number) {
      devices.get(device)?.dropGroups('buffers', number);
      buffers.remove(number).destroy();
    },
    program_create: onDevice(createProgram),
    program_destroy(device, number) {
      devices.get(device)?.dropGroups('programs', number);
      programs.remove(number);
    },
    write: onDevice((device, buffer, offset, data, bytes) => {
      device.gpu.queue.writeBuffer(buffers.get(buffer), offset >>> 0, memory().buffer, data >>> 0, bytes >>> 0);
    }),
    copy: onDevice((device, dst, dstOffset, src, srcOffset, bytes) => {
      device.endPass();
      device.commands().copyBufferToBuffer(buffers.get(src), srcOffset >>> 0, buffers.get(dst), dstOffset >>> 0,
        bytes >>> 0);
    }),
    dispatch: onDevice(dispatch),
    submit: onDevice((device, out) => view().setUint32(out, device.submit(), true)),
    wait: onDevice(wait),
    read: onDevice(read),
  };
  return {imports, beginProfile, endProfile};
}
